"""Small versions of the synthetic experiments: the fit reaches the Cramer-Rao bound, and its intervals cover.

Chatterjee & Ruina's law, which compiles in a second; the machinery is the same for every law.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments" / "identification"))

import synthetic

from jimpact.identify import Rebounds, fit
from jimpact.identify.network import fit_network

LAW = {"law": "chatterjee_ruina", "tangential_restitution": 0.2}
REPEATS, MANY = 80, 1100
SPREAD = 3.5 / np.sqrt(2 * REPEATS)  # 3.5 standard deviations of a root mean square of so many normal errors
MISSED = 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / REPEATS)  # of intervals of 95 %


@pytest.fixture(scope="module")
def efficiency() -> dict[str, float]:
    return synthetic.efficiency(REPEATS, 60, 0.03, 0, **LAW)


@pytest.mark.parametrize("name", synthetic.NAMES)
def test_errors_are_those_of_the_cramer_rao_bound(efficiency: dict[str, float], name: str) -> None:
    assert abs(efficiency[f"{name}: error / bound"] - 1) < SPREAD


@pytest.mark.parametrize("name", synthetic.NAMES)
def test_intervals_of_95_percent_cover_the_truth(efficiency: dict[str, float], name: str) -> None:
    assert efficiency[f"{name}: coverage"] > 1 - MISSED


def test_friction_is_never_told_where_every_impact_sticks() -> None:
    assert synthetic.stick(10, 60, 0.03, 0, **LAW)["not identifiable"] == 1


@pytest.mark.parametrize(("friction", "slip", "told"), [(0.25, 1.0, True), (3.0, 0.1, False)], ids=["slip", "stick"])
def test_of_many_impacts_a_sample_gives_the_same_verdict(friction: float, slip: float, told: bool) -> None:
    """More impacts than are explored: starts agree on the sample, and what it leaves open is asked of all."""
    rng = np.random.default_rng(0)
    rebounds = synthetic.noisy(
        *synthetic.block(rng, MANY, slip), {"friction": friction, "restitution": 0.6}, 0.03, rng, **LAW
    )
    found = fit(rebounds, law=LAW["law"], fixed={"tangential_restitution": 0.2}, starts=8)
    assert bool(found.identifiable["friction"]) == told and found.identifiable["restitution"]
    assert found.agreed > 1 or not told  # where impacts stick there are plateaus


def test_a_network_learns_restitution_that_falls_with_speed() -> None:
    """Held-out impacts are predicted nearly to the noise, and restitution follows its true curve."""
    rng = np.random.default_rng(0)
    W, v = synthetic.block(rng, 400)
    truth = {"friction": jnp.full(400, 0.25), "restitution": 0.8 * (-v[:, 2]) ** -0.4}
    rebounds = synthetic.noisy(W, v, truth, 0.03, rng, **LAW)
    found = fit_network(
        rebounds, law=LAW["law"], fixed={"tangential_restitution": 0.2}, hidden=(8,), steps=200, learning_rate=0.03
    )
    assert found.held_out.min() < 1.3 < found.held_out[0] / 10  # 1 is the noise
    error = np.asarray(found.coefficients(rebounds)["restitution"] - truth["restitution"])
    assert np.sqrt(np.mean(error**2)) < 0.04


def test_a_network_is_refused_without_something_to_hold_out() -> None:
    one = jax.tree.map(jnp.asarray, synthetic.block(np.random.default_rng(0), 1))
    with pytest.raises(ValueError, match="group"):
        fit_network(Rebounds.from_contact(*one, one[1], 0.01), law="whittaker", steps=1)
