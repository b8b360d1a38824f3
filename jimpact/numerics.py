"""Delicate operations: each says what it returns, and what its derivative is, at the bad point.

Polynomials are lists of coefficients, lowest power first, each coefficient one number per lane.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.types import Flag, Scalar, Whole

__all__ = [
    "bracketed_root",
    "direction",
    "divide",
    "exp2",
    "horner",
    "horner_slope",
    "largest",
    "log2",
    "norm",
    "once",
    "root_in",
    "running_count",
    "small_rotation",
    "split_code",
    "sqrt",
    "where",
    "with_code",
]


def once(x: Scalar, one: Scalar) -> Scalar:
    """x, computed once.

    On a CPU, XLA computes a chain of additions and multiplications again for every use, but a quotient only once.
    `one` is 1, and not a constant.
    """
    return jax.tree.map(lambda part: part / one, x)


def where(flag: Flag, a: Scalar | float, b: Scalar | float) -> Scalar:
    """`jnp.where`. That is a function of its own, and a program has thousands of them, which XLA inlines one by one: so
    here it is one operation, if all arrays have one shape.
    """
    arrays = [c for c in (a, b) if hasattr(c, "shape")]
    if not arrays or any(c.shape != flag.shape for c in arrays):
        return jnp.where(flag, a, b)
    dtype = jnp.result_type(a, b)
    return lax.select(flag, *(_like(flag, c, dtype) for c in (a, b)))


def _like(flag: Flag, a: Scalar | float, dtype: Any) -> Scalar:
    return lax.convert_element_type(a, dtype) if hasattr(a, "shape") else lax.full_like(flag, a, dtype)


# The quotients and roots below are selected after they are taken, those of their derivatives as well. So each has one
# user, and XLA on CPU fuses it; one with several it would put into a kernel of its own, with all that is behind it.


def divide(a: Scalar, b: Scalar, otherwise: float | Scalar = 0.0) -> Scalar:
    """a / b; where b = 0 the value is `otherwise`, with zero derivative in a and b."""
    return where(b == 0, otherwise, _quotient(a, b))


@jax.custom_jvp
def _quotient(a: Scalar, b: Scalar) -> Scalar:
    """a / b; where b = 0, zero."""
    bad = b == 0
    return where(bad, 0, a / where(bad, 1, b))


@_quotient.defjvp
def _quotient_jvp(given: tuple[Scalar, Scalar], changes: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
    (a, b), (da, db) = given, changes
    bad = jnp.abs(b) < jnp.finfo(b.dtype).tiny  # its inverse would overflow
    value, inverse = _quotient(a, b), where(bad, 0, 1 / where(bad, 1, b))
    finite = where(jnp.isfinite(value), value, 0)  # where it overflows, it has no derivative by b
    return value, (da - finite * db) * inverse


@jax.custom_jvp
def sqrt(a: Scalar) -> Scalar:
    """Square root; where a <= 0 the value and the derivative are zero."""
    good = a > 0
    return where(good, jnp.sqrt(where(good, a, 1)), 0)


@sqrt.defjvp
def _sqrt_jvp(given: tuple[Scalar], changes: tuple[Scalar]) -> tuple[Scalar, Scalar]:
    root = sqrt(given[0])
    good = root > 0
    return root, changes[0] * where(good, 0.5 / where(good, root, 1), 0)


def norm(x: Scalar, y: Scalar) -> Scalar:
    """Length of (x, y); at the origin the value and the derivative are zero."""
    return sqrt(x * x + y * y)


def direction(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The unit vector along (x, y), and the length; at the origin all are zero, with zero derivative."""
    r = norm(x, y)
    inverse = divide(jnp.ones_like(r), r)  # one quotient: they cost as much as ten products
    return x * inverse, y * inverse, r


def small_rotation(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine of an angle of at most 0.1, to round-off: a tenth of the cost of the general ones."""
    u = angle * angle
    cosine = 1 - u / 2 * (1 - u / 12 * (1 - u / 30 * (1 - u / 56 * (1 - u / 90))))
    return cosine, angle * (1 - u / 6 * (1 - u / 20 * (1 - u / 42 * (1 - u / 72))))


def largest(*a: Scalar) -> Scalar:
    """The largest magnitude, 1 where all vanish: a unit in which no square under- or overflows. No derivative."""
    size = jnp.abs(a[0])
    for other in a[1:]:
        size = jnp.maximum(size, jnp.abs(other))
    return lax.stop_gradient(where(size > 0, size, 1))


@partial(jax.jit, inline=True)
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


@partial(jax.jit, static_argnames="steps", inline=True)
def root_in(c: Sequence[Scalar], end: Scalar, guess: Scalar, tolerance: Scalar, steps: int) -> Scalar:
    """A root in [0, end] of a polynomial that rises from c(0) < 0 to c(end) >= 0.

    Newton's method kept in its bracket. Where the value after `steps` is still above `tolerance`, the chord
    to the lower end of the bracket is taken instead: short of the root if the polynomial is convex there,
    and in any case a step forward. Not to be differentiated: callers take derivatives from the equation.
    """
    low, high, value_low = jnp.zeros_like(end), end, c[0]
    slack = 4 * jnp.finfo(end.dtype).eps * end  # at convergence, round-off may point out of the bracket
    t = where(guess >= 0, jnp.minimum(guess, end), 0.5 * end)
    for _ in range(steps):
        value, slope = horner_slope(c, t)
        below = value < 0
        low, value_low, high = where(below, t, low), where(below, value, value_low), where(below, high, t)
        newton = t - value / where(slope == 0, 1, slope)
        inside = (newton >= low - slack) & (newton <= high + slack)
        t = where(inside, jnp.clip(newton, low, high), 0.5 * (low + high))
    value = horner(c, t)
    far = value > tolerance
    return where(far, low - value_low * (t - low) / where(far, value - value_low, 1), t)


def bracketed_root(
    function: Callable[[Scalar], tuple[Scalar, Scalar]], low: Scalar, high: Scalar, steps: int, *, loop: bool = False
) -> tuple[Scalar, Flag]:
    """The root in [low, high] of a function with its slope, and whether its sign changes there; if not, the better end.

    Newton's method kept in its bracket, as a `loop` or written out. Not to be differentiated: callers take derivatives
    from the equation.
    """
    at_low, at_high = function(low)[0], function(high)[0]
    there = (at_low <= 0) != (at_high <= 0)
    sign = where(at_high > 0, 1, -1)

    def step(_: Any, at: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        t, below, above = at
        value, slope = function(t)
        short = sign * value < 0
        below, above = where(short, t, below), where(short, above, t)
        newton = t - value / where(slope == 0, 1, slope)
        return where((newton > below) & (newton < above), newton, 0.5 * (below + above)), below, above

    at = 0.5 * (low + high), low, high
    if loop:
        at = lax.fori_loop(0, steps, step, at)
    else:
        for _ in range(steps):
            at = step(None, at)
    end = where(jnp.abs(at_low) <= jnp.abs(at_high), low, high)
    return where(there, at[0], end), there


def _layout(dtype: Any) -> tuple[Any, int, int, float]:
    """Of a floating dtype: the integer of its size, bits of the mantissa, bits of 1, and 2 ** bits of the mantissa."""
    info = jnp.finfo(dtype)
    whole = jnp.int64 if info.bits == 64 else jnp.int32
    return whole, info.nmant, (info.maxexp - 1) << info.nmant, float(2**info.nmant)


def running_count(flag: Flag) -> Whole:
    """How many of one axis are flagged up to each, itself included. By products with a triangle of ones, exact in
    float32: a cumulative sum is a dozen kernels on CPU, on one core.
    """
    size = flag.shape[0]
    if size > 2**24:  # beyond, float32 does not count
        return jnp.cumsum(flag, dtype=jnp.int32)
    return _running_sum(flag.astype(jnp.float32)).astype(jnp.int32)


def _running_sum(a: Scalar) -> Scalar:
    size, row = a.shape[0], 32
    if size <= row:
        return jnp.matmul(a, jnp.triu(jnp.ones((size, size), a.dtype)), precision=lax.Precision.HIGHEST)
    rows = jnp.pad(a, (0, -size % row)).reshape(-1, row)
    within = jnp.matmul(rows, jnp.triu(jnp.ones((row, row), a.dtype)), precision=lax.Precision.HIGHEST)
    before = _running_sum(within[:, -1]) - within[:, -1]
    return (within + before[:, None]).reshape(-1)[:size]


def log2(a: Scalar) -> Scalar:
    """Of a >= 0, to 1e-2; a is clipped to where it and its inverse are normal numbers. No derivative.

    By the bits of floating-point numbers: the exact function costs as much as a whole power series.
    """
    whole, width, one, large = _layout(a.dtype)
    limit = 2.0 ** (jnp.finfo(a.dtype).maxexp - 2)
    bits = lax.bitcast_convert_type(jnp.clip(lax.stop_gradient(a), 1 / limit, limit), whole)
    mantissa = lax.bitcast_convert_type((bits & ((1 << width) - 1)) | one, a.dtype)
    # The exponent as a number: in the last bits of 2 ** width, where they count ones.
    place = one + (width << width)
    exponent = lax.bitcast_convert_type((bits >> width) | place, a.dtype) - (large + (one >> width))
    return exponent + (mantissa * (2 - mantissa / 3) - 5 / 3)  # exact at powers of two


def exp2(t: Scalar) -> Scalar:
    """2 ** t, to 1e-3, likewise; the result must be a normal number."""
    whole, width, _, large = _layout(t.dtype)
    shifted, rest = t + 1.5 * large, t - jnp.round(t)  # the last bits of the first are t rounded
    part = 1 + rest * (0.6931 + rest * (0.2402 + rest * 0.0544))  # at 0.5 twice that at -0.5: continuous
    bits = lax.bitcast_convert_type(part, whole) + (lax.bitcast_convert_type(shifted, whole) << width)
    return lax.bitcast_convert_type(bits, t.dtype)


def with_code(a: Scalar, code: Whole | int = 0) -> Scalar:
    """The number, rounded towards zero by up to 8 epsilon, with a code from 0 to 7 in its last bits. No derivative."""
    whole = _layout(a.dtype)[0]
    bits = lax.bitcast_convert_type(lax.stop_gradient(a), whole)
    return lax.bitcast_convert_type((bits & ~7) | jnp.asarray(code, whole), a.dtype)


def split_code(a: Scalar) -> tuple[Scalar, Whole]:
    """The number and the code of `with_code`."""
    bits = lax.bitcast_convert_type(a, _layout(a.dtype)[0])
    return with_code(a), (bits & 7).astype(jnp.int32)
