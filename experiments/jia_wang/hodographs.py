"""Part "hodographs": figures 4, 7 and 10, with sequences of events and invariant directions.

An invariant direction is reached only in the limit, unless slip starts on it. So the event l needs a tolerance, and the
paper prints none; without one the exact sequence has no l.
"""

from typing import NamedTuple

import numpy as np

import jimpact
from jimpact.plot import Track
from jimpact.reproduce import (
    Finding,
    Grid,
    Picture,
    Progress,
    Result,
    claim,
    directions_many,
    new,
    solve_many,
    trace_many,
)

from .bodies import case_of
from .closed_form import Flow, flow_of, impulse_between, least_slip, refined, speed_ratio
from .drawing import Panel, hodographs, tracks
from .forms import ImpactsForm, Instance
from .straight import straight_at, within_angle, within_product

__all__ = ["run", "velocities"]

COLUMNS = ("figure", "impulse (N s)", "velocity after (m/s)", "events (N s)", "invariant directions: angle (deg), rate")
ZOOM = 0.03  # m/s, about the origin of fig. 7
GROWING = "4c"  # the figure on which the closed form is tried: slip turns all the way


class Seen(NamedTuple):
    """One hodograph."""

    flow: Flow
    velocity: np.ndarray  # before
    exact: str  # sequence of events
    ends: dict[str, float]  # normal impulse of events but l
    rays: tuple[np.ndarray, np.ndarray]  # invariant directions that there are, and their rates
    least: float  # slip, m/s


def run(config: ImpactsForm, progress: Progress) -> Result:
    given, case = config.hodographs, case_of(config.icosahedron)
    W, instances = np.asarray(case.inverse_inertia), given.instances
    friction, velocity = np.array([one.friction for one in instances]), velocities(config)
    impact = jimpact.require(solve_many(W, velocity, friction, case.restitution, progress=progress))
    rays = list(zip(*directions_many(W, friction), strict=True))
    lanes = tracks(trace_many(W, velocity, friction, case.restitution))
    seen = [_seen(W, one.friction, velocity[i], impact, i, rays[i]) for i, one in enumerate(instances)]
    near = [_with_line(one, config, [given.line_tolerance])[0] for one in seen]
    findings, rows, panels = [], [], {}
    for i, one in enumerate(instances):
        findings.append(_finding(one, seen[i], near[i], config))
        rows.append(_row(one.figure, impact, i, lanes[i].events, rays[i]))
        title = f"{one.figure}: friction {one.friction:g}, sequence {near[i]}"
        panels[one.figure] = Panel(title, lanes[i], _curve(seen[i].flow, lanes[i]), rays[i])
    findings.append(_one_tolerance(instances, seen, config))
    growing = [one.figure for one in instances].index(GROWING)
    findings.append(_integrable(seen[growing].flow, lanes[growing], given.closed_form))
    pictures = [_picture(key, panels, given.line_tolerance) for key in ("4", "7", "10")]
    return Result(findings, pictures, [Grid("Impacts of figures 4, 7 and 10", COLUMNS, rows)])


def velocities(config: ImpactsForm) -> np.ndarray:
    """Contact velocity before each instance: that of fig. 3 with the velocity of body 1 exchanged."""
    scene = config.icosahedron
    changes = [np.subtract(one.velocity_1, scene.body_1.velocity) for one in config.hodographs.instances]
    return np.asarray(scene.contact_velocity) + changes


def _seen(W: np.ndarray, friction: float, velocity: np.ndarray, impact: jimpact.Impact, i: int, rays: tuple) -> Seen:
    exact = str(jimpact.event_sequence(impact)[i]).replace("l", "")
    at = {"c": impact.info.compression_end[i], "s": impact.info.slip_end[i], "r": impact.impulse[i, 2]}
    there = np.isfinite(rays[1])
    least = least_slip(W, friction, velocity, np.asarray(impact.velocity[i]))
    ends = {letter: float(at[letter]) for letter in exact}
    return Seen(flow_of(W, friction), velocity, exact, ends, (rays[0][there], rays[1][there]), least)


def _with_line(seen: Seen, config: ImpactsForm, angles: list[float]) -> list[str]:
    """Sequences with l within each angle, and at last with l by the tolerance of Algorithm 1 from Table 1.

    Algorithm 1 takes slip that is straight and decreases to zero, also where it would turn.
    """
    tests = [within_angle(seen.rays[0], angle) for angle in angles]
    tests.append(within_product(seen.flow, config.table1.tolerance))
    sequences: list[str] = []
    for at, rate in straight_at(seen.flow, seen.velocity[:2], seen.ends["r"], tests):
        ends = dict(seen.ends)
        if at < ends.get("s", np.inf):
            ends["l"] = at
        by_algorithm = len(sequences) == len(angles)
        if by_algorithm and "s" not in ends and rate < 0:
            ends["s"] = at  # at once: slip is small there
        order = sorted(ends, key=lambda letter: (ends[letter], letter == "s"))
        sequences.append("".join(order))
    return sequences


def _curve(flow: Flow, track: Track) -> np.ndarray:
    """The hodograph, finer while slip turns: until its direction is all but invariant."""
    line = next((p for letter, p in track.events if letter == "l"), np.inf)
    return refined(flow, track.sliding_velocity, int((track.normal_impulse <= line).sum()))


def _finding(one: Instance, seen: Seen, near: str, config: ImpactsForm) -> Finding:
    """Sequence and numbers of directions against the print."""
    said, rates, angle = one.printed, seen.rays[1], config.hodographs.line_tolerance
    counts = {"centripetal": int((rates <= 0).sum()), "centrifugal": int((rates > 0).sum())}
    told = {name: getattr(said, name) for name in counts if getattr(said, name) is not None}
    printed = "; ".join([said.sequence, *([", ".join(f"{n} {name}" for name, n in told.items())] if told else [])])
    counted = all(counts[name] == n for name, n in told.items())
    computed = f"{seen.exact} exactly, {near} within {angle:g} rad; " + ", ".join(f"{n} {k}" for k, n in counts.items())
    if said.sequence == seen.exact:
        why, verdict = f"The exact sequence is taken, not {near} within {angle:g} rad as elsewhere.", "differs"
    elif said.sequence == near:
        why, verdict = f"As printed within {angle:g} rad; the exact sequence has no l.", "convention"
    else:
        why, verdict = _never(seen, config), "differs"
    holds = counted and said.sequence == seen.exact
    where, what = f"fig. {one.figure}", "events, invariant directions"
    return claim(f"JW-Fig{one.figure}", where, what, printed, computed, holds, why, verdict)


def _never(seen: Seen, config: ImpactsForm) -> str:
    """Why slip does not stop."""
    inward = seen.rays[0][seen.rays[1] <= 0]
    turning = seen.flow.turning(np.arctan2(inward[:, 1], inward[:, 0]))
    by_algorithm = _with_line(seen, config, [])[0]
    return (
        f"Slip comes down to {seen.least:.4f} m/s ({seen.least / np.hypot(*seen.velocity[:2]):.1%} of the start) and "
        f"turns: {int((turning > 0).sum())} of {len(turning)} centripetal directions repel. Algorithm 1 with the "
        f"tolerance {config.table1.tolerance:g} of |gamma x gamma'| would see {by_algorithm}."
    )


def _one_tolerance(instances: list[Instance], seen: list[Seen], config: ImpactsForm) -> Finding:
    """Whether one tolerance gives the sequences of all figures."""
    angles = config.hodographs.tolerances
    tried = list(zip(*(_with_line(one, config, angles) for one in seen), strict=True))
    said = [one.printed.sequence for one in instances]
    names = ["exactly", *(f"{a:g} rad" for a in angles), f"|gamma x gamma'| < {config.table1.tolerance:g}"]
    right = [sum(a == b for a, b in zip(said, row, strict=True)) for row in ([one.exact for one in seen], *tried)]
    stops = [one.figure for one in instances if "s" in one.printed.sequence and "l" not in one.printed.sequence]
    return claim(
        "JW-one-tolerance",
        "figs. 4, 7, 10",
        "one tolerance of event l for all eight figures",
        ", ".join(f"{one.figure} {one.printed.sequence}" for one in instances),
        "right: " + "; ".join(f"{name} {k} of {len(said)}" for name, k in zip(names, right, strict=True)),
        max(right) == len(said),
        "Where slip stops it does so along an invariant direction, so that any tolerance has l before s, and figs. "
        f"{', '.join(stops)} print s without l. In the rows above the exact sequence or that within "
        f"{config.hodographs.line_tolerance:g} rad is taken, whichever is printed.",
        "differs",
    )


def _integrable(flow: Flow, track: Track, limit: float) -> Finding:
    """Slip speed in closed form along a traced path, and the normal impulse by one quadrature."""
    slip, p = track.sliding_velocity, track.normal_impulse
    angles, speed = np.unwrap(np.arctan2(slip[:, 1], slip[:, 0])), np.linalg.norm(slip, axis=-1)
    gap = np.abs(speed[0] * speed_ratio(flow, angles) / speed - 1).max()
    if gap > limit:
        raise ValueError(f"slip in closed form is off by {gap:.0e}, relative; at most {limit:g} is expected")
    half = len(p) // 2
    between = impulse_between(flow, speed[0], angles[0], angles[half])
    return new(
        "JW-integrable",
        "abstract, 1",
        "slip speed by slip angle in closed form",
        f"within {gap:.0e} of the path of fig. {GROWING}",
        "The paper calls (31) over I_z generally non-integrable. Over the slip angle a, ln r is a rational integral in "
        "exp(i a), so that r is a product of powers; the normal impulse is one quadrature, "
        f"{between:.9f} at the middle sample, {p[half]:.9f} traced.",
        digits=float(-np.log10(gap)),
    )


def _row(figure: str, impact: jimpact.Impact, i: int, events: tuple, rays: tuple[np.ndarray, np.ndarray]) -> list[str]:
    angles = np.degrees(np.arctan2(rays[0][:, 1], rays[0][:, 0])) % 360
    order = np.argsort(angles)[: int(np.isfinite(angles).sum())]
    return [
        figure,
        ", ".join(f"{x:.9f}" for x in impact.impulse[i]),
        ", ".join(f"{x + 0.0:.9f}" for x in np.round(impact.velocity[i], 12)),
        ", ".join(f"{letter} {p:.9f}" for letter, p in events),
        "; ".join(f"{angles[k]:.6f}, {rays[1][k]:+.6f}" for k in order),
    ]


def _picture(key: str, panels: dict[str, Panel], tolerance: float) -> Picture:
    own = [panel for figure, panel in panels.items() if figure.rstrip("abcd") == key]
    fig = hodographs(own, 2 if key == "4" else len(own), tolerance, zoom=ZOOM if key == "7" else 0.0)
    caption = f"Fig. {key}: hodographs of the impact of fig. 3 with other friction and approach."
    return Picture(f"fig{key}", fig, caption)
