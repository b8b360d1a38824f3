"""One step of one impact: view the slip, predict events, choose a length, advance.

Derivatives. Step lengths carry none, because the solution does not depend on them. After a step the state is moved
along the flow by the normal impulse stop_gradient(p) - p. Its value is zero, but its derivative turns the tangents into
those at constant normal impulse. The flow contracts these in the norm of B^-1; tangents at constant clock may grow
without bound. Quantities that depend on the position of an event
carry its derivative by terms of first and second order in the landing error. So first and second derivatives are exact.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.lax import optimization_barrier, stop_gradient

from jimpact.numerics import where
from jimpact.slip.advance import advance
from jimpact.slip.events import look_ahead, noted, slopes_of, within
from jimpact.slip.flow import Constants, View, axes_along, direction
from jimpact.slip.restitution import StopRule, book, change_phase
from jimpact.slip.state import Accuracy, Lane, Line, Stage, State, changes_by, look, magnitudes, with_changes
from jimpact.slip.step_size import Size, step_size
from jimpact.types import Flag, Scalar, Whole

__all__ = ["PLAN", "small_impulse", "step"]

PLAN = "plan"  # name of the values of a step that reverse mode stores, besides the state before it
SLIGHT = 0.6  # slip below epsilon to this power, relative to its terms, counts as zero at any accuracy


def step(lane: Lane, state: State, rule: StopRule, accuracy: Accuracy) -> tuple[State, Size]:
    """The state after the step, and the size of the step."""
    at = look(lane, state)
    # The barrier makes the plan a separate kernel: one kernel for the whole step needs more registers than a GPU has.
    planned = optimization_barrier(_plan(lane, state, at, rule, accuracy))
    changes, stage, size = jax.tree.map(partial(checkpoint_name, name=PLAN), planned)
    k, k2, _ = slopes_of(lane, at)
    ledger = change_phase(state.ledger, changes, state.v, k, k2)
    return _moved(lane, state._replace(ledger=ledger, stage=stage), at, size, accuracy.line), size


def _plan(lane: Lane, state: State, at: View, rule: StopRule, accuracy: Accuracy) -> tuple[Flag, Whole, Size]:
    """Whether the phase changes here, the stage, and the size of the step. No derivative."""
    lane, state, at = stop_gradient((lane, state, at))
    slips = state.stage == Stage.SLIP
    ahead = look_ahead(lane, state, at, rule)
    size = step_size(lane, state, at, ahead.event, ahead.extremum, accuracy)
    stage = where(slips & size.ends, Stage.ZERO.value, state.stage)
    stage = where(slips & ahead.stops, Stage.STOP.value, stage)
    reach = where(stage == Stage.SLIP, size.reach, 0)
    return slips & ahead.changes, stage, size._replace(reach=reach)


def _moved(lane: Lane, state: State, at: View, size: Size, line_tolerance: float) -> State:
    contact, slips, length = lane.contact, size.reach != 0, size.reach / at.unit
    move = advance(contact, at, length, size.linear)
    k = contact.w - contact.mu * at.rate * at.axes.a
    p = where(slips, move.p, 0)
    after = state._replace(
        x=where(slips, move.x, state.x),
        y=where(slips, move.y, state.y),
        v=state.v + where(slips, k * p + move.v, 0),
        ix=state.ix + where(slips, move.ix, 0),
        iy=state.iy + where(slips, move.iy, 0),
        ledger=book(state.ledger, p, where(slips, (state.v + 0.5 * k * p) * p + move.work, 0)),
        memory=stop_gradient(state.memory * jnp.exp(-at.axes.f * length)),
    )
    # The normal impulse before the step has no derivative; without that of p, neither has the one after it.
    x, y = where(slips, after.x, 1), where(slips, after.y, 0)
    after = with_changes(after, _zero_impulse(contact, x, y, after.v, where(slips, stop_gradient(p) - p, 0)))
    line = noted(state.line, Line(state.x, state.y, state.ledger.impulse), slips & within(at, length, line_tolerance))
    return _note_zero(lane, after._replace(line=line))


def _note_zero(lane: Lane, state: State) -> State:
    """Note the normal impulse at which slip first counts as zero."""
    _, terms = magnitudes(lane, state)
    slight = float(jnp.finfo(state.v.dtype).eps) ** SLIGHT * terms
    first = (state.x * state.x + state.y * state.y <= slight * slight) & jnp.isnan(state.zero_at)
    return state._replace(
        zero_at=where(first, state.ledger.impulse, state.zero_at),
        compressing_at_zero=where(first, state.ledger.compressing, state.compressing_at_zero),
    )


@jax.custom_jvp
def _zero_impulse(contact: Constants, x: Scalar, y: Scalar, v: Scalar, p: Scalar) -> tuple[Scalar, ...]:
    """`small_impulse` where the value of p is 0 but its derivative is not: zeros, with these derivatives."""
    return (jnp.zeros_like(p),) * 7


@_zero_impulse.defjvp
def _zero_impulse_jvp(given: tuple, changes: tuple) -> tuple:
    return jax.jvp(small_impulse, given, changes)


def small_impulse(contact: Constants, x: Scalar, y: Scalar, v: Scalar, p: Scalar) -> tuple[Scalar, ...]:
    """The changes by a small normal impulse p at the slip (x, y), to second order."""
    sx, sy, r = direction(x, y)
    return changes_by(contact, contact.mu * sx, contact.mu * sy, axes_along(contact, sx, sy).h / r, v, p)
