"""Delicate operations: value and derivative at the bad point, and the codes and logarithms made of bits."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact.numerics import divide, exp2, log2, split_code, sqrt, with_code

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
def test_logarithm_and_power_of_two_are_as_close_as_they_say(dtype):
    a = jnp.asarray(np.logspace(-30, 30, 10_001), dtype)
    np.testing.assert_allclose(log2(a), np.log2(a), atol=1e-2)
    t = jnp.linspace(-20, 20, 10_001, dtype=dtype)
    np.testing.assert_allclose(exp2(t), np.exp2(t), rtol=1e-3)


@pytest.mark.parametrize("function,places", [(log2, 2.0 ** np.arange(-9, 9)), (exp2, np.arange(-9, 9) + 0.5)])
def test_logarithm_and_power_of_two_do_not_jump(function, places):
    """Else the length of a step, and with it an error of the size of the tolerance, would hang on round-off."""
    below, above = function(jnp.asarray(places * (1 - 1e-12))), function(jnp.asarray(places * (1 + 1e-12)))
    np.testing.assert_allclose(below, above, rtol=1e-10, atol=1e-10)


@DTYPES
@pytest.mark.parametrize("a", [0.0, np.inf])
def test_logarithm_is_finite(dtype, a):
    assert np.isfinite(log2(jnp.asarray(a, dtype)))


@DTYPES
@pytest.mark.parametrize("code", range(8))
def test_code_comes_back_with_the_number(dtype, code):
    a = jnp.asarray(np.random.default_rng(0).normal(size=1000), dtype)
    number, found = split_code(with_code(a, jnp.full(a.shape, code)))
    assert (found == code).all()
    np.testing.assert_array_equal(number, with_code(a))


@DTYPES
def test_number_with_a_code_is_rounded_towards_zero_by_some_epsilon(dtype):
    a = jnp.asarray([-1.7, -0.3, 0.0, 1e-3, 1.0, 5e7], dtype)
    rounded = with_code(a)
    assert (jnp.abs(rounded) <= jnp.abs(a)).all()
    assert (jnp.abs(a - rounded) <= 8 * jnp.finfo(dtype).eps * jnp.abs(a)).all()


@pytest.mark.parametrize("wanted", ["impulse", "outcome"])
def test_every_kernel_of_a_solve_is_whole(wanted):
    """A quotient or root that XLA does not fuse drags all that is behind it into a kernel of its own."""
    n = 2000
    arguments = (jnp.tile(jnp.eye(3), (n, 1, 1)), jnp.tile(jnp.array([0.3, 0.1, -1.0]), (n, 1)), jnp.full(n, 0.3))
    solve = jax.jit(lambda W, v, mu: getattr(jimpact.solve(W, v, mu, 0.5), wanted))
    text = solve.lower(*arguments).compile().as_text()
    computations = {c.split(" ", 1)[0].lstrip("%"): c for c in re.split(r"\n(?=%|ENTRY)", text)}
    branches = re.findall(r"%([\w.]+)", "".join(re.findall(r"branch_computations=\{[^}]*\}", text)))
    innermost = [computations[name] for name in branches if " conditional(" not in computations[name]]

    def expensive(branch):
        kernels = [computations[name] for name in re.findall(r"calls=%([\w.\-]+)", branch)]
        return sum(" divide(" in kernel or " sqrt(" in kernel for kernel in kernels)

    counts = [expensive(branch) for branch in innermost]
    assert sum(counts) > 5 and max(counts) == 1, counts
