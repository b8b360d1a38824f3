"""What sections 2, 6 and 7 say in words of energy, restitution, static friction and Newton's rule in the plane."""

import jax
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Progress, claim, solve_many

from .plane_form import PlaneForm, spatial
from .plane_map import Maps
from .rod import STUCK, energy_ratio, inverse_inertia, planar_inertia

__all__ = ["claims"]

ROUND_OFF = 1e-12


def claims(form: PlaneForm, m: Maps, progress: Progress) -> list[Finding]:
    findings = [_sticking(form, m), *_lean(form, m), _speed(form, m), _restitution(form, m), _static(form, m)]
    return findings + _newton(form, m, progress)


def _sticking(form: PlaneForm, m: Maps) -> Finding:
    energy = m.energy["poisson"]
    stuck, through = (float(energy[cells].mean()) for cells in (np.isin(m.mode, STUCK), m.mode == 0))
    least = np.unravel_index(energy.argmin(), energy.shape)
    return claim(
        "SB-Fig3-sticking",
        "sec. 2",
        "energy left when it sticks and when it slides throughout, mean",
        form.printed.sticking_loses,
        f"{stuck:.3f} and {through:.3f}",
        stuck < through,
        f"Sliding throughout keeps least. The least of all, {energy.min():.4f}, is in mode {m.mode[least]} at "
        f"{m.theta[least]:g} deg and ratio {m.ratio[least]:.2f}.",
        "differs",
    )


def _lean(form: PlaneForm, m: Maps) -> list[Finding]:
    energy = m.energy["poisson"]
    upright, flat = energy[m.theta[:, 0] == 0][0], energy[[0, -1]]
    words = f"energy left: upright {upright.mean():.3f}, at -{form.reach_deg:g} and {form.reach_deg:g} deg "
    words += f"{flat[0].mean():.3f} and {flat[1].mean():.3f}"
    return [
        claim(
            "SB-Fig3-flat",
            "sec. 2",
            "energy and lean",
            form.printed.flat_keeps,
            words,
            bool((flat > upright).all()),
        ),
        claim(
            "SB-Fig3-flat-discussed",
            "sec. 6",
            "energy and lean",
            form.printed.flat_loses,
            words,
            bool((flat < upright).all()),
            "Section 6 says the opposite of section 2; section 2 is right.",
            "differs",
        ),
    ]


def _speed(form: PlaneForm, m: Maps) -> Finding:
    rises = float((np.diff(m.energy["poisson"], axis=1)[:, 1:] > 0).mean())
    return claim(
        "SB-Fig3-faster",
        "sec. 2",
        "energy and slip before",
        form.printed.faster_keeps,
        f"rises in {100 * rises:.0f} % of the steps in the ratio",
        rises > 0.5,
    )


def _table(form: PlaneForm, m: Maps, restitution: float, static: float) -> np.ndarray:
    velocity = np.stack([m.ratio, -np.ones_like(m.ratio)], -1)
    modes = jax.jit(jimpact.planar_modes)(
        planar_inertia(form.rod, m.theta), velocity, form.friction, restitution, static_friction=static
    )
    return np.asarray(modes.mode)


def _restitution(form: PlaneForm, m: Maps) -> Finding:
    other = _table(form, m, form.other_restitution, form.friction)
    changed = other != m.mode
    return claim(
        "SB-2D-restitution",
        "sec. 5, sec. 7",
        f"mode in the plane, e = {form.restitution} and {form.other_restitution}",
        form.printed.restitution_and_mode,
        f"{changed.sum()} of {changed.size} cells change",
        False,
        "Their R3 = R1 (1 + e) tells sliding throughout from slip that ends in restitution: those two swap.",
        "differs",
    )


def _static(form: PlaneForm, m: Maps) -> Finding:
    other = _table(form, m, form.restitution, form.static_friction)
    before, after = (int(np.isin(mode, STUCK).sum()) for mode in (m.mode, other))
    return claim(
        "SB-2D-static",
        "sec. 2",
        f"cells that stick, static friction {form.friction} and {form.static_friction}",
        form.printed.static,
        f"{before} and {after}",
        after > before,
        f"{(other != m.mode).sum()} of {other.size} cells change their mode.",
    )


def _newton(form: PlaneForm, m: Maps, progress: Progress) -> list[Finding]:
    W, v, e = inverse_inertia(form.rod, m.theta, 0.0), spatial(m.ratio), form.newton_restitution
    newton = jimpact.require(solve_many(W, v, form.friction, e, law="newton", progress=progress))
    poisson = jimpact.require(solve_many(W, v, form.friction, e, law="poisson", progress=progress))
    ratio = energy_ratio(newton, form.rod.mass, v)
    gains, other = int((ratio > 1 + ROUND_OFF).sum()), int((newton.info.mode != poisson.info.mode).sum())
    return [
        claim(
            "SB-Newton-energy",
            "sec. 2",
            f"Newton's rule, e = {e}: cells that gain energy",
            form.printed.newton_energy,
            f"{gains} of {ratio.size}, up to {100 * (ratio.max() - 1):.1f} %",
            gains > 0,
        ),
        claim(
            "SB-Newton-mode",
            "sec. 2",
            f"Newton's rule, e = {e}: cells of another mode than Poisson's",
            form.printed.newton_mode,
            f"{other} of {ratio.size}",
            False,
            "Until slip first stops, all rules would end at the same impulse, and what follows is decided by friction "
            "alone: in the plane the mode does not depend on the rule where compression ends once.",
            "differs",
        ),
    ]
