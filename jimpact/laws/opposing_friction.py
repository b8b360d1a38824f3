"""Friction that opposes the final slip: the algebraic problem of the laws of Whittaker and Anitescu & Potra.

An impulse changes the normal velocity by `a` and leaves the slip l s / k, where |s| = 1 and k = w - mu d.s, while
friction acts against s: the normal impulse is a / k, and

    (l + mu A) s = f        f = w gamma + a d        A = a B + gamma d^T

with gamma the slip before. |s| = 1 is a polynomial of degree four in l, whose roots above zero are the candidates:

    |l f + mu adj(A) f|^2 = det(l + mu A)^2.

The difference of the two sides is monotone between the zeros of its derivative, which is monotone between those of the
next derivative, which are known in closed form. So every root is bracketed beforehand, none is missed, and none is
found twice. Derivatives come from the equation: only the last Newton step is differentiated.

| letter | meaning                                             | unit    |
|--------|-----------------------------------------------------|---------|
| a      | change of the normal velocity                       | m/s     |
| f, A   | right side and matrix of the equation of slip       | see w, B|
| l      | length of the final slip x k                        |         |
"""

from functools import partial

import jax.numpy as jnp
from jax.lax import stop_gradient
from jaxtyping import Float

from jimpact.laws.algebraic import normal_rate, stopping_impulse
from jimpact.numerics import divide, norm, sqrt
from jimpact.roots import bracketed_root, horner_slope
from jimpact.slip.flow import Constants, Matrix2, solve_b
from jimpact.slip.stick import secular_direction, secular_step, sticks
from jimpact.types import Array, Flag, Scalar

__all__ = ["opposing", "opposing_at"]

SLOPE_STEPS = 20  # iterations for the ends of brackets, which need not be exact
ROOT_STEPS = 14  # iterations for a root, of a nearly linear function
ON_CONE = 256  # x epsilon: nearer to the cone, round-off may exclude both stick and sliding
JAMMED = {"float64": 1.6e-6, "float32": 3e-4}  # a smaller k, relative to its terms, is not accurate
POLISH = 3  # steps of Newton's method on the secular equation, which is nearly linear near the root


def opposing(
    contact: Constants, x: Scalar, y: Scalar, v: Scalar, a: Scalar
) -> tuple[Scalar, Scalar, Scalar, Flag, Flag]:
    """Impulse that changes the normal velocity by a > 0 and stops the slip, or else opposes the final slip.

    Also returns whether the impulse exists, and whether it is accurate. If the impulse that stops the slip is on the
    cone, the derivative is that of stopping.
    """
    mu = contact.mu
    ix, iy, p = stopping_impulse(contact, x, y, v, v + a)
    needed, available = ix * ix + iy * iy, mu * mu * p * p
    stick = (needed <= available) & (p > 0)
    fx, fy = contact.w * x + a * contact.dx, contact.w * y + a * contact.dy
    A = (
        a * contact.bxx + x * contact.dx,
        a * contact.bxy + x * contact.dy,
        a * contact.bxy + y * contact.dx,
        a * contact.byy + y * contact.dy,
    )
    fx, fy = jnp.where(stick, 1, fx), jnp.where(stick, 0, fy)
    M = tuple(mu * jnp.where(stick, 0, entry) for entry in A)
    rate = stop_gradient(_closest_root(*stop_gradient((contact, fx, fy, M))))
    exists = rate >= 0
    on_cone = ~exists & (p > 0) & (needed <= (1 + ON_CONE * jnp.finfo(p.dtype).eps) * available)
    rate = jnp.where(exists, rate, norm(fx, fy))
    size = stop_gradient(norm(fx, fy) + sum(jnp.abs(entry) for entry in M))  # no square over- or underflows
    fx, fy, rate, M = fx / size, fy / size, rate / size, tuple(entry / size for entry in M)
    for _ in range(POLISH):
        rate = stop_gradient(secular_step(fx, fy, M, rate)[2])
    sx, sy, _ = secular_step(fx, fy, M, secular_step(fx, fy, M, rate)[2])
    k = normal_rate(contact, sx, sy)
    accurate = jnp.abs(sx * sx + sy * sy - 1) <= jnp.finfo(k.dtype).eps ** 0.5
    exists &= (k > 0) | ~accurate
    # With friction that jams at grazing approach, k is so small that its round-off matters.
    accurate &= k > JAMMED[k.dtype.name] * (contact.w + mu * norm(contact.dx, contact.dy))
    slide = a / jnp.where(k > 0, k, 1)
    impulse = (-mu * slide * sx, -mu * slide * sy, slide)
    stick = stick | on_cone
    ix, iy, p = (jnp.where(stick, one, other) for one, other in zip((ix, iy, p), impulse, strict=True))
    return ix, iy, p, stick | exists, stick | (accurate & (k > 0))


def opposing_at(contact: Constants, x: Scalar, y: Scalar, p: Scalar) -> tuple[Scalar, Scalar]:
    """Tangential impulse for the normal impulse p >= 0 that stops the slip (x, y), or else opposes the final slip.

    (l + mu p B) s = f, where f is the slip without friction, has one root because B is positive definite. If the
    impulse that stops the slip is on the cone, the derivative is that of stopping, except at p = 0 without slip: there
    it is the derivative for a small p.
    """
    mu = contact.mu
    fx, fy = x + contact.dx * p, y + contact.dy * p
    ix, iy = solve_b(contact, -fx, -fy)
    nothing = (x == 0) & (y == 0) & (p == 0)
    stick = jnp.where(nothing, sticks(contact, mu), ix * ix + iy * iy <= mu * mu * p * p)
    dx, dy = jnp.where(nothing, contact.dx, fx), jnp.where(nothing, contact.dy, fy)
    fx, fy = jnp.where(stick, 1, dx), jnp.where(stick, 0, dy)
    size = mu * jnp.where(nothing, 1, p)
    M = tuple(jnp.where(stick, 0, size * entry) for entry in (contact.bxx, contact.bxy, contact.bxy, contact.byy))
    sx, sy = secular_direction(fx, fy, M)
    return jnp.where(stick, ix, -mu * p * sx), jnp.where(stick, iy, -mu * p * sy)


def _closest_root(contact: Constants, fx: Scalar, fy: Scalar, M: Matrix2) -> Scalar:
    """The root with k > 0 whose s is closest to f in direction; -1 if there is none. All roots are below `size`."""
    size = 2 * (norm(fx, fy) + jnp.abs(M[0]) + jnp.abs(M[1]) + jnp.abs(M[2]) + jnp.abs(M[3]))
    fx, fy, m0, m1, m2, m3 = (entry / size for entry in (fx, fy, *M))
    gx, gy = m3 * fx - m1 * fy, m0 * fy - m2 * fx
    trace, det = m0 + m3, m0 * m3 - m1 * m2

    def excess(t: Scalar) -> tuple[Scalar, Scalar]:
        """|det(t + M)| - |t f + g|, which is nearly linear, and its slope."""
        x, y, area = t * fx + gx, t * fy + gy, det + t * (trace + t)
        length, sign = norm(x, y), jnp.where(area < 0, -1, 1)
        return sign * area - length, sign * (trace + 2 * t) - divide(x * fx + y * fy, length)

    linear, square = 2 * (trace * det - fx * gx - fy * gy), trace * trace + 2 * det - fx * fx - fy * fy
    edges = _edges(linear, square, trace, det)
    t, there = bracketed_root(excess, edges[:-1], edges[1:], ROOT_STEPS)
    area = det + t * (trace + t)
    scale = 1 / jnp.where(area == 0, 1, area)
    sx, sy = (t * fx + gx) * scale, (t * fy + gy) * scale
    good = there & (normal_rate(contact, sx, sy) > 0) & (area != 0)
    closeness = jnp.where(good, (sx * fx + sy * fy) / norm(sx, sy), -jnp.inf)
    best = jnp.where(good & (closeness == closeness.max(0)), t, -1).max(0)
    return best * jnp.where(best < 0, 1, size)


def _edges(linear: Scalar, square: Scalar, trace: Scalar, det: Scalar) -> Float[Array, "edges ..."]:
    """Sorted points from 0 to 1 (first axis), between which |t f + g|^2 = det(t + M)^2 has at most one root each.

    The difference of the two sides, t^4 + 2 trace t^3 + square t^2 + linear t + .., is monotone between the zeros of
    its slope. The zeros of det(t + M) also separate roots that are too close for these zeros to separate numerically.
    """
    slope = partial(horner_slope, [linear, 2 * square, 6 * trace, jnp.full_like(trace, 4)])
    middle, spread = -0.5 * trace, 0.25 * sqrt(4 * trace * trace - 8 / 3 * square)
    zero, one = jnp.zeros_like(middle), jnp.ones_like(middle)
    bends = jnp.stack([zero, jnp.clip(middle - spread, 0, 1), jnp.clip(middle + spread, 0, 1), one])
    still = bracketed_root(slope, bends[:-1], bends[1:], SLOPE_STEPS)[0]
    gap = sqrt(0.25 * trace * trace - det)
    far = middle + jnp.where(middle < 0, -gap, gap)  # the other zero is det / far, without cancellation
    inner = (jnp.where(gap > 0, jnp.clip(a, 0, 1), 0) for a in (far, divide(det, far)))
    return jnp.stack([zero, *_sorted([*still, *inner]), one])


def _sorted(points: list[Scalar]) -> list[Scalar]:
    points = list(points)
    for end in range(len(points) - 1, 0, -1):
        for i in range(end):
            points[i], points[i + 1] = jnp.minimum(points[i], points[i + 1]), jnp.maximum(points[i], points[i + 1])
    return points
