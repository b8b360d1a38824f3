"""The figures: the pendulum, planes of its generalised speeds, energy, orders of events, and its motion."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Patch

from jimpact.impact_path import Path
from jimpact.reproduce import Picture

from .algorithm import Solved
from .crowd import Crowd
from .flight import Motion
from .forms import TEXTS
from .pendulum import Pendulum, energy, tip

BLUE, RED, GREEN, ORANGE = "#1f4e9c", "#d1495b", "#2a9d8f", "#e09f3e"
EVENTS = {
    "start": ("o", "0.15", 7, "start"),
    "v_t = 0": ("s", RED, 7, "tangential pause"),
    "v_n = 0": ("D", GREEN, 7, "normal pause"),
    "end": ("*", "0.15", 13, "end"),
}
SPREAD = 0.28  # of the extent of a path, around it


def _bars(pendulum: Pendulum, q: np.ndarray) -> np.ndarray:
    """Support, joint and tip, (3, 2)."""
    along = np.stack([np.cos(np.cumsum(q)), np.sin(np.cumsum(q))], -1)
    return pendulum.length * np.concatenate([np.zeros((1, 2)), np.cumsum(along, 0)])


def _floor(ax: Axes, height: float, depth: float) -> None:
    ax.axhspan(height - depth, height, color="0.88", lw=0)
    ax.axhline(height, color="0.3", lw=1.2)


def posture(pendulum: Pendulum, angles_deg: tuple[float, float]) -> Picture:
    """The pendulum touching the floor, with its angles (fig 2.1)."""
    r, points = pendulum.length, _bars(pendulum, np.deg2rad(angles_deg))
    picture, (ax,) = TEXTS.page("fig2_1")
    _floor(ax, points[2, 1], 0.15 * r)
    ax.plot(*points.T, "o-", color=BLUE, lw=5, ms=9, mfc="w", mew=2)
    ax.plot(0, 0.07 * r, "v", color="0.3", ms=16, zorder=0)
    direction = lambda angle: np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])  # noqa: E731
    look = {"fontsize": 13, "ha": "center", "va": "center"}
    for i, angles in enumerate(pairwise(np.cumsum([0.0, *angles_deg]))):
        low, high = sorted(angles)
        ax.plot(*np.stack([points[i], points[i] + 0.6 * r * direction(angles[0])]).T, "--", color="0.5", lw=1)
        ax.add_patch(Arc(tuple(points[i]), 0.8 * r, 0.8 * r, theta1=low, theta2=high, color=RED, lw=1.6))
        at = points[i] + 0.56 * r * direction(0.5 * (low + high))
        ax.text(*at, f"$q_{i + 1}, u_{i + 1}$", color=RED, **look)
        ax.annotate("$m, r$", points[i : i + 2].mean(0), (48 * i - 24, 16 * i - 8), textcoords="offset points", **look)
    ax.annotate(r"friction $\mu$, restitution $e$", points[2], (0, -22), textcoords="offset points", ha="center")
    ax.set(aspect="equal", xlim=(-0.35 * r, max(points[2, 0], 0.7 * r) + 0.5 * r), ylim=(None, 0.25 * r))
    return picture


def paths_figure(crowd: Crowd, solved: Sequence[Solved], titles: Sequence[str]) -> Picture:
    """The plane of generalised speeds, one panel for each impact."""
    rows = -(-len(solved) // 4)
    figure = Figure(figsize=(14.8, 3.8 * rows), layout="constrained")
    for i, (one, J, friction, title) in enumerate(zip(solved, crowd.J, crowd.friction, titles, strict=False)):
        ax = figure.add_subplot(rows, 4, i + 1, xlabel="$u_1$ (rad/s)", ylabel="$u_2$ (rad/s)")
        _plane(ax, J, [stop.u for stop in one.stops])
        _path(ax, one)
        ax.set_title(f"{title.replace('v_t = 0', '$v_t = 0$')}\n{one.boxes}, friction {friction:.3g}", fontsize=10.5)
    _legend(figure)
    return TEXTS.picture("fig2_9_paths", figure)


def construction(crowd: Crowd, solved: Solved, pauses: np.ndarray) -> Picture:
    """How the first impact is solved; `pauses` are the speeds (2, 2) at both pauses along the first direction."""
    u, Ln, p = crowd.u[0], crowd.L[0, :, 1], 0.6 * solved.impulse[1]
    stops = np.array([stop.u for stop in solved.stops])
    normal, whole = u + p * Ln, u + p * (crowd.L[0] @ [solved.frictions[0], 1.0])
    picture, axes = TEXTS.page("fig2_2_to_2_7")
    for ax in axes:
        _plane(ax, crowd.J[0], [*stops, *pauses, normal])
        _mark(ax, u, "start")
    first, both, turned, end = axes
    for a, b, color in ((u, normal, "0.55"), (normal, whole, "0.55"), (u, whole, BLUE)):
        arrow = {"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0}
        first.annotate("", b, a, arrowprops=arrow)
    for at, label, shift in ((u + normal, "$L_n p_n$", (26, 4)), (normal + whole, r"$\pm\mu L_t p_n$", (0, -16))):
        first.annotate(label, 0.5 * at, xytext=shift, textcoords="offset points", fontsize=11, ha="center")
    both.plot(*np.stack([u, pauses[1]]).T, color=BLUE, lw=2)
    _mark(both, pauses[0], "v_t = 0")
    _mark(both, pauses[1], "v_n = 0")
    turned.plot(*np.stack([u, pauses[1]]).T, ":", color=BLUE, lw=2)
    turned.plot(*stops[:3].T, color=BLUE, lw=2.2)
    turned.plot(*pauses[1], "D", color="w", mec="0.55", ms=7, mew=1.5, zorder=5)
    turned.annotate("not reached", pauses[1], xytext=(-8, -14), textcoords="offset points", color="0.35", ha="right")
    for stop in solved.stops[1:3]:
        _mark(turned, stop.u, stop.event)
    _path(end, solved)
    _legend(picture.figure)
    return picture


def _plane(ax: Axes, J: np.ndarray, points: Sequence[np.ndarray]) -> None:
    """A window around the points, and the lines of zero slip and zero normal velocity."""
    low, high = np.min(points, 0), np.max(points, 0)
    limits = np.stack([low - SPREAD * (high - low), high + SPREAD * (high - low)], -1)
    ax.set(xlim=limits[0], ylim=limits[1])
    for row, color, name in zip(J, (RED, GREEN), ("$v_t = 0$", "$v_n = 0$"), strict=True):
        ax.axline((0, 0), (-row[1], row[0]), color=color, lw=1.5, ls="--", zorder=1, label=name)


def _path(ax: Axes, solved: Solved) -> None:
    deepest = [stop.event for stop in solved.stops].index("v_n = 0")
    u = np.array([stop.u for stop in solved.stops])
    ax.plot(*u[: deepest + 1].T, color=BLUE, lw=2.4, zorder=3, label="compression")
    ax.plot(*u[deepest:].T, color=ORANGE, lw=2.4, zorder=3, label="restitution")
    for stop in solved.stops:
        _mark(ax, stop.u, stop.event)


def _mark(ax: Axes, at: np.ndarray, event: str) -> None:
    shape, color, size, name = EVENTS[event]
    ax.plot(*at, shape, color=color, ms=size, mec="w", mew=0.8, zorder=5, label=name)


def _legend(fig: Figure) -> None:
    """One entry for every name in any panel."""
    named = {name: handle for ax in fig.axes for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(named.values(), named.keys(), loc="outside lower center", ncols=8, frameon=False)


def energy_figure(p: np.ndarray, parts: dict[str, np.ndarray], solved: Solved) -> Picture:
    """Energy exchanged, in all and in parts, against the normal impulse (fig 2.6)."""
    picture, (ax,) = TEXTS.page("fig2_6")
    for (label, part), color in zip(parts.items(), (BLUE, GREEN, RED), strict=True):
        ax.plot(p, part, color=color, lw=2.2, label=label)
    ax.axhline(0, color="0.35", lw=0.8)
    low = min(part.min() for part in parts.values())
    names = {"v_t = 0": "$v_t = 0$\nslip turns", "v_n = 0": "$v_n = 0$\ncompression ends", "end": "end"}
    for stop in solved.stops[1:]:
        ax.axvline(stop.p, color="0.55", lw=0.9, ls=":")
        ax.plot(stop.p, stop.E, "o", color=GREEN, ms=6, zorder=4, clip_on=False)
        ax.text(stop.p, -0.03 * low, names[stop.event], ha="center", va="bottom", fontsize=10)
    ax.set(xlim=(0, 1.04 * p[-1]), ylim=(1.06 * low, -0.2 * low))
    ax.legend(loc="lower left", frameon=False)
    return picture


def map_figure(direction: np.ndarray, cells: Crowd, modes: np.ndarray, ways: dict[str, str], **words: Any) -> Picture:
    """Modes and jamming, row by row; `ways` are the name and color of each mode."""
    picture, (ax,) = TEXTS.page("fig2_8_orders", **words)
    friction, modes, jams = (a.reshape(-1, len(direction)) for a in (cells.friction, modes, cells.jams))
    norm = BoundaryNorm(np.arange(-0.5, len(ways)), len(ways))
    look = {"cmap": ListedColormap(list(ways.values())), "norm": norm, "shading": "nearest", "rasterized": True}
    ax.pcolormesh(direction, friction[:, 0], modes, **look)
    hatched = ax.contourf(direction, friction[:, 0], jams, levels=[0.5, 1.5], colors="none", hatches=["//"])
    hatched.set(edgecolor="w", linewidth=0)
    handles = [Patch(fc=color, ec="0.5", lw=0.5, label=name) for name, color in ways.items()]
    handles.append(Patch(fc=BLUE, ec="w", lw=0.5, hatch="///", label="jams: (3.3) is negative"))
    picture.figure.legend(handles=handles, loc="outside right center", frameon=False)
    return picture


def motion_figure(pendulum: Pendulum, motion: Motion, name: str) -> Picture:
    """Height of the tip and energy against time; path of the tip, with the bars at the start, impacts and the end."""
    across, height = np.asarray(jax.vmap(partial(tip, pendulum))(motion.state[:, :2])).T
    energies = np.asarray(jax.vmap(partial(energy, pendulum))(motion.state))
    times = [bounce.time for bounce in motion.bounces]
    fig = Figure(figsize=(12, 6), layout="constrained")
    fig.suptitle(name, parse_math=False)
    axes = fig.subplot_mosaic([["height", "path"], ["loss", "path"]], width_ratios=(1.15, 1))
    axes["height"].plot(motion.time, height, color=BLUE, lw=1.4)
    axes["height"].plot(times, np.zeros(len(times)), "|", color=RED, ms=12, label="impacts")
    axes["height"].set(xlabel="time (s)", ylabel="height of the tip (m)")
    axes["height"].legend(loc="upper right", fontsize=9)
    axes["loss"].plot(motion.time, energies - energies[0], color=BLUE, lw=1.4)
    axes["loss"].set(xlabel="time (s)", ylabel="energy, less that at the start (J)")
    ax, impacts, depth = axes["path"], np.searchsorted(motion.time, times), 0.12 * pendulum.length
    looks = {"impacts": (impacts, "0.75", 0.9, 2), "the start": ([0], "0.15", 2.2, 4), "the end": ([-1], RED, 2.2, 4)}
    for label, (at, color, width, size) in looks.items():
        for k, q in enumerate(motion.state[at, :2]):
            own = {"color": color, "lw": width, "ms": size, "zorder": width, "label": "" if k else f"bars at {label}"}
            ax.plot(*_bars(pendulum, q).T, "o-", **own)
    ax.plot(across, height + pendulum.floor, color=BLUE, lw=1.1, zorder=2, label="path of the tip")
    _floor(ax, pendulum.floor, depth)
    ax.set(xlabel="across (m)", ylabel="height (m)", aspect="equal", ylim=(pendulum.floor - depth, None))
    ax.legend(loc="best", fontsize=9, framealpha=0.9)
    return TEXTS.picture("fig3_1", fig)


def space_figure(path: Path, labels: Sequence[str]) -> Picture:
    """Slip and normal velocity during impacts in space (chapter 4)."""
    picture, (plane, normal) = TEXTS.page("chapter4")
    for i, label in enumerate(labels):
        color, slip, p, v_n = f"C{i}", path.sliding_velocity[i], path.normal_impulse[i], path.normal_velocity[i]
        plane.plot(*slip.T, color=color, lw=2, label=label)
        plane.plot(*slip[0], "o", color=color, ms=7)
        plane.plot(*slip[-1], "*", color=color, ms=12, mec="w", mew=0.6, zorder=5)
        normal.plot(p, v_n, color=color, lw=2)
        ends = path.events.slip_end[i]  # nan if it does not end: then nothing is drawn
        normal.plot(ends, np.interp(ends, p, v_n), "s", color=color, ms=7, mec="w", zorder=5)
    for line in (plane.axhline, plane.axvline, normal.axhline):
        line(0, color="0.5", lw=0.8, zorder=0)
    normal.set_xlim(0, None)
    picture.figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return picture
