"""The derivative of the steps that were taken, in forward and in reverse mode.

The steps of every lane are known: their lengths and codes carry no derivative, and a step of known length is a formula
(`_moved`). So the derivative is that of a chain of formulas, and no search is ever differentiated.

Lanes with as many steps as one another are put into one block, in which none waits for the others. In reverse mode a
block goes forward first and keeps where each step began.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.hodograph import Accuracy, Lane, Slide, Step, beyond, clock_unit, lane_at, moving, settle, start, turn_over
from jimpact.mark import Mark
from jimpact.numerics import divide, lone_kernels, norm, own_kernels, split_code
from jimpact.program import Program
from jimpact.rays import Plane, moved
from jimpact.restitution import StopRule
from jimpact.rounds import LANE, LOG, RECORD, SLIDE, SMOOTH, operands_of, state_from
from jimpact.series import Integrals, Rates, integrate, rates_of, turned_to
from jimpact.types import Array, Flag, Scalar, Whole

__all__ = ["slide"]

BLOCK = 8192  # lanes: enough for all cores, few enough for their caches
FIXED = (*Plane._fields, *Lane._fields[1:])  # operands of a lane, by name
Names = tuple[str, ...]
Static = tuple[StopRule, Accuracy]
Integrate = Callable[[Rates, Scalar], Integrals]
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


class Motion(NamedTuple):
    """How a step goes, and how its derivative is computed."""

    travel: Callable[..., Step]  # of place, unit, length, a step that is known, and `go`
    landing: Callable[..., Sequence[Scalar]]  # `beyond`, of its arguments and `go`


class Place(NamedTuple):
    """Where a step begins: velocity, and the plane's constants."""

    x: Scalar
    y: Scalar
    v: Scalar
    plane: Plane


def _moved(place: Place, unit: Scalar, length: Scalar, integrals: Integrate, ledger: bool) -> list[Scalar]:
    """What a step of known length adds, as in `Step`, written with as few integrals as possible.

    The work of the normal impulse is that of its own velocities, by V = v + w P + d.I; that of friction, if there is a
    ledger, is what is left of the change of kinetic energy.
    """
    x, y, v, plane = place
    r = norm(x, y)
    inverse = divide(jnp.ones_like(r), r)
    sx, sy = x * inverse, y * inverse
    turned, scale = turned_to(plane, sx, sy), r * unit
    done = integrals(rates_of(turned, unit), length)
    p, push = (done.q + done.h) * scale, -turned.mu * scale
    along, across = push * done.q, push * done.t
    ix, iy = along * sx - across * sy, along * sy + across * sx
    work = v * p + 0.5 * turned.w * p * p + push * r * done.work
    if not ledger:
        return [ix, iy, p, work]
    x1, y1, v1 = moved(plane, x, y, v, ix, iy, p)
    return [ix, iy, p, work, 0.5 * (ix * (x + x1) + iy * (y + y1) + p * (v + v1)) - work]


def _as_step(parts: list[Scalar]) -> Step:
    return Step(*parts, *([jnp.zeros_like(parts[0])] * (len(Step._fields) - len(parts))))


def _kernels(function: Callable[..., list[Scalar]]) -> Callable[..., list[Scalar]]:
    """function(moving, fixed) and its derivative by what moves, in forward mode, as kernels: each computed once."""

    @jax.custom_jvp
    def value(moving: Any, fixed: Any, go: Flag) -> list[Scalar]:
        return lone_kernels(go, function, moving, fixed)

    @value.defjvp
    def change(given: Any, tangents: Any) -> tuple[list[Scalar], list[Scalar]]:
        moving, fixed, go = given

        def inner(moving: Any, fixed: Any, change: Any) -> list[Scalar]:
            return jax.jvp(lambda moving: function(moving, fixed), (moving,), (change,))[1]

        return value(*given), lone_kernels(go, inner, moving, fixed, tangents[0])

    return value


def _forward(order: int, ledger: bool) -> Motion:
    """In forward mode."""

    def plain(place: Place, fixed: tuple[Scalar, Scalar]) -> list[Scalar]:
        return _moved(place, *fixed, lambda rates, t: integrate(rates, t, order), ledger)

    move, land = _kernels(plain), _kernels(lambda at, _: list(beyond(*at)))
    return Motion(
        lambda place, unit, length, known, go: _as_step(move(place, (unit, length), go)),
        lambda *at, go: land(at, (), go),
    )


def _reverse(order: int, ledger: bool) -> Motion:
    """In reverse mode: the step `known` as `_moved` gave it."""
    whole = lambda rates, t: integrate(rates, t, order)  # noqa: E731

    @jax.custom_vjp
    def integrals(rates: Rates, t: Scalar, go: Flag) -> Integrals:
        return Integrals(*own_kernels(go, lambda *a: list(whole(*a)), rates, t))

    def pull(given: tuple[Rates, Scalar, Flag], bars: Integrals) -> tuple[Rates, None, None]:
        rates, t, go = given
        inner = lambda rates, t, bars: list(jax.vjp(lambda r: whole(r, t), rates)[1](bars)[0])  # noqa: E731
        return Rates(*own_kernels(go, inner, rates, t, bars)), None, None

    integrals.defvjp(lambda *a: (integrals(*a), a), pull)

    @jax.custom_vjp
    def travel(place: Place, unit: Scalar, length: Scalar, known: Step, go: Flag) -> Step:
        return known

    def travel_pull(given: Any, bars: Step) -> Any:
        place, unit, length, go = given

        def inner(place: Place, unit: Scalar, length: Scalar, go: Flag, bars: Step) -> list[Scalar]:
            whole = lambda rates, t: integrals(rates, t, go)  # noqa: E731
            parts, pull = jax.vjp(lambda place: _moved(place, unit, length, whole, ledger), place)
            (bar,) = pull(list(bars[: len(parts)]))
            return [*bar[:3], *bar.plane]

        x, y, v, *plane = own_kernels(go, inner, place, unit, length, go, bars)
        return Place(x, y, v, Plane(*plane)), None, None, None, None

    def remember(place: Place, unit: Scalar, length: Scalar, known: Step, go: Flag) -> Any:
        return known, (place, unit, length, go)

    travel.defvjp(remember, travel_pull)
    return Motion(travel, lambda *at, go: beyond(*at))


def _step(state: Slide, length: Scalar, code: Whole, known: Step, motion: Motion, go: Flag) -> Callable[..., Any]:
    """A step as a function of lane and of what has a derivative."""

    def function(lane: Lane, smooth: Smooth) -> tuple[Smooth, Slide]:
        before = _with(state, smooth)
        x, y, v = moving(lane, before)
        done = motion.travel(Place(x, y, v, lane.plane), clock_unit(lane, before, x, y), length, known, go)
        after = settle(before, done)
        after = turn_over(after, code, *motion.landing(lane, after.ix, after.iy, after.books.impulse, go=go))
        return _smooth(after), after

    return function


def _tangent_block(static: Static, lane: Lane, log: Any, most: Whole, changes: Lane, ledger: bool) -> Smooth:
    motion = _forward(static[1].order, ledger)

    def body(carry: tuple[Whole, Slide, Smooth]) -> tuple[Whole, Slide, Smooth]:
        index, state, tangent = carry
        length, code = log(index)
        one = _step(state, length, code, _between(state, state), motion, index >= 0)
        _, tangent, state = jax.jvp(one, (lane, _smooth(state)), (changes, tangent), has_aux=True)
        return index + 1, state, tangent

    state = start(lane)
    zeros = jax.tree.map(jnp.zeros_like, _smooth(state))
    return lax.while_loop(lambda carry: carry[0] < most, body, (jnp.int32(0), state, zeros))[2]


def _cotangent_block(
    static: Static, lane: Lane, log: Any, most: Whole, cotangents: Smooth, ledger: bool
) -> list[Array]:
    order, limit = static[1].order, static[1].most
    forward, reverse = _forward(order, False), _reverse(order, ledger)

    def forth(carry: Any) -> Any:
        index, state, before = carry
        before = jax.tree.map(lambda a, b: lax.dynamic_update_index_in_dim(a, b, index, 0), before, state)
        length, code = log(index)
        one = _step(state, length, code, _between(state, state), forward, index >= 0)
        return index + 1, one(lane, _smooth(state))[1], before

    def back(carry: Any) -> Any:
        index, bars, cotangents, after = carry
        index = index - 1
        state = jax.tree.map(lambda a: lax.dynamic_index_in_dim(a, index, 0, keepdims=False), before)
        length, code = log(index)
        one = _step(state, length, code, _between(state, after), reverse, index >= 0)
        _, pull, _ = jax.vjp(one, lane, _smooth(state), has_aux=True)
        more, cotangents = pull(cotangents)
        return index, jax.tree.map(jnp.add, bars, more), cotangents, state

    state = start(lane)
    before = jax.tree.map(lambda a: jnp.zeros((limit, *a.shape), a.dtype), state)
    _, last, before = lax.while_loop(lambda carry: carry[0] < most, forth, (jnp.int32(0), state, before))
    zeros = jax.tree.map(jnp.zeros_like, lane)
    bars = lax.while_loop(lambda carry: carry[0] > 0, back, (most, zeros, cotangents, last))[1]
    return list(operands_of(bars))


def _between(before: Slide, after: Slide) -> Step:
    """The impulse of a step. Works enter linearly: their derivative does not depend on them."""
    zero = jnp.zeros_like(before.ix)
    p = after.books.impulse - before.books.impulse
    return Step(after.ix - before.ix, after.iy - before.iy, p, zero, zero)


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

    if not isinstance(size, int) or size <= BLOCK:
        return one(slice(None))
    order = _sorted(taken)
    count = -(-size // BLOCK)
    order = jnp.concatenate([order, jnp.full(count * BLOCK - size, size, jnp.int32)]).reshape(count, BLOCK)

    def body(index: Whole, rows: Array) -> Array:
        which = order[index]
        return rows.at[which].set(jnp.stack(one(which), -1), mode="drop", unique_indices=True)

    rows = lax.fori_loop(0, count, body, jnp.zeros((size, results), lengths.dtype))
    return [rows[:, i] for i in range(results)]


def _sorted(taken: Whole) -> Whole:
    """Indices of lanes by their number of steps."""
    bits = 31 - 7  # of an index: there are fewer than 2 ** 7 steps
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
    return [None] * (LANE + 2) + [bars[name] for name in FIXED]


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
