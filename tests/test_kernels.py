"""Kernels, and what passes between them: results are those of the function, however they are cut."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimpact.kernels import Half, Slice, halves, lone_kernels, opened, own_kernel, pairs, shapes_of
from jimpact.numerics import running_count, where

LANES = 12
ROUND_OFF = 4e-16  # one operation may be contracted with the next


def numbers(count: int, seed: int = 0) -> list[jax.Array]:
    return [jnp.asarray(a) for a in np.random.default_rng(seed).normal(size=(count, LANES))]


def some(a: jax.Array, b: jax.Array, c: jax.Array) -> list[jax.Array]:
    """Five results: computed, an argument, a flag, a constant, a whole number."""
    return [a * b + c, b, a > c, jnp.full_like(a, 2.5), (a > 0).astype(jnp.int32) * 3]


@jax.jit
def cut(*given: jax.Array) -> list[jax.Array]:
    return opened(lone_kernels(jnp.any(given[0] == given[0]), some, *given))


def test_lone_kernels_return_the_results_of_the_function() -> None:
    for found, expected in zip(cut(*numbers(3)), some(*numbers(3)), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=ROUND_OFF)


def test_arguments_and_constants_among_the_results_have_no_kernel() -> None:
    text = str(jax.make_jaxpr(cut)(*numbers(3)))
    assert text.count("cond[") == 2  # of three computed results


def test_halves_and_slices_are_opened_inside_a_kernel() -> None:
    a, b, c = numbers(3)

    @jax.jit
    def of(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        go, (z,) = jnp.any(a == a), pairs([a, b])
        part = Slice(c, jnp.int32(4), 6)
        first, second = halves([z[2:8]])
        return own_kernel(go, lambda x, y, w: x + 2 * y + 3 * w, first, second, part)

    np.testing.assert_allclose(of(a, b, c), a[2:8] + 2 * b[2:8] + 3 * c[4:10], rtol=8 * ROUND_OFF)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_numbers_come_back_from_pairs(count: int) -> None:
    given = numbers(count)
    for found, expected in zip(opened(halves(pairs(given))), given, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_halves_that_do_not_belong_together_are_paired_anew() -> None:
    (a, b), (c, d) = halves(pairs(numbers(2))), halves(pairs(numbers(2, 1)))
    found = opened(halves(pairs([b, c, d, a])))
    for one, other in zip(found, opened([b, c, d, a]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_shapes_of_what_is_closed_are_those_of_what_is_opened() -> None:
    (z,) = pairs(numbers(2))
    shapes = shapes_of([Half(z, True, jnp.dtype("int32")), Slice(jnp.zeros((9, 3)), jnp.int32(2), 4)])
    assert [(a.shape, a.dtype) for a in shapes] == [((LANES,), jnp.int32), ((4, 3), z.real.dtype)]


@pytest.mark.parametrize("size", [1, 31, 32, 33, 1024, 1025, 40_000])
def test_running_count_is_a_cumulative_sum(size: int) -> None:
    flag = np.random.default_rng(size).random(size) < 0.7
    np.testing.assert_array_equal(jax.jit(running_count)(flag), np.cumsum(flag))


@pytest.mark.parametrize(("a", "b"), [(1.5, None), (None, 0), (None, None), (1, -1), (None, np.inf)])
def test_where_is_that_of_numpy(a: float | None, b: float | None) -> None:
    x, y, z = numbers(3)
    a, b = (x if a is None else a), (y if b is None else b)
    found, expected = where(z > 0, a, b), jnp.where(z > 0, a, b)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
