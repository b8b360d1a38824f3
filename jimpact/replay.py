"""The derivative of the steps that were taken, in forward and in reverse mode.

The steps of every lane are known: their lengths and codes carry no derivative, and a step of known length is a formula
(`_added`). So the derivative is that of a chain of formulas, and no search is ever differentiated.

Lanes with as many steps as one another are put into one block, in which none waits for the others. In reverse mode a
block goes forward first and keeps where each step began.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.hodograph import (
    Accuracy,
    Lane,
    Slide,
    Step,
    beyond,
    clock_unit,
    lane_at,
    moving,
    settle,
    start,
    turn_over,
    velocity_at,
)
from jimpact.mark import Mark
from jimpact.numerics import direction, lone_kernels, norm, split_code
from jimpact.parts import in_parts
from jimpact.program import Program
from jimpact.rays import Plane, moved
from jimpact.restitution import StopRule
from jimpact.rounds import LANE, LOG, RECORD, SLIDE, SMOOTH, operands_of, slots_for, state_from
from jimpact.series import Integrals, Rates, integrate, rates_of, turned_to
from jimpact.types import Array, Flag, Scalar, Whole

__all__ = ["slide"]

IMPULSE = ("ix", "iy", "impulse")
FIXED = (*Plane._fields, "x0", "y0", "v0")  # first operands of a lane, by name: those on which its steps depend
Names = tuple[str, ...]
Static = tuple[StopRule, Accuracy]
Smooth = tuple[Scalar, ...]  # what has a derivative, in the order of SMOOTH


def slide(lane: Lane, mark: Mark, rule: StopRule, accuracy: Accuracy) -> tuple[Slide, Scalar]:
    """Step all lanes to their end, or to where slip stops; and where each crossed its mark."""
    results = SLIDE((rule, accuracy), *operands_of(lane), *mark)
    return state_from(results), results["line"]


def _smooth(state: Slide) -> Smooth:
    values = {**state._asdict(), **state.books._asdict()}
    return tuple(values[name] for name in SMOOTH)


def _with(state: Slide, smooth: Smooth) -> Slide:
    values = dict(zip(SMOOTH, smooth, strict=True))
    books = state.books._replace(**{name: values[name] for name in SMOOTH[3:]})
    return state._replace(**{name: values[name] for name in SMOOTH[:3]}, books=books)


class Place(NamedTuple):
    """Where a step begins, or ends: velocity, and the plane's constants."""

    x: Scalar
    y: Scalar
    v: Scalar
    plane: Plane


def _begin(lane: Lane, state: Slide) -> tuple[Place, Scalar]:
    """Where a step begins, and the unit of its clock."""
    x, y, v = moving(lane, state)
    return Place(x, y, v, lane.plane), clock_unit(lane, state, x, y)


def _rates(place: Place, unit: Scalar) -> Rates:
    sx, sy, _ = direction(place.x, place.y)
    return rates_of(turned_to(place.plane, sx, sy), unit)


def _added(place: Place, unit: Scalar, done: Integrals, ledger: bool) -> list[Scalar]:
    """What a step with these integrals adds, in the order of `Step`.

    The work of the normal impulse is that of its own velocities, by V = v + w P + d.I; that of friction, if there is a
    ledger, is what is left of the change of kinetic energy.
    """
    x, y, v, plane = place
    r, push = norm(x, y), -plane.mu * unit
    p = (done.q + done.h) * (r * unit)
    ix, iy = push * (done.q * x - done.t * y), push * (done.q * y + done.t * x)
    work = v * p + 0.5 * plane.w * p * p + push * (r * r) * done.work
    if not ledger:
        return [ix, iy, p, work]
    x1, y1, v1 = moved(plane, x, y, v, ix, iy, p)
    return [ix, iy, p, work, 0.5 * (ix * (x + x1) + iy * (y + y1) + p * (v + v1)) - work]


def _as_step(parts: Sequence[Scalar]) -> Step:
    return Step(*parts, *([jnp.zeros_like(parts[0])] * (len(Step._fields) - len(parts))))


def _kernels(function: Callable[..., list[Scalar]], needed: int) -> Callable[..., list[Scalar]]:
    """function(free, fixed) and its derivative by what is free, in forward mode, as kernels: each computed once. Of the
    values only the first ones are `needed`: the others enter linearly, and are zero here.
    """

    @jax.custom_jvp
    def value(free: Any, fixed: Any, go: Flag) -> list[Scalar]:
        found = lone_kernels(go, lambda *a: function(*a)[:needed], free, fixed) if needed else []
        count = len(jax.eval_shape(function, free, fixed))
        return found + [jnp.zeros_like(jax.tree.leaves(free)[0])] * (count - needed)

    @value.defjvp
    def change(given: Any, tangents: Any) -> tuple[list[Scalar], list[Scalar]]:
        free, fixed, go = given

        def inner(free: Any, fixed: Any, change: Any) -> list[Scalar]:
            return jax.jvp(lambda free: function(free, fixed), (free,), (change,))[1]

        return value(*given), lone_kernels(go, inner, free, fixed, tangents[0])

    return value


def _tangent_block(static: Static, lane: Lane, log: Any, most: Whole, changes: Lane, ledger: bool) -> Smooth:
    """From step to step with the change beside the value."""
    order = static[1].order

    def travelled(place: Place, fixed: tuple[Scalar, Scalar]) -> list[Scalar]:
        unit, length = fixed
        return _added(place, unit, integrate(_rates(place, unit), length, order), ledger)

    def landed(at: tuple[Lane, Scalar, Scalar, Scalar], _: tuple[()]) -> list[Scalar]:
        lane, ix, iy, p = at
        return list(beyond(lane.plane, *velocity_at(lane, ix, iy, p), p))

    travel, land = _kernels(travelled, 3), _kernels(landed, 0)

    def body(carry: tuple[Whole, Slide, Smooth]) -> tuple[Whole, Slide, Smooth]:
        index, state, tangent = carry
        (length, code), go = log(index), index >= 0

        def one(lane: Lane, smooth: Smooth) -> tuple[Smooth, Slide]:
            before = _with(state, smooth)
            place, unit = _begin(lane, before)
            after = settle(before, _as_step(travel(place, (unit, length), go)))
            after = turn_over(after, code, *land((lane, after.ix, after.iy, after.books.impulse), (), go))
            return _smooth(after), after

        _, tangent, state = jax.jvp(one, (lane, _smooth(state)), (changes, tangent), has_aux=True)
        return index + 1, state, tangent

    state = start(lane)
    zeros = jax.tree.map(jnp.zeros_like, _smooth(state))
    return lax.while_loop(lambda carry: carry[0] < most, body, (jnp.int32(0), state, zeros))[2]


def _cotangent_block(
    static: Static, lane: Lane, log: Any, most: Whole, cotangents: Smooth, ledger: bool
) -> list[Array]:
    """Forth to know where each step began, and back with the cotangents of the velocity there (`flow`)."""
    order, limit = static[1].order, static[1].most
    zero = jnp.zeros_like(lane.v0)

    integrals, inside = partial(_integrals, order), partial(_inside, ledger)
    through, leaving = partial(_through, order), partial(_leaving, ledger)

    def forth(carry: Any) -> Any:
        index, state, before = carry
        (length, code), (place, unit) = log(index), _begin(lane, state)
        done = Integrals(*lone_kernels(index >= 0, integrals, place, unit, length))
        keep = lambda all_, a: lax.dynamic_update_index_in_dim(all_, a, index, 0)  # noqa: E731
        before = jax.tree.map(keep, before, (state, done))
        after = settle(state, _as_step(_added(place, unit, done, False)))
        return index + 1, turn_over(after, code, zero, zero), before

    def back(carry: Any) -> Any:
        index, sums, flow, cotangents, impulse = carry
        index = index - 1
        state, done = jax.tree.map(lambda a: lax.dynamic_index_in_dim(a, index, 0, keepdims=False), before)
        (length, code), (place, unit), go = log(index), _begin(lane, state), index >= 0

        def booked(smooth: Smooth, step: Step, extra: Scalar, work: Scalar) -> Smooth:
            return _smooth(turn_over(settle(_with(state, smooth), step), code, extra, work))

        nothing = ((zero,) * len(SMOOTH), _as_step([zero]), zero, zero)  # linear: their values do not matter
        smooth, step, *over = jax.vjp(booked, *nothing)[1](cotangents)
        arrival = lane, impulse, flow, over
        bars = lone_kernels(go, lambda *a: [bar for some in _arrived(*a)[:2] for bar in some], *arrival)
        smooth = dict(zip(SMOOTH, smooth, strict=True))
        smooth |= {name: smooth[name] + bar for name, bar in zip(IMPULSE, bars[3:], strict=True)}
        given = [a + bar for a, bar in zip(step[:3], bars[3:], strict=True)]
        given += [step.work, step.friction_work] if ledger else [step.work]

        parts = lone_kernels(go, inside, place, unit, done, given)
        turning = lone_kernels(go, through, parts[:6], length, parts[6:])
        x, y, v, *plane = lone_kernels(go, leaving, place, unit, done, given, turning, sums.plane, arrival)
        sums = sums._replace(plane=Plane(*plane), x0=sums.x0 + bars[0], y0=sums.y0 + bars[1], v0=sums.v0 + bars[2])
        flow = [jnp.where(state.resting, 0, a) for a in (x, y, v)]
        return index, sums, flow, tuple(smooth.values()), _impulse(state)

    state = start(lane)
    done = Integrals(zero, zero, zero, zero)
    before = jax.tree.map(lambda a: jnp.zeros((limit, *a.shape), a.dtype), (state, done))
    _, last, before = lax.while_loop(lambda carry: carry[0] < most, forth, (jnp.int32(0), state, before))
    zeros = jax.tree.map(jnp.zeros_like, lane)
    carry = (most, zeros, [zero] * 3, cotangents, _impulse(last))
    _, sums, flow, *_ = lax.while_loop(lambda carry: carry[0] > 0, back, carry)
    first = {name: getattr(sums, name) + bar for name, bar in zip(("x0", "y0", "v0"), flow, strict=True)}
    return list(operands_of(sums._replace(**first)))


def _integrals(order: int, place: Place, unit: Scalar, length: Scalar) -> list[Scalar]:
    return list(integrate(_rates(place, unit), length, order))


def _inside(ledger: bool, place: Place, unit: Scalar, done: Integrals, given: list[Scalar]) -> list[Scalar]:
    """The rates of a step, and the cotangents of its integrals from those `given` of what it adds."""
    (bars,) = jax.vjp(lambda done: _added(place, unit, done, ledger), done)[1](given)
    return [*_rates(place, unit), *bars]


def _through(order: int, rates: list[Scalar], length: Scalar, bars: list[Scalar]) -> list[Scalar]:
    """Cotangents of the rates of a step from those of its integrals."""
    return list(jax.vjp(lambda rates: integrate(rates, length, order), Rates(*rates))[1](Integrals(*bars))[0])


def _leaving(
    ledger: bool,
    place: Place,
    unit: Scalar,
    done: Integrals,
    given: list[Scalar],
    turning: list[Scalar],
    sums: Plane,
    arrival: Any,
) -> list[Scalar]:
    """Cotangents of the velocity where a step begins, from those of what it adds and of its rates (`turning`); and the
    sums of those of the plane's constants, with those of the arrival.
    """
    both = lambda place: (_added(place, unit, done, ledger), _rates(place, unit))  # noqa: E731
    (bar,) = jax.vjp(both, place)[1]((given, Rates(*turning)))
    parts = zip(sums, bar.plane, _arrived(*arrival)[2], strict=True)
    return [bar.x, bar.y, bar.v, *(a + b + c for a, b, c in parts)]


def _impulse(state: Slide) -> list[Scalar]:
    return [state.ix, state.iy, state.books.impulse]


def _arrived(
    lane: Lane, impulse: list[Scalar], flow: list[Scalar], over: list[Scalar]
) -> tuple[list[Scalar], list[Scalar], Plane]:
    """Cotangents of velocity, impulse and plane where a step ends, from those of velocity there and of `beyond`."""
    at = Place(*velocity_at(lane, *impulse), lane.plane)
    landed = lambda at: beyond(at.plane, at.x, at.y, at.v, impulse[2])  # noqa: E731
    (bar,) = jax.vjp(landed, at)[1](tuple(over))
    flow = [a + b for a, b in zip(flow, bar[:3], strict=True)]
    velocity = lambda plane, impulse: moved(plane, lane.x0, lane.y0, lane.v0, *impulse)  # noqa: E731
    plane, impulse = jax.vjp(velocity, lane.plane, impulse)[1](tuple(flow))
    return flow, impulse, Plane(*(a + b for a, b in zip(plane, bar.plane, strict=True)))


def _blocks(block: Callable[..., list[Array]], operands: Sequence[Array], results: int) -> list[Array]:
    """block(lane, log, most, others) over lanes sorted by their number of steps; operands as of `TANGENT`."""
    lanes, lengths, taken, others = operands[:LANE], *operands[LANE : LANE + 2], operands[LANE + 2 :]
    size, lengths = taken.shape[0], lengths.T

    def one(which: Whole | slice) -> list[Array]:
        pick = lambda a: a.at[which].get(mode="clip") if not isinstance(which, slice) else a  # noqa: E731

        def log(index: Whole) -> tuple[Scalar, Whole]:
            if isinstance(which, slice):
                return split_code(lax.dynamic_index_in_dim(lengths, index, 0, keepdims=False))
            return split_code(lengths.at[index, which].get(mode="clip"))

        most = jnp.max(pick(taken), initial=0)
        return block(lane_at([pick(a) for a in lanes]), log, most, [pick(a) for a in others])

    if not isinstance(size, int) or size <= slots_for(size):
        return one(slice(None))
    order = _sorted(taken)
    count, length = in_parts(size, slots_for(size))
    order = jnp.concatenate([order, jnp.full(count * length - size, size, jnp.int32)]).reshape(count, length)

    def body(index: Whole, rows: Array) -> Array:
        which = order[index]
        return rows.at[which].set(jnp.stack(one(which), -1), mode="drop", unique_indices=True)

    rows = lax.fori_loop(0, count, body, jnp.zeros((size, results), lengths.dtype))
    return [rows[:, i] for i in range(results)]


def _sorted(taken: Whole) -> Whole:
    """Indices of lanes by their number of steps."""
    bits = 31 - 7  # of an index: there are at most 2 ** 7 steps, and the last two numbers are not told apart
    if taken.shape[0] > 1 << bits:
        return jnp.argsort(taken).astype(jnp.int32)
    key = jnp.minimum(taken, 127) << bits | jnp.arange(taken.shape[0], dtype=jnp.int32)
    return jnp.sort(key) & ((1 << bits) - 1)  # one number instead of two: half of the time


def _tangent(static: Static, wanted: Names, *operands: Array) -> dict[str, Array]:
    """Changes of the SMOOTH results for changes of the lane."""

    def block(lane: Lane, log: Any, most: Whole, others: Sequence[Array]) -> list[Array]:
        changes = _tangent_block(static, lane, log, most, lane_at(others), "friction_work" in wanted)
        return [changes[SMOOTH.index(name)] for name in wanted]

    return dict(zip(wanted, _blocks(block, operands, len(wanted)), strict=True))


def _cotangent(static: tuple[Static, Names], wanted: Names, *operands: Array) -> dict[str, Array]:
    """Cotangents of the lane for those of some SMOOTH results."""
    steps, given = static

    def block(lane: Lane, log: Any, most: Whole, others: Sequence[Array]) -> list[Array]:
        known, zero = dict(zip(given, others, strict=True)), jnp.zeros_like(lane.v0)
        there = tuple(known.get(name, zero) for name in SMOOTH)
        bars = _cotangent_block(steps, lane, log, most, there, "friction_work" in given)
        return [bars[FIXED.index(name)] for name in wanted]

    return dict(zip(wanted, _blocks(block, operands, len(wanted)), strict=True))


def _transposed(static: Static, cotangents: dict[str, Array], *operands: Array) -> list[Array | None]:
    bars = COTANGENT((static, tuple(cotangents)), *operands[: LANE + 2], *cotangents.values())
    return [None] * (LANE + 2) + [bars[name] for name in FIXED] + [None] * (LANE - len(FIXED))


def _jvp(static: Static, wanted: Names, operands: Sequence[Array], tangents: Sequence[Array | None]) -> Any:
    names = (*wanted, *(name for name in ("taken", LOG) if name not in wanted))
    values = RECORD(static, *operands, wanted=names)
    lane = operands[:LANE]
    changes = [jnp.zeros_like(a) if t is None else t for a, t in zip(lane, tangents[:LANE], strict=True)]
    smooth = tuple(name for name in wanted if name in SMOOTH)
    return values, TANGENT(static, *lane, values[LOG], values["taken"], *changes, wanted=smooth) if smooth else {}


TANGENT = Program("tangent", _tangent, SMOOTH)
COTANGENT = Program("cotangent", _cotangent, FIXED)
TANGENT.define_transpose(_transposed)
SLIDE.define_jvp(_jvp)
