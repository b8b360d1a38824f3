"""Audit of measured rebounds before a fit: signs, units, noise, energy and coverage. The data are not changed.

The audit uses the best impulse of each impact (`momentum_floor`), which assumes no law of friction or restitution. It
finds mistakes of sign and unit by trying them: data with a channel negated (before, after, or both) or in degrees are
compared by the residual that no impulse can explain. If that residual is always zero, because an impulse has as many
components as channels were measured, impossible impacts are counted instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy import stats

from jimpact.identify.input_checks import check_data
from jimpact.identify.momentum_floor import Floor, momentum_floor, scales
from jimpact.identify.rebounds import Rebounds

__all__ = ["Audit", "Suspicion", "audit"]

SIGMAS = 3.0  # standard deviations that count as beyond noise
PLAUSIBLE_FRICTION = 2.0
OUTLIER = 0.01  # probability that the largest residual of all impacts is as large, if noise is Gaussian
FAR_BETTER = 0.5  # largest residual after a reported mistake is corrected, relative to the residual as given
LEAST_EVIDENCE = 10.0  # least gain of log-likelihood for a reported mistake
MANY_CHANNELS = 7  # largest number of channels for which every combination of signs is tried
STEADY = 0.05  # slip after the impact that counts as zero if noise is not known, relative to the slip before
DEGREES = 180 / np.pi
SPINS = {"w", "wx", "wy", "wz"}  # names of channels that are angular velocities
AXES = ("the first tangent", "the second tangent", "the normal")


class Suspicion(NamedTuple):
    """A mistake that would explain the data far better."""

    mistake: str
    before: float  # residual that no impulse explains, in units of the noise, or else the share of impossible impacts
    after: float  # the same with the mistake corrected
    evidence: float  # gain of log-likelihood

    def __str__(self) -> str:
        return f"{self.mistake} would explain the data far better ({self.before:.3g} as given, {self.after:.3g} then)"


@dataclass(frozen=True)
class Audit:
    """The result of `audit`; arrays hold indices of impacts."""

    count: int
    channels: tuple[str, ...]
    floor: Floor
    freedom: int
    reduced: float  # squared residual of the floor per degree of freedom, in units of the noise: 1 if noise is right
    noise_known: bool
    separating: np.ndarray
    pulling: np.ndarray  # impacts whose best impulse pulls
    gaining: np.ndarray  # impacts that gain energy, beyond noise
    outside: np.ndarray  # impacts outside any plausible friction cone
    outliers: np.ndarray
    sticking: float  # share of impacts in which slip ends
    reversing: float  # share of impacts in which slip is reversed
    slipping: float  # share of impacts in which slip continues
    speeds: tuple[float, float, float]  # least, median and greatest speed of approach
    suspicions: tuple[Suspicion, ...]

    def __str__(self) -> str:
        lines = [f"{self.count} impacts", *self.sentences]
        return "\n".join(lines if self.sentences else [*lines, "nothing suspicious"])

    @property
    def sentences(self) -> list[str]:
        """The findings in words, the worst first."""
        return list(_sentences(self))


def audit(rebounds: Rebounds) -> Audit:
    """Check measured rebounds before a fit."""
    if not isinstance(rebounds, Rebounds):
        raise TypeError(
            f"rebounds is a {type(rebounds).__name__}; pass Rebounds, from load_rebounds or Rebounds.from_*"
        )
    check_data(rebounds)
    sigma, known = _sigma(rebounds)
    floor = momentum_floor(rebounds, sigma)
    freedom = int(floor.freedom.sum())
    W, v, P = (np.asarray(a, float) for a in (rebounds.inverse_inertia, rebounds.velocity, floor.impulse))
    facing = v[:, 2] < 0
    after = v + np.einsum("nij,nj->ni", W, P)
    pulling, gaining, outside = _impossible(v, after, P, floor.covariance if known else 0 * floor.covariance)
    given = not np.isnan(np.asarray(rebounds.noise)).any()  # guessed noise is too inaccurate to detect slip
    stick, back, on = _coverage(W, v, after, floor.covariance if given else None, facing)
    speed = -v[facing, 2] if facing.any() else np.array([np.nan])
    return Audit(
        count=len(rebounds),
        channels=rebounds.channels,
        floor=floor,
        freedom=freedom,
        reduced=float(floor.chi2.sum() / freedom) if freedom else np.nan,
        noise_known=given,
        separating=np.flatnonzero(~facing),
        pulling=np.flatnonzero(pulling & facing),
        gaining=np.flatnonzero(gaining & facing),
        outside=np.flatnonzero(outside & facing),
        outliers=_outliers(floor),
        sticking=stick,
        reversing=back,
        slipping=on,
        speeds=(float(speed.min()), float(np.median(speed)), float(speed.max())),
        suspicions=tuple(_suspicions(rebounds, sigma, floor)),
    )


def _sigma(rebounds: Rebounds) -> tuple[np.ndarray, bool]:
    """Noise, with unknown noise scaled to the momentum floor; and whether all noise is known then."""
    sigma, open_ = scales(rebounds), np.isnan(np.asarray(rebounds.noise))
    if not open_.any():
        return sigma, True
    floor = momentum_floor(rebounds, sigma)
    if not floor.freedom.sum():
        return sigma, False
    size = np.sqrt(floor.chi2.sum() / floor.freedom.sum())
    return np.where(open_, sigma * max(size, 1e-12), sigma), True


def _impossible(
    v: np.ndarray, after: np.ndarray, P: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Impulses that, beyond noise, pull, gain energy, or are outside any plausible cone."""
    spread = np.sqrt(np.einsum("nii->ni", covariance))
    pulling = P[:, 2] < -SIGMAS * spread[:, 2]
    energy = 0.5 * np.sum(P * (v + after), -1)
    noise = np.sqrt(np.einsum("ni,nij,nj->n", after, covariance, after))
    gaining = energy > SIGMAS * noise + 1e-9 * np.sum(np.abs(P * v), -1)
    tangential = np.hypot(P[:, 0], P[:, 1]) - SIGMAS * np.hypot(spread[:, 0], spread[:, 1])
    return pulling, gaining, ~pulling & (tangential > PLAUSIBLE_FRICTION * (P[:, 2] + SIGMAS * spread[:, 2]))


def _outliers(floor: Floor) -> np.ndarray:
    """Impacts whose residual is far above the others, with the scale of the noise from the median."""
    free = np.flatnonzero(floor.freedom > 0)
    if not len(free):
        return free
    chi2, freedom = floor.chi2[free], floor.freedom[free]
    scale = np.median(chi2 / stats.chi2.median(freedom))
    return free[stats.chi2.sf(chi2 / max(scale, 1e-300), freedom) < OUTLIER / len(free)]


def _coverage(
    W: np.ndarray, v: np.ndarray, after: np.ndarray, covariance: np.ndarray | None, facing: np.ndarray
) -> tuple[float, float, float]:
    """Shares of the impacts whose slip ends, is reversed, or continues."""
    slip = np.hypot(after[:, 0], after[:, 1])
    least = STEADY * np.hypot(v[:, 0], v[:, 1])
    if covariance is not None:
        spread = np.einsum("nij,njk,nlk->nil", W, covariance, W)
        least = np.maximum(SIGMAS * np.sqrt(spread[:, 0, 0] + spread[:, 1, 1]), 1e-9 * np.abs(v[:, 2]))
    stick = facing & (slip <= least)
    back = facing & ~stick & (np.sum(v[:, :2] * after[:, :2], -1) < 0)
    n = max(int(facing.sum()), 1)
    return float(stick.sum() / n), float(back.sum() / n), float((facing & ~stick & ~back).sum() / n)


def _suspicions(rebounds: Rebounds, sigma: np.ndarray, floor: Floor) -> Iterator[Suspicion]:
    """Mistakes whose correction explains the data far better; the simplest of each kind."""
    v = np.asarray(rebounds.velocity)
    if np.mean(v[:, 2] > 0) > 0.5:
        yield Suspicion(
            "a normal of the opposite sign", float(np.mean(v[:, 2] > 0)), float(np.mean(v[:, 2] < 0)), np.inf
        )
    push = floor.impulse / np.maximum(np.linalg.norm(floor.impulse, axis=-1, keepdims=True), 1e-300)
    mean = push.mean(0)
    axis = int(np.abs(mean).argmax())
    if axis != 2 and abs(mean[axis]) > 0.8:
        sentence = f"a normal along {AXES[axis]}, where the impulses point,"
        yield Suspicion(sentence, float(abs(mean[2])), float(abs(mean[axis])), np.inf)
    yield from _by_floor(rebounds, sigma, floor) if floor.freedom.sum() else _by_count(rebounds)


def _by_floor(rebounds: Rebounds, sigma: np.ndarray, floor: Floor) -> Iterator[Suspicion]:
    """The mistake whose correction leaves the least residual that no impulse explains."""
    freedom, least, best = int(floor.freedom.sum()), float(floor.chi2.sum()), None
    for mistake, observation, baseline, unit in _mistakes(rebounds):
        chi2 = float(momentum_floor(_changed(rebounds, observation, baseline), sigma * unit).chi2.sum())
        if chi2 < least * 0.99:  # the list goes from simple to complex; a complex mistake must be clearly better
            least, best = chi2, mistake
    if best is None:
        return
    evidence = 0.5 * freedom * np.log(float(floor.chi2.sum()) / max(least, 1e-300))
    if np.sqrt(least / floor.chi2.sum()) < FAR_BETTER and evidence > LEAST_EVIDENCE:
        size = lambda chi2: float(np.sqrt(chi2 / freedom))  # noqa: E731
        yield Suspicion(best, size(floor.chi2.sum()), size(least), float(evidence))


def _by_count(rebounds: Rebounds) -> Iterator[Suspicion]:
    """The mistake whose correction leaves fewest impossible impacts; for contact velocities, which have no floor."""
    if not np.allclose(np.asarray(rebounds.baseline), np.asarray(rebounds.velocity)):
        return
    n, here = len(rebounds), _impossible_share(rebounds)
    least, best = here, None
    for mistake, observation, baseline, _ in _mistakes(rebounds):
        share = _impossible_share(_changed(rebounds, observation, baseline, baseline))
        if share < least - 0.5 / n:
            least, best = share, mistake
    if best is not None and here > 0.1 and least < FAR_BETTER * here:
        yield Suspicion(f"{best} (share of impossible impacts)", here, least, float(n * (here - least)))


def _impossible_share(rebounds: Rebounds) -> float:
    W, v, after = (np.asarray(a, float) for a in (rebounds.inverse_inertia, rebounds.velocity, rebounds.observation))
    P = np.linalg.solve(W, (after - v)[..., None])[..., 0]
    pulling, gaining, outside = _impossible(v, after, P, np.zeros_like(W))
    return float(np.mean(pulling | gaining | outside | (v[:, 2] >= 0) | (after[:, 2] < 0)))


def _mistakes(rebounds: Rebounds) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Possible mistakes in words, each with the corrected observation and baseline; the simplest first.

    The last item of each is the unit of each channel relative to that of the data, for its noise.
    """
    names, k = rebounds.channels, len(rebounds.channels)
    y, b = np.asarray(rebounds.observation, float), np.asarray(rebounds.baseline, float)
    for c in range(k):
        flip, same = np.where(np.arange(k) == c, -1.0, 1.0), np.ones(k)
        yield f"{names[c]} with the opposite sign, before and after,", y * flip, b * flip, same
        yield f"{names[c]} before with the opposite sign", y, b * flip, same
        yield f"{names[c]} after with the opposite sign", y * flip, b, same
    turning = [c for c in range(k) if set(names[c].split()[:1]) & SPINS]
    for some in [[c] for c in turning] + ([turning] if len(turning) > 1 else []):
        label = " and ".join(names[c] for c in some)
        for words, factor in (("degrees instead of radians", 1 / DEGREES), ("radians instead of degrees", DEGREES)):
            unit = np.where(np.isin(np.arange(k), some), factor, 1.0)
            yield f"{label} in {words}", y * unit, b * unit, unit
    if 2 < k <= MANY_CHANNELS:
        for signs in sorted(product((1.0, -1.0), repeat=k), key=lambda s: -sum(s)):
            flip = np.array(signs)
            if 1 < (flip < 0).sum() <= k // 2:
                label = " and ".join(names[c] for c in np.flatnonzero(flip < 0))
                yield f"{label} with the opposite sign, before and after,", y * flip, b * flip, np.ones(k)


def _changed(
    rebounds: Rebounds, observation: np.ndarray, baseline: np.ndarray, velocity: np.ndarray | None = None
) -> Rebounds:
    return Rebounds(
        inverse_inertia=rebounds.inverse_inertia,
        velocity=rebounds.velocity if velocity is None else jnp.asarray(velocity),
        baseline=jnp.asarray(baseline),
        effect=rebounds.effect,
        observation=jnp.asarray(observation),
        noise=rebounds.noise,
        group=rebounds.group,
        channels=rebounds.channels,
    )


def _sentences(a: Audit) -> Iterator[str]:
    yield from (str(suspicion) for suspicion in a.suspicions)
    if len(a.separating):
        yield f"{_some(a, a.separating)} do not approach: a law predicts no impulse for them"
    if len(a.pulling):
        yield f"{_some(a, a.pulling)} need an impulse that pulls"
    if len(a.gaining):
        yield f"{_some(a, a.gaining)} gain energy beyond noise"
    if len(a.outside):
        yield f"{_some(a, a.outside)} need a friction above {PLAUSIBLE_FRICTION:g}"
    if len(a.outliers):
        yield f"{_some(a, a.outliers)} are outliers: no impulse explains them as well as the others; try heavy tails"
    if not a.freedom:
        yield "as many channels as an impulse has components: momentum cannot be checked"
    elif a.noise_known and a.reduced > 2:
        yield f"no impulse explains the data to within the noise given: it is {np.sqrt(a.reduced):.2g} times as large"
    elif a.noise_known and a.reduced < 0.5:
        yield f"the noise given is too large: the data scatter {np.sqrt(a.reduced):.2g} times as much"
    if a.sticking > 0.95:
        yield f"slip ends in {100 * a.sticking:.0f} % of the impacts: friction will only be bounded from below"
    elif a.sticking < 0.05:
        yield f"slip ends in {100 * a.sticking:.0f} % of the impacts: the data say little about stick"


def _some(a: Audit, rows: np.ndarray) -> str:
    first = ", ".join(map(str, rows[:3])) + (", .." if len(rows) > 3 else "")
    return f"{len(rows)} of {a.count} impacts ({first})"
