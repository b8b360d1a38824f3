"""Table 1, the flow of figure 2, and (29): what happens at the end of compression goes on; drawings without numbers."""

import numpy as np

import jimpact
from jimpact.reproduce import Finding, Progress, claim, solve_many, unchecked

from .plane_form import PlaneForm, spatial
from .rod import inverse_inertia, planar_inertia

__all__ = ["table1"]

ROUND_OFF = 1e-12


def table1(form: PlaneForm, theta: np.ndarray, ratio: np.ndarray, progress: Progress) -> list[Finding]:
    W, v = inverse_inertia(form.rod, theta, 0.0), spatial(ratio)
    # Without restitution the impact ends with compression.
    compressed, whole = (
        jimpact.require(solve_many(W, v, form.friction, e, law="poisson", progress=progress))
        for e in (0.0, form.restitution)
    )
    drawings = "Drawings and a list of cases: no numbers. What they say of restitution is SB-Table1."
    return [
        unchecked("SB-Fig1-2-6-7", "figs 1, 2, 6, 7", "free body, flowchart, rod, angles", "not drawn", drawings),
        _continues(form, compressed, whole),
        _at_stop(form, theta, ratio, whole),
    ]


def _continues(form: PlaneForm, compressed: jimpact.Impact, whole: jimpact.Impact) -> Finding:
    """Slip is along x, to which the rod moves first: sliding back is slip below zero."""
    early, late = compressed.velocity[..., 0], whole.velocity[..., 0]
    sticks, back = np.abs(early) < ROUND_OFF, early < -ROUND_OFF
    moved, stopped = int((np.abs(late[sticks]) >= ROUND_OFF).sum()), int((late[back] >= -ROUND_OFF).sum())
    return claim(
        "SB-Table1",
        "Table 1, fig 2",
        "sticking or sliding back at the end of compression, then in restitution",
        form.printed.continues,
        f"{sticks.sum()} cells stick, {moved} of them slip later; {back.sum()} slide back, {stopped} of them stop",
        moved == stopped == 0,
        f"Of {early.size} cells; slip above {ROUND_OFF:.0e} m/s counts.",
        "differs",
    )


def _at_stop(form: PlaneForm, theta: np.ndarray, ratio: np.ndarray, whole: jimpact.Impact) -> Finding:
    """(29) in the axes of the paper, y down, at unit approach speed."""
    K, mu, mass = planar_inertia(form.rod, theta), form.friction, form.rod.mass
    R, P, Q = (mass * x for x in (K[..., 0, 0], -K[..., 0, 1], K[..., 1, 1]))
    stops = np.isin(whole.info.mode, (1, 2))
    p = whole.info.slip_end[stops]
    solved = 1 - (K[..., 1, 1] - mu * K[..., 1, 0])[stops] * p
    printed = (1 - ratio * (Q + mu * P) / (P + mu * R))[stops]
    off = float(np.abs(solved - printed).max())
    return claim(
        "SB-29",
        "(29)",
        "normal velocity when slip stops in compression",
        form.printed.at_stop,
        f"within {off:.0e} m/s of the solved impact in {stops.sum()} cells",
        off < ROUND_OFF,
        f"The limit is {ROUND_OFF:.0e} m/s.",
        "misprint",
    )
