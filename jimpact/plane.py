"""The constants of a contact plane, and what follows from them: stick, the diverging ray, velocity after an impulse.

Slip of length r along the unit vector s grows and turns with the normal impulse p: dr/dp = g, d(angle)/dp = h / r.

    g = s.(d - mu B s)        h = t.(d - mu B s)        t = s turned by +90 degrees

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

from jimpact.numerics import divide, largest, norm, sqrt, where
from jimpact.types import Flag, Matrix3, Scalar

__all__ = [
    "Matrix2",
    "Plane",
    "diverging_ray",
    "moved",
    "plane_of",
    "secular_direction",
    "secular_step",
    "solve_b",
    "sticks",
]

SECULAR_STEPS = 7  # Newton on 1/|s| - 1 is monotone and nearly linear: 6 reach round-off in 1e6 random cases


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


def solve_b(plane: Plane, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """B^-1 (x, y)."""
    return _eliminate((plane.bxx, plane.bxy, plane.bxy, plane.byy), x, y)


def _eliminate(M: Matrix2, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """M^-1 (x, y) for M positive definite; by elimination, since quotients of determinants lose more digits."""
    a, b, c, d = M
    share = divide(c, a)
    second = divide(y - share * x, d - share * b)
    return divide(x - b * second, a), second


def moved(
    plane: Plane, x: Scalar, y: Scalar, v: Scalar, ix: Scalar, iy: Scalar, p: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Sliding and normal velocity after the impulse (ix, iy, p)."""
    return (
        x + plane.dx * p + plane.bxx * ix + plane.bxy * iy,
        y + plane.dy * p + plane.bxy * ix + plane.byy * iy,
        v + plane.w * p + plane.dx * ix + plane.dy * iy,
    )


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
    M = rate + given[2], given[3], given[4], rate + given[5]
    ux, uy = _eliminate(M, fx - da * sx - db * sy, fy - dc * sx - dd * sy)
    wx, wy = _eliminate(M, sx, sy)
    change = divide(sx * ux + sy * uy, sx * wx + sy * wy)
    return (sx, sy, rate), (ux - change * wx, uy - change * wy, change)


def secular_step(fx: Scalar, fy: Scalar, M: Matrix2, rate: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """s = (rate + M)^-1 f, and the rate after a step of Newton's method on 1/|s| = 1."""
    M = rate + M[0], M[1], M[2], rate + M[3]
    sx, sy = _eliminate(M, fx, fy)
    tx, ty = _eliminate(M, sx, sy)
    size, slope = sx * sx + sy * sy, sx * tx + sy * ty
    return sx, sy, rate + divide((sqrt(size) - 1) * size, slope)
