"""Event "l": where the direction of slip becomes invariant, to within a tolerance.

An invariant direction is reached only asymptotically, except by starting on it, so the moment is a matter of tolerance.
The direction that slip turns to is the first root of h ahead (`rays.destination`), so a mark, short of it by the
tolerance, is known at the start. The step in which slip crosses the mark is noted; the moment in it is known, since
the direction is the clock of a step. Nothing here changes the solution, or carries a derivative.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, norm, where
from jimpact.rays import Plane, destination
from jimpact.slip.advance import advance, clock_at
from jimpact.slip.flow import axes_along, view
from jimpact.types import Scalar

__all__ = ["LONG", "Crossing", "Mark", "crossed", "line_start", "mark_of", "no_crossing"]

LONG = 8.0  # decay of slip, as a logarithm: what the first order leaves out is beyond Gauss's rule, and negligible


class Mark(NamedTuple):
    """The direction to be crossed, and the sense of turning; 0 where slip starts beyond the mark, nan without slip."""

    x: Scalar
    y: Scalar
    sense: Scalar


class Crossing(NamedTuple):
    """The step in which slip crosses the mark: slip and normal impulse before it."""

    x: Scalar
    y: Scalar
    p: Scalar  # nan before


def mark_of(plane: Plane, x: Scalar, y: Scalar, tolerance: float) -> Mark:
    plane, x, y = stop_gradient((plane, x, y))
    r = norm(x, y)
    slips = r > 0
    sx, sy = where(slips, divide(x, r), 1), divide(y, r)
    ex, ey = destination(plane, sx, sy)
    near = (sx * ex + sy * ey > 0) & (jnp.abs(sx * ey - sy * ex) <= math.sin(tolerance))
    sense = where(near, 0, jnp.sign(axes_along(plane, sx, sy).h))
    cosine, sine = math.cos(tolerance), -sense * math.sin(tolerance)
    return Mark(ex * cosine - ey * sine, ey * cosine + ex * sine, where(slips, sense, jnp.nan))


def no_crossing(like: Scalar) -> Crossing:
    return Crossing(jnp.ones_like(like), jnp.zeros_like(like), jnp.full_like(like, jnp.nan))


def crossed(mark: Mark, noted: Crossing, now: Crossing, x: Scalar, y: Scalar) -> Crossing:
    """Note the step `now`, which ends with slip in the direction (x, y), if it is the one."""
    before, _ = _short_of(mark, now.x, now.y)
    after, along = _short_of(mark, x, y)
    new = jnp.isnan(noted.p) & (before < 0) & (after >= 0) & (along > 0)
    return stop_gradient(Crossing(*(where(new, a, b) for a, b in zip(now, noted, strict=True))))


def line_start(plane: Plane, rate: Scalar, mark: Mark, step: Crossing) -> Scalar:
    """Normal impulse from which the direction of slip stays within the tolerance of its invariant one; nan if never."""
    plane, rate, step = stop_gradient((plane, rate, step))
    at = view(plane, rate, step.x, step.y)
    t = clock_at(at, mark.x, mark.y)
    p = step.p + advance(plane, at, t, jnp.abs(at.axes.g * t) > LONG).p
    return where(mark.sense == 0, 0, where(jnp.isnan(mark.sense), jnp.nan, p))


def _short_of(mark: Mark, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Slip across the mark, in the sense of turning (negative before it), and along it."""
    return mark.sense * (mark.x * y - mark.y * x), mark.x * x + mark.y * y
