"""Events at the present state and ahead of it: end of compression, further compression, the stop; and event "l".

While slip has one direction, k = dv/dp is constant; k2 = dk/dp is its change as slip turns. The normal impulse to the
next event follows from k and k2. A step lands near an event, not on it; `_is_here` says whether terms of second order
correct the landing error.

Event "l": the direction of slip becomes invariant. Unless it starts there, slip only approaches the direction, so the
event is the entry into a tolerance. The first step that ends within it is `noted`. Near an attracting direction the
angle is a known function of the clock of this step. So `line_start` has the clock of the entry in closed form, and
`advance` gives the normal impulse there.

Only `slopes_of` carries a derivative.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, norm, sqrt, where
from jimpact.slip.advance import advance
from jimpact.slip.flow import Constants, View, view
from jimpact.slip.restitution import Slopes, StopRule, change_phase
from jimpact.slip.state import Lane, Line, State, magnitudes
from jimpact.types import Flag, Scalar

__all__ = ["LONG", "Ahead", "line_start", "look_ahead", "noted", "slopes_of", "within"]

LANDED = 1e-14  # largest second-order term of a landing error, relative to the impulse
ROUND = 0.03  # the same in units of epsilon, for float32
NEARBY = 1e-2  # largest landing error, relative to the impulse and to k, and in rad
GROWN = 0.1  # largest relative growth of slip over a landing error
FLAT_FALL = 1e-4  # if k is closer to 0, relative to its largest change, the lane counts as beyond k = 0
LONG = 8.0  # logarithm of the decay of slip or of the angle after which Gauss's rule adds nothing significant
SLOWEST = 8  # x epsilon x the largest rate: slower turning is round-off
FAR = 1e3  # a distance that is not here
PAST = 1.0001  # x the distance to k = 0, so that the next step starts beyond it


class Ahead(NamedTuple):
    """Events at the present state and ahead of it."""

    changes: Flag  # the phase changes here
    stops: Flag  # the impact ends here
    event: Scalar  # normal impulse to the next event; negative if the lane is past it, inf if none is predicted
    extremum: Scalar  # tau to k = 0, an extremum of v; inf if there is none ahead


def slopes_of(lane: Lane, at: View) -> Slopes:
    here, most = at.here, lane.contact.mu * at.rate
    return Slopes(lane.contact.w - most * here.a, -most * here.b * here.h / at.unit, jnp.abs(here.dh) / at.unit)


def look_ahead(lane: Lane, state: State, at: View, rule: StopRule) -> Ahead:
    slopes, v, c = slopes_of(lane, at), state.v, state.ledger.compressing
    k, k2, _ = slopes
    rises = k > 0
    bend = where(_is_straight(at), 0, divide(k2, k))
    at_rest = (k != 0) & _is_here(lane, state, at, divide(v, k), bend)
    ledger = change_phase(state.ledger, at_rest & c & rises, v, k, k2)
    distance = rule.distance(rule.missing(ledger, v, lane.v0, lane.e), v, slopes, ledger, lane.e)
    known = jnp.isfinite(distance)
    turning = jnp.maximum(lane.contact.mu, 1) * at.here.h / at.unit
    stops = ~ledger.compressing & known & ~((v < 0) & ~rises)
    stops &= _is_here(lane, state, at, where(known, distance, FAR), turning)
    begins = at_rest & ~c & ~rises & ~stops  # a further compression
    ledger = ledger._replace(phase=ledger.phase + begins.astype(jnp.int8))
    overshot = (v > 0) & (ledger.phase == 0)  # later compressions begin within a landing error of v = 0
    crosses = _crossing(lane, v, slopes, ledger.compressing, overshot)
    event = where(ledger.compressing, crosses, jnp.minimum(distance, crosses))
    missed = ~c & rises & (v < 0) & ~at_rest  # the last step passed the start of a compression: step back to it
    back = -(k + sqrt(k * k - 2 * k2 * v)) / where(k2 > 0, k2, 1)
    event = where(missed, where(k2 > 0, back, 2 * divide(v, k)), event)
    return Ahead((at_rest & c & rises) | begins, stops, event, _to_extremum(lane, at, k))


def _is_here(lane: Lane, state: State, at: View, x: Scalar, curved: Scalar) -> Flag:
    """Whether Taylor terms correct a landing error x, over which the slope changes at the relative rate `curved`."""
    size, _ = magnitudes(lane, state)
    x, curved = jnp.abs(x), jnp.abs(curved)
    small = (x <= NEARBY * size) & (x * jnp.abs(at.here.g) <= GROWN * at.unit) & (x * curved <= NEARBY)
    return small & (x * x * curved <= max(LANDED, ROUND * float(jnp.finfo(x.dtype).eps)) * size)


def _crossing(lane: Lane, v: Scalar, slopes: Slopes, compressing: Flag, overshot: Flag) -> Scalar:
    """Normal impulse to the next v = 0, with v rising in compression and falling in restitution."""
    k, k2, fade = slopes
    sign = where(compressing, jnp.ones_like(v), -1)
    k2 = k2 / (1 + fade * jnp.abs(divide(v, k)))
    root = _rising_root(sign * v, sign * k, sign * k2)
    contact = lane.contact
    may_fall = contact.mu * norm(contact.dx, contact.dy) > contact.w
    seen = (sign * k > 0) | ((root > 0) & (compressing | may_fall)) | overshot
    return where(seen, root, jnp.inf)


def _to_extremum(lane: Lane, at: View, k: Scalar) -> Scalar:
    """tau to k = 0, an extremum of v that a step must not pass."""
    contact, here, mu = lane.contact, at.here, lane.contact.mu * at.rate
    dk = -mu * here.b * here.h
    ddk = mu * here.h * (here.a * here.h - here.b * here.dh)
    most, sign = contact.mu * norm(contact.dx, contact.dy), where(k < 0, -jnp.ones_like(k), 1)
    length = _rising_root(-jnp.abs(k), -sign * dk, -sign * ddk)
    there = (most > contact.w) & (jnp.abs(k) > FLAT_FALL * most) & (length > 0)
    return where(there, PAST * length, jnp.inf)


def _rising_root(c: Scalar, b: Scalar, a: Scalar) -> Scalar:
    """x with c + b x + a x^2 / 2 = 0 and a slope b + a x > 0 there; inf where there is none.

    If the parabola is above zero everywhere, the result is a step back along its slope.
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
    """Whether, after a step, slip is within the tolerance of an attracting direction, or does not turn at all."""
    close = at.near & (at.axes.dh < 0) & (jnp.abs(at.Y) * jnp.exp(at.axes.dh * length) <= math.tan(tolerance) * at.X)
    return close | _is_straight(at)


def _is_straight(at: View) -> Flag:
    """Whether slip does not turn, to round-off."""
    return jnp.abs(at.here.h) <= SLOWEST * jnp.finfo(at.r.dtype).eps


def noted(line: Line, now: Line, reached: Flag) -> Line:
    """`now`, if it is the first step that has reached the direction."""
    new = jnp.isnan(line.p) & reached
    return stop_gradient(Line(*(where(new, a, b) for a, b in zip(now, line, strict=True))))


def line_start(contact: Constants, rate: Scalar, line: Line, tolerance: float) -> Scalar:
    """Normal impulse from which slip stays within the tolerance of its invariant direction; nan if it never does."""
    contact, rate, line = stop_gradient((contact, rate, line))
    at = view(contact, rate, line.x, line.y)
    turns = at.near & (at.axes.dh < 0) & (at.Y != 0)
    fall = jnp.log(where(turns, jnp.abs(at.Y) / at.X, 1) / math.tan(tolerance))
    t = where(turns, jnp.maximum(fall, -LONG) / where(turns, -at.axes.dh, 1), 0)
    p = advance(contact, at, t, jnp.abs(at.axes.g * t) > LONG).p
    return jnp.maximum(line.p + p, 0)
