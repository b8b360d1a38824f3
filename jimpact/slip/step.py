"""One step of one impact: what happens where the last one arrived, a plan, and the way there.

Derivatives. Step lengths carry none: the flow does not care how the clock is cut up. Where it arrives (`arrived`), the
state is taken back to the normal impulse that the step has in value, so that tangents are those at constant impulse.
The flow contracts these, in the norm of B^-1, while those at constant clock may grow without bound. What depends on the
moment of an event carries the derivative of that moment: terms of first and second order in the landing error, so that
first and second derivatives are exact.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, once, where
from jimpact.rays import moved, solve_b
from jimpact.restitution import StopRule, book, change_phase, to_rest, work_over
from jimpact.slip.advance import curve_of, impulse_to_zero, slide
from jimpact.slip.flow import View, axes_along, view
from jimpact.slip.lane import Accuracy, Lane, State, size_of
from jimpact.slip.line import FAR, Crossing, crossed
from jimpact.slip.plan import Plan, plan
from jimpact.types import Flag, Scalar

__all__ = ["arrived", "looked_at", "planned", "step"]

LANDED = 3e-9  # of the impulse: second-order change of k that a landing may leave to its Taylor terms
NEARBY = 1e-2  # of the impulse, of k and in rad: a landing no further than this
SLIGHT = 0.6  # power of epsilon: slip below this share of its terms counts as zero, at any accuracy


def step(lane: Lane, state: State, rule: StopRule, accuracy: Accuracy) -> State:
    """One more step: what happens where the last one went, a look at what comes next, and the way there."""
    state = arrived(lane, state, rule)
    at = looked_at(lane, state)
    return _moved(lane, state, at, planned(lane, state, at, rule, accuracy))


def looked_at(lane: Lane, state: State) -> View:
    """Slip and the invariant direction nearby; harmless where there is no slip."""
    gone = state.done | state.straight
    at = view(lane.plane, lane.rate, where(gone, 1, state.x), where(gone, 0, state.y))
    return at._replace(**{name: once(part, lane.one) for name, part in at._asdict().items() if name != "near"})


def planned(lane: Lane, state: State, at: View, rule: StopRule, accuracy: Accuracy) -> Plan:
    return stop_gradient(plan(*stop_gradient((lane, state, at)), rule, accuracy))


def _moved(lane: Lane, state: State, at: View, ahead: Plan) -> State:
    """After the step. From zero slip on friction is (tx, ty)."""
    plane, to_zero = lane.plane, ahead.to_zero
    slips = ~state.done & ~state.straight & ~to_zero
    curve = curve_of(plane, at, where(ahead.linear, 0, ahead.length), lane.one)
    move = slide(plane, at, ahead.length, curve)
    down, work = impulse_to_zero(plane, at, to_zero)
    p = where(to_zero, down, where(slips, move.p, ahead.impulse))
    total = state.ledger.impulse + p
    # At zero slip the impulses are those that stop it.
    zx, zy = solve_b(plane, -lane.x0 - plane.dx * total, -lane.y0 - plane.dy * total)
    stops = to_zero & (plane.mu > 0)
    ix = where(stops, zx, state.ix + where(slips, move.ix, where(state.straight, -lane.tx * p, 0)))
    iy = where(stops, zy, state.iy + where(slips, move.iy, where(state.straight, -lane.ty * p, 0)))
    k = plane.w - where(state.straight, plane.dx * lane.tx + plane.dy * lane.ty, plane.mu * at.axes.a)
    beyond = where(to_zero, work, where(slips, move.work, 0))
    v = where(
        stops, lane.v0 + plane.w * total + plane.dx * zx + plane.dy * zy, state.v + k * p + where(slips, move.v, 0)
    )
    after = state._replace(
        x=where(slips, move.x, state.x),
        y=where(slips, move.y, state.y),
        v=v,
        ix=ix,
        iy=iy,
        last=where(slips, p, 0),
        ledger=book(state.ledger, p, state.v * p + 0.5 * k * p * p + beyond),
        memory=stop_gradient(state.memory * jnp.exp(-at.axes.f * ahead.length)),
        straight=state.straight | to_zero,
    )
    return _noted(lane, state, at, ahead, after)


def _noted(lane: Lane, before: State, at: View, ahead: Plan, state: State) -> State:
    """Note where slip was zero, or first so small that it counts as zero; and where its direction becomes invariant."""
    to_zero = ahead.to_zero
    _, terms = size_of(lane, state)
    slight = float(jnp.finfo(state.v.dtype).eps) ** SLIGHT * terms
    small = ~state.straight & (state.x * state.x + state.y * state.y <= slight * slight)
    first = to_zero | (small & jnp.isnan(state.zero_at))
    length = where(to_zero, FAR / (jnp.abs(at.axes.g) + 1e-30), ahead.length)
    now = Crossing(before.x, before.y, before.ledger.impulse, length, ahead.linear | to_zero)
    x, y = where(to_zero, at.axes.sx, state.x), where(to_zero, at.axes.sy, state.y)
    return state._replace(
        zero_at=where(first, state.ledger.impulse, state.zero_at),
        compressing_at_zero=where(first, state.ledger.compressing, state.compressing_at_zero),
        crossing=crossed(lane.mark, before.crossing, now, x, y),
    )


class Slopes(NamedTuple):
    """What changes per normal impulse."""

    tx: Scalar  # friction
    ty: Scalar
    k: Scalar  # dv/dp
    k2: Scalar  # d2v/dp2
    turn: Scalar  # of slip
    growth: Scalar  # of slip, relative to it; no derivative


def _slopes(lane: Lane, state: State) -> Slopes:
    plane, gone = lane.plane, state.done | state.straight
    x, y = where(gone, 1, state.x), where(gone, 0, state.y)
    q = 1 / jnp.sqrt(x * x + y * y)
    axes = axes_along(plane, x * q, y * q)
    tx, ty = where(gone, lane.tx, plane.mu * axes.sx), where(gone, lane.ty, plane.mu * axes.sy)
    turn = where(gone, 0, axes.h * q)
    k = plane.w - plane.dx * tx - plane.dy * ty
    return Slopes(tx, ty, k, -plane.mu * axes.b * turn, turn, where(gone, 0, stop_gradient(axes.g * q)))


def arrived(lane: Lane, state: State, rule: StopRule) -> State:
    """Change phase where v = 0, and finish where the stop rule is met.

    Lanes that go on are taken back to the normal impulse that the step has in value, so that it has no derivative.
    """
    slopes, live, compressing = once(_slopes(lane, state), lane.one), ~state.done, state.ledger.compressing
    k, k2, turn = slopes.k, slopes.k2, slopes.turn
    size, _ = size_of(lane, state)

    def near(x: Scalar, curved: Scalar, weight: Scalar | float = 1.0) -> Flag:
        """Whether Taylor terms cover a distance x."""
        x, curved = jnp.abs(x), jnp.abs(curved)
        small = (x <= NEARBY * size) & (x * jnp.abs(slopes.growth) <= 10 * NEARBY) & (x * curved <= NEARBY)
        return stop_gradient(small & (x * x * curved * weight <= LANDED * size))

    at_rest = live & near(to_rest(state.v, k, k2), divide(k2, k))
    ledger = change_phase(state.ledger, at_rest & compressing & (k > 0), state.v, k, k2)
    distance = rule.distance(rule.missing(ledger, state.v, lane.v0, lane.e), state.v, k, k2, ledger, lane.e)
    stops = live & ~ledger.compressing & jnp.isfinite(distance) & ~((state.v < 0) & (k < 0))
    stops &= near(where(jnp.isfinite(distance), distance, size), turn, jnp.maximum(lane.plane.mu, 1))
    ledger = change_phase(ledger, at_rest & ~compressing & (k < 0) & ~stops, state.v, k, k2)
    return _shifted(
        lane,
        state._replace(ledger=ledger, done=state.done | stops),
        slopes,
        once(where(stops, distance, stop_gradient(state.last) - state.last), lane.one),
    )


def _shifted(lane: Lane, state: State, slopes: Slopes, x: Scalar) -> State:
    """The state a small normal impulse x later, to second order."""
    half = 0.5 * x * x * slopes.turn
    ix, iy = half * slopes.ty - slopes.tx * x, -half * slopes.tx - slopes.ty * x
    slip_x, slip_y, _ = moved(lane.plane, state.x, state.y, state.v, ix, iy, x)
    return state._replace(
        x=slip_x,
        y=slip_y,
        v=state.v + slopes.k * x + 0.5 * slopes.k2 * x * x,
        ix=state.ix + ix,
        iy=state.iy + iy,
        ledger=book(state.ledger, x, work_over(state.v, slopes.k, slopes.k2, x)),
    )
