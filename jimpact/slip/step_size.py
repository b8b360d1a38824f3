"""How long is the next step, and of what kind? Chosen per lane before the step; no step is ever rejected.

A step goes to the next event (`events`), or as far as its error allows. Near an event this is Newton's method: a lane
that went too far steps back. There are two kinds of step: curved, and linear where slip is so close to an invariant
direction that nothing is left for Gauss's rule. Where slip falls to zero before the next event, and what is left of it
is linear, hardly turns or is negligible, the steps end (`tail`).

The error of a curved step is estimated as amplitude / rate x (rate x length)^(2 NODES + 1) / SMOOTH. The amplitude
is what Gauss's rule integrates, per unit of the clock: h, or the second order in the angle to the invariant direction
nearby. Nothing here carries a derivative.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jimpact.numerics import divide, ratio, where
from jimpact.slip.advance import NODES, pace, series_error
from jimpact.slip.events import Ahead
from jimpact.slip.flow import View
from jimpact.slip.lane import Accuracy, Lane, State, size_of
from jimpact.types import Flag, Scalar

__all__ = ["Size", "clock", "step_size"]

SMOOTH = 3e8  # calibrated on steps with many nodes
CAUTION = 10  # safety factor: the estimate is up to 10 times too small, if no invariant direction is near
POLE = 0.7  # of the way to a pole of omega
LINE = 0.1  # share of the tolerance that a linear step may use up
WELL_LINEAR = 2  # x that accuracy: else a curved step is as good
GROWTH = 12.0  # largest logarithm of the growth of slip in a linear step: derivatives lose as many digits
CURVED_GROWTH, CURVED_DECAY = 8.0, 40.0  # and of growth and decay in a curved one
UNSETTLED = 1e-3  # of dv/dp: a larger change cannot be foreseen
SETTLED = 36.0  # decay of the angle to the direction, as a logarithm, to round-off
LEAST = 0.45  # power of the smallest number: slip stays above this, so that derivatives do not overflow
SLOW = 0.15  # turn of slip while it falls to zero: closed form only if less
WORK = 50.0  # x the second order of that turn, bounds the error of its work: fitted
MOST_SLOPE = 1e-4  # largest derivative error of the closed form, if no more is admitted anyway
RESONANT = 0.25  # of g: where g + 3 dh is smaller, it has a large one
ESCAPE = 18.0  # decay, as a logarithm, of what it has beside a repelling direction and the series does not see
ROUND = 8  # x epsilon x its terms: below this a rate, or slip, is round-off


class Size(NamedTuple):
    """Of the next step."""

    reach: Scalar  # length of the clock t x the unit of normal impulse here
    linear: Flag
    ends: Flag  # slip may go to zero at once, in closed form


class Error(NamedTuple):
    """What a step may neglect."""

    angle: Scalar  # to the axis of the step
    change: Scalar  # of the angle by a change of the slip before the impact, scaled to the tolerance of values
    admitted: Scalar  # relative to slip
    admitted_slope: Scalar  # the same, but for a derivative: slip may be nothing, and its change not
    curving: Scalar  # second-order rate at an invariant direction


def step_size(lane: Lane, state: State, at: View, ahead: Ahead, accuracy: Accuracy) -> Size:
    error = _errors(lane, state, at, accuracy)
    g, slope = jnp.abs(at.axes.g), jnp.abs(at.here.dh)
    level = _level(at, error)
    attracts = (at.here.dh < 0) | level
    spare = where(at.near | level, _spare(lane, state, at, error, accuracy), 0)
    ends = _ends(lane, state, at, error, accuracy, ahead.event, (spare >= 1) & attracts)

    linear = at.near & (spare >= WELL_LINEAR)
    reach = where(attracts, jnp.inf, 0.5 * divide(jnp.log(jnp.maximum(spare, 1)), slope))
    decay = jnp.log(jnp.maximum(at.r / float(jnp.finfo(at.r.dtype).tiny) ** LEAST, 1))
    limit = ratio(where(at.axes.g > 0, GROWTH, decay), g)
    curved = jnp.minimum(_curved_length(at, error), limit)
    speed = pace(at)
    # Where dv/dp is so small that it changes much while slip settles on its direction, let it settle before an event.
    k, change = lane.plane.w - lane.plane.mu * at.rate * at.here.a, lane.plane.mu * at.rate * at.axes.b * at.Y
    limit = where(jnp.abs(change) > UNSETTLED * jnp.abs(k), jnp.minimum(limit, ratio(SETTLED, slope)), limit)
    longest = jnp.minimum(where(linear, jnp.minimum(reach, limit), curved), ahead.extremum / speed)
    backward = -jnp.minimum(curved, ratio(1, g + at.axes.f))
    growth = where(spare >= 1, at.axes.g, at.here.g)
    event = clock(ahead.event / (at.unit * speed), growth * speed)
    length = jnp.maximum(jnp.minimum(longest, event), backward)
    return Size(length * at.unit, linear, ends)


def _tiny(like: Scalar) -> float:
    return float(jnp.finfo(like.dtype).tiny) ** 0.5


def _errors(lane: Lane, state: State, at: View, accuracy: Accuracy) -> Error:
    size, _ = size_of(lane, state)
    weight = jnp.maximum(lane.plane.mu, 1)
    admitted = accuracy.tolerance * size / (at.unit * weight) + _tiny(at.r)
    change = state.memory / (at.r * (accuracy.slope_tolerance / accuracy.tolerance))
    curving = jnp.abs(at.axes.a) + jnp.abs(at.axes.b) + jnp.abs(at.here.dh)
    return Error(jnp.abs(at.Y), change, admitted, jnp.minimum(admitted, accuracy.slope_tolerance), curving)


def _level(at: View, error: Error) -> Flag:
    """Whether slip is on its invariant direction but for round-off."""
    round_off = ROUND * jnp.finfo(at.r.dtype).eps
    there = at.near & (error.angle * jnp.abs(at.here.dh) <= round_off)
    return (jnp.abs(at.here.h) <= round_off) | there


def _spare(lane: Lane, state: State, at: View, error: Error, accuracy: Accuracy) -> Scalar:
    """Admitted error / error of the linear flow."""
    admitted = _admitted_on_line(lane, size_of(lane, state)[0], at, accuracy)
    slope = jnp.minimum(admitted, accuracy.slope_tolerance)
    bend = error.angle * jnp.maximum(error.angle / slope, error.change / admitted)
    bend = bend * (1 + where(at.near, ratio(1, jnp.abs(at.here.dh)), 1))
    return ratio(LINE, bend)


def _admitted_on_line(lane: Lane, size: Scalar, at: View, accuracy: Accuracy) -> Scalar:
    """Error admitted of slip, relative to it, along a line on which it falls at the rate g."""
    return accuracy.tolerance * jnp.maximum(size * jnp.abs(at.axes.g) / at.unit, 1) / jnp.maximum(lane.plane.mu, 1)


def _curved_length(at: View, error: Error) -> Scalar:
    rate, longest = _rates(at, error)
    own = where(at.near, error.angle * error.angle * error.curving, CAUTION * jnp.abs(at.here.h))
    changed = error.change * where(at.near, error.angle * error.curving, jnp.abs(at.here.dh))
    worst = jnp.maximum(own / error.admitted_slope, changed / error.admitted)
    length = (worst / (SMOOTH * rate) + _tiny(at.r)) ** (-1 / (2 * NODES + 1)) / rate
    most = ratio(where(at.axes.g < 0, CURVED_DECAY, CURVED_GROWTH), jnp.abs(at.axes.g) + at.axes.f)
    return jnp.minimum(length, jnp.minimum(longest, most))


def _rates(at: View, error: Error) -> tuple[Scalar, Scalar]:
    """How fast the integrands of a step vary, and the length beyond which its clock fails: omega has a pole ahead."""
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
    """Whether slip may go to zero at once, in closed form, before the next event."""
    size, terms = size_of(lane, state)
    g, r = at.axes.g, at.r
    # Zero comes before the event, or together with one that is just behind.
    ahead = where(jnp.abs(event) <= accuracy.tolerance * size, jnp.abs(event), event)
    falls = (g < 0) & (at.unit * at.X <= -g * ahead)
    # So little slip that only its derivative matters, and no change across it is left.
    faint = at.near & (g < 0) & (at.unit < accuracy.tolerance * size * jnp.abs(g))
    faint &= state.memory <= accuracy.slope_tolerance
    faint &= error.angle * error.angle <= 10 * accuracy.slope_tolerance
    # Zero within round-off, where static friction holds what kinetic friction would let go.
    held = lane.held & (g != 0) & (at.here.g != 0) & (r <= ROUND * jnp.finfo(r.dtype).eps * terms)
    return (falls & (on_line | _slow(lane, state, at, error, accuracy))) | faint | held


def _slow(lane: Lane, state: State, at: View, error: Error, accuracy: Accuracy) -> Flag:
    """Whether slip hardly turns while it falls to zero, as `advance.impulse_to_zero` wants it."""
    size, _ = size_of(lane, state)
    here, inverse = at.here, ratio(1, jnp.abs(at.here.g))
    turned, off = jnp.abs(here.h) * inverse, series_error(at)
    apart = jnp.minimum(jnp.abs(here.g + 2 * here.dh), jnp.abs(here.g + 3 * here.dh)) * inverse
    admitted = _admitted_on_line(lane, size, at, accuracy)
    changed = off * (1 + ratio(jnp.abs(here.dh), jnp.abs(here.h))) * error.change
    work = WORK * (turned * inverse) ** 2 * (jnp.abs(here.a) + jnp.abs(here.b)) * at.unit
    lost = at.unit < accuracy.tolerance * size  # slip is negligible: to follow it would cost many steps
    slope = accuracy.slope_tolerance * where(lost, jnp.full_like(off, 10), 1)
    slope = jnp.minimum(slope, max(MOST_SLOPE, accuracy.slope_tolerance))
    fine = (off <= jnp.minimum(admitted, slope)) & (changed <= admitted)
    fine &= (work * at.r <= accuracy.tolerance * size) & (work <= accuracy.slope_tolerance)
    # Beside a repelling direction the impulse to zero has a term angle^(-g/dh), which no series sees.
    hidden = (jnp.abs(here.g) - here.dh) * -jnp.log(error.angle + _tiny(at.r)) > here.dh * ESCAPE
    return fine & (~at.near | (here.dh < 0) | hidden) & (turned < SLOW) & (apart > RESONANT)


def clock(q: Scalar, growth: Scalar) -> Scalar:
    """Length of the clock for a normal impulse q along a straight line, in units of `View`; inf if slip ends before."""
    grown, never = growth * q, where(q < 0, -jnp.inf, jnp.full_like(q, jnp.inf))
    reached = jnp.isfinite(q) & (grown > -1 + 64 * jnp.finfo(q.dtype).eps)
    grown, q = where(reached, grown, 1), where(reached, q, 0)
    small = jnp.abs(grown) < 1e-5
    share = where(small, 1 - 0.5 * grown, jnp.log1p(grown) / where(small, 1, grown))
    return where(reached, q * share, never)
