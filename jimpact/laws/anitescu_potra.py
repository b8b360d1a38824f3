"""Anitescu & Potra's law: compression and restitution are two algebraic impacts, each with friction against its slip.

Source: Anitescu & Potra 1997; Chatterjee & Ruina 1998, section 4.2.4; here with the circular cone that the published
linear complementarity problem approximates by a pyramid. Assumptions: compression ends with zero normal velocity, and
either without slip or with friction against the final slip (Whittaker's law without rebound). Expansion adds e times
the normal impulse of compression (Poisson), again with friction against the final slip, if any. If the bodies still
approach after restitution, its normal impulse grows until they do not. Domain: that of Whittaker's law without rebound.
The law does not gain energy.
"""

import jax.numpy as jnp

from jimpact.laws.algebraic import stopping_impulse
from jimpact.laws.base import Answer, Given, Law, Options, answer
from jimpact.laws.opposing_friction import opposing, opposing_at
from jimpact.numerics import divide, norm, sqrt
from jimpact.slip.flow import Constants, moved
from jimpact.slip.invariant_directions import rates
from jimpact.types import Flag, Scalar

__all__ = ["LAW"]


def impulse(given: Given, options: Options) -> Answer:
    """Whittaker's impulse for e = 0, then restitution from the slip after it."""
    contact, e = given.contact, given.e
    ix, iy, p, exists, accurate = opposing(contact, given.x, given.y, given.v, -given.v)
    x, y, _ = moved(contact, given.x, given.y, given.v, ix, iy, p)
    small = 64 * jnp.finfo(p.dtype).eps * (jnp.abs(given.x) + jnp.abs(given.y) + (1 + contact.mu) * p)
    stuck = norm(x, y) <= small * (contact.bxx + contact.byy + 1)
    x, y = jnp.where(stuck, 0, x), jnp.where(stuck, 0, y)
    jx, jy = opposing_at(contact, x, y, e * p)
    approaching = contact.w * e * p + contact.dx * jx + contact.dy * jy < 0
    more, found = _grown(contact, x, y, e * p)
    q = jnp.where(approaching & found, more, e * p)
    jx, jy = opposing_at(contact, x, y, q)
    good = accurate & (~approaching | found)
    return answer(given, ix + jx, iy + jy, p + q, exists, good, compression_impulse=p)


def _grown(contact: Constants, x: Scalar, y: Scalar, least: Scalar) -> tuple[Scalar, Flag]:
    """Smallest normal impulse beyond `least` that starts from slip (x, y) and ends, as it starts, with v = 0.

    It ends without slip, or with slip in one of the two directions s in which mu d.s = w.
    """
    ix, iy, p = stopping_impulse(contact, x, y, jnp.zeros_like(x), jnp.zeros_like(x))
    found = (p > least) & (ix * ix + iy * iy <= (contact.mu * p) ** 2)
    best = jnp.where(found, p, jnp.inf)
    length = norm(contact.dx, contact.dy)
    ex, ey = divide(contact.dx, length), divide(contact.dy, length)
    falls = contact.mu * length >= contact.w
    cosine = jnp.where(falls, contact.w / jnp.where(falls, contact.mu * length, 1), 0)
    sine = sqrt(1 - cosine * cosine)
    for sign in (-1, 1):
        sx, sy = cosine * ex - sign * sine * ey, cosine * ey + sign * sine * ex
        g, h = rates(contact, sx, sy)
        p = divide(sy * x - sx * y, h)
        slides = falls & (p > least) & (sx * x + sy * y + g * p >= 0) & (p < best)
        best, found = jnp.where(slides, p, best), found | slides
    return jnp.where(found, best, least), found


LAW = Law(
    name="anitescu_potra",
    function=impulse,
    reference="Anitescu & Potra 1997; Chatterjee & Ruina 1998, section 4.2.4",
    parameters=("friction", "restitution"),
    may_gain_energy=False,
    domain="impacts that have an impulse whose friction opposes the final slip",
)
