"""Derivatives through bounces, against closed forms differentiated by a complex step.

The three tasks of Zhong, Han & Brikis (2022), "Differentiable physics simulations with contacts: do they have correct
gradients w.r.t. position, velocity and control?", where simulators disagree with the analytic gradient: a ball that
bounces once off the ground, one that bounces off the ground and then a wall, and two balls.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimpact import Hull, Motion, Planes, Solid, Sphere, box, simulate, simulate_pair
from jimpact.geometry.gjk import nearest, witnesses

EXACT = 1e-11  # round-off of a flight and an impact; the bar is 1e-8
LAW: dict[str, Any] = {"law": "chatterjee_ruina", "tangential_restitution": 0.0}
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
MASS, RADIUS, TIME = 0.2, 0.1, 1.2


def complex_step(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Derivative to round-off: no difference is taken."""
    columns = [f(x + 1e-30j * direction).imag / 1e-30 for direction in np.eye(len(x))]
    return np.stack(columns, -1)


def ball(mass: Any, radius: Any) -> Solid:
    return Solid(mass, 0.4 * mass * radius**2 * jnp.eye(3), Sphere(radius))


def falling(x: np.ndarray) -> np.ndarray:
    """Height after one bounce: of height, velocity, restitution, gravity, radius and level of the ground."""
    z, v, e, g, r, level = x
    before = -np.sqrt(v * v + 2 * g * (z - r - level))
    rest = TIME - (v - before) / g
    return np.stack([level + r - e * before * rest - g * rest**2 / 2])


def simulated_falling(x: jax.Array) -> jax.Array:
    z, v, e, g, r, level = x
    motion = Motion(jnp.stack([0 * z, 0 * z, z]), UPRIGHT, jnp.stack([0 * z, 0 * z, v]), jnp.zeros(3))
    ground = Planes(jnp.asarray([[0.0, 0.0, 1.0]]), level[None], 0.0, e)
    run = simulate(
        ball(MASS, r), motion, ground, gravity=jnp.stack([0 * g, 0 * g, -g]), impacts=1, duration=TIME, **LAW
    )
    return run.end.position[2:]


def cornered(x: np.ndarray) -> np.ndarray:
    """Place after a bounce off the ground and then off a wall: of place, velocity, both restitutions, and the wall."""
    px, pz, vx, vz, e, wall_e, wall = x
    z = falling(np.array([pz, vz, e, 9.81, RADIUS, 0.0]))
    hit = (wall - RADIUS - px) / vx
    return np.concatenate([[wall - RADIUS - wall_e * vx * (TIME - hit)], z])


def simulated_cornered(x: jax.Array) -> jax.Array:
    px, pz, vx, vz, e, wall_e, wall = x
    motion = Motion(jnp.stack([px, 0 * px, pz]), UPRIGHT, jnp.stack([vx, 0 * vx, vz]), jnp.zeros(3))
    planes = Planes(
        jnp.asarray([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]), jnp.stack([0 * wall, -wall]), 0.0, jnp.stack([e, wall_e])
    )
    run = simulate(ball(MASS, RADIUS), motion, planes, impacts=2, duration=TIME, **LAW)
    return run.end.position[::2]


def struck(x: np.ndarray) -> np.ndarray:
    """Places of two balls after they hit: of places, velocities, masses and restitution."""
    a, b, va, vb = x[:3], x[3:6], x[6:9], x[9:12]
    ma, mb, e = x[12:]
    d, v = a - b, va - vb
    dv, vv, dd = d @ v, v @ v, d @ d - (2 * RADIUS) ** 2
    hit = (-dv - np.sqrt(dv * dv - vv * dd)) / vv
    n = (d + v * hit) / (2 * RADIUS)
    p = -(1 + e) * (v @ n) / (1 / ma + 1 / mb) * n
    return np.concatenate([a + va * TIME + p / ma * (TIME - hit), b + vb * TIME - p / mb * (TIME - hit)])


def simulated_struck(x: jax.Array) -> jax.Array:
    still = jnp.zeros(3)
    a, b = (Motion(x[i : i + 3], UPRIGHT, x[i + 6 : i + 9], still) for i in (0, 3))
    solids = (ball(x[12], RADIUS), ball(x[13], RADIUS))
    run = simulate_pair(*solids, a, b, 0.0, x[14], gravity=still, impacts=1, duration=TIME, **LAW)
    return jnp.concatenate([run.end.a.position, run.end.b.position])


def rubbing(x: np.ndarray) -> np.ndarray:
    """Place and spin after one bounce in which a ball slips throughout: friction is mu times the normal impulse."""
    z, vx, vz, spin, mu, e = x
    before = -np.sqrt(vz * vz + 2 * 9.81 * (z - RADIUS))
    hit = (vz - before) / 9.81
    lost = mu * (1 + e) * -before
    after = np.array([vx - lost, spin + lost / (0.4 * RADIUS)])
    return np.array([vx * hit + after[0] * (TIME - hit), after[1]])


def simulated_rubbing(x: jax.Array) -> jax.Array:
    z, vx, vz, spin, mu, e = x
    zero = 0 * z
    motion = Motion(jnp.stack([zero, zero, z]), UPRIGHT, jnp.stack([vx, zero, vz]), jnp.stack([zero, spin, zero]))
    ground = Planes(jnp.asarray([[0.0, 0.0, 1.0]]), jnp.zeros(1), mu, e)
    run = simulate(ball(MASS, RADIUS), motion, ground, impacts=1, duration=TIME)
    return jnp.stack([run.end.position[0], run.end.angular_velocity[1]])


TASKS: dict[str, tuple[Any, Any, np.ndarray]] = {
    "ground": (falling, simulated_falling, np.array([1.3, 0.4, 0.9, 9.81, 0.1, 0.05])),
    "ground and wall": (cornered, simulated_cornered, np.array([0.0, 1.2, 1.6, -0.3, 0.8, 0.9, 1.5])),
    "two balls": (
        struck,
        simulated_struck,
        np.array([0, 0, 0, 1.0, 0.1, -0.05, 2.0, 0.1, 0, -0.3, 0, 0.1, 0.2, 0.3, 0.85]),
    ),
    "friction": (rubbing, simulated_rubbing, np.array([1.2, 5.0, -0.3, 10.0, 0.1, 0.8])),
}


LONG = ("ground", "two balls", "friction")


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in TASKS]
)
def task(request: pytest.FixtureRequest) -> tuple[str, Any, Any, jax.Array]:
    return request.param, *TASKS[request.param]


def test_the_task_ends_where_its_closed_form_says(task: tuple) -> None:
    name, exact, simulated, x = task
    np.testing.assert_allclose(simulated(jnp.asarray(x)), exact(x), atol=EXACT, err_msg=name)


def test_forward_derivatives_are_analytic(task: tuple) -> None:
    name, exact, simulated, x = task
    slope = jax.jit(jax.jacfwd(simulated))(jnp.asarray(x))
    np.testing.assert_allclose(slope, complex_step(exact, x), atol=EXACT * 10, err_msg=name)


def test_reverse_derivatives_are_analytic(task: tuple) -> None:
    name, exact, simulated, x = task
    slope = jax.jit(jax.jacrev(simulated))(jnp.asarray(x))
    np.testing.assert_allclose(slope, complex_step(exact, x), atol=EXACT * 10, err_msg=name)


BOX = Solid(0.37, np.diag([8e-4, 1e-3, 1.4e-3]), box(np.array([0.1, 0.08, 0.06]), 0.004))


def tumbling_run(x: jax.Array) -> jax.Array:
    """Everything that a tumbling box may depend on, over two bounces."""
    motion = Motion(x[:3], x[3:7] / jnp.linalg.norm(x[3:7]), x[7:10], x[10:13])
    shape = box(x[17:20], x[20])
    solid = Solid(x[13], jnp.diag(x[14:17]), shape)
    ground = Planes(x[21:24][None], x[24][None], x[25], x[26])
    run = simulate(solid, motion, ground, gravity=x[27:30], impacts=2, duration=2.0, **LAW)
    return jnp.concatenate([*run.end, run.bounces.time, run.bounces.energy_change])


@pytest.mark.slow
def test_derivatives_of_a_tumbling_box_agree_with_differences() -> None:
    x = [0, 0, 0.5, 0.9, 0.1, 0.2, -0.3, 1.5, 0.3, -1, 10, -4, 7, 0.37, 8e-4, 1e-3, 1.4e-3, 0.1, 0.08, 0.06, 0.003]
    x = jnp.asarray([*x, 0.1, 0.05, 1.0, 0.01, 0.3, 0.8, 0.1, 0.2, -9.81])
    run, slope = jax.jit(tumbling_run), jax.jit(jax.jacfwd(tumbling_run))(x)
    assert np.isfinite(run(x)).all()  # two bounces
    for i, unit in enumerate(np.where(x == 0, 1, np.abs(x))):
        h = 1e-6 * unit
        difference = (run(x.at[i].add(h)) - run(x.at[i].add(-h))) / (2 * h)
        # h^2, and round-off / h, over the size of the column
        np.testing.assert_allclose(
            slope[:, i], difference, atol=1e-5 * (np.abs(slope[:, i]).max() + 1e-3), err_msg=str(i)
        )


def hulls(n: int, k: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, k, 3))


@pytest.mark.parametrize("sizes", [(1, 1), (1, 8), (2, 3), (8, 8)])
def test_nearest_points_agree_with_quadratic_programming(sizes: tuple[int, int]) -> None:
    from scipy.optimize import nnls

    a, b = hulls(20, sizes[0], 0), hulls(20, sizes[1], 1) + np.array([5.0, 1.0, 0.0])
    on_a, on_b = witnesses(jnp.asarray(a), jnp.asarray(b), nearest(jnp.asarray(a), jnp.asarray(b)))
    found = np.linalg.norm(on_a - on_b, axis=-1)
    for i in range(20):
        y = (a[i][:, None] - b[i][None]).reshape(-1, 3)
        heavy = 1e4  # weights add up to 1, to 1 / heavy^2
        weights, _ = nnls(np.vstack([y.T, heavy * np.ones(len(y))]), np.array([0, 0, 0, heavy]))
        expected = np.linalg.norm(weights @ y / weights.sum())
        np.testing.assert_allclose(found[i], expected, rtol=1e-6)


def pair_of(n: int, solid: Solid) -> Any:
    rng = np.random.default_rng(3)

    def one(side: float) -> Motion:
        q, place = rng.normal(size=(n, 4)), np.array([side, 0.0, 0.0])
        return Motion(
            place + rng.normal(size=(n, 3)) * 0.02,
            q / np.linalg.norm(q, axis=-1, keepdims=True),
            -4 * place + rng.normal(size=(n, 3)) * 0.1,
            rng.normal(size=(n, 3)) * 10,
        )

    return simulate_pair(solid, solid, one(0.25), one(-0.25), 0.3, 0.8, impacts=3, duration=0.4, **LAW)


@pytest.mark.slow
def test_two_boxes_keep_momentum_energy_and_distance() -> None:
    from jimpact import energy, motion_at

    run = pair_of(16, BOX)
    total = lambda pair, f: f(pair.a) + f(pair.b)  # noqa: E731
    before, after = run.bounces.before, run.bounces.after
    there = np.isfinite(run.bounces.time)
    assert there[:, 0].sum() > 12
    np.testing.assert_allclose(
        total(after, lambda m: m.velocity)[there], total(before, lambda m: m.velocity)[there], atol=1e-13
    )
    change = total(after, lambda m: energy(BOX, m)) - total(before, lambda m: energy(BOX, m))
    np.testing.assert_allclose(change[there], run.bounces.energy_change[there], atol=1e-13)
    motion = motion_at(run, np.linspace(0, 0.4, 81))
    world = jax.tree.map(lambda a: jnp.broadcast_to(a[:, None], (16, 81, *a.shape[1:])), run.world)
    assert np.nanmin(world.depth(motion)[0]) > -1e-12


def test_a_point_with_a_radius_hits_as_a_ball() -> None:
    x = TASKS["two balls"][2]
    a, b = (Motion(x[i : i + 3], UPRIGHT, x[i + 6 : i + 9], np.zeros(3)) for i in (0, 3))
    solid = ball(0.2, RADIUS)
    runs = [
        simulate_pair(
            solid._replace(shape=s), solid, a, b, 0.0, 0.85, gravity=np.zeros(3), impacts=1, duration=TIME, **LAW
        )
        for s in (Sphere(RADIUS), Hull(np.zeros((1, 3)), RADIUS))
    ]
    np.testing.assert_allclose(runs[0].end.a.position, runs[1].end.a.position, atol=EXACT)
