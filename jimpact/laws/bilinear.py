"""The bilinear law of spheres and disks: slip is reversed, and friction limited by the cone.

Source: Walton 1992; Brach 1991; Chatterjee & Ruina 1998, equation (9). Assumptions: normal and tangential motion
do not couple, and friction acts against the initial slip. Domain: an inverse inertia without coupling of the normal
(d = 0), and slip along a principal axis of its tangential block; other lanes are OUTSIDE. In this domain it agrees with
Chatterjee & Ruina's law, and never gains energy.
"""

import jax.numpy as jnp

from jimpact.laws.base import Answer, Given, Law, Options, answer
from jimpact.numerics import divide, norm
from jimpact.slip.flow import solve_b

__all__ = ["LAW"]


def impulse(given: Given, options: Options) -> Answer:
    """Normal impulse p = -(1 + e) v / w, and friction min(mu p, (1 + e_t) |slip| / b) against the slip."""
    contact, x, y = given.contact, given.x, given.y
    r = norm(x, y)
    sx, sy = divide(x, r), divide(y, r)
    bx, by = contact.bxx * sx + contact.bxy * sy, contact.bxy * sx + contact.byy * sy
    along, across = bx * sx + by * sy, by * sx - bx * sy
    near = jnp.finfo(r.dtype).eps ** 0.5 * (contact.bxx + contact.byy + contact.w)
    inside = (jnp.abs(contact.dx) <= near) & (jnp.abs(contact.dy) <= near) & (jnp.abs(across) <= near)
    p = -(1 + given.e) * given.v / contact.w
    reverses = (1 + given.e_t) * r <= contact.mu * p * along
    rx, ry = solve_b(contact, -(1 + given.e_t) * x, -(1 + given.e_t) * y)
    ix, iy = jnp.where(reverses, rx, -contact.mu * p * sx), jnp.where(reverses, ry, -contact.mu * p * sy)
    return answer(given, ix, iy, p, inside, jnp.ones_like(inside))


LAW = Law(
    name="bilinear",
    function=impulse,
    reference="Walton 1992; Chatterjee & Ruina 1998, (9)",
    parameters=("friction", "restitution", "tangential_restitution"),
    may_gain_energy=False,
    domain="spheres and disks: inverse inertia without coupling of the normal, slip along a principal axis",
)
