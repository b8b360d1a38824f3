"""Figures 8 to 11: modes, normal velocity and energy of the rod in space, by the paper's approximation and exactly.

Source: section 5. The approximation is the law "sun_baruh"; exactly is with the slip followed ("poisson", "stronge").
"""

import numpy as np

from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, only

from .figures import Frame, Panel, compared, maps
from .forms import TEXTS, Orientation, SpaceForm, grid
from .rod import EXACT, NEAR, RULES, Map, inverse_inertia, solve_map
from .space_claims import claims
from .words import counted, filled, percent, spread


def run_space(form: SpaceForm, progress: LabelledProgress) -> Result:
    coarse, fine = (_solved(form, counts, progress) for counts in (form.coarse, form.fine))
    findings = claims(form, coarse, fine, progress)
    changed = findings["SB-3D-restitution"]
    unchanged = changed._replace(holds=changed.words["few"] == changed.words["many"] == 0)
    both = (coarse[1], fine[1])
    similar = max(m.between_rules(NEAR).max() for m in both) < form.limits["close"]
    similar &= max(m.modes_between_rules(NEAR) / m.x.size for m in both) < form.limits["few"]
    said = [_dominated(form, coarse[0], fine[0]), claimed(similar), findings["SB-3D-friction"], unchanged]
    for case, few, many, one in zip(form.maps, coarse, fine, said, strict=True):
        findings |= _figure(case, few, many, one)
    findings = filled(findings, form, few_cells=coarse[0].x.size, cells=fine[0].x.size)
    grids = []
    for solved in (coarse, fine):
        rows = []
        for case, m in zip(form.maps, solved, strict=True):
            counts = ["/".join(str((mode == k).sum()) for k in range(4)) for mode in (m.near.mode, m.exact.mode)]
            errors = [f(a) for a in (*m.errors(), m.between_rules(EXACT)) for f in (np.median, np.max)]
            own = (f"{error:.7g}" for error in errors)
            rows.append([case.figure, RULES[case.rule], *counts, int(m.wrong.sum()), *own])
        grids.append(TEXTS.grid("maps", rows, count=solved[0].x.size))
    pictures = [_picture(case, many) for case, many in zip(form.maps, fine, strict=True)]
    return Result(findings, pictures, grids)


def _solved(form: SpaceForm, counts: list[int], progress: LabelledProgress) -> list[Map]:
    """One for each figure; figures of the same material and range share their solutions."""
    solved: dict[tuple[float, float, float], Map] = {}
    found = []
    for case in form.maps:
        key = (case.friction, case.restitution, case.reach_deg)
        if key not in solved:
            axes = grid((-case.reach_deg, case.reach_deg), (0.0, case.reach_deg), counts)
            W = inverse_inertia(form.rod, *axes)
            solved[key] = solve_map(form, axes, W, case.friction, case.restitution, progress)
        found.append(solved[key]._replace(rule=case.rule))
    return found


def _dominated(form: SpaceForm, *maps: Map) -> Computed:
    """What the text says of figure 8, by the approximation, of which it speaks."""
    holds, words = True, []
    for m in maps:
        mode, stuck = m.near.mode, m.near.stuck
        slides, back = (mode == 0).mean(), mode == 2
        beyond = (m.x > np.where(stuck, m.x, -np.inf).max(0))[back].all()
        holds &= bool(slides > form.limits["most"] and stuck.mean() < form.limits["small"] and beyond)
        words.append((mode.size, percent(slides), percent(stuck.mean()), "larger" if beyond else "no larger"))
    return claimed(holds, coarse=words[0], fine=words[1])


def _figure(case: Orientation, few: Map, many: Map, said: Computed) -> dict[str, Computed]:
    name, often = f"SB-Fig{case.figure}", many.wrong
    words = {"case": case, "near": counted(few.near.mode), "exactly": counted(few.exact.mode)}
    words |= {"approximate": _rules(few, many, NEAR), "exact": _rules(few, many, EXACT)}
    wrong = {"wrong": few.wrong.sum(), "often": often.sum(), "share": 100 * often.mean()}
    wrong["named"] = [int((often & (many.near.mode == k)).sum()) for k in range(4)]
    errors = [only(few=spread(a), many=spread(b)) for a, b in zip(few.errors(), many.errors(), strict=True)]
    said = said._replace(words={**said.words, **words})
    return {name: said, f"{name}-wrong": only(**wrong), f"{name}-error": errors[0], f"{name}-normal": errors[1]}


def _rules(few: Map, many: Map, kind: int) -> list[str]:
    """How far the two rules are apart: median, worst, and cells of other modes, on both grids."""
    words = []
    for m in (few, many):
        apart = m.between_rules(kind)
        words += [percent(np.median(apart)), percent(apart.max()), str(m.modes_between_rules(kind))]
    return words


def _picture(case: Orientation, m: Map) -> Picture:
    frame = Frame(m.x[:, 0], m.y[0], "θ₁ (deg)", "θ₂ (deg)")
    impulse, normal = m.errors()
    errors = {
        "error of the impulse (%)": 100 * impulse,
        "error of normal velocity (%)": 100 * normal,
        "energy ratio, difference": m.near.energy - m.exact.energy,
    }
    rows = compared(m, "normal velocity after / (e × before)", case.restitution)
    rows.append([Panel(title, values, m.wrong, "cividis") for title, values in errors.items()])
    title = f"Rod in space, {RULES[case.rule]} restitution, μ = {case.friction}, e = {case.restitution}"
    return TEXTS.picture(f"fig{case.figure}", maps(frame, rows, title))
