"""Programs of functions that treat every lane alike: through a large batch in parts, so that what is between operands
and results stays in the cache, or at least does not grow with the batch.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.interpreters import partial_eval

from jimpact.kernels import Slice, opened
from jimpact.program import BLOCK, Function, Indices, Kind, Names, Program, absent, floats
from jimpact.stages import Stage, pulled, pushed
from jimpact.types import Array, Flag

__all__ = ["Smooth", "composite", "elementwise", "in_grains", "in_parts"]

GRAIN = 256  # lanes: multiples of it are shared evenly by cores, in whole vectors; other numbers may run on one core
CHUNK = 11 * BLOCK  # lanes: enough to fill a device, few enough for what is between programs to be no matter


class Smooth(NamedTuple):
    """A formula for the floating results of an elementwise program, to be differentiated: names of its operands, stages
    of function(static, numbers), and what is `known` to have no derivative: known(static, go, *operands), by name.
    """

    operands: Names
    stages: Sequence[Stage]
    known: Callable[..., dict[str, Any]]


def elementwise(
    name: str,
    function: Function,
    results: Names,
    kind: Kind = floats,
    optional: Mapping[int, Names] | None = None,
    smooth: Smooth | None = None,
) -> Program:
    """A program of function(static, wanted, go, *operands), which treats every lane alike and can be differentiated.

    It goes through a large batch in blocks, so that what is between operands and results stays in the cache. `go` is
    as `own_kernel` wants it. Its derivatives are programs of the same kind: those of `smooth`, or else of the function
    without kernels of its own, for they have too many results. With `smooth`, operands come as slices, and may be
    `optional`.
    """

    def plain(static: Any, wanted: Names, go: Flag | None, *operands: Array) -> dict[str, Array]:
        return function(static, wanted, go, *opened(operands))

    value = Program(name, _by_blocks(function if smooth else plain), results, kind, optional)

    def formula(static: Any, go: Flag, operands: Sequence[Array | None]) -> tuple[list[Stage], dict[str, Any], Names]:
        """Stages, what is known before them, and the names of the operands."""
        if smooth:
            stages = [Stage(partial(stage.function, static), stage.alone) for stage in smooth.stages]
            names, known = smooth.operands, smooth.known(static, go, *operands)
        else:
            names, known = tuple(map(str, range(len(operands)))), {}
            of = lambda at: plain(static, results, None, *(at.get(name) for name in names))  # noqa: E731
            stages = [Stage(of, alone=False)]
        there = {name: a for name, a in zip(names, operands, strict=True) if a is not None}
        return stages, there | known, names

    def changes(static: Any, wanted: Names, go: Flag, *operands: Array) -> dict[str, Array]:
        inner, which = static
        given, tangents = operands[: -len(which)], operands[-len(which) :]
        stages, known, names = formula(inner, go, given)
        moving = {names[i]: t for i, t in zip(which, tangents, strict=True) if given[i] is not None}
        return pushed(stages, go, known, moving, wanted)

    def cotangents(static: Any, wanted: Names, go: Flag, *operands: Array) -> dict[str, Array]:
        inner, which, ends = static
        given, bars = operands[: -len(ends)], operands[-len(ends) :]
        stages, known, names = formula(inner, go, given)
        found = pulled(stages, go, known, dict(zip(ends, bars, strict=True)), tuple(names[i] for i in which))
        return {str(i): found[names[i]] if names[i] in found else jnp.zeros_like(opened(given[i])) for i in which}

    def like(static: Any, name: str, operands: Sequence[Any]) -> tuple[tuple[int, ...], Any]:
        operand = operands[int(name)]
        return operand.shape[operands[0].ndim :], operand.dtype

    def also_changes(static: Any, count: int) -> dict[int, Names]:
        """The change of an operand is needed where the operand is."""
        which, needed = static[1], dict(optional or {})
        return needed | {count - len(which) + j: needed[i] for j, i in enumerate(which) if i in needed}

    forward = Program(
        f"{name}_tangent", _by_blocks(changes), results, lambda static, *rest: kind(static[0], *rest), also_changes
    )
    reverse = Program(f"{name}_cotangent", _by_blocks(cotangents), (), like)

    def jvp(static: Any, wanted: Names, operands: Sequence[Array], tangents: Sequence[Any]) -> Any:
        values = value(static, *operands, wanted=wanted)
        which = tuple(i for i, t in enumerate(tangents) if t is not None)
        smooth = tuple(name for name in wanted if jnp.issubdtype(values[name].dtype, jnp.floating))
        moved = [tangents[i] for i in which]
        return values, forward((static, which), *operands, *moved, wanted=smooth) if smooth and which else {}

    def transpose(static: Any, cotangents: dict[str, Array], *operands: Any) -> list[Array | None]:
        inner, which = static
        given = operands[: len(operands) - len(which)]
        there = tuple(i for i in which if given[i] is not None)
        wanted = tuple(map(str, there))
        bars = reverse((inner, there, tuple(cotangents)), *given, *cotangents.values(), wanted=wanted)
        return [None] * len(given) + [bars.get(str(i)) for i in which]

    value.define_jvp(jvp)
    forward.define_transpose(transpose)
    return value


def composite(name: str, function: Function, results: Names, kind: Kind) -> Program:
    """A program of function(static, *operands), which is made of other programs.

    It goes through a large batch in chunks: so memory that is neither operand nor result does not grow with it. Its
    derivatives are those of the programs inside, on the batch as a whole.
    """

    def of(static: Any, wanted: Names) -> Callable[..., list[Array]]:
        def some(*operands: Array) -> list[Array]:
            values = function(static, *operands)
            return [values[name] for name in wanted]

        return some

    def needed(static: Any, wanted: Names, _: Flag, *closed: Array) -> dict[str, Array]:
        operands = opened(closed)
        traced = jax.make_jaxpr(of(static, wanted))(*operands)
        jaxpr, constants, used = partial_eval.dce_jaxpr_consts(traced.jaxpr, [True] * len(wanted))
        chosen = lambda values, which: [a for a, use in zip(values, which, strict=True) if use]  # noqa: E731
        found = jax.core.eval_jaxpr(jaxpr, chosen(traced.consts, constants), *chosen(operands, used))
        return dict(zip(wanted, found, strict=True))

    def jvp(static: Any, wanted: Names, operands: Sequence[Array], tangents: Sequence[Any]) -> Any:
        which = tuple(i for i, t in enumerate(tangents) if t is not None)
        moving = _of_some(of(static, wanted), operands, which)
        values, changes = jax.jvp(moving, [operands[i] for i in which], [tangents[i] for i in which])
        moved = {name: change for name, change in zip(wanted, changes, strict=True) if not absent(change)}
        return dict(zip(wanted, values, strict=True)), moved

    program = Program(name, _in_parts(needed, needed, lambda: CHUNK), results, kind)
    program.define_jvp(jvp)
    return program


def _by_blocks(function: Function) -> Function:
    """The function, block by block. One block is a computation of its own, too: XLA would fuse it with what follows,
    and compute it again for every result there.
    """

    def apart(static: Hashable, wanted: Names, go: Flag, *operands: Array) -> dict[str, Array]:
        @jax.jit  # traced once for its shapes and its value
        def some(*operands: Array) -> dict[str, Array]:
            values = function(static, wanted, go, *operands)
            return {name: values[name] for name in wanted}

        def zeros(*operands: Array) -> dict[str, Array]:
            none = jnp.where(operands[0] == operands[0], 0, 0)  # made from an operand, to live on the same devices
            spread = lambda a: jnp.broadcast_to(none.reshape(none.shape + (1,) * (a.ndim - 1)), a.shape)  # noqa: E731
            return {name: spread(a).astype(a.dtype) for name, a in shapes.items()}

        shapes = jax.eval_shape(some, *operands)
        return lax.cond(go, some, zeros, *operands)

    return _in_parts(function, apart, lambda: BLOCK)


def _in_parts(function: Function, small: Function, largest: Callable[[], int]) -> Function:
    """The function on each part of a large batch, the last one overlapping the one before; else `small`. What is
    `largest` is asked when the program is traced.
    """

    def blocks(static: Hashable, wanted: Names, *operands: Array) -> dict[str, Array]:
        size, most = operands[0].shape[0], largest()
        if not isinstance(size, int) or size <= most:
            return small(static, wanted, jnp.any((operands[0] >= 0) | ~(operands[0] >= 0)), *operands)

        count, block = in_parts(size, most)

        @jax.jit  # traced once for its shapes and its value
        def results(index: Array, first: Array) -> dict[str, Array]:
            some = [a if a is None else Slice(a, first, block) for a in operands]
            values = opened(function(static, wanted, index >= 0, *some))
            return {name: values[name] for name in wanted}

        def one(index: Array, all_: dict[str, Array]) -> dict[str, Array]:
            first = jnp.minimum(index * block, size - block)
            put = lambda a, b: lax.dynamic_update_slice_in_dim(a, b, first, 0)  # noqa: E731
            return jax.tree.map(put, all_, results(index, first))

        shapes = jax.eval_shape(results, jnp.int32(0), jnp.int32(0))
        empty = {name: jnp.zeros((size, *a.shape[1:]), a.dtype) for name, a in shapes.items()}
        return lax.fori_loop(jnp.int32(0), jnp.int32(count), one, empty)  # types as above: traced once

    return blocks


def in_grains(size: int) -> int:
    """So many lanes, or a few more, as are well shared by cores."""
    return -(-size // GRAIN) * GRAIN


def in_parts(size: int, most: int) -> tuple[int, int]:
    """Number and length of the parts of a batch, each of at most so many lanes; together they may be longer than it."""
    count = -(-size // most)
    return count, min(most, in_grains(-(-size // count)))


def _of_some(function: Callable[..., Any], operands: Sequence[Array], which: Indices) -> Callable[..., Any]:
    """The function of some of its operands."""

    def of(*some: Array) -> Any:
        given = list(operands)
        for i, a in zip(which, some, strict=True):
            given[i] = a
        return function(*given)

    return of
