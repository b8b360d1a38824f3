"""The planar rod without friction, with other friction and with other moments of inertia: what section 2 says of it."""

from typing import NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import Finding, Progress, claim, solve_many

from .plane_form import PlaneForm, spatial
from .plane_map import Maps
from .ratios import mode_of, ratios_of
from .rod import RULES, TURNED, Rod, energy_ratio, inverse_inertia, percent

__all__ = ["others"]

ROUND_OFF = 1e-12


class Others(NamedTuple):
    """Several materials or rods on one grid; arrays have the shape (cases, angles, ratios)."""

    mode: dict[str, np.ndarray]
    quotient: np.ndarray  # normal velocity after, Poisson over energetic
    energy: np.ndarray  # after / before, Poisson
    table: np.ndarray  # mode by Table 2 with R2 corrected


def others(form: PlaneForm, m: Maps, progress: Progress) -> list[Finding]:
    frictions, radii = form.other_frictions, form.other_radii
    rods = [Rod(mass=form.rod.mass, half_length=form.rod.half_length, radius=radius) for radius in radii]
    by_friction = _solved(form, m, [form.rod] * len(frictions), frictions, progress)
    by_inertia = _solved(form, m, rods, [form.friction] * len(rods), progress)
    alphas = ", ".join(f"{rod.alpha:.3f}" for rod in rods)
    mu = ", ".join(f"{friction:g}" for friction in frictions)
    return [
        _frictionless(form, m, progress),
        _hold("SB-2D-other-friction", f"friction {mu}", form.printed.other_frictions, by_friction),
        _hold("SB-2D-other-inertia", f"alpha = {alphas}", form.printed.other_radii, by_inertia),
        _loses(form, m, by_friction),
    ]


def _solved(form: PlaneForm, m: Maps, rods: list[Rod], frictions: list[float], progress: Progress) -> Others:
    W = np.stack([inverse_inertia(rod, m.theta, 0.0) for rod in rods])
    v, mu = spatial(m.ratio), np.array(frictions)[:, None, None]
    by_rule = {
        rule: jimpact.require(solve_many(W, v, mu, form.restitution, law=rule, progress=progress)) for rule in RULES
    }
    table = []
    for rod, friction in zip(rods, frictions, strict=True):
        ratios = ratios_of(rod, m.theta, friction, form.restitution)
        table.append(mode_of(m.ratio, ratios, np.abs(ratios.needed) <= friction))
    normal = {rule: np.asarray(impact.velocity[..., 2]) for rule, impact in by_rule.items()}
    return Others(
        {rule: np.asarray(impact.info.mode) for rule, impact in by_rule.items()},
        normal["poisson"] / normal["stronge"],
        energy_ratio(by_rule["poisson"], form.rod.mass, v),
        np.stack(table),
    )


def _hold(name: str, case: str, words: str, o: Others) -> Finding:
    """Table 2, modes that do not depend on the rule, and Poisson lower when sliding back and in most cells."""
    poisson, energetic = (o.mode[rule] for rule in RULES)
    wrong, apart = int((poisson != o.table).sum()), int((poisson != energetic).sum())
    back = float(o.quotient[np.isin(poisson, TURNED)].max(initial=0.0))
    lower, higher = (((sign * (o.quotient - 1)) > ROUND_OFF).sum((1, 2)) for sign in (-1, 1))
    return claim(
        name,
        "sec. 2",
        f"modes by Table 2, the same for both rules, Poisson lower when it slides back and overall, {case}",
        words,
        f"{wrong} of {poisson.size} modes differ from Table 2, {apart} between the rules; Poisson / energetic at most "
        f"{back:.6g} where it slides back, lower in {_listed(lower)} cells, higher in {_listed(higher)}",
        wrong == apart == 0 and back <= 1 + ROUND_OFF and bool((lower > higher).all()),
        "Only what holds for the rod of the figures too is tried: with R2 corrected, and see SB-Fig5.",
        "differs",
    )


def _frictionless(form: PlaneForm, m: Maps, progress: Progress) -> Finding:
    W, v = inverse_inertia(form.rod, m.theta, 0.0), spatial(m.ratio)
    impulses = [
        jimpact.require(solve_many(W, v, 0.0, form.restitution, law=law, progress=progress)).impulse[..., 2]
        for law in ("poisson", "stronge", "newton")
    ]
    off = max(float(np.abs(impulse / impulses[0] - 1).max()) for impulse in impulses[1:])
    return claim(
        "SB-frictionless",
        "after (24)",
        "normal impulse by Newton's and the energetic rule against Poisson's, friction 0",
        form.printed.frictionless,
        f"within {off:.0e} of it",
        off < ROUND_OFF,
        "Without friction the normal velocity falls in proportion to the impulse.",
        "differs",
    )


def _loses(form: PlaneForm, m: Maps, o: Others) -> Finding:
    frictions = np.array([form.friction, *form.other_frictions])
    order = np.argsort(frictions)
    energy = np.concatenate([m.energy["poisson"][None], o.energy])[order]
    steps = np.diff(energy, axis=0)
    falls, rises = float((steps < -ROUND_OFF).mean()), float((steps > ROUND_OFF).mean())
    ends = f"{frictions.min():g} to {frictions.max():g}"
    lower = float((energy[-1] < energy[0]).mean())
    means, average = energy.mean((1, 2)), bool((np.diff(energy.mean((1, 2))) < 0).all())
    listed = ", ".join(f"{x:.3f}" for x in means)
    return claim(
        "SB-2D-friction-loses",
        "sec. 6",
        f"mean energy after / before in the plane, mu = {', '.join(f'{x:g}' for x in frictions[order])}",
        form.printed.friction_loses,
        f"{listed}; from one to the next less in {percent(falls)} of the cells, more in {percent(rises)}",
        falls >= form.limits.nearly_all,
        f"{'On average only' if average else 'Not even on average'}: {percent(form.limits.nearly_all)} of the cells "
        f"are to have less. From {ends} {percent(lower)} of them have.",
        "convention" if average else "differs",
    )


def _listed(values: np.ndarray) -> str:
    return ", ".join(map(str, values.tolist()))
