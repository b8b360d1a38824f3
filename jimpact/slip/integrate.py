"""The scan of all steps: a fixed number of them for every lane."""

from typing import NamedTuple

import jax
from jax import lax

from jimpact.slip.lane import Accuracy, Lane, State, start
from jimpact.slip.plan import Plan
from jimpact.slip.restitution import StopRule
from jimpact.slip.step import arrived, looked_at, planned, step

__all__ = ["Taken", "follow", "recorded"]


class Taken(NamedTuple):
    """Every step: the state before it and what was planned there; steps along the first axis."""

    before: State
    plan: Plan


def follow(lane: Lane, rule: StopRule, accuracy: Accuracy) -> State:
    """Take all steps. Lanes that finish early stay where they are. Reverse mode keeps the states between the steps."""

    @jax.checkpoint
    def body(state: State, _: None) -> tuple[State, None]:
        return step(lane, state, rule, accuracy), None

    return arrived(lane, lax.scan(body, start(lane), None, length=accuracy.steps)[0], rule)


def recorded(lane: Lane, rule: StopRule, accuracy: Accuracy) -> Taken:
    """The same steps, kept."""

    def body(state: State, _: None) -> tuple[State, Taken]:
        ahead = planned(lane, state, looked_at(lane, state), rule, accuracy)
        return step(lane, state, rule, accuracy), Taken(state, ahead)

    return lax.scan(body, start(lane), None, length=accuracy.steps)[1]
