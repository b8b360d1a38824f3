"""Slip under Coulomb friction, one step at a time, by power series: what a step does.

A step of given length moves a lane along the flow, and adds to its books; a code says what happened where it arrived: a
change of phase, or that the lane rests there. How long a step may be, and what the code is, are questions for
`steering`. A lane that has nothing left to do takes steps of length zero.

Derivatives are those of the flow because step lengths carry none: the flow does not care how the clock is cut up. What
depends on the moment of an event has its own exact term (`restitution.switch`). See docs/method.md.

Everything here is in scaled units: w = 1 and v = -1 at the start.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import direction, divide, norm, where
from jimpact.rays import Plane, largest_rate, moved, normal_rate
from jimpact.restitution import Books, book, open_books, overrun, switch
from jimpact.series import Series, expand, next_term, normal_series, work_done
from jimpact.types import Array, Flag, Scalar, Whole

__all__ = [
    "CHANGES",
    "RESTS",
    "STRAIGHTENS",
    "Accuracy",
    "Lane",
    "Slide",
    "Step",
    "beyond",
    "clock_unit",
    "friction_work_at",
    "lane_at",
    "lane_of",
    "moving",
    "noise",
    "reference",
    "remembered",
    "series_at",
    "settle",
    "start",
    "terms",
    "turn_over",
    "velocity",
    "velocity_at",
]

SLOWEST = 1e-3  # rate of the clock per rate of impulse, where slip hardly changes: keeps mu = 0, d = 0 finite
TRUSTED = 1e3  # x the error admitted per step
MOST_TRUSTED = 1e-3  # of the impulse, whatever is admitted
NOISE = 8  # x epsilon x the sum of its terms: slip below this is round-off
# What may happen at the end of a step: bits of one number.
CHANGES, RESTS, STRAIGHTENS = 1, 2, 4


class Accuracy(NamedTuple):
    """Order of the series, steps at most, and error admitted per step relative to the impulse."""

    order: int
    most: int
    tolerance: float

    @property
    def trusted(self) -> float:
        """An estimated error beyond this, relative to the impulse, is UNFINISHED."""
        return min(TRUSTED * self.tolerance, MOST_TRUSTED)


class Lane(NamedTuple):
    """What stays the same for a lane: plane, velocity before, restitution, and rate of the clock."""

    plane: Plane
    x0: Scalar
    y0: Scalar
    v0: Scalar
    e: Scalar
    rate: Scalar  # no derivative


class Slide(NamedTuple):
    """Where a lane is."""

    ix: Scalar  # tangential impulse so far
    iy: Scalar
    friction_work: Scalar
    books: Books
    resting: Flag  # nothing left to step through
    straight: Flag  # resting, with a straight way to zero slip still to go


class Step(NamedTuple):
    """Impulse, normal work and friction work of a step."""

    ix: Scalar
    iy: Scalar
    p: Scalar
    work: Scalar
    friction_work: Scalar


def lane_at(fixed: Sequence[Array] | Array) -> Lane:
    """A lane from its numbers, one after another: Plane, then the rest."""
    count = len(Plane._fields)
    numbers = [fixed[i] for i in range(count + len(Lane._fields) - 1)]
    return Lane(Plane(*numbers[:count]), *numbers[count:])


def lane_of(plane: Plane, x0: Scalar, y0: Scalar, v0: Scalar, e: Scalar) -> Lane:
    return Lane(plane, x0, y0, v0, e, stop_gradient(largest_rate(plane)))


def start(lane: Lane) -> Slide:
    """Before the first step."""
    zero = jnp.zeros_like(lane.v0)
    at_zero = (lane.x0 == 0) & (lane.y0 == 0)
    return Slide(zero, zero, zero, open_books(zero), at_zero, jnp.zeros_like(at_zero))


def velocity(lane: Lane, state: Slide) -> tuple[Scalar, Scalar, Scalar]:
    """Sliding and normal velocity: the one before plus inverse inertia x impulse."""
    return velocity_at(lane, state.ix, state.iy, state.books.impulse)


def velocity_at(lane: Lane, ix: Scalar, iy: Scalar, p: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    return moved(lane.plane, lane.x0, lane.y0, lane.v0, ix, iy, p)


def moving(lane: Lane, state: Slide) -> tuple[Scalar, Scalar, Scalar]:
    """`velocity`, with a harmless slip where a lane rests."""
    x, y, v = velocity(lane, state)
    return where(state.resting, 1, x), where(state.resting, 0, y), v


def terms(lane: Lane, state: Slide) -> Scalar:
    """Size of the terms whose sum is the slip: its round-off is some epsilon of this."""
    return norm(lane.x0, lane.y0) + lane.rate * state.books.impulse


def noise(lane: Lane, state: Slide, r: Scalar) -> Flag:
    """Whether a length of slip is round-off."""
    return r <= NOISE * jnp.finfo(r.dtype).eps * terms(lane, state)


def reference(state: Slide) -> Scalar:
    """Size of the impulse: what is there, but at least the one that stops a frictionless approach."""
    return jnp.maximum(state.books.impulse, 1)


def clock_unit(lane: Lane, state: Slide, x: Scalar, y: Scalar) -> Scalar:
    """Unit of the clock of a step, in which slip changes by about itself."""
    size = reference(state)
    return stop_gradient(divide(size, lane.rate * size + SLOWEST * norm(x, y), jnp.inf))


def series_at(lane: Lane, state: Slide, order: int) -> tuple[Series, list[Scalar]]:
    """Series where the lane is, and that of its normal velocity; a resting lane gets a harmless answer."""
    x, y, v = moving(lane, state)
    series = expand(lane.plane, *direction(x, y), clock_unit(lane, state, x, y), order)
    return series, normal_series(series, v)


def friction_work_at(series: Series, length: Scalar) -> Scalar:
    """Work of the tangential impulse on the slip, which is a polynomial of one order more than its series."""
    along, across = next_term(series)
    scale = -series.plane.mu * series.scale * series.slip
    along_work = work_done([*series.X, along], series.X, scale, length)
    return along_work + work_done([*series.Y, across], series.Y, scale, length)


def remembered(series: Series, length: Scalar) -> Scalar:
    """What a step leaves of a change of slip across it: exp(-mu t.Bt tau), or a little more."""
    a = series.plane.mu * series.plane.byy * series.unit * length
    return 1 / (1 + a * (1 + a / 2 * (1 + a / 3 * (1 + a / 4))))


def settle(state: Slide, step: Step) -> Slide:
    """Take the step."""
    return state._replace(
        ix=state.ix + step.ix,
        iy=state.iy + step.iy,
        friction_work=state.friction_work + step.friction_work,
        books=book(state.books, step.p, step.work),
    )


def beyond(plane: Plane, x: Scalar, y: Scalar, v: Scalar, p: Scalar) -> tuple[Scalar, Scalar]:
    """Normal impulse since v = 0, where a phase ends at this velocity and impulse, and its work."""
    sx, sy, _ = direction(x, y)
    extra = overrun(p, v, normal_rate(plane, sx, sy))
    return extra, 0.5 * v * extra


def turn_over(after: Slide, code: Whole, extra: Scalar, work: Scalar) -> Slide:
    """Change phase, or come to rest, as the code says; `extra` and its work as by `beyond`."""
    changes: Flag = code & CHANGES > 0
    return after._replace(
        books=switch(after.books, changes, where(changes, extra, 0), where(changes, work, 0)),
        resting=after.resting | (code & RESTS > 0),
        straight=after.straight | (code & STRAIGHTENS > 0),
    )
