"""Length and kind of the next step, chosen for each lane before the step; no step is ever rejected.

A step goes to the next event (`events`), or as far as the tolerance allows. Near an event this is Newton's method: a
lane that went too far steps back. There are two kinds of step: linear, where slip is so close to an invariant direction
that Gauss's rule adds nothing significant, and curved elsewhere. The steps end, and `closed_end` takes over, where slip
falls to zero before the next event in a linear flow or nearly straight, or where slip is negligible.

The error of a curved step is estimated as amplitude / rate x (rate x length)^(2 NODES + 1) / SMOOTH. The amplitude
is the integrand of Gauss's rule: h, or the second order in the angle to the invariant direction nearby. Nothing here
carries a derivative.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.numerics import divide, ratio, where
from jimpact.slip.advance import NODES, pace, series_error
from jimpact.slip.flow import View
from jimpact.slip.state import Accuracy, Lane, State, magnitudes
from jimpact.types import Flag, Scalar

__all__ = ["Size", "clock_to", "step_size"]

SMOOTH = 3e8  # calibrated on steps with many nodes
CAUTION = 10  # safety factor: the estimate is up to 10 times too small, if no invariant direction is near
POLE = 0.7  # largest share of the distance to a pole of omega
LINEAR_SHARE = 0.1  # share of the tolerance for the error of a linear step
WELL_LINEAR = 2  # least tolerance / error of the linear flow for a linear step
GROWTH, CURVED_GROWTH = 1 / 3, 2 / 9  # share of its digits that a derivative may lose as slip grows, in one step
CURVED_DECAY = 40.0  # largest logarithm of the decay of slip in a curved step
UNSETTLED = 1e-3  # largest relative change of dv/dp, as slip settles on its direction, for which events are predicted
SETTLED = 36.0  # logarithm of the decay of the angle to the direction down to round-off
LEAST = 0.45  # slip stays above the smallest number to this power, so that derivatives do not overflow
SLOW = 0.15  # largest turn of slip, while it falls to zero, for the closed form
WORK = 50.0  # x the square of that turn: a fitted bound of the error of the work
MOST_DERIVATIVE = 1e-4  # largest derivative error of the closed form, unless the tolerance is larger
RESONANT = 0.25  # least |g + 2 dh| and |g + 3 dh|, relative to |g|, for the closed form: its error grows near zero
ESCAPE = 18.0  # logarithm of the decay of the term, beside a repelling direction, that the series lacks
ROUND = 8  # x epsilon x its terms: below this a rate, or slip, is round-off


class Size(NamedTuple):
    """Length and kind of the next step."""

    reach: Scalar  # clock t of the step x `View.unit`; 0: no step
    linear: Flag
    ends: Flag  # slip may go to zero in closed form, without further steps


class Error(NamedTuple):
    """Tolerances of a step, and quantities for the estimate of its error."""

    angle: Scalar  # between slip and the axis of the step
    change: Scalar  # d(angle)/d(slip before the impact) x tolerance / derivative_tolerance, to compare with `admitted`
    admitted: Scalar  # tolerance relative to slip
    admitted_derivative: Scalar  # the same for a derivative, which may matter where slip itself is negligible
    curving: Scalar  # second-order rate at an invariant direction


def step_size(lane: Lane, state: State, at: View, event: Scalar, extremum: Scalar, accuracy: Accuracy) -> Size:
    """The next step, for the normal impulse to the next event and the clock to an extremum of v (`events.Ahead`)."""
    error = _errors(lane, state, at, accuracy)
    g, settling = jnp.abs(at.axes.g), jnp.abs(at.here.dh)
    level = _level(at, error)
    attracts = (at.here.dh < 0) | level
    margin = where(at.near | level, _margin(lane, state, at, error, accuracy), 0)
    ends = _ends(lane, state, at, error, accuracy, event, (margin >= 1) & attracts)

    linear = at.near & (margin >= WELL_LINEAR)
    reach = where(attracts, jnp.inf, 0.5 * divide(jnp.log(jnp.maximum(margin, 1)), settling))
    decay = jnp.log(jnp.maximum(at.r / float(jnp.finfo(at.r.dtype).tiny) ** LEAST, 1))
    limit = ratio(where(at.axes.g > 0, GROWTH * _digits(g), decay), g)
    curved = jnp.minimum(_curved_length(at, error), limit)
    speed = pace(at)
    # Where dv/dp is small and changes much while slip settles on its direction, slip must settle before an event.
    k, change = lane.contact.w - lane.contact.mu * at.rate * at.here.a, lane.contact.mu * at.rate * at.axes.b * at.Y
    limit = where(jnp.abs(change) > UNSETTLED * jnp.abs(k), jnp.minimum(limit, ratio(SETTLED, settling)), limit)
    longest = jnp.minimum(where(linear, jnp.minimum(reach, limit), curved), extremum / speed)
    backward = -jnp.minimum(curved, ratio(1, g + at.axes.f))
    growth = where(margin >= 1, at.axes.g, at.here.g)
    to_event = clock_to(event / (at.unit * speed), growth * speed)
    length = jnp.maximum(jnp.minimum(longest, to_event), backward)
    return Size(length * at.unit, linear, ends)


def _tiny(like: Scalar) -> float:
    return float(jnp.finfo(like.dtype).tiny) ** 0.5


def _digits(like: Scalar) -> float:
    return -math.log(float(jnp.finfo(like.dtype).eps))


def _errors(lane: Lane, state: State, at: View, accuracy: Accuracy) -> Error:
    size, _ = magnitudes(lane, state)
    weight = jnp.maximum(lane.contact.mu, 1)
    admitted = accuracy.tolerance * size / (at.unit * weight) + _tiny(at.r)
    change = state.memory / (at.r * (accuracy.derivative_tolerance / accuracy.tolerance))
    curving = jnp.abs(at.axes.a) + jnp.abs(at.axes.b) + jnp.abs(at.here.dh)
    return Error(jnp.abs(at.Y), change, admitted, jnp.minimum(admitted, accuracy.derivative_tolerance), curving)


def _level(at: View, error: Error) -> Flag:
    """Whether slip is on its invariant direction to round-off."""
    round_off = ROUND * jnp.finfo(at.r.dtype).eps
    there = at.near & (error.angle * jnp.abs(at.here.dh) <= round_off)
    return (jnp.abs(at.here.h) <= round_off) | there


def _margin(lane: Lane, state: State, at: View, error: Error, accuracy: Accuracy) -> Scalar:
    """Tolerance / error of the linear flow."""
    admitted = _admitted_if_linear(lane, magnitudes(lane, state)[0], at, accuracy)
    own = jnp.minimum(admitted, accuracy.derivative_tolerance)
    bend = error.angle * jnp.maximum(error.angle / own, error.change / admitted)
    bend = bend * (1 + where(at.near, ratio(1, jnp.abs(at.here.dh)), 1))
    return ratio(LINEAR_SHARE, bend)


def _admitted_if_linear(lane: Lane, size: Scalar, at: View, accuracy: Accuracy) -> Scalar:
    """Relative tolerance of slip along a line on which it falls at the rate g."""
    return accuracy.tolerance * jnp.maximum(size * jnp.abs(at.axes.g) / at.unit, 1) / jnp.maximum(lane.contact.mu, 1)


def _curved_length(at: View, error: Error) -> Scalar:
    rate, longest = _rates(at, error)
    own = where(at.near, error.angle * error.angle * error.curving, CAUTION * jnp.abs(at.here.h))
    changed = error.change * where(at.near, error.angle * error.curving, jnp.abs(at.here.dh))
    worst = jnp.maximum(own / error.admitted_derivative, changed / error.admitted)
    length = (worst / (SMOOTH * rate) + _tiny(at.r)) ** (-1 / (2 * NODES + 1)) / rate
    most = ratio(where(at.axes.g < 0, CURVED_DECAY, CURVED_GROWTH * _digits(length)), jnp.abs(at.axes.g) + at.axes.f)
    return jnp.minimum(length, jnp.minimum(longest, most))


def _rates(at: View, error: Error) -> tuple[Scalar, Scalar]:
    """Rate at which the integrands of a step vary, and the length allowed by the next pole of omega."""
    here, near = at.here, at.near
    h, dh, g = jnp.abs(here.h), jnp.abs(here.dh), jnp.abs(here.g)
    # Far from an invariant direction, with J = dh: 1 / omega = 1 + second t^2 + O((third t)^3).
    second, third = here.h * (0.5 * here.b + here.c), jnp.cbrt(jnp.abs(here.a) * h * h)
    poles = where(second < 0, -6 * second, 2 * second) + 3 * third * third
    turning = jnp.sqrt(0.7 * dh * dh + poles + 0.4 * g * g + 2 * h * h)
    leaving = where(here.dh > 0, 2 * dh, dh) + 0.7 * g
    pole = jnp.sqrt(where(second < 0, -second, 0.1 * second)) + third + 0.1 * dh + 0.5 * h
    # Near an invariant direction: omega = 1 / (1 + q psi / dh).
    bend = error.angle * jnp.abs(0.5 * at.axes.b + at.axes.c)
    out = where(here.dh > 0, ratio(jnp.log(jnp.maximum(ratio(POLE * dh, bend), 2)), dh), jnp.inf)
    return where(near, leaving, turning) + _tiny(at.r), where(near, out, ratio(POLE, pole))


def _ends(lane: Lane, state: State, at: View, error: Error, accuracy: Accuracy, event: Scalar, on_line: Flag) -> Flag:
    """Whether slip may go to zero in closed form before the next event."""
    size, terms = magnitudes(lane, state)
    g, r = at.axes.g, at.r
    # Slip reaches zero before the event, or together with an event that is just behind.
    ahead = where(jnp.abs(event) <= accuracy.tolerance * size, jnp.abs(event), event)
    falls = (g < 0) & (at.unit * at.X <= -g * ahead)
    # Slip is negligible: only its derivative matters, and a change of the initial slip has died out.
    faint = at.near & (g < 0) & (at.unit < accuracy.tolerance * size * jnp.abs(g))
    faint &= state.memory <= accuracy.derivative_tolerance
    faint &= error.angle * error.angle <= 10 * accuracy.derivative_tolerance
    # Slip is zero within round-off, and static friction holds it, but kinetic friction would not.
    held = lane.held & (g != 0) & (at.here.g != 0) & (r <= ROUND * jnp.finfo(r.dtype).eps * terms)
    return (falls & (on_line | _slow(lane, state, at, error, accuracy))) | faint | held


def _slow(lane: Lane, state: State, at: View, error: Error, accuracy: Accuracy) -> Flag:
    """Whether slip hardly turns while it falls to zero, as `advance.impulse_to_zero` assumes."""
    size, _ = magnitudes(lane, state)
    here, inverse = at.here, ratio(1, jnp.abs(at.here.g))
    turned, off = jnp.abs(here.h) * inverse, series_error(at)
    apart = jnp.minimum(jnp.abs(here.g + 2 * here.dh), jnp.abs(here.g + 3 * here.dh)) * inverse
    admitted = _admitted_if_linear(lane, size, at, accuracy)
    changed = off * (1 + ratio(jnp.abs(here.dh), jnp.abs(here.h))) * error.change
    work = WORK * (turned * inverse) ** 2 * (jnp.abs(here.a) + jnp.abs(here.b)) * at.unit
    lost = at.unit < accuracy.tolerance * size  # negligible slip, which would need many steps
    allowed = accuracy.derivative_tolerance * where(lost, jnp.full_like(off, 10), 1)
    allowed = jnp.minimum(allowed, max(MOST_DERIVATIVE, accuracy.derivative_tolerance))
    fine = (off <= jnp.minimum(admitted, allowed)) & (changed <= admitted)
    fine &= (work * at.r <= accuracy.tolerance * size) & (work <= accuracy.derivative_tolerance)
    # Beside a repelling direction the impulse to zero has a term angle^(-g/dh), which the series lacks.
    hidden = (jnp.abs(here.g) - here.dh) * -jnp.log(error.angle + _tiny(at.r)) > here.dh * ESCAPE
    return fine & (~at.near | (here.dh < 0) | hidden) & (turned < SLOW) & (apart > RESONANT)


def clock_to(q: Scalar, growth: Scalar) -> Scalar:
    """Length of the clock for a normal impulse q on a straight line, in units of `View`; inf if slip ends before."""
    grown, never = growth * q, where(q < 0, -jnp.inf, jnp.full_like(q, jnp.inf))
    reached = jnp.isfinite(q) & (grown > -1 + 64 * jnp.finfo(q.dtype).eps)
    grown, q = where(reached, grown, 1), where(reached, q, 0)
    small = jnp.abs(grown) < 1e-5
    share = where(small, 1 - 0.5 * grown, jnp.log1p(grown) / where(small, 1, grown))
    return where(reached, q * share, never)
