"""jimpact's programs as a user would compile them: `jax.jit` of one function, on one device.

| what     | program                                                                                    |
|----------|--------------------------------------------------------------------------------------------|
| forward  | impulse and outcome                                                                        |
| jvp      | impulse and its change in one direction of all inputs                                      |
| gradient | of a weighted sum of the impulse, by inverse inertia, velocity, friction and restitution   |
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jimpact

from .population import Impacts
from .race import Answer, Entry, Program, Truth, What

__all__ = ["ACCURACIES", "Compiled", "arguments", "compile_program", "compiled", "entry"]

ACCURACIES = ("low", "standard", "high")
WEIGHTS = (0.5, -0.8, 1.0)
STEP = 0.1  # of the direction of a jvp, of the inputs


class Compiled(NamedTuple):
    """A program for one shape and dtype."""

    call: Callable[..., Any]
    seconds: float
    bytes_per_impact: float | None  # arguments, results and what is between


def entry(accuracy: str, what: What, dtype: str, lanes: str, impacts: Impacts, ok: np.ndarray, truth: Truth) -> Entry:
    """jimpact on all of the impacts; derivatives count as good where the impact itself does, by `ok`."""
    n = len(ok)

    def prepare() -> Program:
        given = arguments(impacts, what, dtype)
        program = compiled(accuracy, what, dtype, n)
        run = lambda: jax.block_until_ready(program.call(*given))  # noqa: E731
        return Program(run, lambda out: _read(out, what, impacts, ok), program.seconds, program.bytes_per_impact)

    return Entry("jimpact", accuracy, what, dtype, lanes, n, truth, prepare)


@cache
def compiled(accuracy: str, what: What, dtype: str, n: int) -> Compiled:
    """A program for n impacts, compiled once per process."""
    return compile_program(_function(accuracy, what), n, dtype, 2 if what == "jvp" else 1)


def compile_program(function: Callable[..., Any], n: int, dtype: str = "float64", times: int = 1) -> Compiled:
    """Compile a function of n impacts, or of so many batches of them."""
    shapes = [jax.ShapeDtypeStruct(shape, dtype) for shape in ((n, 3, 3), (n, 3), (n,), (n,))]
    begin = time.perf_counter()
    program = jax.jit(function).lower(*shapes * times).compile()
    seconds, used = time.perf_counter() - begin, program.memory_analysis()
    if used is None:
        return Compiled(program, seconds, None)
    total = used.temp_size_in_bytes + used.argument_size_in_bytes + used.output_size_in_bytes
    return Compiled(program, seconds, total / n)


def arguments(impacts: Impacts, what: What, dtype: str) -> list[jax.Array]:
    """The impacts on the device; for a jvp also a direction: a step towards the next impact of the batch."""
    arrays = [jnp.asarray(a, dtype) for a in impacts]
    if what == "jvp":
        arrays += [jnp.asarray(STEP * (np.roll(a, 1, 0) - 0.5 * a), dtype) for a in impacts]
    return arrays


def _function(accuracy: str, what: What) -> Callable[..., Any]:
    def forward(*inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        impact = jimpact.solve(*inputs, accuracy=accuracy)
        return impact.impulse, impact.outcome

    def impulse(*inputs: jax.Array) -> jax.Array:
        return forward(*inputs)[0]

    def weighted(*inputs: jax.Array) -> jax.Array:
        result = impulse(*inputs)
        return (result * jnp.asarray(WEIGHTS, result.dtype)).sum()

    if what == "gradient":
        return jax.grad(weighted, (0, 1, 2, 3))
    return forward if what == "forward" else lambda *a: jax.jvp(impulse, a[:4], a[4:])


def _read(out: Any, what: What, impacts: Impacts, ok: np.ndarray) -> Answer:
    arrays = [np.asarray(a, float) for a in out]
    if what == "forward":
        return Answer(arrays[0], arrays[1] == jimpact.Outcome.OK)
    if what == "jvp":
        return Answer(arrays[1], ok)
    # By relative changes of W and v, so that all entries have the unit of impulse.
    W, v = (np.linalg.norm(a.reshape(len(ok), -1), axis=-1, keepdims=True) for a in impacts[:2])
    by_W, by_v, by_mu, by_e = arrays
    return Answer(np.concatenate([by_W.reshape(-1, 9) * W, by_v * v, by_mu[:, None], by_e[:, None]], -1), ok)
