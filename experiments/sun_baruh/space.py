"""Figures 8 to 11: modes, normal velocity and energy of the rod in space, by the paper's approximation and exactly.

Source: section 5. The approximation is the law "sun_baruh"; exactly is with the slip followed ("poisson", "stronge").
"""

from collections.abc import Sequence

import numpy as np

from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, new

from .figures import Frame, Panel, maps
from .rod import RULES, counted, energy_ratio, error_of, inverse_inertia, percent, solve_both, spread
from .space_claims import claims
from .space_form import Counts, Orientation, SpaceForm, leaning
from .space_map import Leaning
from .space_trends import trends

__all__ = ["run_space"]


def run_space(form: SpaceForm, progress: Progress) -> Result:
    coarse, fine = _solved(form, form.coarse, progress), _solved(form, form.fine, progress)
    findings: list[Finding] = []
    for case, few, many, (holds, why) in zip(form.maps, coarse, fine, _words(form, coarse, fine), strict=True):
        findings += _figure(case, few, many, holds, why)
    findings += [*claims(form, coarse, fine, progress), *trends(form, fine)]
    pictures = [_picture(form, case, many) for case, many in zip(form.maps, fine, strict=True)]
    return Result(findings, pictures, [_grid(form.maps, grid) for grid in (coarse, fine)])


def _solved(form: SpaceForm, counts: Counts, progress: Progress) -> list[Leaning]:
    """One for each figure; figures of the same material and range share their solutions."""
    solved: dict[tuple[float, float, float], Leaning] = {}
    for case in form.maps:
        key = (case.friction, case.restitution, case.reach_deg)
        if key not in solved:
            theta = leaning(case.reach_deg, counts)
            W = inverse_inertia(form.rod, *theta)
            pairs = {r: solve_both(W, form.velocity, case.friction, case.restitution, r, progress) for r in RULES}
            solved[key] = Leaning(*theta, case.rule, pairs)
    return [solved[case.friction, case.restitution, case.reach_deg]._replace(rule=case.rule) for case in form.maps]


def _words(form: SpaceForm, coarse: Sequence[Leaning], fine: Sequence[Leaning]) -> list[tuple[bool, str]]:
    """Whether what the text says of each figure holds by the approximation, of which it speaks; and why."""
    changed = [
        int((m.pair.approximate.info.mode != n.pair.approximate.info.mode).sum()) for m, n in (coarse[2:], fine[2:])
    ]
    reach, high = fine[0].theta1.max(), fine[2]
    near = (np.abs(high.theta1) <= reach) & (high.theta2 <= reach)
    shares = float(fine[0].stuck.mean()), float(high.stuck[near].mean())
    return [
        _dominated(form, coarse[0], fine[0]),
        _similar(form, coarse[1], fine[1]),
        (
            shares[1] > shares[0],
            f"Sticks up to {reach:g} deg: {percent(shares[0])} in figure 8, {percent(shares[1])} here.",
        ),
        (
            not any(changed),
            f"From figure 10 to 11 the mode changes in {changed[0]} of {coarse[2].theta1.size} cells, and in "
            f"{changed[1]} of {high.theta1.size} on the fine grid. How few that is: SB-3D-restitution.",
        ),
    ]


def _dominated(form: SpaceForm, *maps: Leaning) -> tuple[bool, str]:
    limits, holds, words = form.limits, [], []
    for m in maps:
        mode, stuck = m.pair.approximate.info.mode, m.stuck
        slides, back = float((mode == 0).mean()), mode == 2
        last = np.where(stuck, m.theta1, -np.inf).max(0)
        beyond = bool((m.theta1 > last)[back].all())
        holds.append(slides > limits.most and stuck.mean() < limits.small and beyond)
        words.append(
            f"in {mode.size} cells {percent(slides)} slide, {percent(stuck.mean())} stick, and sliding back is at "
            f"{'larger' if beyond else 'no larger'} theta1 than sticking"
        )
    limit = f"above {percent(limits.most)} and below {percent(limits.small)} count as dominated and small"
    return all(holds), f"By the approximation, {'; '.join(words)}; {limit}."


def _similar(form: SpaceForm, *maps: Leaning) -> tuple[bool, str]:
    worst = max(float(m.between_rules("approximate").max()) for m in maps)
    modes = max(m.modes_between_rules("approximate") / m.theta1.size for m in maps)
    limits = (
        f"{percent(form.limits.close)} in velocity and {percent(form.limits.few)} of the modes count as very similar"
    )
    return worst < form.limits.close and modes < form.limits.few, f"Up to {limits}."


def _figure(case: Orientation, few: Leaning, many: Leaning, holds: bool, why: str) -> list[Finding]:
    near, exact = few.pair
    wrong, error = few.pair.wrong, error_of(few.pair)
    often, worse = many.pair.wrong, error_of(many.pair)
    named = [int((often & (many.pair.approximate.info.mode == k)).sum()) for k in range(4)]
    name, where = f"SB-Fig{case.figure}", f"fig {case.figure}"
    return [
        claim(
            name,
            where,
            f"modes, mu = {case.friction}, e = {case.restitution}, {RULES[case.rule]}",
            case.says,
            f"{counted(near.info.mode)} of {wrong.size} cells; exactly {counted(exact.info.mode)}",
            holds,
            f"{why} {_rules(few, many)}",
            "differs",
        ),
        new(
            f"{name}-wrong",
            where,
            "cells in which their approximation names the wrong mode",
            f"{wrong.sum()} of {wrong.size}; {often.sum()} of {often.size} on a fine grid ({100 * often.mean():.1f} %)",
            f"Fine grid: {named[2]} of them are named 2 (sliding back), {named[1]} 1, {named[3]} 3, {named[0]} 0.",
        ),
        new(
            f"{name}-error",
            where,
            "impulse error of their approximation",
            f"{spread(error.impulse)}; fine grid: {spread(worse.impulse)}",
        ),
        new(
            f"{name}-normal",
            where,
            "error of normal velocity after",
            f"{spread(error.normal)}; fine grid: {spread(worse.normal)}",
        ),
    ]


def _rules(few: Leaning, many: Leaning) -> str:
    """How far the two rules are apart."""
    parts = []
    for kind in ("approximate", "exact"):
        apart, often = few.between_rules(kind), many.between_rules(kind)
        modes = [m.modes_between_rules(kind) for m in (few, many)]
        parts.append(
            f"{kind}: normal velocity by median {percent(np.median(apart))}, worst {percent(apart.max())}, modes in "
            f"{modes[0]} cells (fine grid {percent(np.median(often))}, {percent(often.max())}, {modes[1]})"
        )
    return f"Poisson and energetic differ, {'; '.join(parts)}."


def _grid(cases: Sequence[Orientation], solved: Sequence[Leaning]) -> Grid:
    columns = ["fig", "rule", "modes 0/1/2/3, theirs", "exact", "wrong", "impulse error, median", "worst"]
    columns += ["normal velocity error, median", "worst", "rules apart exactly, median", "worst"]
    rows = []
    for case, m in zip(cases, solved, strict=True):
        error = error_of(m.pair)
        counts = ["/".join(str((i.info.mode == k).sum()) for k in range(4)) for i in m.pair]
        row: list = [case.figure, RULES[case.rule], *counts, int(m.pair.wrong.sum())]
        for values in (error.impulse, error.normal, m.between_rules("exact")):
            row += [f"{np.median(values):.7g}", f"{values.max():.7g}"]
        rows.append(row)
    return Grid(f"Maps of {solved[0].theta1.size} cells: the approximation against the exact solution.", columns, rows)


def _picture(form: SpaceForm, case: Orientation, m: Leaning) -> Picture:
    frame = Frame(m.theta1[:, 0], m.theta2[0], "θ₁ (deg)", "θ₂ (deg)")
    normal = [impact.velocity[..., 2] / (case.restitution * -form.velocity[2]) for impact in m.pair]
    energy = [energy_ratio(impact, form.rod.mass, form.velocity) for impact in m.pair]
    limits = [(float(np.min(a)), float(np.max(a))) for a in (normal, energy)]
    rows = []
    for i, kind in enumerate(("approximation", "exact")):
        rows.append(
            [
                Panel(f"mode, {kind}", m.pair[i].info.mode, m.pair.wrong if i == 0 else None),
                Panel(f"normal velocity after / (e × before), {kind}", normal[i], limits=limits[0]),
                Panel(f"energy after / before, {kind}", energy[i], limits=limits[1], colours="magma"),
            ]
        )
    rows.append(
        [
            Panel("error of the impulse (%)", 100 * error_of(m.pair).impulse, m.pair.wrong, "cividis"),
            Panel("error of normal velocity (%)", 100 * error_of(m.pair).normal, m.pair.wrong, "cividis"),
            Panel("energy ratio, difference", energy[0] - energy[1], m.pair.wrong, "cividis"),
        ]
    )
    title = f"Rod in space, {RULES[case.rule]} restitution, μ = {case.friction}, e = {case.restitution}"
    caption = f"Figure {case.figure}: the approximation, the exact solution, and how far they are apart."
    return Picture(f"fig{case.figure}", maps(frame, rows, title), caption)
