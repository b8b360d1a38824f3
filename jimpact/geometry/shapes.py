"""Convex shapes, and their gaps to planes.

A shape is a pytree of arrays in body axes with the origin at the centre of mass; leading axes broadcast. For each plane
and each point of a shape that might touch it, `gaps` returns the gap g, its first and second time derivative, and a
bound K of the third. So a search can approach the time of impact without passing it:
g(t) >= g + g' t + g'' t^2 / 2 - K t^3 / 6.

The bounds follow from the greatest spin |s| that the energy allows, and from the triangle inequality of principal
moments: |s'| <= |s|^2 / sqrt 3 and |s''| <= |s|^3 for every body.
"""

from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jimpact.contact.body import transform, transform_back
from jimpact.geometry.rotation import Motion
from jimpact.types import Array, ArrayLike, Matrix3, Scalar, Vector3
from jimpact.validation import floating

__all__ = [
    "JERK",
    "SECOND",
    "Directions",
    "Ellipsoid",
    "Gaps",
    "Hull",
    "Planes",
    "Shape",
    "Sphere",
    "Turning",
    "box",
    "gaps",
    "reach",
    "support",
    "touching_point",
]

# Bound |s''| + 3 |s| |s'| + |s|^3 of the third derivative of a vector, in units of its length and |s|^3. The vector is
# fixed in the body, or is fixed in the world and expressed in body axes.
JERK = 1 + 3 / 3**0.5 + 1
SECOND = 1 + 1 / 3**0.5  # the same for the second derivative: |s'| + |s|^2


class Sphere(NamedTuple):
    """A ball about its centre of mass, solid or a shell: its inertia must be the same about every axis."""

    radius: Scalar


class Ellipsoid(NamedTuple):
    """An ellipsoid about its centre of mass, semi-axes along the axes of the body."""

    semi_axes: Vector3


class Hull(NamedTuple):
    """The convex hull of points, rounded by a radius: a box, a polyhedron, a capsule, the rim of a coin."""

    points: Float[Array, "... k 3"]
    radius: Scalar = 0.0  # type: ignore[assignment]


Shape = Sphere | Ellipsoid | Hull


class Planes(NamedTuple):
    """Immovable planes normal . x = offset, free on the side of the normal, with their coefficients."""

    normal: Float[Array, "... p 3"]
    offset: Float[Array, "... p"]  # m
    friction: Float[Array, "... p"]
    restitution: Float[Array, "... p"]


def box(size: Float[ArrayLike, "... 3"], radius: Float[ArrayLike, "..."] = 0.0) -> Hull:
    """A box with edges of these lengths; a radius rounds its corners and edges without a change of size."""
    size, radius = floating("size", size, (3,)), floating("radius", radius, ())
    half = 0.5 * size - radius[..., None]
    if _known(size) and size.is_fully_addressable and (np.asarray(size) < 0).any():
        raise ValueError("size has a negative length; pass the three lengths of the edges in m")
    if _known(half) and half.is_fully_addressable and (np.asarray(half) < 0).any():
        raise ValueError("the radius of a box must not be above half of its least size; pass less, or a Sphere")
    half = jnp.where(half >= 0, half, jnp.nan)
    signs = jnp.asarray(list(product((-1, 1), repeat=3)), half.dtype)
    return Hull(signs * half[..., None, :], jnp.asarray(radius, half.dtype))


def _known(a: Array) -> bool:
    """Whether the values are known, as they are outside of jit, grad and vmap."""
    try:
        np.asarray(a)
    except jax.errors.TracerArrayConversionError:
        return False
    return True


class Turning(NamedTuple):
    """Orientation, spin and its rate, world axes."""

    axes: Matrix3  # body axes to world axes
    spin: Vector3
    spin_rate: Vector3
    fastest: Scalar  # bound of the spin during a flight


class Directions(NamedTuple):
    """Unit vectors (..., d, 3), world axes, with two time derivatives."""

    value: Array
    rate: Array
    second: Array
    pace: Scalar  # rate of turning


class Gaps(NamedTuple):
    """Gap of each point to each plane, (..., points, planes), with its time derivatives."""

    value: Array
    rate: Array
    second: Array
    third: Array  # bound of the third derivative


def reach(shape: Shape) -> Scalar:
    """Radius of the ball about the centre of mass that contains the shape."""
    if isinstance(shape, Sphere):
        return shape.radius
    if isinstance(shape, Ellipsoid):
        return jnp.max(shape.semi_axes, -1)
    return jnp.max(jnp.sqrt(jnp.sum(shape.points**2, -1)), -1) + shape.radius


def gaps(shape: Shape, turning: Turning, planes: Planes, motion: Motion, gravity: Vector3) -> Gaps:
    """Gaps to planes with unit normals."""
    normal = planes.normal
    along = lambda vector: jnp.sum(normal * vector[..., None, :], -1)[..., None, :]  # noqa: E731
    distance = along(motion.position) - planes.offset[..., None, :]
    centre = Gaps(distance, along(motion.velocity), along(gravity), jnp.zeros_like(distance))
    if isinstance(shape, Sphere):
        return centre._replace(value=distance - shape.radius[..., None, None])
    if isinstance(shape, Hull):
        return Gaps(*(a + b for a, b in zip(centre, _points(shape, turning, normal), strict=True)))
    still = jnp.zeros_like(normal)
    h = support(shape, turning, Directions(normal, still, still, jnp.zeros_like(turning.fastest)))
    value, rate, second, third = (a[..., None, :] for a in h)
    return Gaps(centre.value - value, centre.rate - rate, centre.second - second, centre.third + third)


def touching_point(shape: Shape, axes: Matrix3, normal: Vector3, which: Array) -> Vector3:
    """Vector from the centre of mass to the point that touches a plane with this normal, world axes.

    `which` is the index of the point in `gaps`; only hulls have several.
    """
    if isinstance(shape, Sphere):
        return -shape.radius[..., None] * normal
    if isinstance(shape, Ellipsoid):
        scaled = shape.semi_axes * transform_back(axes, normal)
        length = jnp.sqrt(jnp.sum(scaled * scaled, -1, keepdims=True))
        return -transform(axes, shape.semi_axes * scaled / length)
    index = jnp.broadcast_to(which[..., None, None], (*which.shape, 1, 3))
    points = jnp.broadcast_to(shape.points, (*which.shape, *shape.points.shape[-2:]))
    corner = jnp.take_along_axis(points, index, -2)[..., 0, :]
    return transform(axes, corner) - shape.radius[..., None] * normal


def _points(shape: Hull, turning: Turning, normal: Array) -> Gaps:
    arm = transform(turning.axes[..., None, :, :], shape.points)
    spin, spin_rate = turning.spin[..., None, :], turning.spin_rate[..., None, :]
    moving = jnp.cross(spin, arm)
    second = jnp.cross(spin_rate, arm) + jnp.cross(spin, moving)
    along = lambda vectors: jnp.sum(vectors[..., :, None, :] * normal[..., None, :, :], -1)  # noqa: E731
    length = jnp.sqrt(jnp.sum(shape.points**2, -1))[..., None]
    third = JERK * length * turning.fastest[..., None, None] ** 3
    return Gaps(along(arm) - shape.radius[..., None, None], along(moving), along(second), third)


def support(shape: Ellipsoid, turning: Turning, towards: Directions) -> Gaps:
    """Extent of an ellipsoid in given directions, (..., d): h = |A u|, u in body axes, A the semi-axes."""
    back = lambda vectors: shape.semi_axes[..., None, :] * transform_back(turning.axes[..., None, :, :], vectors)  # noqa: E731
    spin, spin_rate = turning.spin[..., None, :], turning.spin_rate[..., None, :]
    # In body axes a direction turns with the opposite of the spin, in addition to its own rate.
    swept = jnp.cross(spin, towards.value)
    ddn = towards.second - 2 * jnp.cross(spin, towards.rate) - jnp.cross(spin_rate, towards.value)
    u, du, ddu = back(towards.value), back(towards.rate - swept), back(ddn + jnp.cross(spin, swept))
    dot = lambda a, b: jnp.sum(a * b, -1)  # noqa: E731
    h = jnp.sqrt(dot(u, u))
    rate = dot(u, du) / h
    second = (dot(du, du) + dot(u, ddu) - rate * rate) / h
    large, small = jnp.max(shape.semi_axes, -1), jnp.min(shape.semi_axes, -1)
    ratio, s, w = large / small, turning.fastest, towards.pace
    # h''' = (3 du.ddu + u.dddu - 3 h' h'') / h, with |du| <= a u1, |ddu| <= a u2, |dddu| <= a u3, |h'| <= a u1.
    u1, u2 = s + w, w * w + 2 * w * s + SECOND * s * s
    u3 = w**3 + 3 * w * w * s + 3 * SECOND * w * s * s + JERK * s**3
    bound = large * (u3 + 3 * ratio * u1 * (2 * u2 + ratio * u1 * u1))
    return Gaps(h, rate, second, jnp.broadcast_to(bound[..., None], h.shape))
