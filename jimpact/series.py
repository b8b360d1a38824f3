"""The slip flow as a power series in the regularised clock.

With the clock dp = |gamma| dtau the slip flow

    gamma' = |gamma| d - mu B gamma      p' = |gamma|      I' = -mu gamma      v' = w p' + d.I'

is Lipschitz at zero slip and analytic elsewhere, so that its Taylor coefficients follow from one another:
those of |gamma| from |gamma|^2 = gamma.gamma, all others by integration. Twelve of them cost less than one
step of an eighth-order Runge-Kutta method, and they are dense output: every event inside the step is the
root of a polynomial that is already there.

| letter | meaning                                                                 | unit    |
|--------|-------------------------------------------------------------------------|---------|
| X, Y   | sliding velocity gamma                                                  | m/s     |
| R      | sliding speed                                                           | m/s     |
| P      | normal impulse since the start of the step                              | N s     |
| IX, IY | tangential impulse since the start of the step                          | N s     |
| V      | normal velocity                                                         | m/s     |
| unit   | length of the clock's unit in tau (any positive number)                 | kg      |
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jimpact.numerics import horner
from jimpact.rays import Plane
from jimpact.types import Scalar

__all__ = ["Series", "expand", "work_done", "work_series"]


class Series(NamedTuple):
    """Taylor coefficients, lowest first."""

    X: list[Scalar]
    Y: list[Scalar]
    R: list[Scalar]
    P: list[Scalar]
    IX: list[Scalar]
    IY: list[Scalar]
    V: list[Scalar]


def expand(plane: Plane, x: Scalar, y: Scalar, v: Scalar, unit: Scalar, order: int) -> Series:
    """Taylor coefficients of the slip flow at sliding velocity (x, y) != 0 and normal velocity v."""
    bxx, bxy, byy, dx, dy, w, mu = plane
    r = jnp.sqrt(x * x + y * y)
    half = 0.5 / r
    zero = jnp.zeros_like(r)
    X, Y, R, P, IX, IY, V = [x], [y], [r], [zero], [zero], [zero], [v]
    for n in range(1, order + 1):
        P.append(R[-1] * (unit / n))
        IX.append(X[-1] * (-mu * unit / n))
        IY.append(Y[-1] * (-mu * unit / n))
        X.append(dx * P[n] + bxx * IX[n] + bxy * IY[n])
        Y.append(dy * P[n] + bxy * IX[n] + byy * IY[n])
        V.append(w * P[n] + dx * IX[n] + dy * IY[n])
        R.append((_square(X, n) + _square(Y, n) - _square(R, n)) * half)
    return Series(X, Y, R, P, IX, IY, V)


def work_series(velocity: list[Scalar], impulse: list[Scalar], top: int) -> list[Scalar]:
    """Coefficients, up to `top`, of the work of an impulse on a velocity: the integral of velocity d(impulse)."""
    order = len(velocity) - 1
    work = [jnp.zeros_like(velocity[0])]
    for n in range(1, top + 1):
        total = jnp.zeros_like(velocity[0])
        for j in range(max(1, n - order), min(n, order) + 1):
            total = total + (j / n) * velocity[n - j] * impulse[j]
        work.append(total)
    return work


@jax.custom_jvp
def work_done(velocity: list[Scalar], impulse: list[Scalar], t: Scalar) -> Scalar:
    """That work at t. The value is the integral of the product of both polynomials, complete to the double order,
    so works add up to the change of kinetic energy to round-off. The derivative is that of the product cut off at
    the order of its factors: accurate enough, and several times cheaper to transpose.
    """
    return horner(work_series(velocity, impulse, 2 * len(velocity) - 2), t)


@work_done.defjvp
def _work_done_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Scalar, Scalar]:
    cut_off = lambda velocity, impulse, t: horner(work_series(velocity, impulse, len(velocity) - 1), t)  # noqa: E731
    return work_done(*primals), jax.jvp(cut_off, primals, tangents)[1]


def _square(C: list[Scalar], n: int) -> Scalar:
    """Coefficient n of the square of a series, of which term n may still be missing (then counted as 0)."""
    total = 2 * C[0] * C[n] if len(C) > n else jnp.zeros_like(C[0])
    for j in range(1, (n + 1) // 2):
        total = total + 2 * C[j] * C[n - j]
    return total + C[n // 2] * C[n // 2] if n % 2 == 0 else total
