"""How long is the next step, and of what kind? Chosen per lane before the step; no step is ever rejected.

A step goes to the next event (end of compression, a new compression, the stop), as foreseen with dv/dp = k that
changes linearly, or as far as its error allows. Near an event this is Newton's method: a lane that went too far steps
back. Three kinds: curved (by `advance.curve_of`); linear, where slip is so close to an invariant direction that
nothing is left to integrate; and to zero slip. After zero slip k is constant, and a step ends at its event exactly.

The error of a curved step is estimated as amplitude / rate x (rate x length)^9 / SMOOTH, where the amplitude is what
the method integrates, per unit of the clock: h, or the second order in the angle to the invariant direction nearby.
Nothing here carries a derivative.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jimpact.numerics import divide, norm, once, where
from jimpact.restitution import StopRule
from jimpact.slip.flow import View
from jimpact.slip.lane import Accuracy, Lane, State, size_of
from jimpact.types import Flag, Scalar

__all__ = ["Plan", "clock", "plan"]

SMOOTH = 3e6  # calibrated on reference solutions; 9! is 4e5
CAUTION = 4  # x the error of a value: so much is the estimate too small for some
LINE = 0.1  # share of the tolerance that a linear step may use up
WELL_LINEAR = 2  # x that accuracy: else a curved step is as good
LONGEST = 3.0  # rad or 1/rate of turning: beyond, the estimate of the error is not to be trusted
GROWTH = 20.0  # largest logarithm of the growth of slip in a linear step
CURVED_GROWTH, CURVED_DECAY = 8.0, 40.0  # and of growth and decay in a curved one
LEAST = 0.4  # power of the smallest number: slip does not fall below this, where its square would vanish
ROUND = 8  # x epsilon x its terms: below this a rate, or slip, is round-off
FADING = 1e-3  # of the tolerance: slip this small has left zero just now
SLOW = 0.1  # turn of slip while it falls to zero: closed form only if less
SERIES = 15.0  # x the fourth power of that turn, and x how much g and h vary, bounds its error: fitted
MOST_SLOPE = 1e-4  # largest error of a derivative that it may make, whatever is admitted
RESONANT = 0.25  # of g: where g + 3 dh is smaller, it has a large one
FLAT_FALL = 1e-4  # of the largest change of k: closer to k = 0 than this, a lane is past it
PAST = 1.0001  # x the distance to k = 0: the next step starts beyond it


class Plan(NamedTuple):
    """What a lane does next."""

    length: Scalar  # of the clock; 0 unless it slips on
    linear: Flag
    to_zero: Flag
    impulse: Scalar  # normal impulse to the next event, for lanes that left zero slip behind; else 0


class Error(NamedTuple):
    """What a step may neglect. The amplitudes are relative to slip and per unit of the clock."""

    turn: Scalar  # angle to the axis of the step
    change: Scalar  # largest change of the angle by a change of the slip before, weighted as a derivative
    admitted: Scalar  # relative to slip
    admitted_slope: Scalar  # the same, but for a derivative: slip may be nothing, and its change not
    curving: Scalar  # second-order rate at an invariant direction


def plan(lane: Lane, state: State, at: View, rule: StopRule, accuracy: Accuracy) -> Plan:
    """For arguments without derivatives."""
    slips = ~state.done & ~state.straight
    error = _errors(lane, state, at, accuracy)
    close = _spare(lane, state, at, error, accuracy)
    level = _level(lane, at, error)
    attracts = (at.here.dh < 0) | level
    reach = where(attracts, jnp.inf, 0.5 * divide(jnp.log(jnp.maximum(close, 1)), jnp.abs(at.here.dh)))
    close = where(at.near | level, close, 0)

    k, k2, growth, tilt = _bend(lane, state, at, close >= 1)
    event = _next_event(lane, state, rule, k, k2)
    to_zero = slips & _ends(lane, state, at, error, accuracy, event, (close >= 1) & attracts)
    linear = slips & ~to_zero & at.near & (close >= WELL_LINEAR)
    decay = jnp.log(jnp.maximum(at.r / float(jnp.finfo(at.r.dtype).tiny) ** LEAST, 1))
    within = where(at.axes.g > 0, GROWTH, decay) / (jnp.abs(at.axes.g) + _tiny(at.r))
    curved = jnp.minimum(_curved_length(lane, at, error), within)
    backward = -jnp.minimum(curved, 1 / (jnp.abs(at.axes.g) + at.axes.f + _tiny(at.r)))
    longest = jnp.minimum(where(linear, jnp.minimum(reach, within), curved), tilt)
    length = jnp.maximum(jnp.minimum(longest, clock(event, at.r, growth)), backward)
    impulse = where(state.straight & ~state.done & jnp.isfinite(event), event, 0)
    length = where(slips & ~to_zero, length, 0)
    kind = once(where(to_zero, jnp.full_like(length, 2), where(linear, jnp.ones_like(length), 0)), lane.one)
    return Plan(once(length, lane.one), kind == 1, kind == 2, once(impulse, lane.one))


def _tiny(like: Scalar) -> float:
    return float(jnp.finfo(like.dtype).tiny) ** 0.5


def _errors(lane: Lane, state: State, at: View, accuracy: Accuracy) -> Error:
    size, _ = size_of(lane, state)
    weight = jnp.maximum(lane.plane.mu, 1)
    admitted = accuracy.tolerance * size * lane.rate / (at.r * weight) + _tiny(at.r)
    change = state.memory / (at.r * (accuracy.slope_tolerance / accuracy.tolerance))
    curving = jnp.abs(at.axes.a) + jnp.abs(at.axes.b) + jnp.abs(at.here.dh)
    return Error(jnp.abs(at.Y), change, admitted, jnp.minimum(admitted, accuracy.slope_tolerance), curving)


def _level(lane: Lane, at: View, error: Error) -> Flag:
    """Whether slip is on its invariant direction but for round-off."""
    round_off = ROUND * jnp.finfo(at.r.dtype).eps * lane.rate
    there = at.near & (error.turn * jnp.abs(at.here.dh) <= round_off)
    return (jnp.abs(at.here.h) <= round_off) | there


def _spare(lane: Lane, state: State, at: View, error: Error, accuracy: Accuracy) -> Scalar:
    """Accuracy of the linear flow in units of the one asked for, while slip stays close to its direction."""
    admitted = _admitted_on_line(lane, state, at, accuracy)
    slope = jnp.minimum(admitted, accuracy.slope_tolerance)
    bend = jnp.maximum(error.turn * error.turn / slope, error.turn * error.change / admitted)
    bend = bend * (1 + where(at.near, divide(lane.rate, jnp.abs(at.here.dh)), 1))
    return LINE / (bend + _tiny(at.r))


def _admitted_on_line(lane: Lane, state: State, at: View, accuracy: Accuracy) -> Scalar:
    """Error admitted of slip, relative to it, along a line on which it falls at the rate g."""
    size, _ = size_of(lane, state)
    return accuracy.tolerance * jnp.maximum(size * jnp.abs(at.axes.g) / at.r, 1) / jnp.maximum(lane.plane.mu, 1)


def _curved_length(lane: Lane, at: View, error: Error) -> Scalar:
    here, near = at.here, at.near
    spread = norm(lane.plane.dx, lane.plane.dy)
    spread = spread + lane.plane.mu * norm(lane.plane.bxx - lane.plane.byy, 2 * lane.plane.bxy)
    turning = jnp.sqrt(here.dh**2 + jnp.abs(here.h) * spread + 0.3 * here.g**2 + here.h**2)
    leaving = where(here.dh > 0, jnp.full_like(turning, 2), 1) * jnp.abs(here.dh) + 0.7 * jnp.abs(here.g)
    rate = where(near, leaving, turning) + _tiny(here.g)
    own = where(near, error.turn * error.turn * error.curving, jnp.abs(here.h))
    changed = error.change * where(near, error.turn * error.curving, jnp.abs(here.dh))
    worst = jnp.maximum(CAUTION * own / error.admitted_slope, changed / error.admitted)
    worst = worst / (SMOOTH * rate) + _tiny(here.g)
    length = jnp.exp2(jnp.log2(worst) * (-1 / 9)) / rate
    fastest = jnp.maximum(jnp.abs(here.dh), jnp.abs(here.h)) + _tiny(here.g)
    length = where(near, length, jnp.minimum(length, LONGEST / fastest))
    most = where(at.axes.g < 0, CURVED_DECAY, CURVED_GROWTH) / (jnp.abs(at.axes.g) + at.axes.f + _tiny(here.g))
    return jnp.minimum(length, most)


def _bend(lane: Lane, state: State, at: View, linear: Flag) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """k, its change per normal impulse, growth of slip, and the length of the clock to k = 0 ahead."""
    plane, here = lane.plane, at.here
    k = plane.w - plane.mu * where(linear, at.axes.a, here.a)
    falls = -plane.mu * here.b * here.h
    bends = plane.mu * here.h * (here.a * here.h - here.b * here.dh)
    most = plane.mu * norm(plane.dx, plane.dy)
    sign = jnp.sign(k)
    tilt = _rising_root(-jnp.abs(k), -sign * falls, -sign * bends)
    tilt = where((most > plane.w) & (jnp.abs(k) > FLAT_FALL * most) & (tilt > 0), PAST * tilt, jnp.inf)
    from_zero = plane.w - plane.dx * lane.tx - plane.dy * lane.ty
    growth = where(linear, at.axes.g, here.g)
    return (
        where(state.straight, from_zero, k),
        where(state.straight | linear, 0, falls / at.r),
        where(state.straight, 0, growth),
        tilt,
    )


def _next_event(lane: Lane, state: State, rule: StopRule, k: Scalar, k2: Scalar) -> Scalar:
    """Normal impulse to the next event; negative if the lane is past it, inf if there is none to be seen."""
    v, ledger, plane = state.v, state.ledger, lane.plane
    rise = _rising_root(v, k, k2)
    missing = rule.missing(ledger, v, lane.v0, lane.e)
    plain = rule.distance(missing, v, k, jnp.zeros_like(k), ledger, lane.e)
    stop = rule.distance(missing, v, k, k2, ledger, lane.e)
    stop = jnp.clip(stop, jnp.minimum(0.5 * plain, 2 * plain), jnp.maximum(0.5 * plain, 2 * plain))
    stop = where(jnp.isfinite(plain), stop, jnp.inf)
    fall = _rising_root(-v, -k, -k2)
    may_fall = plane.mu * norm(plane.dx, plane.dy) > plane.w
    fall = where((k < 0) | (may_fall & (fall > 0) & ~state.straight), fall, jnp.inf)
    overshot = (v > 0) & (ledger.compressions == 1)  # later ones begin at v = 0, but for a landing error
    rise = where((k > 0) | (rise > 0) | overshot, rise, jnp.inf)
    return where(ledger.compressing, rise, jnp.minimum(stop, fall))


def _ends(lane: Lane, state: State, at: View, error: Error, accuracy: Accuracy, event: Scalar, on_line: Flag) -> Flag:
    """Whether slip may go to zero at once, in closed form, before the next event."""
    size, terms = size_of(lane, state)
    g, r = at.axes.g, at.r
    ahead = -divide(r * at.X, g) <= event
    falls, leaves = (g < 0) & ahead, (g > 0) & (r < FADING * accuracy.tolerance * size * g)
    # Slip that hardly turns while it falls.
    slow = ~at.near & falls & _slow(lane, state, at, error, accuracy)
    # So little slip that only its derivative matters, and no change across it is left.
    faint = at.near & (g < 0) & (r < accuracy.tolerance * size * jnp.abs(g))
    faint &= state.memory <= accuracy.slope_tolerance
    faint &= error.turn * error.turn <= 10 * accuracy.slope_tolerance
    # Zero within round-off, where static friction holds what kinetic friction would let go.
    held = lane.held & (g != 0) & (r <= ROUND * jnp.finfo(r.dtype).eps * terms)
    return (on_line & (falls | leaves)) | slow | faint | held


def _slow(lane: Lane, state: State, at: View, error: Error, accuracy: Accuracy) -> Flag:
    """Whether slip hardly turns while it falls to zero, as `advance.impulse_to_zero` wants it."""
    here, inverse = at.here, divide(jnp.ones_like(at.r), jnp.abs(at.here.g))
    turn, varies = jnp.abs(here.h) * inverse, (jnp.abs(here.b - 2 * here.c) + jnp.abs(here.dh)) * inverse
    apart = jnp.minimum(jnp.abs(here.g + 3 * here.dh) * inverse, 1)
    rest = SERIES * turn**4 * (turn + varies) * (1 + 20 * varies * varies) / (apart + _tiny(at.r)) ** 3
    admitted = _admitted_on_line(lane, state, at, accuracy)
    changed = rest * (1 + divide(jnp.abs(here.dh), jnp.abs(here.h))) * error.change
    work = (turn * inverse) ** 2 * (jnp.abs(here.a) + jnp.abs(here.b)) * at.r
    size, _ = size_of(lane, state)
    lost = at.r < accuracy.tolerance * accuracy.tolerance * size  # so far gone that it would turn for many steps more
    slope = where(lost, jnp.full_like(rest, 10), 3) * accuracy.slope_tolerance
    fine = (rest <= jnp.minimum(admitted, jnp.minimum(slope, MOST_SLOPE))) & (changed <= admitted)
    fine &= (work * at.r <= accuracy.tolerance * size) & (work <= accuracy.slope_tolerance)
    return fine & (turn < SLOW) & (apart > RESONANT)


def clock(impulse: Scalar, r: Scalar, growth: Scalar) -> Scalar:
    """Length of the clock for a normal impulse along a straight line; inf where slip ends before."""
    q = impulse / r
    grown = growth * q
    reached = jnp.isfinite(q) & (grown > -0.999999)
    grown, q = where(reached, grown, 1), where(reached, q, 0)
    small = jnp.abs(grown) < 1e-5
    share = where(small, 1 - 0.5 * grown, jnp.log1p(grown) / where(small, 1, grown))
    return where(reached, q * share, jnp.inf)


def _rising_root(c: Scalar, b: Scalar, a: Scalar) -> Scalar:
    """x with c + b x + a x^2 / 2 = 0 and a slope b + a x > 0 there; inf where there is none.

    If the parabola misses zero from above, a step back along its slope.
    """
    square = b * b - 2 * a * c
    real = square >= 0
    root = jnp.sqrt(where(real, square, 1))
    both = b + root
    plain = both > 1e-12 * jnp.abs(b)
    far = where(a > 0, (root - b) / where(a > 0, a, 1), jnp.inf)
    x = where(plain, -2 * c / where(plain, both, 1), far)
    rises = b > 0
    return where(real, x, where((c > 0) & rises, -c / where(rises, b, 1), jnp.inf))
