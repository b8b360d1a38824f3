"""Directions of slip that do not turn: invariant directions, the stick test, the diverging ray.

Slip s (a unit vector of the contact plane) grows at the rate g and turns at the rate h per unit of
normal impulse / slip speed:

    g = s.(d - mu B s)        h = t.(d - mu B s)        t = s turned by +90 degrees

A direction with h = 0 is invariant: centripetal where g < 0 (slip stops along it), centrifugal where
g > 0. There are 2 to 4, and exactly one centrifugal one iff |B^-1 d| > mu (Jia & Wang, Theorem 5).

| letter           | meaning                                                        | unit |
|------------------|----------------------------------------------------------------|------|
| bxx, bxy, byy    | B, tangential block of the inverse inertia                     | 1/kg |
| dx, dy           | d, coupling of tangential and normal directions                | 1/kg |
| w                | normal entry of the inverse inertia                            | 1/kg |
| mu               | coefficient of kinetic friction                                | 1    |
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import stop_gradient

from jimpact.numerics import bracketed_root, divide, largest, norm, sqrt, where
from jimpact.types import Array, ArrayLike, Flag, Float, Matrix3, Scalar
from jimpact.validation import check_batch, floating

__all__ = [
    "Matrix2",
    "Plane",
    "destination",
    "diverging_ray",
    "invariant_directions",
    "largest_rate",
    "moved",
    "normal_rate",
    "plane_of",
    "polished",
    "rates",
    "secular_direction",
    "secular_step",
    "slopes",
    "solve_b",
    "sticks",
    "stopping_impulse",
]

ROUND = 8  # x epsilon x size: a rate below this is round-off
SECULAR_STEPS = 7  # Newton on 1/|q| - 1 is monotone and nearly linear: 6 reach round-off in 1e6 random cases
ROOT_STEPS = 40  # in a bracket; a simple root takes 6, two that are about to meet take the halvings of a float64


Matrix2 = tuple[Scalar, ...]  # four entries, row by row


class Plane(NamedTuple):
    """The constants of one impact that do not change while it lasts."""

    bxx: Scalar
    bxy: Scalar
    byy: Scalar
    dx: Scalar
    dy: Scalar
    w: Scalar
    mu: Scalar


def plane_of(inverse_inertia: Matrix3, friction: Scalar) -> Plane:
    """Read the plane's constants off W; an asymmetry of W is averaged away."""
    W = 0.5 * (inverse_inertia + jnp.swapaxes(inverse_inertia, -1, -2))
    return Plane(W[..., 0, 0], W[..., 0, 1], W[..., 1, 1], W[..., 0, 2], W[..., 1, 2], W[..., 2, 2], friction)


def rates(plane: Plane, sx: Scalar, sy: Scalar) -> tuple[Scalar, Scalar]:
    """Growth g and turning h of slip along the unit vector s."""
    fx = plane.dx - plane.mu * (plane.bxx * sx + plane.bxy * sy)
    fy = plane.dy - plane.mu * (plane.bxy * sx + plane.byy * sy)
    return sx * fx + sy * fy, sx * fy - sy * fx


def normal_rate(plane: Plane, sx: Scalar, sy: Scalar) -> Scalar:
    """k = dv/dp, change of the normal velocity per normal impulse, while slip is along the unit vector s."""
    return plane.w - plane.mu * (plane.dx * sx + plane.dy * sy)


def largest_rate(plane: Plane) -> Scalar:
    """A bound of g and h over all directions."""
    return norm(plane.dx, plane.dy) + plane.mu * (plane.bxx + plane.byy)


def slopes(plane: Plane, sx: Scalar, sy: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """dg/dangle, dh/dangle, t.B t and t.B s; dh/dangle + g = -mu t.B t for every direction."""
    sBs = plane.bxx * sx * sx + 2 * plane.bxy * sx * sy + plane.byy * sy * sy
    tBs = (plane.byy - plane.bxx) * sx * sy + plane.bxy * (sx * sx - sy * sy)
    tBt = plane.bxx + plane.byy - sBs
    dg = plane.dy * sx - plane.dx * sy - 2 * plane.mu * tBs
    dh = -(plane.dx * sx + plane.dy * sy) - plane.mu * (tBt - sBs)
    return dg, dh, tBt, tBs


def solve_b(plane: Plane, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """B^-1 (x, y)."""
    det = plane.bxx * plane.byy - plane.bxy * plane.bxy
    return divide(plane.byy * x - plane.bxy * y, det), divide(plane.bxx * y - plane.bxy * x, det)


def moved(
    plane: Plane, x: Scalar, y: Scalar, v: Scalar, ix: Scalar, iy: Scalar, p: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Sliding and normal velocity after the impulse (ix, iy, p)."""
    return (
        x + plane.dx * p + plane.bxx * ix + plane.bxy * iy,
        y + plane.dy * p + plane.bxy * ix + plane.byy * iy,
        v + plane.w * p + plane.dx * ix + plane.dy * iy,
    )


def stopping_impulse(plane: Plane, x: Scalar, y: Scalar, v: Scalar, after: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Impulse that stops the slip (x, y) and turns the normal velocity v into `after`."""
    ux, uy = solve_b(plane, plane.dx, plane.dy)
    p = (after - v + ux * x + uy * y) / (plane.w - plane.dx * ux - plane.dy * uy)
    ix, iy = solve_b(plane, -x - plane.dx * p, -y - plane.dy * p)
    return ix, iy, p


def sticks(plane: Plane, static_friction: Scalar) -> Flag:
    """Whether zero slip can persist: |B^-1 d| <= static friction."""
    ux, uy = solve_b(plane, plane.dx, plane.dy)
    return ux * ux + uy * uy <= static_friction * static_friction


def diverging_ray(plane: Plane, exists: Flag) -> tuple[Scalar, Scalar]:
    """Unit vector along which slip leaves zero, where it `exists` (|B^-1 d| > mu); else (1, 0).

    s = (l + mu B)^-1 d with l > 0 the root of |s| = 1.
    """
    dx, dy = where(exists, plane.dx, 1), where(exists, plane.dy, 0)
    mu = where(exists, plane.mu, 0)
    return secular_direction(dx, dy, (mu * plane.bxx, mu * plane.bxy, mu * plane.bxy, mu * plane.byy))


def secular_direction(fx: Scalar, fy: Scalar, M: Matrix2) -> tuple[Scalar, Scalar]:
    """The unit vector s = (l + M)^-1 f with l > 0, for M symmetric and positive definite, or zero; |M^-1 f| > 1."""
    size = largest(fx, fy, M[0], M[3])
    return _secular(*(entry / size for entry in (fx, fy, *M)))[:2]


@jax.custom_jvp
def _secular(fx: Scalar, fy: Scalar, a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """s and l, for M = ((a, b), (c, d)); the root is found by Newton's method from below."""
    M, length = (a, b, c, d), norm(fx, fy)
    rate = where(a == 0, length, jnp.maximum(length - a - d, 0))  # M = 0: no start where it is singular
    rate = lax.fori_loop(0, SECULAR_STEPS, lambda _, rate: secular_step(fx, fy, M, rate)[2], rate)
    return *secular_step(fx, fy, M, rate)[:2], rate


@_secular.defjvp
def _secular_jvp(given: tuple[Scalar, ...], changes: tuple[Scalar, ...]) -> tuple[tuple, tuple]:
    """Of (l + M) s = f and |s| = 1, at the solution: so it can be differentiated again."""
    fx, fy, da, db, dc, dd = changes
    sx, sy, rate = _secular(*given)
    a, b, c, d = rate + given[2], given[3], given[4], rate + given[5]
    det = a * d - b * c
    rx, ry = fx - da * sx - db * sy, fy - dc * sx - dd * sy
    ux, uy = divide(d * rx - b * ry, det), divide(a * ry - c * rx, det)
    wx, wy = divide(d * sx - b * sy, det), divide(a * sy - c * sx, det)
    change = divide(sx * ux + sy * uy, sx * wx + sy * wy)
    return (sx, sy, rate), (ux - change * wx, uy - change * wy, change)


def secular_step(fx: Scalar, fy: Scalar, M: Matrix2, rate: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """s = (rate + M)^-1 f, and the rate after a step of Newton's method on 1/|s| = 1."""
    a, b, c, d = rate + M[0], M[1], M[2], rate + M[3]
    det = a * d - b * c
    inverse = divide(jnp.ones_like(det), det, 1.0)
    sx, sy = (d * fx - b * fy) * inverse, (a * fy - c * fx) * inverse
    tx, ty = (d * sx - b * sy) * inverse, (a * sy - c * sx) * inverse
    size, slope = sx * sx + sy * sy, sx * tx + sy * ty
    return sx, sy, rate + divide((sqrt(size) - 1) * size, slope)


def invariant_directions(
    inverse_inertia: Float[ArrayLike, "... 3 3"], friction: Float[ArrayLike, "..."]
) -> tuple[Float[Array, "... 4 2"], Float[Array, "... 4"]]:
    """Directions of slip that do not turn, and the rate at which slip grows along each.

    Returns unit vectors (..., 4, 2) and rates (..., 4) in 1/kg per unit normal impulse: below zero the
    direction is centripetal, above zero centrifugal. Missing directions are nan, and come last; in a lane that is not
    valid all are. Where
    every direction is invariant (isotropic and central) all directions are nan and all rates are equal.

    In the principal axes of B the condition reads d2 c - d1 s + m s c = 0. With the axes turned so that
    d1, d2 >= 0, the first and the third quadrant hold one root each, and the fourth holds two iff
    m > (d1^2/3 + d2^2/3)^3/2, one on each side of tan = cbrt(d2/d1): every bracket is known beforehand.
    """
    W, mu = floating("inverse_inertia", inverse_inertia, (3, 3)), floating("friction", friction, ())
    check_batch(inverse_inertia=W.shape[:-2], friction=mu.shape)
    batch, dtype = jnp.broadcast_shapes(W.shape[:-2], mu.shape), jnp.result_type(W, mu)
    W, mu = jnp.broadcast_to(W.astype(dtype), (*batch, 3, 3)), jnp.broadcast_to(mu.astype(dtype), batch)
    usable = jnp.isfinite(W).all((-1, -2)) & jnp.isfinite(mu) & (mu >= 0)
    usable &= (W[..., 0, 0] > 0) & (W[..., 1, 1] > 0) & (W[..., 2, 2] > 0)
    plane = plane_of(where(usable[..., None, None], W, jnp.eye(3, dtype=dtype)), where(usable, mu, 1))
    roots, everywhere = _roots(plane)
    vectors, growth = [], []
    for x, y, there in roots:
        sx, sy = polished(plane, x, y)
        g = rates(plane, sx, sy)[0]
        there = there & usable
        vectors.append(where(there[..., None], jnp.stack([sx, sy], -1), jnp.nan))
        growth.append(where(there | (everywhere & usable), g, jnp.nan))
    return jnp.stack(vectors, -2), jnp.stack(growth, -1)


def destination(plane: Plane, sx: Scalar, sy: Scalar) -> tuple[Scalar, Scalar]:
    """The invariant direction that slip along s turns to, if it lasts; s itself where it does not turn."""
    plane, sx, sy = stop_gradient((plane, sx, sy))
    h = rates(plane, sx, sy)[1]
    turning = where(jnp.abs(h) <= ROUND * jnp.finfo(h.dtype).eps * largest_rate(plane), 0, jnp.sign(h))
    ex, ey, nearest = sx, sy, where(turning == 0, 0.0, jnp.inf)
    for x, y, there in _roots(plane)[0]:
        ahead = _angle_order(sx * x + sy * y, turning * (sx * y - sy * x))
        closer = there & (ahead < nearest)
        ex, ey, nearest = where(closer, x, ex), where(closer, y, ey), where(closer, ahead, nearest)
    return ex, ey


def _angle_order(x: Scalar, y: Scalar) -> Scalar:
    """From 0 to 4 once around: grows with the angle of (x, y), for a fraction of its cost."""
    slope = divide(x, jnp.abs(x) + jnp.abs(y), 1.0)
    return where(y >= 0, 1 - slope, 3 + slope)


def _roots(plane: Plane) -> tuple[list[tuple[Scalar, Scalar, Flag]], Flag]:
    """Up to four invariant directions and whether each exists; and where all are invariant. No derivative."""
    frozen = stop_gradient(plane)
    mu = frozen.mu
    ca, sa = _half(frozen.bxx - frozen.byy, 2 * frozen.bxy)
    d1, d2 = ca * frozen.dx + sa * frozen.dy, ca * frozen.dy - sa * frozen.dx
    flip1, flip2 = where(d1 < 0, -1, 1), where(d2 < 0, -1, 1)
    d1, d2 = jnp.abs(d1), jnp.abs(d2)
    m = mu * norm(frozen.bxx - frozen.byy, 2 * frozen.bxy)

    def root(low: tuple[Scalar, Scalar], high: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
        """Between two directions: on the chord, where no angle is needed."""
        dx, dy = high[0] - low[0], high[1] - low[1]

        def along(share: Scalar) -> tuple[Scalar, Scalar]:
            x, y = low[0] + share * dx, low[1] + share * dy
            length = jnp.sqrt(x * x + y * y)
            bend, change = d2 * x - d1 * y, d2 * dx - d1 * dy
            slope = change * length + bend * (x * dx + y * dy) / length + m * (dx * y + x * dy)
            return bend * length + m * x * y, slope

        share, _ = bracketed_root(along, jnp.zeros_like(m), jnp.ones_like(m), ROOT_STEPS, loop=True)
        x, y = low[0] + share * dx, low[1] + share * dy
        length = jnp.sqrt(x * x + y * y)
        return x / length, y / length

    zero, one = jnp.zeros_like(m), jnp.ones_like(m)
    mx, my = jnp.cbrt(d1), -jnp.cbrt(d2)
    length = norm(mx, my)
    middle = where(length > 0, divide(mx, length), 0.5**0.5), where(length > 0, divide(my, length), -(0.5**0.5))
    found = [
        root((one, zero), (zero, one)),
        root((-one, zero), (zero, -one)),
        root((zero, -one), middle),
        root(middle, (one, zero)),
    ]
    four = m > (jnp.cbrt(d1 * d1) + jnp.cbrt(d2 * d2)) ** 1.5
    everywhere = m + d1 + d2 <= ROUND * jnp.finfo(m.dtype).eps * (mu * (frozen.bxx + frozen.byy) + frozen.w)
    roots = []
    for (x, y), there in zip(found, (~everywhere, ~everywhere, four, four), strict=True):
        c, s = flip1 * x, flip2 * y
        roots.append((ca * c - sa * s, sa * c + ca * s, there))
    return roots, everywhere


def _half(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine of half the angle of (x, y); of 0 at the origin."""
    length = norm(x, y)
    c, s = where(length > 0, divide(x, length), 1), divide(y, length)
    large = jnp.sqrt(0.5 * (1 + jnp.abs(c)))
    small = 0.5 * jnp.abs(s) / large
    sign = where(s < 0, -1, 1)
    return where(c >= 0, large, small), sign * where(c >= 0, small, large)


def polished(plane: Plane, sx: Scalar, sy: Scalar) -> tuple[Scalar, Scalar]:
    """One differentiated Newton step in the angle: gives an invariant direction the derivative of h = 0."""
    turn = -divide(rates(plane, sx, sy)[1], slopes(plane, sx, sy)[1])
    x, y = sx - turn * sy, sy + turn * sx
    length = norm(x, y)
    return divide(x, length), divide(y, length)
