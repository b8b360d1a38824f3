"""The derivative of a formula in stages, each of them in a few kernels.

Reverse mode through a long formula has many results, and each pair of them would be a kernel with the whole formula and
its transpose inside. So the formula is cut where few numbers pass. A stage takes some of the numbers that are known by
then, and gives new ones, all by name; from the last stage to the first, cotangents are those of few numbers each.

What nobody asks for is not computed: each stage is cut down to what the results wanted depend on.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.interpreters import partial_eval

from jimpact.kernels import lone_kernels, opened, shapes_of
from jimpact.types import Array, Flag

__all__ = ["Stage", "pulled", "pushed"]

Names = tuple[str, ...]
Numbers = dict[str, Any]  # arrays, halves or slices, by name


class Stage(NamedTuple):
    """function(numbers known by then, by name) -> new ones; `alone`, as kernels, or else fused with what is around."""

    function: Callable[..., Numbers]
    alone: bool = True


class _Part(NamedTuple):
    """What is needed of a stage."""

    takes: Names
    gives: Names
    smooth: Names  # those that have derivatives
    call: Callable[..., list[Array]]
    alone: bool


def pushed(stages: Sequence[Stage], go: Flag, known: Numbers, changes: Numbers, wanted: Names) -> Numbers:
    """Changes of the results `wanted`, from those of some of the numbers known: few results, so all stages in one."""
    parts = _parts(stages, known, wanted)
    taken = {name for part in parts for name in part.takes if name in known}
    free = [name for name in changes if name in taken]

    def of(given: Numbers, changes: Numbers) -> list[Array]:
        def ends(moved: Numbers) -> list[Array]:
            at = given | moved
            for part in parts:
                at |= _of_some(part, at, {})
            return [at[name] for name in wanted]

        return jax.jvp(ends, ({name: given[name] for name in free},), (changes,))[1]

    alone = any(part.alone for part in parts)
    given, moving = {name: known[name] for name in taken}, {name: changes[name] for name in free}
    return dict(zip(wanted, opened(lone_kernels(go if alone else None, of, given, moving)), strict=True))


def pulled(stages: Sequence[Stage], go: Flag, known: Numbers, cotangents: Numbers, wanted: Names) -> Numbers:
    """Cotangents of the numbers `wanted`, which are known, from those of some results; absent where there are none."""
    parts, bars = _parts(stages, known, tuple(cotangents)), dict(cotangents)
    numbers, moving, before = dict(known), set(wanted), []  # a stage may give a number the name of another one
    for part in parts:
        given = {name: numbers[name] for name in part.takes}
        before.append((part, given, [name for name in part.takes if name in moving]))
        moving = (moving - set(part.gives)) | set(part.smooth if before[-1][-1] else ())
        if part is not parts[-1]:
            found = lone_kernels(go if part.alone else None, part.call, *given.values())
            numbers |= zip(part.gives, found, strict=True)
    for part, given, free in reversed(before):
        ends = {name: bars.pop(name) for name in part.gives if name in bars}
        sums = {name: bars[name] for name in free if name in bars}
        if free and ends:
            of = partial(_pulled_through, part, free)
            bars |= zip(free, lone_kernels(go if part.alone else None, of, given, ends, sums), strict=True)
    return opened({name: bars[name] for name in wanted if name in bars})


def _pulled_through(part: _Part, free: Sequence[str], given: Numbers, bars: Numbers, sums: Numbers) -> list[Array]:
    """Cotangents of what is free, added to the sums so far."""

    def ends(moved: Numbers) -> Numbers:
        found = _of_some(part, given, moved)
        return {name: found[name] for name in bars}

    (found,) = jax.vjp(ends, {name: given[name] for name in free})[1](bars)
    return [sums[name] + found[name] if name in sums else found[name] for name in free]


def _of_some(part: _Part, given: Numbers, some: Numbers) -> Numbers:
    """What a part gives, by name, as a function of some of what it takes."""
    return dict(zip(part.gives, part.call(*((given | some)[name] for name in part.takes)), strict=True))


def _parts(stages: Sequence[Stage], known: Numbers, wanted: Names) -> list[_Part]:
    """The stages, cut down to what the results wanted depend on."""
    shapes, traced = shapes_of(known), []
    for stage in stages:
        closed, new = jax.make_jaxpr(stage.function, return_shape=True)(shapes)
        traced.append((stage, closed, sorted(shapes), sorted(new)))
        shapes |= new
    needed, parts = set(wanted), []
    for stage, closed, takes, gives in reversed(traced):
        asked = [name in needed for name in gives]
        if not any(asked):
            continue
        jaxpr, constants, used = partial_eval.dce_jaxpr_consts(closed.jaxpr, asked)
        call = partial(jax.core.eval_jaxpr, jaxpr, _chosen(closed.consts, constants))
        given = _chosen(gives, asked)
        smooth = tuple(name for name in given if jnp.issubdtype(shapes[name].dtype, jnp.floating))
        parts.append(_Part(_chosen(takes, used), given, smooth, call, stage.alone))
        needed = (needed - set(gives)) | set(parts[-1].takes)
    return parts[::-1]


def _chosen(all_: Sequence[Any], which: Sequence[bool]) -> Any:
    return tuple(a for a, chosen in zip(all_, which, strict=True) if chosen)
