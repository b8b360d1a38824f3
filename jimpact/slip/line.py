"""Event "l": where the direction of slip becomes invariant, to within a tolerance.

An invariant direction is reached only asymptotically, except by starting on it, so the moment is a matter of tolerance.
The direction that slip turns to is the first root of h ahead (`rays.destination`), so a mark, short of it by the
tolerance, is known at the start. The step in which slip crosses the mark is noted, and the moment in it found by
Newton's method in the end. Nothing here changes the solution, or carries a derivative.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.lax import stop_gradient

from jimpact.numerics import divide, norm, where
from jimpact.rays import Plane, destination
from jimpact.slip.advance import curve_of, slide
from jimpact.slip.flow import axes_along, view
from jimpact.types import Flag, Scalar

__all__ = ["FAR", "Crossing", "Mark", "crossed", "line_start", "mark_of", "no_crossing"]

NEWTON_STEPS = 12  # to the crossing, kept in the step
FAR = 600.0  # decay of slip to zero, as a logarithm, where a step goes to zero


class Mark(NamedTuple):
    """The direction to be crossed, and the sense of turning; 0 where slip starts beyond the mark, nan without slip."""

    x: Scalar
    y: Scalar
    sense: Scalar


class Crossing(NamedTuple):
    """The step in which slip crosses the mark: slip and normal impulse before it, length and kind."""

    x: Scalar
    y: Scalar
    p: Scalar  # nan before
    length: Scalar
    linear: Flag


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
    zero = jnp.zeros_like(like)
    return Crossing(zero, zero, jnp.full_like(like, jnp.nan), zero, jnp.zeros_like(like, bool))


def crossed(mark: Mark, noted: Crossing, now: Crossing, x: Scalar, y: Scalar) -> Crossing:
    """Note the step `now`, which ends with slip in the direction (x, y), if it is the one."""
    before, _ = _short_of(mark, now.x, now.y)
    after, along = _short_of(mark, x, y)
    new = jnp.isnan(noted.p) & (before < 0) & (after >= 0) & (along > 0) & (now.length > 0)
    return stop_gradient(Crossing(*(where(new, a, b) for a, b in zip(now, noted, strict=True))))


def line_start(plane: Plane, rate: Scalar, mark: Mark, step: Crossing) -> Scalar:
    """Normal impulse from which the direction of slip stays within the tolerance of its invariant one; nan if never."""
    plane, rate, step = stop_gradient((plane, rate, step))
    unit = jnp.ones_like(rate)

    def closer(index: int, at: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        t, low, high = at
        _, x, y = _after(plane, rate, step, t)
        across, along = _short_of(mark, x, y)
        low, high = where(across < 0, t, low), where(across < 0, high, t)
        r = norm(x, y)
        turning = mark.sense * axes_along(plane, divide(x, r), divide(y, r)).h
        newton = t - divide(jnp.arctan2(across, along) * rate, turning)
        between = 0.5 * (low + jnp.minimum(high, 2 * low + unit))
        return where((newton >= low) & (newton <= high), newton, between), low, high

    begin = (0.5 * jnp.minimum(step.length, unit), jnp.zeros_like(rate), step.length)
    p = step.p + _after(plane, rate, step, lax.fori_loop(0, NEWTON_STEPS, closer, begin)[0])[0]
    return where(mark.sense == 0, 0, where(jnp.isnan(mark.sense), jnp.nan, p))


def _after(plane: Plane, rate: Scalar, step: Crossing, length: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Normal impulse of a part of the step, and slip after it."""
    none = jnp.isnan(step.p)
    at = view(plane, rate, where(none, 1, step.x), where(none, 0, step.y))
    long = jnp.abs(at.axes.g) * length > 100
    curve = curve_of(plane, at, where(step.linear | long, 0, length))
    move = slide(plane, at, length, curve)
    # The direction of slip is all that is asked for: where slip itself would underflow, that of the line.
    return move.p, where(long, at.axes.sx, move.x), where(long, at.axes.sy, move.y)


def _short_of(mark: Mark, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Slip across the mark, in the sense of turning (negative before it), and along it."""
    return mark.sense * (mark.x * y - mark.y * x), mark.x * x + mark.y * y
