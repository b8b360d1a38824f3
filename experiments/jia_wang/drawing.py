"""Figures of hodographs, from sampled paths."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from jimpact.diagnostics import EVENT_LETTERS, in_order
from jimpact.plotting.impact import Track, draw_hodograph

CURVE, OTHER = "#1f4e9c", "#d1495b"


class Panel(NamedTuple):
    """One hodograph: its path with events, and its curve, finer than the samples of the path."""

    title: str
    track: Track
    curve: np.ndarray  # (points, 2) m/s
    friction: float


def tracks(path: Any) -> list[Track]:
    """The lanes of a traced batch, for drawing."""
    found = []
    for i, p in enumerate(path.normal_impulse):
        inner = in_order(*(float(getattr(path.events, name)[i]) for name, _ in EVENT_LETTERS))
        events = (*((letter, at) for at, letter in inner), ("r", float(path.events.end[i])))
        found.append(Track(p, path.sliding_velocity[i], path.normal_velocity[i], path.impulse[i], path.work[i], events))
    return found


def hodographs(W: np.ndarray, panels: Sequence[Panel], columns: int, *, zoom: float = 0.0) -> Figure:
    """One hodograph per panel; `zoom` adds an inset of that half width (m/s) at zero."""
    rows = -(-len(panels) // columns)
    layout = ConstrainedLayoutEngine(compress=True, rect=(0.01, 0.0, 0.98, 0.98))
    fig = Figure(figsize=(5.0 * columns, 5.0 * rows + 0.7), layout=layout)
    handles: dict[str, Any] = {}
    for ax, panel in zip(np.atleast_1d(fig.subplots(rows, columns)).ravel(), panels, strict=True):
        handles |= {line.get_label(): line for line in _draw(ax, [panel.track], W, panel.friction, panel.title)}
        _lines(ax, "path")[0].set_data(*panel.curve.T)
        if zoom:  # the neighbourhood of the origin
            inner = ax.inset_axes((0.12, 0.55, 0.38, 0.38), xlim=(-zoom, zoom), ylim=(-zoom, zoom), aspect="equal")
            inner.plot(*panel.curve.T, color=CURVE, lw=1.5)
            inner.plot(0, 0, "+", color="0.2", ms=12, mew=1.5)
            inner.set_title("around zero slip", fontsize=9)
            ax.indicate_inset_zoom(inner, edgecolor="0.5")
    fig.legend(handles=[*handles.values()], loc="outside lower center", ncols=min(columns, 2), frameon=False)
    return fig


def _draw(ax: Axes, lanes: list[Track], W: np.ndarray, friction: float, title: str) -> list[Any]:
    """Hodographs without a legend; returns what it would show: a start, and the kinds of invariant directions."""
    draw_hodograph(ax, lanes, W, friction)
    ax.set(xlabel="sliding velocity $v_x$ (m/s)", ylabel="sliding velocity $v_y$ (m/s)")
    ax.set_title(title, fontsize=11)
    legend: Any = ax.get_legend()
    legend.remove()
    return legend.legend_handles


def _lines(ax: Axes, part: str) -> list[Line2D]:
    return [line for line in ax.lines if line.get_gid() == part]


def bundle(lanes: Sequence[Track], chosen: Any, labels: Any, W: np.ndarray, friction: float, title: str) -> Figure:
    """Many hodographs; `chosen` ones are numbered first, and drawn in the first colour with the first label."""
    fig = Figure(figsize=(7.2, 7.6), layout="constrained")
    ax = fig.add_subplot()
    order = [*np.flatnonzero(chosen), *np.flatnonzero(~chosen)]
    _, *rays = _draw(ax, [lanes[i]._replace(events=()) for i in order], W, friction, title)
    for k, (i, *lines) in enumerate(zip(order, _lines(ax, "path"), _lines(ax, "start"), strict=True)):
        slip, color = lanes[i].sliding_velocity, CURVE if chosen[i] else OTHER
        for line in lines:
            line.set(color=color, lw=1.6, ms=6)
        ax.plot(*slip[-1], "s", color=color, ms=4, zorder=5)
        x, y = 1.09 * slip[0]
        ax.text(x, y, f"$\\gamma_{{{k + 1}}}$", ha="center", va="center", fontsize=11)
    handles = [Line2D([], [], color=c, lw=1.6, label=name) for c, name in zip((CURVE, OTHER), labels, strict=True)]
    handles.append(Line2D([], [], color="0.3", marker="o", mfc="white", ls="", label="start"))
    handles.append(Line2D([], [], color="0.3", marker="s", ms=4, ls="", label="end of the impact"))
    fig.legend(handles=[*handles, *rays], loc="outside lower center", ncols=2, frameon=False)
    return fig
