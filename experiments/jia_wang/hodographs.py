"""Part "hodographs": figures 4, 7 and 10, with sequences of events and invariant directions.

An invariant direction is reached only in the limit, unless slip starts on it. So the event l needs an angle within
which a direction counts as invariant: 0.01 rad here; without it the exact sequence has no l.
"""

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
    solve_many,
    trace_many,
)

from .closed_form import flow_of, least_slip, refined
from .drawing import Panel, hodographs, tracks
from .forms import HodographsForm, Instance

__all__ = ["run"]

COLUMNS = ("figure", "impulse (N s)", "velocity after (m/s)", "events (N s)", "invariant directions: angle (deg), rate")
ZOOM = 0.03  # m/s, about the origin of fig. 7


def run(config: HodographsForm, progress: Progress) -> Result:
    contact, instances = config.contact, config.instances
    W, friction = np.asarray(contact.inverse_inertia), np.array([one.friction for one in instances])
    velocity = np.asarray(contact.velocity) + [np.subtract(one.velocity_1, contact.velocity_1) for one in instances]
    impact = jimpact.require(solve_many(W, velocity, friction, contact.restitution, progress=progress))
    rays = list(zip(*directions_many(W, friction), strict=True))
    lanes = tracks(trace_many(W, velocity, friction, contact.restitution))
    seen = [str(letters) for letters in jimpact.event_sequence(impact)]
    findings, rows, panels = [], [], {}
    for i, one in enumerate(instances):
        least = least_slip(W, one.friction, velocity[i], np.asarray(impact.velocity[i]))
        findings.append(_finding(one, seen[i], rays[i][1], velocity[i], least))
        rows.append(_row(one.figure, impact, i, lanes[i].events, rays[i]))
        title = f"{one.figure}: friction {one.friction:g}, sequence {seen[i]}"
        panels[one.figure] = Panel(title, lanes[i], _curve(W, one.friction, lanes[i]), rays[i])
    pictures = [_picture(key, panels) for key in ("4", "7", "10")]
    return Result(findings, pictures, [Grid("Impacts of figures 4, 7 and 10", COLUMNS, rows)])


def _curve(W: np.ndarray, friction: float, track: Track) -> np.ndarray:
    """The hodograph, finer while slip turns: until its direction is all but invariant."""
    line = next((p for letter, p in track.events if letter == "l"), np.inf)
    turning = int((track.normal_impulse <= line).sum())
    return refined(flow_of(W, friction), track.sliding_velocity, turning)


def _finding(one: Instance, seen: str, rates: np.ndarray, velocity: np.ndarray, least: float) -> Finding:
    """Sequence and numbers of directions against the print."""
    said, exact = one.printed, seen.replace("l", "")
    inward, outward = int((rates <= 0).sum()), int((rates > 0).sum())
    printed: str = said.sequence
    counted = True
    if said.centripetal is not None:
        printed += f"; {said.centripetal} centripetal, {said.centrifugal} centrifugal"
        counted = (inward, outward) == (said.centripetal, said.centrifugal)
    computed = f"{exact} exactly, {seen} within 0.01 rad; {inward} centripetal, {outward} centrifugal"
    verdict, why = "", ""
    if said.sequence not in (exact, seen):
        start = np.hypot(*velocity[:2])
        verdict = "differs"
        why = (
            f"Slip never stops: it comes down to {least:.4f} m/s ({least / start:.1%} of the start) and turns. The "
            "only centripetal direction repels, so that slip stops only if it starts on it."
        )
    elif said.sequence != exact:
        verdict, why = "convention", "As printed with 0.01 rad; the exact sequence has no l."
    elif seen != exact:
        why = "The exact sequence is the printed one."
    where = f"fig. {one.figure}"
    return claim(f"JW-Fig{one.figure}", where, "events, invariant directions", printed, computed, counted, why, verdict)


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


def _picture(key: str, panels: dict[str, Panel]) -> Picture:
    own = [panel for figure, panel in panels.items() if figure.rstrip("abcd") == key]
    fig = hodographs(own, 2 if key == "4" else len(own), zoom=ZOOM if key == "7" else 0.0)
    caption = f"Fig. {key}: hodographs of the impact of fig. 3 with other friction and approach."
    return Picture(f"fig{key}", fig, caption)
