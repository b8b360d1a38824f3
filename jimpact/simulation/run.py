"""Result of a simulation: impacts in order of time, its ending, and the motion at any time."""

from enum import IntEnum
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from jimpact.contact.body import transform, transform_back
from jimpact.geometry.rotation import Motion, rotation_matrix
from jimpact.simulation.body_body import TwoBodies
from jimpact.simulation.body_planes import BodyAndPlanes
from jimpact.simulation.free_motion import Solid, chosen
from jimpact.simulation.inputs import GRAVITY, MOTION_TAILS
from jimpact.types import Array, ArrayLike, Flag, Scalar, Whole
from jimpact.validation import check_batch, floating

__all__ = ["REASONS", "Bounces", "Ending", "Run", "energy", "masked", "motion_at"]


class Ending(IntEnum):
    """Why a run ended."""

    DURATION = 0  # the duration has passed
    IMPACTS = 1  # the number of impacts was reached: `end` is just after the last
    RESTING = 2  # a lasting contact, see `simulate.py`: `end` is at its beginning
    FREE = 3  # no further contact follows: `end` is just after the last impact
    OVERLAPPING = 4  # the body is inside a plane, or inside the other body, at the start
    INVALID = 5  # input not usable
    UNFINISHED = 6  # the next contact was not found within bounds, or its impact is neither OK nor SEPARATING


REASONS = {
    Ending.DURATION: "the time was over",
    Ending.IMPACTS: "the number of impacts was reached",
    Ending.RESTING: "a lasting contact began: the body then slides, rolls or rests, which is no impact",
    Ending.FREE: "no further contact follows",
    Ending.OVERLAPPING: "the body is inside a plane, or inside the other body, at the start; move its position",
    Ending.INVALID: "input not usable: check mass, inertia, sizes, quaternion, friction, restitution",
    Ending.UNFINISHED: "the next contact was not found, or its impact has no answer under this law; try another law",
}


class Bounces(NamedTuple):
    """The impacts of a run, in order of time; entries after the last are nan or -1. k is the number of entries."""

    time: Float[Array, "... k"]  # s
    plane: Int[Array, "... k"]  # index of the plane; 0 for two bodies
    point: Float[Array, "... k 3"]  # of contact, world axes, m
    impulse: Float[Array, "... k 3"]  # on the body, world axes, N s
    energy_change: Float[Array, "... k"]  # J
    before: Any  # Motion, or a Pair
    after: Any


class Run(NamedTuple):
    """One run, or a batch of them."""

    world: BodyAndPlanes | TwoBodies
    start: Any  # Motion, or for two bodies a Pair (a, b) of them
    bounces: Bounces
    end: Any
    time: Scalar  # at the end, s
    impacts: Whole
    ending: Whole


def motion_at(run: Run, time: Float[ArrayLike, "*m"]) -> Any:
    """The motion at times (..., m) of a run, or at one time of all runs; at the time of an impact, the motion after it.

    After the end of a run the motion is nan, with a derivative of zero. Runs with the ending IMPACTS or FREE end at the
    last impact.
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
        """The array with an axis of length 1 for the times of a lane."""
        return jnp.broadcast_to(jnp.expand_dims(a, batch), (*time.shape, *a.shape[batch:]))

    motion = jax.tree.map(lambda a: jnp.take_along_axis(a, index[..., None], -2), starts)
    there = jax.tree.map(each, run.world).fly(motion, jnp.where(inside, since, 0))
    return jax.tree.map(partial(masked, inside), there)


def energy(solid: Solid, motion: Motion, gravity: Float[ArrayLike, "... 3"] = GRAVITY) -> Scalar:  # type: ignore[assignment]
    """Kinetic and potential energy, J; the potential is zero at the origin."""
    if not isinstance(solid, Solid) or not isinstance(motion, Motion):
        raise TypeError(f"got a {type(solid).__name__} and a {type(motion).__name__}; pass a Solid and a Motion")
    mass, inertia = floating("solid.mass", solid.mass, ()), floating("solid.inertia", solid.inertia, (3, 3))
    fields = zip(Motion._fields, motion, MOTION_TAILS, strict=True)
    motion = Motion(*(floating(f"motion.{name}", value, tail) for name, value, tail in fields))
    spin = transform_back(rotation_matrix(motion.orientation), motion.angular_velocity)
    kinetic = 0.5 * (mass * jnp.sum(motion.velocity**2, -1) + jnp.sum(spin * transform(inertia, spin), -1))
    return kinetic - mass * jnp.sum(floating("gravity", gravity, (3,)) * motion.position, -1)


def masked(flag: Flag, a: Array) -> Array:
    """The array with nan where the flag is false; integers do not change."""
    if jnp.issubdtype(a.dtype, jnp.integer):
        return a
    return chosen(flag, a, jnp.nan)
