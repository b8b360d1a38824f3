"""Figures 3 to 5: modes, normal velocity and energy of the planar rod, by Poisson's and the energetic rule.

Source: section 2. Planar impacts are solved in space, where the exact solution of a plane is a closed form.
"""

from typing import NamedTuple

import numpy as np

from jimpact.reproduce import Computed, Picture, Progress, claimed, only

from .figures import Frame, Panel, maps, triples
from .forms import TEXTS, PlaneForm
from .rod import ROUND_OFF, RULES, Solved, inverse_inertia, solved, spatial
from .table2 import stick_limit
from .words import Words, counted, ends, percent

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


def solve_plane(form: PlaneForm, theta: np.ndarray, ratio: np.ndarray, progress: Progress) -> Plane:
    W, v = inverse_inertia(form.rod, theta), spatial(ratio)
    both = [solved(form.rod, W, v, form.friction, form.restitution, rule, progress) for rule in RULES]
    return Plane(form, theta, ratio, *both)


def figures(form: PlaneForm, coarse: Plane, fine: Plane, progress: Progress) -> dict[str, Computed]:
    """The maps themselves, and Poisson's results over energetic ones."""
    modes, kinds, rule = counted(coarse.mode), len(np.unique(coarse.mode)), coarse.energetic
    stops = np.isin(fine.mode, (1, 2, 3, 4))
    far = [np.abs(a - 1) for a in (fine.quotient, fine.energy_quotient)]
    means, rest = [a[stops].mean() for a in far], [a[~stops].max() for a in far]
    holds = means[0] > rest[0] and means[1] > rest[1]
    return {
        "SB-Fig3": only(modes),
        "SB-Fig4": only(normal=ends(rule.normal / form.restitution), energy=ends(rule.energy)),
        "SB-Fig3-all": claimed(kinds == 7, kinds=kinds, modes=modes),
        "SB-Fig5": _quotient(coarse, fine),
        "SB-Fig5-stops": claimed(holds, means=[percent(x) for x in means], rest=max(rest)),
        **_largest(form, coarse, fine, progress),
        **_overall(form, fine),
    }


def _quotient(coarse: Plane, fine: Plane) -> Computed:
    q = fine.quotient
    through, turned, answer = q[fine.mode == 0], q[fine.poisson.turned], ("no", "yes")
    back, on = turned.max() <= 1 + ROUND_OFF, through.max() > 1 + ROUND_OFF
    words: Words = {"few": ends(coarse.quotient), "many": ends(q), "few_cells": coarse.mode.size, "cells": q.size}
    words |= {"turned": ends(turned), "stuck": ends(q[fine.poisson.stuck]), "off": np.abs(through - 1).max()}
    return claimed(back and on, back=answer[int(back)], on=answer[int(on)], **words)


def _largest(form: PlaneForm, coarse: Plane, fine: Plane, progress: Progress) -> dict[str, Computed]:
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


def _overall(form: PlaneForm, m: Plane) -> dict[str, Computed]:
    q, energy, limits = m.quotient, m.energy_quotient, form.limits
    lower, higher = (q < 1 - ROUND_OFF).sum(), (q > 1 + ROUND_OFF).sum()
    far = np.abs(energy - 1)
    typical = np.quantile(far, limits["nearly_all"])
    words: Words = {"typical": percent(typical), "range": ends(energy), "worst": percent(far.max())}
    words |= {"beyond": percent((far > limits["close"]).mean()), "place": m.place(far.argmax())}
    holds = lower > higher and q.mean() < 1 and energy.mean() < 1
    return {
        "SB-Fig5-overall": claimed(holds, lower=lower, higher=higher, mean=q.mean(), energy=energy.mean()),
        "SB-Fig5-energy": claimed(typical < limits["close"], **words),
    }


def pictures(form: PlaneForm, m: Plane) -> list[Picture]:
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
