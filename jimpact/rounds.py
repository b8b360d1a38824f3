"""As many steps as it takes: every lane is stepped until it rests, and then its place is taken by the next one.

Most lanes need few steps, some many. A small batch steps together until its slowest lane rests. A larger one queues for
slots: every `PACE` steps the slots whose lanes rest put them back and take the next ones of the batch. So the work of a
step stays in the cache, and no lane waits for the slowest.

The derivative is that of the steps that were taken (`replay`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.hodograph import Accuracy, Lane, Slide, lane_at
from jimpact.kernels import own_kernel
from jimpact.mark import Mark, crossed, unmarked
from jimpact.numerics import norm, running_count, split_code, where
from jimpact.parts import in_grains
from jimpact.program import Program
from jimpact.rays import Plane
from jimpact.restitution import Books, StopRule
from jimpact.steering import (
    COMPRESSING,
    EVENTS,
    RESTING,
    STRAIGHT,
    Travel,
    Way,
    bits_of,
    set_out,
    state_of,
    step,
    taken,
)
from jimpact.types import Array, Flag, Scalar, Whole

__all__ = [
    "LANE",
    "OUT",
    "RECORD",
    "SLIDE",
    "SMOOTH",
    "Steps",
    "operands_of",
    "recorded",
    "results_of",
    "slots_for",
    "state_from",
]

SLOTS = 8192  # lanes: their steps fill the second-level caches of two cores
FEWEST = 1024  # slots: with fewer, starting a kernel costs as much as running it
PACE = 2  # steps between two looks at who rests: a look costs a third of a step

LANE = len(Plane._fields) + len(Lane._fields) - 1  # operands of a lane
SMOOTH = ("ix", "iy", "friction_work", "impulse", "compression_impulse", "compression_work", "restitution_work",
          "first_end", "last_start", "last_end")  # fmt: skip
OUT = (*SMOOTH, "compressions", "line", "flags", "taken")  # results of the program; the first ones have derivatives
LOG = "log"  # result: lengths of the steps of a lane, with their codes, as `replay` needs them
WHOLE = ("flags", "taken")

Names = tuple[str, ...]


class Steps(NamedTuple):
    """The steps that were taken (leading axis): where each began, and its length in the clock of `series_at`."""

    before: Slide
    length: Scalar


class Walk(NamedTuple):
    """A lane on its way, and the normal impulse at which slip crossed the mark of its lane; nan before."""

    at: Travel
    line: Scalar


def recorded(lane: Lane, rule: StopRule, accuracy: Accuracy) -> Steps:
    """The steps that `slide` takes."""
    way, fixed = Way(rule, accuracy, False, True), jnp.stack(operands_of(lane))

    def one(at: Travel, index: Whole) -> tuple[Travel, Steps]:
        after, length = step(fixed, at, way, index >= 0)
        return after, Steps(state_of(at), split_code(length)[0])

    return lax.scan(one, set_out(lane), jnp.arange(accuracy.most))[1]


def operands_of(lane: Lane) -> tuple[Array, ...]:
    return (*lane.plane, *lane[1:])


def _forward(static: tuple[StopRule, Accuracy], wanted: Names, *operands: Array) -> dict[str, Array]:
    """The program: results of `OUT`."""
    return _solved(static, wanted, operands, None)


def _recording(static: tuple[StopRule, Accuracy], wanted: Names, *operands: Array) -> dict[str, Array]:
    """The same, and the log."""
    return _solved(static, wanted, operands, jnp.zeros((static[1].most, operands[0].shape[0]), operands[0].dtype))


def _solved(
    static: tuple[StopRule, Accuracy], wanted: Names, operands: Sequence[Array], log: Array | None
) -> dict[str, Array]:
    size = operands[0].shape[0]
    fixed = jnp.stack(operands if "line" in wanted else operands[:LANE])
    crowded = isinstance(size, int) and size > slots_for(size)  # a symbolic size takes the other way
    way = Way(*static, "friction_work" in wanted, any(name in wanted for name in EVENTS))
    results, log = (_queue if crowded else _together)(fixed, way, log, wanted)
    return results if log is None else results | {LOG: log.T}


def slots_for(size: int) -> int:
    """For a batch: an eighth of it, so that few are empty while the last lanes are on their way; between two bounds."""
    return min(SLOTS, max(FEWEST, in_grains(size // 8)))


def _mark(fixed: Array) -> Mark:
    """What follows the numbers of a lane, if there is more."""
    return Mark(*(fixed[i] for i in range(LANE, len(fixed))))


def _set_out(fixed: Array) -> Walk:
    lane = lane_at(fixed)
    return Walk(set_out(lane), unmarked(lane, _mark(fixed)) if len(fixed) > LANE else lane.v0)


def _step(fixed: Array, walk: Walk, way: Way, go: Flag) -> tuple[Walk, Scalar]:
    """One step of every lane, and its length with its code."""
    after, length = step(fixed, walk.at, way, go)

    def cross(fixed: Array, walk: Walk, length: Scalar) -> Scalar:
        lane, state = lane_at(fixed), state_of(walk.at)
        return crossed(lane, _mark(fixed), state, split_code(length)[0], walk.line, way.accuracy.order)

    line = own_kernel(go, cross, fixed, walk, length) if len(fixed) > LANE else walk.line
    return Walk(after, line), length


def _together(fixed: Array, way: Way, log: Array | None, wanted: Names) -> Any:
    """All lanes at once, until every one rests."""

    def body(carry: tuple[Whole, Walk, Array | None]) -> tuple[Whole, Walk, Array | None]:
        index, walk, log = carry
        walk, length = _step(fixed, walk, way, index >= 0)
        if log is not None:
            log = lax.dynamic_update_index_in_dim(log, length, index, 0)
        return index + 1, walk, log

    def goes_on(carry: tuple[Whole, Walk, Array | None]) -> Flag:
        return (carry[0] < way.accuracy.most) & jnp.any(carry[1].at.flags & RESTING == 0)

    _, walk, log = lax.while_loop(goes_on, body, (jnp.int32(0), _set_out(fixed), log))
    return _results(walk), log


def _queue(fixed: Array, way: Way, log: Array | None, wanted: Names) -> Any:
    """So many lanes at a time as there are slots; `which` lane each of them has, `size` for none."""
    size, dtype, order = fixed.shape[1], fixed.dtype, _order(fixed)

    def lane_in(place: Whole) -> Whole:
        return where(place < size, order.at[place].get(mode="clip"), size)

    def take(which: Whole) -> Array:
        which = jnp.minimum(which, size - 1)
        if fixed.size > jnp.iinfo(jnp.int32).max:
            return fixed[:, which]
        first = size * jnp.arange(len(fixed), dtype=jnp.int32)[:, None]  # of each row
        return fixed.reshape(-1).at[first + which].get(mode="promise_in_bounds")  # half of the time

    def put(rows: Array, which: Whole, walk: Walk) -> Array:
        values = _results(walk)
        return rows.at[which].set(jnp.stack([values[name].astype(dtype) for name in wanted], -1), mode="drop")

    wanted = tuple(name for name in wanted if name in OUT)

    def steps(carry: Any) -> Any:
        which, next_, left, lanes, walk, rows, log = carry

        def one(index: Whole, inner: tuple[Walk, Array | None]) -> tuple[Walk, Array | None]:
            walk, log = inner
            after, length = _step(lanes, walk, way, index >= 0)
            if log is not None:
                here = taken(walk.at), where(walk.at.flags & RESTING > 0, size, which)
                log = log.at[here].set(length, mode="drop")
            return after, log

        walk, log = lax.fori_loop(0, PACE, one, (walk, log))
        done = (which < size) & ((walk.at.flags & RESTING > 0) | (taken(walk.at) >= way.accuracy.most))
        rows = put(rows, where(done, which, size), walk)
        place = running_count(done)
        which = where(done, lane_in(next_ + place - 1), which)
        next_, left = jnp.minimum(next_ + place[-1], size), left - place[-1]
        lanes = take(which)
        walk = jax.tree.map(lambda a, b: where(done, a, b), _set_out(lanes), walk)
        flags = walk.at.flags | where(which == size, RESTING, 0)
        return which, next_, left, lanes, walk._replace(at=walk.at._replace(flags=flags)), rows, log

    slots = slots_for(size)
    which = order[:slots]
    lanes = take(which)
    rows = jnp.zeros((size, len(wanted)), dtype)
    carry = (which, jnp.int32(slots), jnp.int32(size), lanes, _set_out(lanes), rows, log)
    # The minimum is 0. If one number alone decides on going on, XLA tries to count the rounds while it compiles.
    carry = lax.while_loop(lambda carry: carry[2] > jnp.minimum(carry[1], 0), steps, carry)
    values = {name: carry[-2][:, i] for i, name in enumerate(wanted)}
    return values | {name: values[name].astype(jnp.int32) for name in WHOLE if name in wanted}, carry[-1]


def _order(fixed: Array) -> Whole:
    """Lanes in the order in which they take a slot: last those whose slip does not stop, for they need few steps. So
    hardly a slot is empty while the last lanes are on their way.
    """
    lane = lane_at(fixed)
    plane, index = lane.plane, jnp.arange(fixed.shape[1], dtype=jnp.int32)
    slowest = plane.w - plane.mu * norm(plane.dx, plane.dy)  # rise of v with the impulse
    most = (1 + lane.e) * -lane.v0  # rise of v
    short = lane.rate * most < slowest * norm(lane.x0, lane.y0)
    behind = running_count(short)
    place = where(short, behind + (index.size - 1 - behind[-1]), index - behind)
    return index.at[place].set(index, unique_indices=True, mode="promise_in_bounds")


def _results(walk: Walk) -> dict[str, Array]:
    """By the names of `OUT`."""
    return results_of(state_of(walk.at)) | {"line": walk.line, "taken": taken(walk.at)}


def results_of(state: Slide) -> dict[str, Array]:
    books = state.books
    values = {**state._asdict(), **books._asdict(), "flags": bits_of(state)}
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
    return (static[1].most,) if name == LOG else (), operands[0].dtype


MARK = {LANE + i: ("line",) for i in range(len(Mark._fields))}
SLIDE = Program("slide", _forward, OUT, _kind, MARK)
RECORD = Program("record", _recording, (*OUT, LOG), _kind, MARK)
