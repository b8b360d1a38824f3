"""Uncertainty of the parameters of a fit: intervals by three methods, and parameters that are not identifiable.

* curvature: the Fisher information at the estimate; cheap, and right when the likelihood is nearly Gaussian.
* profile: the interval ends where the likelihood, maximised over all other parameters, has fallen by an amount that
  depends on the level; it accounts for bounds, skewness and one-sided data.
* bootstrap: the fit is repeated on groups drawn with replacement; this needs no model of the noise, but many groups.

A parameter is identifiable if the likelihood excludes the ends of its range at four standard deviations, or if its
interval is narrow at an end of the range. The usual parameter that is not identifiable is friction, without an upper
bound, if every impact sticks.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy import stats

from jimpact.identify.least_squares import Found, Problem, inverse_information, minimise, predicted, sampled
from jimpact.identify.likelihood import Choice
from jimpact.identify.material import Material
from jimpact.types import Progress
from jimpact.validation import check_name

__all__ = ["Profile", "Solved", "Verdict", "bootstrap", "intervals", "profile", "verdicts"]

METHODS = ("curvature", "profile", "bootstrap")
EXCLUDED = 16.0  # fall of twice the log-likelihood: four standard deviations
SURE = 10.0  # x EXCLUDED: a value that a sample of the impacts excludes with this margin is excluded by all impacts
STUCK_FRICTION = 1e3  # friction at which every contact sticks that can stick
NARROW = 0.25  # largest interval at an end of the range that counts as known, relative to the range
PER_SIDE = 8  # values of a profile on each side of the estimate in one round
ROUNDS = 8  # rounds of widening until the likelihood has fallen enough
MANY = 200  # default number of resamples
CURVE = 9.0  # fall up to which a profile is drawn: three standard deviations


class Solved(NamedTuple):
    """The best numbers (p,) of a problem, their Fisher information (p, p), and the sum of squares."""

    choice: Choice
    material: Material
    problem: Problem
    numbers: np.ndarray
    information: np.ndarray
    cost: float

    @property
    def names(self) -> list[str]:
        return self.material.names(self.problem.rebounds.group_names)

    @property
    def covariance(self) -> np.ndarray:
        return inverse_information(self.information)


class Verdict(NamedTuple):
    """Whether a parameter is identifiable, and the reason in words."""

    identifiable: bool
    reason: str
    low: float = np.nan  # bounds by the data, if there are any
    high: float = np.nan

    def __bool__(self) -> bool:
        return self.identifiable


class Profile(NamedTuple):
    """Fall of twice the log-likelihood (m,) at values (m,) of one number, maximised over the others."""

    values: np.ndarray
    fall: np.ndarray


def intervals(
    fit: Solved, verdicts: dict[str, Verdict], level: float, method: str, **options: Any
) -> dict[str, tuple[float, float]]:
    """Confidence interval of every number."""
    if isinstance(level, str) or not 0 < level < 1:
        raise ValueError(f"level={level!r}; pass a number between 0 and 1, such as 0.95")
    check_name(method, METHODS, "method")
    low, high = fit.material.bounds()
    if method == "curvature":
        z = stats.norm.ppf(0.5 + level / 2)
        spread = z * np.sqrt(np.diag(fit.covariance))
        ends = np.maximum(fit.numbers - spread, low), np.minimum(fit.numbers + spread, high)
        for i, verdict in enumerate(verdicts.values()):
            if not verdict:  # without curvature the interval is that of the profile
                ends[0][i], ends[1][i] = _profile_ends(fit, i, stats.chi2.ppf(level, 1))
    elif method == "profile":
        both = [_profile_ends(fit, i, stats.chi2.ppf(level, 1)) for i in range(len(fit.names))]
        ends = np.array([a for a, _ in both]), np.array([b for _, b in both])
    else:
        draws = bootstrap(fit, **options)
        ends = tuple(np.quantile(draws, [0.5 - level / 2, 0.5 + level / 2], axis=0))
    return {name: (float(a), float(b)) for name, a, b in zip(fit.names, *ends, strict=True)}


def profile(fit: Solved, name: str, values: np.ndarray | None = None) -> Profile:
    """Profile of one number: at given values, or on both sides up to a large fall or the end of the range."""
    if name not in fit.names:
        raise ValueError(f"name={name!r} was not fitted; pass one of {', '.join(map(repr, fit.names))}")
    i = fit.names.index(name)
    if values is not None:
        values, (low, high) = np.atleast_1d(np.asarray(values, float)), (b[i] for b in fit.material.bounds())
        if not len(values) or not ((values >= low) & (values <= high)).all():
            raise ValueError(f"values of {name} must be from {low:g} to {high:g}; pass at least one, none outside")
        return Profile(values, _held(fit, np.full(len(values), i), values).cost - fit.cost)
    below, above = (_side(fit, i, sign, CURVE) for sign in (-1, 1))
    values = np.concatenate([below.values[::-1], [fit.numbers[i]], above.values])
    return Profile(values, np.concatenate([below.fall[::-1], [0.0], above.fall]))


def bootstrap(fit: Solved, resamples: int = MANY, seed: int = 0, progress: Progress = iter) -> np.ndarray:
    """Estimates (resamples, p) from groups drawn with replacement; each fit starts from the estimate."""
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 2:
        raise ValueError(f"resamples={resamples!r}; pass a whole number of at least 2")
    counts = _draws(fit, resamples, np.random.default_rng(seed))
    start, rows, chunk = _free(fit), [], 8
    for first in progress(range(0, resamples, chunk)):
        weights = counts[first : first + chunk].astype(float)
        starts = np.tile(start, (len(weights), 1))
        found = minimise(fit.choice, fit.material, fit.problem, starts, weights=weights)
        rows.append(_natural(fit.material, found.free))
    return np.concatenate(rows)


def _draws(fit: Solved, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Counts of each impact (resamples, n): whole groups are drawn, or impacts within groups that have parameters."""
    group = np.unique(np.asarray(fit.problem.rebounds.group), return_inverse=True)[1]
    groups = int(group.max()) + 1
    if fit.material.groups is not None:
        counts = np.zeros((resamples, len(group)), int)
        for g in range(groups):
            rows = np.flatnonzero(group == g)
            counts[:, rows] = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), resamples)
        return counts
    if groups < 2:
        raise ValueError("all rebounds are of one group; a bootstrap draws groups, pass rebounds with several")
    return rng.multinomial(groups, np.full(groups, 1 / groups), resamples)[:, group]


def verdicts(fit: Solved) -> dict[str, Verdict]:
    """Whether each number is identifiable."""
    low, high = fit.material.bounds()
    far = np.where(np.isfinite(high), high, STUCK_FRICTION * np.maximum(1, fit.numbers))
    near = np.where(np.isfinite(low), low, -far)
    index = np.repeat(np.arange(len(fit.names)), 2)
    fall = _falls(fit, index, np.stack([near, far], 1).ravel()).reshape(-1, 2)
    return {name: _verdict(fit, i, fall[i]) for i, name in enumerate(fit.names)}


def _falls(fit: Solved, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Fall of the likelihood with number index[j] held at values[j]; for many impacts a sample may suffice."""
    sample = sampled(fit.problem, 0)
    if len(sample.rebounds) == len(fit.problem.rebounds):
        return _held(fit, index, values).cost - fit.cost
    part = fit._replace(problem=sample)
    here = minimise(*fit[:2], sample, _free(fit)[None], np.ones((1, len(fit.names)), bool)).cost[0]
    fall = _held(part, index, values).cost - here
    open_ = fall < SURE * EXCLUDED
    if open_.any():
        fall[open_] = _held(fit, index[open_], values[open_]).cost - fit.cost
    return fall


def _verdict(fit: Solved, i: int, fall: np.ndarray) -> Verdict:
    low, high = (float(bound[i]) for bound in fit.material.bounds())
    open_low, open_high = fall[0] < EXCLUDED, fall[1] < EXCLUDED
    name, n = fit.names[i], len(fit.problem.rebounds)
    unlimited = not np.isfinite(high)
    if not open_high and (not open_low or unlimited):
        return _alone(fit, i, Verdict(True, "the data bound it on both sides"))
    a, b = _profile_ends(fit, i, stats.chi2.ppf(0.90, 1))  # one-sided 95 %
    stuck, idle = _stuck(fit), _idle(fit, i)
    if name.startswith("friction") and stuck >= max(idle, 1):
        why = f"{_share(stuck, n)} stick"
    else:
        why = f"{_share(idle, n)} do not depend on {name}" if idle else f"the impacts hardly depend on {name}"
    if open_low and open_high and (a > low or b < high):
        return Verdict(False, f"too few or too noisy data: only to 90 % between {a:.2g} and {b:.2g}", a, b)
    if open_low and open_high:
        return Verdict(False, f"{why}: any value of {name} explains the data", a, b)
    if not unlimited and b - a <= NARROW * (high - low):
        return _alone(fit, i, Verdict(True, "the data bound it, at the end of its range", a, b))
    if open_high:
        return Verdict(False, f"{why}: {name} is only bounded from below, >= {a:.2g}", a, high)
    return Verdict(False, f"{why}: {name} is only bounded from above, <= {b:.2g}", low, b)


def _alone(fit: Solved, i: int, otherwise: Verdict) -> Verdict:
    """The verdict that only a combination with another parameter is known, if this is so; else `otherwise`."""
    if np.isfinite(fit.covariance[i, i]):
        return otherwise
    scale = np.sqrt(np.diag(fit.information))
    if scale[i] == 0:
        return otherwise  # a step function, as for static friction, has bounds but no curvature
    partners = np.abs(fit.information[i] / np.where(scale > 0, scale * scale[i], np.inf))
    partners[i] = 0
    other = fit.names[int(partners.argmax())]
    return Verdict(False, f"only a combination of {fit.names[i]} and {other} is known")


def _share(some: int, n: int) -> str:
    return f"all {n} impacts" if some == n > 1 else f"{some} of {n} impacts"


def _stuck(fit: Solved) -> int:
    """Number of impacts that end without slip in the fit."""
    data = fit.problem.rebounds
    E, W, v = (np.asarray(a, float) for a in (data.effect, data.inverse_inertia, data.velocity))
    change = np.asarray(predicted(*fit[:2], data, jnp.asarray(fit.numbers)) - data.baseline, float)
    impulse = np.einsum("nik,nk->ni", np.linalg.pinv(E, rcond=1e-10), change)
    after = v + np.einsum("nij,nj->ni", W, impulse)
    return int((np.hypot(after[:, 0], after[:, 1]) <= 1e-6 * np.linalg.norm(v, axis=-1)).sum())


def _idle(fit: Solved, i: int) -> int:
    """Number of impacts that do not change when the number is raised by a percent."""
    raised = fit.numbers.copy()
    high = fit.material.bounds()[1][i]
    step = 0.01 * max(abs(raised[i]), 0.01)
    raised[i] += step if raised[i] + step <= high else -step
    read = lambda numbers: np.asarray(predicted(*fit[:2], fit.problem.rebounds, jnp.asarray(numbers)))  # noqa: E731
    there = read(fit.numbers)
    change, moved = read(raised) - there, np.abs(np.asarray(fit.problem.rebounds.baseline) - there).max(-1)
    return int((np.abs(change).max(-1) <= 1e-7 * moved).sum())


def _profile_ends(fit: Solved, i: int, threshold: float) -> tuple[float, float]:
    """Where the profile likelihood crosses the threshold, or the end of the range."""
    ends = []
    for sign, bound in zip((-1, 1), fit.material.bounds(), strict=True):
        side = _side(fit, i, sign, threshold)
        values = np.concatenate([[fit.numbers[i]], side.values])
        root = np.sqrt(np.maximum.accumulate(np.concatenate([[0.0], np.maximum(side.fall, 0)])))
        beyond = np.flatnonzero(root >= np.sqrt(threshold))
        if not len(beyond):
            ends.append(float(bound[i]))
            continue
        j = beyond[0]
        share = (np.sqrt(threshold) - root[j - 1]) / (root[j] - root[j - 1])
        ends.append(float(values[j - 1] + share * (values[j] - values[j - 1])))
    return ends[0], ends[1]


def _side(fit: Solved, i: int, sign: int, fall: float) -> Profile:
    """The profile on one side, outwards, until the likelihood has fallen by `fall` or the range ends."""
    low, high = (float(bound[i]) for bound in fit.material.bounds())
    at, end = float(fit.numbers[i]), low if sign < 0 else high
    error = float(np.sqrt(fit.covariance[i, i]))
    room = abs(end - at)
    width = 1.3 * error * np.sqrt(fall) if np.isfinite(error) else (room if np.isfinite(room) else max(at, 0.1))
    start, values, falls = 0.0, np.zeros(0), np.zeros(0)
    for _ in range(ROUNDS):
        width = min(width, room)
        if not width > start:
            break
        new = at + sign * (start + (width - start) * np.arange(1, PER_SIDE + 1) / PER_SIDE)
        cost = _held(fit, np.full(PER_SIDE, i), new).cost - fit.cost
        values, falls = np.concatenate([values, new]), np.concatenate([falls, cost])
        if falls.max() >= fall or width >= room:
            break
        start, width = width, 4 * width
    j = np.flatnonzero(falls >= fall)
    if len(j):  # refine once, between the last value below and the first beyond
        inner = at if j[0] == 0 else values[j[0] - 1]
        new = inner + (values[j[0]] - inner) * np.arange(1, PER_SIDE) / PER_SIDE
        cost = _held(fit, np.full(len(new), i), new).cost - fit.cost
        values, falls = np.concatenate([values, new]), np.concatenate([falls, cost])
        order = np.argsort(sign * values)
        values, falls = values[order], falls[order]
    return Profile(values, falls)


def _held(fit: Solved, index: np.ndarray, values: np.ndarray) -> Found:
    """The best fits with number index[j] held at values[j]; each starts from the estimate."""
    natural = np.tile(fit.numbers, (len(values), 1))
    rows = np.arange(len(values))
    natural[rows, index] = values
    held = np.zeros(natural.shape, bool)
    held[rows, index] = True
    free = np.stack([np.asarray(fit.material.free(jnp.asarray(row))) for row in natural])
    return minimise(fit.choice, fit.material, fit.problem, free, held)


def _free(fit: Solved) -> np.ndarray:
    return np.asarray(fit.material.free(jnp.asarray(fit.numbers)))


def _natural(material: Material, free: np.ndarray) -> np.ndarray:
    return np.stack([np.asarray(material.natural(jnp.asarray(row))) for row in free])
