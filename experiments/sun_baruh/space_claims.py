"""What sections 5 to 7 say of the maps in space in words, checked cell by cell."""

from collections.abc import Sequence
from functools import partial

import jax
import numpy as np

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, claimed, numbers, only

from .forms import SpaceForm
from .rod import EXACT, NEAR, ROUND_OFF, Map, gap, inverse_inertia, planar_inertia, solve_map
from .words import Words, becomes, by_mode, listed, percent

MIRRORED = 1e-9  # m/s
ENDED = (1, 2, 3, 4)  # modes in which slip comes to an end
CONCLUDED = 20  # %: the largest difference between the rules, section 7


def claims(
    form: SpaceForm, coarse: Sequence[Map], fine: Sequence[Map], progress: LabelledProgress
) -> dict[str, Computed]:
    """First the approximation at theta2 = 0, against the exact solution and the formula of the plane; and a mirror."""
    off = max(m.errors()[0][m.y == 0].max() for m in coarse)
    case, m = form.maps[2], coarse[2]
    K, v = planar_inertia(form.rod, m.x[:, 0]), np.array(form.velocity)[[0, 2]]
    plane = jax.jit(partial(jimpact.solve_planar, law="poisson"))(K, v, case.friction, case.restitution)
    apart = np.abs(m.near.impact.impulse[:, 0, [0, 2]] - np.asarray(plane.impulse)).max()
    same = (np.asarray(plane.info.mode) == m.near.mode[:, 0]).all()
    digits = -float(np.log10(max(off, 1e-16)))

    case, m, mirror = form.maps[0], coarse[0], np.array([1.0, -1.0, 1.0])
    W = inverse_inertia(form.rod, m.x, -m.y)
    other = solve_map(form, (m.x, -m.y), W, case.friction, case.restitution, progress, case.rule)
    pairs = (other.near, m.near), (other.exact, m.exact)
    aside = max(np.abs(a.impact.velocity * mirror - b.impact.velocity).max() for a, b in pairs)
    return {
        "SB-theta2=0": claimed(off < ROUND_OFF and apart < ROUND_OFF and same, digits, off=off, apart=apart),
        "SB-3D-symmetric": claimed(aside < MIRRORED, off=aside, limit=MIRRORED),
        **_sticking(form, fine[0], fine[2]),
        **_restitution(form, coarse, fine),
        **_rules(coarse, fine),
        **_sliding(form, fine),
        **_energy(fine),
        "SB-3D-static": only(),
    }


def _sticking(form: SpaceForm, low: Map, high: Map) -> dict[str, Computed]:
    """Figures 8 and 10, by the approximation."""
    stuck, reach = low.near.stuck, low.x.max()
    upright, before = stuck[np.hypot(low.x, low.y) <= form.upright_deg].mean(), stuck.mean()
    after = high.near.stuck[(np.abs(high.x) <= reach) & (high.y <= reach)].mean()
    widths = stuck.sum(0) * (low.x[1, 0] - low.x[0, 0])
    steps = np.diff(widths)
    sideways = {"width": widths[0], "last": low.y[0][widths > 0].max(), "step": low.y[0, 1]}
    return {
        "SB-3D-upright": claimed(upright == 1, share=100 * upright, all=100 * before),
        "SB-3D-friction": claimed(after > before, reach=reach, before=percent(before), after=percent(after)),
        "SB-3D-sideways": claimed((steps <= 0).all(), grows=(steps > 0).sum(), steps=steps.size, **sideways),
    }


def _restitution(form: SpaceForm, coarse: Sequence[Map], fine: Sequence[Map]) -> dict[str, Computed]:
    """From figure 10 to 11."""
    before, after = fine[2].near, fine[3].near
    few, many = coarse[2].near.mode != coarse[3].near.mode, before.mode != after.mode
    modes: Words = {"few": few.sum(), "many": many.sum(), "exact": (fine[2].exact.mode != fine[3].exact.mode).sum()}
    modes["becomes"] = becomes(before.mode, after.mode)
    apart = gap(before.normal / form.maps[2].restitution, after.normal / form.maps[3].restitution).max()
    less = (after.energy < before.energy).mean()
    words: Words = {"less": percent(less), "apart": percent(apart)}
    words["means"] = before.energy.mean(), after.energy.mean()
    return {
        "SB-3D-restitution": claimed(max(few.mean(), many.mean()) < form.limits["few"], **modes),
        "SB-3D-lower": claimed(less == 1 and apart < form.limits["close"], **words),
    }


def _rules(coarse: Sequence[Map], fine: Sequence[Map]) -> dict[str, Computed]:
    """Poisson against energetic."""
    kinds = (NEAR, EXACT)
    near, exact = ([max(m.modes_between_rules(kind) for m in maps) for maps in (coarse, fine)] for kind in kinds)
    pairs = [[one.mode for one in m.by_rule(NEAR)] for m in fine]
    modes = np.unique(np.concatenate([mode[one != other] for one, other in pairs for mode in (one, other)]))
    worst = [max(m.between_rules(kind).max() for m in fine) for kind in kinds]
    means = []
    for m in (fine[0], fine[2], fine[3]):  # figure 9 has the map of figure 8
        ended = np.isin(m.near.mode, ENDED)
        gaps = m.between_rules(NEAR), gap(*(one.energy for one in m.by_rule(NEAR)))
        means += [(a[ended].mean(), a[~ended].mean()) for a in gaps]
    return {
        "SB-3D-rules": claimed(max(near) == 0, near=near, exact=exact, modes=listed(modes)),
        "SB-3D-apart": claimed(all(ends > slides for ends, slides in means), means=[*map(percent, np.ravel(means))]),
        "SB-3D-concluded": claimed(round(100 * worst[0]) <= CONCLUDED, worst=[*map(percent, worst)]),
    }


def _sliding(form: SpaceForm, fine: Sequence[Map]) -> dict[str, Computed]:
    """Sliding throughout (mode 0) and back (modes 2 and 4)."""
    near, exact, y = (np.stack(a) for a in zip(*((m.near.mode, m.exact.mode, m.y) for m in fine), strict=True))
    slip = np.stack([m.exact.impact.velocity[..., 0] for m in fine])
    turns = (near == 2) & (exact == 0)
    parameters = [form.velocity[0] / (-form.velocity[2] * form.maps[i].friction) for i in (0, 2)]
    back = {"called": (near == 2).sum(), "turns": turns.sum(), "backwards": (turns & (slip < 0)).sum()}
    return {
        "SB-slide": numbers(parameters, shares=[100 * (near[i] == 0).mean() for i in (0, 2)]),
        "SB-3D-late": claimed(not (near == 4).any(), near=(near == 4).sum(), exact=(exact == 4).sum(), all=near.size),
        "SB-3D-reverse": only(off_plane=((exact == 2) & (y > 0)).sum(), **back),
        "SB-3D-more-sliding": _more(near == 0, exact == 0),
        "SB-3D-more-back": _more(near == 2, exact == 2),
    }


def _more(near: np.ndarray, exact: np.ndarray) -> Computed:
    """Rows theta2 = 0 against all others, figures 8 and 10."""
    shares = [[(found[i, :, 0].mean(), found[i, :, 1:].mean()) for i in (0, 2)] for found in (near, exact)]
    words = [[*map(percent, np.ravel(share))] for share in shares]
    return claimed(all(space > plane for plane, space in shares[0]), near=words[0], exact=words[1])


def _energy(fine: Sequence[Map]) -> dict[str, Computed]:
    """Which mode loses most, on average and in a single cell; and what is left of energy at the edges."""
    found, energies = {}, [m.near.energy for m in fine]
    for end, m, energy in zip(("", "-9", "-10", "-11"), fine, energies, strict=True):
        means, cell = by_mode(energy, m.near.mode), energy.argmin()
        modes = min(means, key=means.__getitem__), int(m.near.mode.flat[cell])
        words = {"means": ", ".join(f"mode {k}: {mean:.3f}" for k, mean in means.items()), "energy": energy.min()}
        words |= {"does": ["ends" if k in ENDED else "does not end" for k in modes], "modes": modes}
        words["theta"] = m.x.flat[cell], m.y.flat[cell]
        found[f"SB-3D-ending{end}"] = claimed(all(k in ENDED for k in modes), **words)
    upright = np.array([energy[(m.x == 0) & (m.y == 0)][0] for energy, m in zip(energies, fine, strict=True)])
    sides = np.array([[side.mean() for side in (energy[0], energy[-1], energy[:, -1])] for energy in energies])
    lost = sides < upright[:, None]
    listing = [listed(row, ".3f") for row in np.column_stack([upright, sides])]
    return {**found, "SB-3D-flat": claimed(lost.all(), listing=listing, lost=lost.sum(), sides=lost.size)}
