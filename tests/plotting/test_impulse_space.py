"""Impulse space: every line is where its equation says, the shaded regions are what they are called."""

import matplotlib

matplotlib.use("Agg")

import jax
import numpy as np
import pytest
from matplotlib.path import Path

import jimpact
from jimpact import Impact, Outcome
from jimpact.plotting import impulse_figures as plot_space
from jimpact.plotting.impulse_figures import REGION, impulse_space, permissible_region, reached

permissible, solve_planar = jax.jit(jimpact.permissible), jax.jit(jimpact.solve_planar, static_argnames="law")

ROUND_OFF = 1e-12  # x impulses and velocities of order 1
CHORD = 1e-5  # a chord of the ellipse is (pi / 1440)^2 / 2 of its size inside
STEPPED = 1e-6  # the law that follows the slip has the standard accuracy

CASES = {
    "generic": (np.array([[2.0, 1.1], [1.1, 1.2]]), np.array([-1.4, -1.0]), 0.45),
    "disk": (np.array([[3.0, 0.0], [0.0, 1.0]]), np.array([-1.0, -1.0]), 0.5),
    "grazing": (np.array([[3.0, -1.2], [-1.2, 1.0]]), np.array([-1.0, -1e-6]), 1.2),
    "infinite friction": (np.array([[1.5, 1.0], [1.0, 1.2]]), np.array([-1.0, -0.5]), 1e4),
}
GENERIC = CASES["generic"]


def flat(K: np.ndarray, *vectors: np.ndarray) -> tuple[np.ndarray, ...]:
    """A planar inverse inertia and planar vectors, in space."""
    W = np.array([[K[0, 0], 0, K[0, 1]], [0, K[0, 0], 0], [K[1, 0], 0, K[1, 1]]])
    return W, *(np.stack([a[..., 0], 0 * a[..., 0], a[..., 1]], -1) for a in vectors)


def line(ax: matplotlib.axes.Axes, gid: str) -> np.ndarray:
    """The points of the drawn line of that name."""
    (found,) = [a for a in ax.lines if a.get_gid() == gid]
    return np.asarray(found.get_xydata())


@pytest.mark.parametrize("case", CASES)
def test_lines_are_where_their_velocity_says(case: str) -> None:
    K, v, mu = CASES[case]
    ax = impulse_space(K, v, mu, laws=()).axes[0]
    after = {gid: v + line(ax, gid) @ K for gid in (a.get_gid() for a in ax.lines) if gid and gid != "point"}
    np.testing.assert_allclose(after["line of sticking"][:, 0], 0, atol=10 * ROUND_OFF)
    np.testing.assert_allclose(after["line of maximum compression"][:, 1], 0, atol=10 * ROUND_OFF)
    np.testing.assert_allclose(after["rebound at approach speed ($e = 1$)"][:, 1], -v[1], atol=10 * ROUND_OFF)
    energies = np.einsum("ni,ni->n", after["ellipse"], np.linalg.solve(K, after["ellipse"].T).T)
    np.testing.assert_allclose(energies, v @ np.linalg.solve(K, v), rtol=10 * ROUND_OFF)


def test_sticking_and_compression_lines_cross_at_the_labelled_point() -> None:
    K, v, mu = GENERIC
    ax = impulse_space(K, v, mu, laws=()).axes[0]
    sticking = -np.linalg.solve(K, v)
    for gid in ("line of sticking", "line of maximum compression"):
        one, other = line(ax, gid)[[0, -1]] - sticking
        np.testing.assert_allclose(one / np.linalg.norm(one), -other / np.linalg.norm(other), atol=ROUND_OFF)
    points = [np.asarray(a.get_xydata())[0] for a in ax.lines if a.get_gid() == "point"]
    np.testing.assert_allclose(points, [[0, 1 / 1.2], [0, 2 / 1.2], sticking], atol=ROUND_OFF)
    assert [a.get_text() for a in ax.texts] == ["$P_I$", "$2P_I$", "$P_{II}$"]


@pytest.mark.parametrize("case", CASES)
def test_permissible_region_is_permissible_and_whole(case: str) -> None:
    K, v, mu = CASES[case]
    polygon = permissible_region(K, v, mu)
    W, at, corners = flat(K, v, polygon)
    assert min(float(margin.min()) for margin in permissible(W, at, corners, mu)) > -ROUND_OFF * max(1, mu)
    low, high = polygon.min(0) - 0.1, polygon.max(0) + 0.1
    points = np.random.default_rng(0).uniform(low, high, size=(2000, 2))
    W, at, impulses = flat(K, v, points)
    inside = np.min([np.asarray(margin) for margin in permissible(W, at, impulses, mu)], axis=0)
    sure = np.abs(inside) > CHORD
    assert 100 < (inside[sure] > 0).sum() < 1900
    np.testing.assert_array_equal(Path(polygon).contains_points(points)[sure], inside[sure] > 0)


@pytest.mark.parametrize("case", CASES)
def test_shaded_region_is_what_chatterjee_and_ruina_reach(case: str) -> None:
    K, v, mu = CASES[case]
    e, e_t = np.random.default_rng(1).uniform([0, -1], [1, 1], size=(500, 2)).T
    impact = plot_space.jitted_solve(*flat(K, v), mu, e, law=REGION, tangential_restitution=e_t)
    points = np.asarray(impact.impulse)[:, [0, 2]]
    fill = [a for a in impulse_space(K, v, mu, laws=(REGION,)).axes[0].patches if a.get_gid() == REGION]
    outline = Path(fill[0].get_xy())
    # Either orientation of the outline: the radius widens one of them.
    assert (outline.contains_points(points, radius=1e-5) | outline.contains_points(points, radius=-1e-5)).all()
    assert np.asarray(permissible(*flat(K, v, fill[0].get_xy()), mu).dissipation).min() > -ROUND_OFF * max(1, mu)


def test_curve_of_poisson_is_the_planar_closed_form() -> None:
    curve = line(impulse_space(*GENERIC, laws=("poisson",)).axes[0], "poisson")
    exact = solve_planar(*GENERIC, np.linspace(0, 1, len(curve)), law="poisson").impulse
    np.testing.assert_allclose(curve, exact, atol=STEPPED)


@pytest.mark.parametrize("case", CASES)
def test_curve_of_whittaker_is_the_construction_of_section_4_2_2(case: str) -> None:
    K, v, mu = CASES[case]
    curve = line(impulse_space(K, v, mu, laws=("whittaker",)).axes[0], "whittaker")
    for e, impulse in zip(np.linspace(0, 1, len(curve)), curve, strict=True):
        drop = -(1 + e) * v[1]
        sticks = np.linalg.solve(K, [-v[0], drop])
        right, left = (np.array([t, 1]) * drop / (K[1, 0] * t + K[1, 1]) for t in (mu, -mu))
        expected = right if sticks[0] > mu * sticks[1] else left if sticks[0] < -mu * sticks[1] else sticks
        np.testing.assert_allclose(impulse, expected, atol=STEPPED, err_msg=f"{case}, e = {e}")


def test_lanes_that_are_not_ok_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = plot_space.jitted_solve

    def spoiled(*arguments: object, **options: object) -> Impact:
        impact = usual(*arguments, **options)
        lanes = np.arange(impact.outcome.size) < 100 if impact.outcome.ndim else False
        return impact._replace(outcome=np.where(lanes, Outcome.OUTSIDE, impact.outcome))

    whole = reached(*GENERIC, "whittaker")
    monkeypatch.setattr(plot_space, "jitted_solve", spoiled)
    curve = line(impulse_space(*GENERIC, laws=("whittaker",)).axes[0], "whittaker")
    assert np.isnan(curve[:100]).all()
    np.testing.assert_array_equal(curve[100:], whole[100:])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((np.eye(3), GENERIC[1], 0.5), r"inverse_inertia has shape \(3, 3\)"),
        ((GENERIC[0], np.ones(3), 0.5), r"velocity has shape \(3,\)"),
        ((GENERIC[0], GENERIC[1], [0.5, 0.6]), r"friction has shape \(2,\)"),
        ((GENERIC[0], -GENERIC[1], 0.5), "do not approach"),
        ((-GENERIC[0], GENERIC[1], 0.5), "not valid"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_sentence(given: tuple, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        impulse_space(*given)


@pytest.mark.parametrize("law", ["composite", "bilinear", "routh"])
def test_laws_without_a_place_are_refused_by_name(law: str) -> None:
    with pytest.raises(ValueError, match=law):
        impulse_space(*GENERIC, laws=(law,))
