"""What sections 2, 5, 6 and 7 say in words of lean, restitution, static friction and Newton's rule in the plane."""

import jax
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Progress, claim, solve_many

from .plane_form import PlaneForm, spatial
from .plane_map import Maps
from .rod import STUCK, TURNED, energy_ratio, inverse_inertia, planar_inertia

__all__ = ["claims"]

ROUND_OFF = 1e-12


def claims(form: PlaneForm, coarse: Maps, fine: Maps, progress: Progress) -> list[Finding]:
    findings = [*_lean(form, fine), _restitution(form, coarse), *_static(form, coarse)]
    return [*findings, *_newton(form, coarse, progress)]


def _lean(form: PlaneForm, m: Maps) -> list[Finding]:
    energy = m.energy["poisson"]
    upright, flat = energy[m.theta[:, 0] == 0][0], energy[[0, -1]]
    words = f"energy after / before: upright {upright.mean():.3f}, at -{form.reach_deg:g} and {form.reach_deg:g} deg "
    words += f"{flat[0].mean():.3f} and {flat[1].mean():.3f}"
    more, less = int((flat > upright).sum()), int((flat < upright).sum())
    counts = f"More is left than upright in {more} of {flat.size} pairs of equal slip, less in {less}."
    return [
        claim(
            "SB-Fig3-flat",
            "sec. 2",
            "energy and lean",
            form.printed.flat_keeps,
            words,
            more == flat.size,
            counts,
            "differs",
        ),
        claim(
            "SB-Fig3-flat-discussed",
            "sec. 6",
            "energy and lean, in the plane",
            form.printed.flat_loses,
            words,
            less == flat.size,
            f"{counts} Section 6 says the opposite of section 2.",
            "differs",
        ),
    ]


def _table(form: PlaneForm, m: Maps, restitution: float, static: float) -> np.ndarray:
    velocity = np.stack([m.ratio, -np.ones_like(m.ratio)], -1)
    modes = jax.jit(jimpact.planar_modes)(
        planar_inertia(form.rod, m.theta), velocity, form.friction, restitution, static_friction=static
    )
    return np.asarray(modes.mode)


def _restitution(form: PlaneForm, m: Maps) -> Finding:
    other = _table(form, m, form.other_restitution, form.friction)
    changed = other != m.mode
    pairs = sorted({(int(a), int(b)) for a, b in zip(m.mode[changed], other[changed], strict=True)})
    return claim(
        "SB-2D-restitution",
        "sec. 5, sec. 7",
        f"mode in the plane, e = {form.restitution} and {form.other_restitution}",
        form.printed.restitution_and_mode,
        f"{changed.sum()} of {changed.size} cells change",
        not changed.any(),
        f"Modes {', '.join(f'{a} become {b}' for a, b in pairs)}: R3 = R1 (1 + e), which tells sliding throughout from "
        "slip that ends in restitution, contains e.",
        "differs",
    )


def _static(form: PlaneForm, m: Maps) -> list[Finding]:
    other = _table(form, m, form.restitution, form.static_friction)
    counts = {kind: [int(np.isin(mode, kind).sum()) for mode in (m.mode, other)] for kind in (STUCK, TURNED)}
    frictions = f"static friction {form.friction} and {form.static_friction}"
    why = f"{(other != m.mode).sum()} of {other.size} cells change their mode."
    rows = (
        ("SB-2D-static", "stick", form.printed.static, STUCK, 1),
        ("SB-2D-static-back", "slide back", form.printed.static_back, TURNED, -1),
    )
    return [
        claim(
            name,
            "sec. 2",
            f"cells that {verb}, {frictions}",
            words,
            f"{counts[kind][0]} and {counts[kind][1]}",
            sign * (counts[kind][1] - counts[kind][0]) > 0,
            why,
            "differs",
        )
        for name, verb, words, kind, sign in rows
    ]


def _newton(form: PlaneForm, m: Maps, progress: Progress) -> list[Finding]:
    friction = np.array([form.friction, *form.other_frictions])[:, None, None]
    W, v, e = inverse_inertia(form.rod, m.theta, 0.0), spatial(m.ratio), form.newton_restitution
    newton = jimpact.require(solve_many(W, v, friction, e, law="newton", progress=progress))
    poisson = jimpact.require(solve_many(W, v, friction, e, law="poisson", progress=progress))
    ratio = energy_ratio(newton, form.rod.mass, v)
    gains = (ratio > 1 + ROUND_OFF).sum((1, 2))
    other = (newton.info.mode != poisson.info.mode).sum((1, 2))
    frictions = f"mu = {', '.join(f'{mu:g}' for mu in friction[:, 0, 0])}"
    return [
        claim(
            "SB-Newton-energy",
            "sec. 2",
            f"Newton's rule, e = {e}: cells that gain energy at {frictions}",
            form.printed.newton_energy,
            f"{', '.join(map(str, gains))} of {m.mode.size}, up to {100 * (ratio.max() - 1):.1f} %",
            bool(gains.any()),
            f"At mu = {form.friction} by up to {100 * (ratio[0].max() - 1):.1f} %.",
            "differs",
        ),
        claim(
            "SB-Newton-mode",
            "sec. 2",
            f"Newton's rule, e = {e}: cells of another mode than Poisson's at {frictions}",
            form.printed.newton_mode,
            f"{', '.join(map(str, other))} of {m.mode.size}",
            bool(other.any()),
            "Until slip first stops, all rules would end at the same impulse, and what follows is decided by friction "
            "alone: in the plane the mode does not depend on the rule where compression ends once.",
            "differs",
        ),
    ]
