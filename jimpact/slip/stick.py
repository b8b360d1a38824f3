"""What happens at zero slip: stick, or slip along the diverging ray. Letters as in `flow`."""

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.numerics import divide, largest, norm, sqrt, where
from jimpact.slip.flow import Constants, Matrix2, eliminate, solve_b
from jimpact.types import Flag, Scalar

__all__ = ["diverging_ray", "friction_from_zero", "secular_direction", "secular_step", "sticks"]

SECULAR_STEPS = 7  # of Newton's method on 1/|s| - 1, which is monotone: 6 reach round-off in 1e6 random cases


def sticks(contact: Constants, static_friction: Scalar) -> Flag:
    """Whether zero slip can persist: |B^-1 d| <= static friction."""
    return _in_cone(*solve_b(contact, contact.dx, contact.dy), static_friction)


def friction_from_zero(contact: Constants, static_friction: Scalar) -> tuple[Flag, Flag, Scalar, Scalar]:
    """Whether zero slip sticks, whether only static friction holds it, and minus the friction per normal impulse.

    This is B^-1 d where slip sticks, else mu times the unit vector along the diverging ray.
    """
    ux, uy = solve_b(contact, contact.dx, contact.dy)
    stick = _in_cone(ux, uy, static_friction)
    sx, sy = diverging_ray(contact, ~stick)
    held = stick & ~_in_cone(ux, uy, contact.mu)
    return stick, held, where(stick, ux, contact.mu * sx), where(stick, uy, contact.mu * sy)


def _in_cone(ux: Scalar, uy: Scalar, friction: Scalar) -> Flag:
    """The stick test: whether the impulse that holds zero slip, per normal impulse, is in the friction cone."""
    return ux * ux + uy * uy <= friction * friction


def diverging_ray(contact: Constants, exists: Flag) -> tuple[Scalar, Scalar]:
    """Unit vector along which slip leaves zero, the centrifugal direction, where it `exists`; else (1, 0).

    It exists iff |B^-1 d| > mu (`invariant_directions`). s = (l + mu B)^-1 d with l > 0 the root of |s| = 1.
    """
    dx, dy = where(exists, contact.dx, 1), where(exists, contact.dy, 0)
    mu = where(exists, contact.mu, 0)
    return secular_direction(dx, dy, (mu * contact.bxx, mu * contact.bxy, mu * contact.bxy, mu * contact.byy))


def secular_direction(fx: Scalar, fy: Scalar, M: Matrix2) -> tuple[Scalar, Scalar]:
    """The unit vector s = (l + M)^-1 f with l > 0, for |M^-1 f| > 1 and M zero or symmetric positive definite."""
    size = largest(fx, fy, M[0], M[3])
    return _secular(*(entry / size for entry in (fx, fy, *M)))[:2]


@jax.custom_jvp
def _secular(fx: Scalar, fy: Scalar, a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """s and l, for M = ((a, b), (c, d)); the root is found by Newton's method from below."""
    M, length = (a, b, c, d), norm(fx, fy)
    rate = where(a == 0, length, jnp.maximum(length - a - d, 0))  # if M = 0, l = 0 is singular
    rate = lax.fori_loop(0, SECULAR_STEPS, lambda _, rate: secular_step(fx, fy, M, rate)[2], rate)
    return *secular_step(fx, fy, M, rate)[:2], rate


@_secular.defjvp
def _secular_jvp(given: tuple[Scalar, ...], changes: tuple[Scalar, ...]) -> tuple[tuple, tuple]:
    """Derivative of (l + M) s = f and |s| = 1 at the solution; it calls `_secular`, so it is differentiable."""
    fx, fy, da, db, dc, dd = changes
    sx, sy, rate = _secular(*given)
    M = rate + given[2], given[3], given[4], rate + given[5]
    ux, uy = eliminate(M, fx - da * sx - db * sy, fy - dc * sx - dd * sy)
    wx, wy = eliminate(M, sx, sy)
    change = divide(sx * ux + sy * uy, sx * wx + sy * wy)
    return (sx, sy, rate), (ux - change * wx, uy - change * wy, change)


def secular_step(fx: Scalar, fy: Scalar, M: Matrix2, rate: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """s = (rate + M)^-1 f, and l after a step of Newton's method on 1/|s| = 1 from l = `rate`."""
    M = rate + M[0], M[1], M[2], rate + M[3]
    sx, sy = eliminate(M, fx, fy)
    tx, ty = eliminate(M, sx, sy)
    size, slope = sx * sx + sy * sy, sx * tx + sy * ty
    return sx, sy, rate + divide((sqrt(size) - 1) * size, slope)
