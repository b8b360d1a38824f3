"""Motion between impacts by MJX: a step without contact forces, of any length, and the instant of the first impact.

MJX cannot search for contacts without applying their forces, so a step uses data without any slots for contacts. MJX
applies equalities, limits, actuators, damping and the chosen integrator.

The instant is bracketed: before it no contact has a negative distance and approaches, after it one does. Newton's
method starts from the late end, where MJX reports the contact (it does not report open contacts of a box); a step that
leaves the bracket is replaced by bisection.
"""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Bool, Float, Int

from jimpact.interop.mjx_contact import ROUND_OFF, jacobians, mjx, positions
from jimpact.types import Array

__all__ = ["advance", "displaced", "first_impact", "with_state"]

DEPTH = {"float64": 1e-10, "float32": 1e-6}  # m, penetration at which the instant counts as found
MOST = 60  # iterations: bisection alone ends within round-off


class Search(NamedTuple):
    """A bracket of the instant of impact, in s after the start of the motion."""

    early: Float[Array, ""]  # before the impact
    late: Float[Array, ""]  # after the impact, or the end of the motion
    tried: Float[Array, ""]  # the next time to try
    found: mjx.Data  # data at the late end
    done: Bool[Array, ""]
    looks: Int[Array, ""]


def first_impact(
    model: mjx.Model, data: mjx.Data, duration: Float[Array, ""], slow: Float[Array, ""]
) -> tuple[mjx.Data, Float[Array, ""]]:
    """Data when a contact first closes faster than `slow` (m/s), or after `duration`; and the time of these data.

    The penetration of the contact is less than DEPTH, unless it was larger at the start of the motion.
    """
    deepest = DEPTH[data.qpos.dtype.name]
    resolution = 4 * jnp.finfo(data.qpos.dtype).eps * duration

    def look(search: Search) -> Search:
        moved = positions(model, advance(model, data, search.tried))
        distance = moved._impl.contact.dist
        J = jacobians(model, moved)[:, 2]
        approach = -(J @ moved.qvel)
        noise = ROUND_OFF * jnp.finfo(approach.dtype).eps * (jnp.abs(J) @ jnp.abs(moved.qvel))
        closing = (distance < 0) & (approach > jnp.maximum(slow, noise))
        hit = closing.any()
        early, late = jnp.where(hit, search.early, search.tried), jnp.where(hit, search.tried, search.late)
        depth = jnp.where(closing, -distance, 0)
        back = jnp.max(depth / jnp.where(closing, approach, 1))
        newton = late - back
        tried = jnp.where(hit & (newton > early), newton, 0.5 * (early + late))
        nothing = ~hit & (search.tried >= duration)
        enough = hit & (depth.max() < deepest)
        keep = hit | nothing
        found = with_state(search.found, moved, keep)
        done = nothing | enough | (late - early <= resolution)
        return Search(early, late, tried, found, done, search.looks + 1)

    zero = jnp.zeros_like(duration)
    start = Search(zero, duration, duration, data, jnp.asarray(False), jnp.asarray(0))
    end = lax.while_loop(lambda search: ~search.done & (search.looks < MOST), look, start)
    return end.found, end.late


def advance(model: mjx.Model, data: mjx.Data, duration: Float[Array, ""]) -> mjx.Data:
    """One step of MJX of this length without contact forces; positions of bodies are not updated."""
    flags = model.opt.disableflags | mjx.DisableBit.CONTACT
    free = model.replace(opt=model.opt.replace(disableflags=flags, timestep=duration))
    return with_state(data, mjx.step(free, with_state(mjx.make_data(free), data)))


def with_state(data: mjx.Data, other: mjx.Data, where: Bool[Array, ""] | bool = True) -> mjx.Data:
    """`data` with all fields of `other` that do not depend on slots for contacts."""
    names = [field.name for field in dataclasses.fields(data) if field.name != "_impl"]
    if where is True:
        return data.replace(**{name: getattr(other, name) for name in names})
    pairs = {name: (getattr(other, name), getattr(data, name)) for name in names}
    return data.replace(**{name: jnp.where(where, *pair) for name, pair in pairs.items()})


def displaced(model: mjx.Model, qpos: Float[Array, " q"], change: Float[Array, " n"]) -> Float[Array, " q"]:
    """qpos after a small displacement in the coordinates of qvel."""
    parts, q, v = [], 0, 0
    for kind in model.jnt_type:
        straight, turning = {0: (3, 3), 1: (0, 3)}.get(int(kind), (1, 0))
        parts.append(qpos[q : q + straight] + change[v : v + straight])
        q, v = q + straight, v + straight
        if turning:
            parts.append(_turned(qpos[q : q + 4], change[v : v + 3]))
            q, v = q + 4, v + 3
    return jnp.concatenate(parts)


def _turned(quaternion: Float[Array, "4"], turn: Float[Array, "3"]) -> Float[Array, "4"]:
    """The quaternion after a rotation about body axes, from the sine and cosine of half the angle."""
    square = jnp.sum(turn * turn)
    moving = square > 0
    angle = jnp.where(moving, jnp.sqrt(jnp.where(moving, square, 1)), 0)
    vector = turn * 0.5 * jnp.sinc(angle / (2 * jnp.pi))
    w, u = quaternion[0], quaternion[1:]
    cosine = jnp.cos(0.5 * angle)
    rotated = jnp.concatenate([(w * cosine - u @ vector)[None], w * vector + cosine * u + jnp.cross(u, vector)])
    return rotated / jnp.linalg.norm(rotated)
