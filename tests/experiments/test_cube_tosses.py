"""The experiment on measured impacts of a cube: its loader and its score."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments.cube_tosses import data

COLUMNS = [f"{n}_{a}" for n in ("r", "v_pre", "w_pre", "v_post", "w_post") for a in "xyz"]
SIGMAS = [f"sig_{kind}_{when}" for kind in "vw" for when in ("pre", "post")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three impacts: the second approaches too slowly, the third by its spin alone."""
    rows = np.zeros((3, 1 + len(COLUMNS) + len(SIGMAS)))
    rows[:, 0] = [4, 4, 6]
    column = {name: 1 + i for i, name in enumerate(COLUMNS + SIGMAS)}
    rows[:, column["r_x"]] = 0.05
    rows[:, column["v_pre_z"]] = [-1, -0.4, 0]
    rows[2, column["w_pre_y"]] = 12  # times the arm: 0.6 m/s downward
    rows[:, column["v_post_z"]] = [0.3, 0.1, 0.2]
    for name, value in zip(SIGMAS, (3, 4, 0.6, 0.8), strict=True):
        rows[:, column[name]] = value
    path = tmp_path / "contactnets_cube" / "events.csv"
    path.parent.mkdir()
    np.savetxt(path, rows, delimiter=",", header=",".join(["toss", *COLUMNS, *SIGMAS]), comments="")
    return tmp_path


def test_slow_impacts_are_left_out(folder: Path) -> None:
    tosses = data.load(folder)
    assert tosses is not None and tosses.toss.tolist() == [4, 6]
    np.testing.assert_allclose(tosses.noise, np.tile([5, 5, 5, 1, 1, 1], (2, 1)))


def test_scores_are_root_mean_squares(folder: Path) -> None:
    tosses = data.load(folder)
    assert tosses is not None
    wrong = tosses.after + np.array([[3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 10]])
    found = data.score(tosses, wrong, gyration=0.1)
    np.testing.assert_allclose(found[:3], [np.sqrt(13), np.sqrt(12.5), np.sqrt(50)])
    np.testing.assert_allclose(found.sigmas, np.sqrt((0.6**2 + 0.8**2 + 10**2) / 12))
    assert data.score(tosses, tosses.after, 0.1).speed == 0


def test_missing_data_are_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert data.load(tmp_path) is None
    assert "set JIMPACT_DATA" in capsys.readouterr().out


def test_measured_impacts() -> None:
    tosses = data.load()
    if tosses is None:
        pytest.skip("no measured impacts: set JIMPACT_DATA to the folder of the data")
    one, other = data.halves(tosses)
    assert len(one.toss) + len(other.toss) == len(tosses.toss) > 200
    assert not set(one.toss) & set(other.toss)
    made = data.rebounds(one, 0.00097)
    assert (np.asarray(made.velocity)[:, 2] < -data.SLOWEST).all()
