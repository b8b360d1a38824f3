"""Impacts of bodies in world axes: their motion after an impact from their motion before it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float

from jimpact.collision.sequence import Contacts, resolve_contacts
from jimpact.contact.body import Body, apply_impulse, checked_bodies, relative_velocity
from jimpact.contact.inertia import checked_pairs, inverse_inertia, inverse_inertia_contacts
from jimpact.impact import solve
from jimpact.outcome import Impact
from jimpact.types import ArrayLike
from jimpact.validation import floating

__all__ = ["Collision", "ManyCollision", "collide", "collide_bodies"]


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

    `normal` is the unit normal from body b into body a. In a lane without an answer the velocities of movable bodies
    are nan; immovable bodies keep their motion.
    """
    point, normal = floating("point", point, (3,)), floating("normal", normal, (3,))
    W = inverse_inertia(body_a, body_b, point, normal)
    v = relative_velocity(body_a, body_b, point, normal)
    impact = solve(W, v, friction, restitution, **options)
    after_a, after_b = apply_impulse(body_a, body_b, point, normal, impact.impulse)
    return Collision(_kept(body_a, after_a), _kept(body_b, after_b), impact)


class ManyCollision(NamedTuple):
    """All bodies after the impacts, and the contacts."""

    bodies: Body
    contacts: Contacts


def collide_bodies(
    bodies: Body,
    pairs: Sequence[tuple[int, int]],
    points: Float[ArrayLike, "... k 3"],
    normals: Float[ArrayLike, "... k 3"],
    friction: Float[ArrayLike, "... k"],
    restitution: Float[ArrayLike, "... k"],
    **options: Any,
) -> ManyCollision:
    """Let many bodies collide at k contacts, one after another; `options` as in `resolve_contacts`.

    `bodies` is one Body whose fields have the bodies along their last batch axis (`jax.tree.map(stack, ...)`);
    contact i is between the bodies pairs[i] = (a, b), at points[i], with the unit normal normals[i] from b into a.
    """
    pairs = checked_pairs(pairs)
    points, normals = floating("points", points, (len(pairs), 3)), floating("normals", normals, (len(pairs), 3))
    bodies = checked_bodies(bodies)
    W = inverse_inertia_contacts(bodies, pairs, points, normals)
    a, b = (jnp.asarray([pair[side] for pair in pairs]) for side in (0, 1))
    axis = bodies.mass.ndim - 1
    take = lambda index: jax.tree.map(lambda f: jnp.take(f, index, axis), bodies)  # noqa: E731
    contacts = resolve_contacts(
        W, relative_velocity(take(a), take(b), points, normals), friction, restitution, **options
    )
    shape = (*contacts.impulse.shape[:-2], jnp.shape(bodies.mass)[-1], 3)
    velocity, turning = (jnp.broadcast_to(a, shape) for a in (bodies.velocity, bodies.angular_velocity))
    on_a, on_b = apply_impulse(take(a), take(b), points, normals, contacts.impulse)
    for index, after, before in ((a, on_a, take(a)), (b, on_b, take(b))):
        velocity = velocity.at[..., index, :].add(after.velocity - before.velocity)
        turning = turning.at[..., index, :].add(after.angular_velocity - before.angular_velocity)
    after = bodies._replace(velocity=velocity, angular_velocity=turning)
    return ManyCollision(_kept(bodies, after), contacts)


def _kept(before: Body, after: Body) -> Body:
    """The body after the impact; an infinite mass or inertia keeps its motion even if the impulse is nan."""
    placed = jnp.isposinf(jnp.asarray(before.mass))[..., None]
    held = jnp.isposinf(jnp.diagonal(jnp.asarray(before.inertia), axis1=-2, axis2=-1)).all(-1, keepdims=True)
    return after._replace(
        velocity=jnp.where(placed, jnp.asarray(before.velocity), after.velocity),
        angular_velocity=jnp.where(held, jnp.asarray(before.angular_velocity), after.angular_velocity),
    )
