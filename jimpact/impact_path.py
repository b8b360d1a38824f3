"""Samples of the path of an impact, for plots, from the same steps as in `solve`.

A sample inside a step is the end of a shorter step from the same state; its length is found by Newton's method.
"""

from numbers import Integral
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from jimpact.impact import Case, check_followed, prepare
from jimpact.laws.darboux_keller import Events, events_of, given_lane
from jimpact.numerics import divide, where
from jimpact.slip.advance import Move, advance
from jimpact.slip.batch_scan import follow
from jimpact.slip.closed_end import finish, zero_slip
from jimpact.slip.events import LONG
from jimpact.slip.flow import View, moved
from jimpact.slip.restitution import StopRule
from jimpact.slip.state import Accuracy, Lane, Stage, State, look, start
from jimpact.slip.step import step
from jimpact.slip.step_size import Size, clock_to
from jimpact.types import Array, ArrayLike, Flag, Scalar

__all__ = ["Events", "Path", "trace"]

ROOMY = 20  # least number of samples that include the events
NEWTON_STEPS = 40  # iterations, within the step, for the clock at a given normal impulse
MOST = 1e3  # largest advance of the clock while slip falls to zero


class _Record(NamedTuple):
    """The state before each step, and the size of the step; steps are along the first axis."""

    before: State
    size: Size


class Path(NamedTuple):
    """Samples in the order of normal impulse: start, end and events of the impact; the others are evenly spaced."""

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
    case = prepare(
        law=law,
        accuracy=accuracy,
        line_tolerance=line_tolerance,
        inverse_inertia=inverse_inertia,
        velocity=velocity,
        friction=friction,
        restitution=restitution,
        static_friction=static_friction,
    )
    return _path(case, int(samples))


def _path(case: Case, samples: int) -> Path:
    lane, options = given_lane(case.given), case.options
    end = follow(lane, options.rule, options.accuracy)
    events = events_of(lane, end, options.accuracy.line)
    p = _spaced(events, samples)
    records = _recorded(lane, options.rule, options.accuracy)
    ix, iy, work = jax.vmap(lambda q: _at(lane, records, q), in_axes=-1, out_axes=-1)(p)

    wide = jax.tree.map(lambda a: a[..., None], lane)
    x, y, v = moved(wide.contact, wide.x0, wide.y0, wide.v0, ix, iy, p)
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


def _recorded(lane: Lane, rule: StopRule, accuracy: Accuracy) -> _Record:
    """The states before all steps, and the final state, which for lanes in `Stage.STOP` is the end of the impact."""

    def body(state: State, _: None) -> tuple[State, _Record]:
        after, size = step(lane, state, rule, accuracy)
        return after, _Record(state, size)

    end, records = lax.scan(body, start(lane), None, length=accuracy.steps)
    stops = end.stage == Stage.STOP
    end = jax.tree.map(lambda a, b: where(stops, a, b), finish(lane, end, rule), end)
    last = _Record(end, jax.tree.map(lambda a: jnp.zeros_like(a[0]), records.size))
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), records, last)


def _spaced(events: Events, samples: int) -> Float[Array, "... samples"]:
    """Normal impulses from 0 to the end, including the events if there are enough samples."""
    inner = jnp.stack(events[:-1], -1)
    count = inner.shape[-1] if samples >= ROOMY else 0
    even = jnp.linspace(0, 1, samples - count, dtype=inner.dtype)
    spare = (jnp.arange(count) + 0.5).astype(inner.dtype) / len(events)
    end = events.end[..., None]
    inner = jnp.where(jnp.isnan(inner[..., :count]), end * spare, inner[..., :count])
    return jnp.sort(jnp.concatenate([end * even, inner], -1), axis=-1)


def _at(lane: Lane, records: _Record, p: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Tangential impulse and normal work (scaled) at the normal impulse p of each lane."""
    count = len(records.size.reach)
    index = count - 1 - jnp.argmax((records.before.ledger.impulse <= p)[::-1], 0)  # the last such step: some go back
    before, size = jax.tree.map(lambda a: jnp.take_along_axis(a, index[None], 0)[0], records)
    at, contact = look(lane, before), lane.contact
    rest, falls = zero_slip(lane, before, at), before.stage == Stage.ZERO
    gone = falls & (p >= rest.ledger.impulse)  # beyond zero slip: friction is constant
    begin = jax.tree.map(lambda a, b: where(gone, a, b), rest, before)
    missing = p - begin.ledger.impulse
    length = where(size.reach > 0, size.reach / at.unit, LONG / jnp.maximum(jnp.abs(at.axes.g), LONG / MOST))
    move = _part(lane, at, size.linear, length, missing)
    # The last part of a fall to zero is a straight line.
    left = missing - move.p
    share = where(falls, divide(left, rest.ledger.impulse - before.ledger.impulse - move.p), 0)
    ix, iy = (a + share * (b - c - a) for a, b, c in ((move.ix, rest.ix, before.ix), (move.iy, rest.iy, before.iy)))
    k = contact.w - contact.mu * at.rate * at.axes.a
    k = where(gone, contact.w - contact.dx * lane.tx - contact.dy * lane.ty, k)
    beyond = where(gone, 0, move.work + move.v * left)
    return (
        begin.ix + where(gone, -lane.tx * missing, ix),
        begin.iy + where(gone, -lane.ty * missing, iy),
        begin.ledger.compression_work
        + begin.ledger.restitution_work
        + (begin.v + 0.5 * k * missing) * missing
        + beyond,
    )


def _part(lane: Lane, at: View, linear: Flag, length: Scalar, p: Scalar) -> Move:
    """The first part of a step, up to the normal impulse p, or the whole step if p is beyond its end."""

    def closer(_: int, now: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        t, low, high = now
        received, pace = jax.jvp(lambda t: advance(lane.contact, at, t, linear).p, (t,), (jnp.ones_like(t),))
        low, high = where(received < p, t, low), where(received < p, high, t)
        newton = t - divide(received - p, pace)
        return where((newton >= low) & (newton <= high), newton, 0.5 * (low + high)), low, high

    begin = (jnp.minimum(length, clock_to(p / at.unit, at.axes.g)), jnp.zeros_like(p), length)
    return advance(lane.contact, at, lax.fori_loop(0, NEWTON_STEPS, closer, begin)[0], linear)
