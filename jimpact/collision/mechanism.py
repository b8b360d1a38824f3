"""Impacts of mechanisms in generalised coordinates.

A contact of a mechanism is an ordinary impact with the inverse inertia W = J M^-1 J^T (Morgan; Chatterjee & Ruina 1998,
appendix A.1). The impulse p changes all speeds, q + M^-1 J^T p, and the constraints of all joints still hold. In the
plane J has two rows, along t and n, and `solve_planar` solves the impact.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from jimpact.contact.body import transform
from jimpact.contact.inertia import generalized_velocity_after, inverse_inertia_generalized
from jimpact.impact import solve
from jimpact.outcome import Impact
from jimpact.planar import solve_planar
from jimpact.types import Array, ArrayLike
from jimpact.validation import check_batch, floating

__all__ = ["MechanismCollision", "collide_mechanism"]


class MechanismCollision(NamedTuple):
    """Generalised speeds after the impact, and the impact in the contact frame."""

    speeds: Float[Array, "... n"]
    impact: Impact


def collide_mechanism(
    mass_matrix: Float[Array, "... n n"],
    jacobian: Float[Array, "... k n"],
    speeds: Float[ArrayLike, "... n"],
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    **options: Any,
) -> MechanismCollision:
    """Let a mechanism collide at one contact; `options` as in `solve`, in the plane (k = 2) as in `solve_planar`.

    `jacobian` maps `speeds` to the relative velocity of the contact points along t1, t2, n (k = 3) or t, n (k = 2).
    In a lane without an answer the speeds are nan. If the contact point can move in fewer than k directions, W is
    singular and the lane is INVALID: replace a joint by a heavy mass, or by a hinge of `collide_bodies`.
    """
    W = inverse_inertia_generalized(mass_matrix, jacobian)
    jacobian = jnp.asarray(jacobian, W.dtype)
    speeds = floating("speeds", speeds, (jacobian.shape[-1],))
    check_batch(jacobian=jacobian.shape[:-2], speeds=speeds.shape[:-1])
    impact = (solve if W.shape[-1] == 3 else solve_planar)(
        W, transform(jacobian, speeds), friction, restitution, **options
    )
    return MechanismCollision(generalized_velocity_after(mass_matrix, jacobian, speeds, impact.impulse), impact)
