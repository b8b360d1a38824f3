"""Two bodies that may hit each other: the time of contact, and the contact point.

Each body is a `ConvexBody` (`jimpact.geometry.separation`): an ellipsoid, or the hull of points (the core) rounded by
a radius. So there is a normal even where a corner meets an edge.

Along a direction n the gap is the least n . (a - b) of all points a and b of the cores, minus the extents of the
ellipsoids or balls. The time in which this gap can close is bounded as for planes. The direction turns with the nearest
features, such as a corner and a face, so that bodies that separate have a growing gap.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.contact.body import Body, point_velocity, transform
from jimpact.geometry.rotation import Motion, quaternion_product, rotation_matrix
from jimpact.geometry.separation import ConvexBody, NearestParts, nearest_parts, separation
from jimpact.geometry.shapes import JERK, SECOND, Directions, Ellipsoid, Gaps, Hull, Turning, reach, support
from jimpact.numerics import divide
from jimpact.simulation.free_motion import ANGLE, Solid, body_of, fly, later, turning
from jimpact.simulation.time_of_impact import (
    NEAR,
    Contact,
    Noise,
    Proximity,
    TimeOfImpact,
    first_root,
    search,
    touching_gaps,
)
from jimpact.types import Array, Flag, Scalar, Vector3, Whole

__all__ = ["Pair", "TwoBodies"]


class Pair(NamedTuple):
    """The motion of two bodies."""

    a: Motion
    b: Motion


class MovingPoints(NamedTuple):
    """The points of a core, world axes, with two time derivatives."""

    at: Array
    rate: Array
    second: Array
    reach: Scalar  # largest distance from the centre of mass
    turning: Turning


class TwoBodies(NamedTuple):
    """Two bodies under the same gravity."""

    solid_a: Solid
    solid_b: Solid
    friction: Scalar
    restitution: Scalar
    gravity: Vector3

    def fly(self, motion: Pair, time: Scalar) -> Pair:
        a, b = (fly(s, m, self.gravity, time) for s, m in zip(self[:2], motion, strict=True))
        return Pair(a, b)

    def later(self, motion: Pair, time: Scalar) -> Pair:
        a, b = (later(s, m, self.gravity, time) for s, m in zip(self[:2], motion, strict=True))
        return Pair(a, b)

    def depth(self, motion: Pair) -> tuple[Scalar, Scalar]:
        """The gap, and the size of the bodies."""
        now, _, _ = self._gaps(motion)
        size = jnp.minimum(*(reach(s.shape) for s in self[:2]))
        return jnp.min(now.value, (-1, -2)) + self._near(motion), size

    def time_of_impact(self, motion: Pair, limit: Scalar, rest: Scalar, going: Flag) -> TimeOfImpact:
        """The first contact at which the bodies approach: its time, and the points nearest to it."""
        self, start, limit, rest = lax.stop_gradient((self, motion, limit, rest))

        def see(motion: Pair) -> Proximity:
            now, pace, parts = self._gaps(motion)
            noise = Noise(*(a[..., None, None] for a in (self._near(motion), self._rate_noise(motion), rest)))
            now, touching, slow = touching_gaps(now, noise)
            nearest_pair = jnp.argmin(now.value, -2, keepdims=True)
            touching, slow = (jnp.take_along_axis(x, nearest_pair, -2)[..., 0, 0] for x in (touching, slow))
            touching &= slow | (self._approach(motion, parts) <= self._rate_noise(motion))
            safe = jnp.maximum(self._outside(motion), self._moment(motion))
            return Proximity(now, pace, safe, touching, slow, parts)

        return search(see, self.fly, start, limit, going)

    def contact(self, motion: Pair, parts: NearestParts) -> Contact:
        """The contact between parts that face each other."""
        across = separation(*self._convex_bodies(motion), parts)
        bodies = (body_of(self.solid_a, motion.a), body_of(self.solid_b, motion.b))
        return Contact(across.gap, across.point, across.normal, self.friction, self.restitution, bodies)

    def moved(self, motion: Pair, bodies: tuple[Body, Body]) -> Pair:
        """The motion with the velocities of the bodies."""
        a, b = (
            m._replace(velocity=x.velocity, angular_velocity=x.angular_velocity)
            for m, x in zip(motion, bodies, strict=True)
        )
        return Pair(a, b)

    def number(self, parts: NearestParts) -> Whole:
        """0, since there is only one pair of bodies."""
        return jnp.zeros_like(parts.simplex.a[..., 0])

    def round(self) -> Flag:
        """Whether a contact has a normal: at least one body is rounded."""
        return _size(self.solid_a) + _size(self.solid_b) > 0

    def _convex_bodies(self, motion: Pair) -> tuple[ConvexBody, ConvexBody]:
        a, b = (_convex_body(s, m) for s, m in zip(self[:2], motion, strict=True))
        return a, b

    def _near(self, motion: Pair) -> Scalar:
        """Round-off of a gap."""
        a, b = (jnp.max(jnp.abs(m.position), -1) + reach(s.shape) for s, m in zip(self[:2], motion, strict=True))
        size = a + b
        return NEAR * jnp.finfo(size.dtype).eps * size

    def _rate_noise(self, motion: Pair) -> Scalar:
        """Round-off of the rate of a gap."""
        speed = self._speed(motion)
        return NEAR * jnp.finfo(speed.dtype).eps * speed

    def _speed(self, motion: Pair) -> Scalar:
        """Bound of the rate of all gaps, to a factor near one."""
        largest = lambda a: jnp.max(jnp.abs(a), -1)  # noqa: E731
        a, b = (
            largest(m.velocity) + largest(m.angular_velocity) * reach(s.shape)
            for s, m in zip(self[:2], motion, strict=True)
        )
        return a + b

    def _approach(self, motion: Pair, parts: NearestParts) -> Scalar:
        """Rate of the gap at the contact. (Points of parallel edges may close without facing each other.)"""
        contact = self.contact(motion, parts)
        a, b = (point_velocity(body, contact.point) for body in contact.bodies)
        return _dot(a - b, contact.normal)

    def _moment(self, motion: Pair) -> Scalar:
        """A time in which gaps change by their round-off.

        After this time, if one end of parallel edges or faces leaves and the other approaches, the latter is nearest.
        """
        return divide(self._near(motion), self._speed(motion))

    def _outside(self, motion: Pair) -> Scalar:
        """Time in which the balls that contain the bodies do not touch: (|x + v t|^2 - r^2) / 2 is a parabola in t."""
        x, v = motion.a.position - motion.b.position, motion.a.velocity - motion.b.velocity
        r = reach(self.solid_a.shape) + reach(self.solid_b.shape)
        square, rate, second = jnp.sum(x * x, -1) - r * r, jnp.sum(x * v, -1), jnp.sum(v * v, -1)
        return jnp.where(square > 0, first_root(0.5 * square, rate, second), 0)

    def _gaps(self, motion: Pair) -> tuple[Gaps, Scalar, NearestParts]:
        """Gaps of all pairs of points, (..., pairs, 1), along the normal, which turns at its present rate.

        Also returns the greatest rate of turning, of bodies and direction, and the parts that face each other.
        """
        parts = nearest_parts(*self._convex_bodies(motion))
        rates = Pair(*(_rate(m) for m in motion))
        n, n1 = jax.jvp(lambda m: separation(*self._convex_bodies(m), parts).normal, (motion,), (rates,))
        a, b = (_points(s, m) for s, m in zip(self[:2], motion, strict=True))
        w = jnp.sqrt(_dot(n1, n1))
        pace = jnp.maximum(jnp.maximum(a.turning.fastest, b.turning.fastest), w)
        d, d1, d2 = (_differences(x, y) for x, y in zip(a[:3], b[:3], strict=True))
        along = lambda direction, vectors: _dot(direction[..., None, :], vectors)  # noqa: E731
        value, square = along(n, d), (w * w)[..., None]
        second = -square * value + 2 * along(n1, d1) + along(n, d2)
        third = jnp.broadcast_to(_third(motion, a, b, w, pace)[..., None], value.shape)
        now = Gaps(value, along(n1, d) + along(n, d1), second, third)
        towards = Directions(n[..., None, :], n1[..., None, :], (-square * n)[..., None, :], w)
        for solid, turn in ((self.solid_a, a.turning), (self.solid_b, b.turning)):
            now = _less(now, solid, turn, towards)
        return Gaps(*(x[..., None] for x in now)), pace, parts


def _less(now: Gaps, solid: Solid, turn: Turning, towards: Directions) -> Gaps:
    """Gaps minus the extent of one body beyond its core."""
    if not isinstance(solid.shape, Ellipsoid):
        return now._replace(value=now.value - _size(solid)[..., None])
    h = support(solid.shape, turn, towards)
    return Gaps(now.value - h.value, now.rate - h.rate, now.second - h.second, now.third + h.third)


def _third(motion: Pair, a: MovingPoints, b: MovingPoints, w: Scalar, pace: Scalar) -> Scalar:
    """Bound of the third derivative of a gap while bodies and direction turn by at most ANGLE."""
    x, v = (jnp.sqrt(_dot(p - q, p - q)) for p, q in zip(motion.a[::2], motion.b[::2], strict=True))
    horizon = jnp.where(pace > 0, ANGLE / jnp.where(pace > 0, pace, 1), 0)
    sizes = [a.reach * a.turning.fastest**k + b.reach * b.turning.fastest**k for k in range(4)]
    d, d1 = x + v * horizon + sizes[0], v + sizes[1]
    return w**3 * d + 3 * w**2 * d1 + 3 * w * SECOND * sizes[2] + JERK * sizes[3]


def _points(solid: Solid, motion: Motion) -> MovingPoints:
    turn = turning(solid, motion)
    arm = _core(solid, motion) - motion.position[..., None, :]
    spin, spin_rate = turn.spin[..., None, :], turn.spin_rate[..., None, :]
    moving = jnp.cross(spin, arm)
    second = jnp.cross(spin_rate, arm) + jnp.cross(spin, moving)
    length = jnp.max(jnp.sqrt(_dot(arm, arm)), -1)
    centre = (motion.position[..., None, :], motion.velocity[..., None, :])
    return MovingPoints(centre[0] + arm, centre[1] + moving, second, length, turn)


def _core(solid: Solid, motion: Motion) -> Array:
    """The points of the core, world axes."""
    if isinstance(solid.shape, Hull):
        axes = rotation_matrix(motion.orientation)[..., None, :, :]
        return motion.position[..., None, :] + transform(axes, solid.shape.points)
    return motion.position[..., None, :]


def _convex_body(solid: Solid, motion: Motion) -> ConvexBody:
    size, core = _size(solid), _core(solid, motion)
    if not isinstance(solid.shape, Ellipsoid):
        return ConvexBody(core, size, None, jnp.ones_like(size))
    axes = solid.shape.semi_axes / size[..., None]
    unit = axes[..., None] * jnp.swapaxes(rotation_matrix(motion.orientation), -1, -2)
    return ConvexBody(core, size, unit, jnp.min(axes, -1))


def _size(solid: Solid) -> Scalar:
    """Largest extent of the body beyond its core."""
    return jnp.max(solid.shape.semi_axes, -1) if isinstance(solid.shape, Ellipsoid) else solid.shape.radius


def _rate(motion: Motion) -> Motion:
    """Time derivatives of position and orientation; zeros for velocity and spin."""
    spin = jnp.concatenate([jnp.zeros_like(motion.position[..., :1]), motion.angular_velocity], -1)
    still = jnp.zeros_like(motion.velocity)
    return Motion(motion.velocity, 0.5 * quaternion_product(spin, motion.orientation), still, still)


def _differences(a: Array, b: Array) -> Array:
    every = a[..., :, None, :] - b[..., None, :, :]
    return every.reshape((*every.shape[:-3], every.shape[-3] * every.shape[-2], 3))


def _dot(a: Array, b: Array) -> Scalar:
    return jnp.sum(a * b, -1)
