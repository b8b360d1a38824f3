"""As many steps as it takes: rounds of steps over the batch, and the steps one by one.

A lane that rests takes steps of length zero, and steps are skipped once every lane rests; so easy batches are cheap.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.hodograph import Accuracy, Lane, Slide, start, step
from jimpact.numerics import anywhere
from jimpact.restitution import StopRule
from jimpact.types import Flag, Scalar, Whole

__all__ = ["Steps", "recorded", "slide"]

CROWD = 4096  # lanes: in smaller batches gathering costs more than it saves
ROUND = 16  # steps between two saved states, where all lanes go on


class Steps(NamedTuple):
    """The steps that were taken (leading axis): where each began, and its length in the clock of `series_at`."""

    before: Slide
    length: Scalar


def slide(lane: Lane, rule: StopRule, accuracy: Accuracy) -> Slide:
    """Step all lanes to their end, or to where slip stops.

    Most lanes need few steps, some many. In a large batch, lanes that still move are gathered twice, when half and
    when an eighth of the lanes have room for them, and go on by themselves. Those without room go on with all lanes,
    as in a small batch.
    """
    state, size = start(lane), lane.v0.size
    if size < CROWD:
        return _rounds(lane, state, rule, accuracy, jnp.asarray(True))
    state = _steps(lane, state, rule, accuracy, accuracy.half)
    half, room = -(-size // 2), -(-size // 8)
    crowded = (~state.resting).sum() > half
    state = _gathered(lane, state, rule, accuracy, half, accuracy.eighth - accuracy.half)
    crowded = anywhere(crowded | ((~state.resting).sum() > room))
    state = _gathered(lane, state, rule, accuracy, room, accuracy.most - accuracy.eighth)
    return _rounds(lane, state, rule, accuracy, crowded)


def recorded(lane: Lane, rule: StopRule, accuracy: Accuracy) -> Steps:
    """The steps that `slide` takes."""

    def one(state: Slide, index: Whole) -> tuple[Slide, Steps]:
        after, length = step(lane, state, rule, accuracy, index >= 0)
        return after, Steps(state, length)

    return lax.scan(one, start(lane), jnp.arange(accuracy.most))[1]


def _rounds(lane: Lane, state: Slide, rule: StopRule, accuracy: Accuracy, wanted: Flag) -> Slide:
    """All the steps, if `wanted`; for the derivative, only the beginning of each round is saved."""

    def again(state: Slide, _: None) -> tuple[Slide, None]:
        go = lambda lane, state: _steps(lane, state, rule, accuracy, ROUND)  # noqa: E731
        stay = lambda lane, state: state  # noqa: E731
        return lax.cond(wanted & anywhere(~state.resting), go, stay, lane, state), None

    return lax.scan(jax.checkpoint(again), state, None, length=-(-accuracy.most // ROUND))[0]


def _steps(lane: Lane, state: Slide, rule: StopRule, accuracy: Accuracy, times: int) -> Slide:
    """So many steps, or until every lane rests."""

    def one(state: Slide, index: Whole) -> tuple[Slide, None]:
        go = lambda lane, state: step(lane, state, rule, accuracy, index >= 0)[0]  # noqa: E731
        stay = lambda lane, state: state  # noqa: E731
        return lax.cond(anywhere(~state.resting), go, stay, lane, state), None

    return lax.scan(jax.checkpoint(one), state, jnp.arange(times))[0]


def _gathered(lane: Lane, state: Slide, rule: StopRule, accuracy: Accuracy, room: int, times: int) -> Slide:
    """So many steps for the lanes that still move, as many as there is `room` for."""
    size = lane.v0.size
    (which,) = jnp.nonzero(~state.resting.ravel(), size=room, fill_value=size)
    few = lambda a: a.ravel().at[which].get(mode="clip") if a.ndim == lane.v0.ndim else a  # noqa: E731
    some_lanes, some = jax.tree.map(few, (lane, state))
    some = some._replace(resting=some.resting | (which == size))
    moved = _steps(some_lanes, some, rule, accuracy, times)

    def back(all_: Scalar, these: Scalar) -> Scalar:
        return all_.ravel().at[which].set(these, mode="drop").reshape(all_.shape) if all_.ndim else these

    return jax.tree.map(back, state, moved)
