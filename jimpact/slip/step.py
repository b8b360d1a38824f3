"""One step of one impact: plan, move, and what happens where it arrives.

Derivatives. Step lengths carry none: the flow does not care how the clock is cut up. After a step the state is taken
back to the normal impulse that the step has in value (`_pinned`), so that tangents are those at constant impulse:
these are contracted by the flow, in the norm of B^-1, while those at constant clock may grow without bound. What
depends on the moment of an event carries the derivative of that moment: terms of first and second order in the
landing error, so that first and second derivatives are exact.
"""

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, where
from jimpact.rays import moved, solve_b
from jimpact.slip.advance import Move, curve_of, slide, slide_to_zero
from jimpact.slip.flow import View, axes_along, view
from jimpact.slip.lane import Accuracy, Lane, State, size_of
from jimpact.slip.plan import Plan, plan
from jimpact.slip.restitution import StopRule, book, change_phase, to_rest, work_over
from jimpact.types import Flag, Scalar

__all__ = ["looked_at", "planned", "step"]

LANDED = 1e-8  # of the impulse: second-order change of k that a landing may leave to its Taylor terms
NEARBY = 1e-2  # of the impulse, of k and in rad: a landing no further than this
SLIGHT = 0.5  # power of epsilon: slip below this share of its terms counts as zero, at any accuracy


def step(lane: Lane, state: State, rule: StopRule, accuracy: Accuracy) -> State:
    """Where a lane is after one more step; lanes that are done stay."""
    at = looked_at(lane, state)
    ahead = planned(lane, state, at, rule, accuracy)
    there = _moved(lane, state, at, ahead)
    return _arrived(lane, there, ~state.done, rule)


def looked_at(lane: Lane, state: State) -> View:
    """Slip in the axes of its reference direction; harmless where there is none."""
    gone = state.done | state.straight
    return view(lane.plane, lane.rate, where(gone, 1, state.x), where(gone, 0, state.y))


def planned(lane: Lane, state: State, at: View, rule: StopRule, accuracy: Accuracy) -> Plan:
    return stop_gradient(plan(*stop_gradient((lane, state, at)), rule, accuracy))


def _moved(lane: Lane, state: State, at: View, ahead: Plan) -> State:
    """After the step, before what happens there."""
    plane, slips = lane.plane, ~state.done & ~state.straight & ~ahead.to_zero
    bend = curve_of(plane, at, where(ahead.linear, 0, ahead.length))
    curve, line = slide(plane, at, ahead.length, bend), slide_to_zero(plane, at, ahead.to_zero)
    zero = jnp.zeros_like(state.v)
    move = Move(*(where(ahead.to_zero, b, where(slips, a, 0)) for a, b in zip(curve, line, strict=True)))
    tx, ty = (where(state.straight, t, 0) for t in (lane.tx, lane.ty))
    p = move.p + ahead.impulse
    k = where(state.straight, plane.w - plane.dx * tx - plane.dy * ty, plane.w - plane.mu * at.axes.a)
    work = state.v * p + 0.5 * k * p * p + move.work
    after = state._replace(
        x=where(slips, move.x, state.x),
        y=where(slips, move.y, state.y),
        v=state.v + k * p + move.v,
        ix=state.ix + move.ix - tx * p,
        iy=state.iy + move.iy - ty * p,
        ledger=book(state.ledger, p, work),
        memory=stop_gradient(state.memory * jnp.exp(-at.axes.f * ahead.length)),
        straight=state.straight | ahead.to_zero,
    )
    after = _pinned(lane, after, where(slips, p - stop_gradient(p), zero))
    return _stopped(lane, _settled(lane, after, ahead.to_zero), ahead.to_zero)


def _pinned(lane: Lane, state: State, over: Scalar) -> State:
    """The state taken back by a normal impulse of value zero, to second order: the step's impulse has no derivative."""
    plane, ledger = lane.plane, state.ledger
    tx, ty, k, turn, k2 = _slopes(lane, state)
    sx, sy = divide(tx, plane.mu), divide(ty, plane.mu)
    half = 0.5 * over * over * plane.mu * turn
    ix, iy = tx * over + half * sy, ty * over - half * sx
    x, y, _ = moved(plane, state.x, state.y, state.v, ix, iy, -over)
    return state._replace(
        x=x,
        y=y,
        v=state.v - k * over + 0.5 * k2 * over * over,
        ix=state.ix + ix,
        iy=state.iy + iy,
        ledger=book(ledger, -over, work_over(state.v, k, k2, -over)),
    )


def _slopes(lane: Lane, state: State) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Per normal impulse: friction (two components), dv/dp, turn of slip and d2v/dp2."""
    plane = lane.plane
    gone = state.done | state.straight
    x, y = where(gone, 1, state.x), where(gone, 0, state.y)
    r = jnp.sqrt(x * x + y * y)
    axes = axes_along(plane, x / r, y / r)
    tx, ty = where(gone, lane.tx, plane.mu * axes.sx), where(gone, lane.ty, plane.mu * axes.sy)
    turn = where(gone, 0, axes.h / r)
    return tx, ty, plane.w - plane.dx * tx - plane.dy * ty, turn, -plane.mu * axes.b * turn


def _settled(lane: Lane, state: State, now: Flag) -> State:
    """At zero slip: what round-off leaves of slip goes into the tangential impulse. Without friction nothing does."""
    plane = lane.plane
    x, y, _ = moved(plane, lane.x0, lane.y0, lane.v0, state.ix, state.iy, state.ledger.impulse)
    cx, cy = (where(now & (plane.mu > 0), c, 0) for c in solve_b(plane, -x, -y))
    return state._replace(ix=state.ix + cx, iy=state.iy + cy, v=state.v + plane.dx * cx + plane.dy * cy)


def _stopped(lane: Lane, state: State, now: Flag) -> State:
    """Remember where slip was zero, or first so small that it counts as zero."""
    _, terms = size_of(lane, state)
    slight = float(jnp.finfo(state.v.dtype).eps) ** SLIGHT * terms
    small = ~state.straight & (state.x * state.x + state.y * state.y <= slight * slight)
    first = now | (small & jnp.isnan(state.zero_at))
    return state._replace(
        zero_at=where(first, state.ledger.impulse, state.zero_at),
        compressing_at_zero=where(first, state.ledger.compressing, state.compressing_at_zero),
    )


def _arrived(lane: Lane, state: State, live: Flag, rule: StopRule) -> State:
    """Change phase where v = 0, and finish where the stop rule is met."""
    tx, ty, k, turn, k2 = _slopes(lane, state)
    growth = where(state.straight | state.done, 0, _growth(lane, state))
    size, _ = size_of(lane, state)

    def near(x: Scalar, curved: Scalar, weight: Scalar | float = 1.0) -> Flag:
        """Whether Taylor terms cover a distance x."""
        x, curved = jnp.abs(x), jnp.abs(curved)
        small = (x <= NEARBY * size) & (x * jnp.abs(growth) <= 10 * NEARBY) & (x * curved <= NEARBY)
        return stop_gradient(small & (x * x * curved * weight <= LANDED * size))

    def stop(state: State) -> tuple[Scalar, Flag]:
        missing = rule.missing(state.ledger, state.v, lane.v0, lane.e)
        x = rule.distance(missing, state.v, k, k2, state.ledger, lane.e)
        fine = near(where(jnp.isfinite(x), x, size), turn, jnp.maximum(lane.plane.mu, 1))
        return x, live & ~state.ledger.compressing & jnp.isfinite(x) & fine & ~((state.v < 0) & (k < 0))

    compressing = state.ledger.compressing
    landed = near(to_rest(state.v, k, k2), divide(k2, k)) & where(compressing, k > 0, k < 0)
    changes = live & landed & ~stop(state)[1]
    state = state._replace(ledger=change_phase(state.ledger, changes, state.v, k, k2))
    distance, stops = stop(state)
    x = where(stops, distance, 0)
    half = 0.5 * x * x * turn
    work = work_over(state.v, k, k2, x)
    return state._replace(
        v=state.v + k * x + 0.5 * k2 * x * x,
        ix=state.ix - tx * x + half * ty,
        iy=state.iy - ty * x - half * tx,
        ledger=book(state.ledger, x, work),
        done=state.done | stops,
    )


def _growth(lane: Lane, state: State) -> Scalar:
    """Growth of slip per normal impulse, relative to it."""
    x, y = where(state.straight, 1, state.x), where(state.straight, 0, state.y)
    r = jnp.sqrt(x * x + y * y)
    return axes_along(lane.plane, x / r, y / r).g / r
