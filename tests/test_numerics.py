"""Delicate operations: value and derivative at the bad point."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimpact.control_flow import anywhere
from jimpact.numerics import divide, sqrt
from jimpact.roots import bracketed_root

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
MODES = pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
EPS = 4  # x epsilon: a quotient and its derivative are a few roundings


def both(function, jacobian, *arguments):
    """Value and all derivatives, as numbers."""
    slopes = jacobian(function, argnums=tuple(range(len(arguments))))(*arguments)
    return float(function(*arguments)), [float(a) for a in slopes]


@DTYPES
@MODES
def test_quotient_has_its_derivative(dtype, jacobian):
    a, b = jnp.asarray(3.0, dtype), jnp.asarray(-0.7, dtype)
    value, slopes = both(divide, jacobian, a, b)
    near = {"rtol": EPS * jnp.finfo(dtype).eps}
    np.testing.assert_allclose(value, float(a) / float(b), **near)
    np.testing.assert_allclose(slopes, [1 / float(b), -float(a) / float(b) ** 2], **near)


@DTYPES
@MODES
@pytest.mark.parametrize("otherwise", [0.0, 7.0, np.inf])
def test_quotient_by_zero_is_the_other_value_with_no_derivative(dtype, jacobian, otherwise):
    a, b = jnp.asarray(3.0, dtype), jnp.asarray(0.0, dtype)
    assert both(lambda a, b: divide(a, b, otherwise), jacobian, a, b) == (otherwise, [0, 0])


@DTYPES
@MODES
@pytest.mark.parametrize("a", [0.0, 30.0])
def test_derivative_of_a_quotient_by_almost_nothing_is_a_number(dtype, jacobian, a):
    """Also where the quotient overflows, and is not selected: 0 x inf is nan."""
    b = jnp.asarray(jnp.finfo(dtype).tiny, dtype)
    slopes = both(lambda a, b: jnp.where(b > 1, divide(a, b), 0), jacobian, jnp.asarray(a, dtype), b)[1]
    assert slopes == [0, 0]


@DTYPES
@MODES
@pytest.mark.parametrize("a,expected", [(4.0, (2.0, [0.25])), (0.0, (0.0, [0.0])), (-1.0, (0.0, [0.0]))])
def test_root_has_its_derivative_and_none_where_there_is_no_root(dtype, jacobian, a, expected):
    assert both(sqrt, jacobian, jnp.asarray(a, dtype)) == expected


@DTYPES
@pytest.mark.parametrize("steps", range(7, 16))
def test_root_in_a_bracket_stays_found(dtype, steps):
    """When Newton's method has arrived, the bracket may still be wide on one side."""
    low, high = jnp.asarray(0.0, dtype), jnp.asarray(1.0, dtype)
    root, there = bracketed_root(lambda t: (t - 0.2, jnp.ones_like(t)), low, high, steps)
    assert there
    np.testing.assert_allclose(root, 0.2, rtol=16 * jnp.finfo(dtype).eps)


@pytest.mark.parametrize("flags,answer", [([False, False], False), ([False, True], True)])
def test_anywhere_looks_across_vmap(flags, answer):
    assert jax.vmap(anywhere, out_axes=None)(jnp.array(flags)) == answer
