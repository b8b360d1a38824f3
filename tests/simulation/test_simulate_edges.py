"""Runs at the edge: no restitution, single precision, nothing left to hit, and input that is no use."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_simulate import FLOOR, LAW, UPRIGHT, lowest, solid, thrown

import jimpact
from jimpact import Ending, Hull, Motion, Planes, Run, Solid, Sphere, box, energy, motion_at, simulate, simulate_pair

BALL = Solid(1.0, 0.004 * np.eye(3), Sphere(0.1))
DROPPED = Motion(np.array([0.0, 0.0, 1.0]), UPRIGHT, np.zeros(3), np.zeros(3))
SUNK = {"float64": 1e-15, "float32": 1e-6}  # m below the plane, of bodies of 0.1 m some metres away: 64 x epsilon


def as_dtype(tree: Any, dtype: str) -> Any:
    return jax.tree.map(lambda a: jnp.asarray(a, dtype), tree)


@pytest.fixture(scope="module", params=["float64", "float32"])
def crash(request: pytest.FixtureRequest) -> dict[float, Run]:
    """Boxes that fall on the floor, by restitution."""
    body, motion = as_dtype((solid("box"), thrown(200, 5)), request.param)

    def run(e: float) -> Run:
        return simulate(body, motion, as_dtype(FLOOR._replace(restitution=e), request.param), duration=1.5, **LAW)

    return {e: run(e) for e in (0.0, 0.5)}


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_no_box_falls_through_the_floor(crash: dict[float, Run], e: float) -> None:
    run = crash[e]
    deepest = np.nanmin(lowest(solid("box").shape, run.end, FLOOR))
    assert deepest >= -20 * SUNK[str(run.time.dtype)], deepest


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_an_impact_is_on_the_surface(crash: dict[float, Run], e: float) -> None:
    """Also after a flight about an unstable axis, in which round-off grows."""
    point = np.asarray(crash[e].bounces.point)
    assert np.nanmin(point[..., 2]) >= -SUNK[str(point.dtype)]


def test_boxes_without_restitution_come_to_rest(crash: dict[float, Run]) -> None:
    assert np.mean(np.asarray(crash[0.0].ending) == Ending.RESTING) > 0.9


def test_a_run_can_be_continued(crash: dict[float, Run]) -> None:
    run = crash[0.5]
    done = np.asarray(run.ending) == Ending.IMPACTS
    end = jax.tree.map(lambda a: a[done], run.end)
    more = simulate(jax.tree.map(lambda a: a[done], run.world.solid), end, as_dtype(FLOOR, end.position.dtype), **LAW)
    assert not np.isin(more.ending, [Ending.OVERLAPPING, Ending.INVALID]).any()


def test_a_spinning_body_that_leaves_is_free() -> None:
    motion = Motion(np.array([0.0, 0.0, 0.5]), UPRIGHT, np.array([0.0, 0.0, -1.0]), np.array([3.0, 2.0, 1.0]))
    run = simulate(solid("box"), motion, FLOOR, gravity=np.zeros(3), **LAW)
    assert (Ending(int(run.ending)), int(run.impacts) > 0) == (Ending.FREE, True)


@pytest.mark.slow
def test_boxes_that_hit_without_restitution_do_not_overlap() -> None:
    n, rng = 40, np.random.default_rng(0)
    body, still = solid("round box"), Motion(np.zeros(3), UPRIGHT, np.zeros(3), np.zeros(3))
    falls = thrown(n)._replace(
        position=np.concatenate([rng.uniform(-0.03, 0.03, (n, 2)), np.full((n, 1), 0.4)], 1),
        velocity=np.broadcast_to([0.0, 0.0, -1.0], (n, 3)),
        angular_velocity=rng.normal(size=(n, 3)) * 5,
    )
    run = simulate_pair(body, body, falls, still, 0.3, 0.0, gravity=np.zeros(3), duration=1.0, impacts=5, **LAW)
    gap, size = run.world.depth(run.end)
    assert np.nanmin(gap / size) >= -1e-9


def test_a_plane_without_a_normal_harms_no_gradient() -> None:
    def first(scale: jax.Array) -> jax.Array:
        normal = jnp.asarray([[[0, 0, 1.0]], [[0, 0, 0.0]]]) * scale
        run = simulate(BALL, DROPPED, Planes(normal, jnp.full((2, 1), 0.5) * scale**2, 0.3, 0.5), impacts=1, **LAW)
        return run.bounces.time[0, 0]

    # It falls by 0.4 m; the floor rises by 0.5 m per unit of scale.
    np.testing.assert_allclose(jax.grad(first)(1.0), -0.5 / np.sqrt(2 * 9.81 * 0.4), rtol=1e-9)


def test_an_empty_batch_is_an_empty_run() -> None:
    nothing = DROPPED._replace(position=np.zeros((0, 3)))
    assert simulate(BALL, nothing, FLOOR, impacts=2, **LAW).bounces.time.shape == (0, 2)


@pytest.fixture(scope="module")
def two() -> Run:
    return simulate(BALL, DROPPED._replace(position=np.array([[0.0, 0, 1], [0, 0, 2]])), FLOOR, impacts=2, **LAW)


def test_one_time_is_read_of_all_runs(two: Run) -> None:
    np.testing.assert_array_equal(motion_at(two, 0.1).position, motion_at(two, np.array([0.1])).position[:, 0])


def test_a_radius_that_varies_makes_bad_boxes_invalid() -> None:
    body = lambda r: Solid(1.0, np.eye(3), box(np.full(3, 0.1), r))  # noqa: E731
    run = jax.jit(jax.vmap(lambda r: simulate(body(r), DROPPED, FLOOR, impacts=1, **LAW)))(jnp.asarray([0.02, 0.06]))
    assert (np.asarray(run.ending) == Ending.INVALID).tolist() == [False, True]


MISTAKES = {
    "radius of a box must not be above half": lambda run: box([0.1, 0.1, 0.1], 0.06),
    "size has a negative length; pass": lambda run: box([0.1, -0.1, 0.1]),
    "size has shape .2,.; pass": lambda run: box([1.0, 1.0]),
    "points is a list; pass an array": lambda run: simulate(
        BALL._replace(shape=Hull([[1, 0, 0], [0]])), DROPPED, FLOOR
    ),
    "law is a list; pass its name": lambda run: simulate(BALL, DROPPED, FLOOR, law=["stronge"]),
    "'frction' is not an option": lambda run: simulate(BALL, DROPPED, FLOOR, frction=0.3),
    "from 1 to 10000": lambda run: simulate(BALL, DROPPED, FLOOR, impacts=10**9),
    "run is a Motion; pass a Run": lambda run: motion_at(DROPPED, np.zeros(2)),
    "do not broadcast .run .2,., time .3,..": lambda run: motion_at(run, np.zeros((3, 4))),
    "time has shape .1, 2, 4.; pass": lambda run: motion_at(run, np.zeros((1, 2, 4))),
    "got a Motion and a Solid; pass": lambda run: energy(DROPPED, BALL),
    "in its `ending`": lambda run: jimpact.require(run),
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_mistakes_get_a_sentence(two: Run, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        MISTAKES[sentence](two)


@pytest.mark.parametrize("height", [0.1, np.nextafter(0.1, 0), 0.1 + 1e-16])
def test_an_impact_at_the_start_has_the_derivative_of_its_time(height: float) -> None:
    def first(z: jax.Array) -> jax.Array:
        motion = DROPPED._replace(position=jnp.stack([0 * z, 0 * z, z]), velocity=np.array([0.0, 0.0, -1.0]))
        return simulate(BALL, motion, FLOOR, impacts=1, **LAW).bounces.time[0]

    np.testing.assert_allclose(jax.grad(first)(height), 1.0, rtol=1e-9)  # m over 1 m/s
