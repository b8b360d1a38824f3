"""The new law stays in the permissible region, and laws that reach all of it: sections 4.1, 5.1 and 5.2, listing A.2.

Source: Chatterjee & Ruina 1998. Symbols as in `listing`; P_0 = 1.5 P_I is a point inside the region: it loses energy,
separates and has no friction.
"""

import numpy as np

from jimpact.reproduce import Finding, Progress, Result, claim, new

from .baselines import NORMAL, candidate, collrule, plastic, slips
from .definitions import permitted
from .forms import Laws
from .populations import Impacts, answer, drawn, energy, joined, times

__all__ = ["reach", "run"]

ROUND = 1e-9  # relative, with condition numbers up to 1e4


def run(config: Laws, progress: Progress) -> Result:
    impacts = joined(drawn(config.population))
    M = np.linalg.inv(impacts.W)
    one, two = plastic(M, impacts.v, NORMAL)
    law = answer(impacts, "chatterjee_ruina", progress)
    listed = collrule(M, impacts.v, NORMAL, impacts.mu, impacts.e, impacts.e_t)
    gap = float((np.abs(listed - law.impulse).max(-1) / np.linalg.norm(listed, axis=-1)).max())
    outside = ~permitted(impacts, law.impulse)
    n = len(impacts.mu)
    findings = [
        claim(
            "CR-permissible",
            "5.1-5.2",
            "impulses of the new law outside the permissible region",
            '"automatically in the permissible part"',
            f"{int(outside.sum())} of {n} impacts ({config.population.count} of each kind)",
            holds=not outside.any(),
            why=f"Least margins over their scales: {', '.join(f'{x:.0e}' for x in law.margins.min(1))} "
            "(energy lost, separation, push, cone).",
        ),
        claim(
            "CR-listing",
            "A.2",
            "the MATLAB listing, in NumPy, against jimpact",
            "P = (1+e)*P_I + kappa*(P_II - P_I)",
            f"largest difference {gap:.1e} of the impulse, {n} impacts",
            holds=gap < ROUND,
        ),
        *_parallelogram(impacts, one, two),
        *_cut(impacts, one, two, law.impulse),
        _beyond_one(impacts, M, config.beyond_one),
        *_conserving(impacts, one, two, progress),
    ]
    return Result([*findings, *_whole_region(config, impacts, one, two)])


def _parallelogram(impacts: Impacts, one: np.ndarray, two: np.ndarray) -> list[Finding]:
    """Candidates need no friction to lose energy and to separate."""
    W, v = impacts.W, impacts.v
    worst = {}
    for name, P in (
        ("P_I", one),
        ("2 P_I", 2 * one),
        ("2 P_II", 2 * two),
        ("2 P_II - P_I", 2 * two - one),
        ("random e, e_t", candidate(one, two, impacts.e, impacts.e_t)),
    ):
        after = v + times(W, P)
        gain = float((energy(W, after) / energy(W, v)).max()) - 1
        worst[name] = max(gain, float((-after[:, 2] / np.linalg.norm(v, axis=-1)).max()))
    words = f"greatest gain of energy or approach after: {max(worst.values()):.0e}, {len(v)} impacts"
    return [
        claim(
            "CR-candidate",
            "(10), 5.1",
            "corners P_I, 2 P_I, 2 P_II, 2 P_II - P_I of the candidates, and random ones",
            '"guaranteed to satisfy the energy and non-interpenetration criteria"',
            words,
            holds=max(worst.values()) < ROUND,
        )
    ]


def _cut(impacts: Impacts, one: np.ndarray, two: np.ndarray, impulse: np.ndarray) -> list[Finding]:
    """Equation (13) has an answer whenever (12) asks for it."""
    hat = candidate(one, two, impacts.e, impacts.e_t)
    slip = slips(hat, NORMAL, impacts.mu)
    closing = np.linalg.norm(two[:, :2], axis=-1) - impacts.mu * (two - one)[:, 2]
    kappa = impacts.mu * (1 + impacts.e) * one[:, 2] / closing
    good = (closing[slip] > 0) & (kappa[slip] >= 0) & (kappa[slip] <= (1 + impacts.e_t[slip]) * (1 + ROUND))
    on = np.abs(np.hypot(*impulse[slip, :2].T) / (impacts.mu[slip] * impulse[slip, 2]) - 1).max()
    pulls = int((slip & (hat[:, 2] < 0)).sum())
    straight = impacts.having(e_t=1)._replace(v=-impacts.W[:, :, 2])  # M V along the normal: P_II = -M V
    own = plastic(np.linalg.inv(straight.W), straight.v, NORMAL)
    normal = collrule(np.linalg.inv(straight.W), straight.v, NORMAL, straight.mu, straight.e, straight.e_t)
    tilt = np.abs(normal[:, :2]).max(-1) / normal[:, 2]
    return [
        claim(
            "CR-(12)(13)",
            "5.2",
            f"kappa where the candidate leaves the cone ({int(slip.sum())} impacts, {pulls} of them pull)",
            '"exactly on the surface"; "existence and uniqueness of solutions are assured"',
            f"{int((~good).sum())} with no kappa in [0, 1 + e_t]; off the cone by {on:.0e} at most",
            holds=bool(good.all()) and on < ROUND,
        ),
        claim(
            "CR-(12)-normal",
            "5.2",
            f"P_II along the normal, {len(tilt)} impacts",
            '"the check is sufficient even for the problematic cases"',
            f"{int(np.isfinite(normal).all(-1).sum())} have an impulse; tilt of the impulse {tilt.max():.0e} at most",
            holds=bool(np.isfinite(normal).all() and tilt.max() < ROUND and np.abs(own[1][:, :2]).max() < ROUND),
        ),
    ]


def _beyond_one(impacts: Impacts, M: np.ndarray, e: float) -> Finding:
    more = impacts.having(e=e)
    P = collrule(M, more.v, NORMAL, more.mu, more.e, more.e_t)
    outside = int((~permitted(more, P)).sum())
    return claim(
        "CR-footnote6",
        "footnote 6",
        f"impulses of the new law with e = {e:g} outside the permissible region",
        '"assurance of staying in the permissible region is lost"',
        f"{outside} of {len(P)}",
        holds=outside > 0,
    )


def _conserving(impacts: Impacts, one: np.ndarray, two: np.ndarray, progress: Progress) -> list[Finding]:
    """The conditions of footnote 7, and one that it leaves out."""
    size = np.linalg.norm(two, axis=-1)
    pushes = two[:, 2] > ROUND * size
    enough = 2 * size[pushes] / two[pushes, 2]
    listed = (
        impacts.having(e=1, mu=0),
        impacts.take(pushes).having(e=1, e_t=1)._replace(mu=enough),
        impacts.having(e=1)._replace(v=-impacts.W[:, :, 2]),
    )
    off = [float(np.abs(answer(given, "chatterjee_ruina", progress).energy - 1).max()) for given in listed]
    fourth = answer(impacts.having(e=1, e_t=-1), "chatterjee_ruina", progress)
    left_out = float(np.abs(fourth.energy - 1).max())
    smooth = float((np.abs(fourth.impulse - 2 * one).max(-1) / np.linalg.norm(one, axis=-1)).max())
    lost = 1 - answer(impacts.having(e=1), "chatterjee_ruina", progress).energy
    return [
        claim(
            "CR-footnote7",
            "footnote 7",
            "energy after / before under the three conditions, and with e = 1 alone",
            'conserved by (i) e = 1, mu = 0; (ii) e = 1, e_t = 1, n.P_II > 0, "mu sufficiently large"; (iii) e = 1, '
            "P_II normal",
            f"1 to {max(off):.0e}; in {len(lost)} other impacts with e = 1 the least loss is {lost.min():.0e}",
            holds=max(off) < ROUND and bool(lost.min() > 0),
        ),
        claim(
            "CR-footnote7-more",
            "footnote 7",
            "e = 1 and e_t = -1, any friction",
            '"Namely" (i), (ii) or (iii): not among them',
            f"energy conserved to {left_out:.0e}",
            holds=left_out > ROUND,
            why=f"Then P = 2 P_I (to {smooth:.0e}), the impact without friction: a fourth way to conserve energy.",
            verdict="differs",
        ),
    ]


def _whole_region(config: Laws, impacts: Impacts, one: np.ndarray, two: np.ndarray) -> list[Finding]:
    """Three ways to name every permissible impulse."""
    rng = np.random.default_rng(config.population.seed + 1)
    inner = 1.5 * one
    ray = rng.normal(size=one.shape)
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    most = reach(impacts, inner, ray)
    share = rng.uniform(size=len(one)) ** (1 / 3)
    inside = permitted(impacts, inner + (share * most)[:, None] * ray)
    rim = permitted(impacts, inner + most[:, None] * ray)
    beyond = permitted(impacts, inner + ((1 + 1e-6) * most)[:, None] * ray, slack=0.0)
    P = inner + (share * most)[:, None] * ray
    ratio = P[:, :2] / P[:, 2:]
    e = -(impacts.v[:, 2] + np.einsum("nj,nj->n", impacts.W[:, 2], P)) / impacts.v[:, 2]
    again = _brach(impacts, e, ratio)
    gap = float((np.abs(again - P).max(-1) / np.linalg.norm(P, axis=-1)).max())
    drawn_ = _brach(impacts, impacts.e, rng.uniform(-1, 1, ratio.shape) * impacts.mu[:, None])
    refused = ~permitted(impacts, drawn_)
    return [
        claim(
            "CR-4.1-rays",
            "4.1, laws 1 and 2",
            "two angles and a share of the way from 1.5 P_I to the boundary",
            '"no choice of these parameters" is outside; "all points can be defined"',
            f"{(~inside).sum() + (~rim).sum()} of {2 * len(one)} outside; past the boundary {beyond.sum()} inside",
            holds=bool(inside.all() and rim.all() and not beyond.any()),
        ),
        claim(
            "CR-4.1-brach",
            "4.1, law 3",
            "Brach's e and impulse ratios of random permissible impulses",
            '"can capture all permissible impulses (if we allow e > 1)"',
            f"impulse met to {gap:.0e}; e > 1 in {int((e > 1).sum())} of {len(e)}",
            holds=gap < ROUND and bool((e > -ROUND).all()),
        ),
        new(
            "CR-4.1-brach-bounds",
            "4.1, law 3",
            "Brach's parameters drawn with e in [0, 1] and ratios up to friction",
            f"{int(refused.sum())} of {len(e)} not permissible",
            "So his law needs the further bounds, by energy, that the paper mentions.",
        ),
    ]


def reach(impacts: Impacts, inner: np.ndarray, ray: np.ndarray) -> np.ndarray:
    """How far a ray from inside goes to the boundary of the permissible region."""
    W, v, mu = impacts.W, impacts.v, impacts.mu
    after, change = v + times(W, inner), times(W, ray)
    a, b = (ray * change).sum(-1), (ray * after).sum(-1)
    c = 2 * (energy(W, after) - energy(W, v))
    ellipsoid = (-b + np.sqrt(b**2 - a * c)) / a
    with np.errstate(divide="ignore", invalid="ignore"):
        plane = np.where(change[:, 2] < 0, -after[:, 2] / change[:, 2], np.inf)
        p = (ray[:, :2] ** 2).sum(-1) - (mu * ray[:, 2]) ** 2
        q = (ray[:, :2] * inner[:, :2]).sum(-1) - mu**2 * ray[:, 2] * inner[:, 2]
        r = (inner[:, :2] ** 2).sum(-1) - (mu * inner[:, 2]) ** 2
        root = np.sqrt(np.maximum(q**2 - p * r, 0))
        roots = np.stack([(-q + root) / p, (-q - root) / p])
    cone = np.where(roots > 0, roots, np.inf).min(0)
    return np.minimum(np.minimum(ellipsoid, plane), cone)


def _brach(impacts: Impacts, e: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """The impulse with a normal restitution and two ratios of tangential to normal impulse."""
    along = np.concatenate([ratio, np.ones((len(ratio), 1))], -1)
    return along * (-(1 + e) * impacts.v[:, 2] / np.einsum("nj,nj->n", impacts.W[:, 2], along))[:, None]
