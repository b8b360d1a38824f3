"""A step that was taken, as a formula: where it begins, what it adds, where it leads to.

Lengths and codes of steps carry no derivative, and a step of known length is a function of four integrals over the
clock (`series.integrate`), which depend on six rates only.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.hodograph import Lane, Slide, Step, clock_unit, moving, settle, turn_over
from jimpact.numerics import direction, norm, split_code
from jimpact.rays import Plane, moved
from jimpact.restitution import open_books
from jimpact.rounds import SMOOTH
from jimpact.series import Integrals, Rates, integrate, rates_of, turned_to
from jimpact.steering import COMPRESSING, RESTING, STRAIGHT, bits_of
from jimpact.types import Scalar, Whole

__all__ = [
    "IMPULSE",
    "WHERE",
    "Place",
    "Smooth",
    "Spot",
    "added",
    "as_step",
    "begin",
    "integrals_of",
    "onward",
    "rates_at",
    "smooth_of",
    "spot_of",
    "state_at",
    "with_smooth",
]

IMPULSE = ("ix", "iy", "impulse")
WHERE = (None, None, None, jnp.int32)  # dtypes of a `Spot`, None for floating
COUNT = 2  # bits of a `Spot` below the number of compressions

Smooth = tuple[Scalar, ...]  # what has a derivative, in the order of SMOOTH


class Spot(NamedTuple):
    """Where a lane is, as far as its next step depends on it."""

    ix: Scalar
    iy: Scalar
    impulse: Scalar
    bits: Whole  # COMPRESSING, RESTING; above them the number of compressions


def spot_of(state: Slide) -> Spot:
    books = state.books
    counted = books.compressions.astype(jnp.int32) << COUNT
    return Spot(state.ix, state.iy, books.impulse, (bits_of(state) & ~STRAIGHT) | counted)


def state_at(spot: Spot) -> Slide:
    """There, with empty books: what has a derivative is linear in them."""
    zero = jnp.zeros_like(spot.impulse)
    state = Slide(spot.ix, spot.iy, zero, open_books(zero), spot.bits & RESTING > 0, zero > 0)
    counted = (spot.bits >> COUNT).astype(zero.dtype)
    books = {"compressing": spot.bits & COMPRESSING > 0, "impulse": spot.impulse, "compressions": counted}
    return state._replace(books=state.books._replace(**books))


def smooth_of(state: Slide) -> Smooth:
    values = {**state._asdict(), **state.books._asdict()}
    return tuple(values[name] for name in SMOOTH)


def with_smooth(state: Slide, smooth: Smooth) -> Slide:
    values = dict(zip(SMOOTH, smooth, strict=True))
    books = state.books._replace(**{name: values[name] for name in SMOOTH[3:]})
    return state._replace(**{name: values[name] for name in SMOOTH[:3]}, books=books)


class Place(NamedTuple):
    """Where a step begins, or ends: velocity, and the plane's constants."""

    x: Scalar
    y: Scalar
    v: Scalar
    plane: Plane


def begin(lane: Lane, spot: Spot) -> tuple[Place, Scalar]:
    """Where a step begins, and the unit of its clock."""
    state = state_at(spot)
    x, y, v = moving(lane, state)
    return Place(x, y, v, lane.plane), clock_unit(lane, state, x, y)


def rates_at(place: Place, unit: Scalar) -> Rates:
    sx, sy, _ = direction(place.x, place.y)
    return rates_of(turned_to(place.plane, sx, sy), unit)


def added(place: Place, unit: Scalar, done: Integrals, ledger: bool) -> list[Scalar]:
    """What a step with these integrals adds, in the order of `Step`.

    The work of the normal impulse is that of its own velocities, by V = v + w P + d.I; that of friction, if there is a
    ledger, is what is left of the change of kinetic energy.
    """
    x, y, v, plane = place
    r, push = norm(x, y), -plane.mu * unit
    p = (done.q + done.h) * (r * unit)
    ix, iy = push * (done.q * x - done.t * y), push * (done.q * y + done.t * x)
    work = v * p + 0.5 * plane.w * p * p + push * (r * r) * done.work
    if not ledger:
        return [ix, iy, p, work]
    x1, y1, v1 = moved(plane, x, y, v, ix, iy, p)
    return [ix, iy, p, work, 0.5 * (ix * (x + x1) + iy * (y + y1) + p * (v + v1)) - work]


def as_step(parts: Sequence[Scalar]) -> Step:
    return Step(*parts, *([jnp.zeros_like(parts[0])] * (len(Step._fields) - len(parts))))


def integrals_of(order: int, lane: Lane, spot: Spot, coded: Scalar) -> Integrals:
    return integrate(rates_at(*begin(lane, spot)), split_code(coded)[0], order)


def onward(lane: Lane, spot: Spot, coded: Scalar, done: Integrals) -> Spot:
    """Where a step leads to."""
    zero, (place, unit) = jnp.zeros_like(lane.v0), begin(lane, spot)
    after = settle(state_at(spot), as_step(added(place, unit, done, False)))
    return spot_of(turn_over(after, split_code(coded)[1], zero, zero))
