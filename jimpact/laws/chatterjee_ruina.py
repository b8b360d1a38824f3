"""Chatterjee & Ruina's law: a weighted sum of the frictionless and the sticking plastic impulse, limited by the cone.

Source: Chatterjee & Ruina 1998, equations (3), (4) and (10)-(14). Assumptions: normal restitution e is kinematic,
tangential restitution e_t is the share of the slip that is reversed (1: all, 0: slip stops, -1: frictionless).
Domain: every impact, e in [0, 1], e_t in [-1, 1]. The law never gains energy and stays in the cone. It gives no normal
rebound for a grazing start, and may reverse the spin of a sphere (e_t > 0).

If the candidate lies on the cone, both branches give the same impulse; the derivative is that of the inside.
"""

import jax.numpy as jnp

from jimpact.laws.algebraic import stopping_impulse
from jimpact.laws.base import Answer, Given, Law, Options, answer
from jimpact.numerics import norm

__all__ = ["LAW"]


def impulse(given: Given, options: Options) -> Answer:
    """P = (1 + e) P_I + kappa (P_II - P_I), where P_I is frictionless and P_II sticks, both without rebound."""
    contact, e, e_t = given.contact, given.e, given.e_t
    plastic = -given.v / contact.w
    ix, iy, p = stopping_impulse(contact, given.x, given.y, given.v, jnp.zeros_like(given.v))
    friction = norm(ix, iy)
    slips = (1 + e_t) * friction > contact.mu * ((1 + e) * plastic + (1 + e_t) * (p - plastic))
    closing = friction - contact.mu * (p - plastic)
    kappa = jnp.where(slips, contact.mu * (1 + e) * plastic / jnp.where(slips, closing, 1), 1 + e_t)
    everywhere = jnp.ones_like(slips)
    return answer(given, kappa * ix, kappa * iy, (1 + e) * plastic + kappa * (p - plastic), everywhere, everywhere)


LAW = Law(
    name="chatterjee_ruina",
    function=impulse,
    reference="Chatterjee & Ruina 1998, (3), (4), (10)-(14)",
    parameters=("friction", "restitution", "tangential_restitution"),
    may_gain_energy=False,
)
