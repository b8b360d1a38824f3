"""Programs that are made of others, and go through a large batch in chunks."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimpact.parts import CHUNK, composite, elementwise

jax.config.update("jax_enable_x64", True)

LARGE = CHUNK + 1000  # the second chunk overlaps the first


def floats(static: Any, name: str, operands: Any) -> Any:
    return (), operands[0].dtype


SEEN: list[tuple[str, ...]] = []  # what the inner program was asked for


def _inner(static: None, wanted: tuple[str, ...], go: Any, a: jax.Array, b: jax.Array) -> dict[str, jax.Array]:
    SEEN.append(wanted)
    return {"sum": a + b, "product": a * b}


INNER = elementwise("test_inner", _inner, ("sum", "product"))


def _outer(static: float, a: jax.Array, b: jax.Array) -> dict[str, jax.Array]:
    found = INNER(None, a, b)
    return {"scaled": static * found["sum"], "square": found["product"] ** 2}


OUTER = composite("test_outer", _outer, ("scaled", "square"), floats)


@pytest.fixture(scope="module")
def batch() -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(0)
    return jnp.asarray(rng.normal(size=LARGE)), jnp.asarray(rng.normal(size=LARGE))


@pytest.mark.parametrize("name", ["scaled", "square"])
def test_chunks_give_what_the_whole_gives(name: str, batch: tuple[jax.Array, jax.Array]) -> None:
    given = jax.jit(lambda *a: OUTER(3.0, *a)[name])(*batch)
    np.testing.assert_array_equal(given, _outer(3.0, *batch)[name])


def test_a_result_that_is_not_used_is_not_computed_inside() -> None:
    SEEN.clear()
    a = jnp.ones(LARGE, "float32")  # a dtype that no other test has compiled
    jax.jit(lambda a: OUTER(5.0, a, a)["scaled"])(a)
    assert SEEN[-1] == ("sum",)


def test_gradient_of_a_large_batch(batch: tuple[jax.Array, jax.Array]) -> None:
    a, b = batch
    by_a = jax.jit(jax.grad(lambda a, b: OUTER(3.0, a, b)["square"].sum()))(a, b)
    np.testing.assert_allclose(by_a, 2 * a * b * b, rtol=1e-14)


def test_jvp_of_a_large_batch(batch: tuple[jax.Array, jax.Array]) -> None:
    a, b = batch
    change = jax.jit(lambda a, b, c: jax.jvp(lambda a: OUTER(3.0, a, b)["scaled"], (a,), (c,))[1])(a, b, b)
    np.testing.assert_allclose(change, 3 * b, rtol=1e-14)


def test_memory_between_operands_and_results_does_not_grow() -> None:
    def temporary(size: int) -> int:
        shape = jax.ShapeDtypeStruct((size,), "float64")
        program = jax.jit(lambda *a: OUTER(3.0, *a)["square"]).lower(shape, shape).compile()
        return program.memory_analysis().temp_size_in_bytes

    assert temporary(8 * CHUNK) <= 1.1 * temporary(2 * CHUNK)


def test_a_small_batch_is_a_computation_of_its_own() -> None:
    """Else XLA computes it again for everything that follows."""
    a = jnp.ones(100)
    text = jax.jit(lambda a, b: jnp.stack(list(OUTER(3.0, a, b).values()))).lower(a, a).compile().as_text()
    assert " conditional(" in text
