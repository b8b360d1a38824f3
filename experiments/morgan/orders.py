"""Random double pendulums by the algorithm of fig 2.8, written from the text, against jimpact: orders and misprints."""

from collections import Counter
from typing import Any

import numpy as np

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, numbers, only, solve_many, trace_many

from .algorithm import CODES, CORRECTED, PRINTED, Solved
from .crowd import Crowd, by_text, collide_many, draw, in_space, largest_gap, with_tips
from .drawing import map_figure
from .forms import TEXTS, CrowdForm
from .pendulum import matrices

CLOSED_FORM = 64.0  # eps, per unit of cancellation in the normal velocity: two closed forms for an impulse
SMALL = 1e-14  # relative differences of impulses above this are counted
GAIN = 1e-12  # of the energy before: more is a gain
BEND = 1e-6  # of friction: less is no change of it
CHANGED = 1e-9  # of the impulse: more is another answer
SHORT = 1e-6  # of the normal impulse: shorter pieces of a path have no slope
STATES = (1, 3)  # "one to three intermediate states"
WAYS = {  # path through fig 2.8, and whether the tip sticks, in the order of Sun & Baruh's modes, `info.mode`
    ("a-c-e", False): ("a-c-e: slips throughout", "#dfe5ec"),
    ("a-b-e", True): ("a-b-e: sticks", "#1f4e9c"),
    ("a-b-e", False): ("a-b-e: slip turns", "#8fb4e3"),
    ("a-c-d-e", True): ("a-c-d-e: sticks", "#c7561e"),
    ("a-c-d-e", False): ("a-c-d-e: slip turns", "#f2b872"),
}
POSTURE, RESTITUTION = (-80.0, -60.0), 0.6  # deg, of the map
DIRECTIONS, FRICTIONS = np.linspace(-85, 85, 160), np.linspace(0, 3, 100)  # deg from the normal; none without slip
READINGS = {
    "corrected": CORRECTED,
    "(3.1) without minus sign": CORRECTED._replace(minus=False),
    "sticks if m <= mu": CORRECTED._replace(size=False),
    "negative p_n for v_n = 0 kept": CORRECTED._replace(discard=False),
    "e = work returned / work stored": CORRECTED._replace(work="ratio"),
    "e = work stored / work returned": CORRECTED._replace(work="inverted"),
    "all as printed": PRINTED,
}


def algorithm(form: CrowdForm, progress: LabelledProgress) -> Result:
    pendulum = form.pendulum.pendulum()
    crowd = draw(pendulum, form.sample)
    text, hit = by_text(crowd), collide_many(crowd)

    # How often tangential / normal impulse changes along the first impacts of the crowd, and where it turns.
    path = trace_many(*(a[: form.traced] for a in in_space(crowd)))
    steps = np.diff(path.impulse[..., ::2], axis=1)
    long = [step[step[:, 1] > SHORT * step[:, 1].sum()] for step in steps]
    ratios = [step[:, 0] / step[:, 1] for step in long]
    bends = np.array([(np.abs(np.diff(ratio)) > BEND).sum() for ratio in ratios])
    first, last = np.array([ratio[[0, -1]] for ratio in ratios]).T
    slips = (bends > 0) & (np.abs(np.abs(last) - crowd.friction[: form.traced]) < BEND)
    turned = slips & (first * last < 0)
    findings = {
        **_compared(crowd, text, hit, solve_many(*in_space(crowd), progress=progress)),
        "M-bend": numbers(bends.max(), count=len(bends), bent=(bends > 0).sum()),
        "M-transition": claimed((turned == slips).all(), turned=turned.sum(), slips=slips.sum(), count=len(bends)),
        "M-cost": only(),
        "M-closed": only(),
    }
    direction, friction = (a.ravel() for a in np.meshgrid(np.deg2rad(DIRECTIONS), FRICTIONS))  # the map, row by row
    tip = np.stack([np.sin(direction), -np.cos(direction)], -1)
    cells = with_tips(*matrices(pendulum, np.deg2rad([POSTURE])), tip, friction, RESTITUTION)
    modes = np.asarray(collide_many(cells).impact.info.mode)
    same = modes == [list(WAYS).index((solved.boxes, solved.sticks)) for solved in by_text(cells)]
    findings["M-map"] = only(same=same.sum(), cells=modes.size)
    words = {"posture": POSTURE, "restitution": RESTITUTION}
    picture = map_figure(DIRECTIONS, cells, modes, dict(WAYS.values()), **words)
    counts = Counter((s.boxes, s.sticks) for s in text)
    rows = [(name, CODES[way[0]], counts[way]) for way, (name, _) in WAYS.items()]
    return Result(findings, [picture], [TEXTS.grid("algorithm", rows)])


def _agreement(crowd: Crowd, text: list[Solved], impact: jimpact.Impact, impulse: np.ndarray) -> dict[str, Any]:
    """Impulses and events of the text's boxes and of jimpact, in words.

    Two closed forms differ by round-off, times what cancels in the normal velocity, |J_n| |u| / |J_n u|: much where
    the tip grazes.
    """
    gaps, codes = largest_gap(impulse, [s.impulse for s in text]), jimpact.event_sequence(impact)
    cancellation = np.linalg.norm(crowd.J[:, 1], axis=-1) * np.linalg.norm(crowd.u, axis=-1) / np.abs(crowd.v[:, 1])
    above = gaps > SMALL
    return {
        "median": np.median(gaps),
        "largest": gaps.max(),
        "round_off": (gaps <= CLOSED_FORM * np.finfo(float).eps * cancellation).all(),
        "above": above.sum(),
        "small": SMALL,
        "least": cancellation[above].min(initial=np.inf),
        "same": sum(s.code == code for s, code in zip(text, codes, strict=True)),
        "count": len(text),
        "orders": ", ".join(f"{code} {count}" for code, count in Counter(codes).most_common()),
    }


def _compared(crowd: Crowd, text: list[Solved], hit: Any, embedded: jimpact.Impact) -> dict[str, Computed]:
    """The text against jimpact: in the plane, in space, with static friction; and what the thesis counts."""
    held, holding = by_text(crowd, static=True), collide_many(crowd, static=True).impact
    plane = _agreement(crowd, text, hit.impact, hit.impact.impulse)
    space = _agreement(crowd, text, embedded, embedded.impulse[:, ::2])
    static = _agreement(crowd, held, holding, holding.impulse)
    speeds = np.abs(hit.speeds - np.array([s.u for s in text])).max(-1) / np.linalg.norm(crowd.u, axis=-1)
    more = sum(a.sticks != b.sticks for a, b in zip(held, text, strict=True))
    codes = jimpact.event_sequence(embedded)
    pauses = [sum(letter in "sc" for letter in code) for code in codes]
    boxes = [2 + ("b" in s.boxes) for s in text]  # both in box a, and v_n = 0 anew in box b
    passed, calculated = (min(pauses), max(pauses)), (min(boxes), max(boxes))
    mixed = (passed[0], calculated[1])
    change = crowd.energy(hit.speeds) / crowd.energy(crowd.u) - 1
    return {
        "M-alg": claimed(plane["round_off"] and plane["same"] == len(text), **plane, speeds=speeds.max()),
        "M-alg-space": only(**space),
        "M-static": claimed(static["round_off"], **static, more=more),
        "M-orders": numbers(len(set(codes)), **space),
        "M-states": claimed(STATES in (passed, calculated), passed=passed, calculated=calculated, mixed=mixed),
        "M-consistent": claimed(change.max() < GAIN, low=change.min(), high=change.max()),
    }


def errata(form: CrowdForm, progress: LabelledProgress) -> Result:
    crowd = draw(form.pendulum.pendulum(), form.sample)
    impact, effects = collide_many(crowd).impact, []
    solved = [by_text(crowd, reading) for reading in READINGS.values()]
    for text in solved:
        impulse, u = np.array([s.impulse for s in text]), np.array([s.u for s in text])
        gaps = largest_gap(impulse, impact.impulse)
        slip = np.abs(crowd._replace(u=u).v[:, 0]) / np.linalg.norm(crowd.v, axis=-1)
        with np.errstate(invalid="ignore", over="ignore"):
            gains = ~(crowd.energy(u) <= crowd.energy(crowd.u) * (1 + GAIN))
        effect = {
            "changed": int((~(gaps <= CHANGED)).sum()),  # another impulse than the corrected one
            "largest": f"{gaps[np.isfinite(gaps)].max():.1e}",  # relative
            "slides": int(([s.sticks for s in text] & (slip > CHANGED)).sum()),  # sticking claimed, but the tip slips
            "gains": int(gains.sum()),  # kinetic energy rises
            "pulls": int((impulse[:, 1] < 0).sum()),  # the normal impulse is negative
        }
        effects.append(effect)
    rows = [(name, *effect.values()) for name, effect in zip(READINGS, effects, strict=True)]
    grid = TEXTS.grid("errata", rows, count=len(crowd.u))
    return Result(_misprints(crowd, impact, solved[0], effects), grids=[grid])


def _misprints(crowd: Crowd, impact: jimpact.Impact, text: list[Solved], effects: list[dict]) -> dict[str, Computed]:
    right, sign, size, kept, ratio, inverted, printed = effects
    alone = [effect["changed"] for effect in (sign, size, kept, inverted)]
    K, jams = crowd.K, crowd.jams
    m = -K[:, 0, 1] / K[:, 0, 0]
    plus, minus = (np.abs(K[:, 0, 1] - s * m * K[:, 0, 0]).max() / np.abs(K).max() for s in (1, -1))
    boxes = ", ".join(sorted({s.boxes for s, jam in zip(text, jams, strict=True) if jam}))
    off = np.abs(-impact.info.restitution_work / impact.info.compression_work - crowd.restitution**2).max()
    summary = {"needed": sum(count > 0 for count in alone), "left": right["changed"]}
    words: dict[str, dict[str, Any]] = {
        "M-errata": {**printed, "each": ", ".join(map(str, alone)), "alone": len(alone), **summary},
        "M-3.1": {**sign, "plus": plus, "minus": minus},
        "M-2.11": {**size, "positive": np.mean(m > 0), "negative": np.mean(m < 0)},
        "M-cor": {**inverted, "off": off, "ratio": ratio["changed"]},
        "M-jamb": {**kept, "jams": jams.sum(), "boxes": boxes},
    }
    found = {id: claimed(told["changed"] == 0, count=len(jams), **told) for id, told in words.items()}
    return {**found, "M-refs": claimed(False)}
