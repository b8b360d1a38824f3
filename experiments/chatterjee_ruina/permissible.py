"""The new law stays in the permissible region, and laws that reach all of it: sections 4.1, 5.1 and 5.2, listing A.2;
and its mixtures with Routh's law: section 5.3.

Source: Chatterjee & Ruina 1998. Symbols as in `baselines`; 1.5 P_I is a point inside the region: it loses energy,
separates and has no friction.
"""

import numpy as np

from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, only

from .baselines import Impacts, candidate, energy, gap, length, slips, times
from .forms import Laws
from .populations import ROUND, SLACK, answer, joined, permitted
from .populations import one as single

EACH = 9  # of e, e_t and sigma
FLAT = 0.01  # of the largest singular value: more is not flat
HALF = 0.5  # sigma of the impact that rebounds both ways


def run(config: Laws, progress: LabelledProgress) -> Result:
    impacts = joined(config.population)
    one, two = impacts.plastic()
    law, n = answer(impacts, "chatterjee_ruina", progress), len(impacts.mu)
    outside, off = (~permitted(impacts, law.impulse)).sum(), gap(law.impulse, impacts.new_law())
    more = impacts.having(e=config.beyond_one)
    lost = (~permitted(more, more.new_law())).sum()
    least, each = ", ".join(f"{x:.0e}" for x in law.margins.min(1)), config.population.count
    found = {
        "CR-permissible": claimed(not outside, outside=outside, count=n, each=each, least=least),
        "CR-listing": claimed(off < ROUND, off=off, count=n),
        "CR-footnote6": claimed(lost > 0, e=config.beyond_one, outside=lost, count=n),
    }

    # The conditions of footnote 7, and one that it leaves out.
    size, elastic = length(two), impacts.having(e=1)
    pushes = two[:, 2] > ROUND * size
    enough = 2 * size[pushes] / two[pushes, 2]
    straight = elastic._replace(v=-impacts.W[:, :, 2])  # P_II is along the normal
    listed = elastic.having(mu=0), elastic.take(pushes).having(e_t=1)._replace(mu=enough), straight
    off = max(np.abs(answer(given, "chatterjee_ruina", progress).energy - 1).max() for given in listed)
    loss = (1 - answer(elastic, "chatterjee_ruina", progress).energy).min()
    fourth = answer(elastic.having(e_t=-1), "chatterjee_ruina", progress)
    kept = np.abs(fourth.energy - 1).max()
    found |= {
        "CR-footnote7": claimed(off < ROUND and loss > 0, off=off, count=n, lost=loss),
        "CR-footnote7-more": claimed(kept > ROUND, kept=kept, smooth=2 * gap(fourth.impulse, 2 * one)),
        **_candidates(impacts, one, two, law.impulse),
    }
    return Result(found | _whole_region(impacts, one, np.random.default_rng(config.population.seed + 1)))


def _candidates(impacts: Impacts, one: np.ndarray, two: np.ndarray, impulse: np.ndarray) -> dict[str, Computed]:
    """Candidates need no friction to lose energy and to separate; (13) has an answer whenever (12) asks for it."""
    n, hat = len(one), candidate(one, two, impacts.e, impacts.e_t)
    corners = one, 2 * one, 2 * two, 2 * two - one, hat
    gain = max(impacts.gain(P).max() - 1 for P in corners)
    worst = max(gain, *((-impacts.after(P)[:, 2] / length(impacts.v)).max() for P in corners))

    slip = slips(hat, impacts.mu)
    closing = length(two[:, :2]) - impacts.mu * (two - one)[:, 2]
    kappa = impacts.mu * (1 + impacts.e) * one[:, 2] / closing
    good = ((closing > 0) & (kappa >= 0) & (kappa <= (1 + impacts.e_t) * (1 + ROUND)))[slip]
    on = np.abs(length(impulse[slip, :2]) / (impacts.mu[slip] * impulse[slip, 2]) - 1).max()
    words = {"count": slip.sum(), "pulls": (slip & (hat[:, 2] < 0)).sum(), "bad": (~good).sum(), "on": on}

    straight = impacts._replace(v=-impacts.W[:, :, 2]).having(e_t=1)  # P_II is along the normal
    P, along = straight.new_law(), straight.plastic()[1]
    there, tilt = np.isfinite(P).all(-1), (np.abs(P[:, :2]).max(-1) / P[:, 2]).max()
    upright = there.all() and tilt < ROUND and np.abs(along[:, :2]).max() < ROUND
    return {
        "CR-candidate": claimed(worst < ROUND, worst=worst, count=n),
        "CR-(12)(13)": claimed(good.all() and on < ROUND, **words),
        "CR-(12)-normal": claimed(upright, count=n, there=there.sum(), tilt=tilt),
    }


def _whole_region(impacts: Impacts, one: np.ndarray, rng: np.random.Generator) -> dict[str, Computed]:
    """Three ways to name every permissible impulse."""
    inner, ray = 1.5 * one, rng.normal(size=one.shape)
    ray /= length(ray)[:, None]
    most = reach(impacts, inner, ray)
    shares = rng.uniform(size=len(one)) ** (1 / 3), 1, 1 + 1e-6
    P, rim, beyond = (inner + (share * most)[:, None] * ray for share in shares)
    out = (~permitted(impacts, P)).sum() + (~permitted(impacts, rim)).sum()
    past = permitted(impacts, beyond, slack=0.0).sum()
    ratio = P[:, :2] / P[:, 2:]
    e = impacts.restitution(P)
    off = gap(_brach(impacts, e, ratio), P)
    drawn = _brach(impacts, impacts.e, rng.uniform(-1, 1, ratio.shape) * impacts.mu[:, None])
    refused = (~permitted(impacts, drawn)).sum()
    return {
        "CR-4.1-rays": claimed(not out and not past, out=out, count=2 * len(one), past=past),
        "CR-4.1-brach": claimed(off < ROUND and (e > -ROUND).all(), off=off, above=(e > 1).sum(), count=len(e)),
        "CR-4.1-brach-bounds": only(refused=refused, count=len(e)),
    }


@np.errstate(divide="ignore", invalid="ignore")
def reach(impacts: Impacts, inner: np.ndarray, ray: np.ndarray) -> np.ndarray:
    """How far a ray from inside goes to the boundary of the permissible region."""
    W, v, mu = impacts.W, impacts.v, impacts.mu
    after, change = impacts.after(inner), times(W, ray)
    a, b = (ray * change).sum(-1), (ray * after).sum(-1)
    c = 2 * (energy(W, after) - energy(W, v))
    ellipsoid = (-b + np.sqrt(b**2 - a * c)) / a
    plane = np.where(change[:, 2] < 0, -after[:, 2] / change[:, 2], np.inf)
    pairs = (ray, ray), (ray, inner), (inner, inner)
    p, q, r = ((a[:, :2] * b[:, :2]).sum(-1) - mu**2 * a[:, 2] * b[:, 2] for a, b in pairs)
    root = np.sqrt(np.maximum(q**2 - p * r, 0))
    roots = np.stack([(-q + root) / p, (-q - root) / p])
    cone = np.where(roots > 0, roots, np.inf).min(0)
    return np.minimum(np.minimum(ellipsoid, plane), cone)


def _brach(impacts: Impacts, e: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """The impulse with a normal restitution and two ratios of tangential to normal impulse."""
    along = np.concatenate([ratio, np.ones((len(ratio), 1))], -1)
    return along * (-(1 + e) * impacts.v[:, 2] / times(impacts.W, along)[:, 2])[:, None]


def composite(config: Laws, progress: LabelledProgress) -> Result:
    """Mixtures of the new law with Routh's; sigma (jimpact's `mixing`) is the weight of the new law."""
    impacts = joined(config.population).every(config.population.every)
    routh, new_law = (answer(impacts, law, progress).impulse for law in ("poisson", "chatterjee_ruina"))
    size, weights = np.maximum(length(routh), length(new_law)), np.array(config.mixing)
    index = np.tile(np.arange(len(size)), len(weights))
    every, sigma = impacts.take(index), np.repeat(weights, len(size))
    reached = answer(every, "composite", progress, mixing=sigma).impulse
    outside = (~permitted(every, reached, slack=SLACK)).sum()
    mixed = sigma[:, None] * new_law[index] + (1 - sigma)[:, None] * routh[index]
    off = (np.abs(reached - mixed).max(-1) / size[index]).max()
    words = {"weights": len(weights), "count": len(size), "outside": outside, "mixtures": len(sigma)}

    grazing = single(config.rebound)
    v = grazing.v[0]
    after = answer(grazing, "composite", progress, mixing=HALF).velocity[0] / length(v)
    up, back = after[2], after[:2] @ v[:2] / length(v[:2])

    ends = ((0, 1), (-1, 1), (0, 1))  # e, e_t and sigma
    e, e_t, sigma = (a.ravel() for a in np.meshgrid(*(np.linspace(*pair, EACH) for pair in ends), indexing="ij"))
    spread = single(config.spread).take(np.zeros(len(e), int))._replace(e=e, e_t=e_t)
    P = answer(spread, "composite", progress, mixing=sigma).impulse
    values = np.linalg.svd(P - P.mean(0), compute_uv=False)
    found = {
        "CR-composite": claimed(not outside, **words),
        "CR-composite-ends": claimed(off < SLACK, off=off),
        "CR-composite-grazing": claimed(up > 0.01 and back < -0.01, sigma=HALF, up=up, back=back),
        "CR-composite-volume": claimed(values[2] > FLAT * values[0], share=values / values[0]),
    }
    return Result(found)
