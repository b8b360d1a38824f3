"""The time of impact: a search that misses no contact.

The search approaches the time of impact from before the contact. Each gap that might close, its first two derivatives
and a bound of the third give a time during which nothing can touch. The bodies fly for this time, and the search
repeats. Near a contact the remaining gap shrinks with the third power, so that few steps suffice. No step is too
long, so no contact is missed, even by a thin corner or a fast spin. A sphere needs one step: its gap to a plane is a
parabola.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.contact.body import Body
from jimpact.control_flow import anywhere
from jimpact.geometry.shapes import Gaps
from jimpact.simulation.free_motion import ANGLE, FOREVER, chosen
from jimpact.types import Array, Flag, Scalar, Vector3, Whole

__all__ = ["NEAR", "Contact", "Noise", "Proximity", "TimeOfImpact", "first_root", "search", "touching_gaps"]

M = TypeVar("M")

ADVANCES = 1000  # steps towards a contact; about 10 suffice, but a body that spins beside a plane needs one per ANGLE
SCALES = tuple(ANGLE * 0.125**n for n in range(6))  # rad: rotations in the horizons h, of which the best is taken
NEAR = 64  # x epsilon x the lengths that make up a gap: its round-off


class Contact(NamedTuple):
    """A contact of two bodies, with derivatives."""

    gap: Scalar
    point: Vector3  # world axes
    normal: Vector3  # from body b into body a
    friction: Scalar
    restitution: Scalar
    bodies: tuple[Body, Body]


class TimeOfImpact(NamedTuple):
    """When bodies first touch in a flight. No field has a derivative."""

    time: Scalar  # from the start of the flight; the limit if nothing touches before it
    touching: Flag
    finished: Flag  # whether the search ended
    slow: Flag  # whether the contact is pressed and slow
    parts: Any  # the parts that touch, in a form of `BodyAndPlanes` or `TwoBodies`


class Proximity(NamedTuple):
    """The gaps at one time, and the parts that touch, if any do."""

    gaps: Gaps  # (..., points, planes), or (..., pairs of points, 1)
    pace: Scalar  # rate of turning to which the bounds of third derivatives belong
    safe_time: Scalar  # a time to advance: nothing touches in it, or gaps change only by round-off
    touching: Flag  # whether parts touch, and approach or are slow
    slow: Flag  # whether they are pressed, and neither approach nor leave faster than `rest_speed`
    parts: Any


class Noise(NamedTuple):
    """Round-off of gaps and of their rates, and `rest_speed`; all broadcast to the shape of the gaps."""

    gap: Array
    rate: Array
    rest: Array


def touching_gaps(now: Gaps, noise: Noise) -> tuple[Gaps, Flag, Flag]:
    """The gaps, which of them touch, and which are slow. At a contact a rate within round-off counts as zero."""
    there = now.value <= noise.gap
    rate = jnp.where(there & (jnp.abs(now.rate) <= noise.rate), 0, now.rate)
    slow = (jnp.abs(rate) <= noise.rest) & (now.second <= 0)
    return now._replace(rate=rate), there & ((rate < 0) | slow), slow


def search(
    see: Callable[[M], Proximity],
    move: Callable[[M, Scalar], M],
    start: M,
    limit: Scalar,
    going: Flag,
) -> TimeOfImpact:
    """Advance by safe times until parts touch, or up to the time `limit`, in the lanes that are `going`."""

    def step(state: _Search) -> _Search:
        now = see(state.motion)
        found, last = (now.touching, now.slow, now.parts), (state.touching, state.slow, state.parts)
        touching, slow, parts = jax.tree.map(partial(chosen, state.open), found, last)
        open_ = state.open & ~touching & (state.time < limit)
        safe = jnp.maximum(_safe_time(now.gaps, now.pace), now.safe_time)
        ahead = jnp.minimum(safe, limit - state.time)
        never = ahead >= FOREVER
        time = jnp.where(open_, jnp.where(never, limit, state.time + ahead), state.time)
        open_ &= ~never
        return _Search(
            state.steps + 1, time, move(state.motion, jnp.where(open_, ahead, 0)), open_, touching, slow, parts
        )

    def more(state: _Search) -> Flag:
        return anywhere(state.open) & (state.steps < ADVANCES)

    shape = jax.eval_shape(see, start)
    nothing = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), (shape.touching, shape.slow, shape.parts))
    begin = _Search(jnp.zeros((), jnp.int32), jnp.zeros_like(limit), start, going, *nothing)
    last = lax.while_loop(more, step, begin)
    finished = ~last.open & ~jnp.isnan(last.time)  # nan: the body turns too far in one flight
    return TimeOfImpact(last.time, last.touching & finished, finished, last.slow, last.parts)


class _Search(NamedTuple):
    steps: Whole
    time: Scalar
    motion: Any
    open: Flag
    touching: Flag
    slow: Flag
    parts: Any


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
