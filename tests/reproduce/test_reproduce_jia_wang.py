"""Pieces of `experiments/jia_wang`: solids, reconstructed velocity, Algorithm 1, closed form, bad configurations."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

jax.config.update("jax_enable_x64", True)
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.jia_wang import forms  # noqa: E402
from experiments.jia_wang.algorithm1 import Fixed, algorithm1, centrifugal  # noqa: E402
from experiments.jia_wang.bodies import inverse_inertia, plain_inverse_inertia, reconstructed  # noqa: E402
from experiments.jia_wang.bundles import spread  # noqa: E402
from experiments.jia_wang.flow import flow_of, speed_ratio, sticking_impulse, straight_at, within_angle  # noqa: E402
from experiments.jia_wang.solids import drilled_ball, polyhedron  # noqa: E402
from jimpact.schemas.config import ConfigError, check, read, read_text  # noqa: E402

CONFIGS = ROOT / "configs" / "jia_wang"
CONFIG = read(CONFIGS / "impacts.toml", forms.ImpactsForm)
W = np.array([[11.5984, -0.910367, 2.44236], [-0.910367, 9.90134, 1.95747], [2.44236, 1.95747, 2.59042]])


def test_box_and_ball():
    corners = np.array([[x, y, z] for x in (1, 3) for y in (0, 4) for z in (-1, 5)], float)
    box = polyhedron(corners)
    np.testing.assert_allclose(box.centre, [2, 2, 2], atol=1e-12)
    np.testing.assert_allclose(np.diag(box.inertia(12.0)), [16 + 36, 4 + 36, 4 + 16], rtol=1e-12)
    np.testing.assert_allclose(drilled_ball(2.0, np.ones(3), []).inertia(5.0), 8.0 * np.eye(3), atol=1e-12)
    hole = drilled_ball(1.0, np.zeros(3), [(np.zeros(3), 0.5)])  # removes a cylinder with a cap
    np.testing.assert_allclose(hole.volume, 4 / 3 * np.pi - 2 / 3 * np.pi * (1 - 0.75**1.5), rtol=1e-9)


def test_contact_velocity_is_the_reconstructed_one():
    np.testing.assert_allclose(CONFIG.icosahedron.velocity, reconstructed(CONFIG.icosahedron)[0], atol=1e-11)
    np.testing.assert_array_equal(CONFIG.icosahedron.W, W)
    turned = [np.linalg.qr(np.random.default_rng(k).normal(size=(3, 3)))[0] for k in range(2)]
    plain = plain_inverse_inertia(CONFIG.pin, *turned)
    np.testing.assert_allclose(inverse_inertia(CONFIG.pin, *turned), plain, rtol=1e-12)


@pytest.mark.parametrize("scene", [CONFIG.icosahedron, CONFIG.pin], ids=["icosahedron", "pin"])
@pytest.mark.parametrize("energy", ["before", "after"])
def test_algorithm_1_converges_to_the_reference_by_order_1(scene, energy):
    size, lane = scene.table1.step_fs, [x[None] for x in scene.arrays]
    exact = sticking_impulse(scene)
    runs = [algorithm1(*lane, Fixed(f * size), tolerance=5.8e-3 * f, energy=energy).impulse[0] for f in (1.0, 0.1)]
    first, second = np.linalg.norm(np.array(runs) - exact, axis=-1)
    assert first < 1.2e-2 * np.linalg.norm(exact) and second < 0.2 * first


def test_slip_turns_to_the_centrifugal_direction_as_small_steps_say():
    flow, g, h = flow_of(W, 0.25), np.array([-0.26, 0.39]), 1e-5
    ray, p = centrifugal(W, 0.25), 0.0
    pull = W[:2, 2] - 0.25 * W[:2, :2] @ ray
    np.testing.assert_allclose(pull, np.linalg.norm(pull) * ray, atol=1e-12)
    while abs(ray[0] * g[1] - ray[1] * g[0]) > np.sin(0.1) * np.linalg.norm(g):
        g, p = g + h * (W[:2, 2] - 0.25 * W[:2, :2] @ g / np.linalg.norm(g)), p + h
    found = straight_at(flow, np.array([-0.26, 0.39]), 1.0, [within_angle(ray[None], a) for a in (0.1, 1e-9)])
    np.testing.assert_allclose(found[0][0], p, atol=1e-4)
    assert np.isnan(found[1][0]) and found[0][1] > 0


def test_slip_by_angle_agrees_with_small_steps():
    flow, path = flow_of(W, 0.25), [g := np.array([-0.26, 0.39])]
    for _ in range(400):
        middle = path[-1] + 2.5e-4 * (W[:2, 2] - 0.25 * W[:2, :2] @ path[-1] / np.linalg.norm(path[-1]))
        path.append(path[-1] + 5e-4 * (W[:2, 2] - 0.25 * W[:2, :2] @ middle / np.linalg.norm(middle)))
    slip = np.array(path)
    ratio = speed_ratio(flow, np.unwrap(np.arctan2(slip[:, 1], slip[:, 0])))
    np.testing.assert_allclose(ratio, np.linalg.norm(slip, axis=-1) / np.linalg.norm(g), rtol=1e-6)


def test_starts_are_unit_and_hold_the_directions():
    rays = np.array([[np.cos(a), np.sin(a)] for a in (3.0, -0.5, np.nan, np.nan)])  # more than half a turn apart
    starts = spread(rays, 13)
    angles = np.sort(np.arctan2(starts[:, 1], starts[:, 0]) % (2 * np.pi))
    assert len(starts) == 13 and np.diff(angles).min() > 0.4 and np.isclose(angles, 3.0).any()


@pytest.mark.parametrize(
    "change,sentence",
    [
        (lambda c: c["icosahedron"]["body_2"].update(moments=[0.1, 0.1, 0.3]), "sum of the other two"),
        (lambda c: c["pin"].pop("friction"), "missing"),
        (lambda c: c["pin"]["table1"]["printed"].update(truth_steps="many"), "pass a number as printed"),
    ],
)
def test_bad_configurations_are_refused(change, sentence):
    change(data := read_text(CONFIGS / "impacts.toml"))
    with pytest.raises(ConfigError, match=sentence):
        check(data, forms.ImpactsForm, "impacts.toml")
