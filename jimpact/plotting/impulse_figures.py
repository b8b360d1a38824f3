"""Impulse space of a planar impact: the permissible impulses, and the impulses of each law.

Source: Chatterjee & Ruina 1998, sections 3 and 4, figures 1 and 3-9. Axis 0 is tangential, axis 1 the normal from
body b into body a; every point of the figure is an impulse on body a.

| symbol  | meaning                                                          | unit |
|---------|------------------------------------------------------------------|------|
| K       | inverse inertia ((K11, K12), (K12, K22))                         | 1/kg |
| v       | velocity before: tangential, normal                              | m/s  |
| P_I     | impulse that ends the approach, without friction: equation (3)   | N s  |
| P_II    | impulse that ends approach and slip: equation (4)                | N s  |
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from jimpact.contact.inertia import in_space
from jimpact.impact import solve
from jimpact.laws import LAWS
from jimpact.outcome import Outcome
from jimpact.plotting.impact import free, merged
from jimpact.types import ArrayLike

__all__ = ["CURVES", "REGION", "impulse_space", "permissible_region", "reached"]

SAMPLES = 401  # of a curve, and of each side of a region
AROUND = 1440  # points of the ellipse
# Largest extent of the ellipse, relative to that of P_I, P_II and their doubles; a larger ellipse is cut.
FAR, NEAR = 1.0, 0.3
SIDE, LOWEST = 6.0, 4.2  # inches: longer side of the axes, and their least height, that of the legend
LEFT, BELOW, ABOVE, LEGEND = 0.85, 0.6, 0.5, 3.3  # inches around the axes; the legend is on the right

REGION = "chatterjee_ruina"  # with two restitutions this law reaches a region; laws with one reach a curve
CURVES = tuple(name for name, law in LAWS.items() if "tangential_restitution" not in law.parameters)
# Okabe & Ito's colours, which most colour-blind readers can distinguish; a law has the same colour in every figure.
COLORS = ("#0072B2", "#56B4E9", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#000000")
STYLES = {name: (COLORS[i % 7], "sDv^oPX"[i % 7]) for i, name in enumerate(CURVES)}
REGION_FACE, REGION_EDGE, PERMISSIBLE = "#F0E44299", "#B8A400", "#E3E5E8"
WIDEST, THINNEST = 7.0, 1.8  # line widths in points: laws with the same path are drawn inside one another

jitted_solve = jax.jit(solve, static_argnames=("law",))


class Planar(NamedTuple):
    """One checked impact, and its two plastic impulses."""

    K: np.ndarray
    v: np.ndarray
    mu: float
    plastic: np.ndarray  # P_I
    sticking: np.ndarray  # P_II


def impulse_space(
    inverse_inertia: ArrayLike,
    velocity: ArrayLike,
    friction: ArrayLike,
    *,
    laws: Sequence[str] = ("poisson", "stronge", "whittaker", "smith", REGION),
    title: str | None = None,
) -> Figure:
    """The permissible impulses of a planar impact, and those that each law reaches for restitution 0 to 1.

    The arguments are inverse_inertia (2, 2), velocity (2,) and friction () of one impact. Each of `laws` is one of
    `CURVES`, or `REGION` with its tangential restitution from -1 to 1. `title` is drawn as plain text.
    """
    impact = _checked(inverse_inertia, velocity, friction)
    given = (impact.K, impact.v, impact.mu)
    points = {name: reached(*given, name) for name in laws}
    ellipse = _ellipse(impact)
    low, high = _window(impact, ellipse, list(points.values()))
    fig, ax = _page(low, high)
    if title:
        ax.set_title(title, loc="left", fontsize=13, parse_math=False)
    _fill(ax, permissible_region(*given), "permissible impulses", facecolor=PERMISSIBLE, zorder=0.5)
    lines = _draw_lines(ax, impact, ellipse, float((high - low).sum()))
    if REGION in points:
        style = {"facecolor": REGION_FACE, "edgecolor": REGION_EDGE, "lw": 2, "zorder": 1.5}
        _fill(ax, points[REGION], REGION, **style)
    _draw_curves(ax, {name: curve for name, curve in points.items() if name != REGION})
    _draw_points(ax, impact, [ellipse, *lines, *points.values()])
    _draw_legend(ax)
    return fig


def reached(inverse_inertia: ArrayLike, velocity: ArrayLike, friction: ArrayLike, law: str) -> np.ndarray:
    """Impulses (n, 2) that a law reaches as restitution goes from 0 to 1; nan where its outcome is not OK.

    For `REGION` they follow its boundary: tangential restitution -1, restitution 1, and the other two sides.
    """
    if law not in (*CURVES, REGION):
        raise ValueError(f"law={law!r} cannot be drawn here; pass one of {', '.join(map(repr, (*CURVES, REGION)))}")
    impact = _checked(inverse_inertia, velocity, friction)
    up, one = np.linspace(0, 1, SAMPLES), np.ones(SAMPLES)
    e, extra = up, {}
    if law == REGION:
        e = np.concatenate([up, one, up[::-1], 0 * one])
        extra = {"tangential_restitution": np.concatenate([-one, 2 * up - 1, one, 1 - 2 * up])}
    result = jitted_solve(*in_space(impact.K, impact.v), impact.mu, e, law=law, **extra)
    good = np.asarray(result.outcome) == Outcome.OK
    return np.where(good[:, None], np.asarray(result.impulse, float)[:, [0, 2]], np.nan)


def permissible_region(inverse_inertia: ArrayLike, velocity: ArrayLike, friction: ArrayLike) -> np.ndarray:
    """Corners (n, 2) of the polygon of permissible impulses; empty if there are none.

    Permissible impulses lose energy, separate, push, and are between the friction lines. Chords replace the ellipse.
    """
    impact = _checked(inverse_inertia, velocity, friction)
    polygon = _ellipse(impact)[:-1]
    sides = (impact.K[1], impact.v[1]), ((0.0, 1.0), 0.0), ((-1.0, impact.mu), 0.0), ((1.0, impact.mu), 0.0)
    for normal, offset in sides:
        polygon = _cut(polygon, np.asarray(normal), float(offset))
    return polygon


def _checked(inverse_inertia: ArrayLike, velocity: ArrayLike, friction: ArrayLike) -> Planar:
    wanted = {"inverse_inertia": (inverse_inertia, (2, 2)), "velocity": (velocity, (2,)), "friction": (friction, ())}
    arrays = {name: np.asarray(value, float) for name, (value, _) in wanted.items()}
    for name, (_, shape) in wanted.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}; pass one impact: an array of shape {shape}")
    K, v, mu = arrays.values()
    outcome = jitted_solve(*in_space(K, v), mu, 0.0, law=REGION, tangential_restitution=0.0).outcome
    if outcome in (Outcome.INVALID, Outcome.SEPARATING):
        raise ValueError("nothing to draw: the input is not valid, or the bodies do not approach (velocity[1] >= 0)")
    return Planar(K, v, float(mu), np.array([0, -v[1] / K[1, 1]]), -np.linalg.solve(K, v))


def _ellipse(impact: Planar) -> np.ndarray:
    """Closed curve of impulses that conserve energy: K^(1/2) (P - P_II) on a circle through the origin."""
    angle = np.linspace(0, 2 * np.pi, AROUND + 1)
    radius = np.sqrt(-impact.sticking @ impact.v)
    circle = radius * np.stack([np.cos(angle), np.sin(angle)])
    return impact.sticking + np.linalg.solve(np.linalg.cholesky(impact.K).T, circle).T


def _cut(polygon: np.ndarray, normal: np.ndarray, offset: float) -> np.ndarray:
    """The part of a convex polygon with normal.x + offset >= 0."""
    kept = []
    for a, b in zip(polygon, np.roll(polygon, -1, 0), strict=True):
        da, db = a @ normal + offset, b @ normal + offset
        kept += [a] if da >= 0 else []
        kept += [a + (b - a) * da / (da - db)] if da * db < 0 else []
    return np.array(kept).reshape(-1, 2)


def _window(impact: Planar, ellipse: np.ndarray, points: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Lower left and upper right corner, for the impulses of (10) without friction and points near them."""
    one, two = impact.plastic, impact.sticking
    core = np.array([0 * one, 2 * one, 2 * two, 2 * two - one])
    low, high = core.min(0), core.max(0)
    extent = (high - low).max()
    fits = (ellipse >= low - FAR * extent).all() and (ellipse <= high + FAR * extent).all()
    reach = (FAR if fits else NEAR) * extent
    everything = np.concatenate([core, ellipse, *points])
    seen = np.clip(everything[np.isfinite(everything).all(-1)], low - reach, high + reach)
    low, high = seen.min(0), seen.max(0)
    room = 0.08 * (high - low).max()  # largest distance of a label from its point
    wanted = 0.6 * (high - low).max()
    half = np.maximum(0.5 * (high - low) + room, 0.5 * wanted)
    return 0.5 * (low + high) - half, 0.5 * (low + high) + half


def _page(low: np.ndarray, high: np.ndarray) -> tuple[Figure, Axes]:
    """Axes of equal scale, with space for the legend beside them."""
    width, height = SIDE * (high - low) / (high - low).max()
    size = LEFT + width + LEGEND, BELOW + max(height, LOWEST) + ABOVE
    fig = Figure(figsize=size)
    ax = fig.add_axes((LEFT / size[0], 1 - (ABOVE + height) / size[1], width / size[0], height / size[1]))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set(xlabel="tangential impulse (N s)", ylabel="normal impulse (N s)")
    return fig, ax


def _fill(ax: Axes, polygon: np.ndarray, name: str, **style: Any) -> None:
    corners = polygon[np.isfinite(polygon).all(-1)]
    if len(corners):
        ax.fill(*corners.T, gid=name, label=name, **style)


def _draw_lines(ax: Axes, impact: Planar, ellipse: np.ndarray, far: float) -> list[np.ndarray]:
    """Draw the construction of section 3.3 in grey, and return points along its lines."""
    K, one, two = impact.K, impact.plastic, impact.sticking
    ax.axhline(0, color="0.85", lw=0.8, zorder=0.6)
    ax.axvline(0, color="0.85", lw=0.8, zorder=0.6)
    ax.plot(*ellipse.T, color="0.25", lw=1.3, gid="ellipse", label="no energy lost (ellipse)", zorder=1)
    along, across = (np.array([-row[1], row[0]]) / np.linalg.norm(row) for row in (K[1], K[0]))
    both = far * np.linspace(-1, 1, 401)[:, None]
    right = np.maximum(both, 0) * np.array([impact.mu, 1]) / np.hypot(impact.mu, 1)
    lines = {
        "friction lines": (np.concatenate([right[::-1] * [-1, 1], right]), "-", 0.9, "0.55"),
        "line of sticking": (two + across * both, "--", 1.2, "0.35"),
        "line of maximum compression": (two + along * both, "-.", 1.2, "0.35"),
        "rebound at approach speed ($e = 1$)": (2 * one + along * both, ":", 1.5, "0.35"),
    }
    for name, (line, dashes, width, color) in lines.items():
        ax.plot(*line.T, ls=dashes, lw=width, color=color, gid=name, label=name, zorder=1)
    return [line for line, *_ in lines.values()]


def _draw_curves(ax: Axes, curves: dict[str, np.ndarray]) -> None:
    """Draw one line for each law, from restitution 0 (open mark) to 1 (full mark)."""
    widths = np.linspace(WIDEST, THINNEST, max(len(curves), 2))
    for order, ((name, curve), width) in enumerate(zip(curves.items(), widths, strict=False)):
        color, marker = STYLES[name]
        good = curve[np.isfinite(curve).all(-1)]
        if not len(good):
            continue
        style: dict[str, Any] = {"color": color, "marker": marker, "ms": 4 + 0.7 * width, "zorder": 3 + 0.1 * order}
        ax.plot(*curve.T, color=color, lw=width, gid=name, zorder=2 + 0.1 * order, solid_capstyle="butt")
        ax.plot(*curve[:1].T, **style, mfc="white", mew=1.4, gid="start")
        ax.plot(*curve[-1:].T, **style, mec="white", mew=0.6, gid="end")
        ax.plot([], [], **style, lw=width, mec="white", mew=0.6, label=name)


def _draw_points(ax: Axes, impact: Planar, drawn: list[np.ndarray]) -> None:
    marks = [("$P_I$", impact.plastic), ("$2P_I$", 2 * impact.plastic), ("$P_{II}$", impact.sticking)]
    (left, right), (lower, upper) = ax.get_xlim(), ax.get_ylim()
    size = max(right - left, upper - lower)
    steps = np.linspace(0, 1, 401)[:, None]
    axes = [np.array([left, 0]) + steps * [right - left, 0], np.array([0, lower]) + steps * [0, upper - lower]]
    busy = np.concatenate([*drawn, *axes, *(at[None] for _, at in marks)])
    busy = busy[np.isfinite(busy).all(-1)]
    for _, at in marks:
        ax.plot(*at[:, None], "o", color="black", ms=4, gid="point", zorder=2.95)
    look: dict[str, Any] = {"fontsize": 12, "path_effects": [withStroke(linewidth=3, foreground="white")], "zorder": 7}
    around = size * np.array([[-0.03, -0.02], [-0.03, 0.02], [0, 0], [0.03, -0.02], [0.03, 0.02]])  # label
    for text, at in merged(marks, 0.02 * size):
        place = free(at, busy, (0.04 + 0.0025 * len(text)) * size)
        ax.text(place[0], place[1], text, ha="center", va="center", gid="label", **look)
        busy = np.concatenate([busy, place + around])


def _draw_legend(ax: Axes) -> None:
    """Draw the legend beside the axes: regions, lines, and the marks at the ends of a curve."""
    handles, names = ax.get_legend_handles_labels()
    names = [f"{name}, $e_t$ from $-1$ to $1$" if name == REGION else name for name in names]
    ends: dict[str, Any] = {"color": "0.35", "marker": "o", "ms": 6, "ls": "", "mew": 1.4}
    handles += [Line2D([], [], **ends, mfc="white"), Line2D([], [], **ends)]
    names += ["restitution $e = 0$", "restitution $e = 1$"]
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.01), "frameon": False, "handlelength": 2.6}
    ax.legend(handles, names, fontsize=10, labelspacing=0.65, **place)
