"""The end of an impact in closed form, after the last step.

If the stop is near, a Taylor series reaches it. If slip falls to zero before the stop, the linear flow (near an
invariant direction) or a series (where slip hardly turns) gives the impulse until zero slip. From zero slip on,
friction is constant: that of stick, or that along the diverging ray. Then k = dv/dp is constant and positive, so that
at most one end of compression and the stop follow.
"""

import jax
import jax.numpy as jnp

from jimpact.numerics import norm, where
from jimpact.slip.advance import impulse_to_zero
from jimpact.slip.events import noted, within
from jimpact.slip.flow import View, solve_b
from jimpact.slip.restitution import Slopes, StopRule, book, change_phase
from jimpact.slip.state import Lane, Line, Stage, State, changes_by, look, slopes_along, with_changes

__all__ = ["finish", "zero_slip"]


def finish(lane: Lane, state: State, rule: StopRule) -> State:
    """The state at the end of the impact; a lane that needs more steps keeps its state."""
    at, contact = look(lane, state), lane.contact
    stops, at_zero = state.stage == Stage.STOP, state.stage == Stage.ZERO
    compressed = _end_compression(lane, zero_slip(lane, state, at))
    begin = jax.tree.map(lambda a, b: where(at_zero, a, b), compressed, state)
    here, mu = at.here, contact.mu
    tx, ty = where(stops, mu * here.sx, lane.tx), where(stops, mu * here.sy, lane.ty)
    turning = where(stops, here.h / at.unit, 0)
    k, k2 = slopes_along(contact, tx, ty, turning)
    missing = rule.missing(begin.ledger, begin.v, lane.v0, lane.e)
    p = rule.distance(missing, begin.v, Slopes(k, k2, jnp.zeros_like(k)), begin.ledger, lane.e)
    p = where((stops | at_zero) & jnp.isfinite(p), p, 0)
    return with_changes(begin, changes_by(contact, tx, ty, turning, begin.v, p))


def zero_slip(lane: Lane, state: State, at: View) -> State:
    """The state at zero slip. Its tangential impulse is the one that brings the initial slip to zero."""
    contact, started = lane.contact, (state.x != 0) | (state.y != 0)
    falls = (state.stage == Stage.ZERO) & started
    p, work = impulse_to_zero(contact, at, norm(state.x, state.y), falls)
    total = state.ledger.impulse + p
    ix, iy = solve_b(contact, -lane.x0 - contact.dx * total, -lane.y0 - contact.dy * total)
    fixed = where(started, contact.mu > 0, lane.sticks)  # the tangential impulse follows from zero slip
    v = where(fixed, lane.v0 + contact.w * total + contact.dx * ix + contact.dy * iy, state.v + contact.w * p)
    ledger = book(state.ledger, p, state.v * p + work)
    reached = falls & within(at, jnp.full_like(p, jnp.inf))
    return state._replace(
        v=v,
        ix=where(fixed, ix, state.ix),
        iy=where(fixed, iy, state.iy),
        ledger=ledger,
        zero_at=where(falls, total, state.zero_at),
        compressing_at_zero=where(falls, ledger.compressing, state.compressing_at_zero),
        line=noted(state.line, Line(state.x, state.y, state.ledger.impulse), reached),
    )


def _end_compression(lane: Lane, state: State) -> State:
    """The state at the end of compression; from zero slip, if compression has not ended yet."""
    contact, compressing = lane.contact, state.ledger.compressing
    k, zero = contact.w - contact.dx * lane.tx - contact.dy * lane.ty, jnp.zeros_like(state.v)
    p = where(compressing, -state.v / k, 0)
    after = with_changes(state, changes_by(contact, lane.tx, lane.ty, zero, state.v, p))
    return after._replace(ledger=change_phase(after.ledger, compressing, after.v, k, zero))
