"""Figures 12 and 13: the same rod at one orientation, over friction and restitution; and why the approximation errs.

Source: section 5. The text gives neither the ranges nor the steps of the two axes: those of the configuration are ours.
"""

from typing import NamedTuple

import numpy as np

from jimpact.reproduce import Finding, Picture, Progress, Result, claim, new

from .figures import Frame, Panel, maps
from .hodographs import draw_hodographs
from .rod import RULES, Pair, energy_ratio, error_of, inverse_inertia, solve_both, spread
from .space_form import Counts, MaterialForm, MaterialMap, between

__all__ = ["run_material", "stick_ratio"]


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
        findings += [*_figure(form, case, coarse, fine), *_influence(form, case, coarse)]
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


def _figure(form: MaterialForm, case: MaterialMap, coarse: Material, fine: Material) -> list[Finding]:
    name, where = f"SB-Fig{case.figure}", f"fig {case.figure}"
    near, exact = (impact.info.mode for impact in coarse.pair)
    rows = [int((mode != mode[:, :1]).any(1).sum()) for mode in (near, exact)]
    needed = stick_ratio(inverse_inertia(form.rod, case.theta1_deg, case.theta2_deg))
    order = list(dict.fromkeys(near[:, 0].tolist()))
    # Figure 12: sliding, back, sticking, whatever e is. Figure 13: e matters somewhere.
    holds = rows[0] == 0 and order == [0, 2, 1] if case.figure == 12 else rows[0] > 0
    bands = [_ends(fine.friction[(impact.info.mode != impact.info.mode[:, :1]).any(1), 0]) for impact in fine.pair]
    listed = lambda mode: "".join(map(str, mode[:, 0].tolist()))  # noqa: E731
    error, wrong = error_of(coarse.pair), coarse.pair.wrong
    return [
        claim(
            name,
            where,
            f"modes at theta1 = {case.theta1_deg:g}, theta2 = {case.theta2_deg:g} deg as friction grows",
            case.says,
            f"{listed(near)}; exactly {listed(exact)}; rows where e matters {rows[0]}, exactly {rows[1]}",
            holds,
            f"Friction {_ends(coarse.friction[:, 0])} in {len(near)} steps, least e. Sticking needs friction above "
            f"|B^-1 d| = {needed:.9g}. Where e matters on a fine grid: {bands[0]}, exactly {bands[1]}.",
        ),
        new(
            f"{name}-error",
            where,
            "approximation against exact",
            f"impulse {spread(error.impulse)}; wrong mode in {wrong.sum()} of {wrong.size} cells",
            "Where it sticks in compression the approximation is exact: all velocity is lost then, on whatever path.",
        ),
    ]


def _influence(form: MaterialForm, case: MaterialMap, m: Material) -> list[Finding]:
    """How much each coefficient moves velocity and energy, at the mean of the other."""
    name, where = f"SB-Fig{case.figure}", f"fig {case.figure}"
    normal = m.pair.approximate.velocity[..., 2] / -form.velocity[2]
    energy = energy_ratio(m.pair.approximate, form.rod.mass, form.velocity)
    findings = []
    for key, values, words in (("normal", normal, form.printed.normal), ("energy", energy, form.printed.energy)):
        by_e, by_mu = np.ptp(values.mean(0)), np.ptp(values.mean(1))
        findings.append(
            claim(
                f"{name}-{key}",
                where,
                f"{key} ratio: how far it moves with e, with mu",
                words,
                f"{by_e:.3f}, {by_mu:.3f}",
                bool(by_e > 2 * by_mu),
            )
        )
    poisson, energetic = (m.pairs[rule].approximate for rule in ("poisson", "stronge"))
    apart = np.abs(poisson.velocity[..., 2] - energetic.velocity[..., 2])
    modes = int((poisson.info.mode != energetic.info.mode).sum())
    found = claim(
        f"{name}-rules",
        where,
        "Poisson against energetic, normal velocity after (m/s)",
        form.printed.energetic,
        f"{spread(apart)}; {modes} modes differ",
        bool(np.median(apart) < 0.02) and modes == 0,
    )
    return [*findings, found]


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
        ),
        claim(
            "SB-Fig12-backwards",
            "fig 12",
            "cells of mode 2 that end with slip along -x",
            form.printed.backwards,
            f"{count} of {back.sum()}; exactly {also}",
            count == int(back.sum()),
            f"In {smooth} of them slip never stops: it turns around.",
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
