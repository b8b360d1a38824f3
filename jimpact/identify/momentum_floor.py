"""The momentum floor: the residual of the data if any impulse is allowed.

An impulse at the contact has three components, an observation of a body in space has six. The best impulse of each
impact leaves a residual that no law can lower. It depends on noise, geometry and signs, but not on friction or
restitution.
"""

from typing import NamedTuple

import numpy as np

from jimpact.identify.rebounds import Rebounds

__all__ = ["Floor", "momentum_floor", "scales"]

FIRST_GUESS = 0.1


class Floor(NamedTuple):
    """The best impulse of each rebound (n, 3), its covariance (n, 3, 3), and its residual."""

    impulse: np.ndarray
    covariance: np.ndarray
    residual: np.ndarray  # (n, k), in the units of each channel; nan where nothing was measured
    chi2: np.ndarray  # (n,), in units of the noise
    freedom: np.ndarray  # (n,) number of measured channels less the rank of their dependence on the impulse

    @property
    def rms(self) -> np.ndarray:
        """Root mean square over the impacts, by channel (k,)."""
        there = np.isfinite(self.residual)
        total = np.sum(np.where(there, self.residual, 0) ** 2, 0)
        return np.where(there.any(0), np.sqrt(total / np.maximum(there.sum(0), 1)), np.nan)


def momentum_floor(rebounds: Rebounds, sigma: np.ndarray | None = None) -> Floor:
    """The best impulses, by weighted least squares; `scales` guesses unknown noise."""
    E, change = np.asarray(rebounds.effect, float), np.asarray(rebounds.observation - rebounds.baseline, float)
    sigma = scales(rebounds) if sigma is None else sigma
    weight = np.where(np.isfinite(sigma), 1 / np.where(np.isfinite(sigma), sigma, 1), 0)
    change = np.where(weight > 0, change, 0)
    A, b = E * weight[..., None], change * weight
    inverse = np.linalg.pinv(A, rcond=1e-10)
    impulse = np.einsum("nik,nk->ni", inverse, b)
    left = change - np.einsum("nki,ni->nk", E, impulse)
    rank = np.linalg.matrix_rank(A, tol=1e-10 * np.abs(A).max((1, 2)))
    covariance = np.einsum("nik,njk->nij", inverse, inverse)
    chi2 = np.sum((left * weight) ** 2, -1)
    return Floor(impulse, covariance, np.where(weight > 0, left, np.nan), chi2, (weight > 0).sum(-1) - rank)


def scales(rebounds: Rebounds) -> np.ndarray:
    """Noise (n, k); unknown noise is first guessed in proportion to the change of its channel.

    A channel that never changes, such as the third direction of planar data, counts as not measured.
    """
    noise = np.asarray(rebounds.noise, float)
    change = np.asarray(rebounds.observation - rebounds.baseline, float)
    open_ = np.isnan(noise) & np.isfinite(change)
    mean = np.sqrt(np.sum(np.where(open_, change, 0) ** 2, 0) / np.maximum(open_.sum(0), 1))
    return np.where(np.isnan(noise), np.where(mean > 0, FIRST_GUESS * mean, np.inf), noise)
