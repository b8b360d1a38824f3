"""Reverse mode: forth to know where each step began, and back from place to place.

The cotangent of the velocity is handed from the place where a step begins to the end of the step before, where it meets
that of a change of phase. As in `tangent`, every function is one of some kernels, and between them are pairs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.hodograph import Accuracy, Lane, Step, beyond, settle, start, turn_over, velocity_at
from jimpact.kernels import halves, lone_kernels, opened, pairs
from jimpact.numerics import split_code, where
from jimpact.rays import Plane, moved
from jimpact.rounds import SMOOTH
from jimpact.series import Integrals, Rates, integrate_back
from jimpact.spot import (
    IMPULSE,
    WHERE,
    Place,
    Smooth,
    Spot,
    added,
    as_step,
    begin,
    integrals_of,
    onward,
    rates_at,
    smooth_of,
    spot_of,
    state_at,
    with_smooth,
)
from jimpact.steering import RESTING
from jimpact.types import Array, Scalar, Whole

__all__ = ["cotangents_of"]

STEADY = ("friction_work", "compression_impulse", "compression_work", "restitution_work")  # a step only adds to them

Names = tuple[str, ...]


def cotangents_of(
    accuracy: Accuracy,
    lane: Lane,
    log: Callable[[Whole], Scalar],
    most: Whole,
    cotangents: dict[str, Scalar],
    ledger: bool,
) -> list[Array]:
    """Cotangents of plane and velocity of a lane, from those at the end; log(i) as in `tangents`."""
    order, limit = accuracy.order, accuracy.most
    fixed = {name: bar for name, bar in cotangents.items() if name in STEADY}
    named = (*IMPULSE, *(name for name in cotangents if name not in (*IMPULSE, *STEADY)))

    def forth(carry: Any) -> Any:
        index, where_, before = carry
        coded, go, spot = log(index), index >= 0, Spot(*halves(where_, WHERE))
        done = lone_kernels(go, partial(integrals_of, order), lane, spot, coded)
        after = lone_kernels(go, onward, lane, spot, coded, Integrals(*done))
        keep = lambda all_, a: lax.dynamic_update_index_in_dim(all_, a, index, 0)  # noqa: E731
        return index + 1, pairs(after), jax.tree.map(keep, before, opened((spot, Integrals(*done))))

    def back(carry: Any) -> Any:
        index, place, bars, after = carry
        index = index - 1
        spot, done = jax.tree.map(lambda a: lax.dynamic_index_in_dim(a, index, 0, keepdims=False), before)
        coded, go = log(index), index >= 0
        place, bars = halves(place), halves(bars)
        ends = fixed | dict(zip(named, bars[3:], strict=True))
        arrival = lane, spot, after, coded, place[:3], ends
        bars = lone_kernels(go, partial(_arrived, named), *arrival, bars[:3])
        given = fixed | dict(zip(named, bars[3:], strict=True))
        parts = lone_kernels(go, partial(_inside, ledger), lane, spot, done, given)
        turning = lone_kernels(go, partial(_through, order), parts[:6], coded, parts[6:])
        place = lone_kernels(go, partial(_leaving, ledger), lane, spot, done, given, turning, place[3:], arrival)
        return index, pairs(place), pairs(bars), spot

    zero = jnp.zeros_like(lane.v0)
    first, nothing = spot_of(start(lane)), Integrals(zero, zero, zero, zero)
    # Kept number by number: for a single impact no array is larger than 512 bytes, and XLA needs no threads.
    before = jax.tree.map(lambda a: jnp.zeros((limit, *a.shape), a.dtype), (first, nothing))
    _, ended, before = lax.while_loop(lambda carry: carry[0] < most, forth, (jnp.int32(0), pairs(first), before))
    last = Spot(*opened(halves(ended, WHERE)))
    moved = [cotangents.get(name, zero) for name in named]
    carry = (most, pairs([zero] * (3 + len(Plane._fields))), pairs([zero, zero, zero, *moved]), last)
    _, place, bars, _ = lax.while_loop(lambda carry: carry[0] > 0, back, carry)
    place, before = opened(halves(place)), opened(halves(bars))[:3]
    return [*place[3:], *(a + b for a, b in zip(before, place[:3], strict=True))]


def _booked(spot: Spot, coded: Scalar, bars: dict[str, Scalar]) -> tuple[Smooth, Step, Scalar, Scalar]:
    """Cotangents of the books before a step, of what it adds, and of `beyond`, from those of the books after it."""
    state, code, zero = state_at(spot), split_code(coded)[1], jnp.zeros_like(spot.impulse)

    def of(smooth: Smooth, step: Step, extra: Scalar, work: Scalar) -> Smooth:
        return smooth_of(turn_over(settle(with_smooth(state, smooth), step), code, extra, work))

    nothing = ((zero,) * len(SMOOTH), as_step([zero]), zero, zero)  # linear: their values do not matter
    return jax.vjp(of, *nothing)[1](tuple(bars.get(name, zero) for name in SMOOTH))


def _arrival(
    lane: Lane, spot: Spot, after: Spot, coded: Scalar, flow: list[Scalar], bars: dict[str, Scalar]
) -> tuple[list[Scalar], list[Scalar], Plane, Smooth]:
    """Cotangents of velocity, impulse and plane where a step ends, from those of velocity there and of `beyond`; and of
    the books before it.
    """
    smooth, _, *over = _booked(spot, coded, bars)
    at = Place(*velocity_at(lane, *after[:3]), lane.plane)
    landed = lambda at: beyond(at.plane, at.x, at.y, at.v, after.impulse)  # noqa: E731
    (bar,) = jax.vjp(landed, at)[1](tuple(over))
    flow = [a + b for a, b in zip(flow, bar[:3], strict=True)]
    velocity = lambda plane, *impulse: moved(plane, lane.x0, lane.y0, lane.v0, *impulse)  # noqa: E731
    plane, *impulse = jax.vjp(velocity, lane.plane, *after[:3])[1](tuple(flow))
    return flow, impulse, Plane(*(a + b for a, b in zip(plane, bar.plane, strict=True))), smooth


def _arrived(
    named: Names,
    lane: Lane,
    spot: Spot,
    after: Spot,
    coded: Scalar,
    flow: list[Scalar],
    bars: dict[str, Scalar],
    sums: list[Scalar],
) -> list[Scalar]:
    """Sums of the cotangents of the velocity before the impact, and those of impulse and books before a step."""
    flow, impulse, _, smooth = _arrival(lane, spot, after, coded, flow, bars)
    found = dict(zip(SMOOTH, smooth, strict=True))
    found |= {name: found[name] + bar for name, bar in zip(IMPULSE, impulse, strict=True)}
    return [*(a + b for a, b in zip(sums, flow, strict=True)), *(found[name] for name in named)]


def _of_step(spot: Spot, bars: dict[str, Scalar], ledger: bool) -> list[Scalar]:
    """Cotangents of what a step adds, from those of impulse and books."""
    settled = lambda step: smooth_of(settle(state_at(spot), step))  # noqa: E731
    zero = jnp.zeros_like(spot.impulse)
    (step,) = jax.vjp(settled, as_step([zero]))[1](tuple(bars.get(name, zero) for name in SMOOTH))
    return list(step if ledger else step[:4])


def _inside(ledger: bool, lane: Lane, spot: Spot, done: Integrals, bars: dict[str, Scalar]) -> list[Scalar]:
    """The rates of a step, and the cotangents of its integrals."""
    place, unit = begin(lane, spot)
    (found,) = jax.vjp(lambda done: added(place, unit, done, ledger), done)[1](_of_step(spot, bars, ledger))
    return [*rates_at(place, unit), *found]


def _through(order: int, rates: list[Scalar], coded: Scalar, bars: list[Scalar]) -> Rates:
    """Cotangents of the rates of a step from those of its integrals."""
    return integrate_back(Rates(*rates), split_code(coded)[0], Integrals(*bars), order)


def _leaving(
    ledger: bool,
    lane: Lane,
    spot: Spot,
    done: Integrals,
    bars: dict[str, Scalar],
    turning: list[Scalar],
    sums: list[Scalar],
    arrival: Any,
) -> list[Scalar]:
    """Cotangents of the velocity where a step begins, from those of what it adds and of its rates (`turning`); and the
    sums of those of the plane's constants, with those of the arrival.
    """
    place, unit = begin(lane, spot)
    both = lambda place: (added(place, unit, done, ledger), rates_at(place, unit))  # noqa: E731
    (bar,) = jax.vjp(both, place)[1]((_of_step(spot, bars, ledger), Rates(*turning)))
    flow = [where(spot.bits & RESTING > 0, 0, a) for a in bar[:3]]
    return [*flow, *(a + b + c for a, b, c in zip(sums, bar.plane, _arrival(*arrival)[2], strict=True))]
