"""Part "hodographs": figures 4, 7 and 10, with sequences of events and invariant directions.

An invariant direction is reached only in the limit, unless slip starts on it. So the event l needs a tolerance, and the
paper prints none; without one the exact sequence has no l.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad

import jimpact
from jimpact import reproduce
from jimpact.plotting.impact import Track
from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, heading, only

from . import flow
from .bodies import events_of
from .drawing import Panel, hodographs, tracks
from .forms import TEXTS, ImpactsForm, said

ZOOM = 0.03  # m/s, about the origin of fig. 7
GROWING = "4c"  # the figure on which the closed form is tried: slip turns all the way
CLOSED_FORM = 1e-6  # relative: slip in closed form against the path of that figure


class Seen(NamedTuple):
    """One hodograph."""

    flow: flow.Flow
    slip: np.ndarray  # before
    exact: str  # sequence of events
    ends: dict[str, float]  # normal impulse of events but l
    rays: np.ndarray  # invariant directions (k, 2)
    rates: np.ndarray
    least: float  # slip, m/s


def run(config: ImpactsForm, progress: LabelledProgress) -> Result:
    given, case, velocity = config.hodographs, config.icosahedron, velocities(config)
    friction = np.array([one.friction for one in given.instances])
    many = case.W, velocity, friction, case.restitution
    impact = jimpact.require(reproduce.solve_many(*many, progress=progress))
    directions, rates = reproduce.directions_many(case.W, friction)
    lanes = tracks(reproduce.trace_many(*many))
    found, rows, panels, seen = {}, [], {}, {}
    for i, one in enumerate(given.instances):
        path, there, slip = flow.flow_of(case.W, one.friction), np.isfinite(rates[i]), velocity[i, :2]
        least = flow.least_slip(path, slip, np.asarray(impact.velocity)[i, :2])
        new = Seen(path, slip, *events_of(impact, i), directions[i, there], rates[i, there], least)
        near = _with_line(new, config, [given.line_tolerance])[0]

        # The finding: sequence and numbers of directions against the print; and whether slip could stop.
        counts, inward = kinds(new.rates), new.flow.turning(heading(new.rays[new.rates <= 0]))
        words: dict[str, Any] = {"exact": new.exact, "near": near, "directions": ", ".join(counts), "least": least}
        words |= {"share": least / np.hypot(*slip), "repel": int((inward > 0).sum()), "inward": len(inward)}
        words |= {"angle": given.line_tolerance, "tolerance": config.table1.tolerance}
        id = f"JW-Fig{one.figure}"
        holds = said("hodographs", id) <= {new.exact, *counts}
        found[id] = claimed(holds, by_algorithm=_with_line(new, config, [])[0], **words)

        angles = np.degrees(heading(new.rays)) % 360
        impulse = ", ".join(f"{x:.9f}" for x in impact.impulse[i])
        after = ", ".join(f"{x + 0.0:.9f}" for x in np.round(impact.velocity[i], 12))
        events = ", ".join(f"{letter} {p:.9f}" for letter, p in lanes[i].events)
        rays = "; ".join(f"{angles[k]:.6f}, {new.rates[k]:+.6f}" for k in np.argsort(angles))
        rows.append([one.figure, impulse, after, events, rays])

        title = f"{one.figure}: friction {one.friction:g}, sequence {near}"
        turning = lanes[i].normal_impulse <= dict(lanes[i].events).get("l", np.inf)  # until slip is all but straight
        curve = [flow.refined(path, lanes[i].sliding_velocity[turning]), lanes[i].sliding_velocity[~turning]]
        panels[one.figure] = Panel(title, lanes[i], np.concatenate(curve), one.friction)
        seen[one.figure] = new
    found["JW-one-tolerance"] = _one_tolerance(seen, config)
    found["JW-integrable"] = _integrable(seen[GROWING].flow, panels[GROWING].track)
    pictures = [_picture(case.W, key, panels, given.line_tolerance) for key in ("4", "7", "10")]
    return Result(found, pictures, [TEXTS.grid("hodographs", rows)])


def velocities(config: ImpactsForm) -> np.ndarray:
    """Contact velocity before each instance: that of fig. 3 with the velocity of body 1 exchanged."""
    scene = config.icosahedron
    changes = [np.subtract(one.velocity_1, scene.body_1.velocity) for one in config.hodographs.instances]
    return scene.v + changes


def kinds(rates: np.ndarray) -> list[str]:
    """How many directions are centripetal and centrifugal, by the rates of slip along them."""
    return [f"{int((rates <= 0).sum())} centripetal", f"{int((rates > 0).sum())} centrifugal"]


def _with_line(seen: Seen, config: ImpactsForm, angles: list[float]) -> list[str]:
    """Sequences with l within each angle, and at last with l by the tolerance of Algorithm 1 from Table 1.

    Algorithm 1 takes slip that is straight and decreases to zero, also where it would turn.
    """
    tests = [flow.within_angle(seen.rays, angle) for angle in angles]
    tests.append(flow.within_product(seen.flow, config.table1.tolerance))
    sequences: list[str] = []
    for at, rate in flow.straight_at(seen.flow, seen.slip, seen.ends["r"], tests):
        ends = dict(seen.ends)
        if at < ends.get("s", np.inf):
            ends["l"] = at
        by_algorithm = len(sequences) == len(angles)
        if by_algorithm and "s" not in ends and rate < 0:
            ends["s"] = at  # at once: slip is small there
        order = sorted(ends, key=lambda letter: (ends[letter], letter == "s"))
        sequences.append("".join(order))
    return sequences


def _one_tolerance(seen: dict[str, Seen], config: ImpactsForm) -> Computed:
    """Whether one tolerance gives the sequences of all figures."""
    angles = config.hodographs.tolerances
    printed = dict(piece.split() for piece in said("hodographs", "JW-one-tolerance"))
    names = ["exactly", *(f"{a:g} rad" for a in angles), f"|gamma x gamma'| < {config.table1.tolerance:g}"]
    tried = {figure: [one.exact, *_with_line(one, config, angles)] for figure, one in seen.items()}
    right = [sum(tried[figure][k] == sequence for figure, sequence in printed.items()) for k in range(len(names))]
    words = "; ".join(f"{name} {count} of {len(seen)}" for name, count in zip(names, right, strict=True))
    return claimed(max(right) == len(seen), right=words, angle=config.hodographs.line_tolerance)


def _integrable(path: flow.Flow, track: Track) -> Computed:
    """Slip speed in closed form along a traced path, and the normal impulse by one quadrature."""
    slip, p = track.sliding_velocity, track.normal_impulse
    angles, speed = np.unwrap(heading(slip)), np.linalg.norm(slip, axis=-1)
    gap = np.abs(speed[0] * flow.speed_ratio(path, angles) / speed - 1).max()
    if gap > CLOSED_FORM:
        raise ValueError(f"slip in closed form is off by {gap:.0e}, relative; at most {CLOSED_FORM:g} is expected")
    half, first, steps = len(p) // 2, angles[0], np.linspace(0, 1, 101)

    def rate(angle: float) -> float:
        return speed[0] * flow.speed_ratio(path, first + (angle - first) * steps)[-1] / float(path.rates(angle)[1])

    between = quad(rate, first, angles[half], epsabs=0, epsrel=1e-11, limit=200)[0]
    return only("", float(-np.log10(gap)), gap=gap, figure=GROWING, between=between, traced=p[half])


def _picture(W: np.ndarray, key: str, panels: dict[str, Panel], tolerance: float) -> Picture:
    own = [panel for figure, panel in panels.items() if figure.rstrip("abcd") == key]
    columns, zoom = (2, 0.0) if key == "4" else (len(own), ZOOM if key == "7" else 0.0)
    return TEXTS.picture(f"fig{key}", hodographs(W, own, columns, zoom=zoom), tolerance=tolerance)
