"""The way through an impact, sampled for plots: same physics as `solve`, read off the same steps.

A sample inside a step is where a shorter step from the same place ends; its length is found by Newton's method.
"""

from numbers import Integral
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from jimpact.impact import check_followed, prepare
from jimpact.laws.hodograph_law import Events, events_of, given_lane
from jimpact.numerics import divide, norm, where
from jimpact.rays import moved
from jimpact.slip.advance import Move, curve_of, slide
from jimpact.slip.integrate import Taken, follow, recorded
from jimpact.slip.lane import Lane
from jimpact.slip.plan import clock
from jimpact.slip.step import looked_at
from jimpact.types import Array, ArrayLike, Scalar

__all__ = ["Events", "Path", "trace"]

ROOMY = 20  # samples: with fewer, the events are not among them
NEWTON_STEPS = 12  # to the clock of a given normal impulse, kept in the step
LONG = 600.0  # length of a step that goes to zero slip, in units of its slowest rate: slip is nothing then


class Path(NamedTuple):
    """Samples along an impact in the order of normal impulse: start, end and events, the others evenly spaced."""

    normal_impulse: Float[Array, "... samples"]
    sliding_velocity: Float[Array, "... samples 2"]
    normal_velocity: Float[Array, "... samples"]
    impulse: Float[Array, "... samples 3"]
    work: Float[Array, "... samples"]  # of the normal force
    events: Events


def trace(
    inverse_inertia: Float[ArrayLike, "... 3 3"],
    velocity: Float[ArrayLike, "... 3"],
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    *,
    law: str = "stronge",
    static_friction: Float[ArrayLike, "..."] | None = None,
    accuracy: str = "standard",
    samples: int = 200,
    line_tolerance: float = 0.01,
) -> Path:
    """Follow one impact, or a batch, and return `samples` points of its path (arguments as in `solve`).

    Lanes that are not valid, or not approaching, are nan.
    """
    if isinstance(samples, bool) or not isinstance(samples, Integral) or samples < 2:
        raise ValueError(f"samples={samples!r}; pass a whole number of at least 2")
    check_followed(law, "trace")
    case = prepare(inverse_inertia, velocity, friction, restitution, static_friction, law, accuracy, line_tolerance)
    lane, options = given_lane(case.given, case.options), case.options
    end = follow(lane, options.rule, options.accuracy)
    events = events_of(lane, end)
    p = _spaced(events, int(samples))
    taken = recorded(lane, options.rule, options.accuracy)
    ix, iy, work = jax.vmap(lambda q: _at(lane, taken, q), in_axes=-1, out_axes=-1)(p)

    wide = jax.tree.map(lambda a: a[..., None], lane)
    x, y, v = moved(wide.plane, wide.x0, wide.y0, wide.v0, ix, iy, p)
    zero_at, stick = events.slip_end[..., None], lane.sticks[..., None]
    still = (p == zero_at) | ((p > zero_at) & stick)
    x, y = jnp.where(still, 0, x), jnp.where(still, 0, y)

    def shown(a: Array, unit: Scalar) -> Array:
        extra = (1,) * (a.ndim - unit.ndim)
        unit, there = unit.reshape(unit.shape + extra), case.approaching.reshape(unit.shape + extra)
        return jnp.where(there, a * unit, jnp.nan)

    return Path(
        shown(p, case.impulse_unit),
        shown(jnp.stack([x, y], -1), case.velocity_unit),
        shown(v, case.velocity_unit),
        shown(jnp.stack([ix, iy, p], -1), case.impulse_unit),
        shown(work, case.work_unit),
        Events(*(shown(a, case.impulse_unit) for a in events)),
    )


def _spaced(events: Events, samples: int) -> Float[Array, "... samples"]:
    """Normal impulses from 0 to the end; if there is room for them, the events are among them."""
    inner = jnp.stack(events[:-1], -1)
    count = inner.shape[-1] if samples >= ROOMY else 0
    even = jnp.linspace(0, 1, samples - count, dtype=inner.dtype)
    spare = (jnp.arange(count) + 0.5).astype(inner.dtype) / len(events)
    end = events.end[..., None]
    inner = jnp.where(jnp.isnan(inner[..., :count]), end * spare, inner[..., :count])
    return jnp.sort(jnp.concatenate([end * even, inner], -1), axis=-1)


def _at(lane: Lane, taken: Taken, p: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Tangential impulse and normal work (scaled) at the normal impulse p of each lane."""
    count = len(taken.plan.length)
    index = count - 1 - jnp.argmax((taken.before.ledger.impulse <= p)[::-1], 0)  # the last: some steps go back
    pick = lambda a, i: jnp.take_along_axis(a, i[None], 0)[0]  # noqa: E731
    before, plan = jax.tree.map(lambda a: pick(a, index), taken)
    after = jax.tree.map(lambda a: pick(a, jnp.minimum(index + 1, count - 1)), taken.before)
    plane, at, missing = lane.plane, looked_at(lane, before), p - before.ledger.impulse
    linear = plan.linear | plan.to_zero
    end = where(plan.to_zero, LONG / (jnp.abs(at.axes.g) + at.axes.f + 1e-30), plan.length)

    def part(t: Scalar) -> Move:
        return slide(plane, at, t, curve_of(plane, at, where(linear, 0, t), lane.one))

    def closer(_: int, now: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        t, low, high = now
        move = part(t)
        over = move.p - missing
        low, high = where(over < 0, t, low), where(over < 0, high, t)
        newton = t - divide(over, norm(move.x, move.y))
        return where((newton >= low) & (newton <= high), newton, 0.5 * (low + high)), low, high

    begin = (jnp.minimum(end, clock(missing, at.r, at.axes.g)), jnp.zeros_like(p), end)
    move = part(lax.fori_loop(0, NEWTON_STEPS, closer, begin)[0])
    # After zero slip, and on the way to it where slip hardly turns, the impulse is a straight line.
    slow = plan.to_zero & ~at.near
    share = divide(missing, after.ledger.impulse - before.ledger.impulse)
    gone = before.straight
    ix = where(gone, -lane.tx * missing, where(slow, share * (after.ix - before.ix), move.ix))
    iy = where(gone, -lane.ty * missing, where(slow, share * (after.iy - before.iy), move.iy))
    k = where(gone, plane.w - plane.dx * lane.tx - plane.dy * lane.ty, plane.w - plane.mu * at.axes.a)
    work = before.v * missing + 0.5 * k * missing * missing + where(gone | slow, 0, move.work)
    done = before.ledger.compression_work + before.ledger.restitution_work
    return before.ix + ix, before.iy + iy, done + work
