"""Smith's law: friction along an average of the slip before and the slip after.

Source: Smith 1991; Chatterjee & Ruina 1998, equation (8). Assumptions: the normal velocity after is -e times the one
before; the tangential impulse is -mu p q, where::

    q = (i |i| + f |f|) / (|i|^2 + |f|^2)        i, f: slip before and after

Domain: every impact. The law never gains energy and stays in the cone. It reverses the slip of a sphere if friction is
high, and gives no normal rebound for a grazing start. Without slip before, q is the direction of the slip after, as in
Whittaker's law, which is the limit of this law; the derivative with respect to the slip is not continuous there.

In units of the slip before, with n = p / |i|, the slip after y and the normal impulse n solve::

    y - i + n (mu B q(y) - d) = 0        n (w - mu d.q(y)) = a

where a is the change of the normal velocity.

At given n > 0 the first equation has one solution: the symmetric part of dq/dy is positive semidefinite, so the left
side is monotone in the norm of B^-1. Newton's method finds it from y = -i. The second equation may have several roots
(and always has some with n < 0); the physical one is the first as n grows from 0. So n grows in steps, each with its y,
until the change of the normal velocity exceeds a. This brackets the root, and Newton's method on both equations finds
it. The derivative is that of the equations: only the last Newton step is differentiated.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import stop_gradient

from jimpact.laws.algebraic import normal_rate
from jimpact.laws.base import Answer, Given, Law, Options, answer
from jimpact.laws.opposing_friction import opposing
from jimpact.numerics import divide, norm
from jimpact.slip.flow import Constants, solve_b
from jimpact.types import Flag, Scalar

__all__ = ["LAW"]

FIRST_STEPS = 12  # Newton steps from y = -i: 8 suffice for all but 5 of 10,000 random impacts
GROWTH = 1.5  # factor of n in one step: two Newton steps then give y to three digits on 99.9 % of random impacts
FOLLOWING_STEPS = 2
GROWING_STEPS = 72  # 1.5^72 = 5e12
NEAR = 1e-4  # relative error of the slip after below which the residual of the second equation has the right sign
LOST = 4096  # x epsilon x its terms: largest error of the change of the normal velocity
LAST_STEPS = 12  # Newton steps in the bracket; 6 reach round-off on 99.9 % of random impacts


class Guess(NamedTuple):
    """Slip after and normal impulse, in units of the slip before; if `passed`, the root is between low and high."""

    x: Scalar
    y: Scalar
    n: Scalar
    low: Scalar
    high: Scalar
    passed: Flag


class Tangent(NamedTuple):
    """Both equations, linearised: the slip after is (x + ax + bx dn, ..), the second residual `lacks` - `slope` dn."""

    ax: Scalar
    ay: Scalar
    bx: Scalar
    by: Scalar
    lacks: Scalar
    slope: Scalar


def impulse(given: Given, options: Options) -> Answer:
    """The normal velocity changes by -(1 + e) v."""
    contact, a = given.contact, -(1 + given.e) * given.v
    slip = norm(given.x, given.y)
    slides = slip > 0
    size = jnp.where(slides, slip, 1)
    problem = (contact, jnp.where(slides, given.x, 1) / size, jnp.where(slides, given.y, 0) / size, a / size)
    guess = _root(*stop_gradient(problem))
    at = _tangent(*problem, guess.x, guess.y, guess.n)
    step = at.lacks / at.slope
    x, y, n = guess.x + at.ax + at.bx * step, guess.y + at.ay + at.by * step, guess.n + step
    moved = (jnp.abs(x - guess.x) + jnp.abs(y - guess.y)) / (1 + norm(x, y)) + jnp.abs(step) / n
    good = (moved <= jnp.finfo(n.dtype).eps ** 0.5) & guess.passed
    p = n * size
    tangential = _tangential(contact, *problem[1:3], x, y, n)
    good &= _restores(contact, problem[3], *tangential, n)
    sliding = (size * tangential[0], size * tangential[1], p)
    *resting, exists, accurate = opposing(contact, given.x, given.y, given.v, a)
    ix, iy, p = (jnp.where(slides, one, other) for one, other in zip(sliding, resting, strict=True))
    return answer(given, ix, iy, p, slides | exists, jnp.where(slides, good, accurate))


def _tangential(contact: Constants, ix: Scalar, iy: Scalar, x: Scalar, y: Scalar, n: Scalar) -> tuple[Scalar, Scalar]:
    """Tangential impulse -mu n q; from the change of slip where friction is high and q is a small difference."""
    qx, qy = _average(x, y, ix, iy)
    by_slip = solve_b(contact, x - ix - contact.dx * n, y - iy - contact.dy * n)
    high = contact.mu * n * (contact.bxx + contact.byy) > 2 * (1 + norm(x, y) + norm(contact.dx, contact.dy) * n)
    return jnp.where(high, by_slip[0], -contact.mu * n * qx), jnp.where(high, by_slip[1], -contact.mu * n * qy)


def _restores(contact: Constants, a: Scalar, tx: Scalar, ty: Scalar, p: Scalar) -> Flag:
    """Whether the impulse changes the normal velocity by a, to round-off."""
    size = contact.w * p + norm(contact.dx, contact.dy) * norm(tx, ty)
    return jnp.abs(contact.w * p + contact.dx * tx + contact.dy * ty - a) <= LOST * jnp.finfo(p.dtype).eps * size


def _root(contact: Constants, ix: Scalar, iy: Scalar, a: Scalar) -> Guess:
    """The first root as n grows."""
    problem = (contact, ix, iy, a)
    least = a / (contact.w + contact.mu * norm(contact.dx, contact.dy))
    x, y = _corrected(*problem, -ix, -iy, least, FIRST_STEPS)
    guess = Guess(x, y, least, least, least, jnp.zeros_like(a, bool))

    def grow(guess: Guess, _: None) -> tuple[Guess, None]:
        x, y = _next(*problem, guess.x, guess.y, guess.n)
        n = GROWTH * guess.n
        high = GROWTH * n  # beyond n, since the slip is not exact and the root may lie beyond n
        new = Guess(x, y, n, guess.n, high, n * normal_rate(contact, *_average(x, y, ix, iy)) >= a)
        return jax.tree.map(lambda old, new: jnp.where(guess.passed, old, new), guess, new), None

    def narrow(guess: Guess, _: None) -> tuple[Guess, None]:
        x, y, n, side = _narrowed(*problem, guess)
        low, high = jnp.where(side > 0, guess.n, guess.low), jnp.where(side < 0, guess.n, guess.high)
        return Guess(x, y, n, low, high, guess.passed), None

    guess = lax.scan(grow, guess, None, length=GROWING_STEPS)[0]
    return lax.scan(narrow, guess, None, length=LAST_STEPS)[0]


def _next(
    contact: Constants, ix: Scalar, iy: Scalar, a: Scalar, x: Scalar, y: Scalar, n: Scalar
) -> tuple[Scalar, Scalar]:
    """The slip after at the normal impulse GROWTH n, from that at n."""
    at = _tangent(contact, ix, iy, a, x, y, n)
    more = (GROWTH - 1) * n
    x, y = x + at.ax + at.bx * more, y + at.ay + at.by * more
    return _corrected(contact, ix, iy, a, x, y, GROWTH * n, FOLLOWING_STEPS)


def _narrowed(
    contact: Constants, ix: Scalar, iy: Scalar, a: Scalar, guess: Guess
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Slip after and n, by a step of Newton's method on both equations within the bracket.

    The last result is the side of the root on which the old n was: 1 below, -1 beyond, 0 not known.
    """
    at = _tangent(contact, ix, iy, a, guess.x, guess.y, guess.n)
    known = jnp.abs(at.ax) + jnp.abs(at.ay) <= NEAR * (1 + norm(guess.x, guess.y))
    side = jnp.where(known, jnp.where(at.lacks > 0, 1.0, -1.0), 0.0).astype(at.lacks.dtype)
    low, high = jnp.where(side > 0, guess.n, guess.low), jnp.where(side < 0, guess.n, guess.high)
    newton = guess.n + divide(at.lacks, at.slope)
    slack = NEAR * (high - low) + 4 * jnp.finfo(newton.dtype).eps * high  # round-off may leave the bracket
    inside = (newton >= low - slack) & (newton <= high + slack)
    margin = 0.1 * (high - low)
    n = jnp.where(inside, newton, jnp.clip(newton, low + margin, high - margin))
    more = n - guess.n
    return guess.x + at.ax + at.bx * more, guess.y + at.ay + at.by * more, n, side


def _corrected(
    contact: Constants, ix: Scalar, iy: Scalar, a: Scalar, x: Scalar, y: Scalar, n: Scalar, times: int
) -> tuple[Scalar, Scalar]:
    """Slip after at the normal impulse n, by Newton's method on the first equation."""
    for _ in range(times):
        at = _tangent(contact, ix, iy, a, x, y, n)
        x, y = x + at.ax, y + at.ay
    return x, y


def _tangent(contact: Constants, ix: Scalar, iy: Scalar, a: Scalar, x: Scalar, y: Scalar, n: Scalar) -> Tangent:
    """The tangent at x, y, n, which carry no derivative. Its residuals carry that of the problem, its slopes none."""
    qx, qy = _average(x, y, ix, iy)
    rate_x = contact.dx - contact.mu * (contact.bxx * qx + contact.bxy * qy)
    rate_y = contact.dy - contact.mu * (contact.bxy * qx + contact.byy * qy)
    miss_x, miss_y = ix + n * rate_x - x, iy + n * rate_y - y
    k = normal_rate(contact, qx, qy)
    lacks = a - n * k
    contact, ix, iy, rate_x, rate_y, k = stop_gradient((contact, ix, iy, rate_x, rate_y, k))

    r = norm(x, y)
    ux, uy, square = divide(x, r), divide(y, r), 1 + r * r
    scale, along = n * contact.mu * r / square, (1 - r * r) / square
    # D = n mu dq/dy and J = 1 + B D
    dxx, dxy = scale * (1 + ux * ux * along - 2 * ix * ux / square), scale * (ux * uy * along - 2 * ix * uy / square)
    dyx, dyy = scale * (ux * uy * along - 2 * iy * ux / square), scale * (1 + uy * uy * along - 2 * iy * uy / square)
    jxx, jxy = 1 + contact.bxx * dxx + contact.bxy * dyx, contact.bxx * dxy + contact.bxy * dyy
    jyx, jyy = contact.bxy * dxx + contact.byy * dyx, 1 + contact.bxy * dxy + contact.byy * dyy
    det = jxx * jyy - jxy * jyx
    ax, ay = (jyy * miss_x - jxy * miss_y) / det, (jxx * miss_y - jyx * miss_x) / det
    bx, by = (jyy * rate_x - jxy * rate_y) / det, (jxx * rate_y - jyx * rate_x) / det
    cx, cy = contact.dx * dxx + contact.dy * dyx, contact.dx * dxy + contact.dy * dyy
    return Tangent(ax, ay, bx, by, lacks + cx * ax + cy * ay, k - cx * bx - cy * by)


def _average(x: Scalar, y: Scalar, ix: Scalar, iy: Scalar) -> tuple[Scalar, Scalar]:
    """q, in units of the slip before."""
    r = norm(x, y)
    return (ix + x * r) / (1 + r * r), (iy + y * r) / (1 + r * r)


LAW = Law(
    name="smith",
    function=impulse,
    reference="Smith 1991; Chatterjee & Ruina 1998, (8)",
    parameters=("friction", "restitution"),
    may_gain_energy=False,
)
