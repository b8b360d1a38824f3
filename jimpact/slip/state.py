"""The constants of an impact (`Lane`), its state (`State`) with the changes by a small impulse, and the tolerances.

Everything is in scaled units, in which the inverse mass along the normal and the approach speed are 1.
"""

from enum import IntEnum
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.numerics import largest, norm, where
from jimpact.slip.flow import Constants, View, moved, view
from jimpact.slip.restitution import Ledger, book, open_ledger, work_over
from jimpact.slip.stick import friction_from_zero
from jimpact.types import Flag, Scalar, Whole

__all__ = [
    "Accuracy",
    "Lane",
    "Line",
    "Stage",
    "State",
    "changes_by",
    "lane_of",
    "look",
    "magnitudes",
    "slopes_along",
    "start",
    "with_changes",
]

TRUSTED, MOST_TRUSTED = 1e3, 1e-3  # trusted = min(TRUSTED x tolerance, MOST_TRUSTED)
DERIVATIVES, LEAST = 1e3, 1e-7  # derivative_tolerance = max(DERIVATIVES x tolerance, LEAST)


class Accuracy(NamedTuple):
    """Number of steps, and tolerance of each step relative to the impulse."""

    steps: int
    tolerance: float
    line: float = 0.01  # rad: tolerance of event "l", the angle to an invariant direction

    @property
    def derivative_tolerance(self) -> float:
        """Tolerance of derivatives in each step."""
        return max(DERIVATIVES * self.tolerance, LEAST)

    @property
    def trusted(self) -> float:
        """A lane that violates a condition by more than this share of its impulse is UNFINISHED."""
        return min(TRUSTED * self.tolerance, MOST_TRUSTED)


class Lane(NamedTuple):
    """The constants of an impact."""

    contact: Constants
    x0: Scalar  # velocity before
    y0: Scalar
    v0: Scalar
    e: Scalar
    sticks: Flag  # zero slip persists
    held: Flag  # zero slip persists by static friction alone: kinetic friction would not suffice
    tx: Scalar  # minus the friction per normal impulse from zero slip on: that of stick, or along the diverging ray
    ty: Scalar
    rate: Scalar  # a bound of |g| and |h| that is not zero; no derivative


class Stage(IntEnum):
    """How a lane continues."""

    SLIP = 0  # with more steps
    STOP = 1  # to the stop, by a Taylor series
    ZERO = 2  # to zero slip before any other event, and on to the end, in closed form


class Line(NamedTuple):
    """Event "l": slip and normal impulse before the step that reaches an invariant direction."""

    x: Scalar
    y: Scalar
    p: Scalar  # nan before the event


class State(NamedTuple):
    """The state of a lane after some steps."""

    x: Scalar  # slip
    y: Scalar
    v: Scalar  # normal velocity
    ix: Scalar  # tangential impulse so far
    iy: Scalar
    ledger: Ledger
    memory: Scalar  # share that is left of a small change of the initial slip across its direction; no derivative
    stage: Whole
    zero_at: Scalar  # normal impulse at which slip first counted as zero; nan before
    compressing_at_zero: Flag
    line: Line


def lane_of(contact: Constants, x0: Scalar, y0: Scalar, v0: Scalar, e: Scalar, static: Scalar) -> Lane:
    stick, held, tx, ty = friction_from_zero(contact, static)
    rate = largest(norm(contact.dx, contact.dy) + contact.mu * (contact.bxx + contact.byy))
    return Lane(contact, x0, y0, v0, e, stick, held, tx, ty, rate)


def start(lane: Lane) -> State:
    """The state before the first step."""
    zero, still = jnp.zeros_like(lane.v0), (lane.x0 == 0) & (lane.y0 == 0)
    stage = jnp.where(still, Stage.ZERO, Stage.SLIP).astype(jnp.int8)
    one, nan = jnp.ones_like(zero), jnp.full_like(zero, jnp.nan)
    zero_at, line = where(still, zero, nan), Line(one, zero, nan)
    return State(lane.x0, lane.y0, lane.v0, zero, zero, open_ledger(zero), one, stage, zero_at, still, line)


def magnitudes(lane: Lane, state: State) -> tuple[Scalar, Scalar]:
    """Magnitude of the normal impulse (at least 1), and of the terms whose sum is slip."""
    p = state.ledger.impulse
    return jnp.maximum(p, 1), norm(lane.x0, lane.y0) + lane.rate * p


def look(lane: Lane, state: State) -> View:
    """Slip and the invariant direction nearby; a harmless stand-in where there is no slip."""
    still = (state.x == 0) & (state.y == 0)
    return view(lane.contact, lane.rate, where(still, 1, state.x), where(still, 0, state.y))


def with_changes(state: State, changes: tuple[Scalar, ...]) -> State:
    """The state plus changes, in the order of `changes_by`."""
    x, y, v, ix, iy, p, work = changes
    return state._replace(
        x=state.x + x,
        y=state.y + y,
        v=state.v + v,
        ix=state.ix + ix,
        iy=state.iy + iy,
        ledger=book(state.ledger, p, work),
    )


def slopes_along(contact: Constants, tx: Scalar, ty: Scalar, turning: Scalar) -> tuple[Scalar, Scalar]:
    """dv/dp and d2v/dp2 under the friction -(tx, ty) per normal impulse, which turns at the rate `turning`."""
    return contact.w - contact.dx * tx - contact.dy * ty, (contact.dx * ty - contact.dy * tx) * turning


def changes_by(contact: Constants, tx: Scalar, ty: Scalar, turning: Scalar, v: Scalar, p: Scalar) -> tuple[Scalar, ...]:
    """The changes of slip, normal velocity, impulses and work by a normal impulse p, under the same friction."""
    k, k2 = slopes_along(contact, tx, ty, turning)
    half, zero = 0.5 * p * p * turning, jnp.zeros_like(p)
    ix, iy = half * ty - tx * p, -half * tx - ty * p
    slip_x, slip_y, _ = moved(contact, zero, zero, zero, ix, iy, p)
    return slip_x, slip_y, k * p + 0.5 * k2 * p * p, ix, iy, p, work_over(v, k, k2, p)
