"""Figures: what is drawn is what was computed, and files appear whole."""

import jax
import matplotlib

jax.config.update("jax_enable_x64", True)
matplotlib.use("Agg")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from jimpact import invariant_directions  # noqa: E402
from jimpact.plotting import impact as plot  # noqa: E402

ON_LINE = 1e-9  # x the extent of the path: round-off of an interpolation

TURNING = [[11.5984, -0.910367, 2.44236], [-0.910367, 9.90134, 1.95747], [2.44236, 1.95747, 2.59042]]
JIA = (np.array(TURNING), np.array([-0.2619763355641, 0.38632872671081003, -0.07717446039236382]), 0.8, 0.95)
STEEP = np.array([[20.0, -23.0, 4.0], [-23.0, 31.0, -7.0], [4.0, -7.0, 4.0]])
BABER = (STEEP, np.array([630.0, -780.0, -0.22]), 0.5, 0.9)
SPHERE = (np.diag([3.5, 3.5, 1.0]), np.array([1.0, 0.5, -1.0]), 0.3, 0.5)
CASES = {"jia_wang": JIA, "baber": BABER, "sphere": SPHERE}


def drawn(ax, gid):
    return [artist for artist in (*ax.lines, *ax.texts) if artist.get_gid() == gid]


def gap(point, path):
    """Distance of a point from a polyline, over the extent of the polyline."""
    a, b = path[:-1], path[1:]
    length = np.maximum(((b - a) ** 2).sum(-1), 1e-300)
    share = np.clip(((point - a) * (b - a)).sum(-1) / length, 0, 1)
    distance = np.linalg.norm(a + share[:, None] * (b - a) - point, axis=-1).min()
    return distance / np.ptp(path, axis=0).max()


@pytest.mark.parametrize("case", CASES)
def test_hodograph_draws_every_invariant_direction_once(case):
    W, v, mu, e = CASES[case]
    directions, rates = (np.asarray(a) for a in invariant_directions(W, mu))
    there = np.isfinite(directions).all(-1)
    rays = drawn(plot.hodograph(W, v, mu, e).axes[0], "ray")
    assert len(rays) == there.sum()
    for ray, s, rate in zip(rays, directions[there], rates[there], strict=True):
        tip = ray.get_xydata()[-1]
        np.testing.assert_allclose(tip / np.linalg.norm(tip), s, atol=ON_LINE)
        assert ray.get_linestyle() == ("--" if rate > 0 else "-")


@pytest.mark.parametrize("case", CASES)
def test_event_marks_sit_on_the_path(case):
    fig = plot.single_impact(*CASES[case])
    for ax in fig.axes:
        if hasattr(ax, "get_zlim"):
            path = np.stack(drawn(ax, "path")[0].get_data_3d(), -1)
            marks = [np.ravel(mark.get_data_3d()) for mark in drawn(ax, "event")]
        else:
            path = drawn(ax, "path")[0].get_xydata()
            marks = [mark.get_xydata()[0] for mark in drawn(ax, "event")]
        assert marks
        assert max(gap(mark, path) for mark in marks) < ON_LINE


@pytest.mark.parametrize(("case", "letters"), [("jia_wang", "clsr"), ("baber", "cdcr"), ("sphere", "csr")])
def test_events_are_labelled_in_order(case, letters):
    track = plot.follow(*CASES[case])
    assert "".join(letter for letter, _ in track.events if case != "sphere" or letter != "l") == letters
    upper = plot.history(*CASES[case]).axes[0]
    labels = "".join(text.get_text() for text in drawn(upper, "label")).replace(", ", "")
    assert labels == "".join(letter for letter, _ in track.events)


def test_slip_is_zero_where_its_end_is_marked():
    track = plot.follow(*JIA)
    p = dict(track.events)["s"]
    np.testing.assert_array_equal(track.at(track.sliding_velocity, p), 0)
    assert (np.diff(track.normal_impulse) > 0).all()


def test_path_of_the_impulse_ends_on_the_line_of_sticking():
    ax = plot.impulse_path(*JIA).axes[0]
    line = np.stack(drawn(ax, "sticking")[0].get_data_3d(), -1)
    path = np.stack(drawn(ax, "path")[0].get_data_3d(), -1)
    assert gap(path[-1], line) < ON_LINE


def test_hodograph_of_several_starts_has_a_path_and_a_start_each():
    starts = np.array([[0.3, 0.1, -0.1], [0.2, -0.3, -0.1], [-0.3, -0.2, -0.1]])
    ax = plot.hodograph(JIA[0], starts, 0.8, 0.95).axes[0]
    assert len(drawn(ax, "path")) == len(drawn(ax, "start")) == 3
    assert ax.get_aspect() == 1
    np.testing.assert_allclose([mark.get_xydata()[0] for mark in drawn(ax, "start")], starts[:, :2])


def test_labels_of_the_axes_have_units():
    for ax in plot.single_impact(*JIA).axes:
        assert ax.get_ylabel().endswith(("(m/s)", "(N s)", "(J)"))


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_saved_file_is_whole_and_alone(tmp_path, suffix):
    plot.save(plot.single_impact(*JIA, title=r"$ \notmath <b>"), tmp_path / f"a.{suffix}")
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{suffix}"]
    assert (tmp_path / f"a.{suffix}").stat().st_size > 10_000


def test_separating_bodies_are_refused_with_a_sentence():
    with pytest.raises(ValueError, match="do not approach"):
        plot.history(JIA[0], np.array([0.1, 0.0, 1.0]), 0.8, 0.95)
