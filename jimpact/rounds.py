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
GATHERED = 16  # one lane in so many has room among the gathered


class Steps(NamedTuple):
    """The steps that were taken (leading axis): where each began, and its length in the clock of `series_at`."""

    before: Slide
    length: Scalar


def slide(lane: Lane, rule: StopRule, accuracy: Accuracy) -> Slide:
    """Step all lanes to their end, or to where slip stops.

    Most lanes need few steps, some many. In a large batch, the lanes that still move after one round are gathered
    and go on by themselves. Should there be too many of them, all lanes go on, as in a small batch.
    """
    state, more = start(lane), accuracy.rounds - 1
    if lane.v0.size < CROWD:
        return _rounds(lane, state, rule, accuracy, accuracy.rounds, jnp.asarray(True))
    state = _round(lane, state, rule, accuracy, accuracy.steps)
    crowded = anywhere((~state.resting).sum() > _room(lane))
    state = _gathered(lane, state, rule, accuracy, more, crowded)
    return _rounds(lane, state, rule, accuracy, more, crowded)


def recorded(lane: Lane, rule: StopRule, accuracy: Accuracy) -> Steps:
    """The steps that `slide` takes."""

    def one(state: Slide, index: Whole) -> tuple[Slide, Steps]:
        after, length = step(lane, state, rule, accuracy, index >= 0)
        return after, Steps(state, length)

    return lax.scan(one, start(lane), jnp.arange(accuracy.steps * accuracy.rounds))[1]


def _rounds(lane: Lane, state: Slide, rule: StopRule, accuracy: Accuracy, times: int, wanted: Flag) -> Slide:
    """So many rounds, if `wanted`; for the derivative, only the beginning of each is saved."""

    def again(state: Slide, _: None) -> tuple[Slide, None]:
        go = lambda lane, state: _round(lane, state, rule, accuracy, accuracy.steps)  # noqa: E731
        stay = lambda lane, state: state  # noqa: E731
        return lax.cond(wanted & anywhere(~state.resting), go, stay, lane, state), None

    return lax.scan(jax.checkpoint(again), state, None, length=times)[0]


def _round(lane: Lane, state: Slide, rule: StopRule, accuracy: Accuracy, steps: int) -> Slide:
    """That many steps, or until every lane rests."""

    def one(state: Slide, index: Whole) -> tuple[Slide, None]:
        go = lambda lane, state: step(lane, state, rule, accuracy, index >= 0)[0]  # noqa: E731
        stay = lambda lane, state: state  # noqa: E731
        return lax.cond(anywhere(~state.resting), go, stay, lane, state), None

    return lax.scan(jax.checkpoint(one), state, jnp.arange(steps))[0]


def _room(lane: Lane) -> int:
    return -(-lane.v0.size // GATHERED)


def _gathered(lane: Lane, state: Slide, rule: StopRule, accuracy: Accuracy, times: int, crowded: Flag) -> Slide:
    """So many rounds for the lanes that still move, unless they are a crowd."""
    size = lane.v0.size
    (which,) = jnp.nonzero(~state.resting.ravel(), size=_room(lane), fill_value=size)
    few = lambda a: a.ravel().at[which].get(mode="clip") if a.ndim == lane.v0.ndim else a  # noqa: E731
    some, there = jax.tree.map(few, (lane, state)), which < size
    few_lanes, few_states = some[0], some[1]._replace(resting=some[1].resting | ~there | crowded)
    moved = _round(few_lanes, few_states, rule, accuracy, times * accuracy.steps)
    moved = moved._replace(resting=moved.resting & ~crowded)

    def back(all_: Scalar, these: Scalar) -> Scalar:
        return all_.ravel().at[which].set(these, mode="drop").reshape(all_.shape) if all_.ndim else these

    return jax.tree.map(back, state, moved)
