"""One body among planes: the time of contact, and the contact point."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.contact.body import Body, immovable
from jimpact.geometry.rotation import Motion, rotation_matrix
from jimpact.geometry.shapes import Gaps, Planes, Sphere, gaps, reach, touching_point
from jimpact.simulation.free_motion import Solid, body_of, fly, later, turning
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

__all__ = ["BodyAndPlanes"]


class BodyAndPlanes(NamedTuple):
    """A body, the planes around it, and gravity."""

    solid: Solid
    planes: Planes
    gravity: Vector3

    def fly(self, motion: Motion, time: Scalar) -> Motion:
        return fly(self.solid, motion, self.gravity, time)

    def later(self, motion: Motion, time: Scalar) -> Motion:
        return later(self.solid, motion, self.gravity, time)

    def depth(self, motion: Motion) -> tuple[Scalar, Scalar]:
        """The least gap to a plane, and the size of the body; the caller accounts for round-off."""
        now = gaps(self.solid.shape, turning(self.solid, motion), self.planes, motion, self.gravity)
        return jnp.min(now.value + self._near(motion), (-1, -2)), reach(self.solid.shape)

    def time_of_impact(self, motion: Motion, limit: Scalar, rest: Scalar, going: Flag) -> TimeOfImpact:
        """The first contact with a plane that the body approaches: its time, and the indices of point and plane."""
        self, start, limit, rest = lax.stop_gradient((self, motion, limit, rest))
        fastest = turning(self.solid, start).fastest

        def see(motion: Motion) -> Proximity:
            now = gaps(self.solid.shape, turning(self.solid, motion), self.planes, motion, self.gravity)
            noise = Noise(self._near(motion), self._rate_noise(motion), rest[..., None, None])
            now, touching, slow = touching_gaps(now, noise)
            return Proximity(now, fastest, self._outside(motion), *_fastest(now, touching, slow))

        return search(see, self.fly, start, limit, going)

    def contact(self, motion: Motion, parts: tuple[Whole, Whole]) -> Contact:
        """The contact of a point of the body with a plane."""
        point, plane = parts
        met = jax.tree.map(lambda a: _taken(a, plane), self.planes)
        arm = touching_point(self.solid.shape, rotation_matrix(motion.orientation), met.normal, point)
        at = motion.position + arm
        gap = jnp.sum(met.normal * at, -1) - met.offset
        return Contact(gap, at, met.normal, met.friction, met.restitution, (body_of(self.solid, motion), immovable()))

    def moved(self, motion: Motion, bodies: tuple[Body, Body]) -> Motion:
        """The motion with the velocities of the bodies."""
        return motion._replace(velocity=bodies[0].velocity, angular_velocity=bodies[0].angular_velocity)

    def number(self, parts: tuple[Whole, Whole]) -> Whole:
        """Index of the plane."""
        return parts[1]

    def _near(self, motion: Motion) -> Array:
        """Round-off of a gap."""
        size = jnp.max(jnp.abs(motion.position), -1) + reach(self.solid.shape)
        size = size[..., None, None] + jnp.abs(self.planes.offset)[..., None, :]
        return NEAR * jnp.finfo(size.dtype).eps * size

    def _rate_noise(self, motion: Motion) -> Array:
        """Round-off of the rate of a gap."""
        speed = jnp.max(jnp.abs(motion.velocity), -1)
        if not isinstance(self.solid.shape, Sphere):  # the gap of a sphere does not depend on the spin
            speed += jnp.max(jnp.abs(motion.angular_velocity), -1) * reach(self.solid.shape)
        return NEAR * jnp.finfo(speed.dtype).eps * speed[..., None, None]

    def _outside(self, motion: Motion) -> Scalar:
        """Time in which the ball that contains the shape touches no plane."""
        if isinstance(self.solid.shape, Sphere):
            return jnp.zeros_like(motion.position[..., 0])  # for a sphere this is the gap itself
        ball = gaps(Sphere(reach(self.solid.shape)), turning(self.solid, motion), self.planes, motion, self.gravity)
        time = jnp.where(ball.value > 0, first_root(ball.value, ball.rate, ball.second), 0)
        return jnp.min(time, (-1, -2))


def _fastest(now: Gaps, touching: Flag, slow: Flag) -> tuple[Flag, Flag, tuple[Whole, Whole]]:
    """Whether a point touches a plane, whether this is slow, and which point and plane approach fastest."""
    flat = lambda a: a.reshape((*a.shape[:-2], a.shape[-2] * a.shape[-1]))  # noqa: E731
    best = jnp.argmax(flat(jnp.where(touching, -now.rate, -jnp.inf)), -1)
    taken = jnp.take_along_axis(flat(slow), best[..., None], -1)[..., 0]
    return touching.any((-1, -2)), taken, (best // slow.shape[-1], best % slow.shape[-1])


def _taken(a: Array, index: Whole) -> Array:
    """The entry of one plane; planes are the first axis after those of the batch."""
    axis = index.ndim
    return jnp.take_along_axis(a, index.reshape(index.shape + (1,) * (a.ndim - axis)), axis).squeeze(axis)
