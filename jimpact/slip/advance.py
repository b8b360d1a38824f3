"""One step by quadrature: the direction of slip is the clock.

In axes along a direction s and across it slip is X (1, q). The tangent q of its angle has an equation without X,

    dq/dtau = F(q) = h + dh q + q^2 psi(q)        psi = (b - a q) / (2 + u) + c        u = sqrt(1 + q^2) - 1

so a step uses a clock t in which q(t) is known: dq/dt is the linear part of F, and q = q0 + amplitude (exp(J t) - 1).
Everything else follows by quadrature, with dtau = omega dt, omega = (dq/dt) / F:

    (ln X)' = omega (g + a u - c q)        p' = omega (1 + u) X        (v - k p)' = omega mu X (a u - b q)

The closed form covers the terms of first order in q near an invariant direction, and a straight line elsewhere. Gauss's
rule adds the rest. So on an invariant direction a step of any length is exact, and so are its first derivatives, also
across that direction.

| letter | meaning                                                       | unit |
|--------|---------------------------------------------------------------|------|
| J      | rate of the exponential in q: dh, but never zero              | 1    |
| E, G   | exp(g t), exp(J t)                                            | 1    |
| late   | the normal velocity lags behind k p by late (1 - exp(-f t)), to first order in q | r |
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.numerics import divide, gauss, ratio, where
from jimpact.slip.flow import Axes, Constants, View
from jimpact.types import Flag, Scalar

__all__ = ["NODES", "Move", "advance", "impulse_to_zero", "pace", "series_error"]

NODES = 5  # number of nodes of Gauss's rule
SERIES = 15.0  # factor of the fitted bound in `series_error`
SLOWEST = 1e-6  # least |J|, relative to the largest rate


class Move(NamedTuple):
    """Changes over a step, and the slip after it."""

    p: Scalar
    ix: Scalar
    iy: Scalar
    v: Scalar  # change of the normal velocity, minus k p
    work: Scalar  # work minus (v + k p / 2) p
    x: Scalar
    y: Scalar


class Turn(NamedTuple):
    """How slip turns: q = q0 + amplitude (exp(J t) - 1)."""

    q0: Scalar
    amplitude: Scalar
    J: Scalar
    behind: Scalar  # omega = 1 - behind q to first order; 0 if no invariant direction is near
    per_turn: Scalar  # ln X = g t - per_turn (q - q0) to first order; 0 if no invariant direction is near


class Remainder(NamedTuple):
    """What Gauss's rule adds to ln X, to the integrals of X, Y and X u, and to the work; in units of X at the start."""

    log: Scalar
    in_x: Scalar
    in_y: Scalar
    in_u: Scalar
    work: Scalar


def advance(contact: Constants, at: View, length: Scalar, linear: Flag) -> Move:
    """Let the clock t advance by `length`; a `linear` step has only the closed form, without Gauss's rule."""
    axes, mu, r, unit, turn = at.axes, contact.mu, at.r, at.unit, _turn(at)
    remainder = _remainder(mu, at, turn, where(linear, 0, length))
    zg, zf = axes.g * length, -axes.f * length
    change = turn.amplitude * jnp.expm1(turn.J * length)
    X = at.X * jnp.exp(zg - turn.per_turn * change + remainder.log)
    Y = (turn.q0 + change) * X
    across = turn.q0 * length * _mean(zf)
    along = length * _mean(zg) * (1 + turn.per_turn * turn.q0) - (turn.behind + turn.per_turn) * across
    in_x, in_y, in_u = at.X * (along + remainder.in_x), at.X * (across + remainder.in_y), at.X * remainder.in_u
    work = at.X * at.X * (remainder.work - _late(axes, turn) * length * _mean_less(zg, zg + zf))
    v = mu * (axes.a * in_u - axes.b * in_y)
    sx, sy = axes.sx, axes.sy
    ix, iy = -mu * unit * (in_x * sx - in_y * sy), -mu * unit * (in_x * sy + in_y * sx)
    x, y = r * (X * sx - Y * sy), r * (X * sy + Y * sx)
    return Move(unit * (in_x + in_u), ix, iy, r * v, r * unit * work, x, y)


def pace(at: View) -> Scalar:
    """dtau/dt at the start of a step, where dp/dt is this times the length of slip."""
    turn, axes = _turn(at), at.axes
    q, secant = turn.q0, jnp.sqrt(1 + turn.q0 * turn.q0)
    return 1 / (1 + where(at.near, q * ((axes.b - axes.a * q) / (1 + secant) + axes.c) / turn.J, 0))


def _turn(at: View) -> Turn:
    axes, near, q0 = at.axes, at.near, at.Y / at.X
    J = where(jnp.abs(axes.dh) > SLOWEST, axes.dh, SLOWEST)
    J = where(near, J, stop_gradient(J))  # elsewhere the result does not depend on J, so J needs no derivative
    behind = where(near, (0.5 * axes.b + axes.c) / J, 0)
    per_turn = where(near, (axes.c + axes.g * behind) / J, 0)
    return Turn(q0, where(near, q0, axes.h / J), J, behind, per_turn)


def _late(axes: Axes, turn: Turn) -> Scalar:
    return axes.b * turn.q0 / axes.btt


def _remainder(mu: Scalar, at: View, turn: Turn, length: Scalar) -> Remainder:
    """What Gauss's rule adds. Quotients keep XLA from recomputing long sums for each of their uses."""
    axes, late = at.axes, _late(at.axes, turn)
    a, b, c, g = axes.a, axes.b, axes.c, axes.g
    inverse = where(length == 0, jnp.inf, 1 / length)
    slope, small = turn.J * turn.per_turn, float(jnp.finfo(length.dtype).eps) ** (1 / 3)
    nodes, logs = [], []
    for node in NODE:
        t = node * length
        E, grown = jnp.exp(g * t), jnp.expm1(turn.J * t)
        risen = where(jnp.abs(g * t) < small, g * t * (1 + 0.5 * g * t), E - 1)
        q = turn.q0 + turn.amplitude * grown
        half = 1 / (1 + jnp.sqrt(1 + q * q))
        u = q * q * half
        part = where(at.near, 1, grown / where(at.near, 1, 1 + grown))
        more = part * (axes.dh - turn.J + q * ((b - a * q) * half + c)) / turn.J
        per_omega = 1 + more
        logs.append((a * u - c * q - g * more + slope * q * per_omega) / per_omega)
        nodes.append((E, 1 + grown, risen + grown + risen * grown, q, u, per_omega))
    sums: list[list[Scalar]] = [[], [], [], []]
    lags, weights = [], []
    for inner, (E, G, damped, q, u, per_omega) in zip(INNER, nodes, strict=True):
        turned = turn.per_turn * (q - turn.q0)
        factor = jnp.exp(_sum(inner, logs) / inverse - turned) / per_omega  # omega X = E factor
        in_y, in_u = E * (q * factor - turn.q0 * G), E * factor * u
        lags.append(mu * (a * in_u - b * in_y) / inverse)
        weights.append(E * factor + in_u)
        parts = E * (factor - 1 + turned + turn.behind * q), in_y, in_u, late * damped * (weights[-1] - E)
        for total, part in zip(sums, parts, strict=True):
            total.append(part)
    sums[3] = [part + _sum(inner, lags) * weight for inner, part, weight in zip(INNER, sums[3], weights, strict=True)]
    return Remainder(*(_sum(WEIGHT, terms) / inverse for terms in (logs, *sums)))


def impulse_to_zero(contact: Constants, at: View, slip: Scalar, falls: Flag) -> tuple[Scalar, Scalar]:
    """Normal impulse p until slip is zero, and the work minus v p, in the lanes where slip `falls`; 0 in the others.

    p = slip Q(angle) with g Q + h Q' = -1. This is solved by a series for slip that hardly turns while it falls, or by
    the linear flow about the invariant direction nearby, whichever is more accurate.
    """
    here, axes, mu, rate = at.here, at.axes, contact.mu, at.rate
    # Where slip does not fall, the rates are replaced by 1, so that no derivative overflows.
    linear = falls & at.near & (axes.g < 0) & (mu > 0) & (series_error(at) >= at.Y * at.Y)
    g, f = where(falls, where(linear, axes.g, here.g), -1), where(falls & (mu > 0), where(linear, axes.f, here.f), 1)
    # In the linear flow (X + shift Y)' = g (X + shift Y).
    h, shift = where(falls & ~linear, here.h, 0), where(linear, divide(axes.c, axes.dh), 0)
    by_series = -slip / (g + h * _relative_slope(here, g, f, h)) / rate
    by_linear = -at.unit * ((at.X + shift * at.Y) / g + shift * at.Y / f)
    p = where(falls, where(linear, by_linear, by_series), 0)
    across = where(linear, at.r * at.Y * axes.b, -0.5 * slip * here.b * h / g)  # slip across, weighted as in the work
    lag = mu * across * p / where(g == f, 1, g - f)
    k = contact.w - mu * rate * where(linear, axes.a, here.a)
    return p, 0.5 * k * p * p + where(falls, lag, 0)


def series_error(at: View) -> Scalar:
    """Fitted bound of the relative error of the series of `impulse_to_zero`. No derivative."""
    here = stop_gradient(at.here)
    inverse = ratio(1, jnp.abs(here.g))
    turned, varies = jnp.abs(here.h) * inverse, (jnp.abs(here.b - 2 * here.c) + jnp.abs(here.dh)) * inverse
    apart = jnp.minimum(jnp.abs(here.g + 2 * here.dh), jnp.abs(here.g + 3 * here.dh))
    apart = jnp.minimum(apart * inverse, 1)
    return ratio(SERIES * turned**4 * (turned + varies) * (1 + 20 * varies * varies), apart**3)


def _relative_slope(axes: Axes, g: Scalar, f: Scalar, h: Scalar) -> Scalar:
    """Q'/Q for g Q + h Q' = -1 and small h, from the equation differentiated three times with respect to the angle."""
    a, b, c, dh = axes.a, axes.b, axes.c, -g - f
    dc = -dh - a
    dg, ddg, dddg = b - 2 * c, -a - 2 * dc, 8 * c - b
    ddh, dddh = 4 * c - b, a + 4 * dc
    slope, twist = dg / f, jnp.zeros_like(g)
    for _ in range(3):  # first, second and third derivative of Q, relative to Q
        bend = -divide(ddg + (2 * dg + ddh) * slope + h * twist, g + 2 * dh)
        twist = -divide(dddg + (3 * ddg + dddh) * slope + 3 * (dg + ddh) * bend, g + 3 * dh)
        slope = (dg + h * bend) / f
    return slope


NODE, WEIGHT, INNER = (part.tolist() for part in gauss(NODES))


def _sum(weights: list[float], terms: list[Scalar]) -> Scalar:
    total = weights[0] * terms[0]
    for weight, term in zip(weights[1:], terms[1:], strict=True):
        total = total + weight * term
    return total


def _mean(z: Scalar) -> Scalar:
    """(exp(z) - 1) / z."""
    small = jnp.abs(stop_gradient(z)) < 0.03
    near, far = where(small, z, 0), where(small, 1, z)
    series = 1 + near * (1 / 7)
    for divisor in (6, 5, 4, 3, 2):
        series = 1 + near * (1 / divisor) * series
    return where(small, series, jnp.expm1(far) / far)


def _mean_less(a: Scalar, b: Scalar) -> Scalar:
    """_mean(a) - _mean(b), without cancellation where both are small."""
    small = jnp.maximum(jnp.abs(stop_gradient(a)), jnp.abs(stop_gradient(b))) < 0.03
    difference = _mean(a) - _mean(b)
    a, b = where(small, a, 0), where(small, b, 0)
    a2, b2, ab = a * a, b * b, a * b
    third, fourth = a2 + ab + b2, (a + b) * (a2 + b2)
    fifth = a2 * a2 + ab * third + b2 * b2
    series = (a - b) * (1 / 2 + (a + b) * (1 / 6) + third * (1 / 24) + fourth * (1 / 120) + fifth * (1 / 720))
    return where(small, series, difference)
