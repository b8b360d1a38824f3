"""Free flight of a rigid body under gravity, and the search for the first contact.

The flight is exact: a parabola, and the rotation of a free body. The search approaches the time of impact from before
the contact. Each gap that might close, its first two derivatives and a bound of the third give a time during which
nothing can touch. The bodies fly for this time, and the search repeats. Near a contact the remaining gap shrinks with
the third power, so that few steps suffice. No step is too long, so no contact is missed, even by a thin corner or a
fast spin. A sphere needs one step: its gap to a plane is a parabola.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.contact.body import Body, definite_inverse, transform
from jimpact.control_flow import anywhere
from jimpact.geometry.rotation import (
    Motion,
    free_rotation,
    greatest_spin,
    quaternion_product,
    rotated,
    rotation_matrix,
    steady_rotation,
)
from jimpact.geometry.shapes import Gaps, Shape, Sphere, Turning
from jimpact.types import Array, ArrayLike, Flag, Matrix3, Scalar, Vector3, Whole

__all__ = [
    "FOREVER",
    "NEAR",
    "Contact",
    "Look",
    "Meeting",
    "Noise",
    "Solid",
    "Touch",
    "body_of",
    "chosen",
    "closed",
    "first_root",
    "fly",
    "later",
    "search",
    "turning",
]

M = TypeVar("M")

ADVANCES = 1000  # steps towards a contact; about 10 suffice, but a body that spins beside a plane needs one per ANGLE
ANGLE = 0.5  # rad: largest rotation in one step
SCALES = tuple(ANGLE * 0.125**n for n in range(6))  # rad: rotations in the horizons h, of which the best is taken
NEAR = 64  # x epsilon x the lengths that make up a gap: its round-off
FOREVER = 1e30  # s


class Solid(NamedTuple):
    """A rigid body: mass, inertia and shape."""

    mass: Scalar  # kg
    inertia: Matrix3  # about the centre of mass, body axes, kg m^2
    shape: Shape


class Meeting(NamedTuple):
    """The first contact of a flight. No field has a derivative."""

    time: Scalar  # from the start of the flight; the limit if there is no contact before it
    touched: Flag
    finished: Flag  # whether the search ended
    resting: Flag  # whether the contact is pressed and slow
    which: Any  # the parts that touch, in a form of `BodyAndPlanes` or `TwoBodies`


class Touch(NamedTuple):
    """A contact of two bodies, with derivatives."""

    gap: Scalar
    point: Vector3  # world axes
    normal: Vector3  # from body b into body a
    friction: Scalar
    restitution: Scalar
    bodies: tuple[Body, Body]


class Contact(NamedTuple):
    """The parts that touch, if any do."""

    touching: Flag  # whether they touch, and approach or are slow
    slow: Flag  # whether they are pressed, and neither approach nor leave faster than `rest_speed`
    which: Any


class Look(NamedTuple):
    """Gaps and contact at one time."""

    gaps: Gaps  # (..., points, planes), or (..., pairs of points, 1)
    pace: Scalar  # rate of turning to which the bounds of third derivatives belong
    outside: Scalar  # a time during which the balls that contain the bodies touch nothing
    contact: Contact


class Noise(NamedTuple):
    """Round-off of gaps and of their rates, and `rest_speed`; all broadcast to the shape of the gaps."""

    gap: Array
    rate: Array
    rest: Array


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
    """Orientation, spin, rate of the spin, and a bound of the spin: 0 for a sphere, whose gap does not depend on it."""
    axes = rotation_matrix(motion.orientation)
    if isinstance(solid.shape, Sphere):
        still = jnp.zeros_like(motion.angular_velocity)
        return Turning(axes, motion.angular_velocity, still, still[..., 0])
    spin = _to_body(motion.orientation, motion.angular_velocity)
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


def closed(now: Gaps, noise: Noise) -> tuple[Gaps, Flag, Flag]:
    """The gaps, which of them touch, and which are slow. At a contact a rate within round-off counts as zero."""
    there = now.value <= noise.gap
    rate = jnp.where(there & (jnp.abs(now.rate) <= noise.rate), 0, now.rate)
    slow = (jnp.abs(rate) <= noise.rest) & (now.second <= 0)
    return now._replace(rate=rate), there & ((rate < 0) | slow), slow


def search(
    see: Callable[[M], Look],
    move: Callable[[M, Scalar], M],
    start: M,
    limit: Scalar,
    going: Flag,
) -> Meeting:
    """Advance by safe times until parts touch, or up to the time `limit`, in the lanes that are `going`."""

    def step(state: _Search) -> _Search:
        now = see(state.motion)
        contact = jax.tree.map(partial(chosen, state.open), now.contact, state.contact)
        open_ = state.open & ~contact.touching & (state.time < limit)
        safe = jnp.maximum(_safe_time(now.gaps, now.pace), now.outside)
        ahead = jnp.minimum(safe, limit - state.time)
        never = ahead >= FOREVER
        time = jnp.where(open_, jnp.where(never, limit, state.time + ahead), state.time)
        open_ &= ~never
        return _Search(state.steps + 1, time, move(state.motion, jnp.where(open_, ahead, 0)), open_, contact)

    def more(state: _Search) -> Flag:
        return anywhere(state.open) & (state.steps < ADVANCES)

    nothing = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(see, start).contact)
    begin = _Search(jnp.zeros((), jnp.int32), jnp.zeros_like(limit), start, going, nothing)
    last = lax.while_loop(more, step, begin)
    finished = ~last.open & ~jnp.isnan(last.time)  # nan: the body turns too far in one flight
    return Meeting(last.time, last.contact.touching & finished, finished, last.contact.slow, last.contact.which)


class _Search(NamedTuple):
    steps: Whole
    time: Scalar
    motion: Any
    open: Flag
    contact: Contact


def _safe_time(now: Gaps, pace: Scalar) -> Scalar:
    """A time within which no gap can close: the longest of those from the horizons h.

    Within a time h the gap is bounded by the parabola with the second derivative g'' - K h / 3.
    """
    turns = pace > 0
    times = []
    for scale in SCALES:
        h = jnp.where(turns, scale / jnp.where(turns, pace, 1), FOREVER)
        least = now.second - now.third * (h / 3)[..., None, None]
        root = first_root(jnp.maximum(now.value, 0), now.rate, least)
        times.append(jnp.minimum(jnp.min(root, (-1, -2)), h))
    return jnp.max(jnp.stack(times), 0)


def first_root(a: Array, b: Array, c: Array) -> Array:
    """The first time > 0 at which a + b t + c t^2 / 2 falls to zero, for a >= 0; FOREVER if it does not."""
    square = b * b - 2 * a * c
    root = jnp.sqrt(jnp.maximum(square, 0))
    sinking = 2 * a / jnp.where(b < 0, root - b, 1)
    rising = (b + root) / jnp.where(c < 0, -c, 1)
    time = jnp.where(b < 0, jnp.where(square >= 0, sinking, FOREVER), jnp.where(c < 0, rising, FOREVER))
    return jnp.minimum(time, FOREVER)


def chosen(flag: Flag, a: Array, b: ArrayLike) -> Array:
    """a in the lanes where the flag is true, else b; the flag broadcasts over the last axes."""
    return jnp.where(flag.reshape(flag.shape + (1,) * (a.ndim - flag.ndim)), a, b)


def _to_body(orientation: Array, vector: Vector3) -> Vector3:
    return jnp.sum(rotation_matrix(orientation) * vector[..., :, None], -2)
