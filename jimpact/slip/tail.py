"""The end of an impact in closed form, after the last step.

Where the stop is near, a Taylor series reaches it. Where slip falls to zero first, it does so on an invariant
direction, hardly turns, or is negligible: the way to zero is the linear flow, or a series. From zero slip on friction
is constant, of stick or along the diverging ray, and dv/dp = k > 0 with it, so compression and restitution end once
more at most.
"""

import jax
import jax.numpy as jnp

from jimpact.numerics import norm, where
from jimpact.rays import solve_b
from jimpact.restitution import Slopes, StopRule, book, change_phase
from jimpact.slip.advance import impulse_to_zero
from jimpact.slip.events import slopes_of
from jimpact.slip.flow import View
from jimpact.slip.lane import Lane, Stage, State
from jimpact.slip.line import Crossing, crossed
from jimpact.slip.step import booked, look, shift
from jimpact.types import Scalar

__all__ = ["finish", "zero_slip"]


def finish(lane: Lane, state: State, rule: StopRule) -> State:
    """The impact at its end; where it still slips, the state as it is."""
    at = look(lane, state)
    stopped, rested = _stopped(lane, state, at, rule), _from_zero(lane, zero_slip(lane, state, at), rule)
    pick = lambda a, b, c: where(state.stage == Stage.STOP, a, where(state.stage == Stage.ZERO, b, c))  # noqa: E731
    return jax.tree.map(pick, stopped, rested, state)


def _stopped(lane: Lane, state: State, at: View, rule: StopRule) -> State:
    slopes = slopes_of(lane, at)._replace(fade=jnp.zeros_like(state.v))
    stops = state.stage == Stage.STOP
    p = where(stops, _distance(lane, state, slopes, rule), 0)
    x, y = where(stops, state.x, 1), where(stops, state.y, 0)
    return booked(state, shift(lane.plane, x, y, state.v, p))


def zero_slip(lane: Lane, state: State, at: View) -> State:
    """Where slip is zero: the impulse is the one that stops it, also if it was zero before the impact and sticks."""
    plane, started = lane.plane, (state.x != 0) | (state.y != 0)
    falls = (state.stage == Stage.ZERO) & started
    p, work = impulse_to_zero(plane, at, norm(state.x, state.y), falls)
    k = plane.w - plane.mu * at.rate * at.here.a
    total = state.ledger.impulse + p
    ix, iy = solve_b(plane, -lane.x0 - plane.dx * total, -lane.y0 - plane.dy * total)
    fixed = where(started, plane.mu > 0, lane.sticks)
    v = where(fixed, lane.v0 + plane.w * total + plane.dx * ix + plane.dy * iy, state.v + k * p)
    ledger = book(state.ledger, p, (state.v + 0.5 * k * p) * p + work)
    now = Crossing(state.x, state.y, state.ledger.impulse)
    crossing = crossed(lane.mark, state.crossing, now, at.axes.sx, at.axes.sy)
    return state._replace(
        v=v,
        ix=where(fixed, ix, state.ix),
        iy=where(fixed, iy, state.iy),
        ledger=ledger,
        zero_at=where(falls, total, state.zero_at),
        compressing_at_zero=where(falls, ledger.compressing, state.compressing_at_zero),
        crossing=jax.tree.map(lambda a, b: where(falls, a, b), crossing, state.crossing),
    )


def _from_zero(lane: Lane, state: State, rule: StopRule) -> State:
    """From zero slip to the end: to v = 0 if still compressing, and to the stop."""
    plane, zero, compressing = lane.plane, jnp.zeros_like(state.v), state.ledger.compressing
    slopes = Slopes(plane.w - plane.dx * lane.tx - plane.dy * lane.ty, zero, zero)
    state = _straight(lane, state, slopes.k, where(compressing, -state.v / slopes.k, 0))
    state = state._replace(ledger=change_phase(state.ledger, compressing, state.v, slopes.k, zero))
    return _straight(lane, state, slopes.k, _distance(lane, state, slopes, rule))


def _straight(lane: Lane, state: State, k: Scalar, p: Scalar) -> State:
    ledger = book(state.ledger, p, (state.v + 0.5 * k * p) * p)
    return state._replace(v=state.v + k * p, ix=state.ix - lane.tx * p, iy=state.iy - lane.ty * p, ledger=ledger)


def _distance(lane: Lane, state: State, slopes: Slopes, rule: StopRule) -> Scalar:
    missing = rule.missing(state.ledger, state.v, lane.v0, lane.e)
    distance = rule.distance(missing, state.v, slopes, state.ledger, lane.e)
    return where(jnp.isfinite(distance), distance, 0)
