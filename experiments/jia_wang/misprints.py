"""Part "misprints": formulas that cannot be meant as printed, each beside the one that can, on an impact.

E is the energy that the normal force has stored, so minus its work. Along a straight piece of slip the impulse grows
as delta, and E is quadratic in the normal impulse: Phi_2 of (46).
"""

import numpy as np

import jimpact
from jimpact.plot import Track
from jimpact.reproduce import Finding, Progress, Result, claim, directions_many, solve_many, trace_many

from .algorithm1 import Steps, algorithm1
from .drawing import tracks
from .forms import Case, MisprintsForm

__all__ = ["run"]

SMALL = 1e-4  # of the slip: step of the differences for the curvature


def run(config: MisprintsForm, progress: Progress) -> Result:
    paths = tracks(trace_many(*_arrays(config.impact, config.line, config.twice)))
    findings = [
        _curvature(config.impact, config.tolerance),
        _growing(config.growing),
        _energy(config.line, paths[1]),
        _line_21(config.impact, paths[0]),
        _lines_10_13(config.twice, paths[2]),
        _fig4b(config.line, paths[1]),
        _fig8(config.growing),
        *_words(),
    ]
    total = claim(
        "JW-errata",
        "various",
        "formulas and sentences to correct",
        "",
        f"{len(findings) + 1} in this part and in Theorem 5",
        False,
        "Each has its own row, with what it does as printed and what it does corrected.",
        "misprint",
    )
    return Result([total, *findings])


def _arrays(*cases: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    W, v = np.array([case.inverse_inertia for case in cases]), np.array([case.velocity for case in cases])
    return W, v, np.array([case.friction for case in cases]), np.array([case.restitution for case in cases])


def _slope(case: Case, g: np.ndarray) -> np.ndarray:
    """(31)."""
    W = np.asarray(case.inverse_inertia)
    return W[:2, 2] - case.friction * W[:2, :2] @ (g / np.linalg.norm(g))


def _curvature(case: Case, tolerance: float) -> Finding:
    """(37) against differences along the hodograph, and the steps that it leads to."""
    W, g = np.asarray(case.inverse_inertia), np.asarray(case.velocity[:2])
    dg, r = _slope(case, g), float(np.linalg.norm(g))
    speed, step = np.linalg.norm(dg), SMALL * r
    ahead, behind = (_slope(case, g + side * step * dg / speed) for side in (1, -1))
    measured = _cross(dg, (ahead - behind) * speed / (2 * step)) / speed**3
    s = g / r
    bend = -case.friction * W[:2, :2] @ (dg - s * (s @ dg))
    corrected, printed = (_cross(dg, bend) / (size * speed**3) for size in (r, speed))
    arrays = _arrays(case)
    runs = [
        algorithm1(*arrays, Steps(printed_curvature=wrong), tolerance=tolerance, energy="before").steps[0]
        for wrong in (True, False)
    ]
    return claim(
        "JW-errata-(37)",
        "(37)",
        "curvature of the hodograph of fig. 3 at its start (s/m)",
        f"{printed:.5f}, with |gamma'|",
        f"{corrected:.5f}, with |gamma|",
        False,
        f"Differences along the path give {measured:.5f}. With the printed one VS takes {runs[0]} steps instead of "
        f"{runs[1]}, and steps over the end of slip.",
        "misprint",
    )


def _growing(case: Case) -> Finding:
    """(42) where slip starts along the centrifugal direction."""
    W = np.asarray(case.inverse_inertia)
    directions, rates = directions_many(W[None], np.array([case.friction]))
    out = directions[0][rates[0] > 0][0]
    velocity = np.append(np.linalg.norm(case.velocity[:2]) * out, case.velocity[2])
    impact = solve_many(W, velocity[None], case.friction, case.restitution)
    slip = np.linalg.norm(impact.velocity[0, :2])
    return claim(
        "JW-errata-(42)",
        "(42)",
        "impulse until slip stops, where it grows",
        "0, so the sequence is lscr",
        f"never: sequence {jimpact.event_sequence(impact)[0]}",
        False,
        f"Slip grows from {np.linalg.norm(velocity[:2]):.2f} to {slip:.4f} m/s; 'otherwise 0' means infinity.",
        "misprint",
    )


def _energy(case: Case, track: Track) -> Finding:
    """6.3, case 1: E at event s, along the straight piece from event l."""
    W, v, mu = np.asarray(case.inverse_inertia), np.asarray(case.velocity), case.friction
    events = dict(track.events)
    start, stop = events["l"], events["s"]
    impulse, slip = track.at(track.impulse, start), track.at(track.sliding_velocity, start)
    delta = np.append(-mu * slip / np.linalg.norm(slip), 1.0)
    a, k = -v[2] - W[2] @ (impulse - start * delta), W[2] @ delta
    phi = lambda p: a * p - k * p * p / 2  # noqa: E731
    exact, at_l = -track.at(track.work, stop)[0], -track.at(track.work, start)[0]
    corrected = at_l + phi(stop) - phi(start)
    return claim(
        "JW-errata-6.3",
        "6.3, case 1",
        "energy where slip stops, fig. 4b (J)",
        f"Phi_2(I_zs) = {phi(stop):.6f}",
        f"E_l + Phi_2(I_zs) - Phi_2(I_zl) = {corrected:.6f}",
        False,
        f"Traced: {exact:.6f}. The corrected form differs from it because slip at l is still up to 0.01 rad off the "
        "direction.",
        "misprint",
    )


def _line_21(case: Case, track: Track) -> Finding:
    """Line 21: the impulse where slip stops."""
    W, v = np.asarray(case.inverse_inertia), np.asarray(case.velocity)
    p = dict(track.events)["s"]
    exact = track.at(track.impulse, p)[:2]
    printed, corrected = (-np.linalg.solve(W[:2, :2], slip + p * W[:2, 2]) for slip in (np.zeros(2), v[:2]))
    return claim(
        "JW-errata-line21",
        "Algorithm 1, line 21",
        "tangential impulse where slip stops, fig. 3 (N s)",
        f"{_pair(printed)}, with gamma",
        f"{_pair(corrected)}, with gamma before the impact",
        False,
        f"Traced: {_pair(exact)}. (24) has the slip before.",
        "misprint",
    )


def _lines_10_13(case: Case, track: Track) -> Finding:
    """Lines 10-13 with two compressions: E is multiplied by e^2 at every zero of the normal velocity."""
    e2 = case.restitution**2
    ends = [p for letter, p in track.events if letter in "cd"]
    work = [-track.at(track.work, p)[0] for p in ends]  # stored, as if nothing were lost
    first, released, again = work[0], work[0] - work[1], work[2] - work[1]
    exact = e2 * (first + again) - released
    every = e2 * (e2 * (e2 * first - released) + again)
    left = float(track.work[-1]) + work[2]  # released after the last compression
    return claim(
        "JW-errata-lines10",
        "Algorithm 1, lines 10-13",
        "energy left after Baber's second compression (J)",
        f"{every:.5f}, times e^2 at each zero of v_z",
        f"{exact:.5f}, e^2 of both compressions less what was released",
        False,
        f"Traced from there to the end: {left:.5f}. The energy of the first compression must not be reduced twice.",
        "misprint",
    )


def _fig4b(case: Case, track: Track) -> Finding:
    """The point where the hodograph of fig. 4b meets its direction."""
    events = dict(track.events)
    order = ", ".join(f"{letter} {p:.4f}" for letter, p in track.events)
    gone = np.linalg.norm(track.at(track.sliding_velocity, events["r"]))
    return claim(
        "JW-errata-Fig4b",
        "4, on fig. 4b",
        "where the hodograph reaches the direction",
        "at g_r, and then moves to the origin",
        f"events {order}",
        False,
        f"At r slip is {gone:.0e} m/s, at the origin: g_l is meant.",
        "misprint",
    )


def _fig8(case: Case) -> Finding:
    """The condition for fig. 8."""
    W = np.asarray(case.inverse_inertia)
    ratio, d = np.linalg.norm(np.linalg.solve(W[:2, :2], W[:2, 2])), np.linalg.norm(W[:2, 2])
    return claim(
        "JW-errata-Fig8",
        "5.2, on fig. 8",
        "condition",
        "|B^-1 d| > d",
        f"{ratio:.4f} > friction {case.friction:g}",
        False,
        f"|d| is {d:.4f}, greater, and of another unit: mu is meant.",
        "misprint",
    )


def _words() -> list[Finding]:
    """What needs no computation."""
    return [
        claim(
            "JW-errata-(29)",
            "(29), (38), (44)",
            "matrix of the tangential axes",
            "(x, gamma)",
            "(x, y)",
            False,
            "The factor must have two columns of three entries: x and y. gamma has two entries.",
            "misprint",
        ),
        claim(
            "JW-errata-origin",
            "6, events",
            "events at the origin of the hodograph",
            "0 and s",
            "s",
            False,
            "At event 0 slip is that before the impact, as every figure shows.",
            "misprint",
        ),
    ]


def _cross(a: np.ndarray, b: np.ndarray) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


def _pair(x: np.ndarray) -> str:
    return f"({x[0]:.7f}, {x[1]:.7f})"
