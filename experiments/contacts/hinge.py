"""A hinged rod strikes a wall: as a mechanism, and as two contacts of a free rod, one of them the hinge.

Source: Chatterjee & Ruina 1998, figure 8 and section 6.5. With a hinge that holds, the tip has one way to go, its
inverse inertia is singular, and the slip stops when compression ends. `collide_mechanism` comes to that limit as the
hinge becomes heavy; the limit itself, by Stronge's rule, is

    speed after / before = -e sqrt((n - mu t) / (n + mu t)),     0 if mu t >= n: the tip is jammed,

with n and t the shares of the tip's velocity across and along the wall.
"""

from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import ArrayLike
from shared import ACROSS, UP

import jimpact

__all__ = ["as_contacts", "as_mechanism", "held", "hinge_velocity", "show"]

NEAR = 1e-3  # the heaviest hinge is as near as this to the limit


def along(angle: ArrayLike) -> Array:
    """Unit vector from the hinge to the tip."""
    return jnp.cos(angle) * ACROSS + jnp.sin(angle) * UP


def as_mechanism(
    friction: ArrayLike,
    restitution: ArrayLike,
    *,
    hinge_mass: ArrayLike,
    mass: float,
    length: float,
    angle: float,
    speed: float,
) -> jimpact.MechanismCollision:
    """A rod on a hinge of mass `hinge_mass`; generalised speeds: hinge along x, y (m/s), rotation (rad/s)."""
    turn = length * jnp.stack([-jnp.sin(angle), jnp.cos(angle)])  # velocity of the tip for unit rotation
    M = jnp.diag((mass + hinge_mass) * jnp.array([1.0, 1.0, 0.0])).at[2, 2].set(mass * length**2 / 3)
    M = M.at[:2, 2].set(0.5 * mass * turn).at[2, :2].set(0.5 * mass * turn)
    tip = jnp.concatenate([jnp.eye(2), turn[:, None]], 1)
    J = jnp.array([[0.0, 1.0], [-1.0, 0.0]]) @ tip  # along the wall, and out of it
    return jimpact.collide_mechanism(M, J, speed * jnp.array([0.0, 0.0, 1.0]), friction, restitution)


def as_contacts(
    friction: ArrayLike,
    restitution: ArrayLike,
    *,
    mass: float,
    length: float,
    angle: float,
    speed: float,
    **options: Any,
) -> jimpact.ManyCollision:
    """A free rod that touches the wall with its tip (contact 0) and the ground with its hinge (contact 1)."""
    arm, spin = 0.5 * length * along(angle), speed * jnp.array([0.0, 0.0, 1.0])
    rod = jimpact.Body(jnp.asarray(mass), mass * length**2 / 12 * jnp.eye(3), arm, jnp.cross(spin, arm), spin)
    bodies = jax.tree.map(lambda *fields: jnp.stack(fields), rod, jimpact.immovable())
    points, normals = jnp.stack([2 * arm, jnp.zeros(3)]), jnp.stack([-ACROSS, UP])
    return jimpact.collide_bodies(
        bodies, [(0, 1)] * 2, points, normals, friction, restitution, hinge=[False, True], **options
    )


def held(friction: Array, restitution: Array | float, *, angle: float) -> Array:
    """Speed after / before of a rod whose hinge holds."""
    n, t = jnp.abs(jnp.sin(angle)), jnp.abs(jnp.cos(angle))
    return -restitution * jnp.sqrt(jnp.maximum(n - friction * t, 0) / (n + friction * t))


def hinge_velocity(after: jimpact.ManyCollision) -> Array:
    """Of the end of the rod that is on the hinge, at the origin (m/s)."""
    rod = jax.tree.map(lambda field: field[0], after.bodies)
    return rod.velocity - jnp.cross(rod.angular_velocity, rod.position)


def show(given: dict[str, Any], out: Path) -> list[str]:
    """Print the table; return the promises that were broken."""
    run = given["run"]
    rod = {**given["rod"], "angle": np.deg2rad(given["rod"]["angle_deg"])}
    del rod["angle_deg"]
    e, mu = (jnp.asarray(a).ravel() for a in np.meshgrid(run["restitution"], run["friction"], indexing="ij"))
    masses = given["rod"]["mass"] * jnp.asarray(run["hinge_mass"])
    one = lambda mu, e, mass: as_mechanism(mu, e, hinge_mass=mass, **rod)  # noqa: E731
    mechanism = jax.jit(jax.vmap(jax.vmap(one, (None, None, 0)), (0, 0, None)))(mu, e, masses)
    contacts = jax.jit(jax.vmap(partial(as_contacts, most=run["most"], **rod)))(mu, e)
    by_mass = np.asarray(mechanism.speeds[..., 2]) / rod["speed"]
    limit = np.asarray(held(mu, e, angle=rod["angle"]))
    sequence = np.asarray(contacts.bodies.angular_velocity[:, 0, 2]) / rod["speed"]
    left = np.abs(np.asarray(jax.vmap(hinge_velocity)(contacts))).max(-1)
    print("speed of rotation after / before: rod on a hinge of so many rod masses, held, and as two contacts")
    print(
        "    e    mu " + "".join(f"{m:>10.0e}" for m in run["hinge_mass"]) + "      held  contacts  impacts  hinge m/s"
    )
    for i, row in enumerate(by_mass):
        numbers = "".join(f"{value:10.5f}" for value in (*row, limit[i] + 0.0, sequence[i]))
        print(
            f"{float(e[i]):5.2f} {float(mu[i]):5.2f} {numbers} {int(contacts.contacts.impacts[i]):8d} {left[i]:10.1e}"
        )
    broken = ["the heavy hinge does not come to the limit"] if np.abs(by_mass[:, -1] - limit).max() > NEAR else []
    broken += ["energy is gained"] if np.abs(sequence).max() > 1 else []
    done = (np.asarray(contacts.contacts.outcome) == jimpact.Outcome.OK).all()
    return broken + ([] if done else ["a sequence did not end; pass a greater most"])
