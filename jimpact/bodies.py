"""Two bodies in world axes: from their motion before an impact to their motion after it."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from jimpact.contact import Body, apply_impulse, floating, relative_velocity
from jimpact.impact import solve
from jimpact.inertia import inverse_inertia
from jimpact.state import Impact
from jimpact.types import ArrayLike

__all__ = ["Collision", "collide"]


class Collision(NamedTuple):
    """Both bodies after the impact, and the impact in the contact frame."""

    body_a: Body
    body_b: Body
    impact: Impact


def collide(
    body_a: Body,
    body_b: Body,
    point: Float[ArrayLike, "... 3"],
    normal: Float[ArrayLike, "... 3"],
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    **options: Any,
) -> Collision:
    """Let two bodies collide at a point of contact (world axes); `options` as in `solve`.

    `normal` is the unit normal from body b into body a. A lane whose impact could not be computed has nan
    velocities in the body that moves; the immovable body stays as it was.
    """
    point, normal = floating("point", point, (3,)), floating("normal", normal, (3,))
    W = inverse_inertia(body_a, body_b, point, normal)
    v = relative_velocity(body_a, body_b, point, normal)
    impact = solve(W, v, friction, restitution, **options)
    after_a, after_b = apply_impulse(body_a, body_b, point, normal, impact.impulse)
    return Collision(_kept(body_a, after_a), _kept(body_b, after_b), impact)


def _kept(before: Body, after: Body) -> Body:
    """What is immovable of a body keeps its motion, also where the impulse is nan."""
    placed = jnp.isposinf(jnp.asarray(before.mass))[..., None]
    held = jnp.isposinf(jnp.diagonal(jnp.asarray(before.inertia), axis1=-2, axis2=-1)).all(-1, keepdims=True)
    return after._replace(
        velocity=jnp.where(placed, jnp.asarray(before.velocity), after.velocity),
        angular_velocity=jnp.where(held, jnp.asarray(before.angular_velocity), after.angular_velocity),
    )
