"""Operations with a singular point, each with its value and its derivative there; and Gauss's rule."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jimpact.types import Flag, Scalar

__all__ = ["divide", "gauss", "largest", "norm", "ratio", "sqrt", "where"]


def where(flag: Flag, a: Scalar | float, b: Scalar | float) -> Scalar:
    """`jnp.where`, as a single `lax.select` if all arrays have one shape.

    `jnp.where` is a nested function that XLA must inline, which slows compilation.
    """
    arrays = [c for c in (a, b) if hasattr(c, "shape")]
    if not arrays or any(c.shape != flag.shape for c in arrays):
        return jnp.where(flag, a, b)
    dtype = jnp.result_type(a, b)
    like = lax.convert_element_type(arrays[0], dtype)
    return lax.select(
        flag, *(lax.convert_element_type(c, dtype) if hasattr(c, "shape") else lax.full_like(like, c) for c in (a, b))
    )


def divide(a: Scalar, b: Scalar, otherwise: float | Scalar = 0.0) -> Scalar:
    """a / b; where b = 0 the value is `otherwise`, with zero derivative in a and b."""
    return where(b == 0, otherwise, _quotient(a, b))


@jax.custom_jvp
def _quotient(a: Scalar, b: Scalar) -> Scalar:
    """a / b; zero where b = 0."""
    bad = b == 0
    return where(bad, 0, a / where(bad, 1, b))


@_quotient.defjvp
def _quotient_jvp(given: tuple[Scalar, Scalar], changes: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
    (a, b), (da, db) = given, changes
    bad = jnp.abs(b) < jnp.finfo(b.dtype).tiny  # 1 / b would overflow
    value = _quotient(a, b)
    finite = where(jnp.isfinite(value), value, 0)  # a quotient that overflows has zero derivative in b
    return value, where(bad, 0, (da - finite * db) / where(bad, 1, b))


def ratio(a: Scalar | float, b: Scalar) -> Scalar:
    """a / b for b >= 0, but finite at b = 0; for bounds and estimates, which need no derivative."""
    return a / (b + float(jnp.finfo(b.dtype).tiny) ** 0.5)


@jax.custom_jvp
def sqrt(a: Scalar) -> Scalar:
    """Square root; where a <= 0 the value and the derivative are zero."""
    good = a > 0
    return where(good, jnp.sqrt(where(good, a, 1)), 0)


@sqrt.defjvp
def _sqrt_jvp(given: tuple[Scalar], changes: tuple[Scalar]) -> tuple[Scalar, Scalar]:
    root = sqrt(given[0])
    good = root > 0
    return root, where(good, 0.5 * changes[0] / where(good, root, 1), 0)


def norm(x: Scalar, y: Scalar) -> Scalar:
    """Length of (x, y); at the origin the value and the derivative are zero."""
    return sqrt(x * x + y * y)


def largest(*a: Scalar) -> Scalar:
    """The largest magnitude, or 1 if all are zero: a unit in which no square under- or overflows. No derivative."""
    size = jnp.abs(a[0])
    for other in a[1:]:
        size = jnp.maximum(size, jnp.abs(other))
    return lax.stop_gradient(where(size > 0, size, 1))


def gauss(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss's rule on [0, 1], and a row of weights for the integral from 0 to each node."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    values = np.polynomial.legendre.legvander(nodes, count - 1)
    integrals = [np.polynomial.legendre.Legendre.basis(i).integ(lbnd=-1)(nodes) for i in range(count)]
    return (nodes + 1) / 2, weights / 2, np.linalg.solve(values.T, np.array(integrals)).T / 2
