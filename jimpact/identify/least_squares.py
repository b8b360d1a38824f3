"""Levenberg-Marquardt on exact Jacobians, over a batch of starts.

If every impact sticks, friction has no effect: its derivative is zero, and a start in that region stays there. So
many starts explore a sample of the data first, and the best distinct ones continue on all data.

All starts are one batch of impacts, and a step of all starts is one call of one compiled program, `evaluate`. The loop
over steps is in Python: inside a compiled loop the same program takes three times as long.

The numbers of a fit are `free`, that is without bounds (see `Parameter.natural`). There are s starts, p numbers and m
residuals.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import qmc

from jimpact.identify.likelihood import Choice, predict, whitened
from jimpact.identify.material import Material, Values
from jimpact.identify.rebounds import Rebounds
from jimpact.types import Array, Progress

__all__ = [
    "Found",
    "Problem",
    "draw_starts",
    "evaluate",
    "explore",
    "information",
    "inverse_information",
    "minimise",
    "predicted",
    "sampled",
]

EXPLORED = 1024  # impacts of the sample; more impacts do not change the minimum that a start reaches
BATCH = 8  # largest number of starts in one call
LANES = 32_768  # largest number of starts x impacts in one call
STEPS = 60
DISTINCT = 4  # number of explored points that continue on all data
APART = 1e-2  # least distance of distinct points, in natural numbers
PRECISION = 1e-7  # expected decrease of the sum of squares at which the search ends; 1 is one standard deviation
SAME = 0.1  # difference of the sum of squares within which starts agree with the best
EQUAL = 1e-4  # difference of the sum of squares within which points count as equally good
FIRST_DAMPING = 1e-2
STUCK = 1e10  # damping at which no step helps
LONGEST = 0.7  # largest step in free numbers, whose usual range is about 1 to 3
INSIDE = 1e-6  # share of the range by which a number on its bound is moved inside, where derivatives are not zero
FLATTEST = 1e-9  # least diagonal entry for the damping, relative to the largest


class Problem(NamedTuple):
    """Rebounds, the scale of their noise (n, k), its heaviness (1 / degrees of freedom), and weights (n,)."""

    rebounds: Rebounds
    sigma: Array
    heaviness: Array
    weight: Array


class Found(NamedTuple):
    """End of each start: free numbers (s, p), sum of squares (s,), whether it converged (s,)."""

    free: np.ndarray
    cost: np.ndarray
    converged: np.ndarray


def minimise(
    choice: Choice,
    material: Material,
    problem: Problem,
    starts: np.ndarray,
    held: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    progress: Progress = iter,
) -> Found:
    """Minimise from each start, with the numbers `held` (s, p) fixed, and `weights` (s, n) for each start."""
    size = max(1, min(BATCH, LANES // len(problem.rebounds)))
    held = np.zeros(starts.shape, bool) if held is None else held
    parts = []
    for first in progress(range(0, len(starts), size)):
        rows = np.minimum(np.arange(first, first + size), len(starts) - 1)  # equal batches need one compiled program
        weight = np.broadcast_to(problem.weight, (size, len(problem.rebounds))) if weights is None else weights[rows]
        part = _descend(choice, material, problem._replace(weight=jnp.asarray(weight)), starts[rows], held[rows])
        parts.append(Found(*(a[: len(starts) - first] for a in part)))
    return Found(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


def _descend(choice: Choice, material: Material, problem: Problem, free: np.ndarray, held: np.ndarray) -> Found:
    """Levenberg-Marquardt with Nielsen's damping (Madsen, Nielsen & Tingleff 2004, section 3.2)."""
    at = lambda free: [np.asarray(a, float) for a in evaluate(choice, material, problem, jnp.asarray(free))]  # noqa: E731
    cost, g, H = at(free)
    damping, up = np.full(len(free), FIRST_DAMPING), np.full(len(free), 2.0)
    done = np.zeros(len(free), bool)
    for _ in range(STEPS):
        move, expected = _step(np.where(held, 0, g), H, damping, held)
        done |= ~(expected > PRECISION) | (damping > STUCK)
        if done.all():
            break
        new_cost, new_g, new_H = at(free + move)
        better = (new_cost < cost) & ~done
        gain = (cost - new_cost) / np.where(done, 1, expected)
        faster = np.maximum(1 / 3, 1 - (2 * np.clip(gain, 0, 1) - 1) ** 3)
        damping = np.where(better, damping * faster, np.where(done, damping, damping * up))
        up = np.where(better, 2, np.where(done, up, 2 * up))
        free = np.where(better[:, None], free + move, free)
        cost, g = np.where(better, new_cost, cost), np.where(better[:, None], new_g, g)
        H = np.where(better[:, None, None], new_H, H)
    return Found(free, np.where(np.isfinite(cost), cost, np.inf), done)


def _step(g: np.ndarray, H: np.ndarray, damping: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The damped step of every start, and the expected decrease of the sum of squares."""
    scale = np.diagonal(H, axis1=1, axis2=2)
    scale = np.maximum(scale, FLATTEST * scale.max(1, keepdims=True)) + np.finfo(float).tiny
    kept = held[:, :, None] | held[:, None, :]
    damped = np.where(kept, 0, H + (damping[:, None] * scale)[:, :, None] * np.eye(g.shape[1]))
    damped += held[:, :, None] * np.eye(g.shape[1])
    move = -np.linalg.solve(damped, g[..., None])[..., 0]
    move /= np.maximum(1, np.abs(move).max(1, keepdims=True) / LONGEST)
    return move, -np.sum(move * (2 * g + (H @ move[..., None])[..., 0]), 1)


@partial(jax.jit, static_argnames=("choice", "material"))
def evaluate(choice: Choice, material: Material, problem: Problem, free: Array) -> tuple[Array, Array, Array]:
    """Sum of squares (s,), J^T r (s, p) and J^T J (s, p, p) at free numbers (s, p)."""
    r, J = linearised(choice, material, problem, free)
    return jnp.sum(r * r, -1), jnp.einsum("psm,sm->sp", J, r), jnp.einsum("psm,qsm->spq", J, J)


def information(choice: Choice, material: Material, problem: Problem, natural: np.ndarray) -> np.ndarray:
    """Fisher information (p, p) of the natural numbers (p,); a number on its bound does not reduce it."""
    size = max(1, min(BATCH, LANES // len(problem.rebounds)))
    low, high = material.bounds()
    width = np.where(np.isfinite(high - low), high - low, 1)
    inside = np.clip(natural, low + INSIDE * width, high - INSIDE * width)
    free = material.free(jnp.asarray(inside))
    slope = np.asarray(jax.jvp(material.natural, (free,), (jnp.ones_like(free),))[1])
    weight = jnp.broadcast_to(problem.weight, (size, len(problem.rebounds)))
    gaussian = problem._replace(weight=weight, heaviness=jnp.zeros(()))
    H = np.asarray(evaluate(choice, material, gaussian, jnp.broadcast_to(free, (size, len(free))))[2][0], float)
    k, heavy = float(np.isfinite(problem.sigma).sum(-1).mean()), float(problem.heaviness)
    lost = (1 + k * heavy) / (1 + (k + 2) * heavy)  # factor of the information with heavy tails
    return np.asarray(lost * H / slope[:, None] / slope[None, :])


def inverse_information(information: np.ndarray) -> np.ndarray:
    """Covariance; the variance is infinite for numbers that are not determined to numerical precision."""
    scale = np.sqrt(np.diag(information))
    there = scale > 0
    covariance = np.diag(np.where(there, 0, np.inf))
    if there.any():
        unit = information[np.ix_(there, there)] / np.outer(scale[there], scale[there])
        values, vectors = np.linalg.eigh(unit)
        lost = values <= len(values) * 1e-12
        inner = (vectors / np.where(lost, np.inf, values)) @ vectors.T
        inner[np.diag_indices_from(inner)] = np.where((vectors[:, lost] ** 2).sum(1) > 1e-8, np.inf, np.diag(inner))
        covariance[np.ix_(there, there)] = inner / np.outer(scale[there], scale[there])
    return covariance


@partial(jax.jit, static_argnames=("choice", "material"))
def predicted(choice: Choice, material: Material, rebounds: Rebounds, numbers: Array) -> Array:
    """Predicted channels at natural numbers (p,)."""
    return predict(choice, rebounds, material.function(material.values(numbers), rebounds))


def linearised(choice: Choice, material: Material, problem: Problem, free: Array) -> tuple[Array, Array]:
    """Residuals (s, m) and their Jacobian with respect to the free numbers, (p, s, m)."""
    basis = jnp.broadcast_to(jnp.eye(free.shape[-1])[:, None, :], (free.shape[-1], *free.shape))
    run = partial(residuals, choice, material, problem)
    return jax.vmap(lambda unit: jax.jvp(run, (free,), (unit,)), out_axes=(None, 0))(basis)


def residuals(choice: Choice, material: Material, problem: Problem, free: Array) -> Array:
    """Whitened and weighted residuals (s, m), with those of the prior last; all starts are one batch of impacts."""

    def coefficients(free: Array) -> tuple[Values, Array]:
        values = material.values(material.natural(free))
        given = material.function(values, problem.rebounds)
        wide = {name: jnp.broadcast_to(value, (len(problem.rebounds),)) for name, value in given.items()}
        return wide, jnp.zeros(0) if material.prior is None else material.prior(values)

    given, prior = jax.vmap(coefficients)(free)
    r = (
        whitened(choice, problem.rebounds, given, problem.sigma, problem.heaviness)
        * jnp.sqrt(problem.weight)[..., None]
    )
    return jnp.concatenate([r.reshape(len(free), -1), prior], -1)


def draw_starts(material: Material, count: int, seed: int) -> np.ndarray:
    """Starts (count, p), spread evenly over the usual range of each parameter."""
    ranges = [p.starts for p in material.parameters.values() for _ in range(int(np.prod(p.shape)))]
    low, high = np.array(ranges).T
    unit = qmc.Sobol(len(ranges), rng=seed).random(1 << (count - 1).bit_length())[:count]
    ratio = np.where(low > 0, high / np.where(low > 0, low, 1), 1)
    natural = np.where(ratio > 10, low * ratio**unit, low + (high - low) * unit)  # wide ranges are logarithmic
    return np.asarray(jax.vmap(material.free)(jnp.asarray(natural)))


def explore(
    choice: Choice, material: Material, problem: Problem, starts: np.ndarray, seed: int, progress: Progress = iter
) -> tuple[Found, int]:
    """Ends of a search from all starts on all data, the best first, and the number of starts that agree with the best.

    If there are many impacts, all starts use a sample of them, and the best distinct ends continue on all data.
    """
    sample = sampled(problem, seed)
    found = _ordered(minimise(choice, material, sample, starts, progress=progress))
    agreed = int((found.cost <= found.cost[0] + SAME).sum())
    if len(problem.rebounds) > EXPLORED:
        best = _distinct(material, found.free)
        found = _ordered(minimise(choice, material, problem, best, progress=progress))
    return found, agreed


def sampled(problem: Problem, seed: int) -> Problem:
    """A random sample of the impacts, or all if there are few."""
    some = np.sort(np.random.default_rng(seed).permutation(len(problem.rebounds))[:EXPLORED])
    return Problem(problem.rebounds[some], problem.sigma[some], problem.heaviness, problem.weight[some])


def _ordered(found: Found) -> Found:
    """The ends, the best first; of equally good ends (as when no impact slips) that with the smallest numbers first."""
    best = found.cost <= found.cost.min() + EQUAL
    order = np.lexsort((np.where(best, np.abs(found.free).sum(1), 0), np.where(best, -np.inf, found.cost)))
    return Found(*(a[order] for a in found))


def _distinct(material: Material, free: np.ndarray) -> np.ndarray:
    """The first few rows that are not close to an earlier one."""
    natural = np.asarray(jax.vmap(material.natural)(jnp.asarray(free)))
    kept: list[int] = []
    for i, here in enumerate(natural):
        if len(kept) < DISTINCT and all(np.abs(here - natural[j]).max() > APART for j in kept):
            kept.append(i)
    return free[kept]
