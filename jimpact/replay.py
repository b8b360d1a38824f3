"""The derivative of the steps that were taken, in forward and in reverse mode.

The steps of every lane are known: their lengths and codes carry no derivative, and a step of known length is a formula
(`spot`). So the derivative is that of a chain of formulas, and no search is ever differentiated.

Lanes with as many steps as one another are put into one block, in which none waits for the others. In reverse mode a
block goes forward first and keeps where each step began.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from jimpact.cotangent import cotangents_of
from jimpact.hodograph import (
    Accuracy,
    Lane,
    Slide,
    lane_at,
)
from jimpact.mark import Mark
from jimpact.parts import in_parts
from jimpact.program import Program
from jimpact.rays import Plane
from jimpact.restitution import StopRule
from jimpact.rounds import LANE, LOG, RECORD, SLIDE, SMOOTH, operands_of, slots_for, state_from
from jimpact.tangent import tangents
from jimpact.types import Array, Scalar, Whole

__all__ = ["slide"]

FIXED = (*Plane._fields, "x0", "y0", "v0")  # first operands of a lane, by name: those on which its steps depend
Names = tuple[str, ...]
Static = tuple[StopRule, Accuracy]


def slide(lane: Lane, mark: Mark, rule: StopRule, accuracy: Accuracy) -> tuple[Slide, Scalar]:
    """Step all lanes to their end, or to where slip stops; and where each crossed its mark."""
    results = SLIDE((rule, accuracy), *operands_of(lane), *mark)
    return state_from(results), results["line"]


def _blocks(block: Callable[..., list[Array]], operands: Sequence[Array], results: int) -> list[Array]:
    """block(lane, log, most, others) over lanes sorted by their number of steps; operands as of `TANGENT`."""
    lanes, lengths, taken, others = operands[:LANE], *operands[LANE : LANE + 2], operands[LANE + 2 :]
    size, lengths = taken.shape[0], lengths.T

    def one(which: Whole | slice) -> list[Array]:
        pick = lambda a: a.at[which].get(mode="clip") if not isinstance(which, slice) else a  # noqa: E731

        def log(index: Whole) -> Scalar:
            if isinstance(which, slice):
                return lax.dynamic_index_in_dim(lengths, index, 0, keepdims=False)
            return lengths.at[index, which].get(mode="clip")

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
        return tangents(static[1].order, lane, log, most, lane_at(others), wanted)

    return dict(zip(wanted, _blocks(block, operands, len(wanted)), strict=True))


def _cotangent(static: tuple[Static, Names], wanted: Names, *operands: Array) -> dict[str, Array]:
    """Cotangents of the lane for those of some SMOOTH results."""
    steps, given = static

    def block(lane: Lane, log: Any, most: Whole, others: Sequence[Array]) -> list[Array]:
        there = dict(zip(given, others, strict=True))
        bars = cotangents_of(steps[1], lane, log, most, there, "friction_work" in given)
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
