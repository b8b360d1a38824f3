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
may round differently, all must choose alike. (Derivatives choose for themselves: on a boundary each side has one, but
all kernels of a derivative are on one side.)
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.hodograph import Lane, Slide, noise, velocity, velocity_at
from jimpact.numerics import divide, norm, small_rotation, where
from jimpact.rays import LARGEST_TURN, Plane, leaving_ray, normal_rate, rates, slopes, solve_b, turn_ahead
from jimpact.restitution import Books, StopRule, book, end_of_compression, start_of_compression
from jimpact.types import Flag, Scalar, Whole

__all__ = [
    "Choices",
    "End",
    "Foot",
    "Glide",
    "Line",
    "along_line",
    "close",
    "foot_of",
    "friction_of",
    "from_foot",
    "onto_line",
    "plausible",
]

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


class Line(NamedTuple):
    """The straight way ahead."""

    ix: Scalar  # tangential impulse at its start
    iy: Scalar
    v: Scalar  # normal velocity there
    r: Scalar  # slip there
    fx: Scalar  # friction per normal impulse
    fy: Scalar
    g: Scalar  # growth of slip per normal impulse
    k: Scalar  # dv/dp
    friction: Scalar  # work of getting onto it
    error: Scalar  # of taking it, per normal impulse
    push: Scalar  # and the push across it


class Glide(NamedTuple):
    """A lane on a piece with constant k."""

    v: Scalar
    books: Books
    stopped: Flag


class Foot(NamedTuple):
    """Where the last piece begins: at zero slip if the lane reaches it, and what lies ahead there."""

    x: Scalar  # velocity
    y: Scalar
    v: Scalar
    ix: Scalar  # tangential impulse
    iy: Scalar
    qx: Scalar  # direction in which slip leaves; zero if it sticks
    qy: Scalar
    tx: Scalar  # friction per normal impulse
    ty: Scalar
    growth: Scalar  # of slip per normal impulse
    k: Scalar  # dv/dp


def close(
    lane: Lane,
    state: Slide,
    static: Scalar,
    rule: StopRule,
    ray: Ray = leaving_ray,
    choose: Choices | None = None,
) -> End:
    """Finish every lane in closed form; `ray` gives the diverging one, or nothing: there slip sticks."""
    choose = choose or Choices()
    x, y, v = velocity(lane, state)
    slips = choose((x != 0) | (y != 0))
    line = onto_line(lane.plane, state, x, y, v, slips)
    rest, p1, reaches = along_line(lane, state, line, slips, rule, choose)
    foot = foot_of(lane, line, rest, p1, reaches, slips, ray(lane.plane, static))
    last, p2 = from_foot(lane, rest, foot, rule, choose)
    ix, iy = foot.ix - foot.tx * p2, foot.iy - foot.ty * p2
    error = where(slips, jnp.abs(divide(line.error * jnp.maximum(p1, jnp.abs(line.push)), last.books.impulse)), 0)
    return End(
        foot.x + foot.qx * foot.growth * p2,
        foot.y + foot.qy * foot.growth * p2,
        ix,
        iy,
        last.v,
        state.friction_work + friction_of(lane.plane, line, p1, foot, p2, slips),
        last.books,
        last.stopped,
        error,
        line.ix,
        line.iy,
        reaches,
        rest.books.impulse,
        foot.ix,
        foot.iy,
        rest.books.compressing,
        (foot.qx == 0) & (foot.qy == 0),
    )


def onto_line(plane: Plane, state: Slide, x: Scalar, y: Scalar, v: Scalar, slips: Flag) -> Line:
    """From slip (x, y) and normal velocity v onto the line ahead."""
    x, y = where(slips, x, 1), where(slips, y, 0)
    sx, sy, r, push, friction, turn = _relax(plane, x, y, state.resting & ~state.straight)
    ix, iy = state.ix - push * sy, state.iy + push * sx
    v = v + push * (plane.dy * sx - plane.dx * sy)
    fx, fy = plane.mu * sx, plane.mu * sy
    return Line(ix, iy, v, r, fx, fy, rates(plane, sx, sy)[0], normal_rate(plane, sx, sy), friction, turn * turn, push)


def along_line(
    lane: Lane, state: Slide, line: Line, slips: Flag, rule: StopRule, choose: Choices
) -> tuple[Glide, Scalar, Flag]:
    """To the stop, or to zero slip; with the normal impulse of the way, and whether slip is zero there."""
    shrinks = choose(line.g < 0)
    passed = choose(~shrinks & noise(lane, state, line.r))  # zero, to within round-off
    ends = ~slips | shrinks | passed
    pace = where(shrinks, jnp.maximum(-line.g, jnp.finfo(line.g.dtype).tiny), 1)
    length = where(slips & ~passed, where(ends, divide(line.r, pace), jnp.inf), 0)
    rest, p = _glide(Glide(line.v, state.books, jnp.zeros_like(slips)), line.k, length, lane, rule, choose)
    return rest, p, ~rest.stopped & ends


def foot_of(
    lane: Lane, line: Line, rest: Glide, p: Scalar, reaches: Flag, slips: Flag, ray: tuple[Scalar, Scalar]
) -> Foot:
    """Where the line, p long, ends."""
    plane, (qx, qy) = lane.plane, ray
    stick = (qx == 0) & (qy == 0)
    # Slip is zero there: what round-off leaves over goes into the tangential impulse. (From a start at zero
    # slip on to the diverging ray, the derivative is that of a start along the ray.)
    settles = reaches & (stick | slips)
    ix, iy = line.ix - line.fx * p, line.iy - line.fy * p
    x, y, _ = velocity_at(lane, ix, iy, rest.books.impulse)
    cx, cy = solve_b(plane, where(settles, -x, 0), where(settles, -y, 0))
    x, y = where(settles, 0, x), where(settles, 0, y)
    ux, uy = solve_b(plane, plane.dx, plane.dy)
    tx, ty = where(stick, ux, plane.mu * qx), where(stick, uy, plane.mu * qy)
    growth = where(stick, 0, rates(plane, qx, qy)[0])
    v = rest.v + plane.dx * cx + plane.dy * cy
    return Foot(x, y, v, ix + cx, iy + cy, qx, qy, tx, ty, growth, plane.w - plane.dx * tx - plane.dy * ty)


def from_foot(lane: Lane, rest: Glide, foot: Foot, rule: StopRule, choose: Choices) -> tuple[Glide, Scalar]:
    """To the stop, and the normal impulse of the way."""
    return _glide(rest._replace(v=foot.v), foot.k, jnp.full_like(foot.v, jnp.inf), lane, rule, choose)


def friction_of(plane: Plane, line: Line, p1: Scalar, foot: Foot, p2: Scalar, slips: Flag) -> Scalar:
    """Work of friction along the line, p1 long, and after it."""
    before = where(slips, line.friction - plane.mu * (line.r + 0.5 * line.g * p1) * p1, 0)
    return before - 0.5 * plane.mu * foot.growth * p2 * p2


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
    ahead = where(resting, 0, turn_ahead(plane, sx, sy))
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
    to_rest = where(k == 0, jnp.inf, divide(-v, k))
    ends = choose(~done & books.compressing & (k > 0) & (to_rest <= length))
    first = where(ends, to_rest, 0)
    books = end_of_compression(book(books, first, 0.5 * v * first), ends)
    v, left = where(ends, 0, v), length - first

    missing = rule.target(books, lane.v0, lane.e) - rule.current(books, v)
    to_stop = rule.distance(missing, v, k, books, lane.e)
    to_fall = where(~books.compressing & (k < 0), to_rest, jnp.inf)
    stop = choose(~done & ~books.compressing & (to_stop <= left) & (to_stop <= to_fall))
    falls = choose(~done & ~stop & (to_fall < left))
    second = where(stop, to_stop, where(falls, to_fall, left))
    second = where(~done & jnp.isfinite(second), second, 0)
    books = book(books, second, (v + 0.5 * k * second) * second)
    v = where(falls, 0, v + k * second)

    third = where(falls & jnp.isfinite(left), left - second, 0)
    books = start_of_compression(books, falls)
    books = book(books, third, 0.5 * k * third * third)
    return Glide(v + k * third, books, done | stop), first + second + third
