"""Event "l": where the direction of slip becomes invariant, to within a tolerance.

An invariant direction is reached only asymptotically, except by starting on it, so the moment is a matter of tolerance.
The direction that slip turns to is the first root of h ahead (`rays.destination`), so a mark, short of it by the
tolerance, is known at the start; the moment is found when slip crosses it. A lane that leaves the steps for a straight
line before that gets it from the linear flow, in which the turn to go falls as a power of slip. Nothing here changes
the solution, or carries a derivative.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.hodograph import Lane, Slide, series_at, velocity
from jimpact.numerics import divide, horner, norm, root_in, where
from jimpact.parts import elementwise
from jimpact.rays import Plane, destination, rates, slopes, turn_ahead
from jimpact.series import impulse_at
from jimpact.types import Flag, Scalar

__all__ = ["Mark", "crossed", "invariant_from", "mark_of", "unmarked"]

NEWTON_STEPS = 12  # to the crossing


class Mark(NamedTuple):
    """A unit vector, and the sense, +1 or -1, in which slip crosses it; 0 where slip starts that close."""

    x: Scalar
    y: Scalar
    sense: Scalar


def mark_of(lane: Lane, tolerance: float) -> Mark:
    """The mark that slip has to cross."""
    return Mark(**MARK(tolerance, *stop_gradient((lane.x0, lane.y0, *lane.plane))))


def _marked(
    tolerance: float, wanted: tuple[str, ...], go: Flag, x: Scalar, y: Scalar, *plane: Scalar
) -> dict[str, Scalar]:
    r = norm(x, y)
    sx, sy = where(r > 0, divide(x, r), 1), divide(y, r)
    ex, ey = destination(Plane(*plane), sx, sy)
    near = (sx * ex + sy * ey > 0) & (jnp.abs(sx * ey - sy * ex) <= math.sin(tolerance))
    sense = where(near, 0, jnp.sign(rates(Plane(*plane), sx, sy)[1]))
    c, s = math.cos(tolerance), -sense * math.sin(tolerance)
    return Mark(ex * c - ey * s, ey * c + ex * s, sense)._asdict()


MARK = elementwise("mark", _marked, Mark._fields)


def unmarked(lane: Lane, mark: Mark) -> Scalar:
    """Normal impulse at the crossing, before the first step: 0 where slip starts beyond the mark, else nan."""
    away = ((lane.x0 == 0) & (lane.y0 == 0)) | (mark.sense != 0)
    return where(away, jnp.nan, jnp.zeros_like(lane.v0))


def crossed(lane: Lane, mark: Mark, state: Slide, length: Scalar, known: Scalar, order: int) -> Scalar:
    """Normal impulse at which slip crosses the mark of its lane in a step, if it does; else what was `known`."""
    series, _ = series_at(lane, state, order)
    mx, my = mark.x * series.sx + mark.y * series.sy, mark.y * series.sx - mark.x * series.sy
    nearing = [mark.sense * (mx * b - my * a) for a, b in zip(series.X, series.Y, strict=True)]
    along = mx * horner(series.X, length) + my * horner(series.Y, length)
    crosses = (nearing[0] < 0) & (horner(nearing, length) >= 0) & (along > 0) & (length > 0) & ~state.resting
    t = root_in(nearing, length, 0.5 * length, 0 * length, NEWTON_STEPS)
    return where(crosses & jnp.isnan(known), state.books.impulse + impulse_at(series, t)[0], known)


def invariant_from(lane: Lane, last: Slide, known: Scalar, end: Scalar, tolerance: float) -> Scalar:
    """Normal impulse (scaled) from which the direction of slip stays within `tolerance` of its invariant one.

    nan where slip never comes that close to one before the `end`.
    """
    lane, last, end = stop_gradient((lane, last, end))
    x, y, _ = velocity(lane, last)
    r = norm(x, y)
    sx, sy = divide(x, r), divide(y, r)
    g, dh, turn = rates(lane.plane, sx, sy)[0], slopes(lane.plane, sx, sy)[1], jnp.abs(turn_ahead(lane.plane, sx, sy))
    converges = last.straight & (g < 0) & (dh < 0)
    left = jnp.minimum(divide(jnp.full_like(turn, tolerance), turn, 1), 1) ** divide(g, where(converges, dh, 1))
    there = last.books.impulse + r * (1 - left) / where(converges, -g, 1)
    late = where(converges & (there <= end), there, jnp.nan)
    return where(jnp.isnan(known), late, known)
