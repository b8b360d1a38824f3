"""The command `jimpact simulate`, its files and its sentences."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jimpact
from jimpact.cli.main import main
from jimpact.plotting.animated_page import animation
from jimpact.schemas.config import ConfigError
from jimpact.schemas.simulation import FlightScene, load_flight

ROOT = Path(__file__).resolve().parents[2]
BALL = """
name = "a <b> ball"
[body]
shape = "sphere"
mass = 0.2
radius = 0.03
[start]
position = [0.0, 0.0, 1.0]
[[plane]]
normal = [0.0, 0.0, 2.0]
friction = 0.3
restitution = 0.5
[run]
impacts = 30
[options]
law = "chatterjee_ruina"
tangential_restitution = 0.0
"""


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_ball_from_a_file_comes_to_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", written(tmp_path / "ball.toml", BALL), "--json", "--out", str(tmp_path / "out")]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["ending"] == "RESTING"
    np.testing.assert_allclose(result["bounces"]["time"][0], np.sqrt(2 * 0.97 / 9.81), rtol=1e-12)
    assert json.loads((tmp_path / "out" / "run.json").read_text()) == result
    page = (tmp_path / "out" / "run.html").read_text()
    assert "a &lt;b&gt; ball" in page and "a <b> ball" not in page
    assert "http" not in page  # needs nothing but itself


def test_the_table_names_every_impact_and_the_ending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", written(tmp_path / "ball.toml", BALL)]) == 0
    shown = capsys.readouterr().out
    assert "RESTING" in shown and "0.4447" in shown


MISTAKES: dict[str, tuple[str, str, str]] = {
    "shape": ('"sphere"', '"cone"', "body.shape"),
    "radius": ("radius = 0.03", "radius = 0.0", "above 0"),
    "no radius": ("radius = 0.03", "", "needs radius"),
    "size of a sphere": ("radius = 0.03", "radius = 0.03\nsize = [1.0, 1.0, 1.0]", "has no size"),
    "mass": ("mass = 0.2", "mass = 0.0", "body.mass"),
    "restitution": ("restitution = 0.5", "restitution = 1.5", "restitution: pass a number of at most 1"),
    "normal": ("[0.0, 0.0, 2.0]", "[0.0, 0.0, 0.0]", "must not be zero"),
    "quaternion": (
        "position = [0.0, 0.0, 1.0]",
        "position = [0.0, 0.0, 1.0]\norientation = [1.0, 1.0, 0.0, 0.0]",
        "length 1.414",
    ),
    "inside": ("[0.0, 0.0, 1.0]", "[0.0, 0.0, 0.01]", "inside a plane"),
    "unknown key": ("[run]", "[run]\nwind = 1.0", "unknown key"),
    "impacts": ("impacts = 30", "impacts = 0", "run.impacts"),
    "one plane": ("[[plane]]", "[plane]", "plane: write [[plane]], once for each"),
    "no plane": (BALL[BALL.index("[[plane]]") : BALL.index("[run]")], "plane = []\n", "plane: pass at least 1"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_gets_one_sentence(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, sentence = MISTAKES[case]
    text = BALL.replace(old, new, 1)
    if case == "no plane":
        text = new + text.replace(new, "")
    assert main(["simulate", written(tmp_path / "bad.toml", text)]) == 2
    error = capsys.readouterr().err.removeprefix("jimpact: compiling and flying ...\n")
    assert sentence in error and error.count("\n") == 1, error


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("tumbling_*.toml")), ids=lambda p: p.stem)
def test_the_flight_scenes_of_the_project_are_valid(path: Path) -> None:
    assert isinstance(load_flight(path), FlightScene)


SOLIDS: dict[str, tuple[str, Any]] = {
    "box": ('shape = "box"\nmass = 3.0\nsize = [1.0, 2.0, 3.0]', np.array([13, 10, 5]) * 3 / 12),
    "ellipsoid": ('shape = "ellipsoid"\nmass = 5.0\nsemi_axes = [1.0, 2.0, 3.0]', [13, 10, 5]),
    "sphere": ('shape = "sphere"\nmass = 5.0\nradius = 2.0', [8, 8, 8]),
}


@pytest.mark.parametrize("shape", SOLIDS)
def test_inertia_of_a_solid_is_known(shape: str, tmp_path: Path) -> None:
    old = BALL[BALL.index('shape = "sphere"') : BALL.index("[start]")]
    text = BALL.replace(old, SOLIDS[shape][0] + "\n")
    solid = load_flight(written(tmp_path / "solid.toml", text)).body.solid()
    np.testing.assert_allclose(solid.inertia, np.diag(SOLIDS[shape][1]), rtol=1e-14)


def test_a_hull_needs_an_inertia(tmp_path: Path) -> None:
    text = BALL.replace('shape = "sphere"', 'shape = "hull"\npoints = [[0.0, 0.0, 0.1]]')
    with pytest.raises(ConfigError, match="needs inertia"):
        load_flight(written(tmp_path / "points.toml", text))


def test_of_a_batch_one_lane_is_shown() -> None:
    ball = jimpact.Solid(0.2, 0.4 * 0.2 * 0.03**2 * np.eye(3), jimpact.Sphere(0.03))
    start = jimpact.Motion(np.array([[0.0, 0, 1], [0, 0, 2], [0, 0, 0]]), np.eye(4)[0], np.zeros(3), np.zeros(3))
    floor = jimpact.Planes(np.array([[0.0, 0.0, 1.0]]), np.zeros(1), 0.3, 0.5)
    run = jimpact.simulate(ball, start, floor, impacts=3, law="chatterjee_ruina", tangential_restitution=0.0)
    assert '"impact' not in animation(run, lane=1) and "const scene" in animation(run, lane=1)
    with pytest.raises(ValueError, match="pass lane="):
        animation(run)
    with pytest.raises(ValueError, match="OVERLAPPING"):
        animation(run, lane=2)
