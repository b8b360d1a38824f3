"""Tables 1 and 2: the mode of a planar impact from three ratios, as printed and as it must read, against simulation.

Source: (28), (30), R3 = R1 (1 + e), Table 2. Angles in degrees; slip along x, approach downwards. Symbols: texts.toml.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, only

from .figures import Frame, Panel, maps
from .forms import TEXTS, PlaneForm, Rod
from .rod import ROUND_OFF, TURNED, inverse_inertia, planar_inertia, solved, spatial
from .words import filled

UNIT = 1.0  # with which Table 2 compares R2


class Ratios(NamedTuple):
    through_compression: np.ndarray  # R1
    needed: np.ndarray  # R2, corrected
    throughout: np.ndarray  # R3


def ratios_of(rod: Rod, theta: Any, friction: float, restitution: float) -> Ratios:
    """R1 from (28), R2 = P / R, and R3."""
    s, c = np.sin(np.deg2rad(theta)), np.cos(np.deg2rad(theta))
    first = (s * c + friction * (rod.alpha + c * c)) / (rod.alpha + s * s + friction * s * c)
    return Ratios(first, needed(rod, theta), first * (1 + restitution))


def needed(rod: Rod, theta: Any) -> np.ndarray:
    """R2 = P / R."""
    return printed_needed(rod, theta) * np.cos(np.deg2rad(theta))


def printed_needed(rod: Rod, theta: Any) -> np.ndarray:
    """R2 as (30) has it."""
    return np.sin(np.deg2rad(theta)) / (rod.alpha + np.cos(np.deg2rad(theta)) ** 2)


def mode_of(ratio: np.ndarray, ratios: Ratios, sticks: np.ndarray) -> np.ndarray:
    """The rows of Table 2, with its test of R2 already made."""
    ended = np.where(ratio < ratios.through_compression, 1, 3) + np.where(sticks, 0, 1)
    return np.where(ratio > 0, np.where(ratio < ratios.throughout, ended, 0), np.where(sticks, 5, 6))


def stick_limit(form: PlaneForm, needed: Callable[[Rod, Any], np.ndarray] = needed) -> float:
    """The angle (deg) at which the friction that sticking needs is what there is, by halving."""
    low, high = 0.0, form.reach_deg
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if needed(form.rod, middle) < form.friction else (low, middle)
    return 0.5 * (low + high)


def run_table2(form: PlaneForm, progress: LabelledProgress) -> Result:
    theta, ratio = form.grid(form.coarse)
    W, v = inverse_inertia(form.rod, theta), spatial(ratio)
    # Without restitution the impact ends with compression.
    rules = (0.0, "poisson"), (form.restitution, "poisson"), (form.restitution, "stronge")
    compressed, whole, energetic = (solved(form.rod, W, v, form.friction, *rule, progress) for rule in rules)
    off = np.abs(W[..., [0, 2], :][..., [0, 2]] - planar_inertia(form.rod, theta)).max()
    angle, printed = stick_limit(form), stick_limit(form, printed_needed)
    last, first = theta[whole.stuck].max(), theta[(theta > 0) & whole.turned].min()
    findings = {
        "SB-Fig1-2-6-7": only(),
        **_stages(form, theta, ratio, compressed.impact, whole.impact),
        **_ratios(form, theta, ratio, whole.mode, energetic.mode),
        "SB-line": claimed(last < angle < first, angle=angle, last=last, first=first, printed=printed),
        "SB-27": claimed(off < ROUND_OFF, off=off),
    }
    return Result(filled(findings, form, limit=ROUND_OFF, cells=theta.size), [_picture(form)])


def _stages(form: PlaneForm, theta: Any, ratio: Any, compressed: Any, whole: Any) -> dict[str, Computed]:
    """Table 1: slip is along x, to which the rod moves first, so that sliding back is slip below zero.

    And (29) in the axes of the paper, y down, at unit approach speed.
    """
    early, late = compressed.velocity[..., 0], whole.velocity[..., 0]
    sticks, back = np.abs(early) < ROUND_OFF, early < -ROUND_OFF
    moved, stopped = (np.abs(late[sticks]) >= ROUND_OFF).sum(), (late[back] >= -ROUND_OFF).sum()
    words = {"sticks": sticks.sum(), "moved": moved, "back": back.sum(), "stopped": stopped}

    K, mu, mass = planar_inertia(form.rod, theta), form.friction, form.rod.mass
    R, P, Q = (mass * x for x in (K[..., 0, 0], -K[..., 0, 1], K[..., 1, 1]))
    stops = np.isin(whole.info.mode, (1, 2))
    right = 1 - (K[..., 1, 1] - mu * K[..., 1, 0])[stops] * whole.info.slip_end[stops]
    off = np.abs(right - (1 - ratio * (Q + mu * P) / (P + mu * R))[stops]).max()
    return {
        "SB-Table1": claimed(moved == stopped == 0, **words),
        "SB-29": claimed(off < ROUND_OFF, off=off, stops=stops.sum()),
    }


def _readings(form: PlaneForm, theta: np.ndarray) -> dict[str, np.ndarray]:
    """Where a rod sticks: as Table 2 must read, as printed, and with parts of the print put right."""
    right, printed, mu = needed(form.rod, theta), printed_needed(form.rod, theta), form.friction
    return {
        "right": np.abs(right) <= mu,
        "literal": printed <= mu,
        "both": printed <= UNIT,
        "cosine": np.abs(printed) <= mu,
        "bars": right <= mu,
        "against_one": right <= UNIT,
    }


def _ratios(form: PlaneForm, theta: Any, ratio: Any, mode: np.ndarray, energetic: np.ndarray) -> dict[str, Computed]:
    velocity, ratios = spatial(ratio)[..., [0, 2]], ratios_of(form.rod, theta, form.friction, form.restitution)
    table = jax.jit(jimpact.planar_modes)(planar_inertia(form.rod, theta), velocity, form.friction, form.restitution)
    wrong, apart = (table.mode != mode).sum(), (mode != energetic).sum()
    right, printed = table.slides_through_compression, ratios.through_compression
    off = np.nanmax(np.abs(np.where(np.isfinite(right), right, np.nan) - np.where(printed > 0, printed, np.nan)))
    read = {name: mode_of(ratio, ratios, sticks) for name, sticks in _readings(form, theta).items()}
    changed = {name: int((one != mode).sum()) for name, one in read.items()}
    back = np.isin(read["against_one"], TURNED).sum()
    return {
        "SB-2D-modes": claimed(wrong == apart == 0, wrong=wrong, apart=apart),
        "SB-R1": claimed(off < ROUND_OFF, off=off),
        "SB-R2": claimed(changed["literal"] == 0, **changed),
        "SB-R2-limit": claimed(changed["against_one"] == 0, **changed, largest=ratios.needed.max(), back=back),
        "SB-R2-size": only(**changed),
    }


def _picture(form: PlaneForm) -> Picture:
    theta, ratio = form.grid(form.fine)
    ratios = ratios_of(form.rod, theta, form.friction, form.restitution)
    titles = (
        "Table 2 with |sin cos / (α + cos²)| ≤ μ",
        "as (30): sin / (α + cos²) ≤ μ",
        "as (30) and Table 2: sin / (α + cos²) ≤ 1",
    )
    modes = [mode_of(ratio, ratios, sticks) for sticks in _readings(form, theta).values()]
    panels = [Panel(title, mode, mode != modes[0]) for title, mode in zip(titles, modes, strict=False)]
    frame = Frame(theta[:, 0], ratio[0], "lean θ (deg)", "slip / approach speed before")
    title = f"Table 2 without simulation, μ = {form.friction}, e = {form.restitution}"
    return TEXTS.picture("table2", maps(frame, [panels], title))
