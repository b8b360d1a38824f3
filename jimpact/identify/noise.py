"""Estimate of the measurement noise from the residuals of a fit, for channels whose noise is not given."""

import jax
import jax.numpy as jnp
import numpy as np

from jimpact.identify.least_squares import Found, Problem, minimise, predicted
from jimpact.identify.likelihood import Choice
from jimpact.identify.material import Material

__all__ = ["with_noise"]

ROUNDS = 12  # rounds of fit and estimate of the noise in turn
SETTLED = 1e-3  # relative change of the noise below which the rounds end


def with_noise(
    choice: Choice, material: Material, problem: Problem, found: Found, estimated: np.ndarray
) -> tuple[Found, Problem]:
    """Fit and estimate the noise in turn, until the noise settles."""
    found = jax.tree.map(lambda a: a[:1], found)
    for _ in range(ROUNDS):
        old = np.asarray(problem.sigma, float)
        sigma = _noise(choice, material, problem, found.free[0])
        problem = problem._replace(sigma=jnp.asarray(sigma, problem.sigma.dtype))
        found = minimise(choice, material, problem, found.free)
        if np.abs(np.log(sigma[:, estimated] / old[:, estimated])).max() < SETTLED:
            break
    return found, problem


def _noise(choice: Choice, material: Material, problem: Problem, free: np.ndarray) -> np.ndarray:
    """Noise (n, k); unknown noise from the residuals of the channel. Parameters reduce the degrees of freedom."""
    rebounds, sigma, heaviness = problem.rebounds, np.asarray(problem.sigma, float), float(problem.heaviness)
    numbers = material.natural(jnp.asarray(free))
    there, open_ = np.isfinite(sigma), np.isnan(np.asarray(rebounds.noise))
    r = np.where(there, np.asarray(rebounds.observation - predicted(choice, material, rebounds, numbers)), 0)
    square = np.sum((r / np.where(there, sigma, 1)) ** 2, -1, keepdims=True)
    weight = (1 + there.sum(-1, keepdims=True) * heaviness) / (1 + square * heaviness)  # 1 for Gaussian noise
    paid = 1 - min(material.size() / there.sum(), 0.5)
    total = np.sum(np.where(open_ & there, weight * r**2, 0), 0)
    own = np.sqrt(total / np.maximum((open_ & there).sum(0), 1) / paid)
    smallest = 1e-9 * np.abs(np.asarray(rebounds.observation))[there].max(initial=1e-300)
    return np.where(open_ & there, np.maximum(own, smallest), sigma)
