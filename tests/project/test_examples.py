"""The examples in experiments/: flights keep energy, impacts keep momentum, symmetric starts have symmetric ends."""

import functools
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimpact import ManyCollision, Outcome

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "experiments" / "contacts")]

import billiards  # noqa: E402
import cradle  # noqa: E402
import hinge  # noqa: E402
import rod  # noqa: E402
import shared  # noqa: E402

from experiments.morgan import flight, pendulum  # noqa: E402

pytestmark = pytest.mark.slow

ROUND_OFF = 1e-12  # relative; a few dozen impacts
FLIGHT = 1e-9  # of m g r: error of 1000 Runge-Kutta steps of 1 ms
CUT = 1e-6  # relative: the sequence ends when the energy of approach has decayed to 1e-12
HELD = 1e-7  # distance of a hinge of 1e8 rod masses from one that holds

PENDULUM = pendulum.Pendulum(mass=0.7, length=1.3, gravity=9.81, floor=-2.1)
SCALE = PENDULUM.mass * PENDULUM.gravity * PENDULUM.length
STATES = np.random.default_rng(0).normal(size=(20, 4))
BALL = {"mass": 0.1, "radius": 0.02}
ROD = {"mass": 2.0, "length": 0.6, "speed": 1.5}
HINGED = {"mass": 2.0, "length": 0.6, "angle": -1.1, "speed": 1.5}
ARRIVE = jnp.array([1, 2])
FRICTION = jnp.array([0.0, 0.3, 1.0])


@functools.cache
def motion() -> flight.Motion:
    """Let go near the floor, so that the tip soon rests there."""
    y = jnp.array([-0.4, -0.3, 0.0, 0.0])
    material = flight.Material(friction=0.4, restitution=0.5, law="stronge")
    return flight.simulate(PENDULUM, material, y, duration=4.0, step=1e-3, rest=1e-3)


def test_mass_matrix_is_that_of_two_slender_bars() -> None:
    def kinetic(q: jax.Array, u: jax.Array) -> jax.Array:
        """Two points of Gauss on each bar are exact for the square of a velocity linear along it."""

        def places(q: jax.Array) -> jax.Array:
            near, far = (jnp.stack([jnp.cos(a), jnp.sin(a)]) for a in (q[0], q[0] + q[1]))
            shares = 0.5 + np.array([-0.5, 0.5]) / 3**0.5
            return PENDULUM.length * jnp.stack([*(s * near for s in shares), *(near + s * far for s in shares)])

        velocity = jax.jvp(places, (q,), (u,))[1]
        return 0.5 * PENDULUM.mass * 0.5 * (velocity**2).sum()

    expected = jax.jit(jax.vmap(jax.hessian(kinetic, 1)))(STATES[:, :2], STATES[:, 2:])
    found = jax.jit(jax.vmap(functools.partial(pendulum.mass_matrix, PENDULUM)))(STATES[:, :2])
    np.testing.assert_allclose(found, expected, rtol=ROUND_OFF)


def test_flight_keeps_energy() -> None:
    high = PENDULUM._replace(floor=-3 * PENDULUM.length)  # out of reach
    path, made = flight.fly(high, jnp.array([0.4, 0.5, 1.0, -2.0]), 1e-3, 1000, 1000)
    energies = np.asarray(jax.jit(jax.vmap(functools.partial(pendulum.energy, high)))(path))
    assert int(made) == 1000
    assert np.ptp(path[:, 0]) > 1  # it moves
    assert np.abs(energies - energies[0]).max() < FLIGHT * SCALE


def test_flight_between_impacts_keeps_energy() -> None:
    assert 0 < motion().drift < FLIGHT * SCALE


def test_impacts_happen_on_the_floor_and_lose_energy() -> None:
    found = motion()
    at = [int(np.searchsorted(found.time, b.time)) for b in found.bounces]
    heights = [float(pendulum.tip(PENDULUM, found.state[i, :2])[1]) for i in at]
    assert len(found.bounces) > 3
    assert min(heights) >= 0 and max(heights) < ROUND_OFF
    assert min(b.energy_lost for b in found.bounces) > 0
    assert not flight.broken(PENDULUM, flight.Material(0.4, 0.5, "stronge"), found)


def test_tip_stays_above_the_floor_and_comes_to_rest() -> None:
    found = motion()
    heights = np.asarray(jax.jit(jax.vmap(functools.partial(pendulum.tip, PENDULUM)))(found.state[:, :2]))[:, 1]
    assert found.rests and found.time[-1] < 4
    assert heights.min() >= 0
    assert found.bounces[-1].after[1] < 1e-2


def test_impulse_on_the_tip_is_the_change_of_momentum() -> None:
    y = motion().state[0] + np.array([0.0, 0.0, -1.0, -1.0])
    after, before, impact = flight.strike(PENDULUM, y, 0.4, 0.5, law="stronge")
    J = jax.jacfwd(pendulum.tip, 1)(PENDULUM, y[:2])
    change = pendulum.mass_matrix(PENDULUM, y[:2]) @ (after[2:] - y[2:])
    assert before[1] < 0 and impact.outcome == Outcome.OK
    np.testing.assert_allclose(change, J.T @ impact.impulse, rtol=ROUND_OFF)
    np.testing.assert_allclose(J @ after[2:], impact.velocity, rtol=ROUND_OFF, atol=ROUND_OFF)


@functools.cache
def cradled() -> ManyCollision:
    """One ball arrives, and two; restitution 1, 0.9, 0.5."""
    one = lambda moving, e: cradle.cradle(e, count=5, moving=moving, speed=1.0, **BALL)  # noqa: E731
    batch = jax.jit(jax.vmap(jax.vmap(one, (None, 0)), (0, None)))(ARRIVE, jnp.array([1.0, 0.9, 0.5]))
    return jax.tree.map(np.asarray, batch)


def test_as_many_balls_leave_a_cradle_as_arrive() -> None:
    speeds = cradled().bodies.velocity[:, 0, :, 0]
    np.testing.assert_allclose(speeds, [[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]], atol=ROUND_OFF)


def test_last_ball_of_a_cradle_has_the_speed_of_the_first_wave() -> None:
    speeds = cradled().bodies.velocity[..., 0]
    np.testing.assert_allclose(speeds[0, :, -1], [1.0, 0.95**4, 0.75**4], rtol=ROUND_OFF)
    assert (np.diff(speeds, axis=-1) >= -ROUND_OFF).all()  # none runs into the next


def test_cradle_keeps_momentum_and_books_its_energy() -> None:
    after = cradled()
    arrived = np.asarray(ARRIVE)[:, None]
    np.testing.assert_allclose(after.bodies.velocity[..., 0].sum(-1) - arrived, 0, atol=ROUND_OFF)
    lost = shared.kinetic_energy(after.bodies) - 0.5 * BALL["mass"] * arrived
    np.testing.assert_allclose(after.contacts.kinetic_energy_change, lost, atol=ROUND_OFF)


@functools.cache
def landed() -> tuple[ManyCollision, ManyCollision]:
    """The right end first, and the left end first."""
    fall = jax.jit(lambda priority: rod.land(0.5, priority=priority, **ROD))
    along = rod.ends(ROD["length"]) @ shared.ACROSS
    return fall(along), fall(-along)


def test_rod_tie_is_mirrored_when_the_priority_is() -> None:
    right, left = landed()
    assert (int(right.contacts.order[0]), int(left.contacts.order[0])) == (1, 0)
    np.testing.assert_allclose(right.contacts.impulse, left.contacts.impulse[::-1], rtol=ROUND_OFF)
    np.testing.assert_allclose(right.contacts.velocity[:, 2], left.contacts.velocity[::-1, 2], rtol=ROUND_OFF)
    spins = [float(after.bodies.angular_velocity[0, 1]) for after in (right, left)]
    assert spins[0] == pytest.approx(-spins[1], rel=ROUND_OFF) and abs(spins[0]) > 0.1


def test_impulses_on_the_rod_sum_to_its_change_of_momentum() -> None:
    for after in landed():
        change = ROD["mass"] * (after.bodies.velocity[0] - jnp.array([0, 0, -ROD["speed"]]))
        np.testing.assert_allclose(after.contacts.impulse.sum(0), change, rtol=ROUND_OFF, atol=ROUND_OFF)


def test_random_keys_give_both_orders_and_nothing_else() -> None:
    keys = jax.random.split(jax.random.key(0), 64)
    drawn = jax.jit(jax.vmap(lambda key: rod.land(0.5, key=key, **ROD)))(keys)
    first = np.asarray(drawn.contacts.order[:, 0])
    expected = np.stack([after.contacts.impulse for after in landed()[::-1]])[first]
    assert 16 < first.sum() < 48
    np.testing.assert_allclose(drawn.contacts.impulse, expected, rtol=ROUND_OFF)


def test_break_is_mirrored_when_the_aim_is() -> None:
    shot = functools.partial(billiards.break_shot, rows=2, speed=8.0, **BALL, **shared.SMOOTH)
    offset = jnp.array([1e-3, -1e-3])
    after = jax.jit(jax.vmap(lambda aim: shot(aim, 0.1, 0.9)))(offset)
    v = np.asarray(after.bodies.velocity)
    assert (after.contacts.outcome == Outcome.OK).all()
    np.testing.assert_allclose(billiards.reflected(v[1], billiards.rack(2)), v[0], rtol=ROUND_OFF, atol=ROUND_OFF)
    np.testing.assert_allclose(v.sum(1), [[8.0, 0, 0]] * 2, atol=8 * ROUND_OFF)


def test_rack_has_every_contact_once() -> None:
    layout = billiards.rack(5)
    assert len(layout.centres) == 16 and len(set(layout.pairs)) == len(layout.pairs) == 31
    np.testing.assert_allclose(layout.centres[layout.mirror] * [1, -1, 1], layout.centres, atol=ROUND_OFF)


def test_hinge_is_at_rest_after_the_sequence() -> None:
    one = functools.partial(hinge.as_contacts, restitution=0.5, most=128, **HINGED, **shared.SMOOTH)
    after = jax.jit(jax.vmap(one))(FRICTION)
    velocity = jax.jit(jax.vmap(hinge.hinge_velocity))(after)
    tip, lost = np.asarray(after.contacts.velocity[:, 0, 2]), -np.asarray(after.contacts.kinetic_energy_change)
    energy = HINGED["mass"] * (HINGED["speed"] * HINGED["length"]) ** 2 / 6
    assert (after.contacts.outcome == Outcome.OK).all()
    np.testing.assert_allclose(velocity, 0, atol=CUT * HINGED["speed"])
    assert (tip > -CUT * HINGED["speed"]).all()  # and the tip does not move into the wall
    assert ((lost > 0) & (lost <= energy)).all()


def test_heavy_hinge_comes_to_the_one_that_holds() -> None:
    one = functools.partial(hinge.as_mechanism, restitution=0.5, hinge_mass=1e8 * HINGED["mass"], **HINGED)
    after = jax.jit(jax.vmap(one))(FRICTION)
    expected = hinge.held(FRICTION, 0.5, angle=HINGED["angle"])
    assert (after.impact.outcome == Outcome.OK).all()
    np.testing.assert_allclose(after.speeds[:, 2] / HINGED["speed"], expected, atol=HELD)
