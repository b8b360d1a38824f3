"""One impact on its way: what stays the same (`Lane`), where it is (`State`), and how accurate it shall be.

Everything is in scaled units, in which the inverse mass along the normal and the approach speed are 1.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.lax import stop_gradient

from jimpact.numerics import norm, where
from jimpact.rays import Plane, diverging_ray, largest_rate, solve_b
from jimpact.restitution import Ledger, open_ledger
from jimpact.slip.line import Crossing, Mark, mark_of, no_crossing
from jimpact.types import Flag, Scalar

__all__ = ["Accuracy", "Lane", "State", "lane_of", "size_of", "start"]

TRUSTED, MOST_TRUSTED = 1e3, 1e-3  # x the tolerance, and whatever that is
SLOPES, LEAST_SLOPE = 1e3, 1e-7  # a derivative may be wrong by this times the error of a value, or by this


class Accuracy(NamedTuple):
    """Number of steps, and error admitted per step relative to the impulse."""

    steps: int
    tolerance: float

    @property
    def slope_tolerance(self) -> float:
        """Error admitted in a derivative, likewise."""
        return max(SLOPES * self.tolerance, LEAST_SLOPE)

    @property
    def trusted(self) -> float:
        """A broken promise by more than this, relative to the impulse, is UNFINISHED."""
        return min(TRUSTED * self.tolerance, MOST_TRUSTED)


class Lane(NamedTuple):
    """What stays the same during an impact."""

    plane: Plane
    x0: Scalar  # velocity before
    y0: Scalar
    v0: Scalar
    e: Scalar
    sticks: Flag  # zero slip persists
    held: Flag  # by static friction alone: kinetic friction would not do
    tx: Scalar  # friction per normal impulse from zero slip on: of stick, or along the diverging ray
    ty: Scalar
    rate: Scalar  # bounds g and h; no derivative
    mark: Mark  # of event "l"
    one: Scalar  # 1, as `numerics.once` wants it


class State(NamedTuple):
    """Where a lane is."""

    x: Scalar  # slip; not kept up once it was zero
    y: Scalar
    v: Scalar  # normal velocity
    ix: Scalar  # tangential impulse so far
    iy: Scalar
    last: Scalar  # normal impulse of the last step
    ledger: Ledger
    memory: Scalar  # share of a change of slip across the path, before the impact, that is still there; no derivative
    straight: Flag  # zero slip is behind: friction is (tx, ty) from now on
    done: Flag
    zero_at: Scalar  # normal impulse at which slip was first zero; nan before
    compressing_at_zero: Flag
    crossing: Crossing  # of the mark


def lane_of(
    plane: Plane, x0: Scalar, y0: Scalar, v0: Scalar, e: Scalar, static: Scalar, line_tolerance: float = 0.01
) -> Lane:
    ux, uy = solve_b(plane, plane.dx, plane.dy)
    needed = ux * ux + uy * uy
    sticks = needed <= static * static
    qx, qy = diverging_ray(plane, ~sticks)
    tx, ty = where(sticks, ux, plane.mu * qx), where(sticks, uy, plane.mu * qy)
    rate = stop_gradient(largest_rate(plane))
    held = sticks & (needed > plane.mu * plane.mu)
    mark = mark_of(plane, x0, y0, line_tolerance)
    # In scaled units w is 1: not for the compiler of a CPU, but for others.
    one = lax.platform_dependent(stop_gradient(plane.w), cpu=lambda w: w, default=jnp.ones_like)
    return Lane(plane, x0, y0, v0, e, sticks, held, tx, ty, rate, mark, one)


def start(lane: Lane) -> State:
    """Before the first step. From zero slip that sticks, an impulse stops whatever slip a neighbour has."""
    zero, still = jnp.zeros_like(lane.v0), (lane.x0 == 0) & (lane.y0 == 0)
    cx, cy = (where(still & lane.sticks, c, 0) for c in solve_b(lane.plane, -lane.x0, -lane.y0))
    v = lane.v0 + lane.plane.dx * cx + lane.plane.dy * cy
    no, ledger = jnp.zeros_like(still), open_ledger(zero)
    zero_at = where(still, zero, jnp.nan)
    one = jnp.ones_like(zero)
    return State(lane.x0, lane.y0, v, cx, cy, zero, ledger, one, still, no, zero_at, still, no_crossing(zero))


def size_of(lane: Lane, state: State) -> tuple[Scalar, Scalar]:
    """Size of the impulse, at least the one that stops a frictionless approach; and of the terms that slip sums up."""
    p = state.ledger.impulse
    return jnp.maximum(p, 1), norm(lane.x0, lane.y0) + lane.rate * p
