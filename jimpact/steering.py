"""How long is the next step, and what happens where it ends? Chosen per lane and per step; none is ever rejected.

A step is as long as its series can be trusted, or ends at the first event inside it:

* v = 0, rising: compression ends; v = 0, falling: a new compression begins (Baber 2011);
* the stop rule is met: the lane rests there, and `closure` adds a piece of length zero, whose derivative is
  that of the stopping point;
* k = dv/dp changes sign. This happens only where mu |d| > w, and only at the two directions in which
  mu d.s = w. Stopping there makes v monotone in every step, so no pair of zeros of v can hide in one.

k = 0 and a falling v are looked for first. If the other events may hide before such a point, the step does not move,
but bounds the next one. Nothing here carries a derivative.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jimpact.hodograph import (
    CHANGES,
    RESTS,
    STRAIGHTENS,
    Accuracy,
    Heading,
    Lane,
    Slide,
    Step,
    beyond,
    friction_work_at,
    heading,
    noise,
    reference,
    remembered,
    series_at,
    settle,
    terms,
    turn_over,
    velocity,
)
from jimpact.numerics import divide, horner, least_root, norm, own_kernel, own_kernels, pair, root_in, sqrt, unpair
from jimpact.rays import line_errors, normal_rate, rates
from jimpact.restitution import StopRule
from jimpact.series import Series, impulse_at, speed_series, work_series
from jimpact.types import Flag, Pair, Scalar, Whole

__all__ = ["Course", "set_out", "step"]

NEWTON_STEPS = 4  # from the constant-k prediction, they reach round-off on 99.9 % of the steps
LANDED = 64  # x epsilon x size: a landing error within this is taken as landed
CONVERGED = 4096  # x epsilon x size: beyond this Newton's method is not trusted to have converged
FLAT = 64  # x epsilon x the sum of its terms: slip this close to a direction with k = 0 is past it
TRUST = 1e-4  # largest relative size of the last terms kept, when the tolerance would allow more
SENSITIVE = 0.1  # weight of errors of a derivative: they may be 1/0.1 times those of a value
STRAIGHT = 0.1  # of the tolerance: error admitted for a straight line (of its push all: a stiff lane has such noise)
FAINT = 0.5  # of the tolerance: slip that ends within this impulse has no way left to matter


class Course(NamedTuple):
    """What a lane remembers for its next steps."""

    bound: Scalar  # the next step goes no further (inf: no bound)
    waited: Scalar  # steps spent on finding that bound; after one, k keeps its sign; after two, v too
    memory: Scalar  # share of a change of slip, across it, before the impact that is still there


def set_out(lane: Lane) -> Course:
    """Before the first step."""
    zero = jnp.zeros_like(lane.v0)
    return Course(jnp.full_like(zero, jnp.inf), zero, jnp.ones_like(zero))


def step(
    lane: Lane, state: Slide, course: Course, rule: StopRule, accuracy: Accuracy, go: Flag, ledger: bool
) -> tuple[Slide, Course, Scalar, Whole]:
    """Where each lane is after one step, the step's length, and its code; `go` as in `own_kernel`.

    XLA on CPU computes each result of a kernel on its own, with all that is behind it. So a step is a few kernels of
    one result, or of a pair: where it heads, how far and the work on the way, the normal impulse, the tangential
    impulse, what happens there, and what was passed of the end of a phase.
    """

    def direction(lane: Lane, state: Slide) -> list[Scalar]:
        return list(heading(lane, state))

    def series(lane: Lane, state: Slide, ahead: Heading) -> Series:
        return series_at(lane, state, ahead, accuracy.order)[0]

    def normal(lane: Lane, state: Slide, ahead: Heading, length: Scalar) -> Scalar:
        return impulse_at(series(lane, state, ahead), length)[0]

    def tangential(lane: Lane, state: Slide, ahead: Heading, length: Scalar) -> Pair:
        return pair(*impulse_at(series(lane, state, ahead), length)[1:])

    def friction(lane: Lane, state: Slide, ahead: Heading, length: Scalar) -> Scalar:
        return friction_work_at(series(lane, state, ahead), length)

    def measure(lane: Lane, state: Slide, ahead: Heading, course: Course) -> Pair:
        return _measure(lane, state, ahead, course, rule, accuracy)

    def arrive(lane: Lane, state: Slide, done: Step, memory: Scalar, waits: Flag) -> Whole:
        return _arrive(lane, settle(state, done), memory, waits, rule, accuracy)

    def passed(lane: Lane, state: Slide, done: Step) -> Pair:
        return pair(*beyond(lane, settle(state, done)))

    ahead = Heading(*own_kernels(go, direction, lane, state))
    length, work = unpair(own_kernel(go, measure, lane, state, ahead, course))
    waits, length = length < 0, jnp.abs(length)
    way = jnp.where(waits, 0, length)
    p = own_kernel(go, normal, lane, state, ahead, way)
    ix, iy = unpair(own_kernel(go, tangential, lane, state, ahead, way))
    done = Step(p, ix, iy, work, own_kernel(go, friction, lane, state, ahead, way) if ledger else jnp.zeros_like(p))
    memory = course.memory * remembered(lane.plane, ahead, way)
    code = own_kernel(go, arrive, lane, state, done, memory, waits)
    after = turn_over(settle(state, done), code, unpair(own_kernel(go, passed, lane, state, done)))
    course = Course(jnp.where(waits, length, jnp.inf), jnp.where(waits, course.waited + 1, 0), memory)
    return after, course, way, code


def _measure(lane: Lane, state: Slide, ahead: Heading, course: Course, rule: StopRule, accuracy: Accuracy) -> Pair:
    """Length of the next step, and its work; if negative, do not move, but bound the next step by its size."""
    series, V = series_at(lane, state, ahead, accuracy.order)
    plane, books, dtype = series.plane, state.books, lane.v0.dtype
    R = speed_series(series)
    work = work_series(V, R, series.scale, accuracy.order + 1)
    reach = jnp.minimum(_trusted(lane, state, series, R, V, work, accuracy), course.bound)
    target = rule.target(books, lane.v0, lane.e)
    S = list(rule.watched([q + h for q, h in zip(series.Q, series.H, strict=True)], V, work, series.scale))
    S[0] = rule.current(books, V[0]) - target

    k = normal_rate(plane, jnp.ones_like(V[0]), jnp.zeros_like(V[0]))
    turning = jnp.sign(series.Y[1])
    tx, ty = _next_flat(series, turning, k < 0)
    close = jnp.abs(ty) * series.slip <= FLAT * jnp.finfo(dtype).eps * terms(lane, state)
    tx, ty = _next_flat(series, turning, (k < 0) ^ close)
    tx, ty = turning * tx, turning * ty
    G = [tx * b - ty * a for a, b in zip(series.X, series.Y, strict=True)] + [jnp.zeros_like(k)]  # rises to 0: k = 0
    flat = (course.waited < 1) & (ty > 0) & (horner(G, reach) > 0) & (plane.mu * norm(plane.dx, plane.dy) > plane.w)
    fall = (course.waited < 2) & ~books.compressing & (horner(V, reach) < 0) & ~flat

    bounding = flat | fall
    E = [jnp.where(books.compressing, v, s) for v, s in zip(V, S, strict=True)]  # rises to 0: end of phase
    F = [jnp.where(flat, g, jnp.where(fall, -v, e)) for g, v, e in zip(G, V, E, strict=True)]
    scale = jnp.where(flat, 1, jnp.where(books.compressing | fall, 1 + jnp.abs(V[0]), target))
    x = jnp.where(
        books.compressing,
        jnp.where(k > 0, divide(-V[0], k), jnp.inf),
        rule.distance(-S[0], V[0], k, books, lane.e),
    )
    ratio = x / series.scale
    guess = jnp.where(bounding, 0.5 * reach, ratio / jnp.maximum(1 + 0.5 * R[1] * ratio, 0.1))
    root = root_in(F, reach, guess, CONVERGED * jnp.finfo(dtype).eps * scale, NEWTON_STEPS)
    root = jnp.where(flat, root * (1 + jnp.finfo(dtype).eps ** 0.5), root)  # the next step starts just past it
    ends = horner(E, jnp.where(bounding, root, reach)) >= 0
    hides = bounding & (ends | (flat & ~books.compressing & (horner(V, root) < 0)))
    length = jnp.where(state.resting, 0, jnp.where(bounding | ends, root, reach))
    whole = work_series(V, R, series.scale, len(V) + len(R) - 1)
    return pair(jnp.where(hides, -length, length), jnp.where(hides, 0, horner(whole, length)))


def _trusted(
    lane: Lane, state: Slide, series: Series, R: list[Scalar], V: list[Scalar], work: list[Scalar], accuracy: Accuracy
) -> Scalar:
    """How far the series reaches: where its last terms weigh as much as the error admitted."""
    size, order = reference(state), accuracy.order
    per_step = accuracy.tolerance * size / (series.scale * jnp.maximum(1, lane.plane.mu))
    admitted = jnp.minimum(TRUST, per_step)
    energy = size * jnp.maximum(1, jnp.abs(V[0]))
    last = [jnp.sqrt(series.X[n] ** 2 + series.Y[n] ** 2 + R[n] ** 2) for n in (order - 1, order)]
    return least_root(
        (divide(accuracy.tolerance * energy, jnp.abs(work[order]), 1e30), order),
        (divide(admitted, last[0], 1e30), order - 1),
        (divide(admitted, last[1], 1e30), order),
    )


def _next_flat(series: Series, turning: Scalar, falling: Flag) -> tuple[Scalar, Scalar]:
    """The next direction, in the sense of turning, in which mu d.s = w (where there is one); in the axes of slip."""
    plane = series.plane
    length = norm(plane.dx, plane.dy)
    ex, ey = divide(plane.dx, length), divide(plane.dy, length)
    cosine = divide(plane.w, plane.mu * length)
    sine = sqrt(1 - cosine * cosine) * turning * jnp.where(falling, 1, -1)
    return cosine * ex - sine * ey, cosine * ey + sine * ex


def _arrive(lane: Lane, after: Slide, memory: Scalar, waits: Flag, rule: StopRule, accuracy: Accuracy) -> Whole:
    """What happens where a lane arrived, as one number."""
    plane, books, eps = lane.plane, after.books, jnp.finfo(lane.v0.dtype).eps
    x, y, v = velocity(lane, after)
    r = jnp.where(after.resting, 1, norm(x, y))
    sx, sy = divide(x, r), divide(y, r)
    k = normal_rate(plane, sx, sy)
    live = ~after.resting & ~waits

    near = LANDED * eps * (1 + plane.w * books.impulse)
    target = rule.target(books, lane.v0, lane.e)
    missing = target - rule.current(books, v)
    compressed = books.compressing & (v >= -near) & (k > 0)
    stop = ~books.compressing & (missing <= LANDED * eps * target + rule.noise(books, near))
    falls = ~books.compressing & ~stop & (v <= near) & (k < 0)
    # So little restitution that the straight line of `closure` covers it, with e linear:
    last = compressed & (lane.e * lane.e <= 0.01 * eps)

    g, size = rates(plane, sx, sy)[0], reference(after)
    faint = (r < -g * FAINT * accuracy.tolerance * size) | noise(lane, after, r)
    to_rest = jnp.where(v * k < 0, divide(-v, k), jnp.inf)
    to_stop = jnp.where(books.compressing, jnp.inf, rule.distance(missing, v, k, books, lane.e))
    undisturbed = r < -g * jnp.minimum(to_rest, to_stop)
    bend, push, late = line_errors(plane, sx, sy, r, size, SENSITIVE * memory)
    admitted = STRAIGHT * accuracy.tolerance
    line = (push <= accuracy.tolerance) | (undisturbed & (late <= admitted * jnp.maximum(1, jnp.abs(v))))
    straight = live & (bend <= admitted) & line & ~(compressed | stop | falls | faint)

    changes = live & ((compressed & ~last) | falls)
    rests = live & (stop | last | straight | faint)
    return jnp.where(changes, CHANGES, 0) | jnp.where(rests, RESTS, 0) | jnp.where(straight, STRAIGHTENS, 0)
