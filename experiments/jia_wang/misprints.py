"""Part "misprints": formulas that cannot be meant as printed, each beside the one that can, on an impact.

E is the energy that the normal force has stored, so minus its work. Along a straight piece of slip the impulse grows
as delta, and E is quadratic in the normal impulse: Phi_2 of (46).
"""

from typing import Any

import numpy as np

import jimpact
from jimpact.plotting.impact import Track
from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, cross, solve_many, trace_many

from .algorithm1 import Varied, algorithm1, centrifugal
from .drawing import tracks
from .forms import ROWS, Bundle, Case, ImpactsForm, Table1
from .hodographs import velocities

STRAIGHT = "4b"  # the figure in which slip stops along an invariant direction
FORMULA = 1e-3  # relative: a printed formula against a traced impact
DIFFERENCE = 1e-4  # of the slip: step of the differences for the curvature


def run(config: ImpactsForm, progress: LabelledProgress) -> Result:
    index = [one.figure for one in config.hodographs.instances].index(STRAIGHT)
    starts, friction = velocities(config), config.hodographs.instances[index].friction
    base, twice = config.icosahedron, config.twice
    line = base.model_copy(update={"friction": friction, "velocity": tuple(starts[index])})
    on_base, on_line, on_twice = tracks(trace_many(*_arrays(base, line, twice)))

    # (42) where slip starts along the centrifugal direction: fig. 8.
    slip, eight = centrifugal(base.W, config.fig8.friction), config.fig8
    impact = solve_many(base.W, np.append(slip, eight.normal_velocity)[None], eight.friction, base.restitution)
    stops, after = bool(np.isfinite(impact.info.slip_end[0])), np.linalg.norm(impact.velocity[0, :2])
    words = {"sequence": jimpact.event_sequence(impact)[0], "stops": "it stops" if stops else "it never stops"}

    # Lines 10-13 with two compressions: E is multiplied by e^2 at every zero of the normal velocity.
    e2, most = twice.restitution**2, twice.W[2, 2] / np.linalg.norm(twice.W[:2, 2])
    work = [-on_twice.at(on_twice.work, p)[0] for letter, p in on_twice.events if letter in "cd"]  # nothing is lost
    first, released, again = work[0], work[0] - work[1], work[2] - work[1]
    every, corrected = e2 * (e2 * (e2 * first - released) + again), e2 * (first + again) - released
    left = float(on_twice.work[-1]) + work[2]  # released after the last compression
    found = {
        "JW-errata-(37)": _curvature(base, config.table1, dict(on_base.events)["s"]),
        "JW-errata-(42)": claimed(stops, **words, before=np.linalg.norm(slip), after=after),
        "JW-errata-6.3": _energy(line, on_line),
        "JW-errata-lines10": _tried(every, corrected, left, friction=twice.friction, most=most),
        **_points(base, on_base, on_line, config.fig8, np.linalg.norm(starts[:, :2], axis=-1)),
    }
    misprints = [id for id, row in ROWS["misprints"].items() if row.verdict == "misprint" and id in found]
    wrong = [id for id in misprints if not found[id].holds]
    total = claimed(not wrong, wrong=len(wrong), count=len(found), ids=", ".join(wrong))
    return Result({"JW-errata": total} | found)


def _arrays(*cases: Case) -> Any:
    return [np.stack(fields) for fields in zip(*(case.arrays for case in cases), strict=True)]


def _tried(printed: Any, corrected: Any, exact: Any, **words: Any) -> Computed:
    """A formula as printed, and corrected, against what a traced impact has."""
    right = np.max(np.abs(np.subtract(printed, exact))) <= FORMULA * np.max(np.abs(exact))
    return claimed(right, printed=printed, corrected=corrected, exact=exact, **words)


def _curvature(case: Case, given: Table1, stop: float) -> Computed:
    """(37) against differences along the hodograph, and the steps that it leads to."""

    def slope(g: np.ndarray) -> np.ndarray:
        """(31)."""
        return case.W[:2, 2] - case.friction * case.W[:2, :2] @ (g / np.linalg.norm(g))

    g, r = case.v[:2], float(np.linalg.norm(case.v[:2]))
    dg, s = slope(g), g / r
    speed, step = np.linalg.norm(dg), DIFFERENCE * r
    ahead, behind = (slope(g + side * step * dg / speed) for side in (1, -1))
    bend = -case.friction * case.W[:2, :2] @ (dg - s * (s @ dg))
    turns = (ahead - behind) * speed / (2 * step), bend / speed, bend / r
    measured, printed, corrected = (float(cross(dg, turn)) / speed**3 for turn in turns)
    methods = [Varied(given.share, given.arc, given.turn, wrong) for wrong in (True, False)]
    W, v, mu, e = _arrays(case)
    runs = [algorithm1(W, v, mu, e, method, tolerance=given.tolerance) for method in methods]
    return _tried(printed, corrected, measured, runs=runs, stop=stop)


def _energy(case: Case, track: Track) -> Computed:
    """6.3, case 1: E at event s, along the straight piece from event l."""
    start, stop = (dict(track.events)[letter] for letter in "ls")
    impulse, slip = track.at(track.impulse, start), track.at(track.sliding_velocity, start)
    delta = np.append(-case.friction * slip / np.linalg.norm(slip), 1.0)
    a, k = -case.v[2] - case.W[2] @ (impulse - start * delta), case.W[2] @ delta
    phi_l, phi_s = (a * p - k * p * p / 2 for p in (start, stop))
    at_l, exact = (-track.at(track.work, p)[0] for p in (start, stop))
    corrected = at_l + phi_s - phi_l
    return _tried(phi_s, corrected, exact, off=abs(corrected - exact))


def _points(case: Case, track: Track, line: Track, eight: Bundle, speeds: np.ndarray) -> dict[str, Computed]:
    """Line 21, the end of fig. 4b, the condition for fig. 8, (29) at the start of fig. 3, and events at the origin."""
    events, slips, B, d = dict(line.events), {}, case.W[:2, :2], case.W[:2, 2]
    for letter in "lr":
        slips[letter] = float(np.linalg.norm(line.at(line.sliding_velocity, events[letter])))
    ratio, size = np.linalg.norm(np.linalg.solve(B, d)), np.linalg.norm(d)
    # (29) with gamma as a vector of three entries, against differences of the impulse.
    s, (x, y) = np.append(case.v[:2] / np.linalg.norm(case.v[:2]), 0.0), np.eye(3)[:2]
    axes = (-case.friction * (np.stack([x, second], -1) @ s[:2])[:2] for second in (s, y))
    stop = dict(track.events)["s"]
    stopping = (-np.linalg.solve(B, slip + stop * d) for slip in (np.zeros(2), case.v[:2]))
    resting, count = int((speeds == 0).sum()), len(speeds)
    return {
        "JW-errata-line21": _tried(*stopping, track.at(track.impulse, stop)[:2]),
        "JW-errata-Fig4b": claimed(slips["r"] > FORMULA * slips["l"], events=events, slip=slips),
        "JW-errata-Fig8": claimed(ratio > size, ratio=ratio, d=size, friction=eight.friction),
        "JW-errata-(29)": _tried(*axes, track.impulse[1, :2] / track.normal_impulse[1]),
        "JW-errata-origin": claimed(resting == count, resting=resting, count=count, least=speeds.min()),
    }
