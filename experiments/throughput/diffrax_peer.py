"""Impacts by diffrax, as one would write them with a library of differential equations: two solutions, three events.

Slip is integrated by an adaptive Runge-Kutta method from the start to the end of compression, and from there to the
end of restitution (Stronge's hypothesis). Events are located by the root finder of the library. An event at (almost)
zero slip ends the integration: what follows, stick or slip along the diverging ray, has a closed form. Impacts with a
second compression are not foreseen.

| clock       | what it is                                                      | at zero slip       |
|-------------|-----------------------------------------------------------------|--------------------|
| impulse     | normal impulse, as in the literature                            | slope jumps        |
| regularised | dp = |slip| dtau (docs/method.md)                               | never reached      |

| letter | meaning                                                          | unit |
|--------|------------------------------------------------------------------|------|
| y      | slip (2), normal impulse, work of the normal force in this phase | m/s, N s, J |
| d, B, w| blocks of the inverse inertia                                    | 1/kg |
"""

from typing import Literal, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import optimistix

from jimpact.types import Array

__all__ = ["Clock", "Method", "solve"]

Clock = Literal["impulse", "regularised"]
ROUNDS = 12  # of Newton's method for the rate of growth along the diverging ray
FOREVER = 1e6  # of the clock


class Method(NamedTuple):
    """Clock, tolerance of a step, slip that counts as zero (of that before), and steps of one phase at most."""

    clock: Clock
    tolerance: float
    zero: float
    most: int


class Phase(NamedTuple):
    """The end of a phase."""

    y: Array
    ended: Array  # by the event that ends it
    stopped: Array  # by zero slip


def solve(W: Array, v: Array, mu: Array, e: Array, method: Method) -> Array:
    """Impulses (n, 3) of impacts (n, ...); nan where an event was not found."""
    return jax.vmap(lambda *a: _one(*a, method))(W, v, mu, e)


def _one(W: Array, v: Array, mu: Array, e: Array, method: Method) -> Array:
    speed, mass = -v[2], 1 / W[2, 2]
    W, v = W * mass, v / speed
    B, d, inverse = W[:2, :2], W[:2, 2], jnp.linalg.inv(W[:2, :2])

    def tangential(y: Array) -> Array:
        return inverse @ (y[:2] - v[:2] - y[2] * d)

    def normal_velocity(y: Array) -> Array:
        return v[2] + y[2] + d @ tangential(y)

    def field(t: Array, y: Array, args: None) -> Array:
        r = jnp.sqrt(y[0] ** 2 + y[1] ** 2)
        clock = r if method.clock == "regularised" else jnp.ones_like(r)
        slip = y[:2] / r
        return clock * jnp.stack([*(d - mu * B @ slip), jnp.ones_like(r), normal_velocity(y)])

    zero = method.zero * jnp.linalg.norm(v[:2])
    over = lambda t, y, args, **_: normal_velocity(y)  # noqa: E731
    compression = _phase(field, over, zero, jnp.array([v[0], v[1], 0, 0]), jnp.asarray(True), method)
    lost = compression.y[3]
    over = lambda t, y, args, **_: y[3] + e**2 * lost  # noqa: E731
    restitution = _phase(field, over, zero, compression.y.at[3].set(0), compression.ended, method)

    y = restitution.y
    flow = jnp.where(jnp.linalg.norm(inverse @ d) <= mu, inverse @ d, mu * _diverging(B, d, mu))
    k = 1 - d @ flow
    y = jnp.where(compression.stopped | restitution.stopped, y.at[:2].set(0), y)
    at_zero = normal_velocity(y)
    to_rest = jnp.where(compression.stopped, -at_zero / k, 0)  # stopped while compressing
    lost = jnp.where(compression.stopped, compression.y[3] + at_zero * to_rest / 2, lost)
    back = jnp.where(compression.stopped, 0, y[3])
    begin = jnp.where(compression.stopped, 0, at_zero)
    last = to_rest + (jnp.sqrt(jnp.maximum(begin**2 - 2 * k * (e**2 * lost + back), 0)) - begin) / k
    stops = compression.stopped | restitution.stopped
    impulse = jnp.append(tangential(y), y[2])
    impulse += jnp.where(stops, last, 0) * jnp.append(-flow, 1)
    return jnp.where(stops | restitution.ended, impulse, jnp.nan) * speed * mass


def _phase(field, over, zero: Array, y: Array, begins: Array, method: Method) -> Phase:  # type: ignore[no-untyped-def]
    """Integrate until `over` rises to 0 or slip falls to `zero`; not at all where it does not begin."""
    slip = lambda t, y, args, **_: jnp.sqrt(y[0] ** 2 + y[1] ** 2) - zero  # noqa: E731
    finder: optimistix.Newton = optimistix.Newton(rtol=method.tolerance, atol=method.tolerance)
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Dopri8(),
        t0=0.0,
        t1=jnp.where(begins, FOREVER, 0.0),
        dt0=None,
        y0=y,
        stepsize_controller=diffrax.PIDController(rtol=method.tolerance, atol=method.tolerance),
        event=diffrax.Event([over, slip], finder, [True, False]),
        max_steps=method.most,
        throw=False,
    )
    ended, stopped = found.event_mask
    return Phase(jnp.where(begins, found.ys[-1], y), begins & ended, begins & stopped)


def _diverging(B: Array, d: Array, mu: Array) -> Array:
    """Unit vector s = (l + mu B)^-1 d: the rate l by Newton's method on 1/|s| = 1."""

    def direction(rate: Array) -> Array:
        return jnp.linalg.solve(rate * jnp.eye(2) + mu * B, d)

    rate = jnp.maximum(jnp.linalg.norm(d) - mu * jnp.trace(B), 0)
    for _ in range(ROUNDS):
        s = direction(rate)
        size = jnp.linalg.norm(s)
        rate = rate + (size - 1) * size**2 / (s @ jnp.linalg.solve(rate * jnp.eye(2) + mu * B, s))
    return direction(rate)
