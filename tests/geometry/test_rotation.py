"""Rotation of a free body: against an integrator, closed forms and conserved quantities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jimpact.geometry.rotation import (
    free_rotation,
    greatest_spin,
    quaternion_product,
    rotated,
    rotation_matrix,
    steady_rotation,
)

ROUND_OFF = 1e-13  # a few hundred operations in each of up to 200 steps
SCIPY = 1e-11  # error of the integrator at its least tolerance

BODIES = {
    "box": np.diag([8e-4, 1e-3, 1.4e-3]),
    "cube": 9.7e-4 * np.eye(3),
    "coin": np.diag([1.0, 1.0, 2.0]),
    "needle": np.diag([1.0, 1.0, 1e-4]),
    "plate": np.diag([1.0, 2.0, 3.0]),
    "askew": np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.1], [-0.2, 0.1, 1.8]]),
}
SPINS = {
    "tumbling": (10.0, -4.0, 7.0),
    "middle axis": (1e-9, 12.0, 0.0),  # next to unstable: departs within the flight
    "one axis": (0.0, 0.0, 25.0),
    "slow": (1e-12, 0.0, -1e-12),
    "still": (0.0, 0.0, 0.0),
}


def rates(inertia: np.ndarray, state: np.ndarray) -> np.ndarray:
    w, v, s = state[0], state[1:4], state[4:]
    turn = 0.5 * np.concatenate([[-v @ s], w * s + np.cross(v, s)])
    return np.concatenate([turn, np.linalg.solve(inertia, np.cross(inertia @ s, s))])


def integrated(inertia: np.ndarray, spin: tuple, time: float) -> np.ndarray:
    start = np.array([1.0, 0, 0, 0, *spin])
    found = solve_ivp(lambda _, y: rates(inertia, y), (0, time), start, "DOP853", rtol=3e-14, atol=1e-15)
    return found.y[:, -1]


def turned(inertia: np.ndarray, spin: tuple, time: float) -> tuple:
    return TURN(jnp.asarray(inertia), jnp.asarray(spin), jnp.asarray(time))


def flat(x: jax.Array) -> jax.Array:
    inertia = x[:9].reshape(3, 3)
    return jnp.concatenate(free_rotation(0.5 * (inertia + inertia.T), x[9:12], x[12]))


# Compiled once for all cases.
TURN, FLAT = jax.jit(free_rotation), jax.jit(flat)
FORWARD, REVERSE = jax.jit(jax.jacfwd(flat)), jax.jit(jax.jacrev(flat))
PATH = jax.jit(jax.vmap(lambda inertia, spin, time: free_rotation(inertia, spin, time)[1], (None, None, 0)))


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("spin", SPINS)
def test_rotation_agrees_with_an_integrator(body: str, spin: str) -> None:
    q, s = turned(BODIES[body], SPINS[spin], 0.7)
    expected = integrated(BODIES[body], SPINS[spin], 0.7)
    unstable = 1e3 if spin == "middle axis" else 1  # a difference at the start grows by e^(rate x time)
    np.testing.assert_allclose(q, expected[:4], atol=SCIPY * unstable)
    np.testing.assert_allclose(s, expected[4:], atol=SCIPY * unstable * max(1.0, np.abs(SPINS[spin]).max()))


@pytest.mark.parametrize("time", [-3.0, 0.0, 1e-6, 0.4, 8.0])
@pytest.mark.parametrize("body", BODIES)
def test_energy_and_angular_momentum_are_kept(body: str, time: float) -> None:
    inertia, spin = BODIES[body], np.array(SPINS["tumbling"])
    q, s = turned(inertia, SPINS["tumbling"], time)
    momentum = np.asarray(rotated(q, jnp.asarray(inertia @ s)))
    np.testing.assert_allclose(momentum, inertia @ spin, atol=ROUND_OFF * np.abs(inertia @ spin).max())
    np.testing.assert_allclose(s @ inertia @ s, spin @ inertia @ spin, rtol=ROUND_OFF)


def test_symmetric_top_precesses_as_its_closed_form() -> None:
    a, c, time = 1.0, 1.7, 5.0
    spin = np.array([3.0, 0.0, 4.0])
    _, s = turned(np.diag([a, a, c]), tuple(spin), time)
    angle = (c - a) / a * spin[2] * time
    np.testing.assert_allclose(s, [3 * np.cos(angle), 3 * np.sin(angle), 4.0], atol=1e-12)


def test_flying_there_and_back_is_the_identity() -> None:
    inertia = jnp.asarray(BODIES["askew"])
    there, s = TURN(inertia, jnp.asarray(SPINS["tumbling"]), jnp.asarray(2.0))
    back, first = TURN(inertia, s, jnp.asarray(-2.0))
    np.testing.assert_allclose(quaternion_product(there, back), [1, 0, 0, 0], atol=ROUND_OFF)
    np.testing.assert_allclose(first, SPINS["tumbling"], atol=10 * ROUND_OFF)


def test_a_lane_does_not_see_the_others() -> None:
    inertia = jnp.broadcast_to(jnp.asarray(BODIES["box"]), (3, 3, 3))
    spin = jnp.asarray([SPINS["tumbling"], (np.nan, 0.0, 0.0), (1e9, 0.0, 0.0)])
    q, _ = free_rotation(inertia, spin, jnp.full(3, 0.7))
    np.testing.assert_allclose(q[0], turned(BODIES["box"], SPINS["tumbling"], 0.7)[0], atol=ROUND_OFF)
    assert np.isnan(q[1]).any() and np.isnan(q[2]).all()


@pytest.mark.parametrize("spin", SPINS)
@pytest.mark.parametrize("body", ["box", "cube", "askew"])
def test_derivatives_agree_with_differences(body: str, spin: str) -> None:
    inertia = jnp.asarray(BODIES[body] / BODIES[body].max())
    x = jnp.concatenate([inertia.ravel(), jnp.asarray(SPINS[spin]), jnp.asarray([0.3])])
    h = 1e-6
    differences = np.stack([(FLAT(x + h * e) - FLAT(x - h * e)) / (2 * h) for e in np.eye(13)], 1)
    forward, reverse = FORWARD(x), REVERSE(x)
    np.testing.assert_allclose(forward, differences, atol=1e-7 * max(1, np.abs(forward).max()))  # h^2 and round-off / h
    np.testing.assert_allclose(forward, reverse, atol=1e-12 * max(1, np.abs(forward).max()))


def test_steady_rotation_is_that_of_a_ball() -> None:
    spin, time = jnp.asarray([3.0, -2.0, 5.0]), jnp.asarray(0.8)
    expected = turned(np.eye(3), (3.0, -2.0, 5.0), 0.8)[0]
    np.testing.assert_allclose(steady_rotation(spin, time), expected, atol=ROUND_OFF)


def test_steady_rotation_has_a_derivative_at_zero_spin() -> None:
    slope = jax.jacfwd(steady_rotation)(jnp.zeros(3), jnp.asarray(0.8))
    np.testing.assert_allclose(slope, np.vstack([np.zeros(3), 0.4 * np.eye(3)]))


def test_rotation_matrix_takes_body_axes_to_world_axes() -> None:
    quarter = jnp.asarray([np.cos(np.pi / 4), 0, 0, np.sin(np.pi / 4)])
    np.testing.assert_allclose(rotation_matrix(quarter) @ jnp.asarray([1.0, 0, 0]), [0, 1, 0], atol=1e-15)


@pytest.mark.parametrize("spin", SPINS)
@pytest.mark.parametrize("body", BODIES)
def test_no_spin_is_greater_than_its_bound(body: str, spin: str) -> None:
    start = jnp.asarray(SPINS[spin])
    bound = greatest_spin(jnp.asarray(BODIES[body]), start)
    path = PATH(jnp.asarray(BODIES[body]), start, jnp.linspace(0, 3, 301))
    greatest = np.linalg.norm(path, axis=-1).max()
    assert greatest <= bound
    # Not loose, either: the bound is reached where the rotation comes near the end of its segment.
    assert body == "plate" or bound <= 1.5 * greatest + 1e-300
