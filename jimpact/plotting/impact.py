"""Figures of an impact. Each function returns a matplotlib Figure and opens no window.

Letters mark the events, as in `event_sequence`: c end of compression, s slip zero, l direction of slip
invariant, d start of a further compression, r end of restitution.
"""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from mpl_toolkits.mplot3d.axes3d import Axes3D

from jimpact.diagnostics import EVENT_LETTERS, in_order
from jimpact.impact_path import trace
from jimpact.slip.invariant_directions import invariant_directions
from jimpact.types import ArrayLike

__all__ = [
    "SAMPLES",
    "Track",
    "draw_hodograph",
    "follow",
    "free",
    "history",
    "hodograph",
    "impulse_path",
    "merged",
    "save",
    "single_impact",
]

SAMPLES = 400
PATH, RAY, PLANE, STICK, CONE = "#1f4e9c", "#7a7a7a", "#2a9d8f", "#d1495b", "#b0a08a"
COMPRESSION, RESTITUTION = "#dbe7f6", "#fbead3"
SETS = ("#1f4e9c", "#d1495b", "#2a9d8f", "#e09f3e", "#7b4fa3", "#5b7a2a", "#a15c38", "#3a9ec2")
CLOSE = 0.045  # distance, relative to the width of a panel, below which events share one label

LETTER_STYLE: dict[str, Any] = {"color": "#16325c", "fontsize": 11, "fontweight": "bold", "zorder": 6}

jitted_trace = jax.jit(trace, static_argnames=("law", "accuracy", "samples", "line_tolerance"))


class Track(NamedTuple):
    """One path as NumPy arrays, and its events as (letter, normal impulse) in order."""

    normal_impulse: np.ndarray  # (samples,) N s
    sliding_velocity: np.ndarray  # (samples, 2) m/s
    normal_velocity: np.ndarray  # (samples,) m/s
    impulse: np.ndarray  # (samples, 3) N s
    work: np.ndarray  # (samples,) J
    events: tuple[tuple[str, float], ...]

    def at(self, values: np.ndarray, p: float) -> np.ndarray:
        """A sampled quantity at the normal impulse p, on the drawn line."""
        columns = values.reshape(len(values), -1).T
        return np.array([np.interp(p, self.normal_impulse, column) for column in columns])


def follow(
    inverse_inertia: ArrayLike, velocity: ArrayLike, friction: ArrayLike, restitution: ArrayLike, **options: Any
) -> Track:
    """Trace one impact for a figure; `options` as in `trace`."""
    arrays = (jnp.asarray(a, float) for a in (inverse_inertia, velocity, friction, restitution))
    path = jax.tree.map(np.asarray, jitted_trace(*arrays, **{"samples": SAMPLES, **options}))
    if path.normal_impulse.ndim != 1:
        raise ValueError("pass one impact: velocity of shape (3,), inverse_inertia of shape (3, 3)")
    if not np.isfinite(path.impulse).all():
        raise ValueError("nothing to draw: the input is not valid, or the bodies do not approach (velocity[2] >= 0)")
    found = in_order(*(getattr(path.events, name) for name, _ in EVENT_LETTERS))
    events = (*((letter, at) for at, letter in found), ("r", float(path.events.end)))
    return Track(path.normal_impulse, path.sliding_velocity, path.normal_velocity, path.impulse, path.work, events)


def hodograph(
    inverse_inertia: ArrayLike, velocities: ArrayLike, friction: ArrayLike, restitution: ArrayLike, **options: Any
) -> Figure:
    """Paths of the sliding velocity from one start (3,) or several (m, 3), with the invariant directions."""
    starts = np.atleast_2d(np.asarray(velocities, float))
    tracks = [follow(inverse_inertia, v, friction, restitution, **options) for v in starts]
    fig = Figure(figsize=(6.4, 6.6), layout="constrained")
    draw_hodograph(fig.add_subplot(), tracks, inverse_inertia, friction)
    return fig


def impulse_path(
    inverse_inertia: ArrayLike, velocity: ArrayLike, friction: ArrayLike, restitution: ArrayLike, **options: Any
) -> Figure:
    """The path of the impulse, the plane of maximum compression, the line of sticking and the friction cone."""
    track = follow(inverse_inertia, velocity, friction, restitution, **options)
    fig = Figure(figsize=(6.6, 6.4))
    ax = fig.add_axes((0.0, 0.02, 0.92, 0.92), projection="3d")
    _draw_impulse(ax, track, inverse_inertia, velocity, friction)
    return fig


def history(
    inverse_inertia: ArrayLike, velocity: ArrayLike, friction: ArrayLike, restitution: ArrayLike, **options: Any
) -> Figure:
    """Normal velocity and work of the normal force against normal impulse."""
    track = follow(inverse_inertia, velocity, friction, restitution, **options)
    fig = Figure(figsize=(6.4, 5.4), layout="constrained")
    _draw_history(fig.subplots(2, 1, sharex=True), track)
    return fig


def single_impact(
    inverse_inertia: ArrayLike,
    velocity: ArrayLike,
    friction: ArrayLike,
    restitution: ArrayLike,
    *,
    title: str = "",
    **options: Any,
) -> Figure:
    """One figure of one impact: hodograph, path of the impulse, history. `title` is drawn as plain text."""
    track = follow(inverse_inertia, velocity, friction, restitution, **options)
    fig = Figure(figsize=(16, 6.4))
    if title:
        fig.suptitle(title, fontsize=14, y=0.985, parse_math=False)
    draw_hodograph(fig.add_axes((0.055, 0.24, 0.25, 0.625)), [track], inverse_inertia, friction)
    ax = fig.add_axes((0.315, 0.03, 0.345, 0.86), projection="3d")
    _draw_impulse(ax, track, inverse_inertia, velocity, friction)
    lower = fig.add_axes((0.745, 0.1, 0.24, 0.35))
    _draw_history((fig.add_axes((0.745, 0.485, 0.24, 0.35), sharex=lower), lower), track)
    return fig


def save(fig: Figure, path: str | FilePath) -> None:
    """Write a figure to a .png, .svg or .pdf file, completely or not at all."""
    path = FilePath(path)
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        fig.savefig(part, dpi=160)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def draw_hodograph(ax: Axes, tracks: list[Track], W: ArrayLike, friction: ArrayLike) -> None:
    points = np.concatenate([np.zeros((1, 2)), *(t.sliding_velocity for t in tracks)])
    low, high = points.min(0), points.max(0)
    half = 0.5 * float((high - low).max() or 1.0) * 1.3
    middle = np.clip(0.5 * (low + high), -0.75 * half, 0.75 * half)  # the origin stays inside the panel
    ax.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")
    ax.set(xlabel="sliding velocity $v_1$ (m/s)", ylabel="sliding velocity $v_2$ (m/s)", title="Hodograph of slip")
    ax.axhline(0, color="0.9", lw=0.8, zorder=0)
    ax.axvline(0, color="0.9", lw=0.8, zorder=0)
    handles = _draw_rays(ax, W, friction, middle, half)
    tips = [np.asarray(line.get_xydata())[-1] for line in ax.lines if line.get_gid() == "ray"]
    rays = [np.linspace(0, 1, 200)[:, None] * tip for tip in tips]
    drawn = np.concatenate([*rays, *(t.sliding_velocity for t in tracks)])
    marks = [(letter, t.at(t.sliding_velocity, p)) for t in tracks for letter, p in t.events]
    for i, t in enumerate(tracks):
        color = SETS[i % len(SETS)]
        ax.plot(*t.sliding_velocity.T, color=color, lw=2, gid="path", zorder=3)
        ax.plot(*t.sliding_velocity[0], "o", color=color, mfc="white", mew=1.8, ms=8, gid="start", zorder=4)
        for _, p in t.events:
            ax.plot(*t.at(t.sliding_velocity, p)[:, None], "o", color=color, ms=5, gid="event", zorder=5)
    for text, at in merged(marks, 2 * CLOSE * half):
        place = free(at, drawn, (0.09 + 0.012 * len(text)) * half)
        ax.text(place[0], place[1], text, ha="center", va="center", gid="label", **LETTER_STYLE)
        drawn = np.concatenate([drawn, place[None]])
    start = Line2D([], [], color=PATH, marker="o", mfc="white", mew=1.8, ms=8, lw=2, label="slip, from its start")
    ax.legend(handles=[start, *handles], loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=1, frameon=False)


def _draw_rays(ax: Axes, W: ArrayLike, friction: ArrayLike, middle: np.ndarray, half: float) -> list[Line2D]:
    """Invariant directions from the origin to near the frame; arrows show how slip moves along them."""
    directions, rates = (np.asarray(a) for a in invariant_directions(jnp.asarray(W, float), friction))
    used = {}
    for s, rate in zip(directions, rates, strict=True):
        if not np.isfinite(s).all():
            continue
        with np.errstate(divide="ignore"):
            room = np.where(s != 0, (middle * np.sign(s) + half) / np.abs(s), np.inf)
        reach = 0.95 * float(room.min())
        style = "--" if rate > 0 else "-"
        ax.plot([0, reach * s[0]], [0, reach * s[1]], style, color=RAY, lw=1.3, gid="ray", zorder=1)
        tail, head = (0.62, 0.70) if rate > 0 else (0.70, 0.62)
        arrow = {"arrowstyle": "-|>", "color": RAY, "mutation_scale": 16, "lw": 1.3}
        ax.annotate("", head * reach * s, tail * reach * s, arrowprops=arrow, zorder=1)
        name = "invariant, slip grows (centrifugal)" if rate > 0 else "invariant, slip stops (centripetal)"
        used[name] = Line2D([], [], color=RAY, ls=style, lw=1.3, label=name)
    return list(used.values()) or [Line2D([], [], ls="", label="every direction of slip is invariant")]


def merged(events: Iterable[tuple[str, np.ndarray]], reach: float) -> list[tuple[str, np.ndarray]]:
    """Labels for events; events nearer than `reach` to the first of a group share one label."""
    groups: list[tuple[list[str], np.ndarray]] = []
    for letter, at in events:
        near = [letters for letters, other in groups if np.linalg.norm(at - other) < reach]
        if not near:
            groups.append(([letter], at))
        elif letter not in near[0]:
            near[0].append(letter)
    return [(", ".join(letters), at) for letters, at in groups]


def free(at: np.ndarray, drawn: np.ndarray, distance: float) -> np.ndarray:
    """The position at `distance` from a mark that is farthest from all drawn points."""
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    places = at + distance * np.stack([np.cos(angles), np.sin(angles)], -1)
    gaps = np.linalg.norm(places[:, None] - drawn, axis=-1).min(-1)
    return places[gaps.argmax()]


def _draw_impulse(ax: Axes3D, t: Track, W: Any, v: Any, mu: Any) -> None:
    W, v, mu = np.asarray(W, float), np.asarray(v, float), float(np.asarray(mu))
    top = 1.08 * float(t.normal_impulse[-1])
    wide = max(1.15 * float(np.abs(t.impulse[:, :2]).max()), 0.1 * top)
    ax.set(xlim=(-wide, wide), ylim=(-wide, wide), zlim=(0, top), title="Path of the impulse")
    ax.set(xlabel="$I_1$ (N s)", ylabel="$I_2$ (N s)", zlabel="normal impulse $I_n$ (N s)")
    ax.tick_params(labelsize=9)
    ax.zaxis.labelpad = 11  # beyond ticks such as 0.075
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_major_locator(MaxNLocator(5))
        axis.set_pane_color((1, 1, 1, 0))
    around, rim = np.linspace(0, 2 * np.pi, 61), min(mu * top, wide)
    if mu > 0:
        ring, height = np.meshgrid(around, np.array([0, rim / mu]))
        cone = mu * height * np.cos(ring), mu * height * np.sin(ring), height
        ax.plot_surface(*cone, color=CONE, alpha=0.13, lw=0, shade=False)
        ax.plot(rim * np.cos(around), rim * np.sin(around), rim / mu, color=CONE, lw=0.8)
    corners = [np.array([x, y, -(v[2] + W[2, 0] * x + W[2, 1] * y) / W[2, 2]]) for x, y in _square(wide)]
    corners = _below(_below(corners, top, 1), 0, -1)
    if len(corners) > 2:
        ax.add_collection3d(Poly3DCollection([corners], facecolor=PLANE, alpha=0.22, edgecolor=PLANE, lw=0.8))
    base, rate = (np.linalg.solve(W[:2, :2], -b) for b in (v[:2], W[:2, 2]))
    z = np.linspace(0, top, 400)
    line = np.stack([base[0] + rate[0] * z, base[1] + rate[1] * z, z], -1)
    line = line[np.abs(line[:, :2]).max(-1) <= wide]
    handles: list[Any] = [Line2D([], [], color=PATH, lw=2.4, label="impulse")]
    handles.append(Patch(fc=PLANE, alpha=0.35, label="plane of maximum compression"))
    if len(line):
        ax.plot(*line.T, color=STICK, lw=1.6, ls="--", gid="sticking")
        handles.append(Line2D([], [], color=STICK, lw=1.6, ls="--", label="line of sticking"))
    handles += [Patch(fc=CONE, alpha=0.35, label="friction cone")] if mu > 0 else []
    ax.plot(*t.impulse.T, color=PATH, lw=2.4, gid="path")
    marks = [(letter, t.at(t.impulse, p)) for letter, p in t.events]
    for _, at in marks:
        ax.plot(*at[:, None], "o", color=PATH, ms=5, gid="event")
    for text, at in merged(marks, CLOSE * top):
        ax.text(*at, f"   {text}", gid="label", **LETTER_STYLE)
    ax.legend(handles=handles, loc="upper left", frameon=False, fontsize=9)


def _square(half: float) -> list[tuple[float, float]]:
    return [(-half, -half), (half, -half), (half, half), (-half, half)]


def _below(polygon: list[np.ndarray], height: float, sign: int) -> list[np.ndarray]:
    """The part of a polygon with sign * z <= sign * height."""
    kept = []
    for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        da, db = sign * (a[2] - height), sign * (b[2] - height)
        kept += [a] if da <= 0 else []
        kept += [a + (b - a) * da / (da - db)] if (da < 0 < db) or (db < 0 < da) else []
    return kept


def _draw_history(axes: Iterable[Axes], t: Track) -> None:
    p = t.normal_impulse
    upper, lower = axes
    for ax, values, label in ((upper, t.normal_velocity, "normal velocity (m/s)"), (lower, t.work, "normal work (J)")):
        ax.plot(p, values, color=PATH, lw=2, gid="path")
        ax.axhline(0, color="0.35", lw=0.8)
        ax.set(xlim=(0, p[-1]), ylabel=label)
        ax.ticklabel_format(scilimits=(-2, 4), useMathText=True)
        edges = [0.0, *(q for letter, q in t.events if letter in "cd"), float(p[-1])]
        for i, (a, b) in enumerate(pairwise(edges)):
            ax.axvspan(a, b, color=RESTITUTION if i % 2 else COMPRESSION, lw=0, zorder=0)
        for _, q in t.events:
            ax.axvline(q, color="0.45", lw=0.9, ls=":", zorder=1)
            ax.plot([q], t.at(values, q), "o", color=PATH, ms=5, gid="event", zorder=4, clip_on=False)
    upper.tick_params(labelbottom=False)
    lower.set_xlabel("normal impulse (N s)")
    phases = [Patch(fc=COMPRESSION, label="compression"), Patch(fc=RESTITUTION, label="restitution")]
    upper.legend(handles=phases, loc="upper left", fontsize=9, framealpha=0.9)
    for text, at in merged([(letter, np.array([q])) for letter, q in t.events], CLOSE * p[-1]):
        above = upper.get_xaxis_transform()
        upper.text(at[0], 1.02, text, transform=above, ha="center", va="bottom", gid="label", **LETTER_STYLE)
    upper.set_title("Normal velocity and work", pad=20)
