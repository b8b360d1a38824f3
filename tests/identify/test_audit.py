"""The audit finds mistakes that were put into good data, changes nothing, and accuses nobody without evidence."""

import dataclasses
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact.identify import Rebounds, audit

N, NOISE = 80, 0.02
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"  # beside the project, where there is one
DATA = Path(os.environ.get("JIMPACT_DATA", SHARED))
GYRATION = 0.0192  # m, of the ellipse


@pytest.fixture(scope="module")
def plane() -> Rebounds:
    """A disk with an arm, dropped in the plane."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(-0.6, 0.6, N)
    arm = 0.03 * np.stack([np.sin(angle), -np.cos(angle)], -1)
    before = np.stack([rng.normal(0, 1, N), -rng.uniform(1, 3, N), rng.normal(0, 10, N)], -1)
    first = Rebounds.from_planar(0.05, 2e-5, arm, before, before)
    solve = jax.jit(lambda W, v: jimpact.solve(W, v, 0.3, 0.6, law="chatterjee_ruina", tangential_restitution=0.0))
    impulse = solve(first.inverse_inertia, first.velocity).impulse
    after = before + np.einsum("nki,ni->nk", first.effect, impulse)
    noise = np.array([NOISE, NOISE, NOISE / 0.02])
    return Rebounds.from_planar(
        0.05, 2e-5, arm, before, after + noise * rng.normal(size=after.shape), jnp.asarray(noise)
    )


def changed(rebounds: Rebounds, channel: int, before: float = 1.0, after: float = 1.0) -> Rebounds:
    at = lambda a, factor: a.at[:, channel].multiply(factor)  # noqa: E731
    return dataclasses.replace(
        rebounds, baseline=at(rebounds.baseline, before), observation=at(rebounds.observation, after)
    )


def test_good_data_are_not_accused(plane: Rebounds) -> None:
    found = audit(plane)
    assert not found.suspicions and not len(found.gaining) and not len(found.outliers) and not len(found.pulling)


def test_floor_of_good_data_is_the_noise(plane: Rebounds) -> None:
    """Reduced chi-square of 80 degrees of freedom: 1 to within four standard deviations, 4 sqrt(2 / 80)."""
    found = audit(plane)
    assert found.freedom == N and abs(found.reduced - 1) < 4 * np.sqrt(2 / N)


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_a_flipped_channel_is_found(plane: Rebounds, channel: int) -> None:
    (suspicion,) = audit(changed(plane, channel, -1, -1)).suspicions
    assert plane.channels[channel] in suspicion.mistake and "opposite sign, before and after" in suspicion.mistake


def test_a_flip_of_one_side_is_found(plane: Rebounds) -> None:
    mistakes = [s.mistake for s in audit(changed(plane, 2, before=-1)).suspicions]
    assert any("w before with the opposite sign" in mistake for mistake in mistakes)


def test_degrees_are_found(plane: Rebounds) -> None:
    mistakes = [s.mistake for s in audit(changed(plane, 2, 180 / np.pi, 180 / np.pi)).suspicions]
    assert mistakes == ["w in degrees instead of radians"]


def test_noise_alone_is_not_taken_for_degrees(plane: Rebounds) -> None:
    """Where an impulse hardly turns the body, a smaller unit would shrink what is left, and prove nothing."""
    rng = np.random.default_rng(1)
    before = np.stack([rng.normal(0, 1, N), -rng.uniform(1, 3, N), rng.normal(0, 1, N)], -1)
    after = before * [1, -0.6, 1] + NOISE * rng.normal(size=before.shape)
    heavy = Rebounds.from_planar(0.05, 1.0, np.array([0.001, -0.03]), before, after)
    assert not audit(heavy).suspicions


def test_bad_data_are_named(plane: Rebounds) -> None:
    with pytest.raises(ValueError, match="observation is not finite"):
        audit(dataclasses.replace(plane, observation=plane.observation.at[3].set(jnp.nan)))
    with pytest.raises(ValueError, match="there are no rebounds"):
        audit(plane[:0])


def test_a_swapped_normal_is_found(plane: Rebounds) -> None:
    turned = dataclasses.replace(
        plane, velocity=-plane.velocity, effect=-plane.effect
    )  # as if the normal pointed into the ground
    assert any("normal of the opposite sign" in s.mistake for s in audit(turned).suspicions)


def test_nothing_is_changed(plane: Rebounds) -> None:
    before = jax.tree.map(np.array, plane)
    audit(changed(plane, 0, -1, -1))
    jax.tree.map(np.testing.assert_array_equal, jax.tree.map(np.array, plane), before)


def test_energy_gain_and_outlier_are_pointed_at(plane: Rebounds) -> None:
    bad = dataclasses.replace(plane, observation=plane.observation.at[7, 1].set(9.0).at[11, 2].add(400.0))
    found = audit(bad)
    assert 7 in found.gaining and 11 in found.outliers


def test_contact_velocities_of_flipped_sign_are_found(plane: Rebounds) -> None:
    W, v = plane.inverse_inertia, plane.velocity
    after = v + jnp.einsum("nij,nj->ni", W, audit(plane).floor.impulse)
    good = Rebounds.from_contact(W, v, after, NOISE)
    assert not audit(good).suspicions
    mistakes = [
        s.mistake
        for s in audit(dataclasses.replace(good, observation=good.observation * jnp.array([1, 1, -1]))).suspicions
    ]
    assert any(mistake.startswith("n after with the opposite sign") for mistake in mistakes)


def test_other_things_than_rebounds_are_refused() -> None:
    with pytest.raises(TypeError, match="pass Rebounds"):
        audit(np.ones(3))  # type: ignore[arg-type]


def ellipse(sign: float) -> Rebounds:
    path = DATA / "mit_ellipse" / "impacts.csv"
    if not path.is_file():
        pytest.skip(f"no measured impacts: set JIMPACT_DATA to a folder with {path.parent.name}/{path.name}")
    d = np.genfromtxt(path, delimiter=",", names=True)
    arm = np.stack([d["r_x"], d["r_y"]], -1)
    before, after = (np.stack([sign * d[f"vx_{s}"], d[f"vy_{s}"], d[f"w_{s}"]], -1) for s in ("pre", "post"))
    return Rebounds.from_planar(0.0364, 0.0364 * GYRATION**2, arm, before, after)


def test_the_ellipse_as_released_has_a_flipped_vx() -> None:
    (suspicion,) = audit(ellipse(-1)).suspicions
    assert suspicion.mistake.startswith("vx with the opposite sign")


def test_the_ellipse_set_right_is_not_accused() -> None:
    assert not audit(ellipse(1)).suspicions
