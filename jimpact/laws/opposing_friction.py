"""Friction that opposes the slip it leaves: the algebraic problem behind the laws of Whittaker and Anitescu & Potra.

An impulse changes the normal velocity by `a` and leaves the slip l s / k, where |s| = 1 and k = w - mu d.s, while
friction acts against s: the normal impulse is a / k, and

    (l + mu A) s = f        f = w gamma + a d        A = a B + gamma d^T

with gamma the slip before. |s| = 1 is a polynomial of degree four in l, whose roots above zero are the candidates:

    |l f + mu adj(A) f|^2 = det(l + mu A)^2.

The difference of the two sides is monotone between the zeros of its derivative, which is monotone between those of the
next one, which has a formula. So every root is bracketed beforehand, none is missed, and none is found twice.
Derivatives come from the equation: the last Newton step is differentiated, and nothing before it.

| letter | meaning                                             | unit    |
|--------|-----------------------------------------------------|---------|
| a      | change of the normal velocity                       | m/s     |
| f, A   | right side and matrix of the equation of slip       | see w, B|
| l      | slip after x k                                      |         |
"""

from functools import partial

import jax.numpy as jnp
from jax.lax import stop_gradient
from jaxtyping import Float

from jimpact.numerics import divide, norm, sqrt
from jimpact.plane import (
    Matrix2,
    Plane,
    secular_direction,
    secular_step,
    solve_b,
    sticks,
)
from jimpact.roots import bracketed_root, horner_slope
from jimpact.types import Array, Flag, Scalar

__all__ = ["normal_rate", "opposing", "opposing_at", "stopping_impulse"]

SLOPE_STEPS = 20  # in a bracket: the edges need not be exact
ROOT_STEPS = 14  # in a bracket, of a function that is nearly linear
ON_CONE = 256  # x epsilon: closer to the cone than this, round-off may find neither stick nor slide
JAMMED = {"float64": 1.6e-6, "float32": 3e-4}  # a smaller k, relative to its terms, is not known well enough
POLISH = 3  # steps of Newton's method on the secular equation, which is nearly linear there


def normal_rate(plane: Plane, sx: Scalar, sy: Scalar) -> Scalar:
    """k = dv/dp, change of the normal velocity per normal impulse, while slip is along the unit vector s."""
    return plane.w - plane.mu * (plane.dx * sx + plane.dy * sy)


def stopping_impulse(plane: Plane, x: Scalar, y: Scalar, v: Scalar, after: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Impulse that stops the slip (x, y) and turns the normal velocity v into `after`."""
    ux, uy = solve_b(plane, plane.dx, plane.dy)
    p = (after - v + ux * x + uy * y) / (plane.w - plane.dx * ux - plane.dy * uy)
    ix, iy = solve_b(plane, -x - plane.dx * p, -y - plane.dy * p)
    return ix, iy, p


def opposing(plane: Plane, x: Scalar, y: Scalar, v: Scalar, a: Scalar) -> tuple[Scalar, Scalar, Scalar, Flag, Flag]:
    """Impulse that changes the normal velocity by a > 0 and stops the slip, or else opposes it.

    Returns also whether it exists, and whether it is accurate.

    Where the impulse that stops the slip is on the cone, the derivative is that of stopping.
    """
    mu = plane.mu
    ix, iy, p = stopping_impulse(plane, x, y, v, v + a)
    needed, available = ix * ix + iy * iy, mu * mu * p * p
    stick = (needed <= available) & (p > 0)
    fx, fy = plane.w * x + a * plane.dx, plane.w * y + a * plane.dy
    A = (
        a * plane.bxx + x * plane.dx,
        a * plane.bxy + x * plane.dy,
        a * plane.bxy + y * plane.dx,
        a * plane.byy + y * plane.dy,
    )
    fx, fy = jnp.where(stick, 1, fx), jnp.where(stick, 0, fy)
    M = tuple(mu * jnp.where(stick, 0, entry) for entry in A)
    rate = stop_gradient(_closest_root(*stop_gradient((plane, fx, fy, M))))
    exists = rate >= 0
    on_cone = ~exists & (p > 0) & (needed <= (1 + ON_CONE * jnp.finfo(p.dtype).eps) * available)
    rate = jnp.where(exists, rate, norm(fx, fy))
    size = stop_gradient(norm(fx, fy) + sum(jnp.abs(entry) for entry in M))  # no square over- or underflows
    fx, fy, rate, M = fx / size, fy / size, rate / size, tuple(entry / size for entry in M)
    for _ in range(POLISH):
        rate = stop_gradient(secular_step(fx, fy, M, rate)[2])
    sx, sy, _ = secular_step(fx, fy, M, secular_step(fx, fy, M, rate)[2])
    k = normal_rate(plane, sx, sy)
    accurate = jnp.abs(sx * sx + sy * sy - 1) <= jnp.finfo(k.dtype).eps ** 0.5
    exists &= (k > 0) | ~accurate
    # At grazing approach friction that jams leaves so small a k that round-off of it is no longer small.
    accurate &= k > JAMMED[k.dtype.name] * (plane.w + mu * norm(plane.dx, plane.dy))
    slide = a / jnp.where(k > 0, k, 1)
    impulse = (-mu * slide * sx, -mu * slide * sy, slide)
    stick = stick | on_cone
    ix, iy, p = (jnp.where(stick, one, other) for one, other in zip((ix, iy, p), impulse, strict=True))
    return ix, iy, p, stick | exists, stick | (accurate & (k > 0))


def opposing_at(plane: Plane, x: Scalar, y: Scalar, p: Scalar) -> tuple[Scalar, Scalar]:
    """Tangential impulse beside the normal impulse p >= 0 that stops the slip (x, y), or else opposes what is left.

    (l + mu p B) s = f with f the slip without friction: one root, because B is positive definite. Where the impulse
    that stops the slip is on the cone, the derivative is that of stopping, but for p = 0 and no slip: there it is
    that of whatever happens to a small p.
    """
    mu = plane.mu
    fx, fy = x + plane.dx * p, y + plane.dy * p
    ix, iy = solve_b(plane, -fx, -fy)
    nothing = (x == 0) & (y == 0) & (p == 0)
    stick = jnp.where(nothing, sticks(plane, mu), ix * ix + iy * iy <= mu * mu * p * p)
    dx, dy = jnp.where(nothing, plane.dx, fx), jnp.where(nothing, plane.dy, fy)
    fx, fy = jnp.where(stick, 1, dx), jnp.where(stick, 0, dy)
    size = mu * jnp.where(nothing, 1, p)
    M = tuple(jnp.where(stick, 0, size * entry) for entry in (plane.bxx, plane.bxy, plane.bxy, plane.byy))
    sx, sy = secular_direction(fx, fy, M)
    return jnp.where(stick, ix, -mu * p * sx), jnp.where(stick, iy, -mu * p * sy)


def _closest_root(plane: Plane, fx: Scalar, fy: Scalar, M: Matrix2) -> Scalar:
    """The root with k > 0 whose s is closest to f in direction; -1 where there is none. All are below `size`."""
    size = 2 * (norm(fx, fy) + jnp.abs(M[0]) + jnp.abs(M[1]) + jnp.abs(M[2]) + jnp.abs(M[3]))
    fx, fy, m0, m1, m2, m3 = (entry / size for entry in (fx, fy, *M))
    gx, gy = m3 * fx - m1 * fy, m0 * fy - m2 * fx
    trace, det = m0 + m3, m0 * m3 - m1 * m2

    def excess(t: Scalar) -> tuple[Scalar, Scalar]:
        """|det(t + M)| - |t f + g|, nearly linear, and its slope."""
        x, y, area = t * fx + gx, t * fy + gy, det + t * (trace + t)
        length, sign = norm(x, y), jnp.where(area < 0, -1, 1)
        return sign * area - length, sign * (trace + 2 * t) - divide(x * fx + y * fy, length)

    linear, square = 2 * (trace * det - fx * gx - fy * gy), trace * trace + 2 * det - fx * fx - fy * fy
    edges = _edges(linear, square, trace, det)
    t, there = bracketed_root(excess, edges[:-1], edges[1:], ROOT_STEPS)
    area = det + t * (trace + t)
    scale = 1 / jnp.where(area == 0, 1, area)
    sx, sy = (t * fx + gx) * scale, (t * fy + gy) * scale
    good = there & (normal_rate(plane, sx, sy) > 0) & (area != 0)
    closeness = jnp.where(good, (sx * fx + sy * fy) / norm(sx, sy), -jnp.inf)
    best = jnp.where(good & (closeness == closeness.max(0)), t, -1).max(0)
    return best * jnp.where(best < 0, 1, size)


def _edges(linear: Scalar, square: Scalar, trace: Scalar, det: Scalar) -> Float[Array, "edges ..."]:
    """Points from 0 to 1, in order (first axis), between which |t f + g|^2 = det(t + M)^2 has at most one root each.

    The difference of the two sides, t^4 + 2 trace t^3 + square t^2 + linear t + .., is monotone between the zeros of
    its slope. The zeros of det(t + M) part roots that are closer to each other than those zeros can be told.
    """
    slope = partial(horner_slope, [linear, 2 * square, 6 * trace, jnp.full_like(trace, 4)])
    middle, spread = -0.5 * trace, 0.25 * sqrt(4 * trace * trace - 8 / 3 * square)
    zero, one = jnp.zeros_like(middle), jnp.ones_like(middle)
    bends = jnp.stack([zero, jnp.clip(middle - spread, 0, 1), jnp.clip(middle + spread, 0, 1), one])
    still = bracketed_root(slope, bends[:-1], bends[1:], SLOPE_STEPS)[0]
    gap = sqrt(0.25 * trace * trace - det)
    far = middle + jnp.where(middle < 0, -gap, gap)  # the other zero, without subtraction, is det / far
    inner = (jnp.where(gap > 0, jnp.clip(a, 0, 1), 0) for a in (far, divide(det, far)))
    return jnp.stack([zero, *_sorted([*still, *inner]), one])


def _sorted(points: list[Scalar]) -> list[Scalar]:
    points = list(points)
    for end in range(len(points) - 1, 0, -1):
        for i in range(end):
            points[i], points[i + 1] = jnp.minimum(points[i], points[i + 1]), jnp.maximum(points[i], points[i + 1])
    return points
