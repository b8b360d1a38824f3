"""The configured impacts: their ways, figs 2.2 to 2.5, 2.7, 2.9 and the end of section 2.3; their energy, fig 2.6.

E is the change of kinetic energy, (2.14); its parts are E_n by the normal impulse, (2.18), and E_f by friction, (2.19).
"""

from typing import Any

import numpy as np

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, only, trace_many

from .algorithm import CODES, Mechanism, Solved
from .crowd import Crowd, by_text, collide_many, in_space, largest_gap, with_tips
from .drawing import construction, energy_figure, paths_figure
from .forms import PATHS, TEXTS, Impact, ImpactsForm
from .pendulum import matrices

Findings = dict[str, Computed]
ROUND_OFF = 1e-13  # of the speeds
ENERGY = 1e-12  # round-off, of the work of compression
NUDGE = 1e-12  # of the slip, off a tie


def _impacts(form: ImpactsForm) -> Crowd:
    """The configured impacts, one after another."""
    angles, *given = zip(*((i.angles_deg, i.tip_velocity, i.friction, i.restitution) for i in form.impact), strict=True)
    return with_tips(*matrices(form.pendulum.pendulum(), np.deg2rad(angles)), *given)


def paths(form: ImpactsForm, progress: LabelledProgress) -> Result:
    crowd, rare = _impacts(form), _rare(form)
    whole = Crowd(*(np.concatenate(pair) for pair in zip(crowd, rare, strict=True)))
    text, hit = by_text(whole), collide_many(whole)
    codes, n = [str(code) for code in jimpact.event_sequence(hit.impact)], len(form.impact)
    gaps = largest_gap(hit.speeds, [s.u for s in text])
    k = -crowd.friction * np.sign(crowd.v[:, 0])
    pauses = -crowd.v / (crowd.K[:, :, 1] + k[:, None] * crowd.K[:, :, 0])  # (3.2) and (3.3) along the first direction
    line, p = crowd.L[0] @ [k[0], 1.0], {stop.event: stop.p for stop in text[0].stops}
    findings = {
        "M-fig2.2": only(line=line),
        "M-fig2.3": only(pauses=pauses[0]),
        "M-fig2.4": only(bent=p["v_n = 0"], straight=pauses[0, 1]),
        "M-fig2.7-end": only(p=p["end"], before=crowd.u[0], after=text[0].u),
        **_printed_paths(form.impact, text[:n], codes, gaps[:n], pauses[:, 0]),
        **_rare_findings(rare, text[n:], codes[n:], gaps[n:]),
    }
    how = construction(crowd, text[0], crowd.u[0] + np.outer(pauses[0], line))
    ways = paths_figure(crowd, text[:n], [f"{i.figure}: {i.name}" for i in form.impact])
    rows = []
    for i, s, code, gap in zip(form.impact, text, codes, gaps, strict=False):
        tip, impulse = "({:g}, {:g})".format(*i.tip_velocity), "({:.6f}, {:.6f})".format(*s.impulse)
        sticks = "yes" if s.sticks else "no"
        rows.append((i.name, i.figure, i.friction, i.restitution, tip, s.boxes, code, sticks, impulse, f"{gap:.0e}"))
    return Result(findings, [how, ways], [TEXTS.grid("impacts", rows)])


def _printed_paths(impacts: list[Impact], text: list[Solved], codes: list[str], gaps: Any, pauses: Any) -> Findings:
    """What the text says about figs 2.7 and 2.9, and the orders of fig 2.8."""
    found = {}
    for figure, path in PATHS.items():
        i = [impact.figure for impact in impacts].index(figure)
        holds = text[i].boxes == path and text[i].code == codes[i] and gaps[i] < ROUND_OFF
        words = {"boxes": text[i].boxes, "code": codes[i], "gap": gaps[i], "pause": pauses[i]}
        found[f"M-{figure.replace(' ', '')}"] = claimed(holds, **words, end=text[i].impulse[1])
    seen = sorted({solved.boxes: code for solved, code in zip(text, codes, strict=False)}.items())
    orders = ", ".join(f"{path} ({code})" for path, code in seen)
    return {**found, "M-fig2.8": claimed(seen == sorted(CODES.items()), seen=orders, gap=gaps.max())}


def _rare(form: ImpactsForm) -> Crowd:
    """From the example: both pauses at once, and to both sides of that; parallel to v_t = 0; twice no slip before."""
    one, example = form.impact[0], _impacts(form)
    K = example.K[0]
    towards = -np.sign(K[0, 1])  # slip that the normal impulse drives to zero
    mu, fall = one.friction, one.tip_velocity[1]
    both = fall * (K[0, 1] - mu * towards * K[0, 0]) / (K[1, 1] - mu * towards * K[0, 1])
    needed = abs(K[0, 1] / K[0, 0])
    slips = [both, both * (1 - NUDGE), both * (1 + NUDGE), -towards * abs(one.tip_velocity[0]), 0.0, 0.0]
    frictions = [mu, mu, mu, needed, 0.5 * needed, 2 * needed]
    return with_tips(example.M[0], example.J[0], [(slip, fall) for slip in slips], frictions, one.restitution)


def _rare_findings(rare: Crowd, text: list[Solved], codes: list[str], gaps: np.ndarray) -> Findings:
    _, before, after, parallel, *_ = text
    apart = largest_gap(before.u, after.u)
    tied = apart < 10 * NUDGE and {before.boxes, after.boxes} == {"a-b-e", "a-c-d-e"}
    same = parallel.boxes == "a-c-e" and codes[3] == "lcr" and gaps[3] < ROUND_OFF
    rate = abs(rare.J[3, 0] @ rare.L[3] @ [parallel.frictions[0], 1.0])
    slides = [(rare.J[i] @ text[i].u)[0] for i in (4, 5)]
    orders = f"{before.boxes} and {after.boxes}"
    return {
        "M-simultaneous": claimed(tied, orders=orders, apart=apart, nudge=NUDGE, gap=gaps[0]),
        "M-parallel": claimed(same, boxes=parallel.boxes, code=codes[3], rate=rate, gap=gaps[3]),
        "M-no-slip": only(slides=slides, gap=gaps[4:].max()),
    }


def energy(form: ImpactsForm, progress: LabelledProgress) -> Result:
    crowd = _impacts(form)
    text, path = by_text(crowd), trace_many(*in_space(crowd))  # jimpact, the plane embedded in space
    # Energy exchanged (impacts, samples): from the speeds, as traced, and by friction.
    kinetic = crowd.energy(crowd.u[:, None] + np.einsum("nij,nsj->nsi", crowd.L, path.impulse[..., ::2]))
    slip, friction = path.sliding_velocity[..., 0], np.diff(path.impulse[..., 0], axis=-1)
    steps = 0.5 * (slip[:, 1:] + slip[:, :-1]) * friction  # exact: slip is linear between samples
    parts = {
        "$E$, kinetic energy": kinetic - kinetic[:, :1],
        "$E_n$, normal part": path.work,
        "$E_f$, frictional part": np.pad(np.cumsum(steps, -1), ((0, 0), (1, 0))),
    }
    (p, *_), v_n, rows = path.normal_impulse, path.normal_velocity, np.arange(len(text))
    E, E_n, E_f = parts.values()
    size, deepest = np.abs(E_n).max(-1, keepdims=True), E_n.argmin(-1)
    formula = np.zeros_like(E)  # (2.21) at the normal impulses of the path, piece by piece
    for i, one in enumerate(text):
        system = Mechanism(crowd.M[i], crowd.J[i], crowd.L[i])
        bends = [stop for stop in one.stops if stop.event in ("start", "v_t = 0")]
        for stop, k in zip(bends, one.frictions, strict=True):
            later = path.normal_impulse[i] - stop.p
            formula[i] = np.where(later < 0, formula[i], system.energy(stop, k, later))
    gaps = {
        "M-2.18": np.abs(E - E_n - E_f) / size,
        "M-2.19": np.maximum(np.diff(E_f, axis=-1) / size, 0.0),
        "M-2.21": np.abs(formula - E_n) / size,
        "M-extreme": v_n[rows, deepest] / v_n[:, 0],
    }
    words = {"impacts": len(text), "samples": len(p)}
    gaps = {id: np.abs(gap).max() for id, gap in gaps.items()}
    findings = {
        **{id: claimed(gap < ENERGY, gap=gap, **words) for id, gap in gaps.items()},
        "M-stop": only(gap=np.abs(E_n[:, -1] / E_n[rows, deepest] - (1 - crowd.restitution**2)).max()),
        "M-fig2.6": only(stops=", ".join(f"{s.E:.6g} ({s.event})" for s in text[0].stops[1:]), end=E[0, -1]),
    }
    return Result(findings, [energy_figure(p, {label: part[0] for label, part in parts.items()}, text[0])])
