"""Two mechanisms over a floor, and MJX's own contact tuned for a coefficient of restitution.

MJX's contact is a spring with a damper, k and b per unit of effective mass, which pushes and does not pull. For a
contact that is hit by a mass alone, the velocity left when the push ends is (Schwager & Poeschel 2007)

    e = exp(-(beta / w) (pi - atan(2 beta w / (w^2 - beta^2)))),   beta = b / 2,  w^2 = k - beta^2

with the angle in (0, pi). `tuned` solves it for b, given a spring whose contact lasts a number of steps.
"""

from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import mjx
from scipy.optimize import brentq

FRICTION = 0.3
CONTACT_STEPS = 10  # of the step, half a period of the undamped spring: fewer are not resolved
CUBE = """<mujoco>
<option integrator="RK4"/>
<worldbody>
  <geom type="plane" size="2 2 1" friction="0.3"/>
  <body><freejoint/><geom type="box" size=".05 .05 .05" mass="0.37" friction="0.3"/></body>
</worldbody></mujoco>"""
ARM = """<mujoco>
<option integrator="RK4"/>
<default><geom contype="0" conaffinity="0" friction="0.3"/></default>
<worldbody>
  <geom type="plane" size="2 2 1" contype="1"/>
  <body pos="0 0 0.5">
    <joint type="hinge" axis="0 1 0" damping="0.01"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".02" mass="1"/>
    <body pos=".4 0 0">
      <joint type="hinge" axis="0 1 0" damping="0.01"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="0.5"/>
      <geom type="sphere" pos=".3 0 0" size=".03" mass=".1" conaffinity="1"/>
    </body>
  </body>
</worldbody></mujoco>"""
TURN = np.array([0.9, 0.2, 0.3, 0.1]) / np.linalg.norm([0.9, 0.2, 0.3, 0.1])
CASES: dict[str, tuple[str, list[float], list[float]]] = {
    "cube": (CUBE, [0, 0, 0.3, *TURN], [0.5, 0, 0, 3, 2, 1]),
    "arm": (ARM, [-0.2, 0.6], [0, 0]),
}


def built(name: str) -> tuple[Any, Any]:
    """Model and first data of a case."""
    source, qpos, qvel = CASES[name]
    model = mjx.put_model(mujoco.MjModel.from_xml_string(source))
    data = mjx.make_data(model)
    return model, data.replace(qpos=jnp.asarray(qpos, float), qvel=jnp.asarray(qvel, float))


def rebound(damping: float, stiffness: float) -> float:
    """Coefficient of restitution of a mass on a spring that only pushes."""
    beta = damping / 2
    w = np.sqrt(stiffness - beta**2)
    return float(np.exp(-(beta / w) * (np.pi - np.arctan2(2 * beta * w, w**2 - beta**2))))


def tuned(restitution: float, step: float) -> tuple[float, float]:
    """MuJoCo's solref, in its form (-stiffness, -damping)."""
    stiffness = (np.pi / (CONTACT_STEPS * step)) ** 2
    most = 2 * np.sqrt(stiffness) * (1 - 1e-9)
    if restitution <= rebound(most, stiffness):  # critical damping, the least that a spring can do
        return -stiffness, -most
    damping = brentq(lambda b: rebound(b, stiffness) - restitution, 0, most) if restitution < 1 else 0.0
    return -stiffness, -damping
