"""Delicate operations: each says what it returns, and what its derivative is, at the bad point.

Polynomials are lists of coefficients, lowest power first, each coefficient one number per lane.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jimpact.types import Flag, Pair, Scalar, Whole

__all__ = [
    "anywhere",
    "bracketed_root",
    "direction",
    "divide",
    "exp2",
    "horner",
    "horner_slope",
    "largest",
    "log2",
    "lone_kernels",
    "norm",
    "own_kernel",
    "pair",
    "root_in",
    "small_rotation",
    "split_code",
    "sqrt",
    "unpair",
    "with_code",
]

T = TypeVar("T")


# The quotients and roots below are selected after they are taken, those of their derivatives as well. So each has one
# user, and XLA on CPU fuses it; one with several it would put into a kernel of its own, with all that is behind it.


def divide(a: Scalar, b: Scalar, otherwise: float | Scalar = 0.0) -> Scalar:
    """a / b; where b = 0 the value is `otherwise`, with zero derivative in a and b."""
    return jnp.where(b == 0, otherwise, _quotient(a, b))


@jax.custom_jvp
def _quotient(a: Scalar, b: Scalar) -> Scalar:
    """a / b; where b = 0, zero."""
    bad = b == 0
    return jnp.where(bad, 0, a / jnp.where(bad, 1, b))


@_quotient.defjvp
def _quotient_jvp(given: tuple[Scalar, Scalar], changes: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
    (a, b), (da, db) = given, changes
    bad = jnp.abs(b) < jnp.finfo(b.dtype).tiny  # its inverse would overflow
    value, inverse = _quotient(a, b), jnp.where(bad, 0, 1 / jnp.where(bad, 1, b))
    finite = jnp.where(jnp.isfinite(value), value, 0)  # where it overflows, it has no derivative by b
    return value, (da - finite * db) * inverse


@jax.custom_jvp
def sqrt(a: Scalar) -> Scalar:
    """Square root; where a <= 0 the value and the derivative are zero."""
    good = a > 0
    return jnp.where(good, jnp.sqrt(jnp.where(good, a, 1)), 0)


@sqrt.defjvp
def _sqrt_jvp(given: tuple[Scalar], changes: tuple[Scalar]) -> tuple[Scalar, Scalar]:
    root = sqrt(given[0])
    good = root > 0
    return root, changes[0] * jnp.where(good, 0.5 / jnp.where(good, root, 1), 0)


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
    function: Callable[[Scalar], tuple[Scalar, Scalar]], low: Scalar, high: Scalar, steps: int, *, loop: bool = False
) -> tuple[Scalar, Flag]:
    """The root in [low, high] of a function with its slope, and whether its sign changes there; if not, the better end.

    Newton's method kept in its bracket, as a `loop` or written out. Not to be differentiated: callers take derivatives
    from the equation.
    """
    at_low, at_high = function(low)[0], function(high)[0]
    there = (at_low <= 0) != (at_high <= 0)
    sign = jnp.where(at_high > 0, 1, -1)

    def step(_: Any, at: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        t, below, above = at
        value, slope = function(t)
        short = sign * value < 0
        below, above = jnp.where(short, t, below), jnp.where(short, above, t)
        newton = t - value / jnp.where(slope == 0, 1, slope)
        return jnp.where((newton > below) & (newton < above), newton, 0.5 * (below + above)), below, above

    at = 0.5 * (low + high), low, high
    if loop:
        at = lax.fori_loop(0, steps, step, at)
    else:
        for _ in range(steps):
            at = step(None, at)
    end = jnp.where(jnp.abs(at_low) <= jnp.abs(at_high), low, high)
    return jnp.where(there, at[0], end), there


def _layout(dtype: Any) -> tuple[Any, int, int, float]:
    """Of a floating dtype: the integer of its size, bits of the mantissa, bits of 1, and 2 ** bits of the mantissa."""
    info = jnp.finfo(dtype)
    whole = jnp.int64 if info.bits == 64 else jnp.int32
    return whole, info.nmant, (info.maxexp - 1) << info.nmant, float(2**info.nmant)


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


@custom_vmap
def anywhere(flag: Flag) -> Flag:
    """Whether any lane of all is flagged, those of a surrounding `vmap` included: a scalar that stays one.

    So a conditional on it stays a conditional under `vmap`, where it would otherwise compute both branches.
    """
    return jnp.any(flag)


@anywhere.def_vmap
def _anywhere_vmap(axis_size: int, in_batched: list[bool], flag: Flag) -> tuple[Flag, bool]:
    return anywhere(flag), False


def own_kernel(go: Flag | None, function: Callable[..., T], *arguments: Any) -> T:
    """function(*arguments), compiled as a computation of its own.

    `go` is a scalar that is always true, but that the compiler cannot know to be. XLA fuses long
    elementwise chains by computing them again for each consumer; a conditional is a border that it
    does not fuse across, so what comes out is computed once. Without it a step costs 20x more on CPU. None for `go`
    leaves it to XLA. Each result must have the shape of one of the arguments.
    """
    if go is None:
        return function(*arguments)
    function = jax.jit(function)  # traced once for its shapes and its value
    shapes = jax.eval_shape(function, *arguments)

    def zeros(*arguments: Any) -> T:
        # Made from an argument of their shape, so that they live on the same devices.
        def zero(shape: jax.ShapeDtypeStruct) -> Any:
            like = next(a for a in jax.tree.leaves(arguments) if jnp.shape(a) == shape.shape)
            return jnp.where(like == like, 0, 0).astype(shape.dtype)

        return jax.tree.map(zero, shapes)

    return lax.cond(go, jax.checkpoint(function), zeros, *arguments)


def lone_kernels(go: Flag | None, function: Callable[..., list[Scalar]], *arguments: Any) -> list[Scalar]:
    """The same for a function of several results, with a computation for each two: as a `pair`, if they have one shape.

    Results of one computation share what is expensive (roots and quotients), each in a kernel of its own with all that
    is behind it: where these are many, it is less work to do everything again for each pair. The function must have no
    kernels of its own.
    """
    if go is None:
        return function(*arguments)
    function = jax.jit(function)  # traced once for all pairs
    shapes = [a.shape for a in jax.eval_shape(function, *arguments)]
    results: list[Scalar] = []
    for i in range(0, len(shapes), 2):
        two = shapes[i : i + 2]
        if len(two) == 2 and two[0] == two[1]:
            results += unpair(own_kernel(go, lambda *a, i=i: pair(*function(*a)[i : i + 2]), *arguments))
        else:
            results += own_kernel(go, lambda *a, i=i: function(*a)[i : i + 2], *arguments)
    return results


def pair(a: Scalar, b: Scalar) -> Pair:
    """Two numbers in one complex array. XLA on CPU computes each result of a kernel on its own, with all that is
    behind it; a pair is one result.
    """
    return lax.complex(a, b)


def unpair(z: Pair) -> tuple[Scalar, Scalar]:
    return jnp.real(z), jnp.imag(z)
