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

import math
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.hodograph import (
    CHANGES,
    RESTS,
    STRAIGHTENS,
    Accuracy,
    Lane,
    Slide,
    friction_work_at,
    lane_at,
    noise,
    reference,
    remembered,
    series_at,
    start,
    terms,
    turn_over,
    velocity,
)
from jimpact.kernels import own_kernel, pair, unpair
from jimpact.numerics import divide, exp2, horner, log2, norm, root_in, sqrt, where, with_code
from jimpact.rays import Plane, line_errors, normal_rate, rates
from jimpact.restitution import Books, StopRule, book, overrun
from jimpact.series import Series, impulse_at, speed_series, work_series
from jimpact.types import Array, Flag, Pair, Scalar, Whole

__all__ = [
    "COMPRESSING",
    "EVENTS",
    "RESTING",
    "STRAIGHT",
    "Travel",
    "Way",
    "bits_of",
    "set_out",
    "state_of",
    "step",
    "taken",
]

NEWTON_STEPS = 4  # from the constant-k prediction, they reach round-off on 99.9 % of the steps
LANDED = 64  # x epsilon x size: a landing error within this is taken as landed
CONVERGED = 4096  # x epsilon x size: beyond this Newton's method is not trusted to have converged
FLAT = 64  # x epsilon x the sum of its terms: slip this close to a direction with k = 0 is past it
TRUST = 1e-4  # largest relative size of the last terms kept, when the tolerance would allow more
LONGEST = 9  # log2 of the longest step, and of the inverse of the shortest, in units of the clock
SENSITIVE = 0.1  # weight of errors of a derivative: they may be 1/0.1 times those of a value
LINE = 0.1  # of the tolerance: error admitted for a straight line (of its push all: a stiff lane has such noise)
FAINT = 0.5  # of the tolerance: slip that ends within this impulse has no way left to matter


# Bits of `Travel.flags`; above them the steps spent waiting (two bits), and the steps taken.
COMPRESSING, RESTING, STRAIGHT = 1, 2, 4
WAITED, TAKEN = 3, 5
EVENTS = ("first_end", "last_start", "last_end", "compressions")


class Way(NamedTuple):
    """How to step."""

    rule: StopRule
    accuracy: Accuracy
    ledger: bool  # with the work of friction
    events: bool  # with the moments of phases


class Travel(NamedTuple):
    """A lane on its way, in few arrays: pairs as kernels return them, and bits."""

    tangential: Pair  # impulse so far
    normal: Pair  # normal impulse so far; `Course.memory`
    measured: Pair  # of the last step: length, negative if the lane waited, to bound the next one by it; normal work
    works: Pair  # of compression, of restitution
    compression_impulse: Scalar
    flags: Whole
    friction_work: Scalar
    first_end: Scalar
    last_start: Scalar
    last_end: Scalar
    compressions: Scalar


class Course(NamedTuple):
    """What a lane remembers for its next steps."""

    bound: Scalar  # the next step goes no further (inf: no bound)
    waited: Whole  # steps spent on finding that bound; after one, k keeps its sign; after two, v too
    memory: Scalar  # share of a change of slip, across it, before the impact that is still there


def set_out(lane: Lane) -> Travel:
    """Before the first step."""
    state, zero = start(lane), jnp.zeros_like(lane.v0)
    none, counts = pair(zero, zero), jnp.zeros_like(zero, jnp.int32)
    return _packed(state, none, pair(zero, jnp.ones_like(zero)), none, counts)


def _packed(state: Slide, tangential: Pair, normal: Pair, measured: Pair, counts: Whole) -> Travel:
    books = state.books
    return Travel(
        tangential,
        normal,
        measured,
        pair(books.compression_work, books.restitution_work),
        books.compression_impulse,
        bits_of(state) | counts,
        state.friction_work,
        books.first_end,
        books.last_start,
        books.last_end,
        books.compressions,
    )


def bits_of(state: Slide) -> Whole:
    """What is so or not about a lane."""
    bits = state.books.compressing * COMPRESSING + state.resting * RESTING + state.straight * STRAIGHT
    return bits.astype(jnp.int32)


def state_of(at: Travel) -> Slide:
    """Where the lane is."""
    bit = lambda which: at.flags & which > 0  # noqa: E731
    books = Books(
        bit(COMPRESSING),
        unpair(at.normal)[0],
        at.compression_impulse,
        *unpair(at.works),
        at.first_end,
        at.last_start,
        at.last_end,
        at.compressions,
    )
    return Slide(*unpair(at.tangential), at.friction_work, books, bit(RESTING), bit(STRAIGHT))


def _course(at: Travel) -> Course:
    length = unpair(at.measured)[0]
    return Course(where(length < 0, -length, jnp.inf), (at.flags >> WAITED) & 3, unpair(at.normal)[1])


def taken(at: Travel) -> Whole:
    """Steps so far."""
    return at.flags >> TAKEN


def step(fixed: Array, at: Travel, way: Way, go: Flag) -> tuple[Travel, Scalar]:
    """Where each lane is after one step, and the step's length with its code; `fixed` is as `lane_at` wants it.

    XLA on CPU computes each result of a kernel on its own, with all that is behind it. So a step is a few kernels of
    one pair each: how far it goes and the work on the way, the normal impulse, the tangential impulse, what happens
    there. They read and write the same few arrays; `go` as in `own_kernel`.
    """
    order = way.accuracy.order

    def measure(fixed: Array, at: Travel) -> Pair:
        return _measure(lane_at(fixed), state_of(at), _course(at), way.rule, way.accuracy)

    def series(fixed: Array, at: Travel, measured: Pair) -> tuple[Series, Scalar]:
        lane, state = lane_at(fixed), state_of(at)
        return series_at(lane, state, order)[0], jnp.maximum(unpair(measured)[0], 0)

    def normal(fixed: Array, at: Travel, measured: Pair) -> Pair:
        expanded, length = series(fixed, at, measured)
        before, memory = unpair(at.normal)
        return pair(before + impulse_at(expanded, length)[0], memory * remembered(expanded, length))

    def tangential(fixed: Array, at: Travel, measured: Pair) -> Pair:
        _, ix, iy = impulse_at(*series(fixed, at, measured))
        before = unpair(at.tangential)
        return pair(before[0] + ix, before[1] + iy)

    def friction(fixed: Array, at: Travel, measured: Pair) -> Scalar:
        return at.friction_work + friction_work_at(*series(fixed, at, measured))

    def arrive(fixed: Array, at: Travel, measured: Pair, normal: Pair, tangential: Pair) -> Pair:
        lane, after = lane_at(fixed), _settled(at, measured, normal, tangential, at.friction_work)
        waits = unpair(measured)[0] < 0
        extra, code = _arrive(lane, after, unpair(normal)[1], waits, way.rule, way.accuracy)
        return pair(extra, code.astype(lane.v0.dtype))

    measured = own_kernel(go, measure, fixed, at)
    to = own_kernel(go, normal, fixed, at, measured)
    across = own_kernel(go, tangential, fixed, at, measured)
    work = own_kernel(go, friction, fixed, at, measured) if way.ledger else at.friction_work
    extra, code = unpair(own_kernel(go, arrive, fixed, at, measured, to, across))
    code = code.astype(jnp.int32)

    settled = _settled(at, measured, to, across, work)
    after = turn_over(settled, code, extra, 0.5 * velocity(lane_at(fixed), settled)[2] * extra)
    length = unpair(measured)[0]
    waited = where(length < 0, _course(at).waited + 1, 0)
    steps = taken(at) + where(at.flags & RESTING > 0, 0, 1)
    there = _packed(after, across, to, measured, waited << WAITED | steps << TAKEN)
    if not way.events:
        there = there._replace(**{name: getattr(at, name) for name in EVENTS})
    return there, with_code(jnp.maximum(length, jnp.finfo(length.dtype).tiny), code)  # no code in a zero


def _settled(at: Travel, measured: Pair, normal: Pair, tangential: Pair, friction_work: Scalar) -> Slide:
    """After the step, before what happens there."""
    before = state_of(at)
    impulse, work = unpair(normal)[0], unpair(measured)[1]
    books = book(before.books, impulse - before.books.impulse, work)._replace(impulse=impulse)
    ix, iy = unpair(tangential)
    return before._replace(ix=ix, iy=iy, friction_work=friction_work, books=books)


def _measure(lane: Lane, state: Slide, course: Course, rule: StopRule, accuracy: Accuracy) -> Pair:
    """Length of the next step, and its work; if negative, do not move, but bound the next step by its size."""
    series, V = series_at(lane, state, accuracy.order)
    plane, books, dtype = series.plane, state.books, lane.v0.dtype
    R = speed_series(series)
    work = work_series(V, R, series.scale, accuracy.order + 1)
    reach = jnp.minimum(_trusted(lane, state, course.memory, series, V, work, accuracy), course.bound)
    target = rule.target(books, lane.v0, lane.e)
    S = list(rule.watched([q + h for q, h in zip(series.Q, series.H, strict=True)], V, work, series.scale))
    S[0] = rule.current(books, V[0]) - target

    k = normal_rate(plane, jnp.ones_like(V[0]), jnp.zeros_like(V[0]))
    turning = jnp.sign(series.Y[1])
    coupling = norm(plane.dx, plane.dy)
    tx, ty = _next_flat(plane, coupling, turning, k < 0)
    close = jnp.abs(ty) * series.slip <= FLAT * jnp.finfo(dtype).eps * terms(lane, state) * coupling
    tx, ty = _next_flat(plane, coupling, turning, (k < 0) ^ close)
    tx, ty = turning * tx, turning * ty
    G = [tx * b - ty * a for a, b in zip(series.X, series.Y, strict=True)] + [jnp.zeros_like(k)]  # rises to 0: k = 0
    flat = (course.waited < 1) & (ty > 0) & (horner(G, reach) > 0) & (plane.mu * coupling > plane.w)
    fall = (course.waited < 2) & ~books.compressing & (horner(V, reach) < 0) & ~flat

    bounding = flat | fall
    E = [where(books.compressing, v, s) for v, s in zip(V, S, strict=True)]  # rises to 0: end of phase
    F = [where(flat, g, where(fall, -v, e)) for g, v, e in zip(G, V, E, strict=True)]
    scale = where(flat, coupling, where(books.compressing | fall, 1 + jnp.abs(V[0]), target))
    x = where(
        books.compressing,
        where(k > 0, divide(-V[0], k), jnp.inf),
        rule.distance(-S[0], V[0], k, books, lane.e),
    )
    scaled = jnp.maximum(series.scale + 0.5 * R[1] * x, 0.1 * series.scale)
    guess = where(bounding, 0.5 * reach, x / scaled)
    root = root_in(F, reach, guess, CONVERGED * jnp.finfo(dtype).eps * scale, NEWTON_STEPS)
    root = where(flat, root * (1 + jnp.finfo(dtype).eps ** 0.5), root)  # the next step starts just past it
    ends = horner(E, where(bounding, root, reach)) >= 0
    hides = bounding & (ends | (flat & ~books.compressing & (horner(V, root) < 0)))
    length = with_code(where(state.resting, 0, where(bounding | ends, root, reach)))  # as it will be logged
    whole = work_series(V, R, series.scale, len(V) + len(R) - 1)
    return pair(where(hides, -length, length), where(hides, 0, horner(whole, length)))


def _trusted(
    lane: Lane,
    state: Slide,
    memory: Scalar,
    series: Series,
    V: list[Scalar],
    work: list[Scalar],
    accuracy: Accuracy,
) -> Scalar:
    """How far the series reaches: where its last terms weigh as much as the error admitted."""
    size, order = reference(state), accuracy.order
    admitted = log2(accuracy.tolerance * size) - log2(series.scale * jnp.maximum(1, lane.plane.mu))
    admitted = jnp.minimum(admitted, math.log2(TRUST))
    # Slip, and what is left of a change of it across, exp(-f t): the latter goes on where the former is straight.
    f = series.plane.mu * series.plane.byy * series.unit

    def term(n: int) -> Scalar:
        change = SENSITIVE * memory * f**n * (1 / math.factorial(n))
        return log2(jnp.abs(series.X[n]) + jnp.abs(series.U[n]) + jnp.abs(series.Y[n]) + change)

    energy = log2(accuracy.tolerance * size * jnp.maximum(1, jnp.abs(V[0]))) - log2(jnp.abs(work[order]))
    flow = jnp.minimum((admitted - term(order - 1)) * (1 / (order - 1)), (admitted - term(order)) * (1 / order))
    return exp2(jnp.clip(jnp.minimum(flow, energy * (1 / order)), -LONGEST, LONGEST))


def _next_flat(plane: Plane, coupling: Scalar, turning: Scalar, falling: Flag) -> tuple[Scalar, Scalar]:
    """The next direction, in the sense of turning, in which mu d.s = w (where there is one), times |d|; in the axes of
    the plane.
    """
    cosine = divide(plane.w, plane.mu * coupling)
    sine = sqrt(1 - cosine * cosine) * turning * where(falling, 1, -1)
    return cosine * plane.dx - sine * plane.dy, cosine * plane.dy + sine * plane.dx


def _arrive(
    lane: Lane, after: Slide, memory: Scalar, waits: Flag, rule: StopRule, accuracy: Accuracy
) -> tuple[Scalar, Whole]:
    """Normal impulse since v = 0, if a phase ends where a lane arrived, and what happens there, as one number."""
    plane, books, eps = lane.plane, after.books, jnp.finfo(lane.v0.dtype).eps
    x, y, v = velocity(lane, after)
    r = where(after.resting, 1, norm(x, y))
    inverse = divide(jnp.ones_like(r), r)
    sx, sy = x * inverse, y * inverse
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
    to_rest = where(v * k < 0, divide(-v, k), jnp.inf)
    to_stop = where(books.compressing, jnp.inf, rule.distance(missing, v, k, books, lane.e))
    undisturbed = r < -g * jnp.minimum(to_rest, to_stop)
    bend, push, late = line_errors(plane, sx, sy, r, size, SENSITIVE * memory)
    admitted = LINE * accuracy.tolerance
    line = (push <= accuracy.tolerance) | (undisturbed & (late <= admitted * jnp.maximum(1, jnp.abs(v))))
    straight = live & (bend <= admitted) & line & ~(compressed | stop | falls | faint)

    changes = live & ((compressed & ~last) | falls)
    rests = live & (stop | last | straight | faint)
    code = where(changes, CHANGES, 0) | where(rests, RESTS, 0) | where(straight, STRAIGHTENS, 0)
    return overrun(books.impulse, v, k), code
