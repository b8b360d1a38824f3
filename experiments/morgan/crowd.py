"""Many impacts of a double pendulum: drawn at random, solved by the text's algorithm, and by jimpact."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jimpact

from .algorithm import CORRECTED, Reading, Solved, solve_by_text
from .forms import CrowdDraw
from .pendulum import Pendulum, State, matrices

__all__ = ["Crowd", "at_posture", "by_text", "collide_many", "draw", "in_space", "largest_gap"]

CHUNK = 1024  # impacts: every call has this size, so that one program is compiled


@partial(jax.jit, static_argnames="law")
def _collide(*given: jax.Array, law: str) -> jimpact.MechanismCollision:
    *fields, static = given
    return jimpact.collide_mechanism(*fields, static_friction=static, law=law)


class Crowd(NamedTuple):
    """Impacts in arrays over a leading axis."""

    M: np.ndarray  # (n, 2, 2)
    J: np.ndarray  # (n, 2, 2)
    u: np.ndarray  # (n, 2) rad/s
    friction: np.ndarray  # (n,)
    restitution: np.ndarray
    static: np.ndarray

    @property
    def K(self) -> np.ndarray:
        """Inverse inertia at the tip, J M^-1 J^T."""
        return np.asarray(jimpact.inverse_inertia_generalized(jnp.asarray(self.M), jnp.asarray(self.J)))

    @property
    def cancellation(self) -> np.ndarray:
        """How much of the speeds cancels in the normal velocity, |J_n| |u| / |J_n u|: large where the tip grazes."""
        size = np.linalg.norm(self.J[:, 1], axis=-1) * np.linalg.norm(self.u, axis=-1)
        return size / np.abs(self.v[:, 1])

    @property
    def v(self) -> np.ndarray:
        """Velocity of the tip, along the floor and up."""
        return np.einsum("nij,nj->ni", self.J, self.u)


def draw(pendulum: Pendulum, sample: CrowdDraw) -> Crowd:
    """Random impacts; speeds that would lift the tip are reversed. Static friction is kinetic friction x a ratio."""
    rng, n = np.random.default_rng(sample.seed), sample.count
    bend = rng.uniform(*sample.bend_deg, n) * rng.choice([-1, 1], n)
    q = np.deg2rad(np.stack([rng.uniform(*sample.angle_deg, n), bend], -1))
    M, J = matrices(pendulum, q)
    u = rng.normal(scale=sample.speed, size=(n, 2))
    u *= -np.sign(np.einsum("nj,nj->n", J[:, 1], u))[:, None]
    friction = rng.uniform(*sample.friction, n)
    ratio, e = rng.uniform(*sample.static_over_kinetic, n), rng.uniform(*sample.restitution, n)
    return Crowd(M, J, u, friction, e, ratio * friction)


def at_posture(
    pendulum: Pendulum, angles_deg: tuple[float, float], tip: np.ndarray, friction: np.ndarray, e: np.ndarray
) -> Crowd:
    """Impacts at one posture with given velocities (n, 2) of the tip."""
    M, J = matrices(pendulum, np.deg2rad(angles_deg))
    n = len(tip)
    u = np.linalg.solve(J, np.asarray(tip, float).T).T
    mu = np.broadcast_to(np.asarray(friction, float), n)
    return Crowd(np.tile(M, (n, 1, 1)), np.tile(J, (n, 1, 1)), u, mu, np.broadcast_to(np.asarray(e, float), n), mu)


def by_text(crowd: Crowd, reading: Reading = CORRECTED, *, static: bool = False) -> list[Solved]:
    """Every impact by the algorithm of fig 2.8; with `static`, sticking is decided by static friction."""
    holds = crowd.static if static else crowd.friction
    rows = zip(crowd.M, crowd.J, crowd.u, crowd.friction, crowd.restitution, holds, strict=True)
    return [solve_by_text(M, J, u, mu, e, static=s, reading=reading) for M, J, u, mu, e, s in rows]


def collide_many(crowd: Crowd, *, static: bool = False, law: str = "stronge") -> jimpact.MechanismCollision:
    """Every impact by `collide_mechanism`, which is closed form in the plane; as NumPy arrays."""
    holds = crowd.static if static else crowd.friction
    n = len(crowd.u)
    pieces = []
    for start in range(0, n, CHUNK):
        rows = np.minimum(np.arange(start, start + CHUNK), n - 1)
        fields = (*crowd[:5], holds)
        pieces.append(jax.tree.map(np.asarray, _collide(*(jnp.asarray(a[rows]) for a in fields), law=law)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:n], *pieces)


def in_space(crowd: Crowd) -> tuple[np.ndarray, np.ndarray]:
    """Inverse inertia and velocity with a second tangential direction that nothing couples to."""
    K, v = crowd.K, crowd.v
    W = np.zeros((len(v), 3, 3))
    W[:, ::2, ::2] = K
    W[:, 1, 1] = K[:, 0, 0]
    return W, np.stack([v[:, 0], np.zeros(len(v)), v[:, 1]], -1)


def largest_gap(found: State, expected: np.ndarray) -> np.ndarray:
    """Largest component of the difference, over the length of the expected vector: one number for each impact."""
    return np.abs(np.asarray(found) - expected).max(-1) / np.linalg.norm(expected, axis=-1)
