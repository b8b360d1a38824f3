"""The gap of two convex bodies, and a direction that separates them, also for ellipsoids.

A convex body is here the Minkowski sum of the hull of points, the core, and an ellipsoid, which is a ball for a sphere
or a rounded hull. Let F = U^T U and G = V^T V be the matrices of the ellipsoids of two bodies a and b scaled to size 1,
p and q their sizes, and v the shortest vector between the cores in the metric C^-1, C = (1 - s) F + s G. The direction
m = C^-1 v separates the bodies, if any direction does, if

    s = q r / (p + q r),   r = |U m| / |V m|

(Perram and Wertheim, 1985, for two ellipsoids; for hulls the shortest vector between the cores replaces that between
the centres). r is between the least semi-axis of the scaled ellipsoid of a and the inverse of that of b, which also
bounds s. The right side less s changes its sign once. At a contact m is the common normal.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from jimpact.contact.body import transform
from jimpact.control_flow import anywhere
from jimpact.geometry.gjk import Simplex, first_corners, nearest, witnesses
from jimpact.numerics import divide, sqrt
from jimpact.types import Array, Flag, Matrix3, Scalar, Vector3, Whole

__all__ = ["ConvexBody", "NearestParts", "Separation", "nearest_parts", "separation"]

ITERATIONS = 60  # at most; about 5 suffice
TOLERANCE = 8  # x epsilon


class ConvexBody(NamedTuple):
    """A body in world axes: the points of its core, and the ellipsoid of the Minkowski sum."""

    points: Float[Array, "... k 3"]
    size: Scalar  # largest semi-axis
    unit: Matrix3 | None  # U of the ellipsoid of size 1, |U^-T x| = 1; None for a ball
    least: Scalar  # least semi-axis of that ellipsoid


class NearestParts(NamedTuple):
    """The parts of two bodies that face each other. No field has a derivative."""

    simplex: Simplex
    share: Scalar  # s


class Separation(NamedTuple):
    """Normal, gap and nearest point of two bodies, with derivatives."""

    normal: Vector3  # from b to a
    gap: Scalar  # along the normal
    point: Vector3  # on a


def nearest_parts(a: ConvexBody, b: ConvexBody) -> NearestParts:
    """The parts of two bodies between which the gap is."""
    a, b = lax.stop_gradient((a, b))
    low, high = _share(a, b, a.least), _share(a, b, 1 / b.least)
    if a.unit is None and b.unit is None:
        return NearestParts(nearest(a.points, b.points), low)
    eps, one = jnp.finfo(low.dtype).eps, jnp.ones_like(low)

    def step(state: _State) -> _State:
        simplex = _nearest(a, b, state.share, state.simplex)
        excess, slope = jax.jvp(lambda s: _excess(a, b, simplex, s), (state.share,), (one,))
        low = jnp.where(excess >= 0, state.share, state.low)
        high = jnp.where(excess <= 0, state.share, state.high)
        newton = state.share - divide(excess, slope, jnp.inf)
        slack = TOLERANCE * eps * state.share  # round-off may leave the bracket
        inside = (newton >= low - slack) & (newton <= high + slack)
        share = jnp.where(inside, jnp.clip(newton, low, high), 0.5 * (low + high))
        open_ = state.open & (jnp.abs(share - state.share) > slack)
        share = jnp.where(state.open, share, state.share)
        return _State(state.steps + 1, simplex, low, high, share, open_)

    def more(state: _State) -> Flag:
        return anywhere(state.open) & (state.steps < ITERATIONS)

    begin = _State(jnp.zeros((), jnp.int32), first_corners(low.shape), low, high, 0.5 * (low + high), low < high)
    last = lax.while_loop(more, step, begin)
    return NearestParts(_nearest(a, b, last.share, last.simplex), last.share)


class _State(NamedTuple):
    steps: Whole
    simplex: Simplex
    low: Scalar
    high: Scalar
    share: Scalar
    open: Flag


def separation(a: ConvexBody, b: ConvexBody, parts: NearestParts) -> Separation:
    """Normal, gap and nearest point of the parts that face each other."""
    if a.unit is None and b.unit is None:
        on_a, on_b = witnesses(a.points, b.points, parts.simplex)
        across, leading = on_a - on_b, on_a - on_b
    else:
        on_a, on_b, leading = _leading(a, b, parts.simplex, _root(a, b, parts))
        across = on_a - on_b
    normal = _direction(leading)
    swell_a, swell_b = _swell(a, normal), _swell(b, normal)
    return Separation(normal, _dot(normal, across - swell_a - swell_b), on_a - swell_a)


def _root(a: ConvexBody, b: ConvexBody, parts: NearestParts) -> Scalar:
    """The share after a last step of Newton's method, which has the derivative of the root."""
    fixed_a, fixed_b = lax.stop_gradient((a, b))
    one = jnp.ones_like(parts.share)
    _, slope = jax.jvp(lambda s: _excess(fixed_a, fixed_b, parts.simplex, s), (parts.share,), (one,))
    return parts.share - divide(_excess(a, b, parts.simplex, parts.share), slope, 0.0)


def _leading(a: ConvexBody, b: ConvexBody, simplex: Simplex, share: Scalar) -> tuple[Vector3, Vector3, Vector3]:
    """The nearest points of the cores in the metric of C^-1, and m."""
    stretch = _stretch(a, b, share)
    on_a, on_b = witnesses(a.points, b.points, simplex, stretch)
    return on_a, on_b, transform(jnp.swapaxes(stretch, -1, -2), transform(stretch, on_a - on_b))


def _excess(a: ConvexBody, b: ConvexBody, simplex: Simplex, share: Scalar) -> Scalar:
    m = _leading(a, b, simplex, share)[2]
    return _share(a, b, divide(_length(_mapped(a, m)), _length(_mapped(b, m)), 1.0)) - share


def _share(a: ConvexBody, b: ConvexBody, ratio: Scalar) -> Scalar:
    return divide(b.size * ratio, a.size + b.size * ratio, 0.5)


def _nearest(a: ConvexBody, b: ConvexBody, share: Scalar, guess: Simplex) -> Simplex:
    stretch = _stretch(a, b, share)[..., None, :, :]
    return nearest(transform(stretch, a.points), transform(stretch, b.points), guess)


def _stretch(a: ConvexBody, b: ConvexBody, share: Scalar) -> Matrix3:
    """The inverse of the lower Cholesky factor of C."""
    c = (1 - share)[..., None, None] * _square(a) + share[..., None, None] * _square(b)
    eps = jnp.finfo(c.dtype).eps
    root = lambda x: jnp.sqrt(jnp.maximum(x, eps * eps))  # noqa: E731
    l00 = root(c[..., 0, 0])
    l10, l20 = c[..., 1, 0] / l00, c[..., 2, 0] / l00
    l11 = root(c[..., 1, 1] - l10 * l10)
    l21 = (c[..., 2, 1] - l20 * l10) / l11
    l22 = root(c[..., 2, 2] - l20 * l20 - l21 * l21)
    zero = jnp.zeros_like(l00)
    rows = (
        (1 / l00, zero, zero),
        (-l10 / (l00 * l11), 1 / l11, zero),
        ((l10 * l21 - l11 * l20) / (l00 * l11 * l22), -l21 / (l11 * l22), 1 / l22),
    )
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


def _square(body: ConvexBody) -> Matrix3:
    if body.unit is None:
        return jnp.broadcast_to(jnp.eye(3, dtype=body.size.dtype), (*body.size.shape, 3, 3))
    return jnp.einsum("...ki,...kj->...ij", body.unit, body.unit, precision="highest")


def _mapped(body: ConvexBody, vector: Vector3) -> Vector3:
    return vector if body.unit is None else transform(body.unit, vector)


def _swell(body: ConvexBody, normal: Vector3) -> Vector3:
    """Vector from the core to the point of the surface with this normal."""
    if body.unit is None:
        return body.size[..., None] * normal
    mapped = transform(body.unit, normal)
    back = transform(jnp.swapaxes(body.unit, -1, -2), mapped)
    return (body.size / _length(mapped))[..., None] * back


def _direction(v: Vector3) -> Vector3:
    """The unit vector along v; for a zero vector the unit vector along z, without a derivative."""
    square = _dot(v, v)
    good = square > 0
    upright = jnp.asarray([0, 0, 1], v.dtype)
    return jnp.where(good[..., None], v / jnp.sqrt(jnp.where(good, square, 1))[..., None], upright)


def _length(v: Vector3) -> Scalar:
    return sqrt(_dot(v, v))


def _dot(a: Array, b: Array) -> Scalar:
    return jnp.sum(a * b, -1)
