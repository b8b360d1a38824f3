"""A body that flies, hits planes, and flies on: flight, time of impact and impact, again and again.

Every flight is exact, every impact follows a law of `LAWS`, and a run ends after a given time or number of impacts,
or earlier for a reason that it tells (`Ending`). Several points that touch at once collide one after another, the
fastest approach first. The whole run is differentiable, forward and reverse, by the state at the start, by materials,
geometry, gravity and mass: through the times of impact, too.

* Accumulation. A body that comes to rest on a plane by ever smaller bounces would make infinitely many impacts in
  finite time. A run stops, RESTING, at a contact that is pressed and no faster than `rest_speed`. What follows is
  sliding, rolling or rest: motion with a lasting contact, which no law of impact describes.
* Kinks. Which point hits which plane first is a choice; where it changes, derivatives jump. They grow without bound
  towards grazing contact.
"""

from enum import IntEnum
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Float, Int

from jimpact.bodies import collide
from jimpact.contact import Body, floating, immovable, transform
from jimpact.flight import Meeting, Solid, first_contact, fly, slack, turning
from jimpact.launch import EXTRA, Launch, harmless, launch
from jimpact.rotation import Motion, quaternion_product, rotation_matrix
from jimpact.shapes import Planes, gaps, reach, touching_point
from jimpact.state import Outcome
from jimpact.types import Array, ArrayLike, Flag, Scalar, Vector3, Whole

__all__ = ["Bounces", "Ending", "Run", "energy", "motion_at", "simulate"]

GRAVITY = (0.0, 0.0, -9.81)
OVERLAP = 1e-9  # of the size of the body: deeper is an overlap


class Ending(IntEnum):
    """Why a run ended."""

    DURATION = 0  # the time was over
    IMPACTS = 1  # the number of impacts was reached: `end` is just after the last
    RESTING = 2  # a lasting contact: see the head of this module; `end` is at its beginning
    FREE = 3  # no plane will ever be reached: `end` is just after the last impact
    OVERLAPPING = 4  # the body is inside a plane at the start
    INVALID = 5  # input not usable
    UNFINISHED = 6  # the next contact was not found within bounds, or its impact has no answer under the law


GOING = -1


class Bounces(NamedTuple):
    """The impacts of a run, in order of time; nan and -1 after the last. Shapes after the batch axes: k impacts."""

    time: Float[Array, "... k"]  # s
    plane: Int[Array, "... k"]
    point: Float[Array, "... k 3"]  # of contact, world axes, m
    impulse: Float[Array, "... k 3"]  # on the body, world axes, N s
    energy_change: Float[Array, "... k"]  # J
    before: Motion
    after: Motion


class Run(NamedTuple):
    """One run, or a batch of them."""

    solid: Solid
    gravity: Vector3
    start: Motion
    bounces: Bounces
    end: Motion
    time: Scalar  # at the end, s
    impacts: Whole
    ending: Whole


def simulate(
    solid: Solid,
    motion: Motion,
    planes: Planes,
    *,
    gravity: Float[ArrayLike, "... 3"] = GRAVITY,  # type: ignore[assignment]
    impacts: int = 10,
    duration: Float[ArrayLike, "..."] = jnp.inf,
    rest_speed: Float[ArrayLike, "..."] | None = None,
    law: str = "stronge",
    **options: Any,
) -> Run:
    """Let a body fly among planes and bounce off them; all arguments broadcast over leading axes.

    Args:
        solid: mass, inertia in body axes, and shape: `Sphere`, `Ellipsoid`, `Hull`, or `box(...)`.
        motion: at time 0. The orientation is a unit quaternion (w, x, y, z).
        planes: unit normals (..., p, 3), offsets, friction and restitution (..., p), or one number for all.
        gravity: acceleration of free fall, m/s^2.
        impacts: most impacts of a run.
        duration: time at which it ends, s.
        rest_speed: normal speed below which a pressed contact lasts, m/s; by default a thousandth of that after a
            fall by the size of the body.
        law, options: as in `solve`: static_friction, tangential_restitution, mixing, rule, accuracy.

    Returns:
        Run: the impacts, the motion at the end, and why it ended.
    """
    if isinstance(impacts, bool) or not isinstance(impacts, Integral) or impacts < 1:
        raise ValueError(f"impacts={impacts!r}; pass a whole number of at least 1")
    extra = {name: options.pop(name) for name in EXTRA if options.get(name) is not None}
    given = launch(solid, motion, planes, gravity, duration, rest_speed, extra)
    return _run(given, int(impacts), rest_speed is None, (("law", law), *options.items()))


@partial(jax.jit, static_argnums=(1, 2, 3))
def _run(given: Launch, impacts: int, default_rest: bool, options: tuple[tuple[str, Any], ...]) -> Run:
    given, valid = harmless(given, default_rest)
    begin = _State(given.motion, jnp.zeros_like(given.rest), _first_ending(given, valid))
    bounce = partial(_bounce, given, partial(collide, **dict(options)))
    last, bounces = lax.scan(bounce, begin, jnp.arange(impacts + 1) < impacts)
    bounces = jax.tree.map(lambda a: a[:impacts], bounces)
    happened = bounces.plane >= 0
    bounces = jax.tree.map(lambda a: jnp.moveaxis(_masked(happened, a), 0, last.ending.ndim), bounces)
    good = (last.ending != Ending.INVALID) & (last.ending != Ending.OVERLAPPING)
    end = jax.tree.map(partial(_masked, good), last.motion)
    time, count = _masked(good, last.time), happened.sum(0, dtype=jnp.int32)
    return Run(given.solid, given.gravity, given.motion, bounces, end, time, count, last.ending)


class _State(NamedTuple):
    motion: Motion
    time: Scalar
    ending: Whole


def _first_ending(given: Launch, valid: Flag) -> Whole:
    """Whether a lane may start."""
    now = gaps(given.solid.shape, turning(given.solid, given.motion), given.planes, given.motion, given.gravity)
    deepest = jnp.maximum(slack(given.solid, given.motion, given.planes), OVERLAP * reach(given.solid.shape)[..., None])
    inside = (now.value < -deepest[..., None, :]).any((-1, -2))
    ending = jnp.where(inside, Ending.OVERLAPPING, GOING)
    return jnp.where(valid, ending, Ending.INVALID).astype(jnp.int32)


def _flight(given: Launch, state: _State, allowed: Flag) -> tuple[_State, Meeting]:
    """Fly to the next contact, or to the end. Where there is a contact to collide at, the lane is still GOING."""
    going, left = state.ending == GOING, given.duration - state.time
    met = first_contact(given.solid, state.motion, given.planes, given.gravity, left, given.rest, going)
    over = going & met.finished & ~met.touched
    free = over & jnp.isposinf(met.time)
    enough = going & met.touched & ~allowed
    moved = going & (met.touched | over) & ~free & ~enough
    time = jnp.where(moved, jnp.where(met.touched, met.time, left), 0)
    there = fly(given.solid, state.motion, given.gravity, time)
    later = jnp.where(met.touched & ~met.resting, _delay(given, there, met), 0)
    there = _shifted(given, there, later)
    motion = jax.tree.map(lambda a, b: jnp.where(moved[..., None], a, b), there, state.motion)
    ending = jnp.where(over, jnp.where(free, Ending.FREE, Ending.DURATION), state.ending)
    ending = jnp.where(going & ~met.finished, Ending.UNFINISHED, ending)
    ending = jnp.where(going & met.touched & met.resting, Ending.RESTING, ending)
    ending = jnp.where(enough, Ending.IMPACTS, ending)
    return _State(motion, state.time + jnp.where(moved, time + later, 0), ending.astype(jnp.int32)), met


def _delay(given: Launch, there: Motion, met: Meeting) -> Scalar:
    """Zero, with the derivative of the time of impact: that of the root of the gap."""
    normal, offset = _of_plane(given, met, "normal"), _of_plane(given, met, "offset")
    arm = touching_point(given.solid.shape, rotation_matrix(there.orientation), normal, met.point)
    gap = _dot(normal, there.position + arm) - offset
    rate = lax.stop_gradient(_dot(normal, there.velocity + jnp.cross(there.angular_velocity, arm)))
    return -(gap - lax.stop_gradient(gap)) / jnp.where(rate < 0, rate, -1)


def _shifted(given: Launch, motion: Motion, later: Scalar) -> Motion:
    """The motion a little later: for derivatives, of a time that is zero."""
    t = later[..., None]
    spin = jnp.concatenate([jnp.zeros_like(t), motion.angular_velocity], -1)
    return Motion(
        motion.position + t * motion.velocity,
        motion.orientation + 0.5 * t * quaternion_product(spin, motion.orientation),
        motion.velocity + t * given.gravity,
        motion.angular_velocity + t * turning(given.solid, motion).spin_rate,
    )


def _bounce(given: Launch, hit: Any, state: _State, allowed: Flag) -> tuple[_State, Bounces]:
    """Fly, and collide. After the last impact that is allowed only a flight without a contact is still flown."""
    state, met = _flight(given, state, allowed)
    going = state.ending == GOING
    m = state.motion
    axes, normal = rotation_matrix(m.orientation), _of_plane(given, met, "normal")
    arm = touching_point(given.solid.shape, axes, normal, met.point)
    # Lanes that do not collide hold a harmless stand-in that does.
    velocity = jnp.where(going[..., None], m.velocity, -normal)
    spin = jnp.where(going[..., None], m.angular_velocity, 0)
    inertia = jnp.einsum("...ij,...jk,...lk->...il", axes, given.solid.inertia, axes, precision="highest")
    body = Body(given.solid.mass, inertia, m.position, velocity, spin)
    material = (_of_plane(given, met, "friction"), _of_plane(given, met, "restitution"))
    found = hit(body, immovable(), m.position + arm, normal, *material, **given.extra)
    known = (found.impact.outcome == Outcome.OK) | (found.impact.outcome == Outcome.SEPARATING)
    good = going & known
    keep = lambda a, b: jnp.where(good[..., None], a, b)  # noqa: E731
    after = m._replace(
        velocity=keep(found.body_a.velocity, m.velocity),
        angular_velocity=keep(found.body_a.angular_velocity, m.angular_velocity),
    )
    impulse = given.solid.mass[..., None] * (after.velocity - m.velocity)
    both = m.velocity + after.velocity + jnp.cross(m.angular_velocity + after.angular_velocity, arm)
    ending = jnp.where(going & ~known, Ending.UNFINISHED, state.ending).astype(jnp.int32)
    plane = jnp.where(good, met.plane, -1).astype(jnp.int32)
    record = Bounces(state.time, plane, m.position + arm, impulse, 0.5 * _dot(impulse, both), m, after)
    return _State(after, state.time, ending), record


def motion_at(run: Run, time: Float[ArrayLike, "... m"]) -> Motion:
    """The motion at times (..., m) of a run; nan after its end. At an impact it is the motion after it."""
    time = floating("time", time, ())
    if time.ndim == 0:
        raise ValueError("time is one number; pass an array of times, (..., m)")
    return _motion_at(run, time)


@jax.jit
def _motion_at(run: Run, time: Array) -> Motion:
    batch = run.time.ndim
    time = jnp.broadcast_to(time, (*run.time.shape, time.shape[-1])).astype(run.time.dtype)
    begun = jnp.concatenate([jnp.zeros_like(run.time)[..., None], run.bounces.time], -1)
    starts = jax.tree.map(lambda a, b: jnp.concatenate([a[..., None, :], b], -2), run.start, run.bounces.after)
    index = jnp.sum(time[..., None] >= run.bounces.time[..., None, :], -1)
    since = time - jnp.take_along_axis(begun, index, -1)
    inside = (time >= 0) & (time <= run.time[..., None])

    def each(a: Array) -> Array:
        """One for all times of a lane."""
        return jnp.broadcast_to(jnp.expand_dims(a, batch), (*time.shape, *a.shape[batch:]))

    motion = jax.tree.map(lambda a: jnp.take_along_axis(a, index[..., None], -2), starts)
    there = fly(jax.tree.map(each, run.solid), motion, each(run.gravity), jnp.where(inside, since, 0))
    return jax.tree.map(partial(_masked, inside), there)


def energy(solid: Solid, motion: Motion, gravity: Float[ArrayLike, "... 3"] = GRAVITY) -> Scalar:  # type: ignore[assignment]
    """Kinetic and potential energy, J; the potential is zero at the origin."""
    axes = rotation_matrix(motion.orientation)
    spin = jnp.sum(axes * motion.angular_velocity[..., :, None], -2)
    mass = jnp.asarray(solid.mass)
    kinetic = 0.5 * (mass * _dot(motion.velocity, motion.velocity) + _dot(spin, transform(solid.inertia, spin)))
    return kinetic - mass * _dot(jnp.asarray(gravity), motion.position)


def _of_plane(given: Launch, met: Meeting, name: str) -> Array:
    """Of the plane that is met."""
    field = getattr(given.planes, name)
    index = met.plane[..., None]
    if field.ndim == index.ndim:
        return jnp.take_along_axis(field, index, -1)[..., 0]
    return jnp.take_along_axis(field, index[..., None], -2)[..., 0, :]


def _dot(a: Array, b: Array) -> Scalar:
    return jnp.sum(a * b, -1)


def _masked(flag: Flag, a: Array) -> Array:
    """nan where the flag is down; whole numbers stay."""
    if jnp.issubdtype(a.dtype, jnp.integer):
        return a
    return jnp.where(flag.reshape(flag.shape + (1,) * (a.ndim - flag.ndim)), a, jnp.nan)
