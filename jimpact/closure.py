"""The end of an impact in closed form: straight slip to zero, then stick or the diverging ray.

After the last step a lane either rests at its stopping point, or slips along a direction that hardly turns
any more. What is left are at most three pieces:

1. Slip that is `turn` short of its invariant direction relaxes to it. To first order this takes no normal
   impulse and a tangential one c t, across the direction, that removes the transverse slip: c t.B t = r turn.
   So the line has the derivative of the flow, which turns, and not that of a straight line.
2. Along the line, to the stop or to zero slip.
3. From zero slip, by stick or along the diverging ray, to the stop.

On 2 and 3 k = dv/dp is constant, v linear and the work quadratic in the normal impulse, so every event is a
formula. A lane that already stopped gets pieces of length zero, with the derivative of the stopping point.

What happens is a matter of a few yes or no (`Choices`). Where values are computed by several kernels, each of which
may round differently, all must choose alike. (Derivatives choose for themselves: on a boundary each side has one.)
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.hodograph import Lane, Slide, noise, velocity, velocity_at
from jimpact.numerics import divide, norm, small_rotation
from jimpact.rays import LARGEST_TURN, Plane, leaving_ray, normal_rate, rates, slopes, solve_b, turn_ahead
from jimpact.restitution import Books, StopRule, book, end_of_compression, start_of_compression
from jimpact.types import Flag, Scalar, Whole

__all__ = ["Choices", "End", "close", "plausible"]

Ray = Callable[[Plane, Scalar], tuple[Scalar, Scalar]]


class Choices:
    """Answers to the questions of `close`, in their order: those it finds itself, or those of a code, bit by bit."""

    def __init__(self, code: Whole | None = None) -> None:
        self.code, self.flags = code, list[Flag]()

    def __call__(self, flag: Flag) -> Flag:
        self.flags.append(flag)
        return flag if self.code is None else (self.code >> (len(self.flags) - 1)) & 1 > 0

    def packed(self) -> Whole:
        code = self.flags[0].astype(jnp.int32)
        for place, flag in enumerate(self.flags[1:], 1):
            code = code | flag.astype(jnp.int32) << place
        return code


class End(NamedTuple):
    """The end of the impact, with what `info` needs to know about the way there."""

    x: Scalar
    y: Scalar
    ix: Scalar
    iy: Scalar
    v: Scalar
    friction_work: Scalar
    books: Books
    finished: Flag
    error: Scalar  # estimate, relative to the normal impulse
    line_ix: Scalar  # tangential impulse at the start of the line
    line_iy: Scalar
    reaches_zero: Flag
    zero_at: Scalar  # normal impulse at zero slip, where reached
    zero_ix: Scalar  # tangential impulse there
    zero_iy: Scalar
    compressing_at_zero: Flag
    stick: Flag


class Glide(NamedTuple):
    """A lane on a piece with constant k."""

    v: Scalar
    books: Books
    stopped: Flag


def close(
    lane: Lane,
    state: Slide,
    static: Scalar,
    rule: StopRule,
    ray: Ray = leaving_ray,
    choose: Choices | None = None,
) -> End:
    """Finish every lane in closed form; `ray` gives the diverging one, or nothing: there slip sticks."""
    plane, choose = lane.plane, choose or Choices()
    x, y, v = velocity(lane, state)
    slips = choose((x != 0) | (y != 0))
    gx, gy = jnp.where(slips, x, 1), jnp.where(slips, y, 0)
    sx, sy, r, push, friction, turn = _relax(plane, gx, gy, state.resting & ~state.straight)
    ix, iy = state.ix - push * sy, state.iy + push * sx
    v = v + push * (plane.dy * sx - plane.dx * sy)

    g = rates(plane, sx, sy)[0]
    shrinks = choose(g < 0)
    passed = choose(~shrinks & noise(lane, state, r))  # zero, to within round-off
    ends = ~slips | shrinks | passed
    pace = jnp.where(shrinks, jnp.maximum(-g, jnp.finfo(g.dtype).tiny), 1)
    length = jnp.where(slips & ~passed, jnp.where(ends, divide(r, pace), jnp.inf), 0)
    k = normal_rate(plane, sx, sy)
    line, p1 = _glide(Glide(v, state.books, jnp.zeros_like(slips)), k, length, lane, rule, choose)
    line_ix, line_iy = ix, iy
    ix, iy = ix - plane.mu * sx * p1, iy - plane.mu * sy * p1
    friction = jnp.where(slips, friction - plane.mu * (r + 0.5 * g * p1) * p1, 0)

    qx, qy = ray(plane, static)
    stick = (qx == 0) & (qy == 0)
    reaches = ~line.stopped & ends
    # Slip is zero there: what round-off leaves over goes into the tangential impulse. (From a start at zero
    # slip on to the diverging ray, the derivative is that of a start along the ray.)
    settles = reaches & (stick | slips)
    gx, gy, _ = velocity_at(lane, ix, iy, line.books.impulse)
    cx, cy = solve_b(plane, -gx, -gy)
    cx, cy = jnp.where(settles, cx, 0), jnp.where(settles, cy, 0)
    v = line.v + plane.dx * cx + plane.dy * cy
    gx, gy = jnp.where(settles, 0, gx), jnp.where(settles, 0, gy)

    ux, uy = solve_b(plane, plane.dx, plane.dy)
    tx, ty = jnp.where(stick, ux, plane.mu * qx), jnp.where(stick, uy, plane.mu * qy)
    kappa = plane.w - plane.dx * tx - plane.dy * ty
    last, p2 = _glide(line._replace(v=v), kappa, jnp.full_like(v, jnp.inf), lane, rule, choose)
    growth = jnp.where(stick, 0, rates(plane, qx, qy)[0])
    gx, gy = gx + qx * growth * p2, gy + qy * growth * p2
    friction = friction - jnp.where(stick, 0, 0.5 * plane.mu * growth * p2 * p2)

    error = turn * turn * jnp.maximum(p1, jnp.abs(push))
    return End(
        gx,
        gy,
        ix + cx - tx * p2,
        iy + cy - ty * p2,
        last.v,
        state.friction_work + friction,
        last.books,
        line.stopped | last.stopped,
        jnp.where(slips, jnp.abs(divide(error, last.books.impulse)), 0),
        line_ix,
        line_iy,
        reaches,
        state.books.impulse + p1,
        ix + cx,
        iy + cy,
        line.books.compressing,
        stick,
    )


def plausible(ix: Scalar, iy: Scalar, p: Scalar, v: Scalar, static: Scalar, slack: float) -> Flag:
    """Finite, pushing, not approaching, and within the friction cone: what every law promises."""
    cone = norm(ix, iy) <= static * p * (1 + slack) + slack * p
    return jnp.isfinite(ix + iy + p) & (p > 0) & (v >= -slack * (1 + p)) & cone


def _relax(plane: Plane, x: Scalar, y: Scalar, resting: Flag) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Invariant direction ahead, slip along it, tangential push across it and its work, and the turn to it.

    Resting lanes keep their direction: they have nowhere to go.
    """
    r0 = norm(x, y)
    sx, sy = divide(x, r0), divide(y, r0)
    ahead = jnp.where(resting, 0, turn_ahead(plane, sx, sy))
    turn = jnp.clip(ahead, -LARGEST_TURN, LARGEST_TURN)
    cosine, sine = small_rotation(turn)
    sx, sy = sx * cosine - sy * sine, sy * cosine + sx * sine
    tBt, tBs = slopes(plane, sx, sy)[2:]
    across = r0 * sine
    push = divide(across, tBt)
    return sx, sy, r0 * cosine + push * tBs, push, -0.5 * push * across, jnp.minimum(jnp.abs(ahead), 1)


def _glide(at: Glide, k: Scalar, length: Scalar, lane: Lane, rule: StopRule, choose: Choices) -> tuple[Glide, Scalar]:
    """Go on with constant k for a normal impulse `length`, or to the stop; return also how far it went."""
    v, books, done = at
    to_rest = jnp.where(k == 0, jnp.inf, divide(-v, k))
    ends = choose(~done & books.compressing & (k > 0) & (to_rest <= length))
    first = jnp.where(ends, to_rest, 0)
    books = end_of_compression(book(books, first, 0.5 * v * first), ends)
    v, left = jnp.where(ends, 0, v), length - first

    missing = rule.target(books, lane.v0, lane.e) - rule.current(books, v)
    to_stop = rule.distance(missing, v, k, books, lane.e)
    to_fall = jnp.where(~books.compressing & (k < 0), to_rest, jnp.inf)
    stop = choose(~done & ~books.compressing & (to_stop <= left) & (to_stop <= to_fall))
    falls = choose(~done & ~stop & (to_fall < left))
    second = jnp.where(stop, to_stop, jnp.where(falls, to_fall, left))
    second = jnp.where(~done & jnp.isfinite(second), second, 0)
    books = book(books, second, (v + 0.5 * k * second) * second)
    v = jnp.where(falls, 0, v + k * second)

    third = jnp.where(falls & jnp.isfinite(left), left - second, 0)
    books = start_of_compression(books, falls)
    books = book(books, third, 0.5 * k * third * third)
    return Glide(v + k * third, books, done | stop), first + second + third
