"""Free flight of a rigid body under gravity: exact, a parabola and the rotation of a free body."""

from typing import NamedTuple

import jax.numpy as jnp

from jimpact.contact.body import Body, definite_inverse, transform, transform_back
from jimpact.geometry.rotation import (
    Motion,
    free_rotation,
    greatest_spin,
    quaternion_product,
    rotated,
    rotation_matrix,
    steady_rotation,
)
from jimpact.geometry.shapes import Shape, Sphere, Turning
from jimpact.types import Array, ArrayLike, Flag, Matrix3, Scalar, Vector3

__all__ = ["ANGLE", "FOREVER", "Solid", "body_of", "chosen", "fly", "later", "turning"]

ANGLE = 0.5  # rad: largest rotation in one step
FOREVER = 1e30  # s


class Solid(NamedTuple):
    """A rigid body: mass, inertia and shape."""

    mass: Scalar  # kg
    inertia: Matrix3  # about the centre of mass, body axes, kg m^2
    shape: Shape


def fly(solid: Solid, motion: Motion, gravity: Vector3, time: Scalar) -> Motion:
    """The motion after a free flight."""
    t = time[..., None]
    position = motion.position + t * (motion.velocity + 0.5 * t * gravity)
    velocity = motion.velocity + t * gravity
    if isinstance(solid.shape, Sphere):
        q = quaternion_product(steady_rotation(motion.angular_velocity, time), motion.orientation)
        return Motion(position, q, velocity, motion.angular_velocity)
    spin = transform_back(rotation_matrix(motion.orientation), motion.angular_velocity)
    turn, spin = free_rotation(solid.inertia, spin, time)
    q = quaternion_product(motion.orientation, turn)
    return Motion(position, q, velocity, rotated(q, spin))


def turning(solid: Solid, motion: Motion) -> Turning:
    """Orientation, spin, rate of the spin, and a bound of the spin: 0 for a sphere, whose gap does not depend on it."""
    axes = rotation_matrix(motion.orientation)
    if isinstance(solid.shape, Sphere):
        still = jnp.zeros_like(motion.angular_velocity)
        return Turning(axes, motion.angular_velocity, still, still[..., 0])
    spin = transform_back(axes, motion.angular_velocity)
    momentum, (inverse, _) = transform(solid.inertia, spin), definite_inverse(solid.inertia)
    rate = transform(inverse, jnp.cross(momentum, spin))
    return Turning(axes, motion.angular_velocity, transform(axes, rate), greatest_spin(solid.inertia, spin))


def later(solid: Solid, motion: Motion, gravity: Vector3, time: Scalar) -> Motion:
    """The motion after a short time whose value is round-off; the result has the derivative of this time."""
    t = time[..., None]
    spin = jnp.concatenate([jnp.zeros_like(t), motion.angular_velocity], -1)
    return Motion(
        motion.position + t * motion.velocity,
        motion.orientation + 0.5 * t * quaternion_product(spin, motion.orientation),
        motion.velocity + t * gravity,
        motion.angular_velocity + t * turning(solid, motion).spin_rate,
    )


def body_of(solid: Solid, motion: Motion) -> Body:
    """The body in world axes."""
    axes = rotation_matrix(motion.orientation)
    inertia = jnp.einsum("...ij,...jk,...lk->...il", axes, solid.inertia, axes, precision="highest")
    return Body(solid.mass, inertia, motion.position, motion.velocity, motion.angular_velocity)


def chosen(flag: Flag, a: Array, b: ArrayLike) -> Array:
    """a in the lanes where the flag is true, else b; the flag broadcasts over the last axes."""
    return jnp.where(flag.reshape(flag.shape + (1,) * (a.ndim - flag.ndim)), a, b)
