"""What sections 2, 5, 6 and 7 say in words of the planar rod: lean, slip, friction, restitution and rules."""

import jax
import numpy as np
from scipy.ndimage import binary_dilation

import jimpact
from jimpact.reproduce import Computed, Progress, Result, claimed

from .forms import PlaneForm
from .plane import Plane, figures, pictures, solve_plane
from .rod import ROUND_OFF, STUCK, TURNED, inverse_inertia, planar_inertia, solved, spatial
from .table2 import mode_of, ratios_of
from .words import Words, becomes, by_mode, each, ends, filled, listed, percent


def run_plane(form: PlaneForm, progress: Progress) -> Result:
    coarse, fine = (solve_plane(form, *form.grid(counts), progress) for counts in (form.coarse, form.fine))
    findings = figures(form, coarse, fine, progress)
    findings |= {**_normal(form, fine), **_energy(form, fine), "SB-Fig3-faster": _faster(form, fine)}
    findings |= {**_tables(form, coarse), **_newton(form, coarse, progress)}
    findings |= {"SB-frictionless": _frictionless(form, coarse, progress), **_others(form, coarse, progress)}
    return Result(filled(findings, form, cells=coarse.mode.size), pictures(form, fine))


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
    """Energy left where the rod sticks, at the edge of sliding, and where it is flat."""
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
    return {
        "SB-Fig3-sticking": claimed(stuck < min(through, turned), **words),
        "SB-Fig3-edge": claimed(edge.mean() < limit, **edges),
        "SB-Fig3-flat": claimed(more == flat.size, **lean),
        "SB-Fig3-flat-discussed": claimed(less == flat.size, **lean),
    }


def _faster(form: PlaneForm, m: Plane) -> Computed:
    energy = m.poisson.energy
    rises = np.diff(energy, axis=1)[:, 1:] > 0  # the first column starts at rest
    words: Words = {"rises": percent(rises.mean()), "means": each(by_mode(rises, m.mode[:, 2:]), ".2f")}
    words |= {"first": m.ratio[0, 1], "ahead": percent((energy[:, -1] > energy[:, 1]).mean())}
    return claimed(rises.mean() > form.limits["nearly_all"], lowest=m.ratio[0, energy.mean(0).argmin()], **words)


def _tables(form: PlaneForm, m: Plane) -> dict[str, Computed]:
    """Modes by Table 2, as the library has it, with other restitution and with other static friction."""
    K, velocity = planar_inertia(form.rod, m.theta), spatial(m.ratio)[..., [0, 2]]
    run = jax.jit(jimpact.planar_modes)
    softer, rougher = (
        np.asarray(run(K, velocity, form.friction, restitution, static_friction=static).mode)
        for restitution, static in ((form.other_restitution, form.friction), (form.restitution, form.static_friction))
    )
    changed = [(mode != m.mode).sum() for mode in (softer, rougher)]
    stick, back = ([np.isin(mode, kind).sum() for mode in (m.mode, rougher)] for kind in (STUCK, TURNED))
    return {
        "SB-2D-restitution": claimed(changed[0] == 0, changed=changed[0], becomes=becomes(m.mode, softer)),
        "SB-2D-static": claimed(stick[1] > stick[0], counts=stick, changed=changed[1]),
        "SB-2D-static-back": claimed(back[1] < back[0], counts=back, changed=changed[1]),
    }


def _newton(form: PlaneForm, m: Plane, progress: Progress) -> dict[str, Computed]:
    friction = np.array([form.friction, *form.other_frictions])
    given = (form.rod, inverse_inertia(form.rod, m.theta), spatial(m.ratio), friction[:, None, None])
    newton, poisson = (solved(*given, form.newton_restitution, law, progress) for law in ("newton", "poisson"))
    gains, other = (newton.energy > 1 + ROUND_OFF).sum((1, 2)), (newton.mode != poisson.mode).sum((1, 2))
    words: Words = {"frictions": listed(friction, "g"), "gains": listed(gains), "other": listed(other)}
    words |= {"most": 100 * (newton.energy.max() - 1), "first": 100 * (newton.energy[0].max() - 1)}
    return {"SB-Newton-energy": claimed(gains.any(), **words), "SB-Newton-mode": claimed(other.any(), **words)}


def _frictionless(form: PlaneForm, m: Plane, progress: Progress) -> Computed:
    given = (form.rod, inverse_inertia(form.rod, m.theta), spatial(m.ratio), 0.0, form.restitution)
    impulses = [solved(*given, law, progress).impact.impulse[..., 2] for law in ("poisson", "stronge", "newton")]
    off = max(np.abs(impulse / impulses[0] - 1).max() for impulse in impulses)
    return claimed(off < ROUND_OFF, off=off)


def _others(form: PlaneForm, m: Plane, progress: Progress) -> dict[str, Computed]:
    """Other materials and other rods on the same grid."""
    rods = [form.rod.model_copy(update={"radius": radius}) for radius in form.other_radii]
    changes = [{"friction": friction} for friction in form.other_frictions], [{"rod": rod} for rod in rods]
    by_friction, by_rod = (
        [solve_plane(form.model_copy(update=change), m.theta, m.ratio, progress) for change in some] for some in changes
    )
    return {
        "SB-2D-other-friction": _hold(by_friction, listed(form.other_frictions, "g")),
        "SB-2D-other-inertia": _hold(by_rod, listed([rod.alpha for rod in rods], ".3f")),
        "SB-2D-friction-loses": _loses(form, np.stack([one.poisson.energy for one in (m, *by_friction)])),
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


def _loses(form: PlaneForm, energy: np.ndarray) -> Computed:
    """Energy left as friction grows; the first map is that of the figures."""
    frictions = np.array([form.friction, *form.other_frictions])
    order = np.argsort(frictions)
    energy, frictions = energy[order], frictions[order]
    means, steps = energy.mean((1, 2)), np.diff(energy, axis=0)
    falls, rises = (steps < -ROUND_OFF).mean(), (steps > ROUND_OFF).mean()
    words: Words = {"frictions": listed(frictions, "g"), "means": listed(means, ".3f"), "ends": frictions[[0, -1]]}
    words |= {"falls": percent(falls), "rises": percent(rises), "lower": percent((energy[-1] < energy[0]).mean())}
    average = "On average only" if (np.diff(means) < 0).all() else "Not even on average"
    return claimed(falls >= form.limits["nearly_all"], average=average, **words)
