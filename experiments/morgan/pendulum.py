"""The double pendulum of Morgan, section 2.1: two equal slender bars on a support, above a floor.

M and J are the matrices below (2.1), with the factors m r^2 and r; potential and tip are geometry.

| symbol | meaning | shape | unit |
|---|---|---|---|
| m, r, g | mass and length of each bar; gravity | () | kg, m, m/s^2 |
| q | angle of the first bar to the horizontal; of the second to the first | (2,) | rad |
| u | generalised speeds dq/dt | (2,) | rad/s |
| y | state (q, u) | (4,) | |
| M, J | mass matrix; Jacobian of the tip, rows along the floor and up from it | (2,2) | kg m^2, m |
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

State = Array | np.ndarray


class Pendulum(NamedTuple):
    """Two equal slender bars; the support is at height 0, the floor (if there is one) below it."""

    mass: float  # kg, of each bar
    length: float  # m, of each bar
    gravity: float = 0.0  # m/s^2
    floor: float = -jnp.inf  # m


def mass_matrix(pendulum: Pendulum, q: State) -> Array:
    near, far = jnp.cos(q[1]) + 5 / 3, jnp.cos(q[1]) / 2 + 1 / 3
    return pendulum.mass * pendulum.length**2 * jnp.array([[near, far], [far, 1 / 3]])


def jacobian(pendulum: Pendulum, q: State) -> Array:
    both = q[0] + q[1]
    along = jnp.array([-jnp.sin(q[0]) - jnp.sin(both), -jnp.sin(both)])
    up = jnp.array([jnp.cos(q[0]) + jnp.cos(both), jnp.cos(both)])
    return pendulum.length * jnp.stack([along, up])


@jax.jit
@partial(jax.vmap, in_axes=(None, 0))
def _matrices(pendulum: Pendulum, q: Array) -> tuple[Array, Array]:
    return mass_matrix(pendulum, q), jacobian(pendulum, q)


def matrices(pendulum: Pendulum, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M and J of many postures (n, 2), as NumPy arrays (n, 2, 2)."""
    return jax.tree.map(np.asarray, _matrices(pendulum, q))


def tip(pendulum: Pendulum, q: State) -> Array:
    """Where the tip is: along the floor, and above it."""
    across, up = jnp.cos(q[0]) + jnp.cos(q[0] + q[1]), jnp.sin(q[0]) + jnp.sin(q[0] + q[1])
    return pendulum.length * jnp.array([across, up]) - jnp.array([0.0, pendulum.floor])


def lagrangian(pendulum: Pendulum, q: State, u: State) -> Array:
    """Kinetic less potential energy."""
    height = 1.5 * jnp.sin(q[0]) + 0.5 * jnp.sin(q[0] + q[1])
    return 0.5 * u @ mass_matrix(pendulum, q) @ u - pendulum.mass * pendulum.gravity * pendulum.length * height


def energy(pendulum: Pendulum, y: State) -> Array:
    """Kinetic and potential energy."""
    q, u = jnp.split(jnp.asarray(y), 2)
    return u @ mass_matrix(pendulum, q) @ u - lagrangian(pendulum, q, u)
