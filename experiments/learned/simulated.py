"""Rebounds from a known material: a block lands on a corner, faster and more obliquely from one impact to the next.

Restitution falls with the speed of approach, as of a contact that yields; friction rises with the angle between the
velocity and the normal. Both are made up, smooth, and not of the form that the network has.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

import jimpact
from jimpact import Rebounds

from .network import SPEED
from .settings import Simulated

__all__ = ["APPROACH", "MATERIAL", "STEEPEST", "friction_and_restitution", "rebounds", "truth"]

SIDES, MASS = np.array([0.1, 0.07, 0.05]), 0.2  # m, kg
APPROACH = (0.3, 5.0)  # m/s
STEEPEST = 75.0  # degrees from the normal
MATERIAL = "restitution 0.3 + 0.55 exp(-approach / 1.5 m/s), friction 0.1 + 0.3 / (1 + exp((45 - angle) / 8 degrees))"


def friction_and_restitution(approach: ArrayLike, degrees: ArrayLike) -> tuple[jax.Array, jax.Array]:
    """Of `MATERIAL`."""
    return 0.1 + 0.3 * jax.nn.sigmoid((jnp.asarray(degrees) - 45) / 8), 0.3 + 0.55 * jnp.exp(
        -jnp.asarray(approach) / 1.5
    )


@jax.tree_util.Partial
def truth(features: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The material as a network has it: from features."""
    degrees = jnp.rad2deg(0.5 * jnp.arccos(-features[..., 1]))
    return friction_and_restitution(SPEED * jnp.exp(features[..., 0]), degrees)


def rebounds(settings: Simulated) -> Rebounds:
    """Contact velocities after each impact, with noise."""
    rng, n = np.random.default_rng(settings.seed), settings.impacts
    W = _inverse_inertia(rng, n)
    approach = np.exp(rng.uniform(np.log(APPROACH[0]), np.log(APPROACH[1]), n))
    angle, around = np.deg2rad(rng.uniform(0, STEEPEST, n)), rng.uniform(0, 2 * np.pi, n)
    slip = approach * np.tan(angle)
    velocity = jnp.asarray(np.stack([slip * np.cos(around), slip * np.sin(around), -approach], -1))
    after = _solved(W, velocity, *friction_and_restitution(approach, np.rad2deg(angle)))
    noise = settings.noise * rng.normal(size=velocity.shape)
    return Rebounds.from_contact(W, velocity, after + noise, settings.noise)


@jax.jit
def _solved(W: jax.Array, velocity: jax.Array, friction: jax.Array, restitution: jax.Array) -> jax.Array:
    """The velocity after, alone: all of `Impact` takes twice as long to compile."""
    return jimpact.solve(W, velocity, friction, restitution).velocity


def _inverse_inertia(rng: np.random.Generator, count: int) -> jax.Array:
    """Seen at the corner of a block with a random orientation, on the ground."""
    R = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    moments = MASS / 12 * (np.sum(SIDES**2) - SIDES**2)
    arm = np.einsum("nij,nj->ni", R, 0.5 * SIDES * rng.choice([-1, 1], (count, 3)))
    arm[:, 2] = -np.abs(arm[:, 2])
    inertia = np.einsum("nij,j,nkj->nik", R, moments, R)
    body = jimpact.Body(MASS * jnp.ones(count), *map(jnp.asarray, (inertia, 0 * arm, 0 * arm, 0 * arm)))
    return jimpact.inverse_inertia(body, jimpact.immovable(), jnp.asarray(arm), jnp.array([0.0, 0.0, 1.0]))
