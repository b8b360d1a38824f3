"""The constants of a contact, and the flow of slip in axes along and across a direction.

With the clock tau, dp = |slip| dtau, the flow of slip, slip' = |slip| d - mu B slip, is Lipschitz at zero slip,
analytic elsewhere, and homogeneous of degree one. In axes along a unit vector s and across it (t = s turned by +90
degrees), and in units of the slip at the start of a step, slip (X, Y) with the length X + U obeys

    X' = g X - c Y + a U        Y' = h X - f Y + b U        U = sqrt(X^2 + Y^2) - X

and the normal velocity v' = k (X + U) + mu (a U - b Y), k = w - mu a. U is of second order in Y: the rest is linear.

| letter        | meaning                                             | unit |
|---------------|-----------------------------------------------------|------|
| bxx, bxy, byy | B, tangential block of the inverse inertia          | 1/kg |
| dx, dy        | d, coupling of tangential and normal directions     | 1/kg |
| w             | normal entry of the inverse inertia                 | 1/kg |
| mu            | coefficient of kinetic friction                     | 1    |
| g, h          | growth and turning of slip along s                  | 1/kg |
| a, b          | d along s and across                                | 1/kg |
| bss, bst, btt | s.Bs, s.Bt and t.Bt                                 | 1/kg |
| c, f          | mu bst and mu btt; f > 0 damps slip across s        | 1/kg |
| dh            | dh/dangle = -g - f; s attracts where it is negative | 1/kg |
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, where
from jimpact.types import Flag, Matrix3, Scalar

__all__ = [
    "Axes",
    "Constants",
    "View",
    "axes_along",
    "constants_of",
    "direction",
    "eliminate",
    "moved",
    "solve_b",
    "view",
]

Matrix2 = tuple[Scalar, ...]  # four entries, row by row
NEAR = 0.3  # rad: an invariant direction within this angle is the axis of a step
CURVED = 0.3  # largest second-order term of h in the tangent of the angle, relative to h
FLATTEST = 1e-4  # least |dh|, relative to the largest rate, for which a direction counts as near
FOUND = 10  # x sqrt(epsilon) rad: a last Newton step below this has converged; the error left is its square
NEWTON_STEPS = 4  # to the invariant direction, after the first guess


class Constants(NamedTuple):
    """Inverse inertia at a contact: B (tangential), d (coupling), w (normal); and kinetic friction."""

    bxx: Scalar
    bxy: Scalar
    byy: Scalar
    dx: Scalar
    dy: Scalar
    w: Scalar
    mu: Scalar


def constants_of(inverse_inertia: Matrix3, friction: Scalar) -> Constants:
    """The constants of the symmetric part of W."""
    W = 0.5 * (inverse_inertia + jnp.swapaxes(inverse_inertia, -1, -2))
    return Constants(W[..., 0, 0], W[..., 0, 1], W[..., 1, 1], W[..., 0, 2], W[..., 1, 2], W[..., 2, 2], friction)


class Axes(NamedTuple):
    """Rates in axes along a unit vector (sx, sy) and across it."""

    sx: Scalar
    sy: Scalar
    a: Scalar
    b: Scalar
    bss: Scalar
    bst: Scalar
    btt: Scalar
    g: Scalar
    h: Scalar
    c: Scalar
    f: Scalar

    @property
    def dh(self) -> Scalar:
        return -self.g - self.f


class View(NamedTuple):
    """Slip in the axes of a step. Slip is in units of `r`, rates in units of `rate`; no unit has a derivative.

    `here` are the axes along slip; `axes` those of the step, along the nearby invariant direction if `near`, else along
    slip. On an invariant direction h = 0.
    """

    r: Scalar  # length of slip, and its unit
    rate: Scalar  # unit of all rates; its inverse is the unit of the clock
    here: Axes
    axes: Axes
    near: Flag
    X: Scalar  # slip along the axis, in units of r
    Y: Scalar  # slip across the axis, in units of r

    @property
    def unit(self) -> Scalar:
        """Unit of the normal impulse."""
        return self.r / self.rate


def axes_along(contact: Constants, sx: Scalar, sy: Scalar) -> Axes:
    bss = contact.bxx * sx * sx + 2 * contact.bxy * sx * sy + contact.byy * sy * sy
    btt = contact.bxx * sy * sy - 2 * contact.bxy * sx * sy + contact.byy * sx * sx
    bst = (contact.byy - contact.bxx) * sx * sy + contact.bxy * (sx * sx - sy * sy)
    return _axes(
        contact.mu, sx, sy, contact.dx * sx + contact.dy * sy, contact.dy * sx - contact.dx * sy, bss, bst, btt
    )


def direction(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Unit vector along (x, y), and the length of (x, y), which is not zero."""
    length = jnp.sqrt(x * x + y * y)
    return x / length, y / length, length


def view(contact: Constants, rate: Scalar, x: Scalar, y: Scalar) -> View:
    """The nonzero slip (x, y) in the axes of a step; `rate` bounds all rates of the contact and has no derivative."""
    sx, sy, r = direction(x, y)
    here = axes_along(contact, sx, sy)
    tangent, near = _nearby_direction(here, rate)
    axes = _turned(contact.mu, here, tangent)
    here, axes = (Axes(*old[:2], *(a / rate for a in old[2:])) for old in (here, axes))
    sx, sy, r = axes.sx, axes.sy, stop_gradient(r)
    X, Y = (x * sx + y * sy) / r, where(near, (y * sx - x * sy) / r, 0)
    return View(r, rate, here, axes, near, X, Y)


def _turned(mu: Scalar, old: Axes, t: Scalar) -> Axes:
    """The axes turned by the angle with tangent t."""
    cosine = 1 / jnp.sqrt(1 + t * t)
    square, sine = cosine * cosine, t * cosine
    bss = (old.bss + 2 * t * old.bst + t * t * old.btt) * square
    btt = (old.btt - 2 * t * old.bst + t * t * old.bss) * square
    bst = ((1 - t * t) * old.bst + t * (old.btt - old.bss)) * square
    x, y = old.sx * cosine - old.sy * sine, old.sy * cosine + old.sx * sine
    return _axes(mu, x, y, old.a * cosine + old.b * sine, old.b * cosine - old.a * sine, bss, bst, btt)


def _axes(mu: Scalar, sx: Scalar, sy: Scalar, a: Scalar, b: Scalar, bss: Scalar, bst: Scalar, btt: Scalar) -> Axes:
    return Axes(sx, sy, a, b, bss, bst, btt, a - mu * bss, b - mu * bst, mu * bst, mu * btt)


def _nearby_direction(here: Axes, rate: Scalar) -> tuple[Scalar, Flag]:
    """Tangent of the angle to the invariant direction nearby, or 0; and whether there is one."""
    frozen = stop_gradient(here)
    guess = -divide(frozen.h, frozen.dh)
    slope = jnp.abs(frozen.dh) / rate
    bend = jnp.abs(0.5 * frozen.b + frozen.c) / rate
    near = (slope > FLATTEST) & (jnp.abs(guess) <= NEAR) & (jnp.abs(guess) * bend <= CURVED * slope)
    t, last = _tangent(where(near, guess, 0), near, here.a, here.b, here.c, here.f + here.g - here.a)
    near &= jnp.abs(stop_gradient(last)) <= FOUND * float(jnp.finfo(t.dtype).eps) ** 0.5
    return where(near, t, 0), near


@jax.custom_jvp
def _tangent(t: Scalar, near: Flag, a: Scalar, b: Scalar, c: Scalar, spread: Scalar) -> tuple[Scalar, Scalar]:
    """The root t of `_turning` by Newton's method, and the last step, in the lanes that are `near` one."""
    last = t
    for _ in range(NEWTON_STEPS):
        value, slope = _turning(t, a, b, c, spread)
        last = where(near, jnp.clip(-value / where(near, slope, 1), -NEAR, NEAR), 0)
        t = t + last
    return t, last


@_tangent.defjvp
def _tangent_jvp(given: tuple[Scalar, ...], changes: tuple[Scalar, ...]) -> tuple[tuple, tuple]:
    """Derivative of `_turning` = 0; it calls `_tangent`, so it is differentiable."""
    t, last = _tangent(*given)
    _, near, a, b, c, spread = given
    slope = _turning(t, a, b, c, spread)[1]
    change = _turning(t, *changes[2:])[0]
    return (t, last), (where(near, -change / where(near, slope, 1), 0), jnp.zeros_like(last))


def _turning(t: Scalar, a: Scalar, b: Scalar, c: Scalar, spread: Scalar) -> tuple[Scalar, Scalar]:
    """h (1 + t^2) in the direction whose angle has the tangent t, and its slope; linear in the rates.

    `spread` is mu (btt - bss).
    """
    root = jnp.sqrt(1 + t * t)
    value = (b - a * t) * root - c * (1 - t * t) - spread * t
    return value, (b - a * t) * t / root - a * root + 2 * c * t - spread


def solve_b(contact: Constants, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """B^-1 (x, y)."""
    return eliminate((contact.bxx, contact.bxy, contact.bxy, contact.byy), x, y)


def eliminate(M: Matrix2, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """M^-1 (x, y) for M positive definite, by elimination: quotients of determinants lose more digits."""
    a, b, c, d = M
    share = divide(c, a)
    second = divide(y - share * x, d - share * b)
    return divide(x - b * second, a), second


def moved(
    contact: Constants, x: Scalar, y: Scalar, v: Scalar, ix: Scalar, iy: Scalar, p: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Sliding and normal velocity after the impulse (ix, iy, p)."""
    return (
        x + contact.dx * p + contact.bxx * ix + contact.bxy * iy,
        y + contact.dy * p + contact.bxy * ix + contact.byy * iy,
        v + contact.w * p + contact.dx * ix + contact.dy * iy,
    )
