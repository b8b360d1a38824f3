"""Figures 3 to 5, and what sections 2, 5, 6 and 7 say of the planar rod: lean, slip, friction, restitution and rules.

Planar impacts are solved in space, where the exact solution of a plane is a closed form.
"""

from typing import NamedTuple

import jax
import numpy as np
from scipy.ndimage import binary_dilation

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, only

from .figures import Frame, Panel, maps, triples
from .forms import TEXTS, PlaneForm
from .rod import ROUND_OFF, RULES, STUCK, TURNED, Solved, inverse_inertia, planar_inertia, solved, spatial
from .table2 import mode_of, ratios_of, stick_limit
from .words import Words, becomes, by_mode, counted, each, ends, filled, listed, percent

SAID, CONCLUDED = 25, 20  # %: the largest difference between the rules, sections 2 and 7
LINE_RATIOS = 1501  # at the one angle where sticking turns to sliding back
MODE = "mode (bottom line: starts at rest)"


class Plane(NamedTuple):
    """One grid over lean (rows) and slip (columns), solved by both rules."""

    form: PlaneForm
    theta: np.ndarray
    ratio: np.ndarray
    poisson: Solved
    energetic: Solved

    @property
    def mode(self) -> np.ndarray:
        return self.poisson.mode

    @property
    def quotient(self) -> np.ndarray:
        """Poisson's normal velocity after over the energetic one."""
        return self.poisson.normal / self.energetic.normal

    @property
    def energy_quotient(self) -> np.ndarray:
        return self.poisson.energy / self.energetic.energy

    def place(self, index: np.integer) -> str:
        """Where a cell is, by its flat index."""
        theta, ratio, mode = (a.flat[index] for a in (self.theta, self.ratio, self.mode))
        return f"{theta:.4g} deg, ratio {ratio:.4g}, mode {mode}"


def solve_plane(form: PlaneForm, theta: np.ndarray, ratio: np.ndarray, progress: LabelledProgress) -> Plane:
    W, v = inverse_inertia(form.rod, theta), spatial(ratio)
    both = [solved(form.rod, W, v, form.friction, form.restitution, rule, progress) for rule in RULES]
    return Plane(form, theta, ratio, *both)


def run_plane(form: PlaneForm, progress: LabelledProgress) -> Result:
    coarse, fine = (solve_plane(form, *form.grid(counts), progress) for counts in (form.coarse, form.fine))
    findings = _figures(form, coarse, fine, progress)
    findings |= _normal(form, fine) | _energy(form, fine) | _tables(form, coarse)
    findings |= _newton(form, coarse, progress) | _others(form, coarse, progress)
    return Result(filled(findings, form, cells=coarse.mode.size), _pictures(form, fine))


def _figures(form: PlaneForm, coarse: Plane, fine: Plane, progress: LabelledProgress) -> dict[str, Computed]:
    """The maps themselves, and Poisson's results over energetic ones."""
    q, turned, answer = fine.quotient, fine.quotient[fine.poisson.turned], ("no", "yes")
    through = q[fine.mode == 0]
    back, on = turned.max() <= 1 + ROUND_OFF, through.max() > 1 + ROUND_OFF
    words: Words = {"few": ends(coarse.quotient), "many": ends(q), "few_cells": coarse.mode.size, "cells": q.size}
    words |= {"turned": ends(turned), "stuck": ends(q[fine.poisson.stuck]), "off": np.abs(through - 1).max()}

    energy, (lower, higher) = fine.energy_quotient, ((sign * (q - 1) > ROUND_OFF).sum() for sign in (-1, 1))
    overall = {"lower": lower, "higher": higher, "mean": q.mean(), "energy": energy.mean()}
    away, typical = np.abs(energy - 1), np.quantile(np.abs(energy - 1), form.limits["nearly_all"])
    energies: Words = {"typical": percent(typical), "range": ends(energy), "worst": percent(away.max())}
    energies |= {"beyond": percent((away > form.limits["close"]).mean()), "place": fine.place(away.argmax())}

    modes, kinds, rule = counted(coarse.mode), len(np.unique(coarse.mode)), coarse.energetic
    stops = np.isin(fine.mode, (1, 2, 3, 4))
    far = [np.abs(a - 1) for a in (fine.quotient, fine.energy_quotient)]
    means, rest = [a[stops].mean() for a in far], [a[~stops].max() for a in far]
    holds = means[0] > rest[0] and means[1] > rest[1]
    return {
        "SB-Fig3": only(modes),
        "SB-Fig4": only(normal=ends(rule.normal / form.restitution), energy=ends(rule.energy)),
        "SB-Fig3-all": claimed(kinds == 7, kinds=kinds, modes=modes),
        "SB-Fig5": claimed(back and on, back=answer[int(back)], on=answer[int(on)], **words),
        "SB-Fig5-stops": claimed(holds, means=[percent(x) for x in means], rest=max(rest)),
        **_largest(form, coarse, fine, progress),
        "SB-Fig5-overall": claimed(lower > higher and q.mean() < 1 and energy.mean() < 1, **overall),
        "SB-Fig5-energy": claimed(typical < form.limits["close"], **energies),
    }


def _largest(form: PlaneForm, coarse: Plane, fine: Plane, progress: LabelledProgress) -> dict[str, Computed]:
    """Between the rules; greatest where sticking turns to sliding back, an angle that a grid need not contain."""
    line = stick_limit(form)
    ratio = np.linspace(0, form.greatest_ratio, LINE_RATIOS)
    sharp = solve_plane(form, np.full_like(ratio, line), ratio, progress)
    few, many, most = (100 * (1 - m.quotient.min()) for m in (coarse, fine, sharp))
    q, lowest = fine.quotient, fine.quotient.argmin()
    words = {"few": few, "many": many, "most": most, "line": line, "cells": q.size, "place": fine.place(lowest)}
    words |= {"step": coarse.theta[1, 0] - coarse.theta[0, 0], "beyond": percent((q < 1 - CONCLUDED / 100).mean())}
    return {
        "SB-Fig5-most": claimed(round(most) == SAID, **words),
        "SB-Fig5-concluded": claimed(round(many) <= CONCLUDED, **words),
        "SB-Fig5-angle": claimed(abs(fine.theta.flat[lowest] - line) < form.near_deg, **words),
    }


def beside(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cells of one kind that have a neighbour of the other kind, and those neighbours."""
    return (one & binary_dilation(other)) | (other & binary_dilation(one))


def _normal(form: PlaneForm, m: Plane) -> dict[str, Computed]:
    """Normal velocity, and where the rod slides back."""
    normal, half = m.poisson.normal / form.restitution, 0.5 * form.greatest_ratio
    far, stuck, turned = np.abs(normal - 1), m.poisson.stuck, m.poisson.turned
    near, fixed = far < form.limits["around"], far < ROUND_OFF
    words: Words = {"near": percent(near.mean()), "range": ends(normal), "common": np.bincount(m.mode[fixed]).argmax()}
    words |= {"fixed": percent(fixed.mean()), "rest": percent(near[~fixed].mean())}
    sticks, back = far[stuck].mean(), far[turned].mean()
    cells = (m.ratio < half, m.ratio >= half, m.theta > 0, m.theta < 0)
    slow, fast, right, left = shares = [turned[kind].mean() for kind in cells]
    means = each(by_mode(far, m.mode), ".3f")
    return {
        "SB-Fig3-normal": claimed(near.mean() > form.limits["most"], **words),
        "SB-Fig3-varies": claimed(sticks > back, stuck=sticks, turned=back, means=means),
        "SB-Fig3-back": claimed(slow > fast and right > left, half=half, shares=[*map(percent, shares)]),
    }


def _energy(form: PlaneForm, m: Plane) -> dict[str, Computed]:
    """Energy left where the rod sticks, at the edge of sliding, where it is flat, and as slip grows."""
    energy, sticks = m.poisson.energy, m.poisson.stuck
    means = by_mode(energy, m.mode)
    stuck, rest, through, turned = (energy[kind].mean() for kind in (sticks, ~sticks, m.mode == 0, m.poisson.turned))
    least = min(means, key=means.__getitem__)
    words = {"stuck": stuck, "through": through, "turned": turned, "rest": rest, "means": each(means, ".4f")}
    words |= {"mode": least, "does": "sticks" if least in STUCK else "does not stick"}
    words |= {"least": energy.min(), "place": m.place(energy.argmin())}
    words["so"] = ", more than those that stick: so read, it holds" if stuck < rest else ""
    edge, limit = energy[beside(sticks, m.mode == 0)], np.quantile(energy, form.limits["substantial"])
    edges = {"edge": edge.mean(), "least": edge.min(), "all": energy.mean(), "limit": limit}
    upright, flat = energy[m.theta[:, 0] == 0][0], energy[[0, -1]]
    more, less = (flat > upright).sum(), (flat < upright).sum()
    lean = {"more": more, "less": less, "pairs": flat.size, "upright": upright.mean(), "flat": flat.mean(1)}
    rises = np.diff(energy, axis=1)[:, 1:] > 0  # the first column starts at rest
    growing: Words = {"rises": percent(rises.mean()), "means": each(by_mode(rises, m.mode[:, 2:]), ".2f")}
    growing |= {"first": m.ratio[0, 1], "ahead": percent((energy[:, -1] > energy[:, 1]).mean())}
    growing["lowest"] = m.ratio[0, energy.mean(0).argmin()]
    return {
        "SB-Fig3-faster": claimed(rises.mean() > form.limits["nearly_all"], **growing),
        "SB-Fig3-sticking": claimed(stuck < min(through, turned), **words),
        "SB-Fig3-edge": claimed(edge.mean() < limit, **edges),
        "SB-Fig3-flat": claimed(more == flat.size, **lean),
        "SB-Fig3-flat-discussed": claimed(less == flat.size, **lean),
    }


def _tables(form: PlaneForm, m: Plane) -> dict[str, Computed]:
    """Modes by Table 2, as the library has it, with other restitution and with other static friction."""
    K, velocity = planar_inertia(form.rod, m.theta), spatial(m.ratio)[..., [0, 2]]
    run = jax.jit(jimpact.planar_modes)
    softer = run(K, velocity, form.friction, form.other_restitution, static_friction=form.friction)
    rougher = run(K, velocity, form.friction, form.restitution, static_friction=form.static_friction)
    softer, rougher = np.asarray(softer.mode), np.asarray(rougher.mode)
    changed = [(mode != m.mode).sum() for mode in (softer, rougher)]
    stick, back = ([np.isin(mode, kind).sum() for mode in (m.mode, rougher)] for kind in (STUCK, TURNED))
    return {
        "SB-2D-restitution": claimed(changed[0] == 0, changed=changed[0], becomes=becomes(m.mode, softer)),
        "SB-2D-static": claimed(stick[1] > stick[0], counts=stick, changed=changed[1]),
        "SB-2D-static-back": claimed(back[1] < back[0], counts=back, changed=changed[1]),
    }


def _newton(form: PlaneForm, m: Plane, progress: LabelledProgress) -> dict[str, Computed]:
    """Newton's rule beside Poisson's, with several frictions; and all rules without friction."""
    given, e = (form.rod, inverse_inertia(form.rod, m.theta), spatial(m.ratio)), form.newton_restitution
    frictions = np.array([form.friction, *form.other_frictions])
    newton, poisson = (solved(*given, frictions[:, None, None], e, law, progress) for law in ("newton", "poisson"))
    gains, other = (newton.energy > 1 + ROUND_OFF).sum((1, 2)), (newton.mode != poisson.mode).sum((1, 2))
    words: Words = {"frictions": listed(frictions, "g"), "gains": listed(gains), "other": listed(other)}
    words |= {"most": 100 * (newton.energy.max() - 1), "first": 100 * (newton.energy[0].max() - 1)}
    smooth = (solved(*given, 0.0, form.restitution, law, progress) for law in ("poisson", "stronge", "newton"))
    first, *others = (one.impact.impulse[..., 2] for one in smooth)
    off = max(np.abs(impulse / first - 1).max() for impulse in others)
    return {
        "SB-Newton-energy": claimed(gains.any(), **words),
        "SB-Newton-mode": claimed(other.any(), **words),
        "SB-frictionless": claimed(off < ROUND_OFF, off=off),
    }


def _others(form: PlaneForm, m: Plane, progress: LabelledProgress) -> dict[str, Computed]:
    """Other materials and other rods on the same grid."""
    rods = [form.rod.model_copy(update={"radius": radius}) for radius in form.other_radii]
    changes = [{"friction": friction} for friction in form.other_frictions], [{"rod": rod} for rod in rods]
    by_friction, by_rod = (
        [solve_plane(form.model_copy(update=change), m.theta, m.ratio, progress) for change in some] for some in changes
    )
    # Energy left as friction grows; the first map is that of the figures.
    frictions = np.array([form.friction, *form.other_frictions])
    order = np.argsort(frictions)
    energy, frictions = np.stack([one.poisson.energy for one in (m, *by_friction)])[order], frictions[order]
    means, steps = energy.mean((1, 2)), np.diff(energy, axis=0)
    falls, rises = (steps < -ROUND_OFF).mean(), (steps > ROUND_OFF).mean()
    words: Words = {"frictions": listed(frictions, "g"), "means": listed(means, ".3f"), "ends": frictions[[0, -1]]}
    words |= {"falls": percent(falls), "rises": percent(rises), "lower": percent((energy[-1] < energy[0]).mean())}
    average = "On average only" if (np.diff(means) < 0).all() else "Not even on average"
    return {
        "SB-2D-other-friction": _hold(by_friction, listed(form.other_frictions, "g")),
        "SB-2D-other-inertia": _hold(by_rod, listed([rod.alpha for rod in rods], ".3f")),
        "SB-2D-friction-loses": claimed(falls >= form.limits["nearly_all"], average=average, **words),
    }


def _hold(solved: list[Plane], case: str) -> Computed:
    """Table 2, modes that do not depend on the rule, and Poisson lower when sliding back and in most cells."""
    wrong, apart, back = 0, 0, 0.0
    for m in solved:
        ratios = ratios_of(m.form.rod, m.theta, m.form.friction, m.form.restitution)
        wrong += (m.mode != mode_of(m.ratio, ratios, np.abs(ratios.needed) <= m.form.friction)).sum()
        apart += (m.mode != m.energetic.mode).sum()
        back = m.quotient[m.poisson.turned].max(initial=back)
    quotients = np.stack([m.quotient for m in solved])
    lower, higher = ((sign * (quotients - 1) > ROUND_OFF).sum((1, 2)) for sign in (-1, 1))
    holds = wrong == apart == 0 and back <= 1 + ROUND_OFF and (lower > higher).all()
    words: Words = {"lower": listed(lower), "higher": listed(higher), "all": quotients.size}
    return claimed(holds, case=case, wrong=wrong, apart=apart, back=back, **words)


def _pictures(form: PlaneForm, m: Plane) -> list[Picture]:
    frame = Frame(m.theta[:, 0], m.ratio[0], "lean θ (deg)", "slip / approach speed before")
    case, rules = f"planar rod, μ = {form.friction}, e = {form.restitution}", ("Poisson", "energetic")
    titles = (MODE, "normal velocity after / (e × before)", "energy after / before")
    made = []
    rows = triples((m.poisson, m.energetic), titles, ("", ""), form.restitution)
    for name, rule, row in zip(("fig3", "fig4"), rules, rows, strict=True):
        made.append(TEXTS.picture(name, maps(frame, [row], f"{rule} restitution: {case}"), case=case))
    row = []
    for title, values in (("normal velocity after", m.quotient), ("energy after", m.energy_quotient)):
        far = float(np.abs(values - 1).max())
        row.append(Panel(f"{title}, Poisson / energetic", values, colours="RdBu", limits=(1 - far, 1 + far)))
    figure = maps(frame, [[*row, Panel(MODE, m.mode)]], f"Poisson over energetic: {case}")
    return [*made, TEXTS.picture("fig5", figure, case=case)]
