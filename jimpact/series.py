"""The slip flow as a power series in the regularised clock.

With the clock dp = |gamma| dtau the slip flow

    gamma' = |gamma| d - mu B gamma      p' = |gamma|      I' = -mu gamma      v' = w p' + d.I'

is Lipschitz at zero slip and analytic elsewhere, so that its Taylor coefficients follow from one another. They are
dense output: every event inside the step is the root of a polynomial that is already there.

The flow is homogeneous, so it is written in units of the slip r at the start of the step, and in axes along the slip
(s) and across it (t). There slip is (X, Y) = (1, 0) and its length R = X + U, with U from U (2 X + U) = Y^2: it
begins with the second power, and there is nothing to divide by.

| letter | meaning                                                                 | unit    |
|--------|-------------------------------------------------------------------------|---------|
| X, Y   | slip along s and t                                                      | r       |
| U      | length of slip less X                                                   | r       |
| Q, T, H| their integrals over the clock since the start of the step              | r unit  |
| V      | normal velocity                                                         | m/s     |
| unit   | length of the clock's unit in tau (any positive number)                 | kg      |
"""

from functools import partial, reduce
from operator import add, mul
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jimpact.numerics import horner
from jimpact.rays import Plane
from jimpact.types import Scalar

__all__ = [
    "Integrals",
    "Rates",
    "Series",
    "expand",
    "impulse_at",
    "integrate",
    "integrate_back",
    "next_term",
    "normal_series",
    "rates_of",
    "speed_series",
    "turned_to",
    "work_done",
    "work_series",
]


class Series(NamedTuple):
    """Taylor coefficients, lowest first, of slip to some order and of its integrals to one more."""

    X: list[Scalar]
    U: list[Scalar]
    Y: list[Scalar]
    Q: list[Scalar]
    H: list[Scalar]
    T: list[Scalar]
    sx: Scalar  # direction of slip at the start
    sy: Scalar
    slip: Scalar  # r, its length there
    unit: Scalar
    scale: Scalar  # r unit: normal impulse per unit of Q + H
    plane: Plane  # in the axes s, t


class Rates(NamedTuple):
    """The flow of slip: X' = g X + a U - c Y and Y' = h X + b U - f Y, per unit of the clock."""

    g: Scalar
    h: Scalar
    a: Scalar
    b: Scalar
    c: Scalar
    f: Scalar


class Integrals(NamedTuple):
    """Integrals over the clock: of X, U and Y (Q, H and T), and of a Q + b T times the length of slip."""

    q: Scalar
    h: Scalar
    t: Scalar
    work: Scalar


def expand(plane: Plane, sx: Scalar, sy: Scalar, r: Scalar, unit: Scalar, order: int) -> Series:
    """Taylor coefficients of the slip flow at sliding velocity r (sx, sy), r > 0."""
    turned = turned_to(plane, sx, sy)
    X, U, Y, Q, H, T = _flow(rates_of(turned, unit), order)
    return Series(X, U, Y, Q, H, T, sx, sy, r, unit, r * unit, turned)


def rates_of(turned: Plane, unit: Scalar) -> Rates:
    bss, bst, btt, ds, dt, _, mu = turned
    g, h = (ds - mu * bss) * unit, (dt - mu * bst) * unit
    return Rates(g, h, ds * unit, dt * unit, mu * bst * unit, mu * btt * unit)


def integrate(rates: Rates, t: Scalar, order: int) -> Integrals:
    """The integrals up to the time t of the clock."""
    X, U, _, Q, H, T = _flow(rates, order)
    R = [x + u for x, u in zip(X, U, strict=True)]
    along = [rates.a * q + rates.b * t for q, t in zip(Q, T, strict=True)]
    work = horner(work_series(along, R, jnp.ones_like(t), order + 1), t)
    return Integrals(horner(Q, t), horner(H, t), horner(T, t), work)


@partial(jax.jit, static_argnames="order", inline=True)
def integrate_back(rates: Rates, t: Scalar, bars: Integrals, order: int) -> Rates:
    """Cotangents of the rates from those of the integrals: the transpose of `integrate`, from the last coefficients to
    the first. (JAX finds the same, in twice as many operations and ten times the time to trace.)
    """
    g, h, a, b, c, f = rates
    X, U, Y, Q, H, T = _flow(rates, order)
    speed, along = [x + u for x, u in zip(X, U, strict=True)], [a * q + b * p for q, p in zip(Q, T, strict=True)]
    powers = [jnp.ones_like(t)]
    for _ in range(order + 1):
        powers.append(powers[-1] * t)
    share = [bars.work * powers[n + 1] * (1 / (n + 1)) for n in range(order + 1)]  # of coefficient n of the product
    dot = lambda some, others: reduce(add, map(mul, some, others))  # noqa: E731
    of_along = [dot(share[j:], speed) for j in range(order + 1)]
    of_speed = [dot(share[i + 1 :], along[1:]) for i in range(order)] + [jnp.zeros_like(t)]

    x, u, y = list(of_speed), list(of_speed), [jnp.zeros_like(t)] * (order + 1)
    q = [bars.q * p + a * w for p, w in zip(powers, of_along, strict=False)] + [bars.q * powers[-1]]
    r = [bars.t * p + b * w for p, w in zip(powers, of_along, strict=False)] + [bars.t * powers[-1]]
    e = [bars.h * p for p in powers]
    for n in range(order + 1, 0, -1):
        if n <= order:
            for j in range(1, n):  # U[n] from U (2 X + U) = Y^2
                y[j] = y[j] + u[n] * Y[n - j]
            for j in range(2, n):
                x[n - j] = x[n - j] - u[n] * U[j]
                u[j] = u[j] - u[n] * speed[n - j]
            q[n] = q[n] + g * x[n] + h * y[n]
            r[n] = r[n] - c * x[n] - f * y[n]
            e[n] = e[n] + a * x[n] + b * y[n]
        x[n - 1], y[n - 1], u[n - 1] = (z + w[n] * (1 / n) for z, w in ((x[n - 1], q), (y[n - 1], r), (u[n - 1], e)))
    x, y = x[1:], y[1:]
    return Rates(
        dot(x, Q[1:]),
        dot(y, Q[1:]),
        dot(of_along[1:], Q[1:]) + dot(x[2:], H[3:]),
        dot(of_along[2:], T[2:]) + dot(y[2:], H[3:]),
        -dot(x[1:], T[2:]),
        -dot(y[1:], T[2:]),
    )


@partial(jax.jit, static_argnames="order", inline=True)
def _flow(rates: Rates, order: int) -> tuple[list[Scalar], ...]:
    """X, U, Y, Q, H, T."""
    g, h, a, b, c, f = rates
    one, zero = jnp.ones_like(g), jnp.zeros_like(g)
    X, U, Y, Q, H, T = [one], [zero], [zero], [zero], [zero], [zero]
    for n in range(1, order + 1):
        Q.append(X[-1] * (1 / n))
        H.append(U[-1] * (1 / n) if n > 2 else zero)
        T.append(Y[-1] * (1 / n) if n > 1 else zero)
        X.append(g * Q[n] - c * T[n] + a * H[n] if n > 2 else (g * Q[n] - c * T[n] if n > 1 else g))
        Y.append(h * Q[n] - f * T[n] + b * H[n] if n > 2 else (h * Q[n] - f * T[n] if n > 1 else h))
        U.append(_excess(X, U, Y, n))
    for whole, part in ((Q, X), (H, U), (T, Y)):
        whole.append(part[-1] * (1 / (order + 1)))
    return X, U, Y, Q, H, T


def next_term(series: Series) -> tuple[Scalar, Scalar]:
    """The coefficients of X and Y that follow the last ones."""
    bss, bst, btt, ds, dt, _, mu = series.plane
    q, h, t = series.Q[-1], series.H[-1], series.T[-1]
    along = ds * (q + h) - mu * (bss * q + bst * t)
    across = dt * (q + h) - mu * (bst * q + btt * t)
    return along * series.unit, across * series.unit


def speed_series(series: Series) -> list[Scalar]:
    """Coefficients of the length of slip."""
    return [x + u for x, u in zip(series.X, series.U, strict=True)]


def normal_series(series: Series, v: Scalar) -> list[Scalar]:
    """Coefficients of the normal velocity, v at the start."""
    _, _, _, ds, dt, w, mu = series.plane
    k, w, c = ((w - mu * ds) * series.scale, w * series.scale, mu * dt * series.scale)
    rest = zip(series.Q[1:], series.H[1:], series.T[1:], strict=True)
    return [v, *(k * q + w * h - c * t for q, h, t in rest)]


def impulse_at(series: Series, t: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Normal and tangential impulse since the start of the step."""
    mu, along, across = series.plane.mu, horner(series.Q, t), horner(series.T, t)
    p = (along + horner(series.H, t)) * series.scale
    along, across = -mu * series.scale * along, -mu * series.scale * across
    return p, along * series.sx - across * series.sy, along * series.sy + across * series.sx


@partial(jax.jit, static_argnames="top", inline=True)
def work_series(velocity: list[Scalar], rate: list[Scalar], scale: Scalar, top: int) -> list[Scalar]:
    """Coefficients, up to `top`, of the integral of velocity x rate x scale over the clock."""
    work = [jnp.zeros_like(velocity[0])]
    for n in range(top):
        low, high = max(0, n - len(rate) + 1), min(n, len(velocity) - 1)
        total = velocity[low] * rate[n - low]
        for j in range(low + 1, high + 1):
            total = total + velocity[j] * rate[n - j]
        work.append(total * (scale / (n + 1)))
    return work


def work_done(velocity: list[Scalar], rate: list[Scalar], scale: Scalar, t: Scalar) -> Scalar:
    """That integral up to t, of the product of both polynomials complete to the double order: so works add up to the
    change of kinetic energy to round-off.
    """
    return horner(work_series(velocity, rate, scale, len(velocity) + len(rate) - 1), t)


def turned_to(plane: Plane, sx: Scalar, sy: Scalar) -> Plane:
    """The plane's constants in axes along and across the unit vector s."""
    xx, xy, yy = sx * sx, sx * sy, sy * sy
    bss = plane.bxx * xx + 2 * plane.bxy * xy + plane.byy * yy
    btt = plane.bxx * yy - 2 * plane.bxy * xy + plane.byy * xx
    bst = (plane.byy - plane.bxx) * xy + plane.bxy * (xx - yy)
    ds, dt = plane.dx * sx + plane.dy * sy, plane.dy * sx - plane.dx * sy
    return Plane(bss, bst, btt, ds, dt, plane.w, plane.mu)


def _excess(X: list[Scalar], U: list[Scalar], Y: list[Scalar], n: int) -> Scalar:
    """U[n] from U (2 X + U) = Y^2, where X[0] = 1 and U[0] = U[1] = Y[0] = 0."""
    if n < 2:
        return jnp.zeros_like(X[0])
    half = 0.5 * Y[n // 2] * Y[n // 2]
    total = Y[1] * Y[n - 1] if n > 2 else half
    for j in range(2, (n + 1) // 2):
        total = total + Y[j] * Y[n - j]
    total = total + half if n > 2 and n % 2 == 0 else total
    for j in range(2, n):  # (2 X + U) U, halved: X[n - j] U[j], and U U
        total = total - X[n - j] * U[j]
    for j in range(2, (n + 1) // 2):
        total = total - U[j] * U[n - j]
    return total - 0.5 * U[n // 2] * U[n // 2] if n % 2 == 0 and n > 2 else total
