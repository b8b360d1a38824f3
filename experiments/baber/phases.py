"""Sections 3.4 to 3.6, 3.9 and 3.11: what ends an impact, and the formulas for its last part.

| symbol | meaning                                                              | unit |
|--------|----------------------------------------------------------------------|------|
| L      | K^-1                                                                 | kg   |
| k      | du/dp_z once slip was zero: (0, 0, 1 / L_33), or along the diverging ray | 1/kg |
| W      | work of the normal force                                             | J    |
"""

from typing import Any

import numpy as np

import jimpact
from jimpact.config import Small, Table
from jimpact.reproduce import Finding, Progress, claim, directions_many, solve_many, trace_many

from .crowd import Impacts, matrices, solved, stick_ratio
from .forms import Crowd

__all__ = ["PhasesForm", "phases"]


class PhasesForm(Table):
    """Crowds for the formulas, the stationary ray, and Newton's law; and how near is equal."""

    stopping: Crowd
    stationary: Crowd
    newton: Crowd
    formula: Small  # relative: a formula and a path at standard accuracy
    gain: Small  # of the work of compression: more is a gain of energy


def phases(form: PhasesForm, progress: Progress) -> list[Finding]:
    """All claims of this module."""
    return [*_after_zero_slip(form), _stationary(form, progress), *_newton(form, progress)]


def _after_zero_slip(form: PhasesForm) -> list[Finding]:
    """(5), (6) and (8) on the samples after slip was zero."""
    impacts = matrices(form.stopping)
    path = trace_many(impacts.inverse_inertia, impacts.velocity, impacts.friction, impacts.restitution)
    stops = np.isfinite(np.asarray(path.events.slip_end))
    stable = stick_ratio(impacts.inverse_inertia) <= impacts.friction
    k = _rates(impacts, stable)
    sides = [_residuals(path, k, stops & side) for side in (stable, ~stable)]
    names = (("B-work-stick", "3.5, 3.6, (5), (6)"), ("B-work-ray", "3.9, (8)"))
    printed = ("(K^-1)_33 / 2 (u_z(t_e)^2 - u_z(t_s)^2)", "1 / (2 k_z) (u_z(t_e)^2 - u_z(t_s)^2)")
    return [
        claim(
            id,
            where,
            "work of the normal force from zero slip on, " + ("sticking" if i == 0 else "along the diverging ray"),
            printed[i],
            f"to {sides[i][0]:.0e} of the work of compression in {int((stops & (stable, ~stable)[i]).sum())} impacts",
            max(sides[i]) < form.formula,
            f"Velocity over p_z as K gives it, du/dp_z = k, to {sides[i][1]:.0e} of that before.",
        )
        for i, (id, where) in enumerate(names)
    ]


def _rates(impacts: Impacts, stable: np.ndarray) -> np.ndarray:
    """k of every impact."""
    K, mu = impacts.inverse_inertia, impacts.friction
    directions, growths = directions_many(K, mu)
    s = directions[np.arange(len(mu)), np.nan_to_num(growths, nan=-np.inf).argmax(-1)]
    away = np.einsum("nij,nj->ni", K, np.column_stack([-mu[:, None] * s, np.ones(len(mu))]))
    stays = np.array([0.0, 0.0, 1.0]) / np.linalg.inv(K)[:, 2, 2, None]
    return np.where(stable[:, None], stays, away)


def _residuals(path: Any, k: np.ndarray, chosen: np.ndarray) -> tuple[float, float]:
    """Largest misfit of the work and of the velocity after zero slip, relative, over the chosen lanes."""
    p, work, slip = (np.asarray(a)[chosen] for a in (path.normal_impulse, path.work, path.sliding_velocity))
    u = np.concatenate([slip, np.asarray(path.normal_velocity)[chosen][..., None]], -1)
    end, k = np.asarray(path.events.slip_end)[chosen, None], k[chosen]
    at = np.abs(p - end).argmin(-1)
    rows, after = np.arange(len(p)), p >= end
    start, done = u[rows, at][:, None], work[rows, at][:, None]
    told = done + (u[..., 2] ** 2 - start[..., 2] ** 2) / (2 * k[:, None, 2])
    line = start + k[:, None] * (p - end)[..., None]
    sizes = np.abs(work).max(-1, keepdims=True), np.linalg.norm(u[:, :1], axis=-1)
    misfits = np.abs(told - work) / sizes[0], np.linalg.norm(line - u, axis=-1) / sizes[1]
    return tuple(float(np.where(after, misfit, 0).max()) for misfit in misfits)  # type: ignore[return-value]


def _stationary(form: PhasesForm, progress: Progress) -> Finding:
    """With the least friction that sticks, slip against the force that would hold it goes on as it is."""
    impacts = matrices(form.stationary)
    L, e = np.linalg.inv(impacts.inverse_inertia), impacts.restitution
    mu = stick_ratio(impacts.inverse_inertia)
    v = np.column_stack([-L[:, :2, 2] / (mu * L[:, 2, 2])[:, None], impacts.velocity[:, 2]])
    impact = solve_many(impacts.inverse_inertia, v, mu, e, progress=progress)
    rate = (impact.velocity[:, 2] - v[:, 2]) / impact.impulse[:, 2]
    gap = np.abs(rate * L[:, 2, 2] - 1).max()
    slip = np.linalg.norm(impact.velocity[:, :2] - v[:, :2], axis=-1).max()
    return claim(
        "B-ray-stationary",
        "3.11",
        "du_z/dp_z on a stationary ray",
        "1 / (K^-1)_33",
        f"to {gap:.0e} in {len(mu)}",
        bool(gap < form.formula and slip < form.formula),
        f"Friction that just sticks, slip of 1 m/s along the ray; it changes by {slip:.0e} m/s in the impact.",
    )


def _newton(form: PhasesForm, progress: Progress) -> list[Finding]:
    """3.4: Newton's law with friction and without, beside Stronge's rule."""
    impacts = matrices(form.newton)
    given = (impacts.inverse_inertia, impacts.velocity)
    newton = solve_many(*given, impacts.friction, impacts.restitution, law="newton", progress=progress)
    stronge = solved(impacts, progress)
    rises, other = (_rises(impact, form.gain) for impact in (newton, stronge))
    gains, none, n = int(rises.sum()), int(other.sum()), len(rises)
    change = (newton.info.kinetic_energy_change / np.abs(newton.info.compression_work))[rises]
    slick = [
        solve_many(*given, 0 * impacts.friction, impacts.restitution, law=law, progress=progress).impulse
        for law in ("newton", "stronge")
    ]
    gap = float((np.linalg.norm(slick[0] - slick[1], axis=-1) / np.linalg.norm(slick[1], axis=-1)).max())
    return [
        claim(
            "B-newton",
            "3.4",
            "energy rises with friction: Newton's law; Stronge's rule",
            "can cause the total energy ... to increase; Stronge: will decrease",
            f"{gains} and {none} of {n}",
            gains > 0 and none == 0,
            f"Where it rises by Newton's law, by {np.median(change) if gains else 0:.2g} (median) of the work of "
            "compression.",
        ),
        claim(
            "B-newton-slick",
            "3.4",
            "Stronge's rule without friction: impulse beside Newton's law",
            "gives the same results as Newton's law of restitution",
            f"differs by at most {gap:.0e} in {n}",
            gap < form.formula,
        ),
    ]


def _rises(impact: jimpact.Impact, limit: float) -> np.ndarray:
    done = np.asarray(impact.outcome) == jimpact.Outcome.OK
    return done & np.asarray(impact.info.kinetic_energy_change > limit * np.abs(impact.info.compression_work))
