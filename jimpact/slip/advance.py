"""Slip over a given length of the clock: the linear flow in closed form, the rest by a Runge-Kutta method.

In the axes of `flow.View` the linear part decouples into X = exp(g t) and Y = exp(-f t). Near an invariant direction
these factors are taken out, elsewhere exp(g t) of both (Lawson 1967). So the method of order 8 (Dormand & Prince, as in
Hairer, Norsett & Wanner 1993) sees only what U and the remaining h and c do. On an invariant direction that is nothing:
a step of any length is exact there, and so are its derivatives, also across the direction.

| letter | meaning                                                        | unit |
|--------|----------------------------------------------------------------|------|
| E, F   | exp(g t), exp(-f t)                                            | 1    |
| G      | what is taken out of Y beyond E: F / E near a ray, else 1      | 1    |
| lag    | change of the normal velocity beyond k p, by slip across       | r    |
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient
from scipy.integrate import DOP853

from jimpact.numerics import divide, where
from jimpact.rays import Plane
from jimpact.slip.flow import Axes, View
from jimpact.types import Flag, Scalar

__all__ = ["Curve", "Move", "curve_of", "impulse_to_zero", "slide"]

A, B, C = DOP853.A.tolist(), DOP853.B.tolist(), DOP853.C.tolist()


class Move(NamedTuple):
    """What a step adds, and the slip after it."""

    p: Scalar
    ix: Scalar
    iy: Scalar
    v: Scalar
    work: Scalar  # beyond (v + k p / 2) p
    x: Scalar
    y: Scalar


class Curve(NamedTuple):
    """What slip does beyond a straight line: change of X and Y without the growth, integrals, and work."""

    x: Scalar
    y: Scalar
    in_x: Scalar
    in_y: Scalar
    in_u: Scalar
    work: Scalar


def slide(plane: Plane, at: View, length: Scalar, curve: Curve) -> Move:
    """Slip for a length of the clock: by the linear flow, and what the curve adds."""
    axes, mu, r, unit = at.axes, plane.mu, at.r, at.unit
    zg, zf = axes.g * length, -axes.f * length
    E, F = jnp.exp(zg), jnp.exp(zf)
    Y = where(at.near, F, E) * (at.Y + curve.y)
    X = E * (at.X + curve.x) - at.shift * Y
    in_y = length * _mean(zf) * at.Y + curve.in_y
    in_x = length * _mean(zg) * at.X + curve.in_x - at.shift * in_y
    work = curve.work - axes.b * at.X * (at.Y / axes.btt) * length * _mean_less(zg, zg + zf)
    v = mu * (axes.a * curve.in_u - axes.b * in_y)
    sx, sy = axes.sx, axes.sy
    ix, iy = -mu * unit * (in_x * sx - in_y * sy), -mu * unit * (in_x * sy + in_y * sx)
    x, y = r * (X * sx - Y * sy), r * (X * sy + Y * sx)
    return Move(unit * (in_x + curve.in_u), ix, iy, r * v, r * unit * work, x, y)


def impulse_to_zero(plane: Plane, at: View, falls: Flag) -> tuple[Scalar, Scalar]:
    """Normal impulse until slip is zero, where it `falls`, and the work beyond (v + k p / 2) p; elsewhere 0.

    On an invariant direction the linear flow is exact. Elsewhere p = r q(angle) with g q + h q' = -1, for slip that
    hardly turns while it falls (`_relative_slope`).
    """
    axes, mu, unit = at.axes, plane.mu, at.unit
    # Where nothing falls, the rates are 1: whatever the formulas make of them, no derivative overflows.
    g, f, h = where(falls & (axes.g != 0), axes.g, -1), where(falls & (mu > 0), axes.f, 1), where(falls, at.h, 0)
    along = where(at.near, -at.X / g - at.shift * at.Y / f, -at.X / (g + h * _relative_slope(axes, g, f, h)))
    across = where(mu > 0, (at.Y - 0.5 * h * at.X / g) / axes.btt, 0)  # slip across, as the work weighs it
    work = -axes.b * across * axes.f * at.X / (g * where(g == f, 1, g - f))
    return where(falls, unit * along, 0), where(falls, at.r * unit * work, 0)


def _relative_slope(axes: Axes, g: Scalar, f: Scalar, h: Scalar) -> Scalar:
    """q'/q of g q + h q' = -1, where h is small: from the equation differentiated three times by the angle."""
    a, b, c, dh = axes.a, axes.b, axes.c, -g - f
    dc = -dh - a
    dg, ddg, dddg = b - 2 * c, -a - 2 * dc, 8 * c - b
    ddh, dddh = 4 * c - b, a + 4 * dc
    slope, twist = dg / f, jnp.zeros_like(g)
    for _ in range(3):  # first, second and third derivative of q, relative to q
        bend = -divide(ddg + (2 * dg + ddh) * slope + h * twist, g + 2 * dh)
        twist = -divide(dddg + (3 * ddg + dddh) * slope + 3 * (dg + ddh) * bend, g + 3 * dh)
        slope = (dg + h * bend) / f
    return slope


def curve_of(plane: Plane, at: View, length: Scalar) -> Curve:
    """One step of the method; in units of slip, as in `flow`."""
    axes, mu, shift, h, c = at.axes, plane.mu, at.shift, at.h, at.c
    a, b, g = axes.a, axes.b, axes.g
    taken, left = where(at.near, axes.dh, 0), where(at.near, 0, axes.dh)  # out of Y, beyond E
    late = b * at.Y / axes.btt
    pace = where(length == 0, jnp.inf, 1 / length)  # the `where` keeps XLA from making products of quotients
    slopes: list[tuple[Scalar, ...]] = []  # of X and Y without their factors, and of the lag
    integrands: list[tuple[Scalar, ...]] = []
    for i, node in enumerate(C[: len(B)]):
        x, y, lag = _sums(A[i][:i], slopes) if i else (jnp.zeros_like(h),) * 3
        E, G = jnp.exp(node * length * g), jnp.exp(node * length * taken)
        dy = G * y
        Y = G * at.Y + dy
        X = at.X + x - shift * Y
        R = jnp.sqrt(X * X + Y * Y)
        U = R - X
        slope = (a + shift * b) * U - c * Y, (h * X + b * U + left * Y) / G, mu * E * (a * U - b * dy)
        slopes.append(tuple(part / pace for part in slope))
        integrands.append((E * x, E * dy, E * U, E * (R * lag + (R - at.X) * late * (E * G - 1))))
    return Curve(*_sums(B, slopes)[:2], *(total / pace for total in _sums(B, integrands)))


def _sums(weights: Sequence[float], terms: Sequence[tuple[Scalar, ...]]) -> tuple[Scalar, ...]:
    """The weighted sum of each component."""
    used = [(weight, term) for weight, term in zip(weights, terms, strict=True) if weight]
    total = tuple(used[0][0] * part for part in used[0][1])
    for weight, term in used[1:]:
        total = tuple(sum_ + weight * part for sum_, part in zip(total, term, strict=True))
    return total


def _mean(z: Scalar) -> Scalar:
    """(exp(z) - 1) / z."""
    small = jnp.abs(stop_gradient(z)) < 1e-3
    series = 1 + z * (1 / 2) * (1 + z * (1 / 3) * (1 + z * (1 / 4) * (1 + z * (1 / 5))))
    return where(small, series, jnp.expm1(z) / where(small, 1, z))


def _mean_less(a: Scalar, b: Scalar) -> Scalar:
    """_mean(a) - _mean(b), without cancellation where both are small."""
    small = jnp.maximum(jnp.abs(stop_gradient(a)), jnp.abs(stop_gradient(b))) < 0.03
    a2, b2, ab = a * a, b * b, a * b
    third, fourth = a2 + ab + b2, (a + b) * (a2 + b2)
    fifth = a2 * a2 + ab * third + b2 * b2
    series = (a - b) * (1 / 2 + (a + b) * (1 / 6) + third * (1 / 24) + fourth * (1 / 120) + fifth * (1 / 720))
    return where(small, series, _mean(a) - _mean(b))
