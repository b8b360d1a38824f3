"""Points and surfaces of impulse space, the mass matrix, and the permissible region: sections 2, 3.1, 3.2 and A.1.

Source: Chatterjee & Ruina 1998, equations (1)-(6). Symbols as in `baselines`; W is the inverse of M. Bodies that are
made for an M have the contact at the origin, and world axes parallel to those of W.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.reproduce import UP, Computed, LabelledProgress, Result, claimed, touching

from .baselines import energy, gap, length, times
from .forms import Laws
from .populations import ROUND, SLACK, Impacts, answer, joined, permitted

SCALED = ("poisson", "stronge", "whittaker", "smith", "anitescu_potra", "chatterjee_ruina")
SPREAD = 0.15  # of the larger of P_I and P_II, about 1.5 P_I: a share of such impulses is permissible
REALISED = 2000  # bodies are made for so many M
MASSES = 0.5  # share of the least mobility, given to the masses of these bodies
FRAME = np.array([3.0, -2.0, 5.0])  # m/s, of a moving observer


def run(config: Laws, progress: LabelledProgress) -> Result:
    impacts = joined(config.population)
    rng = np.random.default_rng(config.population.seed + 1)
    one, two = impacts.plastic()
    found = {**_points(impacts, one, two, rng), **_surfaces(impacts, rng)}

    # Three times the velocity, three times the impulse (a factor of 2 would be exact in binary anyway).
    few, off = impacts.every(2 * config.population.every), {}
    for law in SCALED:
        once, thrice = (answer(given, law, progress).impulse for given in (few, few._replace(v=3 * few.v)))
        off[law] = float(np.nanmax(np.abs(thrice - 3 * once).max(-1) / length(thrice)))
    law = max(off, key=lambda name: off[name])
    found["CR-homogeneous"] = claimed(off[law] < SLACK, laws=len(off), count=len(few.mu), off=off[law], law=law)

    # Mixtures of permissible impulses.
    size = np.maximum(length(one), length(two))[:, None]
    tried = [1.5 * one + size * rng.normal(size=one.shape) * SPREAD for _ in range(2)]
    inside = np.all([permitted(impacts, P) for P in tried], axis=0)
    share = rng.uniform(size=(len(one), 1))
    mixed = permitted(impacts, share * tried[0] + (1 - share) * tried[1])[inside]
    found["CR-convex"] = claimed(mixed.all(), out=(~mixed).sum(), count=len(mixed))
    return Result(found | _made(impacts.every(max(1, len(impacts.mu) // REALISED)), rng))


def _points(impacts: Impacts, one: np.ndarray, two: np.ndarray, rng: np.random.Generator) -> dict[str, Computed]:
    """What P_I, P_II and random impulses do."""
    W, v = impacts.W, impacts.v
    n, after = len(v), [impacts.after(P) for P in (one, two, 2 * two)]
    normal, rest = (np.abs(after[0][:, 2]) / length(v)).max(), (np.abs(after[1]).max(-1) / length(v)).max()
    back, kept = gap(after[2], -v), np.abs(impacts.gain(2 * one) - 1).max()

    # The gradient of E_c, by central differences (exact for a quadratic but for round-off), against the velocity.
    size = length(two)[:, None]
    P = size * rng.normal(size=two.shape)
    steps = [1e-3 * size * axis for axis in np.eye(3)]
    slope = np.stack([impacts.gain(P + h) - impacts.gain(P - h) for h in steps], -1)
    V = impacts.after(P)
    sine = (length(np.cross(slope, V)) / length(slope) / length(V)).max()

    # Two random impulses with one e: their difference leads from P_I to another impulse without normal velocity.
    P, Q = (length(one)[:, None] * rng.normal(size=one.shape) for _ in range(2))
    Q[:, 2] += (W[:, 2] * (P - Q)).sum(-1) / W[:, 2, 2]  # now both end with one normal velocity
    off = (np.abs(impacts.after(one + P - Q)[:, 2]) / length(W[:, 2]) / length(P - Q)).max()
    return {
        "CR-(3)(4)": claimed(normal < ROUND and rest < ROUND, count=n, normal=normal, rest=rest),
        "CR-2P": claimed(back < ROUND and kept < ROUND, back=back, kept=kept),
        "CR-normal": claimed(sine < SLACK, count=n, angle=np.degrees(sine)),
        "CR-planes": claimed(off < ROUND, count=n, angle=np.degrees(off)),
    }


def _surfaces(impacts: Impacts, rng: np.random.Generator) -> dict[str, Computed]:
    """The highest impulse on a surface of constant energy, and the axes of one."""
    M = np.linalg.inv(impacts.W)
    twice = 2 * energy(impacts.W, impacts.v)[:, None]
    up = M[:, :, 2] * np.sqrt(twice / M[:, 2, 2:])  # P - P_II, by Lagrange
    root = np.swapaxes(np.linalg.cholesky(impacts.W), -1, -2)
    others = np.linalg.solve(root, rng.normal(size=(*up.shape, 1)))[..., 0]
    others *= np.sqrt(twice / (others * times(impacts.W, others)).sum(-1, keepdims=True))
    slip = (np.abs(times(impacts.W, up)[:, :2]).max(-1) / length(impacts.v)).max()
    above = (others[:, 2] > up[:, 2] * (1 + ROUND)).sum()

    # Semi-axes of (P - P_II) W (P - P_II) = 2 E, along the eigenvectors of M, measured on the surface.
    values, axes = np.linalg.eigh(M)
    semi = np.sqrt(twice / np.einsum("nik,nij,njk->nk", axes, impacts.W, axes))
    ratio, root = semi[:, 2] / semi[:, 0], np.sqrt(values[:, 2] / values[:, 0])
    inverse, off = ratio * root, np.abs(ratio / root - 1).max()
    return {
        "CR-sticking": claimed(slip < ROUND and not above, slip=slip, above=above, count=len(up)),
        "CR-diameters": claimed(np.abs(inverse - 1).max() < ROUND, off=off, factor=np.median(inverse)),
    }


def _made(few: Impacts, rng: np.random.Generator) -> dict[str, Computed]:
    """Two moving bodies for each of some M: their M^-1, its columns from accelerations, and their energy."""
    n, (pair, real) = len(few.W), _two_bodies(few.W)
    push, spin = rng.normal(size=(2, 2, n, 3))
    pair = pair._replace(velocity=push, angular_velocity=spin)
    a, b = (jax.tree.map(lambda field, k=k: field[k], pair) for k in (0, 1))
    turn = np.asarray(jimpact.contact_frame(jnp.asarray(UP)))
    W = turn.T @ touching(a, b) @ turn
    scale = np.abs(W).max((-1, -2))
    met = (np.abs(W - few.W).max((-1, -2)) / scale).max()
    free, *pushed = (_acceleration(pair, force) for force in (0 * UP, *np.eye(3)))
    off = (np.abs(np.stack(pushed, -1) - free[..., None] - W).max((-1, -2)) / scale).max()

    collide = jax.jit(partial(jimpact.collide, law="chatterjee_ruina"))
    hit = collide(a, b, jnp.zeros(3), jnp.asarray(UP), few.mu, few.e, tangential_restitution=few.e_t)
    after = jax.tree.map(lambda *bodies: np.stack(bodies), hit.body_a, hit.body_b)
    before = energy(W, _velocity(pair))
    change = np.abs(energy(W, _velocity(after)) - before - _kinetic(after) + _kinetic(pair)) / before
    seen = np.abs(energy(W, _velocity(pair._replace(velocity=pair.velocity + FRAME))) / before - 1)
    holds, words = max(change.max(), seen.max()) < ROUND, {"change": change.max(), "frame": seen.max()}
    return {
        "CR-realizable": claimed(real.all() and met < ROUND, real=real.sum(), count=n, met=met),
        "CR-(5)": claimed(holds, count=n, **words),
        "CR-A1": claimed(off < ROUND, off=off),
    }


def _two_bodies(W: np.ndarray) -> tuple[jimpact.Body, np.ndarray]:
    """Pairs of bodies (2, n) for each W, and whether they are possible; each arm is a principal axis of W.

    A share of the least mobility is from the masses, the rest from turning.
    """
    values, axes = np.linalg.eigh(W)
    least = MASSES * values[:, :1]
    moments = np.empty((2, *values.shape))
    for own, share, hidden, others in zip(moments, ([1, 0.5], [0.5, 1]), (2, 0), ([0, 1], [1, 2]), strict=True):
        # An impulse along one axis turns the body about the other.
        own[:, others] = 1 / ((values - least)[:, others] * share)[:, ::-1]
        own[:, hidden] = own[:, others].max(1)  # between difference and sum of the others
    real = (2 * moments.max(-1) <= moments.sum(-1) * (1 + ROUND)).all(0)
    inertia, arms = np.einsum("nij,bnj,nkj->bnik", axes, moments, axes), np.stack([axes[:, :, 2], axes[:, :, 0]])
    fields: tuple[Any, ...] = (np.tile(2 / least[:, 0], (2, 1)), inertia, arms, 0 * arms, 0 * arms)
    return jimpact.Body(*fields), real


def _velocity(pair: jimpact.Body) -> np.ndarray:
    """Of the first body's contact point, at the origin, relative to the second's."""
    a, b = pair.velocity - np.cross(pair.angular_velocity, pair.position)
    return a - b


def _kinetic(pair: jimpact.Body) -> np.ndarray:
    spin = pair.angular_velocity
    return 0.5 * (pair.mass * (pair.velocity**2).sum(-1) + (spin * times(pair.inertia, spin)).sum(-1)).sum(0)


def _acceleration(pair: jimpact.Body, force: np.ndarray) -> np.ndarray:
    """Of the contact points, relative, with a force between them; centripetal and gyroscopic terms included."""
    arm, spin, forces = -pair.position, pair.angular_velocity, np.stack([force, -force])[:, None]
    moment = np.cross(arm, forces) - np.cross(spin, times(pair.inertia, spin))
    turning = np.linalg.solve(pair.inertia, moment[..., None])[..., 0]
    a, b = forces / pair.mass[..., None] + np.cross(turning, arm) + np.cross(spin, np.cross(spin, arm))
    return a - b
