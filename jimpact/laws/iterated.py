"""Laws whose impulse is found by iteration, as programs: each device iterates as long as its own lanes need."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from jimpact.laws.record import Answer, Given, Options, answer
from jimpact.parts import elementwise
from jimpact.rays import Plane
from jimpact.types import Array, Flag

__all__ = ["iterated"]

FOUND = ("ix", "iy", "p", "inside", "finished")
MORE = "compression_impulse"
FLAGS = ("inside", "finished")


def iterated(name: str, law: Callable[[Given, Options], Answer]) -> Callable[[Given, Options], Answer]:
    """The law as a program; its answer tells the impulse, and what follows from it."""

    def found(options: Options, wanted: tuple[str, ...], go: Flag, *operands: Array) -> dict[str, Array]:
        planes = len(Plane._fields)
        result = law(Given(Plane(*operands[:planes]), *operands[planes:]), options)
        return {name: getattr(result, name) for name in FOUND} | {MORE: result.info.compression_impulse}

    def kind(options: Options, name: str, operands: Sequence[Any]) -> tuple[tuple[int, ...], Any]:
        return (), jnp.bool_ if name in FLAGS else operands[0].dtype

    program = elementwise(name, found, (*FOUND, MORE), kind)

    def function(given: Given, options: Options) -> Answer:
        result = program(options, *given.plane, *given[1:])
        return answer(given, *(result[name] for name in FOUND), compression_impulse=result[MORE])

    return function
