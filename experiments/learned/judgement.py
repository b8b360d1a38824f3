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

from .network import Network, features
from .training import LAW

__all__ = [
    "Promises",
    "far_away",
    "interval",
    "log_likelihood",
    "predict",
    "promises",
    "respond",
    "rms",
    "spread",
    "worst",
]

DRAWS = 4000

Material = Callable[[jax.Array], tuple[jax.Array, jax.Array]]


class Response(NamedTuple):
    """Coefficients (n,), impulse (n, 3) and outcome (n,) of impacts."""

    friction: jax.Array
    restitution: jax.Array
    impulse: jax.Array
    outcome: jax.Array


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


def predict(material: Material, rebounds: Rebounds) -> np.ndarray:
    """What each channel would read without noise, (n, k)."""
    p = respond(material, rebounds.inverse_inertia, rebounds.velocity).impulse
    return np.asarray(rebounds.baseline) + np.einsum("nki,ni->nk", rebounds.effect, p)


@jax.jit
def respond(material: Material, W: jax.Array, velocity: jax.Array) -> Response:
    """What a material, any callable pytree, makes of impacts."""
    friction, restitution = material(features(velocity))
    impact = jimpact.solve(W, velocity, friction, restitution, law=LAW)
    return Response(friction, restitution, impact.impulse, impact.outcome)


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
    """Bounds and energy, of any impacts; energy from the impulse alone, and not as `solve` accounts for it."""
    friction, restitution, p, outcome = map(np.asarray, respond(network, jnp.asarray(W), jnp.asarray(velocity)))
    v, failed = np.asarray(velocity), outcome != jimpact.Outcome.OK
    after = v + np.einsum("nij,nj->ni", W, p)
    before = np.sum(v * np.linalg.solve(W, v[..., None])[..., 0], -1)
    gained = np.where(failed, -np.inf, np.sum(p * (v + after), -1) / before).max()
    ends = [float(end(a)) for a in (friction, restitution) for end in (np.min, np.max)]
    return Promises(len(v), ends[0], ends[1], ends[2], ends[3], float(gained), int(failed.sum()))
