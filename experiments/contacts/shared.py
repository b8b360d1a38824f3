"""What the examples share: spheres, where they touch, their energy, and how close round-off comes."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

import jimpact

__all__ = ["ACROSS", "ROUND_OFF", "SMOOTH", "UP", "Pairs", "balls", "between", "kinetic_energy"]

# Without friction all laws agree; this one compiles fastest.
SMOOTH: dict[str, Any] = {"law": "chatterjee_ruina", "tangential_restitution": 0.0}
ROUND_OFF = 1e-9  # of momentum and energy, relative, after some hundred impacts
ACROSS, UP = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])

Pairs = list[tuple[int, int]]


def balls(centres: Array, velocities: Array, mass: float, radius: float) -> jimpact.Body:
    """Solid spheres that do not spin."""
    n = len(centres)
    inertia = jnp.broadcast_to(0.4 * mass * radius**2 * jnp.eye(3), (n, 3, 3))
    return jimpact.Body(jnp.full(n, mass), inertia, centres, velocities, jnp.zeros((n, 3)))


def between(pairs: Pairs, centres: Array) -> tuple[Array, Array]:
    """Where spheres of one size touch, and the normals from the second of each pair into the first."""
    a, b = (centres[jnp.asarray([pair[side] for pair in pairs])] for side in (0, 1))
    return 0.5 * (a + b), (a - b) / jnp.linalg.norm(a - b, axis=-1, keepdims=True)


def kinetic_energy(bodies: jimpact.Body) -> Array:
    """Of all bodies together (J); they are along the last batch axis."""
    turning = jnp.einsum("...i,...ij,...j->...", bodies.angular_velocity, bodies.inertia, bodies.angular_velocity)
    return 0.5 * (bodies.mass * (bodies.velocity**2).sum(-1) + turning).sum(-1)
