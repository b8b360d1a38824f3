"""Slip during an impact, as a path in its plane: followed exactly, and in the straight pieces of the approximation."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import jimpact
from jimpact.reproduce import Progress, solve_many, trace_many

from .rod import inverse_inertia
from .space_form import MaterialForm, MaterialMap

__all__ = ["draw_hodographs", "pieces"]

LINES = ("#1f4e9c", "#2a9d8f", "#e09f3e", "#d1495b", "#7b4fa3", "#5b7a2a", "#a15c38", "#3a9ec2")


def pieces(mode: int, start: np.ndarray, compressed: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Corners of the approximate path of slip: start, zero where the mode has it, end of compression, end."""
    zero = np.zeros(2)
    corners = {
        0: [start, compressed, end],
        1: [start, zero],
        2: [start, zero, compressed, end],
        3: [start, compressed, zero],
        4: [start, compressed, zero, end],
    }
    return np.array(corners[mode])


def draw_hodographs(form: MaterialForm, progress: Progress) -> Figure:
    """One panel for each orientation, one colour for each friction; energetic restitution."""
    figure = Figure(figsize=(5.6 * len(form.maps), 5.2), layout="constrained")
    for axes, case in zip(figure.subplots(1, len(form.maps), squeeze=False)[0], form.maps, strict=True):
        _panel(axes, form, case, progress)
    figure.suptitle(f"Slip from start to end, energetic restitution, e = {form.hodographs.restitution}", fontsize=12)
    return figure


def _panel(axes: Axes, form: MaterialForm, case: MaterialMap, progress: Progress) -> None:
    friction = np.array(form.hodographs.friction)
    W = inverse_inertia(form.rod, case.theta1_deg, case.theta2_deg)
    exact = trace_many(W, form.velocity, friction, form.hodographs.restitution, law="stronge")
    restitution = np.array([form.hodographs.restitution, 0.0])  # without restitution it ends with compression
    near = solve_many(
        W, form.velocity, friction[:, None], restitution, law="sun_baruh", rule="stronge", progress=progress
    )
    for i, colour in zip(range(len(friction)), LINES, strict=False):
        mode = int(near.info.mode[i, 0])
        slip = exact.sliding_velocity[i]
        path = pieces(mode, np.array(form.velocity[:2]), *np.asarray(near.velocity[i, ::-1, :2]))
        axes.plot(*slip.T, color=colour, lw=2, label=f"μ = {friction[i]:g}, exact")
        axes.plot(
            *path.T, color=colour, lw=1.2, ls="--", marker="o", ms=3.5, label=f"approximation: {jimpact.MODES[mode]}"
        )
        axes.plot(*slip[-1], color=colour, marker="s", ms=6)
    axes.plot(0, 0, "k+", ms=12)
    axes.plot(*form.velocity[:2], "k.", ms=9)
    axes.annotate("start", form.velocity[:2], xytext=(0, -14), textcoords="offset points", ha="center", fontsize=9)
    axes.set_title(f"θ₁ = {case.theta1_deg:g}°, θ₂ = {case.theta2_deg:g}° (figure {case.figure})", fontsize=10)
    axes.set_xlabel("slip along x (m/s)")
    axes.set_ylabel("slip along z (m/s)")
    axes.legend(fontsize=8)
    axes.margins(y=0.08)
    axes.grid(alpha=0.3)
