"""Large batches of impacts, in chunks of one size, so that a law is compiled once for all batches."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimpact.impact import solve
from jimpact.impact_path import Path, trace
from jimpact.outcome import Impact
from jimpact.slip.invariant_directions import invariant_directions

__all__ = ["CHUNK", "LabelledProgress", "directions_many", "silent", "solve_many", "trace_many"]

CHUNK = 2048  # impacts
TRACED = 64  # paths
CORES = {"inverse_inertia": 2, "velocity": 1}

FAST = ("stronge",)  # laws of large batches and of timings, which XLA compiles with its default options
PLAIN = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
"""Options with which compilation takes a quarter of the time, and a run twice as long: faster below 1e6 impacts."""

LabelledProgress = Callable[[Iterable[Any], str], Iterable[Any]]


@cache
def _program(function: Callable[..., Any], names: tuple[str, ...], plain: bool) -> Callable[..., Any]:
    """A compiled function with static arguments; `plain` uses the options above, if a CPU compiler accepts them."""
    options = PLAIN if plain and _plain_works() else None
    return jax.jit(function, static_argnames=names, compiler_options=options)


@cache
def _plain_works() -> bool:
    if jax.default_backend() != "cpu":
        return False
    try:
        jax.jit(jnp.negative, compiler_options=PLAIN)(1.0)
    except (RuntimeError, ValueError):  # another version of XLA
        return False
    return True


def silent(steps: Iterable[Any], label: str) -> Iterable[Any]:
    """No progress bar."""
    return steps


def solve_many(
    inverse_inertia: Any,
    velocity: Any,
    friction: Any,
    restitution: Any,
    *,
    law: str = "stronge",
    progress: LabelledProgress = silent,
    static_friction: Any = None,
    tangential_restitution: Any = None,
    mixing: Any = None,
    **options: Any,
) -> Impact:
    """`solve` for a batch of any shape and size, as NumPy arrays; `options` are rule, accuracy and line_tolerance."""
    arrays = {
        "inverse_inertia": inverse_inertia,
        "velocity": velocity,
        "friction": friction,
        "restitution": restitution,
        "static_friction": static_friction,
        "tangential_restitution": tangential_restitution,
        "mixing": mixing,
    }
    run = _program(solve, ("law", "rule", "accuracy", "line_tolerance"), law not in FAST)
    return _chunked(partial(run, law=law, **options), arrays, CHUNK, lambda steps: progress(steps, law))


def trace_many(
    inverse_inertia: Any, velocity: Any, friction: Any, restitution: Any, *, static_friction: Any = None, **options: Any
) -> Path:
    """`trace` for a batch of any shape and size, as NumPy arrays; `options` are those of `trace`."""
    arrays = {
        "inverse_inertia": inverse_inertia,
        "velocity": velocity,
        "friction": friction,
        "restitution": restitution,
        "static_friction": static_friction,
    }
    run = _program(trace, ("law", "accuracy", "samples", "line_tolerance"), True)
    return _chunked(partial(run, **options), arrays, TRACED, iter)


def directions_many(inverse_inertia: Any, friction: Any) -> tuple[np.ndarray, np.ndarray]:
    """`invariant_directions` of a batch of any shape and size, as NumPy arrays."""
    run = _program(invariant_directions, (), True)
    return _chunked(run, {"inverse_inertia": inverse_inertia, "friction": friction}, CHUNK, iter)


def _chunked(
    function: Callable[..., Any], arrays: dict[str, Any], size: int, steps: Callable[[Iterable[int]], Iterable[int]]
) -> Any:
    """Call a batched function on chunks of one size; the last chunk is padded with copies of the last impact."""
    given = {name: np.asarray(a, float) for name, a in arrays.items() if a is not None}
    lead = {name: a.shape[: a.ndim - CORES.get(name, 0)] for name, a in given.items()}
    shape = np.broadcast_shapes(*lead.values())
    flat = {
        name: np.broadcast_to(a, shape + a.shape[len(lead[name]) :]).reshape(-1, *a.shape[len(lead[name]) :])
        for name, a in given.items()
    }
    count = int(np.prod(shape))
    if not count:
        raise ValueError("there are no impacts; pass at least one")
    pieces = []
    for start in steps(range(0, count, size)):
        rows = np.minimum(np.arange(start, start + size), count - 1)
        pieces.append(jax.tree.map(np.asarray, function(**{name: jnp.asarray(a[rows]) for name, a in flat.items()})))
    joined = jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *pieces)
    return jax.tree.map(lambda leaf: leaf.reshape((*shape, *leaf.shape[1:])), joined)
