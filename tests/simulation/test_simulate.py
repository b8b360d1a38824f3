"""Flight and impact: against closed forms, other descriptions of the same body, and a look at many times."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact import Ellipsoid, Ending, Hull, Motion, Planes, Solid, Sphere, box, energy, motion_at, simulate
from jimpact.geometry.rotation import quaternion_product, rotated, rotation_matrix

LEDGER = 1e-12  # relative, per bounce: round-off of flights and impacts
DEPTH = 1e-12  # of the size: round-off of a gap
LAW: dict[str, Any] = {"law": "chatterjee_ruina", "tangential_restitution": 0.0}  # compiles fast
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
FLOOR = Planes(np.array([[0.0, 0.0, 1.0]]), np.zeros(1), 0.3, 0.8)
ROOM = Planes(
    np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.8, 0.0, 0.6], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]),
    np.array([0.0, -1.0, -1.0, -1.0, -1.0]),
    0.3,
    0.8,
)
INERTIA = np.diag([8e-4, 1e-3, 1.4e-3])
SHAPES: dict[str, Any] = {
    "box": box(np.array([0.1, 0.08, 0.06])),
    "round box": box(np.array([0.1, 0.08, 0.06]), 0.01),
    "ellipsoid": Ellipsoid(np.array([0.06, 0.05, 0.02])),
    "rod": Hull(np.array([[0.1, 0.0, 0.0], [-0.1, 0.0, 0.0]]), 0.02),
}
INERTIAS = {"rod": 0.37 * np.diag([0.02**2 / 2, 0.2**2 / 12, 0.2**2 / 12])}


def thrown(n: int, seed: int = 0, spin: float = 15.0) -> Motion:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(n, 4))
    return Motion(
        rng.uniform([-0.3, -0.5, 0.4], [0.3, 0.5, 1.0], (n, 3)),
        q / np.linalg.norm(q, axis=-1, keepdims=True),
        rng.normal(size=(n, 3)) * [2, 2, 1],
        rng.normal(size=(n, 3)) * spin,
    )


def solid(shape: str) -> Solid:
    return Solid(0.37, INERTIAS.get(shape, INERTIA), SHAPES[shape])


@pytest.fixture(scope="module", params=SHAPES)
def crowd(request: pytest.FixtureRequest) -> tuple[str, jimpact.Run]:
    """Many bodies in a room."""
    return request.param, simulate(solid(request.param), thrown(24), ROOM, impacts=12, duration=2.0, **LAW)


def lowest(shape: Any, motion: Motion, planes: Planes) -> np.ndarray:
    """Gap of the point nearest to any plane, by the definition of the shape."""
    normal = planes.normal / np.linalg.norm(planes.normal, axis=-1, keepdims=True)
    axes = np.asarray(rotation_matrix(motion.orientation))
    back = np.einsum("...ij,pi->...pj", axes, normal)
    if isinstance(shape, Ellipsoid):
        inward = np.linalg.norm(back * shape.semi_axes, axis=-1)
    else:
        inward = -np.min(np.einsum("...pj,kj->...pk", back, shape.points), -1) + shape.radius
    return np.min(np.asarray(motion.position) @ normal.T - planes.offset - inward, -1)


def test_no_run_of_a_crowd_fails(crowd: tuple[str, jimpact.Run]) -> None:
    assert set(np.unique(crowd[1].ending)) <= {Ending.DURATION, Ending.IMPACTS, Ending.RESTING}, crowd[0]
    assert np.mean(crowd[1].impacts) > 3


def test_energy_closes_over_every_bounce(crowd: tuple[str, jimpact.Run]) -> None:
    shape, run = crowd
    before, after = (energy(solid(shape), m) for m in (run.bounces.before, run.bounces.after))
    unit = np.nanmax(np.abs(before))
    np.testing.assert_allclose(after - before, run.bounces.energy_change, atol=LEDGER * unit, err_msg=shape)
    assert np.nanmax(run.bounces.energy_change) <= LEDGER * unit


def test_energy_closes_over_every_flight(crowd: tuple[str, jimpact.Run]) -> None:
    shape, run = crowd
    starts = jax.tree.map(lambda a, b: jnp.concatenate([a[:, None], b[:, :-1]], 1), run.start, run.bounces.after)
    first, last = energy(solid(shape), starts), energy(solid(shape), run.bounces.before)
    there = np.isfinite(last)
    np.testing.assert_allclose(first[there], last[there], rtol=LEDGER, atol=LEDGER, err_msg=shape)


def test_no_sample_penetrates(crowd: tuple[str, jimpact.Run]) -> None:
    shape, run = crowd
    few = jax.tree.map(lambda a: a[:6], run)
    motion = motion_at(few, np.linspace(0, 2.0, 101))
    deepest = np.nanmin(lowest(SHAPES[shape], motion, ROOM))
    assert deepest > -DEPTH, f"{shape}: {deepest}"


def test_the_body_touches_at_an_impact_and_approaches(crowd: tuple[str, jimpact.Run]) -> None:
    shape, run = crowd
    b = run.bounces
    there = np.isfinite(b.time)
    np.testing.assert_allclose(lowest(SHAPES[shape], b.before, ROOM)[there], 0, atol=DEPTH, err_msg=shape)
    normal = (ROOM.normal / np.linalg.norm(ROOM.normal, axis=-1, keepdims=True))[b.plane]
    arm = b.point - b.before.position
    speed = lambda m: np.sum(normal * (m.velocity + np.cross(m.angular_velocity, arm)), -1)[there]  # noqa: E731
    assert (speed(b.before) < 0).all()
    np.testing.assert_allclose(speed(b.after), -0.8 * speed(b.before), atol=1e-12)


def test_motion_at_an_impact_is_that_after_it(crowd: tuple[str, jimpact.Run]) -> None:
    _, run = crowd
    motion = motion_at(run, run.bounces.time)
    there = np.isfinite(run.bounces.time)
    for now, after in zip(motion, run.bounces.after, strict=True):
        np.testing.assert_allclose(now[there], after[there], atol=1e-12)


def test_the_end_is_the_motion_at_the_end(crowd: tuple[str, jimpact.Run]) -> None:
    _, run = crowd
    motion = motion_at(run, run.time[:, None])
    for now, end in zip(motion, run.end, strict=True):
        np.testing.assert_allclose(now[:, 0], end, atol=1e-11)


BALL = Solid(0.2, 0.4 * 0.2 * 0.03**2 * np.eye(3), Sphere(0.03))
FALL = Motion(np.array([0.0, 0.0, 1.0]), UPRIGHT, np.zeros(3), np.zeros(3))


def run_of(body: Solid, motion: Motion = FALL, planes: Planes = FLOOR, **options: Any) -> jimpact.Run:
    """One run: of few kinds, so that few programs are compiled."""
    return simulate(body, motion, planes, **{"impacts": 30, **LAW, **options})


@pytest.mark.parametrize(
    "shape", [Ellipsoid(np.full(3, 0.03)), Hull(np.zeros((1, 3)), 0.03)], ids=["ellipsoid", "rounded point"]
)
def test_a_ball_is_a_ball_however_described(shape: Any) -> None:
    motion = Motion(np.array([0.1, 0.0, 0.5]), UPRIGHT, np.array([1.0, 0.4, -0.3]), np.array([5.0, -30.0, 8.0]))
    ball, other = (run_of(BALL._replace(shape=s), motion, ROOM, impacts=5, duration=2.0) for s in (Sphere(0.03), shape))
    np.testing.assert_allclose(other.bounces.time, ball.bounces.time, rtol=1e-11)
    for a, b in zip(other.end, ball.end, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_a_turned_world_gives_the_turned_run() -> None:
    turn = np.array([0.5, 0.5, -0.1, 0.7])
    turn = jnp.asarray(turn / np.linalg.norm(turn))
    there = partial(rotated, turn)
    motion, gravity = jax.tree.map(lambda a: jnp.asarray(a[0]), thrown(1)), jnp.asarray([0.0, 0.0, -9.81])
    other = Motion(
        there(motion.position),
        quaternion_product(turn, motion.orientation),
        there(motion.velocity),
        there(motion.angular_velocity),
    )
    here = run_of(solid("box"), motion, ROOM, gravity=gravity, impacts=4)
    turned_room = ROOM._replace(normal=there(jnp.asarray(ROOM.normal)))
    turned = run_of(solid("box"), other, turned_room, gravity=there(gravity), impacts=4)
    np.testing.assert_allclose(turned.bounces.time, here.bounces.time, rtol=1e-10)
    np.testing.assert_allclose(turned.end.velocity, there(here.end.velocity), atol=1e-9)


def test_a_box_that_lands_flat_hits_with_its_corners_one_after_another() -> None:
    run = run_of(solid("box"), impacts=4)
    first = np.sqrt(2 * 0.97 / 9.81)
    np.testing.assert_allclose(run.bounces.time[:2], first, rtol=1e-12)
    assert run.bounces.time[2] > first + 0.1  # then all its corners leave
    assert np.abs(run.bounces.point[0] - run.bounces.point[1]).max() > 0.05


def test_bounces_of_a_ball_are_the_geometric_series() -> None:
    run = run_of(BALL, planes=FLOOR._replace(restitution=0.5))
    first = np.sqrt(2 * 0.97 / 9.81)
    np.testing.assert_allclose(run.bounces.time[:8], first * (1 + 2 * (1 - 0.5 ** np.arange(8))), rtol=1e-13)


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.7])
def test_a_ball_comes_to_rest(restitution: float) -> None:
    run = run_of(BALL, planes=FLOOR._replace(restitution=restitution))
    assert run.ending == Ending.RESTING
    first = np.sqrt(2 * 0.97 / 9.81)
    accumulated = first * (1 + restitution) / (1 - restitution)
    assert first - 1e-12 <= run.time <= accumulated + 1e-12
    assert accumulated - run.time < 1e-2
    assert abs(run.end.velocity[2]) <= 1e-3 * np.sqrt(2 * 9.81 * 0.03) + 1e-12


def test_rest_speed_decides_what_is_rest() -> None:
    few, more = (run_of(BALL, planes=FLOOR._replace(restitution=0.5), rest_speed=speed) for speed in (0.5, 1e-4))
    assert few.impacts < more.impacts and few.ending == more.ending == Ending.RESTING


@pytest.mark.parametrize("shape", ["ball", "box"])
def test_nothing_reachable_is_free(shape: str) -> None:
    body = BALL if shape == "ball" else solid(shape)
    motion = FALL._replace(velocity=np.array([0.0, 0.0, 1.0]), angular_velocity=np.array([3.0, 1.0, 2.0]))
    run = run_of(body, motion, gravity=np.zeros(3), impacts=30 if shape == "ball" else 4)
    assert run.ending == Ending.FREE and run.impacts == 0
    np.testing.assert_array_equal(run.end.position, motion.position)


@pytest.mark.parametrize("shape", ["ball", "box"])
def test_a_time_without_impact_is_flown(shape: str) -> None:
    run = run_of(BALL if shape == "ball" else solid(shape), duration=0.1, impacts=30 if shape == "ball" else 4)
    assert run.ending == Ending.DURATION and run.impacts == 0
    np.testing.assert_allclose(run.end.position[2], 1 - 0.5 * 9.81 * 0.01, rtol=1e-14)


@pytest.mark.parametrize("height", [1.0, 1e6], ids=["above the floor", "high above"])
def test_a_body_that_spins_too_often_to_be_followed_is_unfinished(height: float) -> None:
    motion = FALL._replace(position=np.array([0.0, 0.0, height]), angular_velocity=np.array([1e6, 3e5, 0.0]))
    run = run_of(solid("box"), motion, duration=0.2, impacts=4)
    assert run.ending == Ending.UNFINISHED
    np.testing.assert_array_equal(run.end.position, motion.position)


def test_impacts_that_are_used_up_end_the_run() -> None:
    run = simulate(BALL, FALL, FLOOR, duration=10.0, impacts=2, **LAW)
    assert run.ending == Ending.IMPACTS and run.time == run.bounces.time[1]


def test_the_last_flight_is_flown_if_it_meets_nothing() -> None:
    run = simulate(BALL, FALL, FLOOR, duration=0.6, impacts=1, **LAW)
    assert run.ending == Ending.DURATION and run.impacts == 1 and run.time == 0.6


BAD: dict[str, tuple[Any, Any, Any, dict]] = {
    "zero mass": (BALL._replace(mass=0.0), FALL, FLOOR, {}),
    "negative inertia": (BALL._replace(inertia=-np.eye(3)), FALL, FLOOR, {}),
    "no body has it": (solid("box")._replace(inertia=np.diag([1.0, 1.0, 3.0])), FALL, FLOOR, {}),
    "uneven ball": (BALL._replace(inertia=INERTIA), FALL, FLOOR, {}),
    "no size": (BALL._replace(shape=Sphere(0.0)), FALL, FLOOR, {}),
    "quaternion": (BALL, FALL._replace(orientation=np.array([1.0, 1.0, 0.0, 0.0])), FLOOR, {}),
    "nan": (BALL, FALL._replace(velocity=np.array([np.nan, 0.0, 0.0])), FLOOR, {}),
    "normal": (BALL, FALL, FLOOR._replace(normal=np.zeros((1, 3))), {}),
    "friction": (BALL, FALL, FLOOR._replace(friction=-0.1), {}),
    "restitution": (BALL, FALL, FLOOR._replace(restitution=1.1), {}),
    "duration": (BALL, FALL, FLOOR, {"duration": -1.0}),
    "gravity": (BALL, FALL, FLOOR, {"gravity": np.array([0.0, 0.0, np.inf])}),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_invalid(case: str) -> None:
    body, motion, planes, options = BAD[case]
    run = run_of(body, motion, planes, impacts=30 if isinstance(body.shape, Sphere) else 4, **options)
    assert run.ending == Ending.INVALID, case
    assert np.isnan(run.end.position).all() and run.impacts == 0


@pytest.mark.parametrize("body", [BALL, solid("box")], ids=["ball", "box"])
def test_a_body_in_a_wall_is_overlapping(body: Solid) -> None:
    motion = FALL._replace(position=np.array([0.0, 0.0, 0.01]))
    run = run_of(body, motion, impacts=30 if isinstance(body.shape, Sphere) else 4)
    assert run.ending == Ending.OVERLAPPING


def test_a_bad_lane_harms_no_other() -> None:
    good = thrown(4)
    spoilt = jax.tree.map(lambda a: np.concatenate([a, np.full_like(a[:1], np.nan)]), good)
    run = lambda m: simulate(BALL, m, ROOM, impacts=3, **LAW)  # noqa: E731
    alone, among = run(good), run(spoilt)
    assert among.ending[4] == Ending.INVALID
    np.testing.assert_allclose(among.bounces.time[:4], alone.bounces.time, rtol=1e-13)
    slope = jax.grad(lambda m: run(m).end.position[:4].sum())(spoilt)
    assert all(np.isfinite(a).all() for a in slope)


SENTENCES: dict[str, tuple[Any, str]] = {
    "impacts": (lambda: simulate(BALL, FALL, FLOOR, impacts=0), "whole number from 1"),
    "solid": (lambda: simulate(1.0, FALL, FLOOR), "pass a jimpact.Solid"),
    "shape": (lambda: simulate(BALL._replace(shape=0.1), FALL, FLOOR), "pass a Sphere"),
    "planes": (lambda: simulate(BALL, FALL, FLOOR._replace(normal=np.zeros(3))), r"pass \(..., p, 3\)"),
    "points": (lambda: simulate(BALL._replace(shape=Hull(np.zeros(3))), FALL, FLOOR), r"pass \(..., k, 3\)"),
    "law": (lambda: simulate(BALL, FALL, FLOOR, law="none"), "is unknown"),
    "option": (lambda: simulate(BALL, FALL, FLOOR, bounce=1), "bounce"),
    "batch": (lambda: simulate(BALL, thrown(3), FLOOR._replace(friction=np.ones((2, 1)))), "do not broadcast"),
    "orientation": (lambda: simulate(BALL, FALL._replace(orientation=np.eye(3)), FLOOR), "motion.orientation"),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_wrong_arguments_get_a_sentence(case: str) -> None:
    call, sentence = SENTENCES[case]
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()


def test_float32_is_enough_to_follow_a_few_bounces() -> None:
    single = jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), (BALL, thrown(20), ROOM))
    run = simulate(*single, impacts=3, duration=2.0, **LAW)
    double = simulate(BALL, thrown(20), ROOM, impacts=3, duration=2.0, **LAW)
    assert run.end.position.dtype == jnp.float32
    np.testing.assert_allclose(run.bounces.time, double.bounces.time, rtol=1e-4)
    np.testing.assert_array_equal(run.ending, double.ending)


def test_a_quaternion_of_single_precision_is_made_unit() -> None:
    q = np.float64(np.float32(thrown(1).orientation[0]))
    run = run_of(BALL, FALL._replace(orientation=q))
    np.testing.assert_allclose(np.linalg.norm(run.start.orientation), 1, rtol=1e-15)
