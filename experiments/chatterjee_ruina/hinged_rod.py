"""A hinged rod as an intact mechanism, and as a free rod with two contacts: section 6.5.

Source: Chatterjee & Ruina 1998. The hinge is at the origin, the wall upright on the right, normal -x.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Grid, claim, new

from .sequence_forms import Hinged, Material

__all__ = ["hinged_rod"]

FEW = 3  # impacts of a sequence that ends by itself
ACROSS, TURN = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def hinged_rod(given: Hinged, material: Material) -> tuple[list[Finding], Grid]:
    e, mu = (jnp.asarray(a.ravel()) for a in np.meshgrid(given.restitution, given.friction, indexing="ij"))
    own = {"law": "chatterjee_ruina", "tangential_restitution": material.tangential_restitution}
    one = jax.jit(jax.vmap(partial(_intact, given=given, own=own)))(mu, e)
    many = jax.jit(jax.vmap(partial(_contacts, given=given, own=own)))(mu, e)
    intact = np.asarray(one.speeds[:, 3]) / given.speed
    split = np.asarray(many.bodies.angular_velocity[:, 0, 2]) / given.speed
    impacts = np.asarray(many.contacts.impacts)
    done = np.asarray(many.contacts.outcome) == jimpact.Outcome.OK
    rows = [[*map(float, row[:4]), int(row[4])] for row in zip(e, mu, intact, split, impacts, strict=True)]
    columns = ("e", "friction", "intact: rotation after / before", "two contacts: after / before", "impacts")
    short, long = impacts <= FEW, impacts > FEW
    findings = [
        claim(
            "CR-6.5",
            "6.5",
            "impacts of a rod treated as free, with a hinge that always stops",
            "may or may not be an infinite sequence",
            f"{int(short.sum())} of {len(impacts)} end after {FEW} or less, {int(long.sum())} go on until they are cut "
            f"({impacts.max()} impacts to 1e-12 of the energy)",
            holds=bool(done.all() and short.any() and long.any()),
        ),
        new(
            "CR-6.5-choice",
            "6.5",
            "rotation after / before: intact mechanism, and two contacts",
            f"differ by {np.abs(intact - split).min():.3f} to {np.abs(intact - split).max():.3f}",
            "The choice of model matters: each stop at the hinge takes energy that an intact mechanism keeps.",
        ),
    ]
    return findings, Grid("A hinged rod that strikes a wall, by the new law", columns, rows)


def _along(angle_deg: float) -> np.ndarray:
    angle = np.radians(angle_deg)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _intact(friction: jax.Array, restitution: jax.Array, given: Hinged, own: dict) -> jimpact.MechanismCollision:
    """Speeds: hinge along x, y and z (m/s), and rotation (rad/s); the hinge is heavy."""
    tip = np.cross(TURN, given.length * _along(given.angle_deg))
    M = np.diag([(given.heavy + 1) * given.mass] * 3 + [given.mass * given.length**2 / 3])
    M[:3, 3] = M[3, :3] = 0.5 * given.mass * tip
    J = jimpact.contact_frame(jnp.asarray(-ACROSS)) @ np.concatenate([np.eye(3), tip[:, None]], 1)
    # The wall is on the far side: the rod is body a, and its tip moves against the normal -x.
    return jimpact.collide_mechanism(
        jnp.asarray(M), J, given.speed * np.array([0.0, 0, 0, 1]), friction, restitution, **own
    )


def _contacts(friction: jax.Array, restitution: jax.Array, given: Hinged, own: dict) -> jimpact.ManyCollision:
    """A free rod that touches the wall with its tip (contact 0) and the hinge with its other end (contact 1)."""
    arm, spin = 0.5 * given.length * _along(given.angle_deg), given.speed * TURN
    inertia = given.mass * given.length**2 / 12 * np.eye(3)
    rod = jimpact.Body(*map(jnp.asarray, (given.mass, inertia, arm, np.cross(spin, arm), spin)))
    bodies = jax.tree.map(lambda *fields: jnp.stack(fields), rod, jimpact.immovable())
    points, normals = np.stack([2 * arm, np.zeros(3)]), np.stack([-ACROSS, np.array([0.0, 1.0, 0.0])])
    pairs = [(0, 1), (0, 1)]
    return jimpact.collide_bodies(
        bodies, pairs, points, normals, friction, restitution, hinge=[False, True], most=given.most, **own
    )
