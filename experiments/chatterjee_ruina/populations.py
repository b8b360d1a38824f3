"""Random impacts to try statements on, and what a law makes of them.

| kind     | inverse inertia W                                                        | friction                       |
|----------|--------------------------------------------------------------------------|--------------------------------|
| bodies   | two random blocks that touch at a random place                           | in a range                     |
| matrices | a random matrix times its transpose, with no bodies in mind              | in a range                     |
| gripping | as matrices                                                              | above w / |d|: slip can jam    |

Here w is the normal entry of W and d couples the normal to both tangents. Shares of a population that do this or that
depend on these choices; that nothing, or something, of it does that is the statement.
"""

from typing import Any, NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import Progress, solve_many

from .forms import Population

__all__ = ["KINDS", "Answer", "Impacts", "answer", "drawn", "energy", "joined", "planar", "spheres", "times"]

KINDS = ("bodies", "matrices", "gripping")


class Impacts(NamedTuple):
    """A batch of impacts, in jimpact's contact frame (normal last)."""

    W: np.ndarray
    v: np.ndarray
    mu: np.ndarray
    e: np.ndarray
    e_t: np.ndarray

    def having(self, **fields: object) -> "Impacts":
        """With some numbers changed for all impacts."""
        shapes = {name: getattr(self, name).shape for name in fields}
        return self._replace(
            **{name: np.broadcast_to(np.asarray(x, float), shapes[name]) for name, x in fields.items()}
        )

    def take(self, index: Any) -> "Impacts":
        return Impacts(*(a[index] for a in self))


class Answer(NamedTuple):
    """What a law makes of impacts; nan where it has no answer."""

    impulse: np.ndarray
    velocity: np.ndarray
    good: np.ndarray  # the outcome is OK
    energy: np.ndarray  # after / before
    margins: np.ndarray  # (4, n): lost energy, separation, push, distance from the cone; each over its scale
    impact: jimpact.Impact


def drawn(population: Population) -> dict[str, Impacts]:
    """Every kind of `KINDS`."""
    rng = np.random.default_rng(population.seed)
    n = population.count
    bodies = _with_motion(rng, _block(rng, population) + _block(rng, population), population)
    matrices, gripping = (_with_motion(rng, _matrices(rng, population), population) for _ in range(2))
    limit = gripping.W[:, 2, 2] / np.linalg.norm(gripping.W[:, :2, 2], axis=1)
    gripping = gripping._replace(mu=rng.uniform(*population.grip, n) * limit)
    return dict(zip(KINDS, (bodies, matrices, gripping), strict=True))


def joined(impacts: dict[str, Impacts]) -> Impacts:
    """All kinds in one batch."""
    return Impacts(*(np.concatenate(fields) for fields in zip(*impacts.values(), strict=True)))


def spheres(impacts: Impacts) -> Impacts:
    """The same impacts with the inverse inertia of spheres: no coupling, alike in both tangents."""
    W = np.zeros_like(impacts.W)
    W[:, 0, 0] = W[:, 1, 1] = impacts.W[:, 0, 0]
    W[:, 2, 2] = impacts.W[:, 2, 2]
    return impacts._replace(W=W)


def planar(impacts: Impacts) -> Impacts:
    """The same impacts without what would leave the plane of the first tangent and the normal."""
    W, v = impacts.W.copy(), impacts.v.copy()
    W[:, [0, 1, 1, 2], [1, 0, 2, 1]] = 0
    v[:, 1] = 0
    return impacts._replace(W=W, v=v)


def answer(impacts: Impacts, law: str, progress: Progress, **options: object) -> Answer:
    """One law on a batch, with the parameters that it has."""
    own = {"tangential_restitution": impacts.e_t, **options}
    own = {name: x for name, x in own.items() if name in jimpact.LAWS[law].parameters}
    impact = solve_many(impacts.W, impacts.v, impacts.mu, impacts.e, law=law, progress=progress, **own)
    good = np.asarray(impact.outcome) == jimpact.Outcome.OK
    impulse, velocity = (np.where(good[:, None], a, np.nan) for a in (impact.impulse, impact.velocity))
    before = energy(impacts.W, impacts.v)
    margins = np.array(jimpact.permissible(impacts.W, impacts.v, impulse, impacts.mu))
    size = np.linalg.norm(impulse, axis=-1)
    scales = (before, np.linalg.norm(impacts.v, axis=-1), size, (1 + impacts.mu) * size)
    return Answer(impulse, velocity, good, energy(impacts.W, velocity) / before, margins / np.array(scales), impact)


def times(W: np.ndarray, P: np.ndarray) -> np.ndarray:
    """A matrix times a vector, for each impact."""
    return np.einsum("...ij,...j->...i", W, P)


def energy(W: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Contact kinetic energy, equation (5) (J)."""
    return 0.5 * (v * np.linalg.solve(W, v[..., None])[..., 0]).sum(-1)


def _with_motion(rng: np.random.Generator, W: np.ndarray, population: Population) -> Impacts:
    n = len(W)
    v = rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2]) - population.least_approach
    mu = rng.uniform(*population.friction, n)
    return Impacts(0.5 * (W + np.swapaxes(W, -1, -2)), v, mu, rng.uniform(0, 1, n), rng.uniform(-1, 1, n))


def _block(rng: np.random.Generator, population: Population) -> np.ndarray:
    """Velocity change of a random place on a random block per impulse there."""
    n = population.count
    mass = rng.uniform(*population.mass, n)
    half = rng.uniform(*population.half_side, (n, 3))
    moments = mass[:, None] / 3 * ((half**2).sum(1, keepdims=True) - half**2)
    axes, _ = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    turning = np.einsum("nij,nj,nkj->nik", axes, 1 / moments, axes)
    arm = rng.uniform(*population.arm, (n, 3)) * rng.choice([-1, 1], (n, 3))
    lever = np.cross(np.eye(3), arm[:, None])  # rows: e_i x arm
    return np.eye(3) / mass[:, None, None] + np.einsum("nij,njk,nlk->nil", lever, turning, lever)


def _matrices(rng: np.random.Generator, population: Population) -> np.ndarray:
    root = rng.normal(size=(population.count, 3, 3))
    return root @ np.swapaxes(root, -1, -2) + population.least_mobility * np.eye(3)
