"""Free flight of a rigid body under gravity, and when it first touches a plane.

The flight is exact: a parabola, and the rotation of a free body. The time of impact is approached from the side of no
contact: from the gap of every point of the body to every plane, two derivatives, and a bound of the third over the
flight follows a time during which nothing can touch; the body flies for so long, and so on. Near a contact the gap
that is left shrinks with the third power, so that few steps suffice; no step is ever too long, so that no contact is
missed, however thin the corner or fast the spin. A sphere takes one step: its gap is a parabola.

To the derivative, the time of impact is the root of the gap, by the implicit function theorem.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jimpact.contact import definite_inverse, transform
from jimpact.numerics import anywhere
from jimpact.rotation import (
    Motion,
    free_rotation,
    greatest_spin,
    quaternion_product,
    rotated,
    rotation_matrix,
    steady_rotation,
)
from jimpact.shapes import Gaps, Planes, Shape, Sphere, Turning, gaps, reach
from jimpact.types import Array, Flag, Matrix3, Scalar, Vector3, Whole

__all__ = ["Meeting", "Solid", "first_contact", "fly", "slack", "turning"]

ADVANCES = 1000  # steps towards a contact; about 10 suffice, a body that spins beside a plane takes one per ANGLE
ANGLE = 0.5  # rad of spin that one step may take at most
SCALES = tuple(ANGLE * 0.125**n for n in range(6))  # rad of spin for which a bound is tried: the best counts
NEAR = 64  # x epsilon x the sizes that make up a gap: its round-off
FOREVER = 1e30  # s


class Solid(NamedTuple):
    """A rigid body: what it weighs and what shape it has."""

    mass: Scalar  # kg
    inertia: Matrix3  # about the centre of mass, body axes, kg m^2
    shape: Shape


class Meeting(NamedTuple):
    """The first contact of a flight. Nothing in it has a derivative."""

    time: Scalar  # from the start of the flight; `limit` where there is none before
    touched: Flag
    finished: Flag  # whether it is known
    point: Whole  # which point of the shape
    plane: Whole
    speed: Scalar  # of approach
    resting: Flag  # whether it is no faster than `rest`


def fly(solid: Solid, motion: Motion, gravity: Vector3, time: Scalar) -> Motion:
    """The motion after a free flight."""
    t = time[..., None]
    position = motion.position + t * (motion.velocity + 0.5 * t * gravity)
    velocity = motion.velocity + t * gravity
    if isinstance(solid.shape, Sphere):
        q = quaternion_product(steady_rotation(motion.angular_velocity, time), motion.orientation)
        return Motion(position, q, velocity, motion.angular_velocity)
    spin = _to_body(motion.orientation, motion.angular_velocity)
    turn, spin = free_rotation(solid.inertia, spin, time)
    q = quaternion_product(motion.orientation, turn)
    return Motion(position, q, velocity, rotated(q, spin))


def turning(solid: Solid, motion: Motion) -> Turning:
    """How the orientation changes, with a bound of the spin: zero for a sphere, which looks the same."""
    axes = rotation_matrix(motion.orientation)
    if isinstance(solid.shape, Sphere):
        still = jnp.zeros_like(motion.angular_velocity)
        return Turning(axes, motion.angular_velocity, still, still[..., 0])
    spin = _to_body(motion.orientation, motion.angular_velocity)
    momentum, (inverse, _) = transform(solid.inertia, spin), definite_inverse(solid.inertia)
    rate = transform(inverse, jnp.cross(momentum, spin))
    return Turning(axes, motion.angular_velocity, transform(axes, rate), greatest_spin(solid.inertia, spin))


def slack(solid: Solid, motion: Motion, planes: Planes) -> Array:
    """Round-off of a gap, (..., planes)."""
    size = jnp.max(jnp.abs(motion.position), -1)[..., None] + reach(solid.shape)[..., None] + jnp.abs(planes.offset)
    return NEAR * jnp.finfo(size.dtype).eps * size


def first_contact(
    solid: Solid, start: Motion, planes: Planes, gravity: Vector3, limit: Scalar, rest: Scalar, going: Flag
) -> Meeting:
    """When, and where, the body first touches a plane that it approaches, up to the time `limit`.

    Also a contact that neither approaches nor leaves faster than `rest`, and is pressed, counts. Lanes that are not
    `going` are not looked at.
    """
    solid, start, planes, gravity, limit, rest = lax.stop_gradient((solid, start, planes, gravity, limit, rest))
    fastest = turning(solid, start).fastest
    near = slack(solid, start, planes)[..., None, :]

    def contacts(motion: Motion) -> tuple[Gaps, Flag, Flag]:
        now = gaps(solid.shape, turning(solid, motion), planes, motion, gravity)
        slow = (jnp.abs(now.rate) <= rest[..., None, None]) & (now.second <= 0)
        return now, (now.value <= near) & ((now.rate < 0) | slow), slow

    def step(state: _Search) -> _Search:
        now, touching, _ = contacts(state.motion)
        open_ = state.open & ~touching.any((-1, -2)) & (state.time < limit)
        safe = jnp.where(state.steps == 0, jnp.maximum(outside, _safe_time(now, fastest)), _safe_time(now, fastest))
        ahead = jnp.minimum(safe, limit - state.time)
        never = ahead >= FOREVER
        ahead = jnp.where(open_ & ~never, ahead, 0)
        time = jnp.where(open_ & never, limit, state.time + ahead)
        return _Search(state.steps + 1, time, fly(solid, state.motion, gravity, ahead), open_ & ~never)

    def more(state: _Search) -> Flag:
        return anywhere(state.open) & (state.steps < ADVANCES)

    outside = _outside(solid, start, planes, gravity)
    last = lax.while_loop(more, step, _Search(jnp.zeros((), jnp.int32), jnp.zeros_like(limit), start, going))
    now, touching, slow = contacts(last.motion)
    flat = lambda a: a.reshape((*touching.shape[:-2], -1))  # noqa: E731
    approach = flat(jnp.where(touching, -now.rate, -jnp.inf))
    best = jnp.argmax(approach, -1)
    of = lambda a: jnp.take_along_axis(a, best[..., None], -1)[..., 0]  # noqa: E731
    touched = touching.any((-1, -2)) & going & (last.time < FOREVER)
    point, plane = best // now.value.shape[-1], best % now.value.shape[-1]
    return Meeting(last.time, touched, ~last.open, point, plane, of(approach), of(flat(slow)))


class _Search(NamedTuple):
    steps: Whole
    time: Scalar
    motion: Motion
    open: Flag


def _outside(solid: Solid, start: Motion, planes: Planes, gravity: Vector3) -> Scalar:
    """How long the ball that holds the shape touches no plane."""
    if isinstance(solid.shape, Sphere):
        return jnp.zeros_like(start.position[..., 0])  # its own gap is looked at anyway
    ball = gaps(Sphere(reach(solid.shape)), turning(solid, start), planes, start, gravity)
    time = jnp.where(ball.value > 0, _first_root(ball.value, ball.rate, ball.second), 0)
    return jnp.min(time, (-1, -2))


def _safe_time(now: Gaps, fastest: Scalar) -> Scalar:
    """A time within which no gap can close: the longest that any of the bounds gives.

    Within a time h the second derivative is no less than g'' - K h / 3 on the average that counts.
    """
    spinning = fastest > 0
    times = []
    for scale in SCALES:
        h = jnp.where(spinning, scale / jnp.where(spinning, fastest, 1), FOREVER)
        least = now.second - now.third * (h / 3)[..., None, None]
        root = _first_root(jnp.maximum(now.value, 0), now.rate, least)
        times.append(jnp.minimum(jnp.min(root, (-1, -2)), h))
    return jnp.max(jnp.stack(times), 0)


def _first_root(a: Array, b: Array, c: Array) -> Array:
    """The first time > 0 at which a + b t + c t^2 / 2 sinks to zero, for a >= 0; FOREVER if it does not."""
    square = b * b - 2 * a * c
    root = jnp.sqrt(jnp.maximum(square, 0))
    sinking = 2 * a / jnp.where(b < 0, root - b, 1)
    rising = (b + root) / jnp.where(c < 0, -c, 1)
    time = jnp.where(b < 0, jnp.where(square >= 0, sinking, FOREVER), jnp.where(c < 0, rising, FOREVER))
    return jnp.minimum(time, FOREVER)


def _to_body(orientation: Array, vector: Vector3) -> Vector3:
    return jnp.sum(rotation_matrix(orientation) * vector[..., :, None], -2)
