"""Runs: alternating flights and impacts of a body among planes, or of two bodies.

Every flight is exact, every impact follows a law of `LAWS`, and a run ends after a given time or number of impacts,
or earlier (`Ending`). Several points that touch at once collide one after another, the fastest approach first. The
whole run, including the times of impact, is differentiable, forward and reverse, with respect to the state at the
start, materials, geometry, gravity and mass.

* Accumulation. A body that comes to rest on a plane by ever smaller bounces would make infinitely many impacts in
  finite time. So a run ends with the ending RESTING at a contact that is pressed and whose normal speed is at most
  `rest_speed`. Then the body slides, rolls or rests: motion with a lasting contact, which no law of impact describes.
* Jumps. Derivatives jump where another point or another plane becomes the first to touch. They grow without bound
  towards grazing contact.
"""

from functools import partial, reduce
from numbers import Integral
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from jimpact.collision.collide import collide
from jimpact.contact.body import Body, point_velocity
from jimpact.geometry.rotation import Motion
from jimpact.geometry.shapes import Planes
from jimpact.outcome import Outcome
from jimpact.simulation.free_motion import Solid, chosen
from jimpact.simulation.inputs import GRAVITY, OPTIONAL, Inputs, body_inputs, harmless, pair_inputs
from jimpact.simulation.run import Bounces, Ending, Run, masked
from jimpact.simulation.time_of_impact import Contact, TimeOfImpact
from jimpact.types import Array, ArrayLike, Flag, Scalar, Vector3, Whole

__all__ = ["MOST", "simulate", "simulate_pair"]

OVERLAP = 1e-9  # least depth of an overlap, relative to the size of the body
MOST = 10_000  # largest number of impacts of a run
OPTIONS = ("law", *OPTIONAL, "rule", "accuracy", "line_tolerance")
UNSTEADY = 0.1  # largest relative change of the contact velocity over the correction of the time of impact


GOING = -1


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
        motion: the motion at time 0. The orientation is a unit quaternion (w, x, y, z).
        planes: normals (..., p, 3), offsets, friction and restitution (..., p), or one number for all.
        gravity: acceleration of free fall, m/s^2.
        impacts: largest number of impacts of a run.
        duration: time at which the run ends, s.
        rest_speed: normal speed below which a pressed contact lasts, m/s; by default a thousandth of the speed after a
            fall by the size of the body.
        law: as in `solve`.
        options: static_friction, tangential_restitution, mixing, rule and accuracy, as in `solve`.

    Returns:
        Run: the impacts, the motion at the end, and why it ended.
    """
    _check(impacts, {"law": law, **options})
    extra = {name: options.pop(name) for name in OPTIONAL if options.get(name) is not None}
    given = body_inputs(solid, motion, planes, gravity, duration, rest_speed, extra)
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

    Two sharp edges have no normal where they touch. So if both shapes are hulls without a radius, the first body gets a
    radius: its size times the square root of epsilon. Motions in the run are pairs (a, b); impulses are those on
    body a. Arguments are as in `simulate`; `rest_speed` is 0 by default.
    """
    _check(impacts, {"law": law, **options})
    extra = {name: options.pop(name) for name in OPTIONAL if options.get(name) is not None}
    bodies = ((solid_a, solid_b), (motion_a, motion_b))
    given = pair_inputs(*bodies, friction, restitution, gravity, duration, rest_speed, extra)
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
def _run(given: Inputs, impacts: int, default_rest: bool, options: tuple[tuple[str, Any], ...]) -> Run:
    given, valid = harmless(given, default_rest)
    gap, size = given.world.depth(given.motion)
    first = jnp.where(gap < -OVERLAP * size, Ending.OVERLAPPING, GOING)
    first = jnp.where(valid, first, Ending.INVALID).astype(jnp.int32)
    bounce = partial(_bounce, given, partial(collide, **dict(options)))
    begin = _State(given.motion, jnp.zeros_like(given.rest), first)
    last, bounces = lax.scan(bounce, begin, jnp.arange(impacts + 1) < impacts)
    bounces = jax.tree.map(lambda a: a[:impacts], bounces)
    happened = bounces.plane >= 0
    bounces = jax.tree.map(lambda a: jnp.moveaxis(masked(happened, a), 0, first.ndim), bounces)
    good = (last.ending != Ending.INVALID) & (last.ending != Ending.OVERLAPPING)
    end = jax.tree.map(partial(masked, good), last.motion)
    time, count = masked(good, last.time), happened.sum(0, dtype=jnp.int32)
    return Run(given.world, given.motion, bounces, end, time, count, last.ending)


class _State(NamedTuple):
    motion: Any
    time: Scalar
    ending: Whole


def _bounce(given: Inputs, hit: Any, state: _State, allowed: Flag) -> tuple[_State, Bounces]:
    """A flight and its impact. After the last allowed impact the body flies only if no contact follows."""
    state, met = _flight(given, state, allowed)
    going = state.ending == GOING
    contact = given.world.contact(state.motion, met.parts)
    found = _hit(given, hit, contact, going)
    known = (found.impact.outcome == Outcome.OK) | (found.impact.outcome == Outcome.SEPARATING)
    good = going & known
    new = given.world.moved(state.motion, (found.body_a, found.body_b))
    after = jax.tree.map(partial(chosen, good), new, state.motion)
    impulse = contact.bodies[0].mass[..., None] * (found.body_a.velocity - contact.bodies[0].velocity)
    change = 0.5 * _dot(
        impulse, _contact_velocity(contact, contact.bodies) + _contact_velocity(contact, (found.body_a, found.body_b))
    )
    ending = jnp.where(going & ~known, Ending.UNFINISHED, state.ending).astype(jnp.int32)
    number = jnp.where(good, given.world.number(met.parts), -1).astype(jnp.int32)
    record = Bounces(state.time, number, contact.point, impulse, change, state.motion, after)
    return _State(after, state.time, ending), record


def _flight(given: Inputs, state: _State, allowed: Flag) -> tuple[_State, TimeOfImpact]:
    """The flight to the next contact, or to the end. A lane that collides next has the ending GOING."""
    world, going, left = given.world, state.ending == GOING, given.duration - state.time
    met = world.time_of_impact(state.motion, left, given.rest, going)
    over = going & met.finished & ~met.touching
    free = over & jnp.isposinf(met.time)
    resting = going & met.touching & met.slow
    enough = going & met.touching & ~met.slow & ~allowed
    moved = going & (met.touching | over) & ~free & ~enough
    time = jnp.where(moved, jnp.where(met.touching, met.time, left), 0)
    there: Any = world.fly(state.motion, time)
    followed = reduce(jnp.logical_and, (jnp.isfinite(a).all(-1) for a in jax.tree.leaves(there)))
    moved &= followed
    delay = _delay(world.contact(there, met.parts), world.gravity, -time, left - time)
    delay = jnp.where(moved & met.touching & ~met.slow, delay, 0)
    motion = jax.tree.map(partial(chosen, moved), world.later(there, delay), state.motion)
    ending = jnp.where(over, jnp.where(free, Ending.FREE, Ending.DURATION), state.ending)
    ending = jnp.where(resting, Ending.RESTING, jnp.where(enough, Ending.IMPACTS, ending))
    ending = jnp.where(going & ~(met.finished & followed), Ending.UNFINISHED, ending)
    return _State(motion, state.time + jnp.where(moved, time + delay, 0), ending.astype(jnp.int32)), met


def _delay(contact: Contact, gravity: Vector3, least: Scalar, most: Scalar) -> Scalar:
    """A time whose value corrects round-off, and whose derivative is that of the time of impact, the root of the gap.

    The search reached the contact in steps, and round-off grows if the spin is unstable. The correction is limited to a
    time in which the contact approaches steadily, and to `least` and `most`.
    """
    gap, (fixed, gravity, least, most) = contact.gap, lax.stop_gradient((contact, gravity, least, most))
    rate = _dot(fixed.normal, _contact_velocity(fixed, fixed.bodies))
    safe = jnp.where(rate < 0, rate, -1)
    swings = (_length(x.angular_velocity) ** 2 * _length(fixed.point - x.position) for x in fixed.bodies)
    steady = UNSTEADY * jnp.maximum(-rate, 0) / sum(swings, _length(gravity) + jnp.finfo(rate.dtype).tiny)
    late = jnp.clip(-fixed.gap / safe, jnp.maximum(-steady, least), jnp.minimum(steady, most))
    return -(gap - fixed.gap) / safe + late.astype(gap.dtype)


def _hit(given: Inputs, hit: Any, contact: Contact, going: Flag) -> Any:
    """The collision; lanes that do not collide solve a harmless stand-in."""
    a, b = contact.bodies
    a = a._replace(velocity=jnp.where(going[..., None], a.velocity, -contact.normal))
    a, b = (x._replace(angular_velocity=jnp.where(going[..., None], x.angular_velocity, 0)) for x in (a, b))
    b = b._replace(velocity=jnp.where(going[..., None], b.velocity, 0))
    return hit(a, b, contact.point, contact.normal, contact.friction, contact.restitution, **given.extra)


def _contact_velocity(contact: Contact, bodies: tuple[Body, Body]) -> Vector3:
    """Velocity of body a's point of contact relative to body b's, world axes."""
    a, b = (point_velocity(body, contact.point) for body in bodies)
    return a - b


def _dot(a: Array, b: Array) -> Scalar:
    return jnp.sum(a * b, -1)


def _length(a: Vector3) -> Scalar:
    return jnp.sqrt(_dot(a, a))
