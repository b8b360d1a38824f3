"""As many steps as it takes: every lane is stepped until it rests, and then its place is taken by the next one.

Most lanes need few steps, some many. A batch that fits into the `SLOTS` steps together until its slowest lane rests. A
larger one queues for them: every `PACE` steps the slots whose lanes rest put them back and take the next ones of the
batch. So the work of a step stays in the cache, and no lane waits for the slowest.

The derivative is that of the steps that were taken (`replay`).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.hodograph import Accuracy, Lane, Slide, start
from jimpact.mark import Mark, crossed, unmarked
from jimpact.numerics import own_kernel
from jimpact.program import Program
from jimpact.rays import Plane
from jimpact.restitution import Books, StopRule
from jimpact.steering import Course, set_out, step
from jimpact.types import Array, Flag, Scalar, Whole

__all__ = [
    "LANE",
    "OUT",
    "RECORD",
    "SLIDE",
    "SMOOTH",
    "Steps",
    "lane_from",
    "operands_of",
    "recorded",
    "results_of",
    "state_from",
]

SLOTS = 8192  # lanes: their steps fill the second-level caches of two cores
FEWEST = 1024  # slots: with fewer, starting a kernel costs as much as running it
PACE = 2  # steps between two looks at who rests: a look costs a third of a step

LANE = len(Plane._fields) + len(Lane._fields) - 1  # operands of a lane
SMOOTH = ("ix", "iy", "friction_work", "impulse", "compression_impulse", "compression_work", "restitution_work",
          "first_end", "last_start", "last_end")  # fmt: skip
OUT = (*SMOOTH, "compressions", "line", "flags", "taken")  # results of the program; the first ones have derivatives
COMPRESSING, RESTING, STRAIGHT = 1, 2, 4  # bits of `flags`
EVENTS = ("first_end", "last_start", "last_end", "compressions")
WHOLE = ("flags", "taken")

Names = tuple[str, ...]


class Travel(NamedTuple):
    """A lane on its way."""

    state: Slide
    course: Course
    line: Scalar  # normal impulse at which slip crossed the mark of its lane; nan before
    taken: Whole  # steps


class Way(NamedTuple):
    """How to step."""

    rule: StopRule
    accuracy: Accuracy
    ledger: bool  # with the work of friction
    events: bool  # with the moments of EVENTS


class Steps(NamedTuple):
    """The steps that were taken (leading axis): where each began, and its length in the clock of `series_at`."""

    before: Slide
    length: Scalar


class Log(NamedTuple):
    """Lengths and codes of the steps (first axis) of each lane, as `replay` needs them."""

    length: Array
    code: Array


def recorded(lane: Lane, rule: StopRule, accuracy: Accuracy) -> Steps:
    """The steps that `slide` takes."""

    def one(at: tuple[Slide, Course], index: Whole) -> tuple[tuple[Slide, Course], Steps]:
        state, course, length, _ = step(lane, *at, rule, accuracy, index >= 0, False)
        return (state, course), Steps(at[0], length)

    return lax.scan(one, (start(lane), set_out(lane)), jnp.arange(accuracy.most))[1]


def lane_from(operands: Sequence[Array]) -> Lane:
    """A lane from the first operands of a program."""
    plane = Plane(*operands[: len(Plane._fields)])
    return Lane(plane, *operands[len(Plane._fields) : LANE])


def operands_of(lane: Lane) -> tuple[Array, ...]:
    return (*lane.plane, *lane[1:])


def _forward(static: tuple[StopRule, Accuracy], wanted: Names, *operands: Array) -> dict[str, Array]:
    """The program: results of `OUT`."""
    return _solved(static, wanted, operands, None)


def _recording(static: tuple[StopRule, Accuracy], wanted: Names, *operands: Array) -> dict[str, Array]:
    """The same, and the `Log`."""
    shape = (static[1].most, operands[0].shape[0])
    return _solved(static, wanted, operands, Log(jnp.zeros(shape, operands[0].dtype), jnp.zeros(shape, jnp.int8)))


def _solved(
    static: tuple[StopRule, Accuracy], wanted: Names, operands: Sequence[Array], log: Log | None
) -> dict[str, Array]:
    lane, mark = lane_from(operands), Mark(*operands[LANE:]) if "line" in wanted else None
    size = lane.v0.shape[0]
    crowded = isinstance(size, int) and size > _slots(size)  # a symbolic size takes the other way
    way = Way(*static, "friction_work" in wanted, any(name in wanted for name in EVENTS))
    results, log = (_queue if crowded else _together)(lane, mark, way, log, wanted)
    return results | {name: a.T for name, a in log._asdict().items()} if log else results


def _slots(size: int) -> int:
    """Of a batch: an eighth, so that few are empty while the last lanes are on their way."""
    return min(SLOTS, max(FEWEST, size // 8))


def _set_out(lane: Lane, mark: Mark | None) -> Travel:
    line = lane.v0 if mark is None else unmarked(lane, mark)
    return Travel(start(lane), set_out(lane), line, jnp.zeros(lane.v0.shape, jnp.int32))


def _step(lane: Lane, mark: Mark | None, at: Travel, way: Way, go: Flag) -> tuple[Travel, Scalar, Whole]:
    """One step of every lane, its length and its code."""
    state, course, length, code = step(lane, at.state, at.course, way.rule, way.accuracy, go, way.ledger)
    if not way.events:
        books = state.books._replace(**{name: getattr(at.state.books, name) for name in EVENTS})
        state = state._replace(books=books)
    line = at.line
    if mark is not None:
        cross = partial(crossed, order=way.accuracy.order)
        line = own_kernel(go, cross, lane, mark, at.state, length, line)
    taken = at.taken + jnp.where(at.state.resting, 0, 1)
    return Travel(state, course, line, taken), length, code


def _together(lane: Lane, mark: Mark | None, way: Way, log: Log | None, wanted: Names) -> Any:
    """All lanes at once, until every one rests."""

    def body(carry: tuple[Whole, Travel, Log | None]) -> tuple[Whole, Travel, Log | None]:
        index, at, log = carry
        at, length, code = _step(lane, mark, at, way, index >= 0)
        if log is not None:
            column = lambda a, b: lax.dynamic_update_index_in_dim(a, b.astype(a.dtype), index, 0)  # noqa: E731
            log = Log(column(log.length, length), column(log.code, code))
        return index + 1, at, log

    def goes_on(carry: tuple[Whole, Travel, Log | None]) -> Flag:
        return (carry[0] < way.accuracy.most) & jnp.any(~carry[1].state.resting)

    _, at, log = lax.while_loop(goes_on, body, (jnp.int32(0), _set_out(lane, mark), log))
    return _results(at), log


def _queue(lane: Lane, mark: Mark | None, way: Way, log: Log | None, wanted: Names) -> Any:
    """So many lanes at a time as there are slots; `which` lane each of them has, `size` for none."""
    size, dtype = lane.v0.shape[0], lane.v0.dtype
    fixed = jnp.stack([*operands_of(lane), *(mark or ())], -1)

    def take(which: Whole) -> tuple[Lane, Mark | None]:
        row = list(jnp.moveaxis(fixed.at[which].get(mode="clip"), -1, 0))
        return lane_from(row), Mark(*row[LANE:]) if mark else None

    def put(rows: Array, which: Whole, at: Travel) -> Array:
        values = _results(at)
        return rows.at[which].set(jnp.stack([values[name].astype(dtype) for name in wanted], -1), mode="drop")

    wanted = tuple(name for name in wanted if name in OUT)

    def steps(carry: Any) -> Any:
        which, next_, lane, mark, at, rows, log = carry

        def one(index: Whole, inner: tuple[Travel, Log | None]) -> tuple[Travel, Log | None]:
            at, log = inner
            after, length, code = _step(lane, mark, at, way, index >= 0)
            if log is not None:
                here = at.taken, jnp.where(at.state.resting, size, which)
                log = Log(
                    *(a.at[here].set(b.astype(a.dtype), mode="drop") for a, b in zip(log, (length, code), strict=True))
                )
            return after, log

        at, log = lax.fori_loop(0, PACE, one, (at, log))
        done = at.state.resting | (at.taken >= way.accuracy.most)
        rows = put(rows, jnp.where(done, which, size), at)
        which = jnp.where(done, jnp.minimum(next_ + jnp.cumsum(done) - 1, size), which).astype(jnp.int32)
        next_ = jnp.minimum(next_ + done.sum(), size).astype(jnp.int32)
        lane, mark = take(which)
        at = _where(done, _set_out(lane, mark), at)
        state = at.state._replace(resting=at.state.resting | (which == size))
        return which, next_, lane, mark, at._replace(state=state), rows, log

    slots = _slots(size)
    which = jnp.arange(slots, dtype=jnp.int32)
    lane, mark = take(which)
    rows = jnp.zeros((size, len(wanted)), dtype)
    carry = (which, jnp.int32(slots), lane, mark, _set_out(lane, mark), rows, log)
    carry = lax.while_loop(lambda carry: jnp.any(carry[0] < size), steps, carry)
    values = {name: carry[-2][:, i] for i, name in enumerate(wanted)}
    return values | {name: values[name].astype(jnp.int32) for name in WHOLE if name in wanted}, carry[-1]


def _where(which: Flag, a: Travel, b: Travel) -> Travel:
    return jax.tree.map(lambda x, y: jnp.where(which, x, y), a, b)


def _results(at: Travel) -> dict[str, Array]:
    """By the names of `OUT`."""
    return results_of(at.state) | {"line": at.line, "taken": at.taken}


def results_of(state: Slide) -> dict[str, Array]:
    books = state.books
    flags = books.compressing * COMPRESSING + state.resting * RESTING + state.straight * STRAIGHT
    values = {**state._asdict(), **books._asdict(), "flags": flags.astype(jnp.int32)}
    return {name: values[name] for name in OUT if name in values}


def state_from(results: dict[str, Array]) -> Slide:
    """The way back from `results_of`."""
    flag = lambda bit: results["flags"] & bit > 0  # noqa: E731
    books = Books(flag(COMPRESSING), *(results[name] for name in Books._fields[1:]))
    ix, iy, work = (results[name] for name in SMOOTH[:3])
    return Slide(ix, iy, work, books, flag(RESTING), flag(STRAIGHT))


def _kind(static: tuple[StopRule, Accuracy], name: str, operands: Sequence[Any]) -> tuple[tuple[int, ...], Any]:
    """Axes and dtype of a result."""
    if name in WHOLE:
        return (), jnp.int32
    tail = (static[1].most,) if name in Log._fields else ()
    return tail, jnp.int8 if name == "code" else operands[0].dtype


MARK = {LANE + i: ("line",) for i in range(len(Mark._fields))}
SLIDE = Program("slide", _forward, OUT, _kind, MARK)
RECORD = Program("record", _recording, (*OUT, *Log._fields), _kind, MARK)
