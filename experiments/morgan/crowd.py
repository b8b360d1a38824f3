"""Many impacts: drawn at random, given by velocities of the tip, solved by the text's algorithm, and by jimpact."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jimpact

from .algorithm import CORRECTED, Reading, Solved, solve_by_text
from .forms import Draw
from .pendulum import Pendulum, matrices

ANGLE = (-180.0, 0.0)  # deg, of the first bar to the horizontal
BEND = (20.0, 160.0)  # deg, of the second bar to the first, either way: not straight, not folded
SPEED = 3.0  # rad/s, standard deviation of each generalised speed
STATIC_OVER_KINETIC = (1.0, 2.0)
CHUNK = 1024  # impacts: every call has this size, so that one program is compiled


class Crowd(NamedTuple):
    """Impacts in arrays over a leading axis; k is 2 in the plane and 3 in space."""

    M: np.ndarray  # (n, k, k)
    J: np.ndarray  # (n, k, k), the last row normal
    u: np.ndarray  # (n, k) rad/s
    friction: np.ndarray  # (n,)
    restitution: np.ndarray
    static: np.ndarray

    @property
    def L(self) -> np.ndarray:
        """M^-1 J^T."""
        return np.linalg.solve(self.M, self.J.mT)

    @property
    def K(self) -> np.ndarray:
        """Inverse inertia at the tip, J M^-1 J^T."""
        return np.asarray(jimpact.inverse_inertia_generalized(jnp.asarray(self.M), jnp.asarray(self.J)))

    @property
    def v(self) -> np.ndarray:
        """Velocity of the tip, along the floor and up."""
        return np.einsum("nij,nj->ni", self.J, self.u)

    @property
    def jams(self) -> np.ndarray:
        """Where the normal impulse presses the tip into the floor at first: (3.3) is negative."""
        return self.K[:, 1, 1] - self.friction * np.sign(self.v[:, 0]) * self.K[:, 0, 1] < 0

    def energy(self, u: np.ndarray) -> np.ndarray:
        """Kinetic energy at speeds (n, k) or (n, samples, k)."""
        return 0.5 * np.einsum("n...i,nij,n...j->n...", u, self.M, u)


def draw(pendulum: Pendulum, sample: Draw) -> Crowd:
    """Random impacts; speeds that would lift the tip are reversed. Static friction is kinetic friction x a ratio."""
    rng, n = np.random.default_rng(sample.seed), sample.count
    bend = rng.uniform(*BEND, n) * rng.choice([-1, 1], n)
    M, J = matrices(pendulum, np.deg2rad(np.stack([rng.uniform(*ANGLE, n), bend], -1)))
    u = rng.normal(scale=SPEED, size=(n, 2))
    u *= -np.sign(np.einsum("nj,nj->n", J[:, 1], u))[:, None]
    friction = rng.uniform(*sample.friction, n)
    ratio, e = rng.uniform(*STATIC_OVER_KINETIC, n), rng.uniform(*sample.restitution, n)
    return Crowd(M, J, u, friction, e, ratio * friction)


def with_speeds(M: np.ndarray, J: np.ndarray, u: np.ndarray, friction: Any, restitution: Any) -> Crowd:
    """Impacts with given speeds (n, k); the rest is for each impact or for all."""
    M, J = (np.broadcast_to(a, (len(u), *a.shape[-2:])) for a in (M, J))
    mu, e = (np.broadcast_to(np.asarray(a, float), len(u)) for a in (friction, restitution))
    return Crowd(M, J, u, mu, e, mu)


def with_tips(M: np.ndarray, J: np.ndarray, tip: Any, friction: Any, restitution: Any) -> Crowd:
    """The same with given velocities (n, k) of the tip."""
    return with_speeds(M, J, np.linalg.solve(J, np.asarray(tip)[..., None])[..., 0], friction, restitution)


def by_text(crowd: Crowd, reading: Reading = CORRECTED, *, static: bool = False) -> list[Solved]:
    """Every impact by the algorithm of fig 2.8; with `static`, sticking is decided by static friction."""
    rows = zip(*crowd[:5], crowd.static if static else crowd.friction, strict=True)
    return [solve_by_text(*row, static=holds, reading=reading) for *row, holds in rows]


@partial(jax.jit, static_argnames="law")
def _collide(*given: jax.Array, law: str) -> jimpact.MechanismCollision:
    return jimpact.collide_mechanism(*given[:5], static_friction=given[5], law=law)


def collide_many(crowd: Crowd, *, static: bool = False, law: str = "stronge") -> jimpact.MechanismCollision:
    """Every impact by `collide_mechanism`, which is closed form in the plane; as NumPy arrays."""
    given, n = (*crowd[:5], crowd.static if static else crowd.friction), len(crowd.u)
    chunks = [np.minimum(np.arange(start, start + CHUNK), n - 1) for start in range(0, n, CHUNK)]
    pieces = [_collide(*(a[rows] for a in given), law=law) for rows in chunks]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:n], *pieces)


def in_space(crowd: Crowd) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What `solve` needs for planar impacts: a second tangential direction that nothing couples to."""
    K, v = crowd.K, crowd.v
    W = np.zeros((len(v), 3, 3))
    W[:, ::2, ::2] = K
    W[:, 1, 1] = K[:, 0, 0]
    return W, np.stack([v[:, 0], np.zeros(len(v)), v[:, 1]], -1), crowd.friction, crowd.restitution


def largest_gap(found: Any, expected: Any) -> np.ndarray:
    """Largest component of the difference, over the length of the expected vector: one number for each impact."""
    expected = np.asarray(expected)
    return np.abs(np.asarray(found) - expected).max(-1) / np.linalg.norm(expected, axis=-1)
