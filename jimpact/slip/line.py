"""Event "l": where the direction of slip becomes invariant, to within a tolerance.

An invariant direction is reached only asymptotically, except by starting on it, so the moment is a matter of tolerance.
The direction that slip turns to is the first root of h ahead (`rays.destination`), so a mark, short of it by the
tolerance, is known at the start. The step in which slip crosses the mark is found among the steps taken, and the
moment in it by Newton's method. Nothing here changes the solution, or carries a derivative.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import stop_gradient

from jimpact.numerics import divide, norm, where
from jimpact.rays import destination
from jimpact.slip.advance import curve_of, slide
from jimpact.slip.flow import axes_along
from jimpact.slip.integrate import Taken, recorded
from jimpact.slip.lane import Accuracy, Lane, State
from jimpact.slip.restitution import StopRule
from jimpact.slip.step import looked_at
from jimpact.types import Flag, Scalar

__all__ = ["line_start"]

NEWTON_STEPS = 12  # to the crossing, kept in the step
FAR = 600.0  # decay of slip to zero, as a logarithm, where a step goes to zero


def line_start(lane: Lane, rule: StopRule, accuracy: Accuracy, tolerance: float) -> Scalar:
    """Normal impulse from which the direction of slip stays within `tolerance` of its invariant one; nan if never."""
    lane = stop_gradient(lane)
    r = norm(lane.x0, lane.y0)
    slips = r > 0
    sx, sy = where(slips, divide(lane.x0, r), 1), divide(lane.y0, r)
    ex, ey = destination(lane.plane, sx, sy)
    near = (sx * ex + sy * ey > 0) & (jnp.abs(sx * ey - sy * ex) <= math.sin(tolerance))
    sense = where(near, 0, jnp.sign(axes_along(lane.plane, sx, sy).h))
    cosine, sine = math.cos(tolerance), -sense * math.sin(tolerance)
    mark = (ex * cosine - ey * sine, ey * cosine + ex * sine)

    taken = stop_gradient(recorded(lane, rule, accuracy))
    lengths = _lengths(lane, taken)
    ahead = jax.vmap(lambda x, y: _short_of(mark, sense, x, y)[0])(taken.before.x, taken.before.y)
    moves = jax.vmap(lambda state, t, linear: _after(lane, state, t, linear))(taken.before, lengths, taken.plan.linear)
    beyond, along = _short_of(mark, sense, moves[1], moves[2])
    crosses = (ahead < 0) & (beyond >= 0) & (along > 0) & (lengths > 0)
    index = jnp.argmax(crosses, 0)
    pick = lambda a: jnp.take_along_axis(a, index[None], 0)[0]  # noqa: E731
    before, length, linear = jax.tree.map(pick, (taken.before, lengths, taken.plan.linear))
    p = before.ledger.impulse + _crossing(lane, before, length, linear, mark, sense)
    p = where(crosses.any(0), p, jnp.nan)
    return where(slips, where(near, jnp.zeros_like(p), p), jnp.nan)


def _lengths(lane: Lane, taken: Taken) -> Scalar:
    """Of all steps of slip; one that goes to zero is long."""
    to_zero = FAR / (jax.vmap(lambda state: jnp.abs(looked_at(lane, state).axes.g))(taken.before) + 1e-30)
    return where(taken.plan.to_zero, to_zero, taken.plan.length)


def _after(lane: Lane, state: State, length: Scalar, linear: Flag) -> tuple[Scalar, Scalar, Scalar]:
    """Normal impulse of a step, and slip after it."""
    at = looked_at(lane, state)
    long = jnp.abs(at.axes.g) * length > 100
    curve = curve_of(lane.plane, at, where(linear | long, 0, length))
    move = slide(lane.plane, at, length, curve)
    # The direction of slip is all that is asked for: where slip itself would underflow, that of the line.
    return move.p, where(long, at.axes.sx, move.x), where(long, at.axes.sy, move.y)


def _short_of(mark: tuple[Scalar, Scalar], sense: Scalar, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Slip across the mark, in the sense of turning (negative before it), and along it."""
    return sense * (mark[0] * y - mark[1] * x), mark[0] * x + mark[1] * y


def _crossing(
    lane: Lane, before: State, length: Scalar, linear: Flag, mark: tuple[Scalar, Scalar], sense: Scalar
) -> Scalar:
    """Normal impulse from the start of the step to the mark."""
    unit = 1 / (lane.rate + 1e-30)

    def closer(index: int, at: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        t, low, high = at
        _, x, y = _after(lane, before, t, linear)
        across, along = _short_of(mark, sense, x, y)
        low, high = where(across < 0, t, low), where(across < 0, high, t)
        r = norm(x, y)
        turning = sense * axes_along(lane.plane, divide(x, r), divide(y, r)).h
        newton = t - divide(jnp.arctan2(across, along), turning)
        between = 0.5 * (low + jnp.minimum(high, 2 * low + unit))
        return where((newton > low) & (newton < high), newton, between), low, high

    begin = (0.5 * jnp.minimum(length, unit), jnp.zeros_like(length), length)
    return _after(lane, before, lax.fori_loop(0, NEWTON_STEPS, closer, begin)[0], linear)[0]
