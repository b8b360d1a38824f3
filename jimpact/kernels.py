"""Borders that XLA on CPU does not fuse across.

XLA fuses long elementwise chains by computing them again for each consumer, and computes each result of a kernel on its
own, with all that is behind it. So what is expensive is put into computations of its own, each with one result; and two
numbers make one result, as a complex one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jax.extend.core import Literal
from jax.interpreters import partial_eval

from jimpact.types import Array, Flag, Pair, Scalar, Whole

__all__ = [
    "Half",
    "Slice",
    "anywhere",
    "halves",
    "lone_kernels",
    "opened",
    "own_kernel",
    "pair",
    "pairs",
    "shapes_of",
    "unpair",
]

T = TypeVar("T")


@partial(jax.tree_util.register_dataclass, data_fields=["both"], meta_fields=["second", "dtype"])
@dataclass
class Half:
    """One of the two numbers of a pair, still in it: a kernel that needs it takes the pair, and opens it inside."""

    both: Pair
    second: bool
    dtype: Any

    def open(self) -> Array:
        number = jnp.imag(self.both) if self.second else jnp.real(self.both)
        return number.astype(self.dtype)


@partial(jax.tree_util.register_dataclass, data_fields=["whole", "first"], meta_fields=["size"])
@dataclass
class Slice:
    """Some rows of an array, still in it, likewise."""

    whole: Array
    first: Whole
    size: int

    def open(self) -> Array:
        starts = (self.first, *(jnp.int32(0),) * (self.whole.ndim - 1))
        sizes = (self.size, *self.whole.shape[1:])
        return lax.dynamic_slice(self.whole, starts, sizes, allow_negative_indices=False)


def _is_closed(a: Any) -> bool:
    return isinstance(a, Half | Slice)


def opened(tree: Any) -> Any:
    """The same with arrays in place of halves and slices."""
    return jax.tree.map(lambda a: a.open() if _is_closed(a) else a, tree, is_leaf=_is_closed)


def shapes_of(tree: Any) -> Any:
    """Of what is opened."""
    return jax.eval_shape(opened, tree)


def pair(a: Scalar, b: Scalar) -> Pair:
    """Two numbers in one complex array."""
    return lax.complex(a, b)


def unpair(z: Pair) -> tuple[Scalar, Scalar]:
    return jnp.real(z), jnp.imag(z)


def pairs(numbers: Sequence[Any]) -> list[Array]:
    """Neighbours in pairs, as `lone_kernels` returns them; the first of two is floating, the last one may be alone."""

    def joined(a: Any, b: Any) -> Pair:
        if isinstance(a, Half) and isinstance(b, Half) and a.both is b.both and (a.second, b.second) == (False, True):
            return a.both
        a, b = opened((a, b))
        return pair(a, b.astype(a.dtype))

    twos = [joined(*numbers[i : i + 2]) for i in range(0, len(numbers) - 1, 2)]
    return twos + (opened([numbers[-1]]) if len(numbers) % 2 else [])


def halves(pairs: Sequence[Array], dtypes: Sequence[Any] = ()) -> list[Any]:
    """The way back; a dtype other than None is that of the number before it was put into a pair."""
    found: list[Any] = []
    for a in pairs:
        if jnp.iscomplexobj(a):
            real = jnp.finfo(a.dtype).dtype
            found += [Half(a, False, real), Half(a, True, real)]
        else:
            found.append(a)
    for i, dtype in enumerate(dtypes):
        found[i] = found[i] if dtype is None else replace(found[i], dtype=dtype)
    return found


@custom_vmap
def anywhere(flag: Flag) -> Flag:
    """Whether any lane of all is flagged, those of a surrounding `vmap` included: a scalar that stays one.

    So a conditional on it stays a conditional under `vmap`, where it would otherwise compute both branches.
    """
    return jnp.any(flag)


@anywhere.def_vmap
def _anywhere_vmap(axis_size: int, in_batched: list[bool], flag: Flag) -> tuple[Flag, bool]:
    return anywhere(flag), False


def own_kernel(go: Flag | None, function: Callable[..., T], *arguments: Any) -> T:
    """function(*arguments), compiled as a computation of its own.

    `go` is a scalar that is always true, but that the compiler cannot know to be: a conditional is a border. Without
    it a step costs 20x more on CPU. None for `go` leaves it to XLA. Each result must have the shape of one of the
    arguments, which may be halves and slices.
    """
    if go is None:
        return function(*opened(arguments))
    inner = jax.jit(lambda *arguments: function(*opened(arguments)))  # traced once for its shapes and its value
    return _bordered(go, jax.checkpoint(inner), jax.eval_shape(inner, *arguments), arguments)


def _bordered(go: Flag, function: Callable[..., T], shapes: Any, arguments: Sequence[Any]) -> T:
    leaves, structure = jax.tree.flatten(arguments)
    once = {id(a): a for a in leaves}  # halves of one pair and slices from one place share theirs
    places = [list(once).index(id(a)) for a in leaves]
    like = [a.shape for a in jax.tree.leaves(shapes_of(arguments))]

    def given(operands: Sequence[Array]) -> Sequence[Any]:
        return jax.tree.unflatten(structure, [operands[i] for i in places])

    def zeros(*operands: Array) -> T:
        # Made from an argument of their shape, so that they live on the same devices.
        def zero(shape: jax.ShapeDtypeStruct) -> Any:
            a = opened(jax.tree.leaves(given(operands), is_leaf=_is_closed)[like.index(shape.shape)])
            return jnp.where(a == a, 0, 0).astype(shape.dtype)

        return jax.tree.map(zero, shapes)

    return lax.cond(go, lambda *operands: function(*given(operands)), zeros, *once.values())


def lone_kernels(go: Flag | None, function: Callable[..., Sequence[Array]], *arguments: Any) -> list[Any]:
    """The same for a function of several results, with a computation for each two, of which they are a `Half` each.

    Results of one computation share what is expensive (roots and quotients), each in a kernel of its own with all that
    is behind it: where these are many, it is less work to do everything again for each pair. The function must have no
    kernels of its own. A result that is one of the arguments, or a constant, has no kernel.
    """
    if go is None:
        return list(function(*opened(arguments)))
    given, structure = jax.tree.flatten(arguments, is_leaf=_is_closed)
    inner = jax.jit(lambda *numbers: function(*jax.tree.unflatten(structure, numbers)))  # traced once for all
    closed = inner.trace(*shapes_of(given)).jaxpr
    results, shapes = _known(closed, given), closed.out_avals

    def kernel(which: Sequence[int], *given: Any) -> Array:
        found = inner(*opened(given))
        return found[which[0]] if len(which) == 1 else pair(*(found[i].astype(_real(shapes, which)) for i in which))

    for which in _by_twos([i for i, result in enumerate(results) if result is None], shapes):
        dtype = shapes[which[0]].dtype if len(which) == 1 else jnp.result_type(_real(shapes, which), jnp.complex64)
        shape = jax.ShapeDtypeStruct(shapes[which[0]].shape, dtype)
        both = _bordered(go, partial(kernel, which), shape, given)
        for place, i in enumerate(which):
            results[i] = Half(both, place > 0, shapes[i].dtype) if len(which) == 2 else both
    return results


def _known(closed: Any, given: Sequence[Any]) -> list[Any]:
    """Of a function's results: the argument that it is, or its constant value, or None."""
    jaxpr = closed.jaxpr
    places = {variable: i for i, variable in enumerate(jaxpr.invars)}
    varying = {*jaxpr.invars, *jaxpr.constvars}
    for equation in jaxpr.eqns:
        if any(not isinstance(a, Literal) and a in varying for a in equation.invars):
            varying.update(equation.outvars)

    def known(i: int) -> Any:
        variable = jaxpr.outvars[i]
        if isinstance(variable, Literal):
            return variable.val
        if variable in places:
            return given[places[variable]]
        if variable in varying:
            return None
        constant, *_ = partial_eval.dce_jaxpr_consts(jaxpr, [j == i for j in range(len(jaxpr.outvars))])
        return jax.core.eval_jaxpr(constant, ())[0]

    return [known(i) for i in range(len(jaxpr.outvars))]


def _by_twos(which: Sequence[int], shapes: Sequence[Any]) -> list[list[int]]:
    """Neighbours of one shape, at least one of them a floating number."""
    groups: list[list[int]] = []
    for i in which:
        last = groups[-1] if groups else [i, i]
        if len(last) == 1 and shapes[last[0]].shape == shapes[i].shape and _real(shapes, (*last, i)):
            last.append(i)
        else:
            groups.append([i])
    return groups


def _real(shapes: Sequence[Any], which: Sequence[int]) -> Any:
    """The floating dtype among some results."""
    return next((shapes[i].dtype for i in which if jnp.issubdtype(shapes[i].dtype, jnp.floating)), None)
