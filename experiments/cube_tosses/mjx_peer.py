"""The same impacts by MuJoCo MJX's own contact: a free body whose corner meets a plane.

The inertia is isotropic, so the cube starts with world axes and its corner, a small ball, at the measured place. It
starts where the corner touches, without gravity, as the measured velocities are those at the instant of the impact, and
runs until the corner has left. Tuned are the sliding friction and the damping of the contact, for a spring that
is stiff enough for a contact of the given duration; the cone is elliptic.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import mjx
from scipy.optimize import minimize

from experiments.cube_tosses.data import MASS, Tosses, score

CORNER = 0.0044  # m, radius
STEP = 1e-4  # s
BEYOND = 4  # a run lasts so many durations of an undamped contact


def build(inertia: float) -> Any:
    source = f"""<mujoco>
    <option timestep="{STEP}" gravity="0 0 0" cone="elliptic" iterations="20" ls_iterations="10"/>
    <worldbody><geom type="plane" size="1 1 1"/>
    <body><freejoint/><inertial pos="0 0 0" mass="{MASS}" diaginertia="{inertia} {inertia} {inertia}"/>
    <geom type="sphere" size="{CORNER}" solimp="0.99 0.99 0.001 0.5 2"/></body></worldbody></mujoco>"""
    return mjx.put_model(mujoco.MjModel.from_xml_string(source))


@partial(jax.jit, static_argnames="steps")
def after(model: Any, arm: Any, before: Any, stiffness: Any, damping: Any, friction: Any, steps: int) -> Any:
    """Velocities and angular velocities after the contact, of a batch of impacts, and the last distances."""
    solref = jnp.broadcast_to(-jnp.stack([stiffness, damping]), model.geom_solref.shape)
    soft = model.replace(geom_solref=solref, geom_friction=model.geom_friction.at[:, 0].set(friction))

    def one(arm: Any, before: Any) -> Any:
        own = soft.replace(geom_pos=soft.geom_pos.at[1].set(arm + jnp.asarray([0, 0, CORNER])))
        data = mjx.make_data(own)
        data = data.replace(qpos=data.qpos.at[2].set(-arm[2]), qvel=before)
        data = jax.lax.fori_loop(0, steps, lambda _, d: mjx.step(own, d), data)
        # qvel turns about body axes, which have moved since.
        world = mjx.kinematics(own, data)
        return jnp.concatenate([data.qvel[:3], world.xmat[1] @ data.qvel[3:]]), data._impl.contact.dist[0]

    return jax.vmap(one)(arm, before)


def predict(
    model: Any, tosses: Tosses, duration: float, ratio: float, friction: float
) -> tuple[np.ndarray, np.ndarray]:
    """Velocities after, and whether the corner has left; `ratio` is that of the damping to the critical one."""
    spring = np.pi / duration
    steps = round(BEYOND * duration / STEP)
    found = after(model, tosses.arm, tosses.before, spring**2, 2 * ratio * spring, friction, steps)
    return np.asarray(found[0]), np.asarray(found[1]) > 0


def tune(model: Any, tosses: Tosses, duration: float, gyration: float) -> tuple[float, float]:
    """Damping ratio and friction with the least error on these impacts."""

    def error(numbers: np.ndarray) -> float:
        ratio, friction = np.abs(numbers)
        return score(tosses, predict(model, tosses, duration, ratio, friction)[0], gyration).speed

    best = minimize(error, [0.4, 0.2], method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-5, "maxfev": 60})
    ratio, friction = np.abs(best.x)
    return float(ratio), float(friction)
