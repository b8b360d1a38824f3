"""Runs of both kinds of contact, and the coefficient of restitution that each shows at its first impact.

Measured is the ratio of the normal velocities of the material point that touches, just after and just before: jimpact
tells both at the instant of the impact. MJX's contact takes time: before is the last step without contact, after the
first without contact again, and the velocity that gravity gives meanwhile (g times the time of contact) is not taken
out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from mujoco import mjx

from experiments.mjx.models import FRICTION, built
from jimpact.interop import mjx as impacts
from jimpact.interop.mjx_contact import jacobians, positions

CHUNK = 50  # steps of one call of a program
LAW = "newton"  # its restitution is the ratio of normal velocities


class Run(NamedTuple):
    """Heights over time, and the restitution of the first impact; a row for each lane."""

    time: np.ndarray
    height: np.ndarray
    measured: np.ndarray


def with_jimpact(case: str, restitution: np.ndarray, step: float, end: float) -> Run:
    model, data = built(case)
    model = model.replace(opt=model.opt.replace(timestep=jnp.asarray(step)))

    def one(data: Any, e: Any) -> tuple[Any, dict[str, Any]]:
        after = impacts.step(model, data, FRICTION, e, law=LAW)
        order = after.contacts.order[:, 0]
        seen = {"qpos": after.data.qpos, "qvel": after.data.qvel, "order": order, "time": after.data.time}
        pick = lambda v: jnp.take_along_axis(v[..., 2], jnp.maximum(order, 0)[:, None], 1)[:, 0]  # noqa: E731
        # By the joints: what the change of all speeds does to the contact point.
        change = jnp.einsum("pka,pkan->pn", after.contacts.impulse, after.space.effect)
        moved = after.space.velocity + jnp.einsum("pkan,pn->pka", after.space.jacobian, change)
        return after.data, seen | {"before": pick(after.space.velocity), "after": pick(moved)}

    seen = _history(one, data, restitution, round(end / step))
    first = (seen["order"] >= 0).reshape(len(restitution), -1).argmax(1)
    before, after = (
        seen[name].reshape(len(restitution), -1)[range(len(restitution)), first] for name in ("before", "after")
    )
    return Run(seen["time"][0], _height(case, seen["qpos"]), -after / before)


def with_mjx(case: str, solref: np.ndarray, step: float, end: float) -> Run:
    model, data = built(case)
    # RK4 would evaluate the solver four times in a step, and stiff contacts gain nothing from it.
    model = model.replace(opt=model.opt.replace(timestep=jnp.asarray(step), integrator=mjx.IntegratorType.EULER))

    def one(data: Any, pair: Any) -> tuple[Any, dict[str, Any]]:
        soft = model.replace(geom_solref=jnp.broadcast_to(pair, model.geom_solref.shape))
        after = mjx.step(soft, data)
        there = positions(model, after)
        touching = there._impl.contact.dist < 0
        speed = (jacobians(model, there) @ after.qvel)[:, 2]
        return after, {"qpos": after.qpos, "qvel": after.qvel, "time": after.time, "touching": touching, "speed": speed}

    seen = _history(one, data, solref, round(end / step))
    measured = [
        _first(model, data, touch, q, v)
        for touch, q, v in zip(seen["touching"], seen["qpos"], seen["qvel"], strict=True)
    ]
    return Run(seen["time"][0], _height(case, seen["qpos"]), np.array(measured))


def _history(one: Callable[..., Any], data: Any, values: np.ndarray, steps: int) -> dict[str, np.ndarray]:
    """What every step of every lane tells: arrays (lanes, steps, ...)."""

    @jax.jit
    def chunk(data: Any) -> Any:
        lane = lambda data, value: lax.scan(lambda d, _: one(d, value), data, None, CHUNK)  # noqa: E731
        return jax.vmap(lane)(data, jnp.asarray(values))

    data = jax.tree.map(lambda a: jnp.broadcast_to(a, (len(values), *jnp.shape(a))), data)
    parts = []
    for _ in range(-(-steps // CHUNK)):
        data, seen = chunk(data)
        parts.append(jax.tree.map(np.asarray, seen))
    return jax.tree.map(lambda *a: np.concatenate(a, 1), *parts)


def _first(model: Any, data: Any, touching: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> float:
    """Restitution of the first contact of one lane: the point is that of the deepest contact, moving with its body."""
    closed = touching.any(-1)
    start = int(closed.argmax())
    end = start + int((~closed[start:]).argmax())
    if not closed.any() or end == start:
        return float("nan")  # it did not hit, or did not leave
    there = jax.jit(positions)(model, data.replace(qpos=jnp.asarray(qpos[start])))
    contact = there._impl.contact
    slot = int(np.argmin(contact.dist))
    body = int(model.geom_bodyid[int(contact.geom[slot, 1])])
    local = there.xmat[body].T @ (contact.pos[slot] - there.xpos[body])

    def normal_velocity(index: int) -> float:
        moved = jax.jit(positions)(model, data.replace(qpos=jnp.asarray(qpos[index])))
        point = moved.xpos[body] + moved.xmat[body] @ local
        jacobian, _ = mjx.jac(model, moved, point, jnp.asarray(body))
        return float(jacobian.T[2] @ qvel[index])

    return -normal_velocity(end) / normal_velocity(start - 1)


def _height(case: str, qpos: np.ndarray) -> np.ndarray:
    """Of the centre of the cube, or of the tip of the arm."""
    if case == "cube":
        return qpos[..., 2]
    first, second = qpos[..., 0], qpos[..., 0] + qpos[..., 1]
    return 0.5 - 0.4 * np.sin(first) - 0.3 * np.sin(second)
