"""Fit of the parameters of a law to measured rebounds: maximum likelihood from many starts.

found = fit(rebounds, law="stronge", parameters=("friction", "restitution"))
found.estimate["friction"], found.interval(0.95)["friction"], found.identifiable["friction"].reason
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from jimpact.identify.input_checks import check_fit
from jimpact.identify.least_squares import (
    Problem,
    draw_starts,
    explore,
    information,
    predicted,
)
from jimpact.identify.likelihood import Choice, log_likelihood
from jimpact.identify.material import Material, constant
from jimpact.identify.momentum_floor import Floor, momentum_floor, scales
from jimpact.identify.noise import with_noise
from jimpact.identify.rebounds import Rebounds
from jimpact.identify.uncertainty import Profile, Solved, Verdict, bootstrap, intervals, profile, verdicts
from jimpact.laws import LAWS
from jimpact.types import Progress

__all__ = ["Fit", "fit"]

MOST_STARTS = 100_000
UNEXPLAINED = 3.0  # x the noise: a larger excess is a caution


@dataclass(frozen=True)
class Fit:
    """The result of `fit`. Numbers are in the order of `names`."""

    solved: Solved
    estimated: np.ndarray  # (k,) channels whose noise was estimated
    starts: int
    agreed: int  # starts that ended at the best point
    converged: bool
    floor: Floor
    identifiable: dict[str, Verdict]

    @property
    def choice(self) -> Choice:
        return self.solved.choice

    @property
    def material(self) -> Material:
        return self.solved.material

    @property
    def rebounds(self) -> Rebounds:
        return self.solved.problem.rebounds

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.solved.names)

    @property
    def numbers(self) -> np.ndarray:
        """The estimates as one array, (p,)."""
        return self.solved.numbers

    @property
    def estimate(self) -> dict[str, Any]:
        """The estimates by name: a number each, or an array where a parameter has one per group."""
        values = self.material.values(jnp.asarray(self.numbers))
        return {name: float(value) if np.ndim(value) == 0 else np.asarray(value) for name, value in values.items()}

    @property
    def sigma(self) -> np.ndarray:
        """The given or estimated noise, (n, k)."""
        return np.asarray(self.solved.problem.sigma, float)

    @property
    def covariance(self) -> np.ndarray:
        """Covariance (p, p) by curvature; infinite for numbers that the data do not determine."""
        return self.solved.covariance

    @property
    def standard_error(self) -> dict[str, float]:
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def residuals(self) -> np.ndarray:
        """Measured minus predicted, (n, k), in the units of each channel; nan where nothing was measured."""
        left = np.asarray(self.rebounds.observation) - self.predict()
        return np.where(np.isfinite(self.sigma), left, np.nan)

    @property
    def rms(self) -> np.ndarray:
        """Root mean square of the residuals over the impacts, by channel (k,)."""
        return np.sqrt(np.nanmean(self.residuals**2, 0))

    @property
    def excess(self) -> float:
        """Residual of the law beyond the momentum floor, in units of the noise; 1 if the law is right.

        If the noise was estimated, the unit is the noise of the floor; the result is nan if there is no floor.
        """
        floor, free = self.floor.chi2.sum(), self.floor.freedom.sum()
        freedom = np.isfinite(self.sigma).sum() - len(self.names) - free
        left = np.nansum((self.residuals / self.sigma) ** 2)
        unit = 1.0 if not self.estimated.any() else np.sqrt(floor / free) if free else np.nan
        return float(np.sqrt(max(left - floor, 0) / max(freedom, 1)) / unit)

    @property
    def no_answer(self) -> int:
        """Number of impacts for which the law has no answer; the fit predicts zero impulse for them."""
        still = (self.predict() == np.asarray(self.rebounds.baseline)).all(-1)
        return int((still & (np.asarray(self.rebounds.velocity)[:, 2] < 0)).sum())

    @property
    def cautions(self) -> list[str]:
        """Warnings about the estimates, in words."""
        words = []
        if self.no_answer:
            domain = LAWS[self.choice.law].domain
            words.append(f"the law has no answer for {self.no_answer} impacts; its domain: {domain}")
        if self.excess > UNEXPLAINED:
            words.append(
                f"the law does not explain the data: its residual is {self.excess:.3g} x the noise, and intervals are "
                "too narrow; look at the audit, try another law, or a material that differs by group or speed"
            )
        return words

    def __str__(self) -> str:
        error = self.standard_error
        rows = [f"law {self.choice.law}, {len(self.rebounds)} impacts"]
        for name, number in zip(self.names, self.numbers, strict=True):
            verdict = self.identifiable[name]
            rows.append(f"{name} = {number:.4g} +- {error[name]:.2g}{'' if verdict else f', {verdict.reason}'}")
        return "\n".join([*rows, *self.cautions])

    @property
    def log_likelihood(self) -> float:
        return log_likelihood(self.solved.cost, self.sigma, float(self.solved.problem.heaviness))

    @property
    def count(self) -> int:
        """Number of estimated parameters and noises."""
        return len(self.names) + int(self.estimated.sum())

    @property
    def aic(self) -> float:
        return 2 * self.count - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        return self.count * float(np.log(np.isfinite(self.sigma).sum())) - 2 * self.log_likelihood

    def coefficients(self, rebounds: Rebounds | None = None) -> dict[str, np.ndarray]:
        """Friction, restitution and so on of each impact."""
        rebounds = self._same_groups(rebounds)
        values = self.material.function(self.material.values(jnp.asarray(self.numbers)), rebounds)
        given = {name: jnp.asarray(value) for name, value in self.choice.fixed} | dict(values)
        return {name: np.broadcast_to(np.asarray(value), (len(rebounds),)) for name, value in given.items()}

    def predict(self, rebounds: Rebounds | None = None) -> np.ndarray:
        """Predicted channels of these (or other) rebounds, without noise, (n, k)."""
        rebounds = self._same_groups(rebounds)
        return np.asarray(predicted(self.choice, self.material, rebounds, jnp.asarray(self.numbers)))

    def _same_groups(self, rebounds: Rebounds | None) -> Rebounds:
        """Other rebounds with the group numbers of the data, matched by name, if the material depends on groups."""
        if rebounds is not None and not isinstance(rebounds, Rebounds):
            raise TypeError(f"rebounds is a {type(rebounds).__name__}; pass Rebounds, or None for those of the fit")
        if rebounds is None or self.material.groups is None or not (rebounds.group_names and self.rebounds.group_names):
            return self.rebounds if rebounds is None else rebounds
        unknown = set(rebounds.group_names) - set(self.rebounds.group_names)
        if unknown:
            raise ValueError(f"group {sorted(unknown)[0]!r} was not fitted; pass rebounds of the groups that were")
        index = jnp.asarray([self.rebounds.group_names.index(name) for name in rebounds.group_names], jnp.int32)
        return replace(rebounds, group=index[rebounds.group], group_names=self.rebounds.group_names)

    def interval(
        self, level: float = 0.95, method: str = "curvature", **options: Any
    ) -> dict[str, tuple[float, float]]:
        """Confidence interval of every number: by "curvature", "profile" likelihood or "bootstrap" over groups."""
        return intervals(self.solved, self.identifiable, level, method, **options)

    def profile(self, name: str, values: np.ndarray | None = None) -> Profile:
        """Profile likelihood of one number, at given values or on both sides of the estimate."""
        return profile(self.solved, name, values)

    def bootstrap(self, resamples: int = 200, seed: int = 0, progress: Progress = iter) -> np.ndarray:
        """Estimates (resamples, p) from groups drawn with replacement."""
        return bootstrap(self.solved, resamples, seed, progress)


def fit(
    rebounds: Rebounds,
    *,
    law: str = "stronge",
    parameters: Sequence[str] = ("friction", "restitution"),
    material: Material | None = None,
    fixed: Mapping[str, float] | None = None,
    rule: str = "poisson",
    accuracy: str = "standard",
    heavy_tails: float | None = None,
    starts: int = 32,
    start: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress = iter,
) -> Fit:
    """Fit the parameters of a law to measured rebounds.

    Args:
        rebounds: the data; noise that is nan is estimated, one number per channel.
        law, rule, accuracy: as in `solve`.
        parameters: the coefficients to fit, one number each.
        material: a model with other parameters, instead of `parameters`.
        fixed: values of the coefficients that the law needs but that are not fitted.
        heavy_tails: degrees of freedom of Student noise, such as 4; None for Gaussian noise.
        starts: number of starts of the search.
        start: a further start, by parameter name.
        seed: seed of starts and samples.
        progress: wraps the loop over batches of starts, as tqdm does.
    """
    if isinstance(parameters, str):
        raise TypeError(f"parameters={parameters!r}; pass a tuple of names, such as ({parameters!r},)")
    material = constant(tuple(parameters)) if material is None else material
    choice = Choice(law, rule, accuracy, tuple(sorted((fixed or {}).items())))
    check_fit(rebounds, choice, material)
    _check_numbers(starts, seed, heavy_tails)
    first = draw_starts(material, starts, seed)
    if start is not None:
        first = np.concatenate([_own_start(material, start)[None], first])
    sigma = scales(rebounds)
    estimated = (np.isnan(np.asarray(rebounds.noise)) & np.isfinite(sigma)).any(0)
    _check_count(sigma, material.size(), estimated)
    weight = jnp.ones(len(rebounds), rebounds.velocity.dtype)
    heaviness = 0.0 if heavy_tails is None else 1 / heavy_tails
    problem = Problem(rebounds, jnp.asarray(sigma, weight.dtype), jnp.asarray(heaviness, weight.dtype), weight)
    found, agreed = explore(choice, material, problem, first, seed, progress)
    if estimated.any():
        found, problem = with_noise(choice, material, problem, found, estimated)
    numbers = np.asarray(material.natural(jnp.asarray(found.free[0])), float)
    known = information(choice, material, problem, numbers)
    solved = Solved(choice, material, problem, numbers, known, float(found.cost[0]))
    floor = momentum_floor(rebounds, np.asarray(problem.sigma, float))
    return Fit(solved, estimated, len(first), agreed, bool(found.converged[0]), floor, verdicts(solved))


def _check_numbers(starts: int, seed: int, heavy_tails: float | None) -> None:
    if isinstance(starts, bool) or not isinstance(starts, int) or not 1 <= starts <= MOST_STARTS:
        raise ValueError(f"starts={starts!r}; pass a whole number from 1 to {MOST_STARTS}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed={seed!r}; pass a whole number of at least 0")
    if heavy_tails is not None and (not isinstance(heavy_tails, int | float) or not heavy_tails > 0):
        raise ValueError(f"heavy_tails={heavy_tails!r}; pass degrees of freedom above 0, such as 4, or None")


def _check_count(sigma: np.ndarray, size: int, estimated: np.ndarray) -> None:
    """Raise an error if noise is to be estimated and there are not more measured numbers than parameters."""
    measured, unknown = int(np.isfinite(sigma).sum()), size + int(estimated.sum())
    if estimated.any() and measured <= unknown:
        raise ValueError(
            f"{measured} numbers measured, and {unknown} unknown with the noise of the channels; pass noise="
        )


def _own_start(material: Material, start: Mapping[str, Any]) -> np.ndarray:
    """Free numbers of a start given by name."""
    missing = [name for name in material.parameters if name not in start]
    if missing or len(start) != len(material.parameters):
        raise ValueError(f"start has {sorted(start)}; pass a value for each of {', '.join(material.parameters)}")
    rows = [np.broadcast_to(np.asarray(start[name], float), p.shape).ravel() for name, p in material.parameters.items()]
    return np.asarray(material.free(jnp.asarray(np.concatenate(rows))))
