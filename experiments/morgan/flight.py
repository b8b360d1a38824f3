"""A double pendulum whose tip strikes a floor: flight by Lagrange's equations, every impact by `collide_mechanism`.

Lagrange's equations are differentiated from mass matrix and potential by JAX and integrated by the classical
Runge-Kutta method; the instant of an impact is found by halving the step in which the tip passes the floor. A dip
below the floor that is over within one step is missed.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import jimpact

from .crowd import collide_many, with_speeds
from .pendulum import Pendulum, State, energy, lagrangian, mass_matrix, matrices, tip

HALVINGS = 60  # of a step, to find when the tip lands: to the last bit
MOST = 10_000  # impacts
DRIFT = 1e-7  # of m g r, in one flight: the error of the Runge-Kutta steps is below 1e-8 at the step in configs/
GAIN = 1e-13  # of m g r, at one impact: round-off


class Material(NamedTuple):
    """What the tip and the floor are made of, and the law of impact."""

    friction: float
    restitution: float
    law: str


class Bounce(NamedTuple):
    """One impact of the tip; velocities along the floor and up."""

    time: float
    state: np.ndarray  # (4,) before
    speeds: np.ndarray  # (2,) rad/s, after
    before: np.ndarray  # (2,) m/s
    after: np.ndarray
    mode: int  # Sun & Baruh's case
    energy_lost: float  # J


class Motion(NamedTuple):
    """What the pendulum did."""

    time: np.ndarray  # (samples,) s; an instant of impact is there twice, before and after
    state: np.ndarray  # (samples, 4)
    bounces: list[Bounce]
    drift: float  # J, largest change of the energy in one flight
    rests: bool  # whether it ended because the tip rests on the floor


def rate(pendulum: Pendulum, y: Array) -> Array:
    """Lagrange's equations: M du/dt = dL/dq - (dp/dq) u, with the momenta p = dL/du."""
    q, u = y[:2], y[2:]
    force = jax.grad(lagrangian, 1)(pendulum, q, u)
    _, carried = jax.jvp(lambda q: jax.grad(lagrangian, 2)(pendulum, q, u), (q,), (u,))
    return jnp.concatenate([u, jnp.linalg.solve(mass_matrix(pendulum, q), force - carried)])


def advance(pendulum: Pendulum, y: Array, h: Array | float) -> Array:
    """One step of the classical Runge-Kutta method of order 4."""
    a = rate(pendulum, y)
    b = rate(pendulum, y + 0.5 * h * a)
    c = rate(pendulum, y + 0.5 * h * b)
    d = rate(pendulum, y + h * c)
    return y + h / 6 * (a + 2 * b + 2 * c + d)


@partial(jax.jit, static_argnames="room")
def fly(pendulum: Pendulum, y: Array, h: float, steps: int, room: int) -> tuple[Array, Array]:
    """States of up to `steps` <= `room` steps, and how many were made: the last may be below the floor."""

    def goes_on(carry: tuple[Array, Array]) -> Array:
        path, made = carry
        return (made < steps) & (tip(pendulum, path[made, :2])[1] >= 0)

    def step(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        path, made = carry
        return path.at[made + 1].set(advance(pendulum, path[made], h)), made + 1

    return lax.while_loop(goes_on, step, (jnp.zeros((room + 1, 4)).at[0].set(y), jnp.zeros((), int)))


@jax.jit
def land(pendulum: Pendulum, y: Array, h: float) -> tuple[Array, Array]:
    """The time within a step from above the floor to below it at which the tip lands, and the state then.

    The side above is returned, so that the next flight starts above.
    """

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = 0.5 * (low + high)
        above = tip(pendulum, advance(pendulum, y, middle)[:2])[1] >= 0
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    low, _ = lax.fori_loop(0, HALVINGS, halve, (jnp.zeros(()), jnp.asarray(h, float)))
    return low, advance(pendulum, y, low)


@jax.jit
def next_bounce(pendulum: Pendulum, y: Array) -> Array:
    """How long the tip, rising from the floor, would fly if its acceleration stayed the same; inf if it is upwards."""
    velocity = lambda y: jax.jvp(lambda q: tip(pendulum, q), (y[:2],), (y[2:],))[1][1]  # noqa: E731
    up, falling = jax.jvp(velocity, (y,), (rate(pendulum, y),))
    return jnp.where(falling < 0, -2 * up / jnp.where(falling < 0, falling, -1), jnp.inf)


def strike(pendulum: Pendulum, y: State, friction: float, restitution: float, law: str) -> tuple[Any, Any, Any]:
    """State after the impact, velocity of the tip before it, and the impact."""
    q, u = np.split(np.asarray(y)[None], 2, axis=-1)
    crowd = with_speeds(*matrices(pendulum, q), u, friction, restitution)
    hit = jax.tree.map(lambda a: a[0], collide_many(crowd, law=law))
    return np.concatenate([q[0], hit.speeds]), crowd.v[0], hit.impact


def simulate(pendulum: Pendulum, material: Material, y: State, *, duration: float, step: float, rest: float) -> Motion:
    """Fly, strike, and so on until the time is over or the tip rests.

    With restitution below 1 the bounces on a floor become infinitely many in a finite time. The tip counts as resting
    once its next bounce would be shorter than `rest`; what follows is sliding or standing under a contact force,
    which no law of impact describes, so the motion ends there.
    """
    times, states, bounces = [np.zeros(1)], [np.asarray(y)[None]], []
    now, drift, rests = 0.0, 0.0, False
    while not rests and len(bounces) < MOST:
        path, made = fly(pendulum, y, step, math.ceil((duration - now) / step), math.ceil(duration / step))
        n, path = int(made), np.asarray(path)
        flown, last, landed = n * step, path[n], tip(pendulum, path[n, :2])[1] < 0
        if landed:
            part, last = land(pendulum, path[n - 1], step)
            flown = (n - 1) * step + float(part)
        drift = max(drift, abs(float(energy(pendulum, last) - energy(pendulum, y))))
        times += [now + step * np.arange(1, n), np.full(1, now + flown)]
        states += [path[1:n], np.asarray(last)[None]]
        now += flown
        if not landed or now >= duration:
            break
        after, before, impact = strike(pendulum, last, *material)
        jimpact.require(impact)
        lost, velocity = float(energy(pendulum, last) - energy(pendulum, after)), np.asarray(impact.velocity)
        bounces.append(Bounce(now, np.asarray(last), after[2:], before, velocity, int(impact.info.mode), lost))
        times.append(np.full(1, now))
        states.append(after[None])
        y = after
        rests = float(next_bounce(pendulum, y)) < rest
    return Motion(np.concatenate(times), np.concatenate(states), bounces, drift, rests)


def broken(pendulum: Pendulum, material: Material, motion: Motion) -> list[str]:
    """Promises that the motion did not keep, one sentence each."""
    scale, found = pendulum.mass * pendulum.gravity * pendulum.length, []
    if motion.drift > DRIFT * scale:
        found.append(f"energy changes by {motion.drift:.1e} J in a flight; pass a smaller step")
    gains = [b.time for b in motion.bounces if b.energy_lost < -GAIN * scale]
    if gains and not jimpact.LAWS[material.law].may_gain_energy:
        found.append(f"energy rises at {len(gains)} impacts, first at {gains[0]:.6f} s")
    approaching = [b.time for b in motion.bounces if b.before[1] >= 0 or b.after[1] < 0]
    if approaching:
        found.append(f"the tip does not rebound at {len(approaching)} impacts, first at {approaching[0]:.6f} s")
    return found
