"""The scan of a fixed number of steps for every lane, in blocks of lanes on a CPU.

Most lanes need few steps. An accelerator takes all steps of the whole batch, without host waits or branches. A CPU
takes them in rounds: before each round lanes are sorted so that unfinished ones come first. Blocks of lanes that fit
into a cache take the steps of the round; blocks without an unfinished lane are skipped. Lanes are independent, so the
result is the same.
"""

from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

from jimpact.slip.closed_end import finish
from jimpact.slip.restitution import StopRule
from jimpact.slip.state import Accuracy, Lane, Stage, State, start
from jimpact.slip.step import PLAN, step
from jimpact.types import Flag

__all__ = ["BLOCK", "follow"]

BLOCK = 8192  # lanes in a block: the numbers of a step fit into the cache of a core
STEPS_PER_ROUND = 2  # steps in a round

T = TypeVar("T")


def follow(lane: Lane, rule: StopRule, accuracy: Accuracy) -> State:
    """Take all steps. The state of a lane that finishes early does not change any more."""

    def whole(lane: Lane) -> State:
        return _steps(lane, start(lane), rule, accuracy, accuracy.steps)

    def cut(lane: Lane) -> State:
        shape = lane.v0.shape
        flat = jax.tree.map(lambda a: a.reshape(-1), lane)
        return jax.tree.map(lambda a: a.reshape(shape), _rounds(flat, start(flat), rule, accuracy))

    end = lax.platform_dependent(lane, cpu=cut, default=whole) if _may_be_cut(lane) else whole(lane)
    return finish(lane, end, rule)


def _steps(lane: Lane, state: State, rule: StopRule, accuracy: Accuracy, steps: int) -> State:
    """A scan of steps; reverse mode stores the states between the steps, and the plans.

    `prevent_cse=False`: the loops of the forward and the reverse pass share nothing, so no barrier is needed between
    what is stored and what is recomputed; a barrier would be seven more launches of a step.
    """

    @partial(jax.checkpoint, prevent_cse=False, policy=jax.checkpoint_policies.save_only_these_names(PLAN))
    def body(state: State, _: None) -> tuple[State, None]:
        return step(lane, state, rule, accuracy)[0], None

    return lax.scan(body, state, None, length=steps)[0]


def _may_be_cut(lane: Lane) -> bool:
    """Whether to cut the batch: at least two blocks on one CPU. On several devices sorting would need communication."""
    known = all(isinstance(size, int) for size in lane.v0.shape)
    return known and lane.v0.size >= 2 * BLOCK and jax.default_backend() == "cpu" and jax.device_count() == 1


def _rounds(lane: Lane, state: State, rule: StopRule, accuracy: Accuracy) -> State:
    n = lane.v0.shape[0]
    blocks = -(-n // BLOCK)

    def block(given: tuple[Lane, State]) -> State:
        lane, state = given
        run = lambda: _steps(lane, state, rule, accuracy, STEPS_PER_ROUND)  # noqa: E731
        return lax.cond(jnp.all(state.stage != Stage.SLIP), lambda: state, run)

    def body(at: tuple[Int[Array, " n"], State], _: None) -> tuple[tuple[Int[Array, " n"], State], None]:
        place, state = at
        order = _live_first(state.stage == Stage.SLIP)
        place, state = _take(place, order), _take(state, order)
        state = lax.map(block, jax.tree.map(lambda a: a.reshape(blocks, BLOCK), (_take(lane, place), state)))
        return (place, jax.tree.map(lambda a: a.reshape(-1), state)), None

    pad = blocks * BLOCK - n  # finished lanes that fill the last block
    lane, state = jax.tree.map(lambda a: jnp.pad(a, (0, pad), mode="edge"), (lane, state))
    state = state._replace(stage=jnp.where(jnp.arange(n + pad) >= n, Stage.ZERO, state.stage))
    rounds = -(-accuracy.steps // STEPS_PER_ROUND)
    (place, state), _ = lax.scan(body, (jnp.arange(n + pad), state), None, length=rounds)
    back = jnp.zeros_like(place).at[place].set(jnp.arange(n + pad), unique_indices=True)
    return _take(state, back[:n])


def _live_first(live: Flag) -> Int[Array, " n"]:
    """Indices of the lanes, with those that are live first."""
    number = jnp.arange(live.size)
    rank = jnp.where(live, jnp.cumsum(live) - 1, jnp.sum(live) + jnp.cumsum(~live) - 1)
    return jnp.zeros_like(number).at[rank].set(number, unique_indices=True)


def _take(lanes: T, order: Int[Array, " n"]) -> T:
    return jax.tree.map(lambda a: a.at[order].get(mode="promise_in_bounds", unique_indices=True), lanes)
