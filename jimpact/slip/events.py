"""What happens here, and what comes next? End of compression, a new compression, the stop; and event "l".

While slip has one direction, dv/dp = k is constant; it changes by k2 as slip turns. Distances to events follow from
that, in units of normal impulse. A step lands near an event, not on it; `_is_here` says whether terms of second order
cover the landing error.

Event "l" is where the direction of slip becomes invariant. That happens only asymptotically, except by a start on it,
so the moment is a matter of tolerance. Beside an attracting direction the angle to it is the clock of a step. So the
first step that ends within the tolerance is noted, the clock at the tolerance has a closed form, and `advance` gives
its normal impulse.

Only `slopes_of` carries a derivative.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, norm, sqrt, where
from jimpact.plane import Plane
from jimpact.restitution import Slopes, StopRule, change_phase
from jimpact.slip.advance import advance
from jimpact.slip.flow import View, view
from jimpact.slip.lane import Lane, Line, State, size_of
from jimpact.types import Flag, Scalar

__all__ = ["LONG", "Ahead", "line_start", "look_ahead", "noted", "slopes_of", "within"]

LANDED = 1e-14  # of the impulse: largest second-order term of a landing
ROUND = 0.03  # x epsilon: the same in float32
NEARBY = 1e-2  # of the impulse, of k and in rad: a landing no further than this
GROWN = 0.1  # of slip: its growth over a landing, at most
FLAT_FALL = 1e-4  # of the largest change of k: closer to k = 0 than this, a lane is past it
LONG = 8.0  # decay of slip or of the angle, as a logarithm: beyond it Gauss's rule adds nothing that matters
SLOWEST = 8  # x epsilon x the largest rate: slower turning is round-off
PAST = 1.0001  # x the distance to k = 0: the next step starts beyond it


class Ahead(NamedTuple):
    """Events here and ahead."""

    changes: Flag  # the phase changes here
    stops: Flag  # the impact ends here
    event: Scalar  # normal impulse to the next event; negative if the lane is past it, inf if there is none to be seen
    extremum: Scalar  # tau to k = 0, where v has one; inf if there is none ahead


def slopes_of(lane: Lane, at: View) -> Slopes:
    here, most = at.here, lane.plane.mu * at.rate
    return Slopes(lane.plane.w - most * here.a, -most * here.b * here.h / at.unit, jnp.abs(here.dh) / at.unit)


def look_ahead(lane: Lane, state: State, at: View, rule: StopRule) -> Ahead:
    slopes, v, c = slopes_of(lane, at), state.v, state.ledger.compressing
    k, k2, _ = slopes
    rises = k > 0
    at_rest = (k != 0) & _is_here(lane, state, at, divide(v, k), divide(k2, k))
    ledger = change_phase(state.ledger, at_rest & c & rises, v, k, k2)
    distance = rule.distance(rule.missing(ledger, v, lane.v0, lane.e), v, slopes, ledger, lane.e)
    known = jnp.isfinite(distance)
    weighted = jnp.maximum(lane.plane.mu, 1) * at.here.h / at.unit
    stops = ~ledger.compressing & known & ~((v < 0) & ~rises)
    stops &= _is_here(lane, state, at, where(known, distance, 1e3), weighted)
    begins = at_rest & ~c & ~rises & ~stops  # a further compression
    ledger = ledger._replace(phase=ledger.phase + begins.astype(jnp.int8))
    overshot = (v > 0) & (ledger.phase == 0)  # later compressions begin at v = 0, but for a landing error
    crosses = _crossing(lane, at, v, slopes, ledger.compressing, overshot)
    event = where(ledger.compressing, crosses, jnp.minimum(distance, crosses))
    missed = ~c & rises & (v < 0) & ~at_rest  # a compression began on the way here: back to its start
    back = -(k + sqrt(k * k - 2 * k2 * v)) / where(k2 > 0, k2, 1)
    event = where(missed, where(k2 > 0, back, 2 * divide(v, k)), event)
    return Ahead((at_rest & c & rises) | begins, stops, event, _to_extremum(lane, at, k))


def _is_here(lane: Lane, state: State, at: View, x: Scalar, curved: Scalar) -> Flag:
    """Whether Taylor terms cover a distance x, over which things change at the rate `curved`."""
    size, _ = size_of(lane, state)
    x, curved = jnp.abs(x), jnp.abs(curved)
    small = (x <= NEARBY * size) & (x * jnp.abs(at.here.g) <= GROWN * at.unit) & (x * curved <= NEARBY)
    return small & (x * x * curved <= max(LANDED, ROUND * float(jnp.finfo(x.dtype).eps)) * size)


def _crossing(lane: Lane, at: View, v: Scalar, slopes: Slopes, compressing: Flag, overshot: Flag) -> Scalar:
    """Normal impulse to the next v = 0: rising while compressing, falling after."""
    k, k2, fade = slopes
    sign = where(compressing, jnp.ones_like(v), -1)
    k2 = k2 / (1 + fade * jnp.abs(divide(v, k)))
    root = _rising_root(sign * v, sign * k, sign * k2)
    plane = lane.plane
    may_fall = plane.mu * norm(plane.dx, plane.dy) > plane.w
    seen = (sign * k > 0) | ((root > 0) & (compressing | may_fall)) | overshot
    return where(seen, root, jnp.inf)


def _to_extremum(lane: Lane, at: View, k: Scalar) -> Scalar:
    """tau to k = 0, where v has an extremum that a step must not skip."""
    plane, here, mu = lane.plane, at.here, lane.plane.mu * at.rate
    dk = -mu * here.b * here.h
    ddk = mu * here.h * (here.a * here.h - here.b * here.dh)
    most, sign = plane.mu * norm(plane.dx, plane.dy), where(k < 0, -jnp.ones_like(k), 1)
    length = _rising_root(-jnp.abs(k), -sign * dk, -sign * ddk)
    there = (most > plane.w) & (jnp.abs(k) > FLAT_FALL * most) & (length > 0)
    return where(there, PAST * length, jnp.inf)


def _rising_root(c: Scalar, b: Scalar, a: Scalar) -> Scalar:
    """x with c + b x + a x^2 / 2 = 0 and a slope b + a x > 0 there; inf where there is none.

    If the parabola misses zero from above, a step back along its slope.
    """
    square = b * b - 2 * a * c
    real = square >= 0
    root = jnp.sqrt(where(real, square, 1))
    both = b + root
    plain = (both > 1e-12 * jnp.abs(b)) & ((b >= 0) | (a <= 0))  # else b + root cancels
    far = where(a > 0, (root - b) / where(a > 0, a, 1), jnp.inf)
    x = where(plain, -2 * c / where(plain, both, 1), far)
    rises = b > 0
    return where(real, x, where((c > 0) & rises, -c / where(rises, b, 1), jnp.inf))


def within(at: View, length: Scalar, tolerance: float = 0) -> Flag:
    """Whether slip is within the tolerance of an attracting direction after a step, or does not turn at all."""
    close = at.near & (at.axes.dh < 0) & (jnp.abs(at.Y) * jnp.exp(at.axes.dh * length) <= math.tan(tolerance) * at.X)
    return close | (jnp.abs(at.here.h) <= SLOWEST * jnp.finfo(at.r.dtype).eps)


def noted(line: Line, now: Line, reached: Flag) -> Line:
    """`now`, if it is the first step that has reached the direction."""
    new = jnp.isnan(line.p) & reached
    return stop_gradient(Line(*(where(new, a, b) for a, b in zip(now, line, strict=True))))


def line_start(plane: Plane, rate: Scalar, line: Line, tolerance: float) -> Scalar:
    """Normal impulse from which the direction of slip stays within the tolerance of its invariant one; nan if never."""
    plane, rate, line = stop_gradient((plane, rate, line))
    at = view(plane, rate, line.x, line.y)
    turns = at.near & (at.axes.dh < 0) & (at.Y != 0)
    fall = jnp.log(where(turns, jnp.abs(at.Y) / at.X, 1) / math.tan(tolerance))
    t = where(turns, jnp.maximum(fall, -LONG) / where(turns, -at.axes.dh, 1), 0)
    p = advance(plane, at, t, jnp.abs(at.axes.g * t) > LONG).p
    return jnp.maximum(line.p + p, 0)
