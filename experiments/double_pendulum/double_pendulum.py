"""A double pendulum whose tip strikes a floor: flight by Lagrange's equations, every impact by `collide_mechanism`.

Source: Morgan, section 2.1: two equal slender bars; J = d(tip)/dq and, with its misprints corrected,

    M = m r^2 ((cos q2 + 5/3, cos(q2) / 2 + 1/3), (cos(q2) / 2 + 1/3, 1/3)).

| symbol | meaning | shape | unit |
|---|---|---|---|
| m, r, g | mass and length of each bar; gravity | () | kg, m, m/s^2 |
| q | angle of the first bar to the horizontal; of the second to the first | (2,) | rad |
| u | generalised speeds dq/dt | (2,) | rad/s |
| y | state (q, u) | (4,) | |
| M, J | mass matrix; Jacobian of the tip, rows along the floor and up from it | (2,2) | kg m^2, m |
"""

import argparse
import math
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import jimpact

Vector = Array | np.ndarray

ROOT = Path(__file__).resolve().parents[2]
MODES = {  # Sun & Baruh's cases, `info.mode`
    0: "slips throughout",
    1: "stops in compression, sticks",
    2: "stops in compression, slips anew",
    3: "stops in restitution, sticks",
    4: "stops in restitution, slips anew",
    5: "no slip, sticks",
    6: "no slip, slips",
}
HALVINGS = 60  # of a step, to find when the tip lands: to the last bit
MOST = 10_000  # impacts
DRIFT = 1e-7  # of m g r, in one flight: the error of the Runge-Kutta steps is below 1e-8 at the step in configs/
GAIN = 1e-13  # of m g r, at one impact: round-off
LINE, MARK = "#1f4e9c", "#d1495b"


class Pendulum(NamedTuple):
    """Two equal slender bars; the support is at height 0, the floor below it."""

    mass: float  # kg, of each bar
    length: float  # m, of each bar
    gravity: float  # m/s^2
    floor: float  # m


class Material(NamedTuple):
    """What the tip and the floor are made of, and the law of impact."""

    friction: float
    restitution: float
    law: str


class Bounce(NamedTuple):
    """One impact of the tip; velocities along the floor and up."""

    time: float
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


def mass_matrix(pendulum: Pendulum, q: Vector) -> Array:
    near, far = jnp.cos(q[1]) + 5 / 3, jnp.cos(q[1]) / 2 + 1 / 3
    return pendulum.mass * pendulum.length**2 * jnp.array([[near, far], [far, 1 / 3]])


def potential(pendulum: Pendulum, q: Vector) -> Array:
    first, second = jnp.sin(q[0]), jnp.sin(q[0] + q[1])
    return pendulum.mass * pendulum.gravity * pendulum.length * (1.5 * first + 0.5 * second)


def tip(pendulum: Pendulum, q: Vector) -> Array:
    """Where the tip is: along the floor, and above it."""
    across, up = jnp.cos(q[0]) + jnp.cos(q[0] + q[1]), jnp.sin(q[0]) + jnp.sin(q[0] + q[1])
    return pendulum.length * jnp.array([across, up]) - jnp.array([0.0, pendulum.floor])


def lagrangian(pendulum: Pendulum, q: Array, u: Array) -> Array:
    return 0.5 * u @ mass_matrix(pendulum, q) @ u - potential(pendulum, q)


def energy(pendulum: Pendulum, y: Vector) -> Array:
    q, u = jnp.split(jnp.asarray(y), 2)
    return 0.5 * u @ mass_matrix(pendulum, q) @ u + potential(pendulum, q)


def acceleration(pendulum: Pendulum, q: Array, u: Array) -> Array:
    """Lagrange's equations: M du/dt = dL/dq - (dp/dq) u, with the momenta p = dL/du."""
    force = jax.grad(lagrangian, 1)(pendulum, q, u)
    _, carried = jax.jvp(lambda q: jax.grad(lagrangian, 2)(pendulum, q, u), (q,), (u,))
    return jnp.linalg.solve(mass_matrix(pendulum, q), force - carried)


def rate(pendulum: Pendulum, y: Array) -> Array:
    return jnp.concatenate([y[2:], acceleration(pendulum, y[:2], y[2:])])


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


@partial(jax.jit, static_argnames="law")
def strike(
    pendulum: Pendulum, y: Array, friction: float, restitution: float, law: str
) -> tuple[Array, Array, jimpact.Impact]:
    """State after the impact, velocity of the tip before it, and the impact."""
    q, u = y[:2], y[2:]
    J = jax.jacfwd(tip, 1)(pendulum, q)
    hit = jimpact.collide_mechanism(mass_matrix(pendulum, q), J, u, friction, restitution, law=law)
    return jnp.concatenate([q, hit.speeds]), J @ u, hit.impact


@jax.jit
def next_bounce(pendulum: Pendulum, y: Array) -> Array:
    """How long the tip, rising from the floor, would fly if its acceleration stayed the same; inf if it is upwards."""
    velocity = lambda y: jax.jvp(lambda q: tip(pendulum, q), (y[:2],), (y[2:],))[1][1]  # noqa: E731
    up, falling = jax.jvp(velocity, (y,), (rate(pendulum, y),))
    return jnp.where(falling < 0, -2 * up / jnp.where(falling < 0, falling, -1), jnp.inf)


class Flight(NamedTuple):
    """One flight, from one impact to the next or to the end of the time."""

    states: np.ndarray  # (steps - 1, 4), between the first and the last
    last: np.ndarray  # (4,), on the floor if it landed
    duration: float  # s
    landed: bool


def flight(pendulum: Pendulum, y: Array, step: float, steps: int, room: int) -> Flight:
    path, made = fly(pendulum, y, step, steps, room)
    n, states = int(made), np.asarray(path)
    if tip(pendulum, states[n, :2])[1] >= 0:
        return Flight(states[1:n], states[n], n * step, False)
    part, last = land(pendulum, states[n - 1], step)
    return Flight(states[1:n], np.asarray(last), (n - 1) * step + float(part), True)


def simulate(pendulum: Pendulum, material: Material, y: Array, *, duration: float, step: float, rest: float) -> Motion:
    """Fly, strike, and so on until the time is over or the tip rests.

    With restitution below 1 the bounces on a floor become infinitely many in a finite time. The tip counts as resting
    once its next bounce would be shorter than `rest`; what follows is sliding or standing under a contact force,
    which no law of impact describes, so the motion ends there.
    """
    if pendulum.floor >= -pendulum.length:
        raise ValueError("the joint between the bars can reach the floor; pass a floor below -length")
    if tip(pendulum, y[:2])[1] < 0:
        raise ValueError("the tip starts below the floor; pass other angles or a lower floor")
    room, now, drift, rests = math.ceil(duration / step), 0.0, 0.0, False
    times: list[np.ndarray] = [np.zeros(1)]
    states: list[np.ndarray] = [np.asarray(y)[None]]
    bounces: list[Bounce] = []
    while not rests and len(bounces) < MOST:
        flown = flight(pendulum, y, step, math.ceil((duration - now) / step), room)
        drift = max(drift, abs(float(energy(pendulum, flown.last) - energy(pendulum, y))))
        times += [now + step * np.arange(1, len(flown.states) + 1), np.full(1, now + flown.duration)]
        states += [flown.states, flown.last[None]]
        now += flown.duration
        if not flown.landed or now >= duration:
            break
        y, before, impact = strike(pendulum, flown.last, material.friction, material.restitution, law=material.law)
        jimpact.require(impact)
        lost = float(energy(pendulum, flown.last) - energy(pendulum, y))
        bounces.append(Bounce(now, np.asarray(before), np.asarray(impact.velocity), int(impact.info.mode), lost))
        times.append(np.full(1, now))
        states.append(np.asarray(y)[None])
        rests = float(next_bounce(pendulum, y)) < rest
    return Motion(np.concatenate(times), np.concatenate(states), bounces, drift, rests)


def broken(pendulum: Pendulum, material: Material, motion: Motion) -> list[str]:
    """Promises that the motion did not keep, one sentence each."""
    scale = pendulum.mass * pendulum.gravity * pendulum.length
    found = []
    if motion.drift > DRIFT * scale:
        found.append(f"energy changes by {motion.drift:.1e} J in a flight; pass a smaller step")
    gains = [b.time for b in motion.bounces if b.energy_lost < -GAIN * scale]
    if gains and not jimpact.LAWS[material.law].may_gain_energy:
        found.append(f"energy rises at {len(gains)} impacts, first at {gains[0]:.6f} s")
    approaching = [b.time for b in motion.bounces if b.before[1] >= 0 or b.after[1] < 0]
    if approaching:
        found.append(f"the tip does not rebound at {len(approaching)} impacts, first at {approaching[0]:.6f} s")
    return found


def table(motion: Motion) -> str:
    """One line for each impact."""
    lines = ["   time s   approach   rebound  slip before  slip after   lost J     slip in the impact"]
    for b in motion.bounces:
        speeds = f"{-b.before[1]:9.5f} {b.after[1]:9.5f} {b.before[0]:12.5f} {b.after[0]:11.5f}"
        lines.append(f"{b.time:9.6f} {speeds} {b.energy_lost:10.2e}   {b.mode}: {MODES[b.mode]}")
    return "\n".join(lines)


def ending(motion: Motion) -> str:
    """How it ended, in one sentence."""
    when = f"{motion.time[-1]:.4f} s, after {len(motion.bounces)} impacts"
    if motion.rests:
        return f"Stopped at {when}: the tip rests on the floor, with a slip of {motion.bounces[-1].after[0]:.4f} m/s."
    return (
        f"Stopped at {when}: {'the time is over' if len(motion.bounces) < MOST else 'too many, pass a greater rest'}."
    )


def figure(pendulum: Pendulum, motion: Motion, name: str) -> Figure:
    """Height of the tip and energy against time; path of the tip, with the bars at the start, impacts and the end."""
    path = np.asarray(jax.vmap(partial(tip, pendulum))(motion.state[:, :2]))
    energies = np.asarray(jax.vmap(partial(energy, pendulum))(motion.state))
    fig = Figure(figsize=(12, 6), layout="constrained")
    fig.suptitle(name, parse_math=False)
    grid = fig.add_gridspec(2, 2, width_ratios=(1.15, 1))
    height = fig.add_subplot(grid[0, 0])
    height.plot(motion.time, path[:, 1], color=LINE, lw=1.4)
    height.plot(
        [b.time for b in motion.bounces], np.zeros(len(motion.bounces)), "|", color=MARK, ms=12, label="impacts"
    )
    height.legend(loc="upper right", fontsize=9)
    height.set(ylabel="height of the tip (m)", ylim=(-0.06 * path[:, 1].max(), None))
    height.tick_params(labelbottom=False)
    loss = fig.add_subplot(grid[1, 0], sharex=height)
    loss.plot(motion.time, energies - energies[0], color=LINE, lw=1.4)
    loss.set(xlabel="time (s)", ylabel="energy, less that at the start (J)", xlim=(0, motion.time[-1]))
    for axes in (height, loss):
        axes.grid(color="0.9", lw=0.6)
    _draw_path(fig.add_subplot(grid[:, 1]), pendulum, motion, path)
    return fig


def _draw_path(axes: Axes, pendulum: Pendulum, motion: Motion, path: np.ndarray) -> None:
    up = path + np.array([0.0, pendulum.floor])
    moments = np.searchsorted(motion.time, [b.time for b in motion.bounces])
    looks = [(0, "0.15", "start"), *((i, "0.75", "") for i in moments), (-1, MARK, "end")]
    for rank, (index, color, label) in enumerate(looks):
        q = motion.state[index, 0]
        elbow = pendulum.length * np.array([np.cos(q), np.sin(q)])
        bars = np.stack([np.zeros(2), elbow, up[index]])
        front = 3 if label else 1
        axes.plot(*bars.T, "o-", color=color, lw=2.2 if label else 0.9, ms=4 if label else 2, zorder=front)
        if label:
            axes.plot([], [], color=color, lw=2.2, label=f"bars at the {label}")
        elif rank == 1:
            axes.plot([], [], color=color, lw=0.9, label="bars at impacts")
    axes.plot(*up.T, color=LINE, lw=1.1, zorder=2, label="path of the tip")
    axes.axhline(pendulum.floor, color="0.3", lw=1.2)
    axes.axhspan(pendulum.floor - 0.12 * pendulum.length, pendulum.floor, color="0.88", lw=0)
    axes.set(xlabel="across (m)", ylabel="height (m)", aspect="equal")
    axes.set_ylim(pendulum.floor - 0.12 * pendulum.length, max(0.0, up[:, 1].max()) + 0.12 * pendulum.length)
    axes.legend(loc="best", fontsize=9, framealpha=0.9)


def main() -> int:
    parser = argparse.ArgumentParser(description="A double pendulum whose tip strikes a floor.")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "double_pendulum" / "double_pendulum.toml")
    parser.add_argument("--out", type=Path, default=Path("out/double_pendulum"))
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    with arguments.config.open("rb") as file:
        given: dict[str, Any] = tomllib.load(file)
    pendulum, material = Pendulum(**given["pendulum"]), Material(**given["material"])
    angles, speeds = (np.asarray(given["start"][key], float) for key in ("angles_deg", "speeds"))
    motion = simulate(pendulum, material, jnp.concatenate([np.deg2rad(angles), speeds]), **given["run"])
    print(table(motion))
    print(ending(motion))
    lost = sum(b.energy_lost for b in motion.bounces)
    print(f"Energy is constant in flight to {motion.drift:.1e} J; the impacts took {lost:.6f} J.")
    arguments.out.mkdir(parents=True, exist_ok=True)
    figure(pendulum, motion, given["name"]).savefig(arguments.out / "double_pendulum.png", dpi=150)
    complaints = broken(pendulum, material, motion)
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
