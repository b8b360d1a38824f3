"""Training that can be interrupted: it resumes from its last checkpoint and ends as if nothing had happened.

Each step draws a batch of impacts, sends it through the network and Stronge's law, and moves the weights by Adam with
weight decay. The key of the random numbers is part of the state, so that the batches of a resumed run are those of an
uninterrupted one; the program is the same, and so is every bit of the result.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jimpact import Rebounds
from jimpact.identify.network import misfit

from .checkpoint import State, digest, load, save
from .network import Network, describe, draw
from .settings import Training

__all__ = ["LAW", "begin", "loss", "loss_and_slope", "train"]

LAW = "stronge"  # cannot gain energy for restitutions in [0, 1]

Progress = Callable[[Iterable[int]], Iterator[int]]


def train(
    rebounds: Rebounds,
    chosen: np.ndarray,
    settings: Training,
    path: Path | None = None,
    progress: Progress = iter,
    until: int | None = None,
) -> State:
    """Train on the `chosen` rebounds, a mask (n,); with a `path`, from its checkpoint on if there is one.

    `until` ends the run after that many steps, as an interruption would, but for a checkpoint.
    """
    state = begin(settings, rebounds.velocity.dtype)
    identity = asdict(settings) | {"law": LAW, "data": digest(rebounds, chosen)}
    if path is not None and path.exists():
        state = load(path, state, identity)
    share = jnp.asarray(chosen / chosen.sum(), rebounds.velocity.dtype)
    losses = list(state.losses)
    network, optimiser, key = state.network, state.optimiser, state.key
    for step in progress(range(state.step, min(settings.steps, until or settings.steps))):
        batch, key = _draw(settings.batch, rebounds, share, key)
        value, slope = loss_and_slope(network, batch)
        network, optimiser = _move(settings, slope, network, optimiser)
        losses.append(float(value))
        state = State(network, optimiser, key, step + 1, np.array(losses))
        if path is not None and (state.step % settings.checkpoint_every == 0 or state.step == settings.steps):
            save(path, state, identity)
    return state


def begin(settings: Training, dtype: Any) -> State:
    """The state before the first step."""
    first, key = jax.random.split(jax.random.key(settings.seed))
    network = draw(first, settings.hidden, dtype)
    return State(network, _optimiser(settings).init(network), key, 0, np.zeros(0))


def loss(network: Network, rebounds: Rebounds) -> jax.Array:
    """Mean square of the residuals, in units of the noise."""
    return misfit(network, rebounds, describe=describe, law=LAW)


loss_and_slope = jax.jit(jax.value_and_grad(loss))


@partial(jax.jit, static_argnames="size")
def _draw(size: int, rebounds: Rebounds, share: jax.Array, key: jax.Array) -> tuple[Rebounds, jax.Array]:
    """Some rebounds, with replacement, and the key of the next."""
    key, now = jax.random.split(key)
    index = jax.random.choice(now, len(rebounds), (size,), p=share)
    return jax.tree.map(lambda a: a[index], rebounds), key


@partial(jax.jit, static_argnames="settings")
def _move(settings: Training, slope: Network, network: Network, optimiser: Any) -> tuple[Network, Any]:
    change, optimiser = _optimiser(settings).update(slope, optimiser, network)
    return optax.apply_updates(network, change), optimiser


def _optimiser(settings: Training) -> optax.GradientTransformation:
    rate = optax.cosine_decay_schedule(settings.learning_rate, settings.steps)
    return optax.adamw(rate, weight_decay=settings.weight_decay)
