"""Newton's cradle: balls in a row, of which the first ones arrive together."""

from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike
from shared import ACROSS, ROUND_OFF, SMOOTH, balls, between, kinetic_energy

import jimpact

__all__ = ["cradle", "show"]


def cradle(
    restitution: ArrayLike, *, count: int, moving: int, speed: float, mass: float, radius: float
) -> jimpact.ManyCollision:
    """`count` balls in a row along x; the first `moving` of them arrive with `speed`."""
    centres = 2 * radius * jnp.arange(count)[:, None] * ACROSS
    velocities = jnp.where(jnp.arange(count)[:, None] < moving, speed, 0) * ACROSS
    pairs = [(i + 1, i) for i in range(count - 1)]
    bodies = balls(centres, velocities, mass, radius)
    return jimpact.collide_bodies(bodies, pairs, *between(pairs, centres), 0.0, restitution, **SMOOTH)


def show(given: dict[str, Any], out: Path) -> list[str]:
    """Print the table; return the promises that were broken."""
    run, e, broken = given["run"], jnp.asarray(given["run"]["restitution"]), []
    print("arrive  restitution  impacts  energy left  speeds after, first to last ball (m/s)")
    for moving in run["moving"]:
        one = partial(cradle, count=run["balls"], moving=moving, speed=run["speed"], **given["ball"])
        after = jax.jit(jax.vmap(one))(e)
        speeds = np.asarray(after.bodies.velocity[..., 0])
        before = 0.5 * moving * given["ball"]["mass"] * run["speed"] ** 2
        left = np.asarray(kinetic_energy(after.bodies)) / before
        for lane, row in enumerate(speeds):
            listed = " ".join(f"{v + 0.0:8.5f}" for v in row)
            count = int(after.contacts.impacts[lane])
            print(f"{moving:6d} {float(e[lane]):12.2f} {count:8d} {left[lane]:12.5f}  {listed}")
        if np.abs(speeds.sum(-1) - moving * run["speed"]).max() > ROUND_OFF * run["speed"]:
            broken.append(f"{moving} arrive: momentum is not kept")
        if left.max() > 1 + ROUND_OFF:
            broken.append(f"{moving} arrive: energy is gained")
    return broken
