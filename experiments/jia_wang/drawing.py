"""Figures of hodographs and of the curve of the impulse, from sampled paths."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from jimpact.plot import Track, free, merged

__all__ = ["Panel", "bundle", "hodographs", "impulse_curve", "tracks"]

CURVE, OTHER, LINE, PLANE = "#1f4e9c", "#d1495b", "#e09f3e", "#2a9d8f"
IN, OUT = "#3a6ea5", "#c1121f"  # centripetal and centrifugal, as in the paper
PLATE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}  # behind a label
Rays = tuple[np.ndarray, np.ndarray]  # invariant directions (4, 2) and rates (4,), nan where there are fewer
NAMES = (
    ("line_start", "l"),
    ("slip_end", "s"),
    ("compression_end", "c"),
    ("recompression_start", "d"),
    ("recompression_end", "c"),
)


def tracks(path: Any) -> list[Track]:
    """The lanes of a traced batch, for drawing; l after s counts for nothing."""
    found = []
    for i, p in enumerate(path.normal_impulse):
        at = {name: float(getattr(path.events, name)[i]) for name, _ in NAMES}
        if at["line_start"] >= at["slip_end"]:
            at["line_start"] = np.nan
        events = sorted((at[name], letter) for name, letter in NAMES if np.isfinite(at[name]))
        named = (*((letter, where) for where, letter in events), ("r", float(path.events.end[i])))
        lanes = (path.sliding_velocity[i], path.normal_velocity[i], path.impulse[i], path.work[i])
        found.append(Track(p, *lanes, named))
    return found


class Panel(NamedTuple):
    """One hodograph: its path with events, its curve, and the invariant directions."""

    title: str
    track: Track
    curve: np.ndarray  # (points, 2) m/s, finer than the samples of the path
    rays: Rays


def hodographs(panels: Sequence[Panel], columns: int, tolerance: float, *, zoom: float = 0.0) -> Figure:
    """One hodograph per panel, l within `tolerance` (rad); `zoom` adds an inset of that half width (m/s) at zero."""
    rows = -(-len(panels) // columns)
    fig = Figure(
        figsize=(5.0 * columns, 5.0 * rows + 0.7),
        layout=ConstrainedLayoutEngine(compress=True, rect=(0.01, 0.0, 0.98, 0.98)),
    )
    axes = np.atleast_1d(fig.subplots(rows, columns)).ravel()
    handles: dict[str, Any] = {}
    for ax, panel in zip(axes, panels, strict=True):
        handles |= {str(line.get_label()): line for line in _panel(ax, panel)}
        if zoom:
            _inset(ax, panel.curve, zoom)
    letters = f"c compression ends, s slip stops, r end,\nl within {tolerance:g} rad of an invariant direction"
    lines = [
        Line2D([], [], color=CURVE, marker="o", mfc="white", mew=1.6, ms=7, lw=2, label="slip, from its start"),
        Line2D([], [], ls="", marker="o", color=CURVE, ms=5, label=letters),
    ]
    fig.legend(handles=[*lines, *handles.values()], loc="outside lower center", ncols=min(columns, 2), frameon=False)
    return fig


def _panel(ax: Axes, panel: Panel) -> list[Line2D]:
    """One hodograph with its events; the origin is always inside."""
    slip, track = panel.curve, panel.track
    low, high = np.minimum(slip.min(0), 0), np.maximum(slip.max(0), 0)
    half = 0.65 * float((high - low).max())
    middle = np.clip((low + high) / 2, -0.75 * half, 0.75 * half)
    ax.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")
    ax.set(xlabel="sliding velocity $v_x$ (m/s)", ylabel="sliding velocity $v_y$ (m/s)")
    ax.set_title(panel.title, fontsize=11)
    ax.axhline(0, color="0.9", lw=0.8, zorder=0)
    ax.axvline(0, color="0.9", lw=0.8, zorder=0)
    lines = _rays(ax, *panel.rays, middle, half)
    ax.plot(*slip.T, color=CURVE, lw=2, zorder=3)
    ax.plot(*slip[0], "o", color=CURVE, mfc="white", mew=1.6, ms=7, zorder=4)
    marks = [(letter, track.at(track.sliding_velocity, p)) for letter, p in track.events]
    ax.plot(*np.array([at for _, at in marks]).T, "o", color=CURVE, ms=5, zorder=5)
    along = np.linspace(0, 1.5 * half, 100)[:, None]
    drawn = np.concatenate([slip, *(along * s for s in panel.rays[0] if np.isfinite(s[0]))])
    for text, at in merged(marks, 0.05 * half):
        place = free(at, drawn, (0.09 + 0.012 * len(text)) * half)
        ax.text(
            place[0],
            place[1],
            text,
            ha="center",
            va="center",
            fontsize=11,
            fontweight="bold",
            color="#16325c",
            zorder=6,
        )
        drawn = np.concatenate([drawn, place[None]])
    return lines


def _inset(ax: Axes, curve: np.ndarray, half: float) -> None:
    """The neighbourhood of the origin."""
    inner = ax.inset_axes((0.12, 0.55, 0.38, 0.38), xlim=(-half, half), ylim=(-half, half), aspect="equal")
    inner.plot(*curve.T, color=CURVE, lw=1.5)
    inner.plot(0, 0, "+", color="0.2", ms=12, mew=1.5)
    inner.tick_params(labelsize=8)
    inner.set_title("around zero slip", fontsize=9)
    ax.indicate_inset_zoom(inner, edgecolor="0.5")


def bundle(
    lanes: Sequence[Track],
    chosen: np.ndarray,
    labels: tuple[str, str],
    rays: Rays,
    title: str,
) -> Figure:
    """Many hodographs; `chosen` ones are numbered first and drawn in the first colour."""
    fig = Figure(figsize=(7.2, 7.4), layout="constrained")
    ax = fig.add_subplot()
    half = 1.15 * max(1.0, *(float(np.abs(t.sliding_velocity).max()) for t in lanes))
    ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", title=title)
    ax.set(xlabel="sliding velocity $v_x$ (m/s)", ylabel="sliding velocity $v_y$ (m/s)")
    shown = _rays(ax, *rays, np.zeros(2), half)
    order = [*np.flatnonzero(chosen), *np.flatnonzero(~chosen)]
    for k, i in enumerate(order):
        slip, color = lanes[i].sliding_velocity, CURVE if chosen[i] else OTHER
        ax.plot(*slip.T, color=color, lw=1.6, zorder=3)
        ax.plot(*slip[0], "o", color=color, mfc="white", mew=1.4, ms=6, zorder=4)
        ax.plot(*slip[-1], "s", color=color, ms=4, zorder=5)
        ax.text(
            1.07 * slip[0, 0],
            1.07 * slip[0, 1],
            f"$\\gamma_{{{k + 1}}}$",
            ha="center",
            va="center",
            fontsize=11,
            bbox=PLATE,
        )
    handles = [
        Line2D([], [], color=CURVE, lw=1.6, label=labels[0]),
        Line2D([], [], color=OTHER, lw=1.6, label=labels[1]),
    ]
    handles.append(Line2D([], [], color="0.3", marker="o", mfc="white", ls="", label="start"))
    handles.append(Line2D([], [], color="0.3", marker="s", ms=4, ls="", label="end of the impact"))
    fig.legend(handles=[*handles, *shown], loc="outside lower center", ncols=2, frameon=False)
    return fig


def _rays(ax: Axes, directions: np.ndarray, rates: np.ndarray, middle: np.ndarray, half: float) -> list[Line2D]:
    """Invariant directions from the origin to near the frame; arrows say which way slip moves along them."""
    used = {}
    for s, rate in zip(directions, rates, strict=True):
        if not np.isfinite(rate):
            continue
        color, name = (OUT, "centrifugal direction") if rate > 0 else (IN, "centripetal direction")
        with np.errstate(divide="ignore"):
            tip = 0.97 * s * np.min((middle * np.sign(s) + half) / np.abs(s))
        ax.plot(*np.stack([0 * tip, tip], -1), "--", color=color, lw=1.2, zorder=1)
        tail, head = (0.82, 0.9) if rate > 0 else (0.9, 0.82)
        ax.annotate("", head * tip, tail * tip, arrowprops={"arrowstyle": "-|>", "color": color, "mutation_scale": 16})
        used[name] = Line2D([], [], color=color, ls="--", lw=1.2, label=name)
    return list(used.values())


def impulse_curve(track: Track, inverse_inertia: np.ndarray, velocity: np.ndarray) -> Figure:
    """Fig. 5: the curve of the impulse, the plane of compression and the line of sticking."""
    fig = Figure(figsize=(7.0, 6.6))
    ax: Any = fig.add_axes((0.0, 0.03, 0.92, 0.93), projection="3d")
    W, I = inverse_inertia, track.impulse
    low, high = I[:, :2].min(0), I[:, :2].max(0)
    low, high = low - 0.25 * (high - low), high + 0.25 * (high - low)
    corners = [
        np.array([x, y]) for x, y in ((low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1]))
    ]
    plane = [np.append(c, -(velocity[2] + W[2, :2] @ c) / W[2, 2]) for c in corners]
    ax.add_collection3d(Poly3DCollection([plane], facecolor=PLANE, alpha=0.25, edgecolor=PLANE))
    z = np.linspace(0.5, 1.1, 2) * I[-1, 2]
    stuck = -np.linalg.solve(W[:2, :2], velocity[:2, None] + W[:2, 2:] * z)
    ax.plot(*stuck, z, "--", color=OTHER, lw=1.6)
    ax.plot(*I.T, color=CURVE, lw=2.4)
    marks = [(letter, track.at(I, p)) for letter, p in track.events]
    ax.plot(*np.array([at for _, at in marks]).T, "o", color=CURVE, ms=5)
    for text, at in merged(marks, 0.05 * I[-1, 2]):
        ax.text(*at, f"   {text}", fontsize=12, fontweight="bold", color="#16325c")
    ax.set(xlabel="$I_x$ (N s)", ylabel="$I_y$ (N s)", zlabel="normal impulse $I_z$ (N s)", zlim=(0, 1.1 * I[-1, 2]))
    ax.tick_params(labelsize=8)
    handles = [
        Line2D([], [], color=CURVE, lw=2.4, label="impulse"),
        Patch(fc=PLANE, alpha=0.35, label="plane of compression"),
        Line2D([], [], color=OTHER, ls="--", lw=1.6, label="line of sticking"),
    ]
    ax.legend(handles=handles, loc="upper left", frameon=False)
    return fig
