"""Likelihood of measured rebounds under a law and its coefficients.

`predict` gives the channels without noise. Its derivative with respect to the coefficients is computed once per impact,
in forward mode, because the coefficients of one impact do not affect another: a fit with a hundred parameters takes as
many passes over the data as a fit with two.

Residuals are whitened by the noise: r has unit variance where the model is right. With heavy tails the residuals of
one impact follow a multivariate Student distribution (Lange, Little & Taylor 1989). Then r is rescaled, per impact, so
that half its square is still minus the log-likelihood, and least squares maximise the likelihood.

The data themselves (inverse inertia, velocity before) have no derivative here.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from jimpact.identify.material import COEFFICIENTS, Values
from jimpact.identify.rebounds import Rebounds
from jimpact.impact import solve
from jimpact.numerics import divide, sqrt
from jimpact.types import Array, Scalar, Vector3

__all__ = ["Choice", "impulse_of", "log_likelihood", "predict", "whitened"]


class Choice(NamedTuple):
    """The law of a fit, its options, and the coefficients that are not fitted."""

    law: str = "stronge"
    rule: str = "poisson"
    accuracy: str = "standard"
    fixed: tuple[tuple[str, float], ...] = ()


def predict(choice: Choice, rebounds: Rebounds, coefficients: Values) -> Array:
    """Predicted channels (..., n, k); coefficients may have axes before that of the rebounds."""
    p = impulse_of(choice, rebounds, coefficients)
    return rebounds.baseline + jnp.sum(rebounds.effect * p[..., None, :], -1)


def impulse_of(choice: Choice, rebounds: Rebounds, coefficients: Values) -> Vector3:
    """The impulse of each rebound; zero where the law has no answer, so that the whole rebound is a residual."""
    unknown = set(coefficients) - set(COEFFICIENTS)
    if unknown:
        raise ValueError(f"the material gives {sorted(unknown)}; let it give some of {', '.join(COEFFICIENTS)}")
    dtype, given = rebounds.velocity.dtype, dict(choice.fixed) | coefficients
    shape = jnp.broadcast_shapes(rebounds.velocity.shape[:-1], *(jnp.shape(value) for value in given.values()))
    wide = {name: jnp.broadcast_to(jnp.asarray(value, dtype), shape) for name, value in given.items()}
    if "static_friction" in wide:
        wide["static_friction"] = jnp.maximum(wide["static_friction"], wide["friction"])
    return _impulse(choice, rebounds.inverse_inertia, rebounds.velocity, wide)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _impulse(choice: Choice, W: Array, velocity: Vector3, coefficients: Values) -> Vector3:
    options: dict[str, Any] = choice._asdict() | coefficients
    del options["fixed"]
    impact = solve(W, velocity, **options)
    return jnp.where(jnp.isfinite(impact.impulse), impact.impulse, 0)


@_impulse.defjvp
def _impulse_jvp(choice: Choice, primals: tuple, tangents: tuple) -> tuple[Vector3, Vector3]:
    """One pass in forward mode over a copy of the impacts for each fitted coefficient, whose tangent is 1."""
    W, velocity, coefficients = primals
    names = [name for name in coefficients if name not in dict(choice.fixed)] or list(coefficients)[:1]
    copies = {name: jnp.broadcast_to(value, (len(names), *value.shape)) for name, value in coefficients.items()}
    units = {name: jnp.zeros_like(value) for name, value in copies.items()}
    units |= {name: units[name].at[i].set(1) for i, name in enumerate(names)}
    run = lambda values: _impulse.fun(choice, W, velocity, values)  # noqa: E731
    result, slopes = jax.jvp(run, (copies,), (units,))
    change = sum(slopes[i] * tangents[2][name][..., None] for i, name in enumerate(names))
    return result[0], change


def whitened(choice: Choice, rebounds: Rebounds, coefficients: Values, sigma: Array, heaviness: Scalar) -> Array:
    """Residuals (..., n, k) whose squares sum to -2 log-likelihood, up to a constant.

    `sigma` (n, k) is the scale of the noise, inf for no weight; `heaviness` is 1 / degrees of freedom, 0 for Gaussian.
    """
    there = jnp.isfinite(sigma)
    r = jnp.where(there, rebounds.observation - predict(choice, rebounds, coefficients), 0)
    r = r / jnp.where(there, sigma, 1)
    k, square = there.sum(-1), jnp.sum(r * r, -1)
    h = jnp.where(heaviness > 0, heaviness, 1)
    shrink = sqrt(divide((1 / h + k) * jnp.log1p(h * square), square, 1 + k * h))
    return r * jnp.where(heaviness > 0, shrink, 1)[..., None]


def log_likelihood(cost: float, sigma: np.ndarray, heaviness: float) -> float:
    """Log-likelihood of all rebounds, from the sum of squares of `whitened`."""
    there = np.isfinite(sigma)
    k = there.sum(-1)
    constant = np.log(np.where(there, sigma, 1)).sum()
    if heaviness == 0:
        constant += 0.5 * k.sum() * np.log(2 * np.pi)
    else:
        nu = 1 / heaviness
        constant += (gammaln(nu / 2) - gammaln((nu + k) / 2) + 0.5 * k * np.log(nu * np.pi)).sum()
    return float(-0.5 * cost - constant)
