"""Figures in the plane of generalised speeds: straight pieces, and the lines v_t = 0 and v_n = 0."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .algorithm import Solved
from .crowd import Crowd

__all__ = ["construction", "paths_figure"]

COMPRESSION, RESTITUTION, TANGENTIAL, NORMAL, OLD = "#1f4e9c", "#e09f3e", "#d1495b", "#2a9d8f", "0.55"
MARKS = {"start": ("o", "0.15"), "v_t = 0": ("s", TANGENTIAL), "v_n = 0": ("D", NORMAL), "end": ("*", "0.15")}
NAMES = {"start": "start", "v_t = 0": "tangential pause", "v_n = 0": "normal pause", "end": "end"}
SPREAD = 0.28  # of the extent of a path, around it


def paths_figure(crowd: Crowd, solved: Sequence[Solved], titles: Sequence[str]) -> Figure:
    """One panel for each impact."""
    columns = 4
    rows = -(-len(solved) // columns)
    fig = Figure(figsize=(3.7 * columns, 3.8 * rows), layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False).ravel()
    for i, (ax, one, title) in enumerate(zip(axes, solved, titles, strict=False)):
        _frame(ax, _window(np.array([stop.u for stop in one.stops])))
        _lines(ax, crowd.J[i])
        _path(ax, one)
        title = title.replace("v_t = 0", "$v_t = 0$")
        ax.set_title(f"{title}\n{one.boxes}, friction {crowd.friction[i]:.3g}", fontsize=10.5)
    for ax in axes[len(solved) :]:
        ax.set_axis_off()
    for ax in axes[::columns]:
        ax.set_ylabel("$u_2$ (rad/s)")
    for ax in axes[max(len(solved) - columns, 0) : len(solved)]:
        ax.set_xlabel("$u_1$ (rad/s)")
    if len(solved) < len(axes):
        axes[-1].legend(handles=_legend(), loc="center", frameon=False, fontsize=12)
    else:
        fig.legend(handles=_legend(), loc="outside lower center", ncols=8, frameon=False)
    return fig


def construction(crowd: Crowd, solved: Solved) -> Figure:
    """The example, step by step."""
    M, J, u = crowd.M[0], crowd.J[0], crowd.u[0]
    L = np.linalg.solve(M, J.T)
    first = L @ np.array([solved.frictions[0], 1.0])
    pauses = [u - first * (J[row] @ u) / (J[row] @ first) for row in (0, 1)]
    stops = np.array([stop.u for stop in solved.stops])
    reach = max(stop.p for stop in solved.stops)
    window = _window(np.array([*stops, *pauses, u + 0.6 * reach * L[:, 1]]))
    fig = Figure(figsize=(15.5, 4.9), layout="constrained")
    axes = fig.subplots(1, 4)
    titles = ("fig 2.2: first direction", "fig 2.3: both pauses", "figs 2.4, 2.5: friction turns", "fig 2.7: the end")
    for ax, title in zip(axes, titles, strict=True):
        _frame(ax, window)
        _lines(ax, J)
        ax.set(title=title, xlabel="$u_1$ (rad/s)")
        _mark(ax, u, "start")
    axes[0].set_ylabel("$u_2$ (rad/s)")
    p = 0.6 * reach
    normal, whole = u + p * L[:, 1], u + p * first
    for a, b, label, shift in ((u, normal, "$L_n p_n$", (26, 4)), (normal, whole, r"$\pm\mu L_t p_n$", (0, -16))):
        _arrow(axes[0], a, b, OLD)
        axes[0].annotate(label, 0.5 * (a + b), xytext=shift, textcoords="offset points", fontsize=11, ha="center")
    _arrow(axes[0], u, whole, COMPRESSION)
    for ax in axes[1:3]:
        ax.plot(*np.stack([u, pauses[1]]).T, ":" if ax is axes[2] else "-", color=COMPRESSION, lw=2)
    _mark(axes[1], pauses[0], "v_t = 0")
    _mark(axes[1], pauses[1], "v_n = 0")
    axes[2].plot(*stops[:3].T, color=COMPRESSION, lw=2.2)
    axes[2].plot(*pauses[1], "D", color="w", mec=OLD, ms=7, mew=1.5, zorder=5)
    axes[2].annotate("not reached", pauses[1], xytext=(-8, -14), textcoords="offset points", color="0.35", ha="right")
    for stop in solved.stops[1:3]:
        _mark(axes[2], stop.u, stop.event)
    _path(axes[3], solved)
    fig.legend(handles=_legend(), loc="outside lower center", ncols=8, frameon=False)
    return fig


def _window(points: np.ndarray) -> np.ndarray:
    """Limits of both axes around the points: ((low, high), (low, high))."""
    low, high = points.min(0), points.max(0)
    return np.stack([low - SPREAD * (high - low), high + SPREAD * (high - low)], -1)


def _frame(ax: Axes, window: np.ndarray) -> None:
    ax.set(xlim=window[0], ylim=window[1])
    ax.grid(color="0.92", lw=0.6)


def _lines(ax: Axes, J: np.ndarray) -> None:
    for row, color in ((J[0], TANGENTIAL), (J[1], NORMAL)):
        ax.axline((0, 0), (-row[1], row[0]), color=color, lw=1.5, ls="--", zorder=1)


def _path(ax: Axes, solved: Solved) -> None:
    """Blue in compression, orange in restitution."""
    deepest = next(i for i, stop in enumerate(solved.stops) if stop.event == "v_n = 0")
    u = np.array([stop.u for stop in solved.stops])
    ax.plot(*u[: deepest + 1].T, color=COMPRESSION, lw=2.4, zorder=3)
    ax.plot(*u[deepest:].T, color=RESTITUTION, lw=2.4, zorder=3)
    for stop in solved.stops:
        _mark(ax, stop.u, stop.event)


def _mark(ax: Axes, at: np.ndarray, event: str) -> None:
    shape, color = MARKS[event]
    ax.plot(*at, shape, color=color, ms=13 if shape == "*" else 7, mec="w", mew=0.8, zorder=5)


def _arrow(ax: Axes, a: np.ndarray, b: np.ndarray, color: str) -> None:
    ax.annotate(
        "", tuple(b), tuple(a), arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0}
    )


def _legend() -> list[Line2D]:
    lines = [
        Line2D([], [], color=COMPRESSION, lw=2.4, label="compression"),
        Line2D([], [], color=RESTITUTION, lw=2.4, label="restitution"),
        Line2D([], [], color=TANGENTIAL, lw=1.5, ls="--", label="$v_t = 0$"),
        Line2D([], [], color=NORMAL, lw=1.5, ls="--", label="$v_n = 0$"),
    ]
    marks = [
        Line2D([], [], ls="", marker=shape, color=color, ms=11 if shape == "*" else 7, label=NAMES[event])
        for event, (shape, color) in MARKS.items()
    ]
    return lines + marks
