"""Programs over a batch that are more than elementwise inside, and yet behave as if they were.

A program may loop until its slowest lane is done, gather lanes, or sort them. To JAX it is one operation: under `vmap`
the new axis joins the batch, under `jit` with sharded arrays every device runs the program on its own lanes, without
any communication, and its derivative is given by other programs instead of by differentiating its loops. Results
that are not used are not computed.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, partial_eval
from jax.sharding import NamedSharding, PartitionSpec

from jimpact.types import Array

try:  # of JAX's own: operations whose lowering must know the devices
    from jax._src.dispatch import prim_requires_devices_during_lowering as needs_devices
except ImportError:
    needs_devices = set()

__all__ = ["BLOCK", "Function", "Indices", "Kind", "Names", "Program", "absent", "floats"]

BLOCK = 8192  # lanes: enough for all cores, few enough for their caches

Names = tuple[str, ...]
Indices = tuple[int, ...]
Function = Callable[..., dict[str, Array]]
Needs = Mapping[int, Names] | Callable[[Any, int], Mapping[int, Names]]
Kind = Callable[[Any, str, Sequence[Any]], tuple[tuple[int, ...], Any]]


def floats(static: Hashable, name: str, operands: Sequence[Any]) -> tuple[tuple[int, ...], Any]:
    """The kind of a result that is one number per lane, as the first operand."""
    return (), operands[0].dtype


class Program:
    """function(static, wanted, *operands) -> results by name, of which those `wanted` are taken.

    All operands and results begin with the axes of the first operand, the batch; the function sees them as one axis.
    `kind` tells the other axes of a result, and its dtype. `optional` tells for the index of an operand which results
    need it, or is a function of static and of the number of operands that tells so; if none of them is wanted, the
    function gets None instead. Static is hashable.
    """

    def __init__(
        self, name: str, function: Function, results: Names, kind: Kind = floats, optional: Needs | None = None
    ) -> None:
        self.function, self.results, self.kind = function, results, kind
        self.optional = optional if callable(optional) else lambda *_: optional or {}
        self.primitive = Primitive(f"jimpact_{name}")
        self.primitive.multiple_results = True
        self.run = jax.jit(self._run, static_argnames=("static", "wanted", "without"))
        self.primitive.def_impl(jax.jit(self.primitive.bind, static_argnames=("static", "wanted", "without")))
        self.primitive.def_abstract_eval(self._shapes)
        needs_devices.add(self.primitive)
        mlir.register_lowering(self.primitive, self._lowered)
        batching.primitive_batchers[self.primitive] = self._batched
        ad.primitive_jvps[self.primitive] = self._differentiated
        partial_eval.dce_rules[self.primitive] = self._reduced

    def __call__(self, static: Hashable, *operands: Array | None, wanted: Names | None = None) -> dict[str, Array]:
        wanted = self.results if wanted is None else wanted
        without = tuple(i for i, a in enumerate(operands) if a is None)
        there = (a for a in operands if a is not None)
        results = self.primitive.bind(*there, static=static, wanted=wanted, without=without)
        return dict(zip(wanted, results, strict=True))

    def define_jvp(self, rule: Callable[..., tuple[dict[str, Array], dict[str, Array]]]) -> None:
        """rule(static, wanted, operands, tangents) -> results, changes of results; a tangent may be None."""

        def jvp(
            operands: Sequence[Array], tangents: Sequence[Any], *, static: Any, wanted: Names, without: Indices
        ) -> Any:
            tangents = _filled([None if absent(t) else t for t in tangents], without)
            values, changes = rule(static, wanted, _filled(operands, without), tangents)
            out = [values[name] for name in wanted]
            return out, [changes[name] if name in changes else _zero(values[name]) for name in wanted]

        ad.primitive_jvps[self.primitive] = jvp

    def define_transpose(self, rule: Callable[..., list[Array | None]]) -> None:
        """rule(static, cotangents by name, *operands) -> cotangents of operands; None where they are given."""

        def transpose(cotangents: Sequence[Any], *operands: Any, static: Any, wanted: Names, without: Indices) -> Any:
            given = _filled([None if ad.is_undefined_primal(a) else a for a in operands], without)
            there = {name: c for name, c in zip(wanted, cotangents, strict=True) if not absent(c)}
            if not there:
                return [None] * len(operands)
            return [bar for i, bar in enumerate(rule(static, there, *given)) if i not in without]

        ad.primitive_transposes[self.primitive] = transpose

    def _run(self, *operands: Array, static: Hashable, wanted: Names, without: Indices) -> list[Array]:
        """The function on one axis of lanes."""
        shape = operands[0].shape
        flat = [a.reshape(-1, *a.shape[len(shape) :]) for a in operands]
        size = flat[0].shape[0]
        odd = isinstance(size, int) and size % 2 == 1 and 1 < size <= BLOCK
        if odd:  # XLA takes 2 to 4 times as long to share it between two cores
            flat = [jnp.concatenate([a, a[-1:]]) for a in flat]
        results = self.function(static, wanted, *_filled(flat, without))
        chosen = [results[name][:size] if odd else results[name] for name in wanted]
        return [a.reshape(*shape, *a.shape[1:]) for a in chosen]

    def _shapes(self, *operands: Any, static: Hashable, wanted: Names, without: Indices) -> list[Any]:
        kinds = (self.kind(static, name, _filled(operands, without)) for name in wanted)
        shape, spread = operands[0].shape, _explicit(operands)
        return [_place(jax.core.ShapedArray((*shape, *tail), dtype), spread) for tail, dtype in kinds]

    def _lowered(self, context: Any, *operands: Any, **parameters: Any) -> Any:
        """As a call on one device; on several, each runs it on its lanes."""
        alone = getattr(context.module_context.axis_context, "num_devices", 0) == 1 or not context.avals_in[0].ndim
        lower = mlir.lower_fun(self.run if alone else self._spread, multiple_results=True)
        return lower(context, *operands, **parameters)

    def _spread(self, *operands: Array, **parameters: Any) -> list[Array]:
        run = lambda *a: self.run(*a, **parameters)  # noqa: E731
        rank, explicit = operands[0].ndim, _explicit([jax.typeof(a) for a in operands])
        if explicit is not None:
            split = explicit.spec
            here = [jax.sharding.reshard(a, _place(jax.typeof(a), explicit).sharding) for a in operands]
            return jax.shard_map(run, mesh=explicit.mesh, in_specs=split, out_specs=split, check_vma=False)(*here)

        def partition(mesh: Any, given: Any, wanted: Any) -> Any:
            known = getattr(given[0].sharding, "spec", ())  # one that JAX has no name for is not split
            spec = (tuple(known) + (None,) * rank)[:rank]
            here = NamedSharding(mesh, PartitionSpec(*spec))
            return mesh, run, [here] * len(wanted), tuple([here] * len(given))

        spread = custom_partitioning(run)
        spread.def_partition(
            partition=partition,
            infer_sharding_from_operands=lambda mesh, given, wanted: [given[0].sharding] * len(wanted),
            sharding_rule=_axes(rank, operands, self._shapes(*operands, **parameters)),
        )
        return spread(*operands)

    def _batched(self, operands: Sequence[Array], axes: Sequence[Any], **parameters: Any) -> Any:
        size = next(a.shape[axis] for a, axis in zip(operands, axes, strict=True) if axis is not None)

        def front(a: Array, axis: int | None) -> Array:
            return jnp.broadcast_to(a, (size, *a.shape)) if axis is None else jnp.moveaxis(a, axis, 0)

        results = self.primitive.bind(*map(front, operands, axes), **parameters)
        return results, [0] * len(results)

    def _differentiated(self, operands: Sequence[Array], tangents: Sequence[Any], **parameters: Any) -> Any:
        """Second derivatives: through the loops, in forward mode."""
        tangents = tuple(ad.instantiate_zeros(t) for t in tangents)
        return jax.jvp(lambda *a: self._run(*a, **parameters), tuple(operands), tangents)

    def _reduced(self, used: list[bool], equation: Any) -> tuple[list[bool], Any]:
        """The same without the results that are not used, and without the operands that only they need."""
        count = len(equation.invars)
        if not any(used):
            return [False] * count, None
        wanted = tuple(name for name, use in zip(equation.params["wanted"], used, strict=True) if use)
        without = equation.params["without"]
        index = [i for i in range(count + len(without)) if i not in without]  # of each operand that is there
        optional = self.optional(equation.params["static"], count + len(without))
        kept = [i not in optional or any(name in wanted for name in optional[i]) for i in index]
        smaller = equation.replace(
            invars=[v for v, keep in zip(equation.invars, kept, strict=True) if keep],
            outvars=[v for v, use in zip(equation.outvars, used, strict=True) if use],
            params=equation.params
            | {
                "wanted": wanted,
                "without": tuple(sorted({*without, *(i for i, k in zip(index, kept, strict=True) if not k)})),
            },
        )
        return kept, smaller


def _filled(operands: Sequence[Any], without: Indices) -> list[Any]:
    """With None where an operand was left out."""
    there = iter(operands)
    return [None if i in without else next(there) for i in range(len(operands) + len(without))]


def absent(tangent: Any) -> bool:
    """Of a derivative that is known to be zero."""
    return type(tangent) is ad.Zero or getattr(tangent, "dtype", None) == jax.dtypes.float0


def _zero(a: Array) -> Any:
    return ad.Zero(jax.typeof(a).to_tangent_aval())


def _explicit(operands: Sequence[Any]) -> NamedSharding | None:
    """How the batch is spread, where JAX keeps that in the type of an array (meshes with explicit axes)."""
    for a in operands:
        spread = getattr(a, "sharding", None)
        if isinstance(spread, NamedSharding) and any(spread.spec[: operands[0].ndim]):
            return NamedSharding(spread.mesh, PartitionSpec(*spread.spec[: operands[0].ndim]))
    return None


def _place(result: Any, spread: NamedSharding | None) -> Any:
    if spread is None:
        return result
    whole = (None,) * (result.ndim - len(spread.spec))
    return result.update(sharding=NamedSharding(spread.mesh, PartitionSpec(*spread.spec, *whole)))


def _axes(rank: int, operands: Sequence[Any], results: Sequence[Any]) -> str:
    """How axes of operands and results belong together: the first ones are the batch, the others are whole."""
    own = iter(range(1_000_000))

    def place(a: Any) -> str:
        return " ".join([*(f"i{k}" for k in range(rank)), *(f"j{next(own)}" for _ in range(a.ndim - rank))])

    return f"{', '.join(map(place, operands))} -> {', '.join(map(place, results))}"
