"""Several contacts at once, as a sequence of single impacts.

Source: Chatterjee & Ruina 1998, section 6.4. The contact that approaches fastest collides as if it were alone. Its
impulse changes the velocities at all contacts (`inverse_inertia` couples contacts that share bodies). This is repeated
until no contact approaches. A simultaneous impact is ill-posed, and this sequence gives one plausible result.

* Ties. If approach speeds agree to round-off, the contact with the highest `priority` collides first; without
  `priority`, the contact with the lowest index. With a `key` the choice is random, and new at every impact.
* Infinite sequences. With restitution below 1 the approach decays exponentially. The sequence ends when the energy of
  approach, the sum of v^2 / 2w over approaching contacts, has decayed to the share `decay` of its initial value.
* Bound. If `most` impacts do not suffice, the lane is UNFINISHED.
* Hinges. A hinge is a contact that always stops, in all directions, for any velocity (section 6.5).
"""

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float, Int

from jimpact.contact.body import transform
from jimpact.control_flow import anywhere
from jimpact.impact import solve
from jimpact.laws import LAWS
from jimpact.laws.algebraic import stopping_impulse
from jimpact.outcome import Outcome
from jimpact.slip.flow import constants_of
from jimpact.types import Array, ArrayLike, Flag, Scalar, Whole
from jimpact.validation import broadcast, check_name, floating

__all__ = ["Contacts", "resolve_contacts"]

TIE = 1024  # x epsilon x the approach speed: speeds within this difference count as equal


class Contacts(NamedTuple):
    """Result of several contacts. Shapes after the batch axes: k contacts, at most `most` impacts."""

    impulse: Float[Array, "... k 3"]  # sum over all impacts, on body a of each contact
    velocity: Float[Array, "... k 3"]  # after the last impact
    outcome: Whole  # OK, SEPARATING, UNFINISHED (`most` impacts), or that of a failed single impact, with nan elsewhere
    impacts: Whole  # number of single impacts
    order: Int[Array, "... most"]  # contacts in the order of their impacts; -1 after the last
    kinetic_energy_change: Scalar


def resolve_contacts(
    inverse_inertia: Float[ArrayLike, "... k k 3 3"],
    velocity: Float[ArrayLike, "... k 3"],
    friction: Float[ArrayLike, "... k"],
    restitution: Float[ArrayLike, "... k"],
    *,
    law: str | Sequence[str] = "stronge",
    hinge: Sequence[bool] | None = None,
    most: int = 64,
    decay: float = 1e-12,
    priority: Float[ArrayLike, "... k"] | None = None,
    key: Array | None = None,
    static_friction: Float[ArrayLike, "... k"] | None = None,
    tangential_restitution: Float[ArrayLike, "... k"] | None = None,
    mixing: Float[ArrayLike, "... k"] | None = None,
    rule: str = "poisson",
    accuracy: str = "standard",
) -> Contacts:
    """Let k contacts collide one after another, the one with the greatest approach speed first.

    Args:
        inverse_inertia: block (i, j) is the velocity change at contact i per impulse at j (`inverse_inertia_contacts`).
        velocity: relative velocity at each contact, before, in its contact frame.
        friction, restitution, static_friction, tangential_restitution, mixing: as in `solve`, one number for each
            contact, or one for all; a law uses the coefficients that it has.
        law: one law for all contacts, or one for each.
        hinge: flags of the contacts that are hinges.
        most: largest number of single impacts.
        decay: share of the initial energy of approach at which the sequence ends.
        priority: of contacts that approach equally fast, the one with the highest priority collides first. Pass
            points @ direction to order them along a direction.
        key: decides such ties at random instead.
        rule, accuracy: as in `solve`.

    Returns:
        Contacts: summed impulses, velocities after, outcome, and order of impacts.
    """
    k = jnp.shape(velocity)[-2] if jnp.ndim(velocity) > 1 else 0
    if not k:
        raise ValueError(f"velocity has shape {jnp.shape(velocity)}; pass (..., k, 3) with at least one contact")
    laws = (law,) * k if isinstance(law, str) or not isinstance(law, Sequence) else tuple(law)
    hinges = (False,) * k if hinge is None else _flags(hinge)
    _check(k, laws, hinges, most, decay, priority is not None and key is not None)
    numbers = {
        "friction": friction,
        "restitution": restitution,
        "static_friction": static_friction,
        "tangential_restitution": tangential_restitution,
        "mixing": mixing,
        "priority": priority,
    }
    given = {n: (_per_contact(n, a, k), (k,)) for n, a in numbers.items() if a is not None}
    vectors = {"inverse_inertia": (inverse_inertia, (k, k, 3, 3)), "velocity": (velocity, (k, 3))}
    arrays = broadcast(vectors | given)
    W, v = arrays.pop("inverse_inertia"), arrays.pop("velocity")
    ranks = arrays.pop("priority", jnp.broadcast_to(-jnp.arange(k, dtype=v.dtype), v.shape[:-1]))
    single = partial(_single, laws=laws, held=hinges, rule=rule, accuracy=accuracy)
    problem = _Problem(W, arrays, ranks, key, jnp.asarray(hinges), single)
    return _sequence(problem, v, most, decay)


class _State(NamedTuple):
    velocity: Array
    impulse: Array
    energy: Scalar
    impacts: Whole
    outcome: Whole


class _Problem(NamedTuple):
    """What stays the same during the sequence."""

    inverse_inertia: Array
    arrays: dict[str, Array]  # coefficients
    ranks: Array  # the highest collides first, among contacts that approach equally fast
    key: Array | None  # decides ties at random instead
    held: Flag  # contacts that are hinges
    single: Callable[..., tuple[Array, Whole]]  # impulse and outcome of a single impact

    def energy(self, velocity: Array) -> Scalar:
        """The energy of approach."""
        normal = _inverse_masses(self.inverse_inertia)
        return 0.5 * (jnp.square(_approach(velocity, self.held)) / normal).sum(-1)


def _sequence(problem: _Problem, v: Array, most: int, decay: float) -> Contacts:
    """Single impacts, one after another, while any lane is active."""
    W = problem.inverse_inertia
    usable = jnp.isfinite(W).all((-1, -2, -3, -4)) & jnp.isfinite(v).all((-1, -2)) & (_inverse_masses(W) > 0).all(-1)
    before = jnp.where(usable, problem.energy(v), 0)
    enough = lax.stop_gradient(decay * before)
    active = lambda state: (state.outcome == Outcome.OK) & (problem.energy(state.velocity) > enough)  # noqa: E731

    def one(state: _State, index: Whole) -> tuple[_State, Whole]:
        going = active(state)
        collide = lambda state, index: _collide(problem, state, index, going)  # noqa: E731
        rest = lambda state, index: (state, jnp.full(before.shape, -1, jnp.int32))  # noqa: E731
        return lax.cond(anywhere(going), collide, rest, state, index)

    none = jnp.zeros(before.shape, jnp.int32)
    first = jnp.where(usable, Outcome.OK, Outcome.INVALID).astype(jnp.int32)
    harmless = jnp.where(usable[..., None, None], v, 0)
    start = _State(harmless, jnp.zeros_like(v), jnp.zeros_like(before), none, first)
    last, order = lax.scan(jax.checkpoint(one), start, jnp.arange(most))
    return _contacts(last, order, active(last))


def _collide(problem: _Problem, state: _State, index: Whole, going: Flag) -> tuple[_State, Whole]:
    """The single impact of the fastest contact in each lane that is `going`, and which contact that was."""
    ranks = problem.ranks
    if problem.key is not None:
        ranks = jax.random.uniform(jax.random.fold_in(problem.key, index), ranks.shape, ranks.dtype)
    which = _fastest(_approach(state.velocity, problem.held), ranks)
    pick = lambda a: jnp.take_along_axis(a, _lift(which, a.ndim), which.ndim).squeeze(which.ndim)  # noqa: E731
    column = pick(jnp.swapaxes(problem.inverse_inertia, which.ndim, which.ndim + 1))
    W, v = pick(column), pick(state.velocity)
    # Finished lanes solve a harmless stand-in, so that they cause no nan.
    W = jnp.where(going[..., None, None], W, jnp.eye(3, dtype=W.dtype))
    stand_in = jnp.where(going[..., None], v, jnp.asarray([0, 0, -1], v.dtype))
    impulse, outcome = problem.single(W, stand_in, {n: pick(a) for n, a in problem.arrays.items()}, which)
    good = going & (outcome == Outcome.OK)
    impulse = jnp.where(good[..., None], impulse, 0)
    change = transform(column, impulse[..., None, :])
    here = jnp.arange(state.velocity.shape[-2]) == which[..., None]
    new = _State(
        state.velocity + change,
        state.impulse + here[..., None] * impulse[..., None, :],
        state.energy + 0.5 * (impulse * (2 * v + pick(change))).sum(-1),
        state.impacts + good,
        jnp.where(going, outcome, state.outcome),
    )
    return new, jnp.where(good, which, -1)


def _inverse_masses(W: Array) -> Array:
    """Inverse mass of each contact along its normal."""
    return jnp.stack([W[..., i, i, 2, 2] for i in range(W.shape[-3])], -1)


def _contacts(last: _State, order: Whole, active: Flag) -> Contacts:
    """The result, with nan in lanes that ended with an impact without an answer."""
    outcome = jnp.where(active, Outcome.UNFINISHED, last.outcome)
    outcome = jnp.where((outcome == Outcome.OK) & (last.impacts == 0), Outcome.SEPARATING, outcome).astype(jnp.int32)
    bad = (last.outcome != Outcome.OK)[..., None, None]
    return Contacts(
        jnp.where(bad, jnp.nan, last.impulse),
        jnp.where(bad, jnp.nan, last.velocity),
        outcome,
        last.impacts,
        jnp.moveaxis(order, 0, -1),
        jnp.where(bad[..., 0, 0], jnp.nan, last.energy),
    )


def _approach(v: Array, held: Flag) -> Array:
    """Approach speed of each contact, 0 if it separates; for a hinge, the length of its velocity."""
    square = (v * v).sum(-1)
    speed = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
    return jnp.where(held, speed, jnp.maximum(-v[..., 2], 0))


def _fastest(speed: Array, order: Array) -> Whole:
    """The contact with the greatest approach speed; among equal ones, the first in `order`."""
    greatest = speed.max(-1, keepdims=True)
    tied = speed >= greatest * (1 - TIE * jnp.finfo(speed.dtype).eps)
    return jnp.argmax(jnp.where(tied, order, -jnp.inf), -1).astype(jnp.int32)


def _lift(which: Whole, ndim: int) -> Whole:
    return which.reshape(which.shape + (1,) * (ndim - which.ndim))


def _single(
    W: Array,
    v: Array,
    arrays: dict[str, Array],
    which: Whole,
    *,
    laws: tuple[str, ...],
    held: tuple[bool, ...],
    rule: str,
    accuracy: str,
) -> tuple[Array, Whole]:
    """Impulse and outcome of the single impact of the contact `which`, by the law of the contact."""
    impulse, outcome = jnp.zeros_like(v), jnp.zeros(which.shape, jnp.int32)
    for law in dict.fromkeys(laws):
        own: dict[str, Any] = {n: a for n, a in arrays.items() if n == "static_friction" or n in LAWS[law].parameters}
        impact = solve(W, v, law=law, rule=rule, accuracy=accuracy, **own)
        mine = jnp.asarray([name == law for name in laws])[which]
        impulse = jnp.where(mine[..., None], impact.impulse, impulse)
        outcome = jnp.where(mine, impact.outcome, outcome)
    if not any(held):
        return impulse, outcome
    stops = jnp.asarray(held)[which]
    definite = jnp.linalg.det(lax.stop_gradient(W)) > 0
    contact = constants_of(jnp.where((stops & definite)[..., None, None], W, jnp.eye(3, dtype=W.dtype)), 0 * v[..., 2])
    stop = jnp.stack(stopping_impulse(contact, v[..., 0], v[..., 1], v[..., 2], 0 * v[..., 2]), -1)
    held_well = jnp.where(definite, Outcome.OK, Outcome.INVALID)
    return jnp.where(stops[..., None], stop, impulse), jnp.where(stops, held_well, outcome)


def _per_contact(name: str, value: ArrayLike, k: int) -> Array:
    """One number for each contact along the last axis; a scalar, or an axis of length 1, applies to all."""
    if jnp.ndim(value) == 0:
        value = floating(name, value, ())[None]
    array = floating(name, value, (1 if jnp.shape(value)[-1] == 1 else k,))
    return jnp.broadcast_to(array, (*array.shape[:-1], k))


def _flags(hinge: Sequence[bool]) -> tuple[bool, ...]:
    """One flag for each contact."""
    flags = np.asarray(hinge)
    if flags.ndim != 1 or flags.dtype != bool:
        raise TypeError(f"hinge={hinge!r}; pass a sequence of True and False, one for each contact")
    return tuple(flags.tolist())


def _check(k: int, laws: tuple, hinges: tuple, most: int, decay: float, two_ways: bool) -> None:
    for law in laws:
        check_name(law, LAWS, "law")
    if len(laws) != k:
        raise ValueError(f"law has {len(laws)} names; pass one, or {k}, one for each contact")
    if len(hinges) != k:
        raise ValueError(f"hinge has {len(hinges)} flags; pass {k}, one for each contact")
    if isinstance(most, bool) or not isinstance(most, Integral) or most < 1:
        raise ValueError(f"most={most!r}; pass a whole number of at least 1")
    if isinstance(decay, bool) or not isinstance(decay, Real) or not 0 <= decay < 1:
        raise ValueError(f"decay={decay!r}; pass a number from 0 to below 1")
    if two_ways:
        raise ValueError("priority and key both decide ties; pass one of them")
