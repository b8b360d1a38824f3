"""One impact on its way: what stays the same (`Lane`), where it is (`State`), and how accurate it shall be.

Everything is in scaled units, in which the inverse mass along the normal and the approach speed are 1.
"""

from enum import IntEnum
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.numerics import largest, norm, where
from jimpact.plane import Plane, diverging_ray, solve_b
from jimpact.restitution import Ledger, open_ledger
from jimpact.types import Flag, Scalar, Whole

__all__ = ["Accuracy", "Lane", "Line", "Stage", "State", "lane_of", "size_of", "start"]

TRUSTED, MOST_TRUSTED = 1e3, 1e-3  # trusted = min(TRUSTED x tolerance, MOST_TRUSTED)
SLOPES, LEAST_SLOPE = 1e3, 1e-7  # slope tolerance = max(SLOPES x tolerance, LEAST_SLOPE)


class Accuracy(NamedTuple):
    """Number of steps, and error admitted per step relative to the impulse."""

    steps: int
    tolerance: float
    line: float = 0.01  # rad: so close to an invariant direction slip counts as on it, in event "l"

    @property
    def slope_tolerance(self) -> float:
        """Error admitted in a derivative, likewise."""
        return max(SLOPES * self.tolerance, LEAST_SLOPE)

    @property
    def trusted(self) -> float:
        """A lane that breaks a promise by more than this share of its impulse is UNFINISHED."""
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
    rate: Scalar  # bounds g and h, not zero; no derivative


class Stage(IntEnum):
    """What is left to do."""

    SLIP = 0  # more steps
    STOP = 1  # the end is so near that a Taylor series reaches it
    ZERO = 2  # slip falls to zero before anything else happens: the rest is in closed form


class Line(NamedTuple):
    """Event "l": the step that reaches an invariant direction, by slip and normal impulse before it."""

    x: Scalar
    y: Scalar
    p: Scalar  # nan before


class State(NamedTuple):
    """Where a lane is."""

    x: Scalar  # slip
    y: Scalar
    v: Scalar  # normal velocity
    ix: Scalar  # tangential impulse so far
    iy: Scalar
    ledger: Ledger
    memory: Scalar  # share of an initial change of slip, across the path, that survives; no derivative
    stage: Whole
    zero_at: Scalar  # normal impulse at which slip was first so small that it counts as zero; nan before
    compressing_at_zero: Flag
    line: Line


def lane_of(plane: Plane, x0: Scalar, y0: Scalar, v0: Scalar, e: Scalar, static: Scalar) -> Lane:
    ux, uy = solve_b(plane, plane.dx, plane.dy)
    needed = ux * ux + uy * uy
    sticks = needed <= static * static
    qx, qy = diverging_ray(plane, ~sticks)
    tx, ty = where(sticks, ux, plane.mu * qx), where(sticks, uy, plane.mu * qy)
    rate = largest(norm(plane.dx, plane.dy) + plane.mu * (plane.bxx + plane.byy))
    held = sticks & (needed > plane.mu * plane.mu)
    return Lane(plane, x0, y0, v0, e, sticks, held, tx, ty, rate)


def start(lane: Lane) -> State:
    """Before the first step."""
    zero, still = jnp.zeros_like(lane.v0), (lane.x0 == 0) & (lane.y0 == 0)
    stage = jnp.where(still, Stage.ZERO, Stage.SLIP).astype(jnp.int8)
    one, nan = jnp.ones_like(zero), jnp.full_like(zero, jnp.nan)
    zero_at, line = where(still, zero, nan), Line(one, zero, nan)
    return State(lane.x0, lane.y0, lane.v0, zero, zero, open_ledger(zero), one, stage, zero_at, still, line)


def size_of(lane: Lane, state: State) -> tuple[Scalar, Scalar]:
    """Scale of the normal impulse (at least 1), and scale of the terms whose sum is slip."""
    p = state.ledger.impulse
    return jnp.maximum(p, 1), norm(lane.x0, lane.y0) + lane.rate * p
