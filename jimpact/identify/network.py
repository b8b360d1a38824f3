"""A neural network for friction and restitution as functions of the impact, trained through the law.

The network maps features of each impact, which are known before it, to coefficients; the law maps these to a rebound.
Part of the groups is held out, and the result is the network of the step that predicts these best.

`misfit` is the loss for networks of other libraries: any callable from features to friction and restitution.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

try:
    import optax
except ImportError as error:
    raise ImportError("a network needs optax; install jimpact with its extra: pip install 'jimpact[train]'") from error

from jimpact.identify.input_checks import check_fit
from jimpact.identify.likelihood import Choice, predict, whitened
from jimpact.identify.material import COEFFICIENTS, Material, Values
from jimpact.identify.momentum_floor import scales
from jimpact.identify.rebounds import Rebounds
from jimpact.impact import solve
from jimpact.types import Array, Progress

__all__ = ["Network", "features", "fit_network", "misfit"]

Layers = list[tuple[Array, Array]]
EVERY = 10  # steps between two evaluations of the held-out loss


def features(rebounds: Rebounds) -> Array:
    """Features of each impact, (n, 4).

    They are the log of the speed of approach (m/s), the log of slip over approach, the coupling of slip and approach,
    and the log of the tangential over the normal entries of the inverse inertia.
    """
    W, v = rebounds.inverse_inertia, rebounds.velocity
    tiny = 1e-6
    speed, slip = jnp.maximum(-v[:, 2], tiny), jnp.sqrt(v[:, 0] ** 2 + v[:, 1] ** 2) + tiny
    along = (W[:, 0, 2] * v[:, 0] + W[:, 1, 2] * v[:, 1]) / (slip * W[:, 2, 2])
    stiff = (W[:, 0, 0] + W[:, 1, 1]) / (2 * W[:, 2, 2])
    return jnp.stack([jnp.log(speed), jnp.log(slip / speed), along, jnp.log(stiff)], -1)


def misfit(
    material: Callable[[Array], tuple[Array, Array]],
    rebounds: Rebounds,
    *,
    describe: Callable[[Rebounds], Array] = features,
    **options: Any,
) -> Array:
    """Mean square of the residuals in units of the noise; `material(features)` gives friction and restitution.

    The material is any callable. If it is a pytree, such as a module of Equinox or of Flax NNX, differentiate with
    respect to it. `options` are those of `solve`. Noise must be known: nan gives nan. An impact without an answer has
    zero impulse.
    """
    given = material(describe(rebounds))
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise TypeError(f"the material gives {type(given).__name__}; let it give (friction, restitution)")
    for name, value in zip(("friction", "restitution"), given, strict=True):
        if jnp.shape(value) not in ((), (len(rebounds),)):
            raise ValueError(f"the material gives {name} of shape {jnp.shape(value)}; let it give ({len(rebounds)},)")
    p = solve(rebounds.inverse_inertia, rebounds.velocity, *given, **options).impulse
    p = jnp.where(jnp.isfinite(p), p, 0)
    there = ~jnp.isinf(rebounds.noise)
    left = rebounds.observation - rebounds.baseline - jnp.sum(rebounds.effect * p[:, None, :], -1)
    left = jnp.where(there, left, 0) / jnp.where(there, rebounds.noise, 1)
    return jnp.sum(left * left) / there.sum()


@dataclass(frozen=True)
class Network:
    """A trained network: coefficients and predictions for any rebounds."""

    choice: Choice
    names: tuple[str, ...]
    layers: Layers
    describe: Callable[[Rebounds], Array]
    shift: np.ndarray
    scale: np.ndarray
    training: np.ndarray  # mean square of residuals in units of the noise, at each evaluation
    held_out: np.ndarray

    def coefficients(self, rebounds: Rebounds) -> Values:
        return _coefficients(self.names, self.layers, (self.describe(rebounds) - self.shift) / self.scale)

    def predict(self, rebounds: Rebounds) -> np.ndarray:
        """Predicted channels without noise, (n, k)."""
        return np.asarray(_predicted(self.choice, rebounds, self.coefficients(rebounds)))


def fit_network(
    rebounds: Rebounds,
    *,
    law: str = "stronge",
    names: Sequence[str] = ("friction", "restitution"),
    hidden: Sequence[int] = (16, 16),
    steps: int = 1000,
    learning_rate: float = 1e-2,
    held_out: float = 0.25,
    describe: Callable[[Rebounds], Array] = features,
    fixed: dict[str, float] | None = None,
    seed: int = 0,
    progress: Progress = iter,
) -> Network:
    """Train a network that gives the coefficients `names` of a law for each impact."""
    if not 0 < held_out < 1:
        raise ValueError(f"held_out={held_out!r}; pass the share of groups to hold out, between 0 and 1")
    names = tuple(names)
    choice = Choice(law, "poisson", "standard", tuple(sorted((fixed or {}).items())))
    known = {name: COEFFICIENTS[name] for name in names if name in COEFFICIENTS}
    check_fit(rebounds, choice, Material(lambda values, _: values, known))
    given = np.asarray(describe(rebounds))
    shift, scale = given.mean(0), np.maximum(given.std(0), 1e-9)
    inputs = jnp.asarray((given - shift) / scale)
    train, test = _split(rebounds, held_out, seed)
    sigma = jnp.asarray(scales(rebounds))
    layers = _draw(jax.random.key(seed), (inputs.shape[1], *hidden, len(names)), inputs.dtype)
    optimiser = optax.adam(optax.cosine_decay_schedule(learning_rate, steps))
    state, best, history = optimiser.init(layers), (np.inf, layers), []
    for step in progress(range(steps)):
        (losses, layers, state), before = (
            _update(choice, names, optimiser, rebounds, sigma, inputs, train, test, layers, state),
            layers,
        )
        if step % EVERY == 0 or step == steps - 1:
            history.append([float(a) for a in losses])
            if history[-1][1] < best[0]:
                best = (history[-1][1], before)
    curves = np.array(history).T
    return Network(choice, names, best[1], describe, shift, scale, curves[0], curves[1])


@partial(jax.jit, static_argnames=("choice", "names", "optimiser"))
def _update(
    choice: Choice,
    names: tuple[str, ...],
    optimiser: optax.GradientTransformation,
    rebounds: Rebounds,
    sigma: Array,
    inputs: Array,
    train: Array,
    test: Array,
    layers: Layers,
    state: Any,
) -> tuple[tuple[Array, Array], Layers, Any]:
    """One step of training, and the training and held-out losses before it."""

    def loss(layers: Layers) -> tuple[Array, Array]:
        given = _coefficients(names, layers, inputs)
        square = jnp.sum(whitened(choice, rebounds, given, sigma, jnp.zeros(())) ** 2, -1)
        square = square / jnp.isfinite(sigma).sum(-1)
        return jnp.sum(square * train) / train.sum(), jnp.sum(square * test) / test.sum()

    (value, other), slope = jax.value_and_grad(loss, has_aux=True)(layers)
    change, state = optimiser.update(slope, state, layers)
    return (value, other), optax.apply_updates(layers, change), state


@partial(jax.jit, static_argnames="choice")
def _predicted(choice: Choice, rebounds: Rebounds, coefficients: Values) -> Array:
    return predict(choice, rebounds, coefficients)


def _coefficients(names: tuple[str, ...], layers: Layers, inputs: Array) -> Values:
    """Coefficients (n,), within their ranges."""
    x = inputs
    for W, b in layers[:-1]:
        x = jnp.tanh(x @ W + b)
    out = x @ layers[-1][0] + layers[-1][1]
    return {name: _ranged(name, out[:, i]) for i, name in enumerate(names)}


def _ranged(name: str, x: Array) -> Array:
    low, high = COEFFICIENTS[name].low, COEFFICIENTS[name].high
    return low + (high - low) * jax.nn.sigmoid(x) if np.isfinite(high) else low + 0.3 * jax.nn.softplus(x)


def _draw(key: Array, sizes: tuple[int, ...], dtype: Any) -> Layers:
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(k, (a, b), dtype) / float(np.sqrt(a)), jnp.zeros(b, dtype))
        for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def _split(rebounds: Rebounds, held_out: float, seed: int) -> tuple[Array, Array]:
    """Weights (n,) of the impacts for training, and of those held out; groups are not split."""
    group = np.unique(np.asarray(rebounds.group), return_inverse=True)[1]
    groups = int(group.max()) + 1
    if groups < 2:
        raise ValueError("all rebounds are of one group; nothing can be held out, pass rebounds with several")
    count = min(max(1, round(held_out * groups)), groups - 1)
    test = np.isin(group, np.random.default_rng(seed).permutation(groups)[:count])
    return jnp.asarray(~test, float), jnp.asarray(test, float)
