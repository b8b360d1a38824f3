"""Slip under Coulomb friction, one step at a time, by power series.

One step of a lane: expand the flow in a power series where the lane is, choose how far that series can be
trusted, shorten the step to the first event inside it, move there, and book what happened. Step lengths are
chosen per lane and per step; none is ever rejected. A lane that has nothing left to do takes steps of length
zero (`rounds` repeats them).

Events that end a step:

* v = 0, rising: compression ends; v = 0, falling: a new compression begins (Baber 2011);
* the stop rule is met: the lane rests there, and `closure` adds a piece of length zero, whose derivative is
  that of the stopping point;
* k = dv/dp changes sign. This happens only where mu |d| > w, and only at the two directions in which
  mu d.s = w. Stopping there makes v monotone in every step, so no pair of zeros of v can hide in one.

k = 0 and a falling v are looked for first. If the other events may hide before such a point, the step does not move,
but bounds the next one.

Derivatives are those of the flow because step lengths carry none (`stop_gradient`): the flow does not care how the
clock is cut up. See docs/method.md.

Everything here is in scaled units: w = 1 and v = -1 at the start.
"""

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, horner, norm, own_kernel, pair, root_estimate, root_in, sqrt, unpair
from jimpact.rays import Plane, destination, largest_rate, line_errors, moved, normal_rate, rates, slopes, turn_ahead
from jimpact.restitution import Books, StopRule, book, open_books, overrun, switch
from jimpact.series import Series, expand, work_done, work_series
from jimpact.types import Flag, Pair, Scalar, Whole

__all__ = [
    "Accuracy",
    "Lane",
    "Slide",
    "lane_of",
    "line_start",
    "series_at",
    "start",
    "step",
    "velocity",
    "velocity_at",
]

MARK_STEPS = 12  # for `line_start`, which is not part of the solution
NEWTON_STEPS = 5  # from the constant-k prediction, 4 reach round-off on 99.9 % of the steps
LANDED = 64  # x epsilon x size: a landing error within this is taken as landed
CONVERGED = 4096  # x epsilon x size: beyond this Newton's method is not trusted to have converged
FLAT = 64  # x epsilon x the sum of its terms: slip this close to a direction with k = 0 is past it
TRUST = 1e-4  # largest relative size of the last terms kept, when the tolerance would allow more
SLOWEST = 1e-3  # rate of the clock per rate of impulse, where slip hardly changes: keeps mu = 0, d = 0 finite
NOISE = 8  # x epsilon x the sum of its terms: slip below this is round-off
SENSITIVE = 0.1  # weight of errors of a derivative: they may be 1/0.1 times those of a value
STRAIGHT = 0.1  # of the tolerance: error admitted for a straight line (of its push all: a stiff lane has such noise)
# What may happen at the end of a step: bits of one number, because a kernel computes each of its results anew.
CHANGES, RESTS, STRAIGHTENS = 1, 2, 4
FAINT = 0.5  # of the tolerance: slip that ends within this impulse has no way left to matter


class Accuracy(NamedTuple):
    """Order of the series, numbers of steps, and error admitted per step relative to the impulse.

    After `half` steps about half of the lanes still move, after `eighth` an eighth; `most` is the limit (see `rounds`).
    """

    order: int
    half: int
    eighth: int
    most: int
    tolerance: float


class Slide(NamedTuple):
    """Where a lane is."""

    ix: Scalar  # tangential impulse so far
    iy: Scalar
    friction_work: Scalar
    books: Books
    resting: Flag  # nothing left to step through
    straight: Flag  # resting, with a straight way to zero slip still to go
    bound: Scalar  # the next step goes no further (inf: no bound)
    taken: Whole  # steps taken by the batch; only for `own_kernel`, whose condition the compiler must not know
    waited: Scalar  # steps spent on finding that bound; after one, k keeps its sign; after two, v too
    memory: Scalar  # share of a change of slip, across it, before the impact that is still there
    line_start: Scalar  # normal impulse at which slip crossed the mark of its lane; nan before


class Lane(NamedTuple):
    """What stays the same for a lane: plane, velocity before, restitution, rate of the clock, and a mark.

    The mark is a direction that slip crosses when it comes close to its invariant direction (`line_start`): a unit
    vector and the sense, +1 or -1, in which it is crossed; 0 where slip starts that close.
    """

    plane: Plane
    x0: Scalar
    y0: Scalar
    v0: Scalar
    e: Scalar
    rate: Scalar
    mark_x: Scalar
    mark_y: Scalar
    sense: Scalar


def lane_of(plane: Plane, x0: Scalar, y0: Scalar, v0: Scalar, e: Scalar, line_tolerance: float) -> Lane:
    rate = largest_rate(plane)
    r = norm(x0, y0)
    sx, sy = jnp.where(r > 0, divide(x0, r), 1), divide(y0, r)
    ex, ey = destination(plane, sx, sy)
    off = jnp.arctan2(sx * ey - sy * ex, sx * ex + sy * ey)
    sense = jnp.where(jnp.abs(off) <= line_tolerance, 0, jnp.sign(rates(plane, sx, sy)[1]))
    c, s = jnp.cos(line_tolerance), -sense * jnp.sin(line_tolerance)
    mark = ex * c - ey * s, ey * c + ex * s, sense
    return Lane(plane, x0, y0, v0, e, *stop_gradient((rate, *mark)))


def _terms(lane: Lane, state: Slide) -> Scalar:
    """Size of the terms whose sum is the slip: its round-off is some epsilon of this."""
    return norm(lane.x0, lane.y0) + lane.rate * state.books.impulse


def velocity(lane: Lane, state: Slide) -> tuple[Scalar, Scalar, Scalar]:
    """Sliding and normal velocity: the one before plus inverse inertia x impulse."""
    return velocity_at(lane, state.ix, state.iy, state.books.impulse)


def velocity_at(lane: Lane, ix: Scalar, iy: Scalar, p: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    return moved(lane.plane, lane.x0, lane.y0, lane.v0, ix, iy, p)


def start(lane: Lane) -> Slide:
    """Before the first step."""
    zero = jnp.zeros_like(lane.v0)
    at_zero = (lane.x0 == 0) & (lane.y0 == 0)
    return Slide(
        ix=zero,
        iy=zero,
        friction_work=zero,
        books=open_books(zero),
        resting=at_zero,
        straight=jnp.zeros_like(at_zero),
        bound=jnp.full_like(zero, jnp.inf),
        taken=jnp.zeros((), jnp.int32),
        waited=zero,
        memory=jnp.ones_like(zero),
        line_start=jnp.where(at_zero | (lane.sense != 0), jnp.nan, zero),
    )


def step(lane: Lane, state: Slide, rule: StopRule, accuracy: Accuracy, go: Flag) -> tuple[Slide, Scalar]:
    """Where each lane is after one step, and the step's length; `go` as in `own_kernel`."""
    measure = lambda lane, state: _measure(lane, state, rule, accuracy)  # noqa: E731
    move = lambda lane, state, length: _move(lane, state, length, accuracy)  # noqa: E731
    length = own_kernel(go, measure, *stop_gradient((lane, state)))
    normal, tangential, friction = own_kernel(go, move, lane, state, jnp.maximum(length, 0))
    (p, work), (ix, iy) = unpair(normal), unpair(tangential)
    after = state._replace(
        ix=state.ix + ix,
        iy=state.iy + iy,
        friction_work=state.friction_work + friction,
        books=book(state.books, p, work),
        memory=state.memory * _remembered(*stop_gradient((lane, state)), jnp.maximum(length, 0)),
        line_start=own_kernel(go, partial(_line_start, order=accuracy.order), *stop_gradient((lane, state, length))),
    )
    arrive = lambda lane, after, waits: _arrive(lane, after, waits, rule, accuracy)  # noqa: E731
    code, extra, extra_work = own_kernel(go, arrive, lane, after, length < 0)
    return _settle(after, length, code, extra, extra_work), jnp.maximum(length, 0)


def _remembered(lane: Lane, state: Slide, length: Scalar) -> Scalar:
    """What a step leaves of a change of slip across it: exp(-mu t.Bt tau), or a little more."""
    x, y, _ = _moving(lane, state)
    r = norm(x, y)
    tBt = slopes(lane.plane, divide(x, r), divide(y, r))[2]
    a = lane.plane.mu * tBt * _unit(lane, state, x, y) * length
    return 1 / (1 + a * (1 + a / 2 * (1 + a / 3 * (1 + a / 4))))


def series_at(lane: Lane, state: Slide, order: int) -> tuple[Series, Scalar]:
    """Series where the lane is, in a clock of its own rate; a resting lane gets a harmless one."""
    x, y, v = _moving(lane, state)
    unit = _unit(lane, state, x, y)
    return expand(lane.plane, x, y, v, unit, order), unit


def _moving(lane: Lane, state: Slide) -> tuple[Scalar, Scalar, Scalar]:
    """`velocity`, with a harmless slip where a lane rests."""
    x, y, v = velocity(lane, state)
    return jnp.where(state.resting, 1, x), jnp.where(state.resting, 0, y), v


def _unit(lane: Lane, state: Slide, x: Scalar, y: Scalar) -> Scalar:
    return stop_gradient(1 / (lane.rate + SLOWEST * norm(x, y) / _reference(state)))


def _reference(state: Slide) -> Scalar:
    """Size of the impulse: what is there, but at least the one that stops a frictionless approach."""
    return jnp.maximum(state.books.impulse, 1)


def _measure(lane: Lane, state: Slide, rule: StopRule, accuracy: Accuracy) -> Scalar:
    """Length of the next step; if negative, do not move, but bound the next step by its size."""
    series, unit = series_at(lane, state, accuracy.order)
    plane, books = lane.plane, state.books
    X, Y, R, V = series.X, series.Y, series.R, series.V
    work = work_series(V, series.P, accuracy.order)
    reach = jnp.minimum(_trusted(lane, state, series, work, unit, accuracy), state.bound)
    target = rule.target(books, lane.v0, lane.e)
    S = list(rule.watched(series.P, V, work))
    S[0] = rule.current(books, V[0]) - target

    turning = jnp.sign(X[0] * Y[1] - Y[0] * X[1])
    k = normal_rate(plane, X[0] / R[0], Y[0] / R[0])
    tx, ty = _next_flat(plane, turning, k < 0)
    close = jnp.abs(tx * Y[0] - ty * X[0]) <= FLAT * jnp.finfo(k.dtype).eps * _terms(lane, state)
    tx, ty = _next_flat(plane, turning, (k < 0) ^ close)
    G = [turning * (tx * b - ty * a) for a, b in zip(X, Y, strict=True)]
    flat = (state.waited < 1) & (G[0] < 0) & (horner(G, reach) > 0)
    flat &= plane.mu * norm(plane.dx, plane.dy) > plane.w
    fall = (state.waited < 2) & ~books.compressing & (horner(V, reach) < 0) & ~flat

    bounding = flat | fall
    E = [jnp.where(books.compressing, v, s) for v, s in zip(V, S, strict=True)]  # rises to 0: end of phase
    F = [jnp.where(flat, g, jnp.where(fall, -v, e)) for g, v, e in zip(G, V, E, strict=True)]
    scale = jnp.where(flat, R[0], jnp.where(books.compressing | fall, 1 + jnp.abs(V[0]), target))
    x = jnp.where(
        books.compressing,
        jnp.where(k > 0, divide(-V[0], k), jnp.inf),
        rule.distance(-S[0], V[0], k, books, lane.e),
    )
    ratio = x / (R[0] * unit)
    guess = jnp.where(bounding, 0.5 * reach, ratio / jnp.maximum(1 + 0.5 * R[1] / R[0] * ratio, 0.1))
    tolerance = CONVERGED * jnp.finfo(R[0].dtype).eps * scale
    root = root_in(F, reach, guess, tolerance, NEWTON_STEPS)
    root = jnp.where(flat, root * (1 + jnp.finfo(root.dtype).eps ** 0.5), root)  # the next step starts just past it
    ends = horner(E, jnp.where(bounding, root, reach)) >= 0
    hides = ends | (flat & ~books.compressing & (horner(V, root) < 0))
    length = jnp.where(bounding, jnp.where(hides, -root, root), jnp.where(ends, root, reach))
    return jnp.where(state.resting, 0, length)


def _trusted(lane: Lane, state: Slide, series: Series, work: list[Scalar], unit: Scalar, accuracy: Accuracy) -> Scalar:
    """How far the series reaches: where its last terms weigh as much as the error admitted."""
    per_step = accuracy.tolerance * _reference(state) / (unit * jnp.maximum(1, lane.plane.mu))
    admitted = jnp.minimum(TRUST * series.R[0], per_step)
    energy = _reference(state) * jnp.maximum(1, jnp.abs(series.V[0]))
    reach = root_estimate(divide(accuracy.tolerance * energy, jnp.abs(work[-1]), 1e30), accuracy.order)
    for n in (accuracy.order - 1, accuracy.order):
        size = jnp.sqrt(series.X[n] ** 2 + series.Y[n] ** 2 + series.R[n] ** 2)
        reach = jnp.minimum(reach, root_estimate(divide(admitted, size, 1e30), n))
    return reach


def _next_flat(plane: Plane, turning: Scalar, falling: Flag) -> tuple[Scalar, Scalar]:
    """The next direction, in the sense of turning, in which mu d.s = w (where there is one)."""
    length = norm(plane.dx, plane.dy)
    ex, ey = divide(plane.dx, length), divide(plane.dy, length)
    cosine = divide(plane.w, plane.mu * length)
    sine = sqrt(1 - cosine * cosine) * turning * jnp.where(falling, 1, -1)
    return cosine * ex - sine * ey, cosine * ey + sine * ex


def _move(lane: Lane, state: Slide, length: Scalar, accuracy: Accuracy) -> tuple[Pair, Pair, Scalar]:
    """Normal impulse and its work, tangential impulse, and friction work of a step."""
    series, _ = series_at(lane, state, accuracy.order)
    p, ix, iy = (horner(c, length) for c in (series.P, series.IX, series.IY))
    work = work_done(series.V, series.P, length)
    friction = work_done(series.X, series.IX, length) + work_done(series.Y, series.IY, length)
    return pair(p, work), pair(ix, iy), friction


def _line_start(lane: Lane, state: Slide, length: Scalar, order: int) -> Scalar:
    """Normal impulse at which slip crosses the mark of its lane, once it did."""
    series, _ = series_at(lane, state, order)
    nearing = [lane.sense * (lane.mark_x * b - lane.mark_y * a) for a, b in zip(series.X, series.Y, strict=True)]
    along = lane.mark_x * horner(series.X, length) + lane.mark_y * horner(series.Y, length)
    crosses = (nearing[0] < 0) & (horner(nearing, length) >= 0) & (along > 0) & (length > 0) & ~state.resting
    t = root_in(nearing, length, 0.5 * length, 0 * length, MARK_STEPS)
    there = state.books.impulse + horner(series.P, t)
    return jnp.where(crosses & jnp.isnan(state.line_start), there, state.line_start)


def line_start(lane: Lane, last: Slide, end: Scalar, tolerance: float) -> Scalar:
    """Normal impulse (scaled) from which the direction of slip stays within `tolerance` of its invariant one.

    An invariant direction is reached only asymptotically, except by starting on it, so the moment is a matter of
    tolerance; nan where slip never comes that close to one before the `end`. A lane that leaves the steps for a
    straight line before that moment gets it from the linear flow: the turn to go falls as a power of slip. Carries
    no derivative.
    """
    lane, last, end = stop_gradient((lane, last, end))
    x, y, _ = velocity(lane, last)
    r = norm(x, y)
    sx, sy = divide(x, r), divide(y, r)
    g, dh, turn = rates(lane.plane, sx, sy)[0], slopes(lane.plane, sx, sy)[1], jnp.abs(turn_ahead(lane.plane, sx, sy))
    converges = last.straight & (g < 0) & (dh < 0)
    left = jnp.minimum(divide(jnp.full_like(turn, tolerance), turn, 1), 1) ** divide(g, jnp.where(converges, dh, 1))
    there = last.books.impulse + r * (1 - left) / jnp.where(converges, -g, 1)
    late = jnp.where(converges & (there <= end), there, jnp.nan)
    return jnp.where(jnp.isnan(last.line_start), late, last.line_start)


def _arrive(lane: Lane, after: Slide, waits: Flag, rule: StopRule, accuracy: Accuracy) -> tuple[Whole, Scalar, Scalar]:
    """What happens where a lane arrived, as one number, and the overrun of a change of phase."""
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

    g, size = rates(plane, sx, sy)[0], _reference(after)
    noise = NOISE * eps * _terms(lane, after)
    faint = (r < -g * FAINT * accuracy.tolerance * size) | (r <= noise)
    to_rest = jnp.where(v * k < 0, divide(-v, k), jnp.inf)
    to_stop = jnp.where(books.compressing, jnp.inf, rule.distance(missing, v, k, books, lane.e))
    undisturbed = r < -g * jnp.minimum(to_rest, to_stop)
    bend, push, late = line_errors(plane, sx, sy, r, size, SENSITIVE * after.memory)
    admitted = STRAIGHT * accuracy.tolerance
    line = (push <= accuracy.tolerance) | (undisturbed & (late <= admitted * jnp.maximum(1, jnp.abs(v))))
    straight = live & (bend <= admitted) & line & ~(compressed | stop | falls | faint)

    changes = live & ((compressed & ~last) | falls)
    rests = live & (stop | last | straight | faint)
    code = jnp.where(changes, CHANGES, 0) | jnp.where(rests, RESTS, 0) | jnp.where(straight, STRAIGHTENS, 0)
    extra, work = overrun(books, v, k)
    return code, jnp.where(changes, extra, 0), jnp.where(changes, work, 0)


def _settle(after: Slide, length: Scalar, code: Whole, extra: Scalar, work: Scalar) -> Slide:
    """Change phase, or come to rest, where an event was reached."""
    waits = length < 0
    return after._replace(
        books=switch(after.books, code & CHANGES > 0, extra, work),
        resting=after.resting | (code & RESTS > 0),
        straight=after.straight | (code & STRAIGHTENS > 0),
        bound=jnp.where(waits, -length, jnp.inf),
        taken=after.taken + 1,
        waited=jnp.where(waits, after.waited + 1, 0),
    )
