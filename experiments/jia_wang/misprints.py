"""Part "misprints": formulas that cannot be meant as printed, each beside the one that can, on an impact.

E is the energy that the normal force has stored, so minus its work. Along a straight piece of slip the impulse grows
as delta, and E is quadratic in the normal impulse: Phi_2 of (46).
"""

from typing import Any

import numpy as np

import jimpact
from jimpact.plot import Track
from jimpact.reproduce import Finding, Progress, Result, claim, directions_many, solve_many, trace_many

from .algorithm1 import Varied, algorithm1
from .bodies import case_of
from .drawing import tracks
from .forms import Case, ImpactsForm
from .hodographs import velocities

__all__ = ["run"]

STRAIGHT = "4b"  # the figure in which slip stops along an invariant direction


def run(config: ImpactsForm, progress: Progress) -> Result:
    case, line, twice = case_of(config.icosahedron), _line(config), config.misprints.twice
    paths = tracks(trace_many(*_arrays(case, line, twice)))
    findings = [
        _curvature(config, case, dict(paths[0].events)["s"]),
        _growing(config),
        _energy(config, line, paths[1]),
        _line_21(config, case, paths[0]),
        _lines_10_13(config, paths[2]),
        _fig4b(config, paths[1]),
        _fig8(config),
        _axes(config, case, paths[0]),
        _origin(config),
    ]
    wrong = [finding.id for finding in findings if finding.verdict == "misprint"]
    total = claim(
        "JW-errata",
        "various",
        "sum of this part: formulas and sentences tried as printed",
        "",
        f"{len(wrong)} of {len(findings)} cannot be meant as printed",
        not wrong,
        f"Rows {', '.join(wrong)}; further ones are in the other parts.",
        "misprint",
    )
    return Result([total, *findings])


def _line(config: ImpactsForm) -> Case:
    """Fig. 4b."""
    index = [one.figure for one in config.hodographs.instances].index(STRAIGHT)
    friction, velocity = config.hodographs.instances[index].friction, tuple(velocities(config)[index])
    return case_of(config.icosahedron).model_copy(update={"friction": friction, "velocity": velocity})


def _arrays(*cases: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    W, v = np.array([case.inverse_inertia for case in cases]), np.array([case.velocity for case in cases])
    return W, v, np.array([case.friction for case in cases]), np.array([case.restitution for case in cases])


def _slope(case: Case, g: np.ndarray) -> np.ndarray:
    """(31)."""
    W = np.asarray(case.inverse_inertia)
    return W[:2, 2] - case.friction * W[:2, :2] @ (g / np.linalg.norm(g))


def _right(config: ImpactsForm, value: Any, reference: Any) -> bool:
    """Whether a formula gives what a traced impact has."""
    gap, size = np.max(np.abs(np.subtract(value, reference))), np.max(np.abs(reference))
    return bool(gap <= config.limits.formula * size)


def _curvature(config: ImpactsForm, case: Case, stop: float) -> Finding:
    """(37) against differences along the hodograph, and the steps that it leads to."""
    W, g, v = np.asarray(case.inverse_inertia), np.asarray(case.velocity[:2]), config.table1.variable
    dg, r = _slope(case, g), float(np.linalg.norm(g))
    speed, step = np.linalg.norm(dg), config.misprints.difference * r
    ahead, behind = (_slope(case, g + side * step * dg / speed) for side in (1, -1))
    measured = _cross(dg, (ahead - behind) * speed / (2 * step)) / speed**3
    s = g / r
    bend = -case.friction * W[:2, :2] @ (dg - s * (s @ dg))
    corrected, printed = (_cross(dg, bend) / (size * speed**3) for size in (r, speed))
    runs = [
        algorithm1(*_arrays(case), Varied(v.share, v.arc, v.turn, wrong), tolerance=config.table1.tolerance)
        for wrong in (True, False)
    ]
    return claim(
        "JW-errata-(37)",
        "(37)",
        "curvature of the hodograph of fig. 3 at its start (s/m)",
        "first factor of the denominator |gamma'|",
        f"{printed:.5f} as printed, {corrected:.5f} with |gamma|",
        _right(config, printed, measured),
        f"Differences along the path give {measured:.5f}. With the printed one VS takes {runs[0].steps[0]} steps, to "
        f"I_z = {runs[0].left[0]:.4f}, with the other {runs[1].steps[0]}, to {runs[1].left[0]:.4f}; slip stops at "
        f"{stop:.4f}.",
        "misprint",
    )


def _growing(config: ImpactsForm) -> Finding:
    """(42) where slip starts along the centrifugal direction: fig. 8."""
    case, given = case_of(config.icosahedron), config.bundles.fig8
    W = np.asarray(case.inverse_inertia)
    directions, rates = directions_many(W[None], np.array([given.friction]))
    velocity = np.append(directions[0][rates[0] > 0][0], given.normal_velocity)
    impact = solve_many(W, velocity[None], given.friction, case.restitution)
    slip, stops = np.linalg.norm(impact.velocity[0, :2]), bool(np.isfinite(impact.info.slip_end[0]))
    return claim(
        "JW-errata-(42)",
        "(42)",
        "impulse until slip stops, where it grows (fig. 8)",
        "0, otherwise",
        f"{'it stops' if stops else 'it never stops'}: sequence {jimpact.event_sequence(impact)[0]}",
        stops,
        f"Slip grows from {np.linalg.norm(velocity[:2]):.2f} to {slip:.4f} m/s. With 0, 6.3 would make it case 1, "
        "lscr: infinity is meant.",
        "misprint",
    )


def _energy(config: ImpactsForm, case: Case, track: Track) -> Finding:
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
        f"energy where slip stops, fig. {STRAIGHT} (J)",
        "E_s = Phi_2(I_zs)",
        f"{phi(stop):.6f} as printed, {corrected:.6f} with E_l - Phi_2(I_zl) added",
        _right(config, phi(stop), exact),
        f"Traced: {exact:.6f}. The corrected form is off by {abs(corrected - exact):.0e}, as slip at l is not yet "
        "straight.",
        "misprint",
    )


def _line_21(config: ImpactsForm, case: Case, track: Track) -> Finding:
    """Line 21: the impulse where slip stops."""
    W, v = np.asarray(case.inverse_inertia), np.asarray(case.velocity)
    p = dict(track.events)["s"]
    exact = track.at(track.impulse, p)[:2]
    printed, corrected = (-np.linalg.solve(W[:2, :2], slip + p * W[:2, 2]) for slip in (np.zeros(2), v[:2]))
    return claim(
        "JW-errata-line21",
        "Algorithm 1, line 21",
        "tangential impulse where slip stops, fig. 3 (N s)",
        "-B^-1 (gamma + I_z d)",
        f"{_pair(printed)} as printed, {_pair(corrected)} with gamma before the impact",
        _right(config, printed, exact),
        f"Traced: {_pair(exact)}. gamma is zero there; (24) has the slip before.",
        "misprint",
    )


def _lines_10_13(config: ImpactsForm, track: Track) -> Finding:
    """Lines 10-13 with two compressions: E is multiplied by e^2 at every zero of the normal velocity."""
    case = config.misprints.twice
    e2, W = case.restitution**2, np.asarray(case.inverse_inertia)
    ends = [p for letter, p in track.events if letter in "cd"]
    work = [-track.at(track.work, p)[0] for p in ends]  # stored, as if nothing were lost
    first, released, again = work[0], work[0] - work[1], work[2] - work[1]
    exact = e2 * (first + again) - released
    every = e2 * (e2 * (e2 * first - released) + again)
    left = float(track.work[-1]) + work[2]  # released after the last compression
    most = W[2, 2] / np.linalg.norm(W[:2, 2])
    return claim(
        "JW-errata-lines10",
        "Algorithm 1, lines 10-13",
        "energy left after Baber's second compression (J)",
        "E <- e^2 E where v_z = 0",
        f"{every:.5f} as printed, {exact:.5f} by e^2 of both compressions less what was released",
        _right(config, every, left),
        f"Traced from there to the end: {left:.5f}. Friction {case.friction:g} is outside (18), which needs less than "
        f"{most:.4f} here and which the paper assumes from 2.3 on; fig. 4d violates it too (row JW-(18)).",
        "differs",
    )


def _fig4b(config: ImpactsForm, track: Track) -> Finding:
    """The point where the hodograph of fig. 4b meets its direction."""
    events = dict(track.events)
    order = ", ".join(f"{letter} {p:.4f}" for letter, p in track.events)
    slip = {letter: float(np.linalg.norm(track.at(track.sliding_velocity, events[letter]))) for letter in "lr"}
    return claim(
        "JW-errata-Fig4b",
        "4, on fig. 4b",
        "where the hodograph reaches the direction",
        "at g_r, and then moves to the origin",
        f"events {order}",
        slip["r"] > config.limits.formula * slip["l"],
        f"At r slip is {slip['r']:.0e} m/s, at the origin, at l {slip['l']:.4f} m/s: g_l is meant.",
        "misprint",
    )


def _fig8(config: ImpactsForm) -> Finding:
    """The condition for fig. 8."""
    W, friction = np.asarray(case_of(config.icosahedron).inverse_inertia), config.bundles.fig8.friction
    ratio, d = np.linalg.norm(np.linalg.solve(W[:2, :2], W[:2, 2])), np.linalg.norm(W[:2, 2])
    return claim(
        "JW-errata-Fig8",
        "5.2, on fig. 8",
        "condition",
        "|B^-1 d| > d",
        f"|B^-1 d| = {ratio:.4f}, |d| = {d:.4f} 1/kg, friction {friction:g}",
        bool(ratio > d),
        "|B^-1 d| has no unit: it is compared with mu everywhere else.",
        "misprint",
    )


def _axes(config: ImpactsForm, case: Case, track: Track) -> Finding:
    """(29) at the start of fig. 3, with gamma as a vector of three entries, against differences of the impulse."""
    s, mu = np.append(np.asarray(case.velocity[:2]) / np.linalg.norm(case.velocity[:2]), 0.0), case.friction
    x, y = np.eye(3)[:2]
    printed, corrected = (-mu * (np.stack([x, second], -1) @ s[:2])[:2] for second in (s, y))
    measured = track.impulse[1, :2] / track.normal_impulse[1]
    return claim(
        "JW-errata-(29)",
        "(29), (38), (44)",
        "tangential I' at the start of fig. 3",
        "-mu (x, gamma) gamma, unit vectors",
        f"{_pair(printed)} as printed, {_pair(corrected)} with (x, y)",
        _right(config, printed, measured),
        f"The first sample of the path has {_pair(measured)}. The factor turns two entries into three, so its columns "
        "are x and y.",
        "misprint",
    )


def _origin(config: ImpactsForm) -> Finding:
    """Events at the origin of the hodograph."""
    speeds = np.linalg.norm(velocities(config)[:, :2], axis=-1)
    resting = int((speeds == 0).sum())
    return claim(
        "JW-errata-origin",
        "6, events",
        "events at the origin of the hodograph",
        "0 and s",
        f"{resting} of {len(speeds)} figures start at the origin",
        resting == len(speeds),
        f"At event 0 slip is that before the impact, at least {speeds.min():.4f} m/s in figs. 4, 7 and 10: only s is "
        "meant.",
        "misprint",
    )


def _cross(a: np.ndarray, b: np.ndarray) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


def _pair(x: np.ndarray) -> str:
    return f"({x[0]:.7f}, {x[1]:.7f})"
