"""Forward mode: from step to step with the change beside the value.

Every function here is one of some kernels (`lone_kernels`), and between them are pairs: so a step is whole kernels.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.hodograph import Lane, Step, beyond, settle, start, turn_over, velocity_at
from jimpact.kernels import halves, lone_kernels, opened, pairs
from jimpact.numerics import split_code
from jimpact.rounds import SMOOTH
from jimpact.series import integrate
from jimpact.spot import (
    IMPULSE,
    WHERE,
    Smooth,
    Spot,
    added,
    as_step,
    begin,
    integrals_of,
    onward,
    rates_at,
    smooth_of,
    spot_of,
    state_at,
    with_smooth,
)
from jimpact.types import Array, Scalar, Whole

__all__ = ["tangents"]


def tangents(
    order: int, lane: Lane, log: Callable[[Whole], Scalar], most: Whole, changes: Lane, wanted: tuple[str, ...]
) -> list[Array]:
    """Changes at the end of what is wanted, from those of a lane; log(i) is the length of step i, with its code."""
    ledger = "friction_work" in wanted
    named = (*IMPULSE, *(name for name in wanted if name not in IMPULSE))

    def after(lane: Lane, spot: Spot, coded: Scalar) -> Spot:
        return onward(lane, spot, coded, integrals_of(order, lane, spot, coded))

    def gained(lane: Lane, spot: Spot, coded: Scalar, changes: Lane, moved: Sequence[Scalar]) -> list[Scalar]:
        """Changes of what a step adds."""
        length = split_code(coded)[0]
        unit = begin(lane, spot)[1]

        def of(lane: Lane, ix: Scalar, iy: Scalar, p: Scalar) -> list[Scalar]:
            place, _ = begin(lane, Spot(ix, iy, p, spot.bits))
            return added(place, unit, integrate(rates_at(place, unit), length, order), ledger)

        return jax.jvp(of, (lane, *spot[:3]), (changes, *moved))[1]

    def settled(
        lane: Lane, spot: Spot, after: Spot, coded: Scalar, changes: Lane, moved: list[Scalar], gained: list[Scalar]
    ) -> list[Scalar]:
        """Changes where a step ends."""
        state, code = state_at(spot), split_code(coded)[1]
        impulse = [getattr(after, name) - getattr(spot, name) for name in IMPULSE]
        step = as_step([*impulse, *(jnp.zeros_like(a) for a in gained[3:])])
        known = dict(zip(named, moved, strict=True))
        smooth = tuple(known.get(name, jnp.zeros_like(lane.v0)) for name in SMOOTH)

        def of(lane: Lane, smooth: Smooth, step: Step) -> Smooth:
            there = settle(with_smooth(state, smooth), step)
            at = velocity_at(lane, there.ix, there.iy, there.books.impulse)
            return smooth_of(turn_over(there, code, *beyond(lane.plane, *at, there.books.impulse)))

        found = jax.jvp(of, (lane, smooth_of(state), step), (changes, smooth, as_step(gained)))[1]
        return [found[SMOOTH.index(name)] for name in named]

    def body(carry: tuple[Whole, list[Array], list[Array]]) -> tuple[Whole, list[Array], list[Array]]:
        index, where_, moved = carry
        coded, go, spot, moved = log(index), index >= 0, Spot(*halves(where_, WHERE)), halves(moved)
        there = lone_kernels(go, after, lane, spot, coded)
        more = lone_kernels(go, gained, lane, spot, coded, changes, moved[: len(IMPULSE)])
        moved = lone_kernels(go, settled, lane, spot, Spot(*there), coded, changes, moved, more)
        return index + 1, pairs(there), pairs(moved)

    zero = jnp.zeros_like(lane.v0)
    carry = (jnp.int32(0), pairs(spot_of(start(lane))), pairs([zero] * len(named)))
    moved = opened(halves(lax.while_loop(lambda carry: carry[0] < most, body, carry)[2]))
    return [moved[named.index(name)] for name in wanted]
