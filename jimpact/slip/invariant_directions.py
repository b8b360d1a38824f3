"""Directions of slip that do not turn.

Slip of length r along the unit vector s grows and turns with the normal impulse p: dr/dp = g, d(angle)/dp = h / r.

    g = s.(d - mu B s)        h = t.(d - mu B s)        t = s turned by +90 degrees

A direction with h = 0 is invariant: centripetal where g < 0 (slip stops along it), centrifugal where
g > 0. There are 2 to 4, and exactly one centrifugal one iff |B^-1 d| > mu (Jia & Wang, Theorem 5).
"""

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, norm, where
from jimpact.roots import bracketed_root
from jimpact.slip.flow import Constants, constants_of
from jimpact.types import Array, ArrayLike, Flag, Float, Scalar
from jimpact.validation import broadcast

__all__ = ["invariant_directions", "rates"]

ROUND = 8  # x epsilon x size: a rate below this is round-off
ROOT_STEPS = 40  # in a bracket: a simple root takes 6 steps, two roots that nearly coincide take bisections


def invariant_directions(
    inverse_inertia: Float[ArrayLike, "... 3 3"], friction: Float[ArrayLike, "..."]
) -> tuple[Float[Array, "... 4 2"], Float[Array, "... 4"]]:
    """Directions of slip that do not turn, and the rate at which slip grows along each.

    Returns unit vectors (..., 4, 2) and rates (..., 4) in 1/kg: below zero the direction is centripetal, above zero
    centrifugal. Missing directions are nan, and come last; in an invalid lane all are nan. If every direction is
    invariant (isotropic and central) all directions are nan and all rates are equal.

    In the principal axes of B, that of the larger eigenvalue first, h = 0 in the direction (c, s) reads
    d2 c - d1 s + m s c = 0, m = mu x the difference of the eigenvalues. With the axes reflected so that d1, d2 >= 0,
    the first and the third quadrant hold one root each, and the fourth holds two iff
    m > (d1^(2/3) + d2^(2/3))^(3/2), one on each side of tan = -cbrt(d2/d1): every bracket is known beforehand.
    """
    W, mu = broadcast({"inverse_inertia": (inverse_inertia, (3, 3)), "friction": (friction, ())}).values()
    usable = jnp.isfinite(W).all((-1, -2)) & jnp.isfinite(mu) & (mu >= 0)
    usable &= (W[..., 0, 0] > 0) & (W[..., 1, 1] > 0) & (W[..., 2, 2] > 0)
    contact = constants_of(where(usable[..., None, None], W, jnp.eye(3, dtype=W.dtype)), where(usable, mu, 1))
    roots, everywhere = _roots(contact)
    vectors, growth = [], []
    for x, y, there in roots:
        sx, sy = _polished(contact, x, y)
        g = rates(contact, sx, sy)[0]
        there = there & usable
        vectors.append(where(there[..., None], jnp.stack([sx, sy], -1), jnp.nan))
        growth.append(where(there | (everywhere & usable), g, jnp.nan))
    return jnp.stack(vectors, -2), jnp.stack(growth, -1)


def rates(contact: Constants, sx: Scalar, sy: Scalar) -> tuple[Scalar, Scalar]:
    """Growth g and turning h of slip along the unit vector s."""
    fx = contact.dx - contact.mu * (contact.bxx * sx + contact.bxy * sy)
    fy = contact.dy - contact.mu * (contact.bxy * sx + contact.byy * sy)
    return sx * fx + sy * fy, sx * fy - sy * fx


def _roots(contact: Constants) -> tuple[list[tuple[Scalar, Scalar, Flag]], Flag]:
    """Up to four invariant directions, whether each exists, and whether all directions are invariant. No derivative."""
    frozen = stop_gradient(contact)
    mu = frozen.mu
    ca, sa = _half(frozen.bxx - frozen.byy, 2 * frozen.bxy)
    d1, d2 = ca * frozen.dx + sa * frozen.dy, ca * frozen.dy - sa * frozen.dx
    flip1, flip2 = where(d1 < 0, -1, 1), where(d2 < 0, -1, 1)
    d1, d2 = jnp.abs(d1), jnp.abs(d2)
    m = mu * norm(frozen.bxx - frozen.byy, 2 * frozen.bxy)

    def root(low: tuple[Scalar, Scalar], high: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
        """A root between two directions, as a point of their chord, so that no angle is needed."""
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
    """Cosine and sine of half the angle of (x, y); the angle is 0 at the origin."""
    length = norm(x, y)
    c, s = where(length > 0, divide(x, length), 1), divide(y, length)
    large = jnp.sqrt(0.5 * (1 + jnp.abs(c)))
    small = 0.5 * jnp.abs(s) / large
    sign = where(s < 0, -1, 1)
    return where(c >= 0, large, small), sign * where(c >= 0, small, large)


def _polished(contact: Constants, sx: Scalar, sy: Scalar) -> tuple[Scalar, Scalar]:
    """One differentiated Newton step in the angle; it gives an invariant direction the derivative of h = 0."""
    g, h = rates(contact, sx, sy)
    tBt = contact.bxx * sy * sy - 2 * contact.bxy * sx * sy + contact.byy * sx * sx
    turn = divide(h, g + contact.mu * tBt)  # dh/dangle = -g - mu t.B t
    x, y = sx - turn * sy, sy + turn * sx
    length = norm(x, y)
    return divide(x, length), divide(y, length)
