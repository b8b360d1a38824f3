"""A rod that lands flat: both ends approach equally fast, and the outcome depends on which is taken first."""

from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import ArrayLike
from shared import ACROSS, ROUND_OFF, SMOOTH

import jimpact

__all__ = ["ends", "land", "show"]


def ends(length: float) -> Array:
    """The left end and the right end, from the middle."""
    return 0.5 * length * jnp.array([-1.0, 1.0])[:, None] * ACROSS


def land(restitution: ArrayLike, *, mass: float, length: float, speed: float, **tie: Any) -> jimpact.ManyCollision:
    """A thin rod along x falls on a floor; contact 0 is its left end, 1 its right end. `tie`: priority or key."""
    inertia = mass * length**2 / 12 * jnp.diag(jnp.array([1e-4, 1.0, 1.0]))  # about its own axis nothing happens
    rod = jimpact.Body(jnp.asarray(mass), inertia, jnp.zeros(3), jnp.array([0.0, 0.0, -speed]), jnp.zeros(3))
    bodies = jax.tree.map(lambda *fields: jnp.stack(fields), rod, jimpact.immovable())
    normals = jnp.array([[0.0, 0.0, 1.0]] * 2)
    return jimpact.collide_bodies(bodies, [(0, 1)] * 2, ends(length), normals, 0.0, restitution, **SMOOTH, **tie)


def show(given: dict[str, Any], out: Path) -> list[str]:
    """Print the table; return the promises that were broken."""
    run, points = given["run"], ends(given["rod"]["length"])
    fall = jax.jit(partial(land, run["restitution"], **given["rod"]))
    keys = jax.random.split(jax.random.key(run["seed"]), run["draws"])
    drawn = jax.jit(jax.vmap(lambda key: land(run["restitution"], key=key, **given["rod"])))(keys)
    right, left = (fall(priority=points @ direction) for direction in (ACROSS, -ACROSS))
    print("tie decided by   first  impacts  left end m/s  right end m/s  spin rad/s")
    for name, after in {"lowest index": fall(), "direction +x": right, "direction -x": left}.items():
        print(_line(name, after))
    first = np.asarray(drawn.contacts.order[:, 0])
    for end in np.unique(first):
        lane = int(np.argmax(first == end))
        print(_line(f"key, {np.mean(first == end):.1%}", jax.tree.map(lambda field, lane=lane: field[lane], drawn)))
    spins = np.asarray(drawn.bodies.angular_velocity[:, 0, 1])
    print(f"{len(spins)} keys: spin {spins.mean():.4f} +- {spins.std():.4f} rad/s (mean, standard deviation)")
    unlike = jnp.abs(left.contacts.impulse - right.contacts.impulse[::-1]).max()
    scale = given["rod"]["mass"] * given["rod"]["speed"]
    return ["the two orders are not mirror images"] if unlike > ROUND_OFF * scale else []


def _line(name: str, after: jimpact.ManyCollision) -> str:
    first, up = ("left", "right")[int(after.contacts.order[0])], after.contacts.velocity[:, 2]
    spin, impacts = float(after.bodies.angular_velocity[0, 1]), int(after.contacts.impacts)
    return f"{name:15s}  {first:5s} {impacts:8d} {up[0]:13.5f} {up[1]:14.5f} {spin:11.5f}"
