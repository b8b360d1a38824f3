"""Fig 3.1: the double pendulum let go over the floor, flight and impacts, until its tip rests."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import jimpact
from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, digits_of, new, unchecked

from .algorithm import Solved, solve_by_text
from .crowd import largest_gap
from .flight import MOST, Material, Motion, broken, simulate
from .forms import MotionForm
from .pendulum import Pendulum, energy, matrices, tip

__all__ = ["run"]

LINE, MARK = "#1f4e9c", "#d1495b"


def run(form: MotionForm, progress: Progress) -> Result:
    pendulum, material = form.pendulum.pendulum(), Material(**form.material.model_dump())
    y = jnp.concatenate([jnp.deg2rad(jnp.array(form.start.angles_deg)), jnp.array(form.start.speeds)])
    given = form.run.model_dump()
    room = math.ceil(2 * form.run.duration / form.run.step)  # of both, so that one program is compiled
    whole = simulate(pendulum, material, y, **given, room=room)
    finer = simulate(pendulum, material, y, **{**given, "step": form.run.step / 2}, room=room)
    text = _by_text(pendulum, material, whole)
    findings = [
        unchecked(
            "M-fig3.1",
            "fig 3.1",
            "motion of the double pendulum",
            ending(whole),
            "A drawing without numbers: neither bars nor floor nor start are given; ours are in the configuration.",
        ),
        *([_impacts(whole, text)] if text and material.law == "stronge" else []),
        _promises(pendulum, material, whole),
        _finer(whole, finer),
    ]
    caption = "Height of the tip, energy, and bars at the start, at impacts and at the end (fig 3.1)."
    return Result(findings, [Picture("fig3_1", figure(pendulum, whole, form.name), caption)], [_table(whole, text)])


def _by_text(pendulum: Pendulum, material: Material, motion: Motion) -> list[Solved]:
    """The impacts of the motion once more, by the algorithm of fig 2.8."""
    states = np.array([b.state for b in motion.bounces]).reshape(-1, 4)
    M, J = matrices(pendulum, states[:, :2])
    mu, e = material.friction, material.restitution
    return [solve_by_text(M[i], J[i], states[i, 2:], mu, e) for i in range(len(states))]


def ending(motion: Motion) -> str:
    """How it ended, in one sentence."""
    when = f"{motion.time[-1]:.4f} s, after {len(motion.bounces)} impacts"
    if motion.rests:
        return f"Stopped at {when}: the tip rests on the floor, with a slip of {motion.bounces[-1].after[0]:.4f} m/s."
    why = "the time is over" if len(motion.bounces) < MOST else "too many, pass a greater rest"
    return f"Stopped at {when}: {why}."


def _impacts(motion: Motion, text: list[Solved]) -> Finding:
    gaps = largest_gap(np.array([b.speeds for b in motion.bounces]), np.array([s.u for s in text]))
    paths = {path: sum(s.boxes == path for s in text) for path in sorted({s.boxes for s in text})}
    return new(
        "M-fig3.1-impacts",
        "chapter 3",
        "impacts of the motion by the algorithm: paths through fig 2.8",
        ", ".join(f"{path} {count}" for path, count in paths.items()),
        f"Speeds after {len(text)} impacts by the text's algorithm and by collide_mechanism differ by at most "
        f"{gaps.max():.0e}.",
        digits_of(np.ones(1), 1 + gaps.max()),
    )


def _promises(pendulum: Pendulum, material: Material, motion: Motion) -> Finding:
    lost = sum(b.energy_lost for b in motion.bounces)
    complaints = broken(pendulum, material, motion)
    return new(
        "M-fig3.1-energy",
        "fig 3.1",
        "energy of the motion",
        f"impacts take {lost:.6f} J; constant in flight to {motion.drift:.0e} J",
        "; ".join(complaints) or "It rises at no impact, and the tip rebounds from each.",
    )


def _finer(motion: Motion, finer: Motion) -> Finding:
    same = len(motion.bounces) == len(finer.bounces)
    moved = abs(motion.time[-1] - finer.time[-1])
    return new(
        "M-fig3.1-step",
        "fig 3.1",
        "half the step of the flight",
        f"moves the end by {moved:.0e} s",
        f"{'The same' if same else 'Another'} number of impacts: {len(finer.bounces)}.",
    )


def _table(motion: Motion, text: list[Solved]) -> Grid:
    """One line for each impact."""
    head = (
        "time, s",
        "approach, m/s",
        "rebound, m/s",
        "slip before, m/s",
        "slip after, m/s",
        "lost, J",
        "slip",
        "path",
    )
    rows = [
        (
            f"{b.time:.6f}",
            *(f"{x:.5f}" for x in (-b.before[1], b.after[1], b.before[0], b.after[0] + 0.0)),
            f"{b.energy_lost:.2e}",
            jimpact.MODES[b.mode],
            s.boxes,
        )
        for b, s in zip(motion.bounces, text, strict=True)
    ]
    return Grid("Impacts of the tip.", head, rows)


def figure(pendulum: Pendulum, motion: Motion, name: str) -> Figure:
    """Height of the tip and energy against time; path of the tip, with the bars at the start, impacts and the end."""
    path = np.asarray(jax.vmap(partial(tip, pendulum))(motion.state[:, :2]))
    energies = np.asarray(jax.vmap(partial(energy, pendulum))(motion.state))
    fig = Figure(figsize=(12, 6), layout="constrained")
    fig.suptitle(name, parse_math=False)
    grid = fig.add_gridspec(2, 2, width_ratios=(1.15, 1))
    height = fig.add_subplot(grid[0, 0])
    height.plot(motion.time, path[:, 1], color=LINE, lw=1.4)
    times = [b.time for b in motion.bounces]
    height.plot(times, np.zeros(len(times)), "|", color=MARK, ms=12, label="impacts")
    height.legend(loc="upper right", fontsize=9)
    height.set(ylabel="height of the tip (m)", ylim=(-0.06 * path[:, 1].max(), None))
    height.tick_params(labelbottom=False)
    loss = fig.add_subplot(grid[1, 0], sharex=height)
    loss.plot(motion.time, energies - energies[0], color=LINE, lw=1.4)
    loss.set(xlabel="time (s)", ylabel="energy, less that at the start (J)", xlim=(0, motion.time[-1]))
    for axes in (height, loss):
        axes.grid(color="0.9", lw=0.6)
    _draw_path(fig.add_subplot(grid[:, 1]), pendulum, motion, path)
    return fig


def _draw_path(axes: Axes, pendulum: Pendulum, motion: Motion, path: np.ndarray) -> None:
    up = path + np.array([0.0, pendulum.floor])
    moments = np.searchsorted(motion.time, [b.time for b in motion.bounces])
    looks = [(0, "0.15", "start"), *((i, "0.75", "") for i in moments), (-1, MARK, "end")]
    for rank, (index, color, label) in enumerate(looks):
        q = motion.state[index, 0]
        elbow = pendulum.length * np.array([np.cos(q), np.sin(q)])
        bars = np.stack([np.zeros(2), elbow, up[index]])
        front = 3 if label else 1
        axes.plot(*bars.T, "o-", color=color, lw=2.2 if label else 0.9, ms=4 if label else 2, zorder=front)
        if label:
            axes.plot([], [], color=color, lw=2.2, label=f"bars at the {label}")
        elif rank == 1:
            axes.plot([], [], color=color, lw=0.9, label="bars at impacts")
    axes.plot(*up.T, color=LINE, lw=1.1, zorder=2, label="path of the tip")
    axes.axhline(pendulum.floor, color="0.3", lw=1.2)
    axes.axhspan(pendulum.floor - 0.12 * pendulum.length, pendulum.floor, color="0.88", lw=0)
    axes.set(xlabel="across (m)", ylabel="height (m)", aspect="equal")
    axes.set_ylim(pendulum.floor - 0.12 * pendulum.length, max(0.0, up[:, 1].max()) + 0.12 * pendulum.length)
    axes.legend(loc="best", fontsize=9, framealpha=0.9)
