"""A billiard break: the outcome jumps where the aim crosses the line of symmetry, however little it does."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import ArrayLike
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from shared import ACROSS, ROUND_OFF, UP, Pairs, balls, between, kinetic_energy

import jimpact

__all__ = ["Rack", "break_shot", "rack", "reflected", "show"]

ABOVE, BELOW, THIRD = "#1f4e9c", "#d1495b", "#2a9d8f"
TRAVEL = 0.025  # s: a line is the way that a ball goes in this time


class Rack(NamedTuple):
    """Ball 0 is the cue ball, 1 the apex; row after row, each from -y to +y."""

    centres: np.ndarray  # (n, 3), in units of the radius; the cue ball is behind the apex on the line of symmetry
    pairs: Pairs  # that touch; the normal points from the earlier ball into the later
    mirror: np.ndarray  # (n,), the ball in whose place a reflection at y = 0 puts each


def rack(rows: int) -> Rack:
    """A triangle of touching balls, and the cue ball at its apex."""
    places, mirror = [(-2.0, 0.0, 0.0)], [0]
    for row in range(rows):
        mirror += range(len(places) + row, len(places) - 1, -1)
        places += [(row * 3**0.5, 2.0 * j - row, 0.0) for j in range(row + 1)]
    centres = np.array(places)
    gap = np.linalg.norm(centres[:, None] - centres, axis=-1) - 2
    pairs = [(j, i) for i in range(len(places)) for j in range(i + 1, len(places)) if abs(gap[i, j]) < ROUND_OFF]
    return Rack(centres, pairs, np.array(mirror))


def break_shot(
    offset: Array,
    friction: ArrayLike,
    restitution: ArrayLike,
    *,
    rows: int,
    speed: float,
    mass: float,
    radius: float,
    **options: Any,
) -> jimpact.ManyCollision:
    """The cue ball travels along x at the distance `offset` (m) from the line of symmetry, and meets the apex."""
    layout, aside = rack(rows), offset / (2 * radius)
    cue = 2 * radius * (-jnp.sqrt(1 - aside**2) * ACROSS + aside * UP)
    centres = jnp.asarray(radius * layout.centres).at[0].set(cue)
    bodies = balls(centres, jnp.zeros_like(centres).at[0, 0].set(speed), mass, radius)
    points, normals = between(layout.pairs, centres)
    return jimpact.collide_bodies(bodies, layout.pairs, points, normals, friction, restitution, **options)


def reflected(velocities: np.ndarray, layout: Rack) -> np.ndarray:
    """Velocities (..., n, 3) as a mirror along the line of symmetry shows them."""
    return velocities[..., layout.mirror, :] * np.array([1.0, -1.0, 1.0])


def show(given: dict[str, Any], out: Path) -> list[str]:
    """Print the tables and draw the figure; return the promises that were broken."""
    run, layout = given["run"], rack(given["run"]["rows"])
    numbers = {"rows": run["rows"], "speed": run["speed"], "most": run["most"], **given["ball"]}
    one = partial(break_shot, restitution=run["restitution"], **numbers)
    shots: Callable[[Array, float], jimpact.ManyCollision] = jax.jit(jax.vmap(one, (0, None)))
    aims = jax.random.normal(jax.random.key(run["seed"]), (run["draws"],))
    sweep = jnp.linspace(-run["sweep"], run["sweep"], run["draws"])
    print("friction  spread of aim m  impacts  energy left  change m/s  change but for mirroring m/s")
    broken, swept, drawn = [], {}, {}
    for mu in run["friction"]:
        for spread in run["spread"]:
            after = shots(spread * aims, mu)
            left = np.asarray(kinetic_energy(after.bodies)) / (0.5 * given["ball"]["mass"] * run["speed"] ** 2)
            drawn[mu] = np.asarray(after.bodies.velocity)
            folded = np.where((aims < 0)[:, None, None], reflected(drawn[mu], layout), drawn[mu])
            print(_line(mu, spread, after, left, _scatter(drawn[mu]), _scatter(folded)))
            broken += _broken(after, left, run["speed"], f"friction {mu}, spread {spread}")
        swept[mu] = np.asarray(shots(sweep, mu).bodies.velocity)
    out.mkdir(parents=True, exist_ok=True)
    sizes = (given["ball"]["radius"], run["spread"][-1])
    figure(layout, *sizes, np.asarray(aims), drawn, np.asarray(sweep), swept).savefig(out / "break.png", dpi=150)
    return broken


def _scatter(velocities: np.ndarray) -> float:
    """Root of the mean square of the change of a ball's velocity from its mean over the batch."""
    return float(np.sqrt(((velocities - velocities.mean(0)) ** 2).sum(-1).mean()))


def _line(mu: float, spread: float, after: jimpact.ManyCollision, left: np.ndarray, raw: float, folded: float) -> str:
    counts = np.asarray(after.contacts.impacts)
    listed = f"{counts.min()}..{counts.max()}"
    return f"{mu:8.2f} {spread:16.0e} {listed:>8s} {left.mean():12.4f} {raw:11.2e} {folded:29.2e}"


def _broken(after: jimpact.ManyCollision, left: np.ndarray, speed: float, name: str) -> list[str]:
    total = np.asarray(after.bodies.velocity).sum(-2) - speed * ACROSS
    found = [] if (np.asarray(after.contacts.outcome) == jimpact.Outcome.OK).all() else [f"{name}: a lane failed"]
    found += [f"{name}: momentum is not kept"] if np.abs(total).max() > ROUND_OFF * speed else []
    return found + ([f"{name}: energy is gained"] if left.max() > 1 + ROUND_OFF else [])


def figure(
    layout: Rack,
    radius: float,
    spread: float,
    aims: np.ndarray,
    drawn: dict[float, np.ndarray],
    sweep: np.ndarray,
    swept: dict[float, np.ndarray],
) -> Figure:
    """For each friction: where the balls go, for random aims; and the speed of some balls against the aim."""
    fig = Figure(figsize=(12, 4.8 * len(drawn)), layout="constrained")
    for (left, right), mu in zip(fig.subplots(len(drawn), 2, squeeze=False), drawn, strict=True):
        _draw_balls(left, layout, radius, aims, drawn[mu])
        left.set_title(f"friction {mu:g}: first {1e3 * TRAVEL:g} ms after, aims within {1e3 * spread:g} mm (std)")
        _draw_sweep(right, layout, sweep, swept[mu])
        right.set_title(f"friction {mu:g}: speeds against aim")
    return fig


def _draw_balls(axes: Axes, layout: Rack, radius: float, aims: np.ndarray, velocities: np.ndarray) -> None:
    centres = radius * layout.centres[:, :2]
    for index, centre in enumerate(centres):
        axes.add_patch(Circle(centre, radius, fc="0.93" if index else "white", ec="0.5", lw=0.8))
    for color, chosen, style, label in ((ABOVE, aims >= 0, "-", "y > 0"), (BELOW, aims < 0, "--", "y < 0")):
        ends = centres + TRAVEL * velocities[chosen][..., :2]
        axes.plot(*np.stack([centres, ends.mean(0)]).transpose(2, 0, 1), style, color=color, lw=1.4)
        axes.plot(*ends.reshape(-1, 2).T, ".", color=color, ms=2.5, alpha=0.5)
        axes.plot([], [], style, color=color, lw=1.4, label=f"cue ball at {label}")
    axes.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
    axes.legend(loc="upper left", fontsize=9)


def _draw_sweep(axes: Axes, layout: Rack, sweep: np.ndarray, velocities: np.ndarray) -> None:
    n = len(layout.centres)
    last = int(np.argmax(layout.centres[:, 0] == layout.centres[:, 0].max()))
    chosen = {"back corner, y < 0": last, "back corner, y > 0": n - 1, "apex": 1}
    for color, (name, ball) in zip((BELOW, ABOVE, THIRD), chosen.items(), strict=True):
        axes.plot(1e3 * sweep, np.linalg.norm(velocities[:, ball], axis=-1), ".", ms=3, color=color, label=name)
    axes.set(xlabel="path of the cue ball from the line of symmetry (mm)", ylabel="speed after (m/s)", ylim=(0, None))
    axes.grid(color="0.9", lw=0.6)
    axes.legend(loc="best", fontsize=9, markerscale=3)
