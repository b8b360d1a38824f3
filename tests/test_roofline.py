"""The count of operations: loops as often as they turn."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments" / "roofline"))

from count import counted

LANES, TURNS, STEPS = 1000, 10, 7.0
OVERHEAD = 0.01  # relative: counters, and the conditions of the loops


def fixed(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, TURNS, lambda _, x: x * x + x, x)


def until(x: jax.Array) -> jax.Array:
    return jax.lax.while_loop(lambda x: x[0] < 1, lambda x: x * x + x, x)


def nested(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, TURNS, lambda _, x: until(x) * x, x)


@pytest.mark.parametrize(
    ("function", "flops"),
    [(fixed, 2 * TURNS), (until, 2 * STEPS), (nested, TURNS * (2 * STEPS + 1)), (lambda x: fixed(until(x)), 34)],
)
def test_loops_count_as_often_as_they_turn(function, flops: float) -> None:
    compiled = jax.jit(function).lower(jnp.ones(LANES)).compile()
    assert counted(compiled, STEPS)[0].flops / LANES == pytest.approx(flops, rel=OVERHEAD)


def test_without_loops_it_is_the_analysis_of_xla() -> None:
    compiled = jax.jit(lambda x: jnp.exp(x) * x + x).lower(jnp.ones(LANES)).compile()
    cost, loops = counted(compiled, STEPS)
    given = compiled.cost_analysis()
    assert (cost.flops, cost.transcendentals, cost.bytes) == tuple(
        given[name] for name in ("flops", "transcendentals", "bytes accessed")
    )
    assert not loops
