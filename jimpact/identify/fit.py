"""From measured rebounds to the parameters of a law: maximum likelihood from many starts.

found = fit(rebounds, law="stronge", parameters=("friction", "restitution"))
found.estimate["friction"], found.interval(0.95)["friction"], found.identifiable["friction"].reason
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimpact.identify.floor import Floor, momentum_floor, scales
from jimpact.identify.likelihood import Choice, log_likelihood
from jimpact.identify.material import COEFFICIENTS, Material, constant
from jimpact.identify.rebounds import Rebounds
from jimpact.identify.search import Problem, Progress, draw_starts, explore, information, minimise, predicted
from jimpact.identify.uncertainty import Profile, Solved, Verdict, bootstrap, intervals, profile, verdicts
from jimpact.laws import LAWS

__all__ = ["Fit", "check_data", "check_values", "checked", "fit"]

MOST_STARTS = 100_000
UNEXPLAINED = 3.0  # x the noise: more is not chance
ROUNDS = 12  # of fit and estimate of the noise in turn
SETTLED = 1e-3  # relative change of the noise that ends them


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
        """The estimates in one row, (p,)."""
        return self.solved.numbers

    @property
    def estimate(self) -> dict[str, Any]:
        """The estimates by name: a number each, or an array where a parameter has one per group."""
        values = self.material.values(jnp.asarray(self.numbers))
        return {name: float(value) if np.ndim(value) == 0 else np.asarray(value) for name, value in values.items()}

    @property
    def sigma(self) -> np.ndarray:
        """Noise, given or estimated, (n, k)."""
        return np.asarray(self.solved.problem.sigma, float)

    @property
    def covariance(self) -> np.ndarray:
        """By curvature, (p, p); infinite for what the data do not tell."""
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
        """What the law leaves beyond the momentum floor, in units of the noise; 1 is perfect.

        Noise that was estimated is that of the floor; nan where there is none.
        """
        floor, free = self.floor.chi2.sum(), self.floor.freedom.sum()
        freedom = np.isfinite(self.sigma).sum() - len(self.names) - free
        left = np.nansum((self.residuals / self.sigma) ** 2)
        unit = 1.0 if not self.estimated.any() else np.sqrt(floor / free) if free else np.nan
        return float(np.sqrt(max(left - floor, 0) / max(freedom, 1)) / unit)

    @property
    def no_answer(self) -> int:
        """For how many impacts the law has none, and is taken to predict no impulse."""
        still = (self.predict() == np.asarray(self.rebounds.baseline)).all(-1)
        return int((still & (np.asarray(self.rebounds.velocity)[:, 2] < 0)).sum())

    @property
    def cautions(self) -> list[str]:
        """What a reader of the estimates must know, in words."""
        words = []
        if self.no_answer:
            domain = LAWS[self.choice.law].domain
            words.append(f"the law has no answer for {self.no_answer} impacts; its domain: {domain}")
        if self.excess > UNEXPLAINED:
            words.append(
                f"the law does not explain the data, it leaves {self.excess:.3g} x the noise: intervals are too "
                "narrow; look at the audit, try another law, or a material that differs by group or speed"
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
        """Numbers that were estimated: parameters, and noise."""
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
        """What the channels of these (or other) rebounds would read without noise, (n, k)."""
        rebounds = self._same_groups(rebounds)
        return np.asarray(predicted(self.choice, self.material, rebounds, jnp.asarray(self.numbers)))

    def _same_groups(self, rebounds: Rebounds | None) -> Rebounds:
        """Other rebounds with the group numbers of the data, by name, if groups matter."""
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
        """Numbers (resamples, p) of fits to groups drawn with replacement."""
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
        parameters: which coefficients to fit, one number each; `material` is a model with other parameters instead.
        fixed: values of the coefficients that the law needs but that are not fitted.
        heavy_tails: degrees of freedom of Student noise, such as 4; None for Gaussian noise.
        starts: how many starting points; `start` adds one of your own.
        seed: of starts and samples.
        progress: wraps the loop over batches of starts, as tqdm does.
    """
    material = constant(tuple(parameters)) if material is None else material
    choice = Choice(law, rule, accuracy, tuple(sorted((fixed or {}).items())))
    checked(rebounds, choice, material)
    if isinstance(starts, bool) or not isinstance(starts, int) or not 1 <= starts <= MOST_STARTS:
        raise ValueError(f"starts={starts!r}; pass a whole number from 1 to {MOST_STARTS}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed={seed!r}; pass a whole number of at least 0")
    if heavy_tails is not None and (not isinstance(heavy_tails, int | float) or not heavy_tails > 0):
        raise ValueError(f"heavy_tails={heavy_tails!r}; pass degrees of freedom above 0, such as 4, or None")
    heaviness = 0.0 if heavy_tails is None or np.isinf(heavy_tails) else 1 / heavy_tails
    first = draw_starts(material, starts, seed)
    if start is not None:
        first = np.concatenate([_own_start(material, start)[None], first])
    sigma = scales(rebounds)
    estimated = (np.isnan(np.asarray(rebounds.noise)) & np.isfinite(sigma)).any(0)
    measured, unknown = int(np.isfinite(sigma).sum()), material.size() + int(estimated.sum())
    if estimated.any() and measured <= unknown:
        raise ValueError(
            f"{measured} numbers measured, and {unknown} unknown with the noise of the channels; pass noise="
        )
    weight = jnp.ones(len(rebounds), rebounds.velocity.dtype)
    problem = Problem(rebounds, jnp.asarray(sigma, weight.dtype), jnp.asarray(heaviness, weight.dtype), weight)
    found, agreed = explore(choice, material, problem, first, seed, progress)
    free, cost, converged = found.free[:1], found.cost[0], bool(found.converged[0])
    for _ in range(ROUNDS if estimated.any() else 0):
        new = _noise(choice, material, rebounds, free[0], sigma, heaviness)
        change = np.abs(np.log(new[:, estimated] / sigma[:, estimated])).max()
        sigma, problem = new, problem._replace(sigma=jnp.asarray(new, weight.dtype))
        again = minimise(choice, material, problem, free)
        free, cost, converged = again.free, again.cost[0], bool(again.converged[0])
        if change < SETTLED:
            break
    numbers = np.asarray(material.natural(jnp.asarray(free[0])), float)
    known = information(choice, material, problem, numbers)
    solved = Solved(choice, material, problem, numbers, known, float(cost))
    floor = momentum_floor(rebounds, sigma)
    return Fit(solved, estimated, len(first), agreed, converged, floor, verdicts(solved))


def _noise(
    choice: Choice, material: Material, rebounds: Rebounds, free: np.ndarray, sigma: np.ndarray, heaviness: float
) -> np.ndarray:
    """Noise (n, k), that of the open channels from their residuals; parameters cost degrees of freedom."""
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


def check_values(values: Mapping[str, Any], argument: str) -> None:
    """Raise ValueError if a coefficient is not a number within its range."""
    for name, value in values.items():
        known = COEFFICIENTS.get(name)
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or (known is not None and not known.low <= value <= min(known.high, np.finfo(float).max)):
            span = f" from {known.low:g} to {known.high:g}" if known is not None else ""
            raise ValueError(f"{argument} has {name}={value!r}; pass a number{span}")


def _own_start(material: Material, start: Mapping[str, Any]) -> np.ndarray:
    """Free numbers of a start given by name."""
    missing = [name for name in material.parameters if name not in start]
    if missing or len(start) != len(material.parameters):
        raise ValueError(f"start has {sorted(start)}; pass a value for each of {', '.join(material.parameters)}")
    rows = [np.broadcast_to(np.asarray(start[name], float), p.shape).ravel() for name, p in material.parameters.items()]
    return np.asarray(material.free(jnp.asarray(np.concatenate(rows))))


def checked(rebounds: Rebounds, choice: Choice, material: Material) -> None:
    """Raise with a sentence if this cannot be fitted."""
    if not isinstance(rebounds, Rebounds):
        raise TypeError(
            f"rebounds is a {type(rebounds).__name__}; pass Rebounds, from load_rebounds or Rebounds.from_*"
        )
    if choice.law not in LAWS:
        raise ValueError(f"law={choice.law!r} is unknown; pass one of {', '.join(map(repr, LAWS))}")
    check_data(rebounds)
    if not (np.asarray(rebounds.velocity)[:, 2] < 0).any():
        raise ValueError("no rebound approaches (velocity[:, 2] < 0): nothing to fit; check the sign of the normal")
    if not isinstance(material, Material):
        raise TypeError(f"material is a {type(material).__name__}; pass a Material, such as per_group(rebounds.groups)")
    if not material.size():
        raise ValueError("nothing to fit: all coefficients are fixed; pass at least one in parameters")
    if material.groups not in (None, rebounds.groups):
        raise ValueError(
            f"the material has {material.groups} groups and the data {rebounds.groups}; pass per_group(rebounds.groups)"
        )
    record, fixed = LAWS[choice.law], dict(choice.fixed)
    model = _modelled(material, rebounds)
    given = set(model) | set(fixed)
    taken = set(record.parameters) | ({"static_friction"} if record.tells_stick else set())
    for name in given - taken:
        if name not in COEFFICIENTS:
            raise ValueError(f"parameter {name!r} is unknown; pass some of {', '.join(map(repr, COEFFICIENTS))}")
        raise ValueError(f"law={choice.law!r} has no {name}; pass some of {', '.join(sorted(taken))}")
    for name in record.parameters:
        if name not in given:
            raise ValueError(
                f"law={choice.law!r} needs {name}; add it to parameters, or pass fixed={{{name!r}: a number}}"
            )
    check_values(fixed, "fixed")
    both = set(model) & set(fixed)
    if both:
        raise ValueError(f"{sorted(both)[0]} is both fitted and fixed; pass it in one of parameters and fixed")


def _modelled(material: Material, rebounds: Rebounds) -> dict[str, Any]:
    """Shapes of the coefficients that a material gives, or a sentence about what it does instead."""
    for name, p in material.parameters.items():
        if not p.low <= p.starts[0] <= p.starts[1] <= p.high:
            raise ValueError(f"starts of {name} are {p.starts}; pass (lowest, highest) within {p.low:g} to {p.high:g}")
    try:
        model = jax.eval_shape(lambda x: material.function(material.values(x), rebounds), jnp.zeros(material.size()))
    except KeyError as error:
        known = ", ".join(material.parameters)
        raise ValueError(f"the material asks for {error}, which is none of its parameters: {known}") from error
    for name, value in model.items():
        if value.shape not in ((), (len(rebounds),)):
            raise ValueError(
                f"the material gives {name} of shape {value.shape}; pass one number, or {len(rebounds)}, one per impact"
            )
    return model


def check_data(rebounds: Rebounds) -> None:
    """Raise ValueError, naming the first bad rebounds, if a number is not usable."""
    if not len(rebounds):
        raise ValueError("there are no rebounds; pass at least one")
    W, noise = np.asarray(rebounds.inverse_inertia), np.asarray(rebounds.noise)
    seen = ~np.isposinf(noise)
    bad = {
        "inverse_inertia is not symmetric positive definite": ~_definite(W),
        "velocity is not finite": ~np.isfinite(np.asarray(rebounds.velocity)).all(-1),
        "baseline or effect is not finite": ~(
            np.isfinite(np.asarray(rebounds.baseline)).all(-1) & np.isfinite(np.asarray(rebounds.effect)).all((-1, -2))
        ),
        "observation is not finite (pass noise=inf where a channel was not measured)": (
            seen & ~np.isfinite(np.asarray(rebounds.observation))
        ).any(-1),
        "noise is not above 0 (pass nan to have it estimated)": (noise <= 0).any(-1),
        "no channel was measured (noise is inf)": ~seen.any(-1),
    }
    for reason, rows in bad.items():
        if rows.any():
            first = ", ".join(map(str, np.flatnonzero(rows)[:5]))
            raise ValueError(f"{int(rows.sum())} of {len(rows)} rebounds: {reason}; first at {first}")


def _definite(W: np.ndarray) -> np.ndarray:
    finite = np.isfinite(W).all((-1, -2))
    safe = np.where(finite[:, None, None], W, np.eye(3))
    symmetric = np.abs(safe - np.swapaxes(safe, 1, 2)).max((1, 2)) <= 1e-4 * np.abs(safe).max((1, 2))
    return finite & symmetric & (np.linalg.eigvalsh(safe)[:, 0] > 0)
