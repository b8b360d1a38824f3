"""Comparison of laws by errors on held-out impacts, and by information criteria.

Groups are held out whole, so that no impact is predicted from impacts of the same toss or material.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jimpact.identify.fit import Fit, fit
from jimpact.identify.least_squares import minimise, predicted
from jimpact.identify.rebounds import Rebounds
from jimpact.laws import LAWS
from jimpact.types import Progress

__all__ = ["Comparison", "LawScore", "compare_laws", "cross_validate"]

FOLDS = 5


class LawScore(NamedTuple):
    """One law: its fit, its held-out error, and the number of impacts for which it has no answer."""

    law: str
    fit: Fit
    held_out: np.ndarray  # (n, k) residuals, each from a fit to the other folds
    score: float  # root mean square of held-out residuals in units of the noise
    rms: np.ndarray  # (k,) the same by channel, in its units
    outside: int


@dataclass(frozen=True)
class Comparison:
    """Rows from the best held-out score to the worst."""

    rows: tuple[LawScore, ...]
    folds: int

    @property
    def best(self) -> LawScore:
        return self.rows[0]

    def __str__(self) -> str:
        lines = ["law               score    aic        bic        parameters"]
        for row in self.rows:
            numbers = ", ".join(
                f"{name} {value:.4g}" for name, value in zip(row.fit.names, row.fit.numbers, strict=True)
            )
            outside = f" (no answer for {row.outside})" if row.outside else ""
            lines.append(f"{row.law:16s}  {row.score:7.4f}  {row.fit.aic:9.1f}  {row.fit.bic:9.1f}  {numbers}{outside}")
        return "\n".join(lines)


def compare_laws(
    rebounds: Rebounds,
    laws: Sequence[str] | None = None,
    *,
    folds: int | None = None,
    heavy_tails: float | None = None,
    starts: int = 32,
    seed: int = 0,
    progress: Progress = iter,
) -> Comparison:
    """Fit each law with all its parameters, and predict every group from the others.

    All scores use the same noise: that of the data, or, if the noise is unknown, that of the most likely law. The
    default of `folds` is 5, or the number of groups if there are fewer.
    """
    if isinstance(laws, str):
        raise TypeError(f"laws={laws!r}; pass a list of names, such as [{laws!r}]")
    laws = tuple(LAWS) if laws is None else tuple(laws)
    if not laws:
        raise ValueError(f"laws is empty; pass some of {', '.join(map(repr, LAWS))}")
    for law in laws:
        if law not in LAWS:
            raise ValueError(f"law={law!r} is unknown; pass some of {', '.join(map(repr, LAWS))}")
    if folds is None:
        folds = min(FOLDS, max(2, len(np.unique(np.asarray(rebounds.group)))))
    _foldable(rebounds, folds)
    fits = []
    for index in progress(range(len(laws))):
        law = laws[index]
        whole = fit(
            rebounds, law=law, parameters=LAWS[law].parameters, heavy_tails=heavy_tails, starts=starts, seed=seed
        )
        fits.append((whole, cross_validate(whole, folds, seed)))
    sigma = max((whole for whole, _ in fits), key=lambda whole: whole.log_likelihood).sigma
    rows = [_row(whole, left, sigma) for whole, left in fits]
    return Comparison(tuple(sorted(rows, key=lambda row: row.score)), folds)


def cross_validate(whole: Fit, folds: int = 5, seed: int = 0) -> np.ndarray:
    """Residuals (n, k) of each impact from a fit without its fold; nan where nothing was measured."""
    group, groups = _foldable(whole.rebounds, folds, whole.material.groups is not None)
    fold = np.random.default_rng(seed).permutation(np.arange(groups) % folds)[group]
    weights = (fold[None, :] != np.arange(folds)[:, None]).astype(float)
    start = np.asarray(whole.material.free(jnp.asarray(whole.numbers)))
    found = minimise(whole.choice, whole.material, whole.solved.problem, np.tile(start, (folds, 1)), weights=weights)
    left = np.full(np.shape(whole.rebounds.observation), np.nan)
    for i, free in enumerate(found.free):
        numbers = whole.material.natural(jnp.asarray(free))
        reading = np.asarray(predicted(whole.choice, whole.material, whole.rebounds, numbers))
        left[fold == i] = (np.asarray(whole.rebounds.observation) - reading)[fold == i]
    return np.where(np.isfinite(whole.sigma), left, np.nan)


def _foldable(rebounds: Rebounds, folds: int, alone: bool = False) -> tuple[np.ndarray, int]:
    """The groups that are held out whole, and their number; single impacts if groups have separate parameters."""
    group = np.unique(np.asarray(rebounds.group), return_inverse=True)[1]
    group = np.arange(len(group)) if alone else group
    groups = int(group.max()) + 1
    if groups < 2:
        raise ValueError("all rebounds are of one group, which cannot be held out; pass rebounds with several groups")
    if isinstance(folds, bool) or not isinstance(folds, int) or not 2 <= folds <= groups:
        raise ValueError(f"folds={folds!r}; pass a whole number from 2 to the number of groups, {groups}")
    return group, groups


def _row(whole: Fit, left: np.ndarray, sigma: np.ndarray) -> LawScore:
    score = float(np.sqrt(np.nanmean((left / sigma) ** 2)))
    return LawScore(whole.choice.law, whole, left, score, np.sqrt(np.nanmean(left**2, 0)), whole.no_answer)
