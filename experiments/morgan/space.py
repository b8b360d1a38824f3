"""Chapter 4: impacts in space, by numerical integration as the chapter proposes, against jimpact; sticking."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import jimpact
from jimpact.reproduce import (
    Finding,
    Grid,
    Picture,
    Progress,
    Result,
    claim,
    directions_many,
    new,
    solve_many,
    trace_many,
    unchecked,
)

from .forms import SpaceAnew, SpaceForm
from .swivel import TOLERANCE, Integrated, held_by, integrate, swivel_matrices

__all__ = ["run"]

COLORS = ("#1f4e9c", "#d1495b", "#2a9d8f", "#e09f3e", "#7b4fa3", "#5b7a2a")


class Bodies(NamedTuple):
    """A mechanism in one posture, and impacts of it over a leading axis."""

    M: np.ndarray  # (3, 3)
    J: np.ndarray  # (3, 3)
    v: np.ndarray  # (n, 3) m/s
    friction: np.ndarray
    restitution: np.ndarray

    @property
    def L(self) -> np.ndarray:
        return np.linalg.solve(self.M, self.J.T)

    @property
    def W(self) -> np.ndarray:
        return np.asarray(jimpact.inverse_inertia_generalized(jnp.asarray(self.M), jnp.asarray(self.J)))

    @property
    def u(self) -> np.ndarray:
        return np.linalg.solve(self.J, self.v.T).T


def run(form: SpaceForm, progress: Progress) -> Result:
    bodies = _impacts(form)
    found = solve_many(bodies.W, bodies.v, bodies.friction, bodies.restitution, progress=progress)
    after = bodies.u + found.impulse @ bodies.L.T
    rows = zip(bodies.u, bodies.friction, bodies.restitution, strict=True)
    ways = [integrate(bodies.M, bodies.J, u, mu, e) for u, mu, e in rows]
    once = np.asarray(found.info.compressions) == 1
    findings = [
        _integrated(bodies, after, ways, once, form.limits.integrated),
        _signs(bodies, form.limits.algebra),
        _sticking(bodies, found, ways, form.limits.zero),
        _resumed(bodies, found, form.anew, progress),
        unchecked("M-fig4.1", "fig 4.1", "directions of friction", "", "A drawing without numbers."),
    ]
    n = len(form.impact)
    part = Bodies(bodies.M, bodies.J, *(a[:n] for a in bodies[2:]))
    names = [impact.name for impact in form.impact]
    caption = "Slip and normal velocity during the configured impacts in space: curved until the slip ends."
    grid = _table(names, found, ways, _gaps(bodies, after, ways))
    return Result(findings, [Picture("chapter4", _figure(part, names), caption)], [grid])


def _impacts(form: SpaceForm) -> Bodies:
    """The configured impacts, then the random ones, all at one posture."""
    q = np.deg2rad([0.0, *form.angles_deg])
    M, J = swivel_matrices(form.pendulum.pendulum(), q, form.normal)
    rng, sample = np.random.default_rng(form.sample.seed), form.sample
    slip = rng.normal(scale=sample.slip, size=(sample.count, 2))
    drawn = np.column_stack([slip, np.full(sample.count, -sample.approach)])
    mu, e = rng.uniform(*sample.friction, sample.count), rng.uniform(*sample.restitution, sample.count)
    given = form.impact
    return Bodies(
        M,
        J,
        np.concatenate([[i.tip_velocity for i in given], drawn]),
        np.concatenate([[i.friction for i in given], mu]),
        np.concatenate([[i.restitution for i in given], e]),
    )


def _gaps(bodies: Bodies, after: np.ndarray, ways: list[Integrated]) -> np.ndarray:
    """Difference of the speeds after, relative to those before; nan where the chapter has no answer."""
    gaps = np.abs(after - np.array([way.u for way in ways])).max(-1) / np.linalg.norm(bodies.u, axis=-1)
    return np.where([way.followed for way in ways], gaps, np.nan)


def _integrated(bodies: Bodies, after: np.ndarray, ways: list[Integrated], once: np.ndarray, limit: float) -> Finding:
    gaps = _gaps(bodies, after, ways)[once]
    told = np.isfinite(gaps)
    return claim(
        "M-4.9",
        "(4.9), section 4.2",
        "impacts in space by integration, six steps",
        "du/dp_n = L_n - mu L_T v_t / |v_t|",
        f"largest difference {np.nanmax(gaps):.0e}, median {np.nanmedian(gaps):.0e}",
        bool(np.nanmax(gaps) < limit),
        f"{int(told.sum())} impacts of the pendulum on a swivel, over an inclined floor; speeds after by DOP853 at "
        f"{TOLERANCE:.0e} and by solve at standard accuracy, relative to those before. "
        f"{int((~once).sum())} have a second compression, which the six steps do not know.",
    )


def _signs(bodies: Bodies, limit: float) -> Finding:
    L, Jt = bodies.L, bodies.J[:2]
    m = -held_by(bodies.J, L)  # f_t / f_n, as (4.11) defines it
    size = np.abs(bodies.W).max()
    minus, plus = (float(np.abs(Jt @ (L[:, 2] + sign * L[:, :2] @ m)).max() / size) for sign in (-1, 1))
    return claim(
        "M-4.12",
        "(4.11)-(4.13)",
        "sign of the static friction",
        "f_t = m f_n; L_n - L_T m",
        f"slip changes by {minus:.2f} with L_n - L_T m, {plus:.0e} with L_n + L_T m",
        minus < limit,
        "With m as (4.11) defines it, sticking needs L_n + L_T m; changes per unit of normal impulse, over the largest "
        "entry of J M^-1 J^T. The test ||m|| <= mu is the same.",
        "misprint",
    )


def _sticking(bodies: Bodies, found: jimpact.Impact, ways: list[Integrated], zero: float) -> Finding:
    held = float(np.linalg.norm(held_by(bodies.J, bodies.L)))
    ends = np.isfinite(np.asarray(found.info.slip_end))
    stuck = ends & (np.linalg.norm(found.velocity[:, :2], axis=-1) <= zero * np.linalg.norm(bodies.v, axis=-1))
    same = int((stuck == np.array([way.sticks for way in ways])).sum())
    fits = bool((stuck == (ends & (held <= bodies.friction))).all())
    return claim(
        "M-4.13",
        "section 4.2",
        "sticking",
        "f_t = m f_n : ||m|| <= mu",
        f"{int(stuck.sum())} of {len(ways)} stick, {int(ends.sum())} reach zero slip",
        fits and same == len(ways),
        f"||m|| = {held:.6f} at this posture; jimpact and the integration agree in {same} of {len(ways)}.",
    )


def _resumed(bodies: Bodies, found: jimpact.Impact, anew: SpaceAnew, progress: Progress) -> Finding:
    """Zero slip that cannot stick is reached only along an invariant direction, and left along another."""
    held = float(np.linalg.norm(held_by(bodies.J, bodies.L)))
    loose = bodies.friction < held
    if not loose.any():
        return new("M-4.13-anew", "section 4.2", "zero slip that cannot stick", "no impact has ||m|| > mu")
    reached = int((loose & np.isfinite(np.asarray(found.info.slip_end))).sum())
    mu = bodies.friction[loose]
    W = np.broadcast_to(bodies.W, (len(mu), 3, 3))
    directions, rates = directions_many(W, mu)
    lanes = np.arange(len(mu))
    ends, leaves = (directions[lanes, np.nan_to_num(sign * rates, nan=-np.inf).argmax(-1)] for sign in (-1, 1))
    start = np.column_stack([anew.slip * ends, np.full(len(mu), -anew.approach)])
    after = solve_many(W, start, mu, bodies.restitution[loose], progress=progress).velocity[:, :2]
    through = np.linalg.norm(after - anew.slip * ends, axis=-1) > anew.slip
    apart = np.abs(after / np.linalg.norm(after, axis=-1, keepdims=True) - leaves)[through].max(initial=0.0)
    return new(
        "M-4.13-anew",
        "section 4.2",
        "zero slip that cannot stick",
        f"reached by {reached} of {int(loose.sum())} impacts with ||m|| > mu",
        "The chapter says that sliding goes on, but (4.9) has no direction at zero slip. Slip turns away from zero "
        f"unless it starts along the invariant direction that ends there: of {len(mu)} such starts "
        f"{int(through.sum())} pass zero, and leave along the one invariant direction of growing slip, to {apart:.0e}.",
    )


def _figure(bodies: Bodies, names: list[str]) -> Figure:
    path = trace_many(bodies.W, bodies.v, bodies.friction, bodies.restitution)
    fig = Figure(figsize=(12.4, 5.4), layout="constrained")
    plane, normal = fig.subplots(1, 2)
    for i, name in enumerate(names):
        color = COLORS[i % len(COLORS)]
        slip, label = path.sliding_velocity[i], f"{name}, friction {bodies.friction[i]:g}"
        plane.plot(*slip.T, color=color, lw=2, label=label)
        plane.plot(*slip[0], "o", color=color, ms=7)
        plane.plot(*slip[-1], "*", color=color, ms=12, mec="w", mew=0.6, zorder=5)
        normal.plot(path.normal_impulse[i], path.normal_velocity[i], color=color, lw=2)
        ends = path.events.slip_end[i]
        if np.isfinite(ends):
            at = np.interp(ends, path.normal_impulse[i], path.normal_velocity[i])
            normal.plot(ends, at, "s", color=color, ms=7, mec="w", zorder=5)
    _axes(plane, "slip along $t_1$ (m/s)", "slip along $t_2$ (m/s)", "Slip, from start (dot) to end (star)")
    plane.axhline(0, color="0.7", lw=0.8, zorder=0)
    plane.axvline(0, color="0.7", lw=0.8, zorder=0)
    _axes(normal, "normal impulse (N s)", "normal velocity (m/s)", "Normal velocity; squares: slip ends")
    normal.axhline(0, color="0.35", lw=0.8)
    normal.set_xlim(0, None)
    fig.legend(loc="outside lower center", ncols=4, frameon=False)
    return fig


def _axes(ax: Axes, x: str, y: str, title: str) -> None:
    ax.set(xlabel=x, ylabel=y, title=title)
    ax.grid(color="0.92", lw=0.6)


def _table(names: list[str], found: jimpact.Impact, ways: list[Integrated], gaps: np.ndarray) -> Grid:
    events = jimpact.event_sequence(found)
    rows = [
        (
            name,
            str(events[i]),
            "yes" if ways[i].sticks else "no",
            "(" + ", ".join(f"{x:.6f}" for x in found.impulse[i]) + ")",
            f"{gaps[i]:.0e}" if np.isfinite(gaps[i]) else "",
        )
        for i, name in enumerate(names)
    ]
    head = ("impact", "events", "sticks", "impulse along t1, t2, n, N s", "difference to integration")
    return Grid("Configured impacts in space.", head, rows)
