"""The scan of all steps: a fixed number of them for every lane."""

from typing import NamedTuple

import jax
from jax import lax

from jimpact.slip.lane import Accuracy, Lane, State
from jimpact.slip.plan import Plan
from jimpact.slip.restitution import StopRule
from jimpact.slip.step import Way, set_out, step, taken

__all__ = ["Taken", "follow", "recorded"]


class Taken(NamedTuple):
    """Every step: the state before it and what was planned there; steps along the first axis."""

    before: State
    plan: Plan


def follow(lane: Lane, rule: StopRule, accuracy: Accuracy) -> State:
    """Take all steps. Lanes that finish early stay where they are. Reverse mode keeps what is between the steps."""

    @jax.checkpoint
    def body(way: Way, _: None) -> tuple[Way, None]:
        return step(lane, way, rule, accuracy), None

    return taken(lane, lax.scan(body, set_out(lane), None, length=accuracy.steps)[0], rule)


def recorded(lane: Lane, rule: StopRule, accuracy: Accuracy) -> Taken:
    """The same steps, kept."""

    def body(way: Way, _: None) -> tuple[Way, Taken]:
        after = step(lane, way, rule, accuracy)
        return after, Taken(after.state, after.plan)

    return lax.scan(body, set_out(lane), None, length=accuracy.steps)[1]
