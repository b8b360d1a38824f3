"""What a model is worth on impacts that it has not seen, and whether it kept its promises there and far away.

| symbol | meaning | shape |
|---|---|---|
| left | measured minus predicted | (n, k) |
| sigma | standard deviation that a model claims for `left` | (k,) or (n, k) |
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact import Rebounds

from .network import Network, describe, features
from .training import LAW

__all__ = ["Promises", "far_away", "interval", "log_likelihood", "predict", "promises", "rms", "spread", "worst"]

DRAWS = 4000


class Promises(NamedTuple):
    """The extremes of what a network gave for some impacts."""

    impacts: int
    least_friction: float
    most_friction: float
    least_restitution: float
    most_restitution: float
    most_energy_gained: float  # of the kinetic energy that the contact sees before
    without_answer: int


def worst(several: Sequence[Promises]) -> Promises:
    """Of several networks on the same impacts."""
    columns = zip(*several, strict=True)
    ends = (max, min, max, min, max, max, max)
    return Promises(*(end(column) for end, column in zip(ends, columns, strict=True)))


@jax.jit
def predict(network: Callable[[jax.Array], tuple[jax.Array, jax.Array]], rebounds: Rebounds) -> jax.Array:
    """What each channel would read without noise, (n, k)."""
    p = jimpact.solve(rebounds.inverse_inertia, rebounds.velocity, *network(describe(rebounds)), law=LAW).impulse
    return rebounds.baseline + jnp.sum(rebounds.effect * p[:, None, :], -1)


def rms(left: np.ndarray, sigma: np.ndarray) -> float:
    """Root mean square of all numbers, in units of sigma."""
    return float(np.sqrt(np.mean((left / sigma) ** 2)))


def log_likelihood(left: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Of each impact (n,), Gaussian."""
    return -0.5 * np.sum((left / sigma) ** 2 + np.log(2 * np.pi * np.square(sigma)) + 0 * left, -1)


def spread(left: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """The sigma (n, k) of each impact: from the residuals of all folds but its own."""
    others = [np.sqrt(np.mean(left[fold != i] ** 2, 0)) for i in range(int(fold.max()) + 1)]
    return np.array(others)[fold]


def interval(values: np.ndarray, group: np.ndarray, seed: int = 0) -> tuple[float, float, float]:
    """Mean of `values` (n,), and the ends of its 95 % interval by drawing groups with replacement."""
    index = np.unique(group, return_inverse=True)[1]
    total, count = np.bincount(index, values), np.bincount(index)
    draws = np.random.default_rng(seed).integers(len(count), size=(DRAWS, len(count)))
    low, high = np.quantile(total[draws].sum(1) / count[draws].sum(1), (0.025, 0.975))
    return float(values.mean()), float(low), float(high)


def far_away(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inverse inertias (n, 3, 3) and velocities (n, 3) of no body that was trained on.

    Inertias have conditions up to 100, approaches are from 0.1 mm/s to 10 km/s, slips from a millionth of the approach
    to a million times it.
    """
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    W = np.einsum("nij,nj,nkj->nik", axes, 10 ** rng.uniform(-1, 1, (count, 3)), axes)
    approach, around = 10 ** rng.uniform(-4, 4, count), rng.uniform(0, 2 * np.pi, count)
    slip = approach * 10 ** rng.uniform(-6, 6, count)
    return W, np.stack([slip * np.cos(around), slip * np.sin(around), -approach], -1)


def promises(network: Network, W: np.ndarray, velocity: np.ndarray) -> Promises:
    """Bounds and energy, of any impacts."""
    friction, restitution, gain, failed = map(np.asarray, _followed(network, jnp.asarray(W), jnp.asarray(velocity)))
    ends = [float(end(a)) for a in (friction, restitution) for end in (np.min, np.max)]
    gained = float(np.max(np.where(failed, -np.inf, gain)))
    return Promises(len(velocity), ends[0], ends[1], ends[2], ends[3], gained, int(failed.sum()))


@jax.jit
def _followed(network: Network, W: jax.Array, v: jax.Array) -> tuple[jax.Array, ...]:
    """Coefficients, share of energy gained by the impulse alone, and whether there was no answer; (n,) each."""
    friction, restitution = network(features(v))
    impact = jimpact.solve(W, v, friction, restitution, law=LAW)
    p = impact.impulse
    after = v + jnp.einsum("nij,nj->ni", W, p)
    before = 0.5 * jnp.sum(v * jnp.linalg.solve(W, v[..., None])[..., 0], -1)
    return friction, restitution, 0.5 * jnp.sum(p * (v + after), -1) / before, impact.outcome != jimpact.Outcome.OK
