"""Figures 12 and 13: the same rod at one orientation, over friction and restitution; and why the approximation errs.

Source: section 5. The text gives neither the ranges nor the steps of the two axes: those of the configuration are ours.
"""

from typing import NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import Finding, Picture, Progress, Result, claim, new

from .figures import Frame, Panel, maps
from .hodographs import draw_hodographs
from .rod import RULES, Pair, energy_ratio, error_of, gap, inverse_inertia, percent, solve_both, spread
from .space_form import Counts, MaterialForm, MaterialMap, between

__all__ = ["run_material", "runs", "stick_ratio"]

ROUND_OFF = 1e-12


class Material(NamedTuple):
    """One map over friction (rows) and restitution (columns)."""

    friction: np.ndarray
    restitution: np.ndarray
    pairs: dict[str, Pair]

    @property
    def pair(self) -> Pair:
        return self.pairs["poisson"]


def run_material(form: MaterialForm, progress: Progress) -> Result:
    findings, pictures, solved = [], [], []
    for case in form.maps:
        coarse, fine = (_solved(form, case, counts, progress) for counts in (form.coarse, form.fine))
        findings += [*_figure(form, case, coarse, fine), *_influence(form, case, coarse), *_rules(form, case, fine)]
        pictures.append(_picture(form, case, fine))
        solved.append(coarse)
    findings += _directions(form, solved[0])
    caption = "Slip during impacts of figures 12 and 13: exact (square: its end), and in the straight pieces of the "
    caption += "approximation (dots: their ends). Cross: no slip."
    return Result(findings, [*pictures, Picture("hodographs", draw_hodographs(form, progress), caption)])


def stick_ratio(W: np.ndarray) -> float:
    """|B^-1 d|: the friction that sticking needs."""
    return float(np.linalg.norm(np.linalg.solve(W[:2, :2], W[:2, 2])))


def _solved(form: MaterialForm, case: MaterialMap, counts: Counts, progress: Progress) -> Material:
    friction, restitution = between(form.friction, form.restitution, counts)
    W = inverse_inertia(form.rod, case.theta1_deg, case.theta2_deg)
    pairs = {rule: solve_both(W, form.velocity, friction, restitution, rule, progress) for rule in RULES}
    return Material(friction, restitution, pairs)


def runs(friction: np.ndarray, mode: np.ndarray) -> str:
    """Modes as friction grows: "0 up to 0.15, then 1"."""
    last = np.append(np.flatnonzero(np.diff(mode)), len(mode) - 1)
    parts = [f"{mode[i]} up to {friction[i]:.4g}" for i in last[:-1]]
    return ", ".join([*parts, f"then {mode[-1]}" if parts else f"{mode[-1]} everywhere"])


def _rows(impact: jimpact.Impact) -> np.ndarray:
    """Frictions at which the mode depends on restitution."""
    mode = np.asarray(impact.info.mode)
    return (mode != mode[:, :1]).any(1)


def _figure(form: MaterialForm, case: MaterialMap, coarse: Material, fine: Material) -> list[Finding]:
    name, where = f"SB-Fig{case.figure}", f"fig {case.figure}"
    near, exact = (np.asarray(impact.info.mode) for impact in coarse.pair)
    few, many = ([_rows(impact) for impact in m.pair] for m in (coarse, fine))
    needed = stick_ratio(inverse_inertia(form.rod, case.theta1_deg, case.theta2_deg))
    order = list(dict.fromkeys(near[:, 0].tolist()))
    # Figure 12: sliding, back, sticking, whatever e is. Figure 13: e matters somewhere.
    never = not (few[0].any() or many[0].any())
    holds = never and order == [0, 2, 1] if case.figure == 12 else not never
    mu, (first, second) = coarse.friction[:, 0], (_ends(fine.friction[rows, 0]) for rows in many)
    error, wrong = error_of(coarse.pair), coarse.pair.wrong
    both = (near == 1) & (exact == 1)
    return [
        claim(
            name,
            where,
            f"modes at theta1 = {case.theta1_deg:g}, theta2 = {case.theta2_deg:g} deg as friction grows",
            case.says,
            f"{runs(mu, near[:, 0])}; exactly {runs(mu, exact[:, 0])}; e matters at {few[0].sum()} of {len(mu)} "
            f"frictions, exactly {few[1].sum()}",
            bool(holds),
            f"Friction {_ends(mu)}, least e. Sticking needs friction above |B^-1 d| = {needed:.9g}. Where e matters in "
            f"{len(fine.friction)} frictions: {first}, exactly {second}.",
            "differs",
        ),
        new(
            f"{name}-error",
            where,
            "approximation against exact",
            f"impulse {spread(error.impulse)}; wrong mode in {wrong.sum()} of {wrong.size} cells",
            f"Where it sticks in compression by both, within {error.impulse[both].max():.0e}: all velocity is lost "
            "then, on whatever path.",
        ),
    ]


def _influence(form: MaterialForm, case: MaterialMap, m: Material) -> list[Finding]:
    """How much each coefficient moves velocity and energy, at the mean of the other."""
    name, where, much = f"SB-Fig{case.figure}", f"fig {case.figure}", form.limits.much_more
    normal = m.pair.approximate.velocity[..., 2] / -form.velocity[2]
    energy = energy_ratio(m.pair.approximate, form.rod.mass, form.velocity)
    findings = []
    for key, values, words in (("normal", normal, form.printed.normal), ("energy", energy, form.printed.energy)):
        by_e, by_mu = np.ptp(values.mean(0)), np.ptp(values.mean(1))
        findings.append(
            claim(
                f"{name}-{key}",
                where,
                f"{key} after / before: how far it moves with e, with mu",
                words,
                f"{by_e:.3f}, {by_mu:.3f}",
                bool(by_e > much * by_mu),
                f"{by_e / by_mu:.1f} times as far; above {much:g} counts as much more.",
                "differs",
            )
        )
    return findings


def _rules(form: MaterialForm, case: MaterialMap, m: Material) -> list[Finding]:
    name, where, limits = f"SB-Fig{case.figure}", f"fig {case.figure}", form.limits
    poisson, energetic = (m.pairs[rule].approximate for rule in RULES)
    apart = gap(poisson.velocity[..., 2], energetic.velocity[..., 2])
    typical, worst = float(np.quantile(apart, limits.nearly_all)), apart.argmax()
    modes = int((poisson.info.mode != energetic.info.mode).sum())
    energy = energy_ratio(poisson, form.rod.mass, form.velocity)
    steps = np.diff(energy, axis=0)
    falls, rises = (steps < -ROUND_OFF).mean(), (steps > ROUND_OFF).mean()
    means = energy.mean(1)
    mu, least = m.friction[:, 0], int(means.argmin())
    return [
        claim(
            f"{name}-rules",
            where,
            f"normal velocity after, Poisson against energetic, {apart.size} cells",
            form.printed.energetic,
            f"within {percent(typical)} in {percent(limits.nearly_all)} of the cells, worst {percent(apart.max())}; "
            f"{modes} modes differ",
            typical < limits.identical and modes == 0,
            f"The limit is {percent(limits.identical)}. Worst at mu = {m.friction.flat[worst]:.3g}, e = "
            f"{m.restitution.flat[worst]:.3g}, mode {np.asarray(poisson.info.mode).flat[worst]}.",
            "differs",
        ),
        claim(
            f"{name}-friction-loses",
            f"{where}, sec. 6",
            "energy after / before as friction grows",
            form.printed.friction_loses,
            f"falls in {percent(falls)} of the steps, rises in {percent(rises)}",
            bool(falls >= limits.nearly_all),
            f"The mean over e falls from {means[0]:.3f} to {means[least]:.3f} at mu = {mu[least]:.3g}, and is "
            f"{means[-1]:.3f} at {mu[-1]:.3g}. In the other {percent(1 - falls - rises)} of the steps it stays.",
            "differs",
        ),
    ]


def _directions(form: MaterialForm, m: Material) -> list[Finding]:
    near, exact = m.pair
    slides, back = near.info.mode == 0, near.info.mode == 2
    side = np.abs(near.velocity[slides][:, 1])
    count = int((near.velocity[back][:, 0] < 0).sum())
    also = int((exact.velocity[back][:, 0] < 0).sum())
    smooth = int((exact.info.mode[back] == 0).sum())
    return [
        claim(
            "SB-Fig12-sideways",
            "fig 12",
            "slip along z after sliding throughout (m/s)",
            form.printed.sideways,
            f"{side.min():.3f} to {side.max():.3f}",
            bool(side.min() > 0),
            f"{side.size} cells of mode 0.",
            "differs",
        ),
        claim(
            "SB-Fig12-backwards",
            "fig 12",
            "cells of mode 2 that end with slip along -x",
            form.printed.backwards,
            f"{count} of {back.sum()}; exactly {also}",
            count == int(back.sum()),
            f"Exactly, slip never stops in {smooth} of them: it turns around.",
            "differs",
        ),
    ]


def _picture(form: MaterialForm, case: MaterialMap, m: Material) -> Picture:
    frame = Frame(m.friction[:, 0], m.restitution[0], "friction μ", "restitution e")
    normal = [impact.velocity[..., 2] / -form.velocity[2] for impact in m.pair]
    energy = [energy_ratio(impact, form.rod.mass, form.velocity) for impact in m.pair]
    limits = [(float(np.min(a)), float(np.max(a))) for a in (normal, energy)]
    rows = []
    for i, kind in enumerate(("approximation", "exact")):
        rows.append(
            [
                Panel(f"mode, {kind}", m.pair[i].info.mode, m.pair.wrong if i == 0 else None),
                Panel(f"normal velocity after / before, {kind}", normal[i], limits=limits[0]),
                Panel(f"energy after / before, {kind}", energy[i], limits=limits[1], colours="magma"),
            ]
        )
    title = f"Rod in space, Poisson restitution, θ₁ = {case.theta1_deg:g}°, θ₂ = {case.theta2_deg:g}°"
    caption = f"Figure {case.figure}: modes and ratios over friction and restitution, approximated and exact."
    return Picture(f"fig{case.figure}", maps(frame, rows, title), caption)


def _ends(values: np.ndarray) -> str:
    if values.size < 2:
        return " ".join(f"{x:.4g}" for x in values) or "nowhere"
    return f"{values[0]:.4g} to {values[-1]:.4g}"
