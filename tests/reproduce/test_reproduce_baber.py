"""The baselines of Baber's paper against closed forms and each other, and configurations that must be refused."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jimpact.reproduce import numbers
from jimpact.reproduce.findings import judged
from jimpact.schemas.config import ConfigError, check, read_text

jax.config.update("jax_enable_x64", True)
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.baber import PAPER, algorithm, bodies, crowd, mirtich, planar, rays  # noqa: E402

ROUND = 1e-12
EULER = 2e-3  # 20000 steps of first order, in units of the slip and the approach
RAYS_K = np.array([[20.0, 0, 1], [0, 4, 6], [1, 6, 10]])
# K, velocity, friction, restitution: one of each branch of the planar algorithm.
BRANCHES = {
    "3 8": ([[1.0, 0.8], [0.8, 2.0]], [0.5, -1.0], 0.3, 0.7),
    "3a 6": ([[2.0, 0.3], [0.3, 1.0]], [0.0, -1.0], 0.5, 0.7),
    "3a 7": ([[1.0, 0.8], [0.8, 2.0]], [0.0, -1.0], 0.3, 0.7),
    "4b 6": ([[2.0, 0.3], [0.3, 1.0]], [0.4, -1.0], 0.6, 0.7),
    "4b 7": ([[1.0, 0.8], [0.8, 2.0]], [-0.3, -1.0], 0.3, 0.7),
    "4c 6": ([[2.0, 0.3], [0.3, 1.0]], [1.6, -1.0], 0.6, 0.9),
    "4c 7": ([[1.0, 0.8], [0.8, 2.0]], [-0.7, -1.0], 0.3, 0.9),
    "4d": ([[2.0, 0.3], [0.3, 1.0]], [9.0, -1.0], 0.6, 0.9),
}


@pytest.mark.parametrize("steps", BRANCHES)
@pytest.mark.parametrize("side", [1, -1])
def test_planar_branches_agree_with_small_steps_in_space(steps, side):
    K, u, mu, e = (np.array(a) for a in BRANCHES[steps])
    K, u = K * np.array([[1, side], [side, 1]]), u * np.array([side, 1])
    W = np.array([[K[0, 0], 0, K[0, 1]], [0, K[0, 0], 0], [K[1, 0], 0, K[1, 1]]])
    end, taken = planar.end_velocity(K, u, float(mu), float(e))
    slow = algorithm.integrate(W, np.array([u[0], 0, u[1]]), float(mu), float(e), 1e-4)
    assert taken == steps
    assert np.abs(slow.velocity[[0, 2]] - end).max() < EULER, steps


def test_printed_test_3c_stops_at_once_without_restitution():
    u = np.array([0.3, -0.9, -1.5])
    early, late = (algorithm.integrate(RAYS_K, u, 0.7, 0.0, 1e-3, separated) for separated in (False, True))
    assert early.steps == 1 and early.velocity[2] < -1
    assert late.velocity[2] == pytest.approx(0, abs=1e-9)


def test_rays_of_section_3_7_keep_their_direction_and_one_diverges():
    mu = np.asarray(0.7)
    angles = rays.ray_angles(RAYS_K, mu)
    s = np.stack([np.cos(angles), np.sin(angles)], -1)
    force = RAYS_K[:2, 2] - mu * s @ RAYS_K[:2, :2]
    assert np.round(np.degrees(angles)).tolist() == [87, 209, 281, 323]
    assert np.abs(s[:, 0] * force[:, 1] - s[:, 1] * force[:, 0]).max() < 1e-10
    rates = crowd.polar(RAYS_K, mu, s)[1]
    assert (rates > 0).tolist() == [True, False, False, False]
    roots = rays.real_roots(rays.growth_quartic(RAYS_K, mu))
    assert roots[roots > 0] == pytest.approx(rates[:1], rel=1e-9)


def test_normals_are_rotated_to_z_also_on_the_axis():
    f = np.array([[0, 0, 1.0], [0, 0, -1.0], [1e-12, 0, -1.0], [0.6, 0, 0.8], [0.48, -0.6, 0.64]])
    R = bodies.to_normal(f)
    assert max(np.abs(R @ f[:, :, None] - [[0], [0], [1]]).max(), np.abs(np.linalg.det(R) - 1).max()) < ROUND


def test_one_compression_needs_no_other_restitution():
    e = np.array([0.0, 0.4, 1.0])
    assert np.abs(mirtich.effective(e, -np.ones(3), -np.ones(3)) - e).max() < ROUND
    assert (mirtich.effective(e[:2], -np.ones(2), -2 * np.ones(2)) > e[:2]).all()


@pytest.mark.parametrize("part", PAPER.parts, ids=lambda part: part.key)
def test_configurations_are_read_and_unknown_keys_refused(part):
    data = read_text(ROOT / "configs" / part.config)
    check(data, part.form, "here")
    with pytest.raises(ConfigError, match="unknown key"):
        check({**data, "colour": 1}, part.form, "here")


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("body", "mass", -1.0),
        ("impact", "restitution", 1.1),
        ("impact", "velocity", [1, 2]),
        ("body", "arm", [1, 2]),
    ],
)
def test_impossible_values_are_refused(table, key, value):
    data = read_text(ROOT / "configs" / "baber" / "example.toml")
    data[table] = {**data[table], key: value}
    with pytest.raises(ConfigError, match=key):
        check(data, PAPER.parts[0].form, "here")


def test_printed_numbers_that_are_no_numbers_are_refused():
    row = PAPER.rows["example"]["B-example"]
    computed = {row.id: numbers([14.596, 29.831, 55.981, 22.510])}
    assert judged({row.id: row}, computed)[0].verdict == "agrees"
    with pytest.raises(ValueError, match="could not convert"):
        judged({row.id: row.model_copy(update={"printed": [["14.6", "x", "56.0"], "22.5"]})}, computed)
