"""Morgan's algorithm as written from the text: its equations, orders and misprints; and what its forms refuse."""

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jimpact.schemas.config import ConfigError, check, read, read_text

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.morgan import PAPER  # noqa: E402
from experiments.morgan.algorithm import CORRECTED, Reading, solve_by_text  # noqa: E402
from experiments.morgan.crowd import Crowd, by_text, draw  # noqa: E402
from experiments.morgan.forms import CrowdForm, MotionForm  # noqa: E402
from experiments.morgan.swivel import integrate  # noqa: E402

jax.config.update("jax_enable_x64", True)

ROUND_OFF = 1e-12
INTEGRATION = 1e-9
CONFIGS = ROOT / "configs"
FORMS = {part.config: part.form for part in PAPER.parts}


@pytest.fixture(scope="module")
def crowd() -> Crowd:
    form = read(CONFIGS / "morgan" / "crowd.toml", CrowdForm)
    return draw(form.pendulum.pendulum(), form.sample.model_copy(update={"count": 300}))


def test_impulse_is_the_change_of_momentum_and_lies_in_the_cone(crowd: Crowd) -> None:
    for i, solved in enumerate(by_text(crowd)):
        change = crowd.M[i] @ (solved.u - crowd.u[i])
        np.testing.assert_allclose(change, crowd.J[i].T @ solved.impulse, rtol=ROUND_OFF, atol=ROUND_OFF)
        assert abs(solved.impulse[0]) <= crowd.friction[i] * solved.impulse[1] * (1 + ROUND_OFF)
        assert solved.sticks or solved.frictions[-1] * (crowd.J[i, 0] @ solved.u) <= 0  # friction opposes the slip


def test_normal_work_ends_at_its_share_and_sticking_tips_stay(crowd: Crowd) -> None:
    text = by_text(crowd)
    for i, solved in enumerate(text):
        lowest = min(stop.E for stop in solved.stops)
        assert solved.stops[-1].E / lowest == pytest.approx(1 - crowd.restitution[i] ** 2, abs=ROUND_OFF)
        assert not solved.sticks or abs(crowd.J[i, 0] @ solved.u) < ROUND_OFF
    assert {solved.boxes for solved in text} == {"a-b-e", "a-c-e", "a-c-d-e"}


def test_without_friction_the_normal_velocity_is_reversed_times_e(crowd: Crowd) -> None:
    for M, J, u, e in zip(crowd.M, crowd.J, crowd.u, crowd.restitution, strict=True):
        after = J @ solve_by_text(M, J, u, 0.0, e).u
        assert after[1] == pytest.approx(-e * (J[1] @ u), rel=ROUND_OFF)


@pytest.mark.parametrize("field, value", [("minus", False), ("size", False), ("discard", False), ("work", "inverted")])
def test_every_misprint_matters(crowd: Crowd, field: str, value: Any) -> None:
    reading: Reading = CORRECTED._replace(**{field: value})
    pairs = zip(by_text(crowd, reading), by_text(crowd), strict=True)
    assert any(np.abs(printed.u - solved.u).max() > 1e-3 for printed, solved in pairs)


def test_integration_in_space_gives_the_plane_back(crowd: Crowd) -> None:
    """A third speed that nothing couples to; slip along the first direction."""
    for i, solved in enumerate(by_text(crowd)[:40]):
        if len(solved.frictions) == 2 and not solved.sticks:
            continue
        M, J = np.eye(3), np.eye(3)[[0, 2, 1]]
        M[:2, :2], J[np.ix_([0, 2], [0, 1])], J[1, 2] = crowd.M[i], crowd.J[i], 1.0
        found = integrate(M, J, np.append(crowd.u[i], 0.0), crowd.friction[i], crowd.restitution[i])
        np.testing.assert_allclose(found.u, [*solved.u, 0.0], atol=INTEGRATION * np.abs(crowd.u[i]).max())


@pytest.mark.parametrize("config", FORMS)
def test_configurations_are_read_and_unknown_keys_refused(config: str) -> None:
    read(CONFIGS / config, FORMS[config])
    with pytest.raises(ConfigError, match=r"colour: unknown key"):
        check({**read_text(CONFIGS / config), "colour": 1}, FORMS[config], config)


def test_floor_within_reach_of_the_joint_is_refused() -> None:
    given = read_text(CONFIGS / "morgan" / "motion.toml")
    for floor, sentence in ((-0.9, "the joint between the bars"), (-1.05, "the tip starts below")):
        bad = {**given, "pendulum": {**given["pendulum"], "floor": floor}}
        bad["start"] = {"angles_deg": [-80.0, -10.0], "speeds": [0.0, 0.0]}
        with pytest.raises(ConfigError, match=sentence):
            check(bad, MotionForm, "motion.toml")
