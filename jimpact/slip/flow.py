"""The slip flow in axes along and across a direction.

With the clock dp = |slip| dtau the flow of slip, slip' = |slip| d - mu B slip, is Lipschitz at zero slip, analytic
elsewhere, and homogeneous of degree one. In axes along a unit vector s and across it (t = s turned by +90 degrees),
and in units of the slip at the start of a step, slip (X, Y) with the length X + U follows

    X' = g X - c Y + a U        Y' = h X - f Y + b U        U = sqrt(X^2 + Y^2) - X

and the normal velocity v' = k (X + U) + mu (a U - b Y), k = w - mu a. U is of second order in Y: the rest is linear.

| letter | meaning                                             | unit |
|--------|-----------------------------------------------------|------|
| g, h   | growth and turning of slip along s                  | 1/kg |
| a, b   | d along s and across                                | 1/kg |
| c, f   | mu s.Bt and mu t.Bt; f > 0 damps slip across s      | 1/kg |
| dh     | dh/dangle = -g - f; s attracts where it is negative | 1/kg |
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, where
from jimpact.rays import Plane
from jimpact.types import Flag, Scalar

__all__ = ["Axes", "View", "axes_along", "view"]

NEAR = 0.1  # rad: an invariant direction as close as this is the axis of a step
FLAT = 0.02  # of the largest rate: where h changes slower than this with the angle, no invariant direction is near
FOUND = 10  # x sqrt(epsilon) rad: a last Newton step no longer than this has found it; its error is the square
NEWTON_STEPS = 2  # to the invariant direction, after the first guess; a third one is differentiated


class Axes(NamedTuple):
    """Rates in axes along a unit vector (sx, sy) and across it."""

    sx: Scalar
    sy: Scalar
    g: Scalar
    h: Scalar
    a: Scalar
    b: Scalar
    c: Scalar
    f: Scalar
    btt: Scalar  # t.B t

    @property
    def dh(self) -> Scalar:
        return -self.g - self.f


class View(NamedTuple):
    """Slip r along `here`, seen in the axes of a step.

    These go along the invariant direction nearby (`near`), else along slip itself. On an invariant direction h = 0;
    there shift = c / dh makes X + shift Y and Y independent of each other, but for U.
    """

    r: Scalar
    here: Axes
    axes: Axes
    near: Flag
    shift: Scalar
    X: Scalar  # slip along the axis + shift Y, in units of r
    Y: Scalar  # slip across it
    h: Scalar  # what is left of h and c in these axes: 0 if near
    c: Scalar


def axes_along(plane: Plane, sx: Scalar, sy: Scalar) -> Axes:
    bss = plane.bxx * sx * sx + 2 * plane.bxy * sx * sy + plane.byy * sy * sy
    btt = plane.bxx * sy * sy - 2 * plane.bxy * sx * sy + plane.byy * sx * sx
    bst = (plane.byy - plane.bxx) * sx * sy + plane.bxy * (sx * sx - sy * sy)
    a, b, mu = plane.dx * sx + plane.dy * sy, plane.dy * sx - plane.dx * sy, plane.mu
    return Axes(sx, sy, a - mu * bss, b - mu * bst, a, b, mu * bst, mu * btt, btt)


def view(plane: Plane, rate: Scalar, x: Scalar, y: Scalar) -> View:
    """Slip (x, y), not zero, in the axes of a step; `rate` bounds all rates of the plane."""
    r = jnp.sqrt(x * x + y * y)
    here = axes_along(plane, x / r, y / r)
    frozen, now = stop_gradient((plane, here))
    turn = -divide(now.h, now.dh)
    near = (jnp.abs(now.dh) > FLAT * rate) & (jnp.abs(turn) <= NEAR)
    sx, sy = _turned(now.sx, now.sy, where(near, turn, 0))
    for _ in range(NEWTON_STEPS):
        sx, sy, _ = _closer(frozen, sx, sy, near)
    sx, sy, last = _closer(plane, sx, sy, near)  # with the derivative of h = 0
    near &= jnp.abs(stop_gradient(last)) <= FOUND * float(jnp.finfo(r.dtype).eps) ** 0.5
    axes = axes_along(plane, where(near, sx, here.sx), where(near, sy, here.sy))
    shift = where(near, divide(axes.c, axes.dh), 0)
    Y = where(near, here.sy * axes.sx - here.sx * axes.sy, 0)
    X = where(near, here.sx * axes.sx + here.sy * axes.sy, 1) + shift * Y
    return View(r, here, axes, near, shift, X, Y, where(near, 0, axes.h), where(near, 0, axes.c))


def _closer(plane: Plane, sx: Scalar, sy: Scalar, near: Flag) -> tuple[Scalar, Scalar, Scalar]:
    """One Newton step in the angle towards h = 0, and how far it went."""
    axes = axes_along(plane, sx, sy)
    turn = where(near, jnp.clip(-divide(axes.h, axes.dh), -NEAR, NEAR), 0)
    return *_turned(sx, sy, turn), turn


def _turned(sx: Scalar, sy: Scalar, angle: Scalar) -> tuple[Scalar, Scalar]:
    """The unit vector turned by a small angle, to first order."""
    x, y = sx - angle * sy, sy + angle * sx
    r = jnp.sqrt(x * x + y * y)
    return x / r, y / r
