"""Chatterjee & Ruina: the baselines in NumPy against closed forms, and configurations that are refused."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

jax.config.update("jax_enable_x64", True)
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.chatterjee_ruina import PAPER, baselines, permissible, populations, scenes, sequence  # noqa: E402
from experiments.chatterjee_ruina.forms import Cut, Material, Population, Scene  # noqa: E402
from jimpact.schemas.config import ConfigError, check, read  # noqa: E402

ROUND = 1e-9
K = [[2.0, 1.1], [1.1, 1.2]]
SCENE = {"name": "x", "inverse_inertia": K, "velocity": [-1.4, -1.0], "friction": 0.4, "laws": []}
RANGES = {"mass": (0.5, 4.0), "half_side": (0.2, 1.0), "arm": (0.1, 1.0), "friction": (0.05, 1.5), "grip": (1.05, 3.0)}
POPULATION = Population(seed=0, count=300, least_approach=0.01, least_mobility=0.1, **RANGES)
IMPACTS = populations.joined(POPULATION)


def test_listing_is_the_bilinear_law_for_spheres() -> None:
    """Equation (9)."""
    balls = populations.spheres(IMPACTS)
    P = baselines.collrule(np.linalg.inv(balls.W), balls.v, balls.mu, balls.e, balls.e_t)
    p = -(1 + balls.e) * balls.v[:, 2] / balls.W[:, 2, 2]
    slip = np.linalg.norm(balls.v[:, :2], axis=-1)
    t = np.minimum(balls.mu * p, (1 + balls.e_t) * slip / balls.W[:, 0, 0])
    np.testing.assert_allclose(P, np.column_stack([-balls.v[:, :2] * (t / slip)[:, None], p]), atol=ROUND)


@pytest.mark.parametrize("law", [baselines.routh, baselines.whittaker])
def test_constructions_without_coupling(law) -> None:
    flat = populations.planar(populations.spheres(IMPACTS))
    P = law(flat.W[:, ::2, ::2], flat.v[:, ::2], flat.mu, flat.e)
    p = -(1 + flat.e) * flat.v[:, 2] / flat.W[:, 2, 2]
    t = np.minimum(flat.mu * p, np.abs(flat.v[:, 0]) / flat.W[:, 0, 0])
    np.testing.assert_allclose(P, np.stack([-np.sign(flat.v[:, 0]) * t, p], -1), atol=ROUND)


def test_routh_keeps_the_ratio_of_poisson() -> None:
    flat = populations.planar(IMPACTS)
    K, v = flat.W[:, ::2, ::2], flat.v[:, ::2]
    compression, whole = (baselines.routh(K, v, flat.mu, e) for e in (0 * flat.e, flat.e))
    np.testing.assert_allclose(whole[:, 1], (1 + flat.e) * compression[:, 1], rtol=ROUND)
    np.testing.assert_allclose(v[:, 1] + (K[:, 1] * compression).sum(-1), 0, atol=ROUND)


def test_rays_end_where_one_condition_is_just_met() -> None:
    one, _ = baselines.plastic(np.linalg.inv(IMPACTS.W), IMPACTS.v)
    ray = np.random.default_rng(0).normal(size=one.shape)
    P = 1.5 * one + permissible.reach(IMPACTS, 1.5 * one, ray)[:, None] * ray
    after = IMPACTS.v + np.einsum("nij,nj->ni", IMPACTS.W, P)
    lost = 1 - baselines.energy(IMPACTS.W, after) / baselines.energy(IMPACTS.W, IMPACTS.v)
    margins = np.stack([lost, after[:, 2], IMPACTS.mu * P[:, 2] - np.hypot(P[:, 0], P[:, 1])])
    np.testing.assert_allclose(margins.min(0), 0, atol=ROUND)


def test_sequence_takes_the_fastest_contact_first_and_keeps_the_other_speed() -> None:
    W = np.zeros((2, 2, 3, 3))
    W[0, 0] = W[1, 1] = np.eye(3)
    W[0, 1] = W[1, 0] = np.diag([0.0, 0.0, -0.5])
    material = Material(friction=0.0, restitution=0.0, tangential_restitution=0.0)
    v, energy = sequence.in_sequence(W, np.array([[0.0, 0, -1], [0.0, 0, -2]]), material, 1e-12, 1)
    np.testing.assert_allclose(v[:, 2], [-2, 0])
    np.testing.assert_allclose(energy, [2.5, 2.0])


def test_scenes_of_any_size_and_a_hinge_fit_in_one_program() -> None:
    """A dead central impact of two equal balls, and a free rod that is stopped at one end: known speeds after."""
    x, rest = np.array([1.0, 0, 0]), {"friction": 0.0, "restitution": 0.0, "tangential": 0.0}
    balls = scenes.jacobian(np.array([-x, x]), [(0, 1, 0 * x, -x)])
    meet = scenes.Lane(balls, np.ones(12), np.concatenate([x, np.zeros(9)]), **rest)
    ends = scenes.jacobian(np.zeros((1, 3)), [(0, None, x, -x), (0, None, -x, -x)])
    mobile = np.array([1.0, 1, 1, 3, 3, 3])  # length 2, mass 1
    stop = scenes.Lane(ends, mobile, np.array([0.0, 1, 0, 0, 0, 0]), **rest, hinged=True)
    found = scenes.resolve([meet, stop], Cut(most=8, decay=1e-12, ended=1e-9))
    np.testing.assert_allclose(meet.after(found[0].impulse)[[0, 6]], 0.5, atol=ROUND)
    np.testing.assert_allclose(stop.after(found[1].impulse)[[1, 5]], 0.75, atol=ROUND)


@pytest.mark.parametrize("part", PAPER.parts, ids=lambda part: part.key)
def test_configurations_are_read(part) -> None:
    read(ROOT / "configs" / part.config, part.form)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mass": 1.0}, "unknown key"),
        ({"inverse_inertia": [[1.0, 2.0], [2.0, 1.0]]}, "positive definite"),
        ({"velocity": [1.0, 1.0]}, "do not approach"),
        ({"friction": -0.1}, "friction"),
        ({"laws": ["routh"]}, "laws"),
    ],
)
def test_a_scene_that_cannot_be_is_refused(change: dict, said: str) -> None:
    check(SCENE, Scene, "scene.toml")
    with pytest.raises(ConfigError, match=said):
        check(SCENE | change, Scene, "scene.toml")
