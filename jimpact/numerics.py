"""Delicate operations: each says what it returns, and what its derivative is, at the bad point.

Polynomials are lists of coefficients, lowest power first, each coefficient one number per lane.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jimpact.types import Flag, Pair, Scalar

__all__ = [
    "anywhere",
    "bracketed_root",
    "divide",
    "horner",
    "horner_slope",
    "largest",
    "norm",
    "own_kernel",
    "pair",
    "root_estimate",
    "root_in",
    "sqrt",
    "unpair",
]

T = TypeVar("T")


def divide(a: Scalar, b: Scalar, otherwise: float | Scalar = 0.0) -> Scalar:
    """a / b; where b = 0 the value is `otherwise`, with zero derivative in a and b."""
    bad = b == 0
    return jnp.where(bad, otherwise, a / jnp.where(bad, 1, b))


def sqrt(a: Scalar) -> Scalar:
    """Square root; where a <= 0 the value and the derivative are zero."""
    good = a > 0
    return jnp.where(good, jnp.sqrt(jnp.where(good, a, 1)), 0)


def norm(x: Scalar, y: Scalar) -> Scalar:
    """Length of (x, y); at the origin the value and the derivative are zero."""
    return sqrt(x * x + y * y)


def largest(*a: Scalar) -> Scalar:
    """The largest magnitude, 1 where all vanish: a unit in which no square under- or overflows. No derivative."""
    size = jnp.abs(a[0])
    for other in a[1:]:
        size = jnp.maximum(size, jnp.abs(other))
    return lax.stop_gradient(jnp.where(size > 0, size, 1))


def horner(c: Sequence[Scalar], t: Scalar) -> Scalar:
    """Value of the polynomial c at t."""
    value = c[-1]
    for coefficient in c[-2::-1]:
        value = value * t + coefficient
    return value


def horner_slope(c: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar]:
    """Value and slope of the polynomial c at t."""
    value, slope = c[-1], jnp.zeros_like(c[-1])
    for coefficient in c[-2::-1]:
        slope = slope * t + value
        value = value * t + coefficient
    return value, slope


def root_in(c: Sequence[Scalar], end: Scalar, guess: Scalar, tolerance: Scalar, steps: int) -> Scalar:
    """A root in [0, end] of a polynomial that rises from c(0) < 0 to c(end) >= 0.

    Newton's method kept in its bracket. Where the value after `steps` is still above `tolerance`, the chord
    to the lower end of the bracket is taken instead: short of the root if the polynomial is convex there,
    and in any case a step forward. Not to be differentiated: callers take derivatives from the equation.
    """
    low, high, value_low = jnp.zeros_like(end), end, c[0]
    slack = 4 * jnp.finfo(end.dtype).eps * end  # at convergence, round-off may point out of the bracket
    t = jnp.where(guess >= 0, jnp.minimum(guess, end), 0.5 * end)
    for _ in range(steps):
        value, slope = horner_slope(c, t)
        below = value < 0
        low, value_low, high = jnp.where(below, t, low), jnp.where(below, value, value_low), jnp.where(below, high, t)
        newton = t - value / jnp.where(slope == 0, 1, slope)
        inside = (newton >= low - slack) & (newton <= high + slack)
        t = jnp.where(inside, jnp.clip(newton, low, high), 0.5 * (low + high))
    value = horner(c, t)
    far = value > tolerance
    return jnp.where(far, low - value_low * (t - low) / jnp.where(far, value - value_low, 1), t)


def bracketed_root(
    function: Callable[[Scalar], tuple[Scalar, Scalar]], low: Scalar, high: Scalar, steps: int
) -> tuple[Scalar, Flag]:
    """The root in [low, high] of a function with its slope, and whether its sign changes there; if not, `low`.

    Newton's method kept in its bracket. Not to be differentiated: callers take derivatives from the equation.
    """
    at_low, at_high = function(low)[0], function(high)[0]
    there = (at_low <= 0) != (at_high <= 0)
    sign = jnp.where(at_high > 0, 1, -1)
    below, above = low, high
    t = 0.5 * (low + high)
    for _ in range(steps):
        value, slope = function(t)
        short = sign * value < 0
        below, above = jnp.where(short, t, below), jnp.where(short, above, t)
        newton = t - value / jnp.where(slope == 0, 1, slope)
        t = jnp.where((newton > below) & (newton < above), newton, 0.5 * (below + above))
    return jnp.where(there, t, low), there


def root_estimate(a: Scalar, n: int) -> Scalar:
    """a ** (1/n) for a >= 0 to five digits, clipped to [1e-30, 1e30] before the root.

    Computed in float32, where exp and log are several times cheaper. Not to be differentiated.
    """
    small = jnp.clip(a, 1e-30, 1e30).astype(jnp.float32)
    return jnp.exp(jnp.log(small) / n).astype(a.dtype)


@custom_vmap
def anywhere(flag: Flag) -> Flag:
    """Whether any lane of all is flagged, those of a surrounding `vmap` included: a scalar that stays one.

    So a conditional on it stays a conditional under `vmap`, where it would otherwise compute both branches.
    """
    return jnp.any(flag)


@anywhere.def_vmap
def _anywhere_vmap(axis_size: int, in_batched: list[bool], flag: Flag) -> tuple[Flag, bool]:
    return anywhere(flag), False


def own_kernel(go: Flag, function: Callable[..., T], *arguments: Any) -> T:
    """function(*arguments), compiled as a computation of its own.

    `go` is a scalar that is always true, but that the compiler cannot know to be. XLA fuses long
    elementwise chains by computing them again for each consumer; a conditional is a border that it
    does not fuse across, so what comes out is computed once. Without it a step costs 20x more on CPU.
    """
    shapes = jax.eval_shape(function, *arguments)
    zeros = lambda *_: jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)  # noqa: E731
    return lax.cond(go, jax.checkpoint(function), zeros, *arguments)


def pair(a: Scalar, b: Scalar) -> Pair:
    """Two numbers in one complex array. XLA on CPU computes each result of a kernel on its own, with all that is
    behind it; a pair is one result.
    """
    return lax.complex(a, b)


def unpair(z: Pair) -> tuple[Scalar, Scalar]:
    return jnp.real(z), jnp.imag(z)
