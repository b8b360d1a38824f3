"""What sections 5 to 7 say of the maps over the orientation in words, checked cell by cell."""

from collections.abc import Sequence
from functools import partial

import jax
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Progress, claim, new, number

from .rod import RULES, error_of, inverse_inertia, percent, planar_inertia, solve_both
from .space_form import SpaceForm
from .space_map import Leaning

__all__ = ["claims"]

ROUND_OFF = 1e-12
MIRRORED = 1e-9  # m/s


def claims(form: SpaceForm, coarse: Sequence[Leaning], fine: Sequence[Leaning], progress: Progress) -> list[Finding]:
    return [
        _planar(form, coarse),
        _slide(form, fine),
        _symmetric(form, coarse[0], progress),
        _late(form, fine),
        _upright(form, fine[0]),
        _friction(form, fine),
        _restitution(form, coarse, fine),
        _sideways(form, fine[0]),
        _rules(form, coarse, fine),
        _reverse(fine),
    ]


def _planar(form: SpaceForm, coarse: Sequence[Leaning]) -> Finding:
    off = max(float(error_of(m.pair).impulse[m.theta2 == 0].max()) for m in coarse)
    case, m = form.maps[2], coarse[2]
    K, v = planar_inertia(form.rod, m.theta1[:, 0]), np.array([form.velocity[0], form.velocity[2]])
    plane = jax.jit(partial(jimpact.solve_planar, law="poisson"))(K, v, case.friction, case.restitution)
    space = m.pairs["poisson"].approximate
    apart = float(np.abs(space.impulse[:, 0, [0, 2]] - np.asarray(plane.impulse)).max())
    same = bool((np.asarray(plane.info.mode) == space.info.mode[:, 0]).all())
    return claim(
        "SB-theta2=0",
        "fig 10, sec. 5",
        "approximation at theta2 = 0",
        form.printed.planar,
        f"impulse within {off:.2e} of the exact one, relative; within {apart:.1e} N s of the planar formula",
        off < ROUND_OFF and apart < ROUND_OFF and same,
        "Slip stays on a line there, and one direction of friction is all there is.",
        "differs",
        digits=-float(np.log10(max(off, 1e-16))),
    )


def _slide(form: SpaceForm, fine: Sequence[Leaning]) -> Finding:
    values = [form.velocity[0] / (-form.velocity[2] * form.maps[i].friction) for i in (0, 2)]
    shares = [100 * float((fine[i].pair.approximate.info.mode == 0).mean()) for i in (0, 2)]
    return number(
        "SB-slide",
        "sec. 5",
        "slide parameter of figs 8 and 10",
        form.printed.slide_parameters,
        values,
        f"Above 1 it is to slide for most orientations: {shares[0]:.0f} % do in figure 8, {shares[1]:.0f} % in 10.",
        "differs",
    )


def _symmetric(form: SpaceForm, m: Leaning, progress: Progress) -> Finding:
    case = form.maps[0]
    W = inverse_inertia(form.rod, m.theta1, -m.theta2)
    near, exact = solve_both(W, form.velocity, case.friction, case.restitution, case.rule, progress)
    mirror = np.array([1.0, -1.0, 1.0])
    off = max(float(np.abs(a.velocity * mirror - b.velocity).max()) for a, b in zip((near, exact), m.pair, strict=True))
    return claim(
        "SB-3D-symmetric",
        "sec. 5",
        "the rod leaning to the other side",
        form.printed.symmetric,
        f"velocities after mirrored within {off:.1e} m/s",
        off < MIRRORED,
        f"The limit is {MIRRORED:.0e} m/s.",
        "differs",
    )


def _late(form: SpaceForm, fine: Sequence[Leaning]) -> Finding:
    near, exact = (sum(int((m.pair[i].info.mode == 4).sum()) for m in fine) for i in (0, 1))
    cells = sum(m.theta1.size for m in fine)
    return claim(
        "SB-3D-late",
        "sec. 5",
        "sliding back that begins in restitution, figs 8-11",
        form.printed.no_late_reverse,
        f"{near} of {cells} cells of the fine grids; exactly {exact}",
        near == 0,
        "Mode 4.",
        "differs",
    )


def _upright(form: SpaceForm, m: Leaning) -> Finding:
    near = np.hypot(m.theta1, m.theta2) <= form.upright_deg
    share = float(m.stuck[near].mean())
    return claim(
        "SB-3D-upright",
        "fig 8, sec. 5",
        f"share that sticks within {form.upright_deg:g} deg of upright",
        form.printed.upright_sticks,
        f"{100 * share:.0f} %, of all {100 * m.stuck.mean():.0f} %",
        share == 1.0,
        "By the approximation, modes 1 and 3; every cell has to.",
        "differs",
    )


def _friction(form: SpaceForm, fine: Sequence[Leaning]) -> Finding:
    low, high = fine[0], fine[2]
    reach = low.theta1.max()
    near = (np.abs(high.theta1) <= reach) & (high.theta2 <= reach)
    before, after = float(low.stuck.mean()), float(high.stuck[near].mean())
    frictions = f"mu = {form.maps[0].friction} and {form.maps[2].friction}"
    return claim(
        "SB-3D-friction",
        "figs 8, 10",
        f"share that sticks up to {reach:g} deg, {frictions}",
        form.printed.more_friction_sticks,
        f"{100 * before:.1f} % and {100 * after:.1f} %",
        after > before,
        "By the approximation, modes 1 and 3.",
        "differs",
    )


def _restitution(form: SpaceForm, coarse: Sequence[Leaning], fine: Sequence[Leaning]) -> Finding:
    def changed(grids: Sequence[Leaning], i: int) -> int:
        return int((grids[2].pair[i].info.mode != grids[3].pair[i].info.mode).sum())

    few, many, exact = changed(coarse, 0), changed(fine, 0), changed(fine, 1)
    one, other = (fine[i].pair.approximate.info.mode for i in (2, 3))
    pairs = sorted({(int(a), int(b)) for a, b in zip(one[one != other], other[one != other], strict=True)})
    swapped = f"Modes {', '.join(f'{a} become {b}' for a, b in pairs)}."
    return claim(
        "SB-3D-restitution",
        "figs 10-11, sec. 7",
        f"cells whose mode changes from e = {form.maps[2].restitution} to {form.maps[3].restitution}",
        form.printed.restitution_and_mode,
        f"{few} of {coarse[2].theta1.size}; fine grid {many} of {fine[2].theta1.size}, exactly {exact}",
        max(few / coarse[2].theta1.size, many / fine[2].theta1.size) < form.limits.few,
        f"Below {percent(form.limits.few)} of the cells counts as minimal. {swapped}",
        "differs",
    )


def _sideways(form: SpaceForm, m: Leaning) -> Finding:
    widths = m.stuck.sum(0) * (m.theta1[1, 0] - m.theta1[0, 0])
    last = float(m.theta2[0][widths > 0].max())
    return claim(
        "SB-3D-sideways",
        "sec. 6",
        "range of theta1 that sticks, as theta2 grows",
        form.printed.side_lean_sticks_less,
        f"{widths[0]:.1f} deg at theta2 = 0, none beyond {last:.1f} deg",
        bool((np.diff(widths) <= 0).all()),
        f"It grows in {(np.diff(widths) > 0).sum()} of {widths.size - 1} steps of {m.theta2[0, 1]:g} deg.",
        "differs",
    )


def _rules(form: SpaceForm, coarse: Sequence[Leaning], fine: Sequence[Leaning]) -> Finding:
    counts = {
        kind: [max(m.modes_between_rules(kind) for m in grids) for grids in (coarse, fine)]
        for kind in ("approximate", "exact")
    }
    few, many = counts["approximate"]
    found: set[int] = set()
    for m in fine:
        one, other = (m.pairs[rule].approximate.info.mode for rule in RULES)
        found |= {*one[one != other].tolist(), *other[one != other].tolist()}
    return claim(
        "SB-3D-rules",
        "secs 3, 6",
        "cells whose mode depends on the rule, worst map",
        form.printed.same_modes,
        f"{few} of {coarse[0].theta1.size}, fine grid {many} of {fine[0].theta1.size}; exactly "
        f"{counts['exact'][0]} and {counts['exact'][1]}",
        few == many == 0,
        "In space slip turns during restitution, so that the rules end at different impulses. The cells are of modes "
        f"{', '.join(map(str, sorted(found)))}.",
        "differs",
    )


def _reverse(fine: Sequence[Leaning]) -> Finding:
    cells, smooth, backwards, off_plane = 0, 0, 0, 0
    for m in fine:
        near, exact = m.pair
        called = near.info.mode == 2
        turns = called & (exact.info.mode == 0)
        cells, smooth = cells + int(called.sum()), smooth + int(turns.sum())
        backwards += int((exact.velocity[..., 0][turns] < 0).sum())
        off_plane += int(((exact.info.mode == 2) & (m.theta2 > 0)).sum())
    return new(
        "SB-3D-reverse",
        "figs 8-11",
        "what their sliding back (mode 2) is exactly",
        f"of {cells} cells {smooth} slide throughout, {backwards} of them backwards in the end",
        f"Slip turns around without stopping. Exact mode 2 with theta2 > 0: {off_plane} cells; it needs the plane.",
    )
