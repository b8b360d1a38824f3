"""The network: from the speed and the angle of an approach to friction and restitution, within their bounds.

| symbol | meaning | range |
|---|---|---|
| ln(approach / 1 m/s) | first feature; approach is the normal component of the velocity | any |
| 2 slip^2 / speed^2 - 1 | second feature, minus the cosine of twice the angle from the normal | -1 to 1 |
| friction | softplus of the first output | 0 and more |
| restitution | sigmoid of the second output | 0 to 1 |

The square of the slip, and not the slip, keeps the features smooth where an approach has none. Hidden layers end in
tanh: however far away an impact is, the outputs are bounded by the weights of the last layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimpact import Rebounds

__all__ = ["Network", "describe", "draw", "features"]

SPEED = 1.0  # m/s
FRICTION, RESTITUTION = 0.3, 0.5  # of a network that has learned nothing
FIRST = 0.1  # how much the last layer, before training, is smaller than the others: all impacts start alike


@partial(jax.tree_util.register_dataclass, data_fields=("layers",), meta_fields=())
@dataclass(frozen=True)
class Network:
    """A callable pytree: features (..., 2) to friction and restitution, (...) each."""

    layers: list[tuple[jax.Array, jax.Array]]

    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = features
        for weight, bias in self.layers[:-1]:
            x = jnp.tanh(x @ weight + bias)
        out = x @ self.layers[-1][0] + self.layers[-1][1]
        return jax.nn.softplus(out[..., 0]), jax.nn.sigmoid(out[..., 1])


def draw(key: jax.Array, hidden: Sequence[int], dtype: Any) -> Network:
    """A network before training."""
    sizes = (2, *hidden, 2)
    keys = jax.random.split(key, len(sizes) - 1)
    layers = [
        (jax.random.normal(k, (a, b), dtype) / float(np.sqrt(a)), jnp.zeros(b, dtype))
        for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]
    start = [np.log(np.expm1(FRICTION)), np.log(RESTITUTION / (1 - RESTITUTION))]
    layers[-1] = (FIRST * layers[-1][0], jnp.asarray(start, dtype))
    return Network(layers)


def features(velocity: jax.Array) -> jax.Array:
    """Of velocities (..., 3) that approach; (..., 2)."""
    # An approach that separates has no logarithm and no impulse: any number will do.
    approach = jnp.where(velocity[..., 2] < 0, -velocity[..., 2], SPEED)
    # The angle does not depend on the scale, which is chosen so that no square overflows or vanishes.
    scale = jax.lax.stop_gradient(jnp.maximum(jnp.abs(velocity[..., :2]).max(-1), approach))
    slip2, approach2 = jnp.sum((velocity[..., :2] / scale[..., None]) ** 2, -1), (approach / scale) ** 2
    return jnp.stack([jnp.log(approach / SPEED), (slip2 - approach2) / (slip2 + approach2)], -1)


def describe(rebounds: Rebounds) -> jax.Array:
    return features(rebounds.velocity)
