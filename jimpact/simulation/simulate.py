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
from functools import partial, reduce
from numbers import Integral
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Float, Int

from jimpact.bodies import collide
from jimpact.contact import Body, transform
from jimpact.duel import Duel
from jimpact.flight import Meeting, Solid, Touch, chosen
from jimpact.launch import EXTRA, MOTION_TAILS, Launch, harmless, launch_duel, launch_room
from jimpact.room import Room
from jimpact.rotation import Motion, rotation_matrix
from jimpact.shapes import Planes
from jimpact.state import Outcome
from jimpact.types import Array, ArrayLike, Flag, Scalar, Vector3, Whole
from jimpact.validation import check_batch, floating

__all__ = ["MOST", "REASONS", "Bounces", "Ending", "Run", "energy", "motion_at", "simulate", "simulate_pair"]

GRAVITY = (0.0, 0.0, -9.81)
OVERLAP = 1e-9  # of the size of the body: deeper is an overlap
MOST = 10_000  # impacts of a run
OPTIONS = ("law", *EXTRA, "rule", "accuracy", "line_tolerance")
UNSTEADY = 0.1  # share of its speed by which a contact may change while its time is corrected


class Ending(IntEnum):
    """Why a run ended."""

    DURATION = 0  # the time was over
    IMPACTS = 1  # the number of impacts was reached: `end` is just after the last
    RESTING = 2  # a lasting contact: see the head of this module; `end` is at its beginning
    FREE = 3  # no plane will ever be reached: `end` is just after the last impact
    OVERLAPPING = 4  # the body is inside a plane at the start
    INVALID = 5  # input not usable
    UNFINISHED = 6  # the next contact was not found within bounds, or its impact has no answer under the law


REASONS = {
    Ending.DURATION: "the time was over",
    Ending.IMPACTS: "the number of impacts was reached",
    Ending.RESTING: "a lasting contact began: what follows is sliding, rolling or rest, which is no impact",
    Ending.FREE: "it flies on, and meets no plane",
    Ending.OVERLAPPING: "the body is inside a plane at the start; move its position",
    Ending.INVALID: "no body is like this: check mass, inertia, sizes, quaternion, friction, restitution",
    Ending.UNFINISHED: "the next contact was not found, or has no answer under this law; try another law",
}
GOING = -1


class Bounces(NamedTuple):
    """The impacts of a run, in order of time; nan and -1 after the last. Shapes after the batch axes: k impacts."""

    time: Float[Array, "... k"]  # s
    plane: Int[Array, "... k"]  # its number
    point: Float[Array, "... k 3"]  # of contact, world axes, m
    impulse: Float[Array, "... k 3"]  # on the body, world axes, N s
    energy_change: Float[Array, "... k"]  # J
    before: Any  # Motion, or a Pair
    after: Any


class Run(NamedTuple):
    """One run, or a batch of them."""

    world: Room | Duel
    start: Any  # Motion, or of two bodies a Pair (a, b) of them
    bounces: Bounces
    end: Any
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
    _check(impacts, {"law": law, **options})
    extra = {name: options.pop(name) for name in EXTRA if options.get(name) is not None}
    given = launch_room(solid, motion, planes, gravity, duration, rest_speed, extra)
    return _run(given, int(impacts), rest_speed is None, (("law", law), *options.items()))


def simulate_pair(
    solid_a: Solid,
    solid_b: Solid,
    motion_a: Motion,
    motion_b: Motion,
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    *,
    gravity: Float[ArrayLike, "... 3"] = GRAVITY,  # type: ignore[assignment]
    impacts: int = 10,
    duration: Float[ArrayLike, "..."] = jnp.inf,
    rest_speed: Float[ArrayLike, "..."] | None = None,
    law: str = "stronge",
    **options: Any,
) -> Run:
    """Let two bodies fly under the same gravity and hit each other; all arguments broadcast over leading axes.

    Two sharp edges have no normal where they touch: of two hulls without a radius the first gets one, the square root
    of epsilon of its size. Motions in the run are pairs (a, b); impulses are those on body a. Arguments as in
    `simulate`; `rest_speed` is 0 by default.
    """
    _check(impacts, {"law": law, **options})
    extra = {name: options.pop(name) for name in EXTRA if options.get(name) is not None}
    bodies = ((solid_a, solid_b), (motion_a, motion_b))
    given = launch_duel(*bodies, friction, restitution, gravity, duration, rest_speed, extra)
    return _run(given, int(impacts), rest_speed is None, (("law", law), *options.items()))


def _check(impacts: int, options: dict[str, Any]) -> None:
    if isinstance(impacts, bool) or not isinstance(impacts, Integral) or not 1 <= impacts <= MOST:
        raise ValueError(f"impacts={impacts!r}; pass a whole number from 1 to {MOST}, static under jit")
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise TypeError(f"{unknown[0]!r} is not an option of a run; pass some of {', '.join(OPTIONS)}")
    for name in ("law", "rule", "accuracy"):
        if not isinstance(options.get(name, ""), str):
            raise TypeError(f"{name} is a {type(options[name]).__name__}; pass its name")


@partial(jax.jit, static_argnums=(1, 2, 3))
def _run(given: Launch, impacts: int, default_rest: bool, options: tuple[tuple[str, Any], ...]) -> Run:
    given, valid = harmless(given, default_rest)
    gap, size = given.world.depth(given.motion)
    first = jnp.where(gap < -OVERLAP * size, Ending.OVERLAPPING, GOING)
    first = jnp.where(valid, first, Ending.INVALID).astype(jnp.int32)
    bounce = partial(_bounce, given, partial(collide, **dict(options)))
    begin = _State(given.motion, jnp.zeros_like(given.rest), first)
    last, bounces = lax.scan(bounce, begin, jnp.arange(impacts + 1) < impacts)
    bounces = jax.tree.map(lambda a: a[:impacts], bounces)
    happened = bounces.plane >= 0
    bounces = jax.tree.map(lambda a: jnp.moveaxis(_masked(happened, a), 0, first.ndim), bounces)
    good = (last.ending != Ending.INVALID) & (last.ending != Ending.OVERLAPPING)
    end = jax.tree.map(partial(_masked, good), last.motion)
    time, count = _masked(good, last.time), happened.sum(0, dtype=jnp.int32)
    return Run(given.world, given.motion, bounces, end, time, count, last.ending)


class _State(NamedTuple):
    motion: Any
    time: Scalar
    ending: Whole


def _bounce(given: Launch, hit: Any, state: _State, allowed: Flag) -> tuple[_State, Bounces]:
    """Fly, and collide. After the last impact that is allowed only a flight without a contact is still flown."""
    state, met = _flight(given, state, allowed)
    going = state.ending == GOING
    touch = given.world.touch(state.motion, met.which)
    found = _hit(given, hit, touch, going)
    known = (found.impact.outcome == Outcome.OK) | (found.impact.outcome == Outcome.SEPARATING)
    good = going & known
    new = given.world.moved(state.motion, (found.body_a, found.body_b))
    after = jax.tree.map(partial(chosen, good), new, state.motion)
    impulse = touch.bodies[0].mass[..., None] * (found.body_a.velocity - touch.bodies[0].velocity)
    change = 0.5 * _dot(impulse, _slip(touch, touch.bodies) + _slip(touch, (found.body_a, found.body_b)))
    ending = jnp.where(going & ~known, Ending.UNFINISHED, state.ending).astype(jnp.int32)
    number = jnp.where(good, given.world.number(met.which), -1).astype(jnp.int32)
    record = Bounces(state.time, number, touch.point, impulse, change, state.motion, after)
    return _State(after, state.time, ending), record


def _flight(given: Launch, state: _State, allowed: Flag) -> tuple[_State, Meeting]:
    """Fly to the next contact, or to the end. Where there is a contact to collide at, the lane is still GOING."""
    world, going, left = given.world, state.ending == GOING, given.duration - state.time
    met = world.meet(state.motion, left, given.rest, going)
    over = going & met.finished & ~met.touched
    free = over & jnp.isposinf(met.time)
    resting = going & met.touched & met.resting
    enough = going & met.touched & ~met.resting & ~allowed
    moved = going & (met.touched | over) & ~free & ~enough
    time = jnp.where(moved, jnp.where(met.touched, met.time, left), 0)
    there: Any = world.fly(state.motion, time)
    followed = reduce(jnp.logical_and, (jnp.isfinite(a).all(-1) for a in jax.tree.leaves(there)))
    moved &= followed
    delay = _delay(world.touch(there, met.which), world.gravity, -time, left - time)
    delay = jnp.where(moved & met.touched & ~met.resting, delay, 0)
    motion = jax.tree.map(partial(chosen, moved), world.later(there, delay), state.motion)
    ending = jnp.where(over, jnp.where(free, Ending.FREE, Ending.DURATION), state.ending)
    ending = jnp.where(resting, Ending.RESTING, jnp.where(enough, Ending.IMPACTS, ending))
    ending = jnp.where(going & ~(met.finished & followed), Ending.UNFINISHED, ending)
    return _State(motion, state.time + jnp.where(moved, time + delay, 0), ending.astype(jnp.int32)), met


def _delay(touch: Touch, gravity: Vector3, least: Scalar, most: Scalar) -> Scalar:
    """Round-off, with the derivative of the time of impact: that of the root of the gap.

    The search came here in steps, and its round-off grows where a spin is unstable. It is taken back as far as the
    contact approaches steadily, and the time stays within `least` and `most`.
    """
    gap, (fixed, gravity, least, most) = touch.gap, lax.stop_gradient((touch, gravity, least, most))
    rate = _dot(fixed.normal, _slip(fixed, fixed.bodies))
    safe = jnp.where(rate < 0, rate, -1)
    swings = (_length(x.angular_velocity) ** 2 * _length(fixed.point - x.position) for x in fixed.bodies)
    steady = UNSTEADY * jnp.maximum(-rate, 0) / sum(swings, _length(gravity) + jnp.finfo(rate.dtype).tiny)
    late = jnp.clip(-fixed.gap / safe, jnp.maximum(-steady, least), jnp.minimum(steady, most))
    return -(gap - fixed.gap) / safe + late.astype(gap.dtype)


def _hit(given: Launch, hit: Any, touch: Touch, going: Flag) -> Any:
    """The collision; lanes that do not collide hold a harmless stand-in that does."""
    a, b = touch.bodies
    a = a._replace(velocity=jnp.where(going[..., None], a.velocity, -touch.normal))
    a, b = (x._replace(angular_velocity=jnp.where(going[..., None], x.angular_velocity, 0)) for x in (a, b))
    b = b._replace(velocity=jnp.where(going[..., None], b.velocity, 0))
    return hit(a, b, touch.point, touch.normal, touch.friction, touch.restitution, **given.extra)


def _slip(touch: Touch, bodies: tuple[Body, Body]) -> Vector3:
    """Velocity of body a's point of contact relative to body b's, world axes."""
    a, b = (x.velocity + jnp.cross(x.angular_velocity, touch.point - x.position) for x in bodies)
    return a - b


def motion_at(run: Run, time: Float[ArrayLike, "*m"]) -> Any:
    """The motion at times (..., m) of a run, or at one time of all runs; at an impact it is the motion after it.

    After the end of a run it is nan, with a derivative of zero. Runs that ended IMPACTS or FREE end at the last impact.
    """
    if not isinstance(run, Run):
        raise TypeError(f"run is a {type(run).__name__}; pass a Run, as `simulate` returns it")
    time = floating("time", time, ())
    check_batch(run=run.time.shape, time=time.shape[:-1])
    if jnp.broadcast_shapes(run.time.shape, time.shape[:-1]) != run.time.shape:
        raise ValueError(
            f"time has shape {time.shape}; pass (..., m), with the batch shape {run.time.shape} of the run"
        )
    there = _motion_at(run, jnp.atleast_1d(time))
    return there if time.ndim else jax.tree.map(lambda a: a[..., 0, :], there)


@jax.jit
def _motion_at(run: Run, time: Array) -> Any:
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
    there = jax.tree.map(each, run.world).fly(motion, jnp.where(inside, since, 0))
    return jax.tree.map(partial(_masked, inside), there)


def energy(solid: Solid, motion: Motion, gravity: Float[ArrayLike, "... 3"] = GRAVITY) -> Scalar:  # type: ignore[assignment]
    """Kinetic and potential energy, J; the potential is zero at the origin."""
    if not isinstance(solid, Solid) or not isinstance(motion, Motion):
        raise TypeError(f"got a {type(solid).__name__} and a {type(motion).__name__}; pass a Solid and a Motion")
    mass, inertia = floating("solid.mass", solid.mass, ()), floating("solid.inertia", solid.inertia, (3, 3))
    fields = zip(Motion._fields, motion, MOTION_TAILS, strict=True)
    motion = Motion(*(floating(f"motion.{name}", value, tail) for name, value, tail in fields))
    axes = rotation_matrix(motion.orientation)
    spin = jnp.sum(axes * motion.angular_velocity[..., :, None], -2)
    kinetic = 0.5 * (mass * _dot(motion.velocity, motion.velocity) + _dot(spin, transform(inertia, spin)))
    return kinetic - mass * _dot(floating("gravity", gravity, (3,)), motion.position)


def _dot(a: Array, b: Array) -> Scalar:
    return jnp.sum(a * b, -1)


def _length(a: Vector3) -> Scalar:
    return jnp.sqrt(_dot(a, a))


def _masked(flag: Flag, a: Array) -> Array:
    """nan where the flag is down; whole numbers stay."""
    if jnp.issubdtype(a.dtype, jnp.integer):
        return a
    return chosen(flag, a, jnp.nan)
