"""Sun & Baruh's rod: geometry, Table 2, corrected equations, and configurations that are refused."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jimpact.schemas.config import ConfigError, check, read, read_text

jax.config.update("jax_enable_x64", True)
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.sun_baruh import PAPER  # noqa: E402
from experiments.sun_baruh.errata import moment_rows, paper_axes, slip_rows  # noqa: E402
from experiments.sun_baruh.forms import MaterialForm, PlaneForm, Rod, SpaceForm  # noqa: E402
from experiments.sun_baruh.material import pieces  # noqa: E402
from experiments.sun_baruh.plane_claims import beside  # noqa: E402
from experiments.sun_baruh.rod import arm, gap, inverse_inertia, planar_inertia  # noqa: E402
from experiments.sun_baruh.table2 import mode_of, printed_needed, ratios_of  # noqa: E402
from experiments.sun_baruh.words import runs  # noqa: E402

CONFIGS = ROOT / "configs"
ROD = Rod(mass=1.0, half_length=2.3, radius=0.5)
ROUND_OFF = 1e-13


@pytest.mark.parametrize("part", PAPER.parts, ids=lambda part: part.key)
def test_configurations_are_read(part):
    read(CONFIGS / part.config, part.form)


@pytest.mark.parametrize(
    "name,form,change,words",
    [
        ("plane", PlaneForm, {"reach_deg": 90.0}, "reach_deg"),
        ("plane", PlaneForm, {"angle": 1.0}, "unknown key"),
        ("plane", PlaneForm, {"rod": {"mass": 1.0, "half_length": -2.3, "radius": 0.5}}, "half_length"),
        ("space", SpaceForm, {"velocity": [0.4, 0.0, 1.0]}, "approach"),
        ("space", SpaceForm, {"maps": []}, "figures 8, 9, 10, 11"),
        ("material", MaterialForm, {"restitution": [0.1, 1.1]}, "restitution"),
        ("plane", PlaneForm, {"coarse": [71, 1]}, "coarse"),
        ("material", MaterialForm, {"limits": {"identical": 0.02}}, "limits"),
        ("material", MaterialForm, {"limits": {"identical": 0.02, "close": 0.05}}, "limits"),
    ],
)
def test_bad_configurations_are_refused(name, form, change, words):
    data = read_text(CONFIGS / "sun_baruh" / f"{name}.toml")
    with pytest.raises(ConfigError, match=words):
        check({**data, **change}, form, name)


def test_arm_is_that_of_two_rotations():
    """(66)-(68): the rod's own axis, turned back by Q1 and Q2."""
    one, two = np.deg2rad(20), np.deg2rad(15)
    Q1 = np.array([[np.cos(one), np.sin(one), 0], [-np.sin(one), np.cos(one), 0], [0, 0, 1]])
    Q2 = np.array([[1, 0, 0], [0, np.cos(two), np.sin(two)], [0, -np.sin(two), np.cos(two)]])
    expected = (Q2 @ Q1).T @ np.array([0, ROD.half_length, 0])
    np.testing.assert_allclose(paper_axes(arm(ROD, 20, 15)), expected, atol=ROUND_OFF)


def test_inverse_inertia_upright_and_in_the_plane():
    W = inverse_inertia(ROD, np.array([0.0, 35.0]), 0.0)
    np.testing.assert_allclose(W[0], np.diag([1 + 1 / ROD.alpha, 1 + 1 / ROD.alpha, 1]), atol=ROUND_OFF)
    np.testing.assert_allclose(W[1][np.ix_([0, 2], [0, 2])], planar_inertia(ROD, 35.0), atol=ROUND_OFF)
    np.testing.assert_allclose(W[1][1, [0, 2]], 0, atol=ROUND_OFF)


def test_printed_r2_changes_82_cells():
    form = read(CONFIGS / "sun_baruh" / "plane.toml", PlaneForm)
    theta, ratio = form.grid(form.coarse)
    ratios = ratios_of(ROD, theta, form.friction, form.restitution)
    right = mode_of(ratio, ratios, np.abs(ratios.needed) <= form.friction)
    printed = mode_of(ratio, ratios, printed_needed(ROD, theta) <= form.friction)
    assert theta.size == 2201 and set(right.ravel().tolist()) == set(range(7))
    assert (right != printed).sum() == 82


def test_corrected_rows_are_minus_the_moment_and_the_contact_velocity():
    rng = np.random.default_rng(0)
    L, F, S = rng.normal(size=3), rng.uniform(0.1, 1, 3), (-1.0, 1.0)
    moment = np.cross(L, [S[0] * F[0], -F[1], S[1] * F[2]])
    np.testing.assert_allclose(moment_rows(L, S, printed=False) @ F, -moment, atol=ROUND_OFF)
    assert np.abs(moment_rows(L, S, printed=True) @ F + moment).max() > 0.1
    v, w = rng.normal(size=(2, 3))
    u = np.concatenate([v, w, np.zeros(3)])
    np.testing.assert_allclose(slip_rows(L) @ u, (v + np.cross(w, L))[[0, 2]], atol=ROUND_OFF)


def test_pieces_pass_through_zero_where_slip_stops():
    still = [(pieces(mode, *np.array([[0.4, 0], [0.1, 0.1], [-0.2, 0.3]])) == 0).all(1).tolist() for mode in range(5)]
    assert still == [[0, 0, 0], [0, 1], [0, 1, 0, 0], [0, 0, 1], [0, 0, 1, 0]]


def test_gaps_runs_and_edges():
    assert gap(np.array(4.0), np.array(5.0)) == gap(np.array(5.0), np.array(4.0)) == pytest.approx(0.2)
    assert runs(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 2, 1])) == "0 up to 0.2, 2 up to 0.3, then 1"
    assert runs(np.array([0.1, 0.2]), np.array([1, 1])) == "1 everywhere"
    kinds = np.array([[0, 0, 1], [0, 2, 1]])
    assert beside(kinds == 0, kinds == 1).tolist() == [[False, True, True], [False, False, False]]
