"""A coefficient of restitution for MuJoCo MJX: jimpact computes impacts, MJX the motion between them.

Use one of two functions::

    impact = apply_impacts(model, data, friction=0.3, restitution=0.6)   # contacts that touch now
    impact = step(model, data, friction=0.3, restitution=0.6)            # in place of mjx.step
    data = impact.data

Both are compiled, and map over batches with `jax.vmap`. Contacts that touch at once collide one after another, as in
`jimpact.resolve_contacts`. `jimpact.interop.mjx_contact` describes frames, conventions, and contact points that cannot
move in all directions.

`step` advances without contact forces to the instant of the first impact, lets the contact collide, and continues to
the end of the step. Contacts that approach more slowly than `rest_speed` do not bounce: they stop at this end
(restitution 0, with friction), and their penetration is removed, so that bodies rest and slide without sinking. A body
that rests on several corners creeps a little, since its contacts stop one after another. Choose the integrator RK4 in
the model: then free flight is exact. With other integrators, energy and time of flight are correct only to first order
in the step.

`apply_impacts` is differentiable. `step` finds the instant of the impact by iteration; its derivative with respect to
state and materials raises an error.
"""

from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from jimpact.collision.sequence import Contacts, resolve_contacts
from jimpact.control_flow import anywhere
from jimpact.interop.mjx_contact import ContactSpace, contact_space, mjx, reachable
from jimpact.interop.mjx_motion import displaced, first_impact
from jimpact.outcome import Outcome
from jimpact.types import Array, ArrayLike, Scalar, Whole

__all__ = ["ContactSpace", "ImpactStep", "apply_impacts", "contact_space", "reachable", "step"]

ARRAYS = ("static_friction", "tangential_restitution", "mixing", "priority", "key")
MOST = 64  # as in `resolve_contacts`
STATIC = ("law", "hinge", "most", "decay", "rule", "accuracy")


class ImpactStep(NamedTuple):
    """Data after the impacts, and their contacts; fields of `step` have a first axis for the parts of the step."""

    data: mjx.Data
    contacts: Contacts  # impulses and velocities after, in the contact frames, by slot
    space: ContactSpace  # input of the impacts: Jacobians, inverse inertia, velocities before
    time: Scalar  # time of the impact, s


def apply_impacts(
    model: mjx.Model,
    data: mjx.Data,
    friction: Float[ArrayLike, "..."] | None,
    restitution: Float[ArrayLike, "..."],
    *,
    law: str = "stronge",
    margin: Float[ArrayLike, ""] | None = None,
    **options: Any,
) -> ImpactStep:
    """Let the contacts that touch and approach collide, and return `data` with qvel after, and updated contacts.

    Args:
        model, data: model and data of MJX with the JAX implementation. Contacts are searched at `data.qpos`.
        friction, restitution: one number for all contacts, or one for each slot of `data`; None for friction takes
            the sliding friction of the geoms.
        law: as in `jimpact.solve`.
        margin: contacts touch if their distance is below it (m), or, if it is None, below the margins of the geoms.
        options: as in `jimpact.resolve_contacts`.

    Returns:
        ImpactStep: if an impact has no answer (`contacts.outcome` is INVALID or OUTSIDE), qvel is nan; if `most`
        impacts did not suffice (UNFINISHED), qvel is the velocity after the last of them.
    """
    _check(model, data, options)
    friction, restitution = _material(friction, restitution, data)
    arrays, static = _split(law, options)
    return _apply(model, data, friction, restitution, margin, arrays, static)


def step(
    model: mjx.Model,
    data: mjx.Data,
    friction: Float[ArrayLike, "..."] | None,
    restitution: Float[ArrayLike, "..."],
    *,
    law: str = "stronge",
    rest_speed: Float[ArrayLike, ""] | None = None,
    impacts: int = 4,
    **options: Any,
) -> ImpactStep:
    """A time step of MJX, of `model.opt.timestep`, in which all contacts are impacts by jimpact.

    Args:
        model, data, friction, restitution, law, options: as in `apply_impacts`.
        rest_speed: contacts that approach more slowly (m/s) do not bounce; if None, the speed that gravity adds in two
            steps.
        impacts: largest number of instants of impact in one step; contacts that close after the last but one collide
            at the end of the step.

    Returns:
        ImpactStep: `contacts`, `space` and `time` have a first axis of length `impacts`, with one entry for each part
        of the step. A part of zero duration, or without a contact at its end, has the outcome SEPARATING.
    """
    _check(model, data, options)
    if isinstance(impacts, bool) or not isinstance(impacts, int) or impacts < 1:
        raise ValueError(f"impacts={impacts!r}; pass a whole number of at least 1")
    friction, restitution = _material(friction, restitution, data)
    arrays, static = _split(law, options)
    if rest_speed is None:
        rest_speed = 2 * jnp.linalg.norm(model.opt.gravity) * model.opt.timestep
    data = data.replace(qpos=_constant(data.qpos), qvel=_constant(data.qvel))
    friction, restitution, arrays = jax.tree.map(_constant, (friction, restitution, arrays))
    return _step(model, data, friction, restitution, rest_speed, arrays, static, impacts)


@jax.custom_jvp
def _constant(a: Array) -> Array:
    """The same array, whose derivative raises an error: the derivative of the instant of an impact would be wrong."""
    return a


@_constant.defjvp
def _constant_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    raise TypeError(
        "step has no derivative: the instant of an impact is found by iteration; "
        "differentiate apply_impacts, or jimpact.simulate"
    )


@partial(jax.jit, static_argnames=("static",))
def _apply(
    model: mjx.Model,
    data: mjx.Data,
    friction: Any,
    restitution: Any,
    margin: Any,
    arrays: dict[str, Any],
    static: tuple,
) -> ImpactStep:
    data, space = contact_space(model, data, margin)
    contacts = _collide(data, space, friction, restitution, arrays, static)
    return ImpactStep(_pushed(data, space, contacts), contacts, space, data.time)


@partial(jax.jit, static_argnames=("static", "impacts"))
def _step(
    model: mjx.Model,
    data: mjx.Data,
    friction: Any,
    restitution: Any,
    rest_speed: Any,
    arrays: dict[str, Any],
    static: tuple,
    impacts: int,
) -> ImpactStep:
    dtype = data.qpos.dtype

    def part(carry: tuple[mjx.Data, Scalar], index: Whole) -> tuple[tuple[mjx.Data, Scalar], ImpactStep]:
        data, left = carry
        slow = jnp.where(index == impacts - 1, jnp.inf, rest_speed).astype(dtype)
        moved, duration = first_impact(model, data, left, slow)
        moved, space = contact_space(model, moved, 0)
        bounces = -space.velocity[:, 2] > rest_speed
        contacts = _collide(moved, space, friction, jnp.where(bounces, restitution, 0), arrays, static)
        after = _pushed(moved, space, contacts)
        after = after.replace(qpos=displaced(model, after.qpos, _way_out(space)))
        return (after, left - duration), ImpactStep(None, contacts, space, after.time)  # type: ignore[arg-type]

    def rest(carry: tuple[mjx.Data, Scalar], index: Whole) -> tuple[tuple[mjx.Data, Scalar], ImpactStep]:
        return carry, _nothing(carry[0], dict(static).get("most", MOST))

    def one(carry: tuple[mjx.Data, Scalar], index: Whole) -> tuple[tuple[mjx.Data, Scalar], ImpactStep]:
        return lax.cond(anywhere(carry[1] > 0), part, rest, carry, index)

    length = jnp.asarray(model.opt.timestep, dtype)
    (last, _), parts = lax.scan(one, (data, length), jnp.arange(impacts))
    return parts._replace(data=last)


def _way_out(space: ContactSpace) -> Float[Array, " n"]:
    """The displacement that ends all penetration, computed like impacts with distances instead of velocities."""
    gap = jnp.where(space.active, space.distance, 1)
    apart = jnp.zeros_like(space.velocity).at[:, 2].set(gap)
    push = resolve_contacts(space.inverse_inertia, apart, 0.0, 0.0, law="smith")
    return jnp.einsum("ka,kan->n", push.impulse, space.effect)


def _nothing(data: mjx.Data, most: int) -> ImpactStep:
    """The result of a part of a step that has no time left."""
    k, n = data._impl.ncon, data.qvel.shape[-1]
    zeros = lambda *shape: jnp.zeros(shape, data.qpos.dtype)  # noqa: E731
    space = ContactSpace(jnp.zeros(k, bool), zeros(k), zeros(k, 3, n), zeros(k, k, 3, 3), zeros(k, 3), zeros(k, 3, n))
    counts = jnp.asarray(int(Outcome.SEPARATING), jnp.int32), jnp.asarray(0, jnp.int32), jnp.full(most, -1, jnp.int32)
    return ImpactStep(None, Contacts(zeros(k, 3), zeros(k, 3), *counts, zeros()), space, data.time)  # type: ignore[arg-type]


def _collide(
    data: mjx.Data, space: ContactSpace, friction: Any, restitution: Any, arrays: dict[str, Any], static: tuple
) -> Contacts:
    if friction is None:
        contact = data._impl.contact
        friction = jnp.where(contact.dim > 1, contact.friction[:, 0], 0)
    done = resolve_contacts(space.inverse_inertia, space.velocity, friction, restitution, **arrays, **dict(static))
    known = jnp.isfinite(data.qpos).all() & jnp.isfinite(data.qvel).all()
    outcome = jnp.where(known, done.outcome, Outcome.INVALID).astype(jnp.int32)
    impulse, velocity = (jnp.where(known, a, jnp.nan) for a in (done.impulse, done.velocity))
    return done._replace(impulse=impulse, velocity=velocity, outcome=outcome)


def _pushed(data: mjx.Data, space: ContactSpace, contacts: Contacts) -> mjx.Data:
    return data.replace(qvel=data.qvel + jnp.einsum("ka,kan->n", contacts.impulse, space.effect))


def _split(law: Any, options: dict[str, Any]) -> tuple[dict[str, Any], tuple]:
    """Options that are arrays, and options that select the program."""
    arrays = {name: value for name, value in options.items() if name in ARRAYS and value is not None}
    chosen = {"law": law} | {name: value for name, value in options.items() if name in STATIC}
    fixed = {name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items()}
    for name, value in fixed.items():
        if not isinstance(value, Hashable):
            raise TypeError(f"{name} is a {type(value).__name__}; pass a name, a number or a tuple of them")
    return arrays, tuple(sorted(fixed.items()))


def _material(friction: Any, restitution: Any, data: mjx.Data) -> tuple[Array | None, Array]:
    """Numbers of the dtype of the data."""
    if restitution is None:
        raise TypeError("restitution is None; pass a number from 0 to 1, or one for each slot of contacts")
    convert = partial(jnp.asarray, dtype=data.qpos.dtype)
    try:
        return None if friction is None else convert(friction), convert(restitution)
    except (TypeError, ValueError) as error:
        raise TypeError("friction and restitution: pass numbers, or arrays with one for each slot") from error


def _check(model: mjx.Model, data: mjx.Data, options: dict[str, Any]) -> None:
    if not isinstance(model, mjx.Model) or not isinstance(data, mjx.Data):
        raise TypeError(
            f"model and data are a {type(model).__name__} and a {type(data).__name__}; "
            "pass mjx.put_model(model) and mjx.make_data(model)"
        )
    if model.impl != mjx.Impl.JAX or data.impl != mjx.Impl.JAX:
        raise ValueError(f"the implementation is {model.impl.name}; pass mjx.put_model(model, impl='jax')")
    for name, n in (("qpos", model.nq), ("qvel", model.nv)):
        array = getattr(data, name)
        if array.shape != (n,):
            raise ValueError(f"{name} has shape {array.shape}, the model {n}; map over batches with jax.vmap")
        if array.dtype != data.qpos.dtype or array.dtype not in (jnp.float32, jnp.float64):
            raise TypeError(f"{name} has dtype {array.dtype}; pass float32 or float64, the same in qpos and qvel")
    disabled = bool(model.opt.disableflags & mjx.DisableBit.CONTACT)
    if disabled or data._impl.ncon == 0:
        why = "contacts are disabled in the model" if disabled else "no geoms of the model can touch each other"
        raise ValueError(f"{why}; pass a model with contacts, and data made from it")
    unknown = sorted(set(options) - set(ARRAYS) - set(STATIC))
    if unknown:
        raise TypeError(f"{unknown[0]} is not an option; pass one of {', '.join((*STATIC, *ARRAYS))}")
