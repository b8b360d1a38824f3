"""Contacts of MJX in the form of jimpact: Jacobians, inverse inertia, velocities.

MuJoCo's contact frame has the normal, from geom 1 to geom 2, in its first row. So body a is that of geom 2, body b that
of geom 1, and the rows of the Jacobian are those of MuJoCo's frame in the order t1, t2, n.

A contact point of a mechanism may be unable to move in some tangential direction: a planar arm cannot leave its plane,
and W = J M^-1 J^T is singular. There is no slip in that direction, so friction has no component there, and the result
does not depend on the inverse inertia in that direction. `reachable` replaces this entry by the inverse inertia along
the normal. The impact is then solved in the remaining directions, which for a planar arm is the plane. An impulse in
the replaced direction would move no joint.

If the point can move only along one oblique line, like the tip of a hammer that slides as it lifts, W is still
singular. W then gets the largest mobility that counts as zero, in every direction, and the impact is the limit of such
impacts. A contact that no impulse can open, because the point cannot move along the normal (a turntable on a floor),
gets no impulse.

| symbol | meaning | shape |
|---|---|---|
| k, n | slots for contacts; degrees of freedom (nv) | |
| J | velocity at each contact, along t1, t2, n, of geom 2 relative to geom 1, per qvel | (k, 3, n) |
| M | mass matrix | (n, n) |
| W | block (i, j): velocity change at contact i per impulse at j | (k, k, 3, 3) |
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Bool, Float

from jimpact.contact.body import definite_inverse
from jimpact.types import Array

try:
    from mujoco import mjx
except ImportError as error:
    raise ImportError("jimpact.interop.mjx needs MuJoCo MJX; install jimpact[mjx]") from error

__all__ = ["ContactSpace", "contact_space", "jacobians", "positions", "reachable"]

ROUND_OFF = 64  # x epsilon x the trace of W: less mobility than this counts as zero


class ContactSpace(NamedTuple):
    """The contacts of an `mjx.Data`. Slots that are not active are at rest, uncoupled, and separate."""

    active: Bool[Array, " k"]  # the contact touches, and an impulse can open it
    distance: Float[Array, " k"]  # negative: penetration, m
    jacobian: Float[Array, "k 3 n"]
    inverse_inertia: Float[Array, "k k 3 3"]
    velocity: Float[Array, "k 3"]
    effect: Float[Array, "k 3 n"]  # change of qvel per impulse: row i of contact c is M^-1 J^T for that direction


def contact_space(
    model: mjx.Model, data: mjx.Data, margin: Float[Array, ""] | float | None = None
) -> tuple[mjx.Data, ContactSpace]:
    """The data with positions, mass matrix and contacts updated to qpos, and the contacts.

    Contacts touch if their distance is below `margin` (m), or, if that is None, below the margins of the geoms.
    """
    data = mass_matrix(model, positions(model, data))
    contact = data._impl.contact
    limit = contact.includemargin if margin is None else jnp.asarray(margin, contact.dist.dtype)
    J = jnp.where((contact.dist < limit)[:, None, None], jacobians(model, data), 0)
    k, _, n = J.shape
    slots = jnp.arange(k)
    factor = cho_factor(mjx.full_m(model, data))
    effect = cho_solve(factor, J.reshape(k * 3, n).T).T.reshape(k, 3, n)
    W = jnp.einsum("iam,jbm->ijab", J, effect)
    own = W[slots, slots]
    active = own[:, 2, 2] > _no_mobility(own)
    J, effect = (jnp.where(active[:, None, None], a, 0) for a in (J, effect))
    W = jnp.where((active[:, None] & active)[..., None, None], W, 0)
    own = jnp.where(active[:, None, None], jax.vmap(reachable)(own), jnp.eye(3, dtype=own.dtype))
    velocity = jnp.where(active[:, None], J @ data.qvel, jnp.asarray([0, 0, 1], J.dtype))
    return data, ContactSpace(active, contact.dist, J, W.at[slots, slots].set(own), velocity, effect)


def _no_mobility(W: Float[Array, "*k 3 3"]) -> Float[Array, "*k"]:
    """The largest mobility that is round-off of W."""
    return ROUND_OFF * jnp.finfo(W.dtype).eps * jax.lax.stop_gradient(jnp.trace(W, axis1=-2, axis2=-1))


def reachable(W: Float[Array, "3 3"]) -> Float[Array, "3 3"]:
    """W, made positive definite.

    Tangential directions in which the contact point cannot move get the inverse inertia along the normal. If the point
    moves along one line only, all directions get the largest mobility that counts as zero.
    """
    W = 0.5 * (W + W.T)
    T, normal = W[:2, :2], W[2, 2]
    half, spread = 0.5 * jnp.trace(T), jnp.sqrt(jnp.square(0.5 * (T[0, 0] - T[1, 1])) + jnp.square(T[0, 1]))
    least, most = jax.lax.stop_gradient((half - spread, half + spread))
    none = _no_mobility(W)
    identity = jnp.eye(2, dtype=W.dtype)
    # The projector on the direction of least mobility, if that is zero.
    across = identity - jax.lax.stop_gradient(T) / jnp.where(most > none, most, 1)
    missing = jnp.where(least > none, 0, jnp.where(most > none, across, identity))
    W = W.at[:2, :2].add(normal * missing)
    _, definite = definite_inverse(jax.lax.stop_gradient(W) - none * jnp.eye(3, dtype=W.dtype))
    return W + jnp.where(definite, 0, 2 * none) * jnp.eye(3, dtype=W.dtype)


def jacobians(model: mjx.Model, data: mjx.Data) -> Float[Array, "k 3 n"]:
    """J of all slots, active or not; positions must be updated before."""
    contact = data._impl.contact
    bodies = jnp.asarray(model.geom_bodyid)[contact.geom]

    def one(point: Array, frame: Array, pair: Array) -> Array:
        (first, _), (second, _) = (mjx.jac(model, data, point, pair[side]) for side in (0, 1))
        return frame[jnp.array([1, 2, 0])] @ (second - first).T

    return jax.vmap(one)(contact.pos, contact.frame, bodies)


def positions(model: mjx.Model, data: mjx.Data) -> mjx.Data:
    """Positions of bodies, joint axes and contacts, from qpos."""
    for stage in (mjx.kinematics, mjx.com_pos, mjx.collision):
        data = stage(model, data)
    return data


def mass_matrix(model: mjx.Model, data: mjx.Data) -> mjx.Data:
    for stage in (mjx.tendon, mjx.crb, mjx.tendon_armature):
        data = stage(model, data)
    return data
