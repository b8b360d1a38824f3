"""Two bodies that hit each other, one an ellipsoid: against projections on convex sets, and differences."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimpact import Ellipsoid, Ending, Hull, Motion, Run, Solid, Sphere, box, energy, motion_at, simulate_pair
from jimpact.geometry.rotation import rotation_matrix

LAW: dict[str, Any] = {"law": "chatterjee_ruina", "tangential_restitution": 0.0}  # compiles fast
EGG = Ellipsoid(np.array([0.5, 0.3, 0.2]))
OTHERS: dict[str, Any] = {
    "ellipsoid": Ellipsoid(np.array([0.15, 0.4, 0.25])),
    "sphere": Sphere(0.3),
    "sharp box": box(np.array([0.6, 0.4, 0.5])),
    "round box": box(np.array([0.6, 0.4, 0.5]), 0.05),
}
GRAZE = 1e-9  # of a metre: what the projections below have converged to
N, TIME = 24, 3.0


def solid(shape: Any) -> Solid:
    inertia = 0.03 * np.eye(3) if isinstance(shape, Sphere) else np.diag([0.02, 0.03, 0.04])
    return Solid(1.0, inertia, shape)


def flown(shape: Any, n: int = N, friction: float = 0.3) -> Run:
    """Eggs that meet other bodies, not head-on, both tumbling."""
    rng = np.random.default_rng(7)

    def motion(place: np.ndarray, velocity: np.ndarray) -> Motion:
        q = rng.normal(size=(n, 4))
        return Motion(place, q / np.linalg.norm(q, axis=-1, keepdims=True), velocity, rng.normal(size=(n, 3)) * 4)

    way = rng.normal(size=(n, 3))
    way /= np.linalg.norm(way, axis=-1, keepdims=True)
    a, b = motion(2 * way, -1.5 * way), motion(rng.normal(size=(n, 3)) * 0.15, np.zeros((n, 3)))
    return simulate_pair(
        solid(EGG), solid(shape), a, b, friction, 0.8, gravity=np.zeros(3), impacts=3, duration=TIME, **LAW
    )


SLOW = ("sphere", "sharp box", "round box")


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in OTHERS]
)
def duel(request: pytest.FixtureRequest) -> tuple[Any, Run]:
    return OTHERS[request.param], flown(OTHERS[request.param])


def on_ellipsoid(axes: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The point of a solid ellipsoid that is nearest to x: bisection of |A (A^2 + t)^-1 x| = 1."""
    low, high = np.zeros(x.shape[:-1]), np.linalg.norm(x, axis=-1) * axes.max()
    for _ in range(60):
        t = 0.5 * (low + high)
        outside = np.linalg.norm(axes * x / (axes**2 + t[..., None]), axis=-1) > 1
        low, high = np.where(outside, t, low), np.where(outside, high, t)
    inside = np.linalg.norm(x / axes, axis=-1) <= 1
    return np.where(inside[..., None], x, axes**2 * x / (axes**2 + high[..., None]))


def on_core(shape: Any, x: np.ndarray) -> np.ndarray:
    if isinstance(shape, Ellipsoid):
        return on_ellipsoid(np.asarray(shape.semi_axes), x)
    half = np.asarray(shape.points).max(0) if isinstance(shape, Hull) else np.zeros(3)
    return np.clip(x, -half, half)


def distance(shape: Any, motion: Any) -> np.ndarray:
    """Of the egg from another body, by projecting on one and the other in turns; of bodies that overlap below zero."""
    frames = [(np.asarray(rotation_matrix(m.orientation)), np.asarray(m.position)) for m in motion]
    into = lambda frame, x: np.einsum("...ji,...j->...i", frame[0], x - frame[1])  # noqa: E731
    out = lambda frame, x: np.einsum("...ij,...j->...i", frame[0], x) + frame[1]  # noqa: E731
    b = frames[1][1]
    for _ in range(300):
        a = out(frames[0], on_core(EGG, into(frames[0], b)))
        b = out(frames[1], on_core(shape, into(frames[1], a)))
    return np.linalg.norm(a - b, axis=-1) - (0 if isinstance(shape, Ellipsoid) else np.asarray(shape.radius))


def test_all_runs_have_impacts_and_end(duel: tuple[Any, Run]) -> None:
    assert set(np.unique(duel[1].ending)) <= {Ending.DURATION, Ending.IMPACTS}
    assert np.mean(duel[1].impacts > 0) > 0.8


def test_the_point_of_contact_is_on_both_surfaces(duel: tuple[Any, Run]) -> None:
    shape, run = duel
    hit = np.asarray(run.impacts) > 0
    point = np.asarray(run.bounces.point)[hit, 0]
    for body, motion in zip((EGG, shape), run.bounces.before, strict=True):
        axes = np.asarray(rotation_matrix(motion.orientation))[hit, 0]
        x = np.einsum("nji,nj->ni", axes, point - np.asarray(motion.position)[hit, 0])
        if isinstance(body, Ellipsoid):
            np.testing.assert_allclose(np.linalg.norm(x / np.asarray(body.semi_axes), axis=-1), 1, atol=GRAZE)
        else:
            away = np.linalg.norm(x - on_core(body, x), axis=-1)
            np.testing.assert_allclose(away, body.radius, atol=GRAZE)


@pytest.mark.slow
def test_impulses_without_friction_are_along_the_normal_of_the_egg() -> None:
    smooth = flown(OTHERS["round box"], friction=0.0)
    hit = np.asarray(smooth.impacts) > 0
    before = smooth.bounces.before.a
    axes = np.asarray(rotation_matrix(before.orientation))[hit, 0]
    x = np.einsum("nji,nj->ni", axes, np.asarray(smooth.bounces.point - before.position)[hit, 0])
    normal = np.einsum("nij,nj->ni", axes, x / np.asarray(EGG.semi_axes) ** 2)
    impulse = np.asarray(smooth.bounces.impulse)[hit, 0]
    cosine = np.sum(normal * impulse, -1) / np.linalg.norm(normal, axis=-1) / np.linalg.norm(impulse, axis=-1)
    np.testing.assert_allclose(cosine, -1, atol=1e-12)


def test_no_impact_is_missed(duel: tuple[Any, Run]) -> None:
    shape, run = duel
    motion = motion_at(run, np.linspace(0, TIME, 151))
    # Where they overlap, the alternating projections meet: a core distance of 0.
    known = np.isfinite(np.asarray(motion.a.position[..., 0]))
    inside = distance(shape, jax.tree.map(lambda a: np.asarray(a)[known], motion))
    if isinstance(shape, Ellipsoid) or not np.any(np.asarray(getattr(shape, "radius", 0.0))):
        assert np.min(inside) > 1e-8  # of bodies apart: no sample is at an impact; of overlapping ones it is 0
    else:
        assert np.min(inside) > -GRAZE


def test_momentum_and_energy(duel: tuple[Any, Run]) -> None:
    shape, run = duel
    before, after = run.bounces.before, run.bounces.after
    there = np.isfinite(run.bounces.time)
    total = lambda pair: (pair.a.velocity + pair.b.velocity)[there]  # noqa: E731
    np.testing.assert_allclose(total(after), total(before), atol=1e-13)
    ledger = lambda pair: energy(solid(EGG), pair.a, np.zeros(3)) + energy(solid(shape), pair.b, np.zeros(3))  # noqa: E731
    np.testing.assert_allclose((ledger(after) - ledger(before))[there], run.bounces.energy_change[there], atol=1e-13)


def test_an_ellipsoid_with_equal_axes_hits_as_a_ball() -> None:
    still, upright = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    a = Motion(np.array([2.0, 0.1, 0.0]), upright, np.array([-1.0, 0.0, 0.0]), np.array([0.0, 3.0, 1.0]))
    b = Motion(still, upright, still, np.array([1.0, 0.0, 2.0]))
    ball = Solid(1.0, 0.03 * np.eye(3), Sphere(0.3))
    shapes = (Sphere(0.3), Ellipsoid(np.full(3, 0.3)))
    ends = [
        simulate_pair(ball._replace(shape=s), ball, a, b, 0.3, 0.8, impacts=1, duration=2.0, **LAW).end for s in shapes
    ]
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-12), *ends)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("other", ["ellipsoid", "round box"])
def test_derivatives_agree_with_differences(other: str, mode: Any) -> None:
    run = flown(OTHERS[other], 4)
    start = jax.tree.map(lambda a: a[:2], run.start)
    x = jnp.concatenate([EGG.semi_axes, jnp.asarray([0.3, 0.8]), jnp.zeros(6)])

    @jax.jit
    def ends(x: jax.Array) -> jax.Array:
        a = start.a._replace(position=start.a.position + x[5:8], angular_velocity=start.a.angular_velocity + x[8:])
        egg = solid(Ellipsoid(x[:3]))
        pair = simulate_pair(
            egg, solid(OTHERS[other]), a, start.b, x[3], x[4], gravity=np.zeros(3), impacts=1, duration=TIME, **LAW
        ).end
        return jnp.concatenate([pair.a.velocity, pair.a.angular_velocity, pair.b.position], -1)

    h = 1e-5
    differences = jnp.stack([(ends(x + h * d) - ends(x - h * d)) / (2 * h) for d in jnp.eye(len(x))], -1)
    np.testing.assert_allclose(mode(ends)(x), differences, rtol=1e-6, atol=1e-6)


def test_eggs_that_overlap_or_do_not_exist_say_so_and_harm_no_other() -> None:
    start = flown(OTHERS["ellipsoid"], 3).start
    axes = jnp.asarray([[0.5, 0.3, 0.2], [0.5, 0.3, 0.0], [3.0, 2.5, 2.5]])
    run = simulate_pair(
        solid(Ellipsoid(axes)), solid(EGG), *start, 0.3, 0.8, gravity=np.zeros(3), impacts=1, duration=TIME, **LAW
    )
    assert list(run.ending[1:]) == [Ending.INVALID, Ending.OVERLAPPING]
    assert np.isfinite(run.end.a.position[0]).all()


def test_two_sharp_boxes_hit_as_nearly_sharp_ones() -> None:
    """Against boxes of the same size with corners of 1e-6 of it: the difference is of that order."""
    rng = np.random.default_rng(3)
    size, n = np.array([0.6, 0.4, 0.5]), 12
    q = rng.normal(size=(2, n, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    way, still = rng.normal(size=(n, 3)), np.zeros((n, 3))
    way /= np.linalg.norm(way, axis=-1, keepdims=True)
    a = Motion(1.5 * way, q[0], -1.5 * way, rng.normal(size=(n, 3)) * 3)
    b = Motion(rng.normal(size=(n, 3)) * 0.1, q[1], still, rng.normal(size=(n, 3)) * 3)

    def ends(radius: float) -> Run:
        shape = box(size, radius)
        return simulate_pair(
            solid(shape), solid(shape), a, b, 0.3, 0.8, gravity=np.zeros(3), impacts=1, duration=TIME, **LAW
        )

    sharp, round_ = ends(0.0), ends(5e-7)
    assert set(np.unique(sharp.ending)) <= {Ending.DURATION, Ending.IMPACTS} and np.sum(sharp.impacts) > n // 2
    hit = np.asarray(sharp.impacts) > 0
    np.testing.assert_allclose(sharp.bounces.time[hit], round_.bounces.time[hit], atol=1e-5)
    np.testing.assert_allclose(sharp.end.a.velocity[hit], round_.end.a.velocity[hit], atol=1e-4)


def test_an_egg_and_a_ball_meet_along_an_axis() -> None:
    """The share of the metric is then at an end of its bracket."""
    still, upright = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    for axis in range(3):
        way = np.eye(3)[axis]
        a, b = Motion(2 * way, upright, -way, still), Motion(still, upright, still, still)
        run = simulate_pair(
            solid(EGG), solid(Sphere(0.3)), a, b, 0.3, 0.8, gravity=still, impacts=1, duration=3.0, **LAW
        )
        np.testing.assert_allclose(run.bounces.time[0], 2 - 0.3 - EGG.semi_axes[axis], atol=1e-12)


CAPSULE, RADIUS = np.array([[0.0, 0.0, -0.1], [0.0, 0.0, 0.1]]), 0.05
PARALLEL = {
    "side by side": ([0.5, 0.0, 0.0], [0.0, 0.0, 0.0]),
    "shifted": ([0.5, 0.0, 0.05], [0.0, 0.0, 0.0]),
    "spinning about its axis": ([0.5, 0.0, 0.0], [0.0, 0.0, 5.0]),
}


@pytest.mark.parametrize("core", ["capsule", pytest.param("box", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PARALLEL)
def test_parallel_edges_and_faces_collide_end_by_end_and_part(name: str, core: str) -> None:
    """Where one end leaves and the other one closes, the contact must be found there."""
    shape = Hull(CAPSULE, RADIUS) if core == "capsule" else box(np.full(3, 0.1), 0.01)
    body, still = Solid(1.0, np.diag([0.01, 0.01, 0.003]), shape), np.zeros(3)
    place, spin = (np.array(x) for x in PARALLEL[name])
    upright = np.array([1.0, 0.0, 0.0, 0.0])
    a, b = Motion(still, upright, still, still), Motion(place, upright, np.array([-1.0, 0.0, 0.0]), spin)
    run = simulate_pair(body, body, a, b, 0.3, 0.5, gravity=still, impacts=9, duration=1.0, **LAW)
    assert Ending(int(run.ending)) == Ending.DURATION and run.impacts >= 1
    count = int(run.impacts)
    assert (np.linalg.norm(run.bounces.impulse[:count], axis=-1) > 1e-6).all(), "an impact without impulse"
    np.testing.assert_allclose(run.end.a.velocity + run.end.b.velocity, b.velocity, atol=1e-12)
    parts = [run.world.depth(motion_at(run, jnp.asarray(t)))[0] for t in np.linspace(0.0, 1.0, 21)]
    assert min(map(float, parts)) > -1e-12
