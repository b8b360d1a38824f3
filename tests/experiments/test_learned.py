"""The experiment on learned materials, small: bounds, gradients, checkpoints, and what is learned."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("optax")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments.learned import checkpoint, measured, simulated
from experiments.learned.judgement import far_away, interval, predict, promises, rms, spread
from experiments.learned.network import Network, draw, features
from experiments.learned.settings import Measured, Settings, SettingsError, Simulated, Training, read
from experiments.learned.training import begin, loss_and_slope, train
from jimpact import Rebounds, fit
from jimpact.identify import cross_validate
from jimpact.identify.network import misfit

IMPACTS = 256  # half of them are held out; one size, one program
SETTINGS = Training(hidden=(8,), steps=150, batch=IMPACTS // 2, learning_rate=0.03, checkpoint_every=20)
STEP = 1e-5  # of the finite difference: error of second order, 1e-10, and round-off of solve / STEP, about 1e-7
SLOPE = 1e-4  # relative: `standard` admits 4e-8 per step of an impact, on both sides of the difference
ROUND_OFF = 1e-12  # of the energy before; an elastic impact without friction gains none, but for rounding


@pytest.fixture(scope="module")
def rebounds() -> Rebounds:
    return simulated.rebounds(Simulated(impacts=IMPACTS))


@pytest.fixture(scope="module")
def chosen() -> np.ndarray:
    return np.arange(IMPACTS) < IMPACTS // 2


@pytest.fixture(scope="module")
def trained(rebounds: Rebounds, chosen: np.ndarray) -> checkpoint.State:
    return train(rebounds, chosen, SETTINGS)


def same(one: checkpoint.State, other: checkpoint.State) -> bool:
    """To the last bit."""
    parts = [(s.network, s.optimiser, jax.random.key_data(s.key), s.losses) for s in (one, other)]
    pairs = zip(*map(jax.tree.leaves, parts), strict=True)
    return one.step == other.step and all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bounds_hold_for_extreme_velocities_and_weights(size: float, dtype: str) -> None:
    network = jax.tree.map(lambda a: size * a, draw(jax.random.key(3), (16, 16), dtype))
    extremes = [0.0, 1e-30, 1.0, 1e30]
    velocity = jnp.array([[x, y, -z] for x in extremes for y in extremes for z in extremes], dtype)
    friction, restitution = jax.jit(lambda v: network(features(v)))(velocity)
    assert friction.dtype == restitution.dtype == dtype
    assert bool((jnp.isfinite(friction) & (friction >= 0)).all())
    assert bool(((restitution >= 0) & (restitution <= 1)).all())


def test_features_are_smooth_where_there_is_no_slip() -> None:
    slope = jax.jacobian(features)(jnp.array([0.0, 0.0, -2.0]))
    assert np.allclose(slope, [[0, 0, -0.5], [0, 0, 0]], atol=1e-15)


@pytest.mark.slow
def test_no_impact_gains_energy_here_or_far_away(trained: checkpoint.State, rebounds: Rebounds) -> None:
    held = rebounds[IMPACTS // 2 :]
    given = far_away(len(held), seed=5)
    wild = jax.tree.map(lambda a: 30 * a, trained.network)
    for network in (trained.network, wild):
        for W, v in (given, (held.inverse_inertia, held.velocity)):
            kept = promises(network, W, v)
            assert kept.least_friction >= 0 <= kept.least_restitution and kept.most_restitution <= 1
            assert kept.most_energy_gained <= ROUND_OFF and kept.without_answer == 0, kept


@pytest.mark.slow
def test_gradient_agrees_with_finite_differences(rebounds: Rebounds, trained: checkpoint.State) -> None:
    """Along one random direction in the space of all weights, at a network that is half trained."""
    network = jax.tree.map(lambda a, b: 0.5 * (a + b), trained.network, begin(SETTINGS, float).network)
    batch = rebounds[: SETTINGS.batch]
    keys = iter(jax.random.split(jax.random.key(1), 10))
    along = jax.tree.map(lambda a: jax.random.normal(next(keys), a.shape), network)
    slope = loss_and_slope(network, batch)[1]
    exact = sum(float(jnp.vdot(a, b)) for a, b in zip(*map(jax.tree.leaves, (slope, along)), strict=True))
    ends = [loss_and_slope(jax.tree.map(lambda a, d: a + s * d, network, along), batch)[0] for s in (STEP, -STEP)]  # noqa: B023
    assert abs(float(ends[0] - ends[1]) / (2 * STEP) / exact - 1) < SLOPE


@pytest.mark.slow
def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    rebounds: Rebounds, chosen: np.ndarray, trained: checkpoint.State, tmp_path: Path
) -> None:
    """Interrupted at step 50, it resumes from the checkpoint of step 40, from the file alone."""
    path = tmp_path / "run.npz"
    assert train(rebounds, chosen, SETTINGS, path, until=50).step == 50
    seen: list[int] = []

    def watch(steps):
        for step in steps:
            seen.append(step)
            yield step

    resumed = train(rebounds, chosen, SETTINGS, path, watch)
    assert (seen[0], seen[-1]) == (40, SETTINGS.steps - 1)
    assert same(resumed, trained)
    assert same(train(rebounds, chosen, SETTINGS, path), trained)  # finished: nothing is left to do
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_a_write_that_fails_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, state = tmp_path / "run.npz", begin(SETTINGS, float)
    checkpoint.save(path, state, {})
    before = path.read_bytes()

    def broken(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint.np, "savez", broken)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(path, state._replace(step=1), {})
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("harm", ["cut", "bits", "text", "empty", "pickle"])
def test_a_damaged_checkpoint_gets_a_sentence(harm: str, tmp_path: Path) -> None:
    path, state = tmp_path / "run.npz", begin(SETTINGS, float)
    checkpoint.save(path, state, {})
    good = path.read_bytes()
    middle = good.index(b"leaf_001.npy") + 150  # within the numbers of an array
    flipped = good[:middle] + bytes([good[middle] ^ 255]) + good[middle + 1 :]
    if harm == "pickle":
        np.savez(path, identity=np.array([{}], dtype=object))
    else:
        path.write_bytes({"cut": good[: len(good) // 2], "bits": flipped, "text": b"not a file", "empty": b""}[harm])
    with pytest.raises(checkpoint.CheckpointError, match="damaged or not a checkpoint; pass --fresh"):
        checkpoint.load(path, state, {})


def test_a_checkpoint_of_another_training_gets_a_sentence(
    rebounds: Rebounds, chosen: np.ndarray, tmp_path: Path
) -> None:
    path = tmp_path / "run.npz"
    short = replace(SETTINGS, checkpoint_every=1)
    train(rebounds, chosen, short, path, until=1)
    with pytest.raises(checkpoint.CheckpointError, match=r"learning_rate = 0\.03, and not 0\.5; pass --fresh"):
        train(rebounds, chosen, replace(short, learning_rate=0.5), path)
    with pytest.raises(checkpoint.CheckpointError, match="other data; pass --fresh"):
        train(rebounds, ~chosen, short, path)
    identity = json.loads(str(np.load(path)["identity"]))
    with pytest.raises(checkpoint.CheckpointError, match="another network, optimiser or precision"):
        checkpoint.load(path, begin(replace(short, hidden=(4,)), float), identity)


@pytest.mark.slow
def test_the_network_beats_the_constant_model_on_what_was_held_out(
    trained: checkpoint.State, rebounds: Rebounds, chosen: np.ndarray
) -> None:
    """1 is the noise; 128 x 3 numbers know it to 4 %, and so few impacts and steps leave some error beside it."""
    held, noise = rebounds[~chosen], np.asarray(rebounds.noise)[~chosen]
    constant = fit(rebounds[chosen], law="stronge", starts=4)
    learned = rms(np.asarray(held.observation) - predict(trained.network, held), noise)
    fitted = rms(np.asarray(held.observation) - constant.predict(held), noise)
    assert learned < 2 and fitted > 3 * learned, (learned, fitted)


@pytest.mark.slow
@pytest.mark.parametrize(("example", "package"), [("with_equinox", "equinox"), ("with_flax", "flax")])
def test_modules_of_other_libraries_learn(example: str, package: str) -> None:
    """From hundreds of variances of the noise, a few steps go most of the way."""
    pytest.importorskip(package)
    losses = importlib.import_module(f"experiments.learned.{example}").learn(steps=60, count=64, rate=0.03)
    assert losses[-1] < 0.05 * losses[0]


def test_a_material_of_the_wrong_shape_is_refused(rebounds: Rebounds) -> None:
    with pytest.raises(ValueError, match=r"friction of shape \(256, 1\); let it give \(256,\)"):
        misfit(lambda x: (x[:, :1], x[:, 1]), rebounds)
    with pytest.raises(TypeError, match=r"let it give \(friction, restitution\)"):
        misfit(lambda x: x, rebounds)


def test_folds_are_those_of_cross_validate(rebounds: Rebounds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both models are judged on the same splits, of whole groups."""
    grouped = replace(rebounds[:30], group=jnp.arange(30) // 3)
    material = SimpleNamespace(groups=None, free=lambda numbers: numbers)
    whole = SimpleNamespace(rebounds=grouped, material=material, numbers=np.zeros(2), choice=None)
    whole.solved = SimpleNamespace(problem=None)
    given: list[np.ndarray] = []

    def stop(*_: Any, weights: np.ndarray) -> None:
        given.append(weights)
        raise InterruptedError

    monkeypatch.setattr("jimpact.identify.compare.minimise", stop)
    with pytest.raises(InterruptedError):
        cross_validate(whole, 3, 7)
    fold = measured.folds(grouped, 3, 7)
    assert [(fold != i).tolist() for i in range(3)] == given[0].astype(bool).tolist()


def test_spread_of_a_fold_does_not_know_the_fold() -> None:
    left, fold = np.array([[3.0], [3.0], [4.0], [4.0]]), np.array([0, 0, 1, 1])
    assert spread(left, fold).ravel().tolist() == [4, 4, 3, 3]


def test_interval_of_a_mean_is_that_of_groups() -> None:
    """100 groups of 4 equal impacts: the standard error is that of 100 numbers, and not of 400."""
    values = np.repeat(np.random.default_rng(0).normal(size=100), 4)
    mean, low, high = interval(values, np.repeat(np.arange(100), 4))
    assert low < mean < high and 0.3 < high - low < 0.5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[training]\nstep = 3", "has 'step'; write some of hidden, steps"),
        ("[training]\nsteps = 0", "steps = 0; write a whole number above 0"),
        ("[other]\nx = 1", "write the sections training, simulated, measured"),
        ("[training", "is not TOML"),
    ],
)
def test_bad_settings_get_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=sentence):
        read(path)


def test_the_configuration_of_the_experiment_is_that_of_its_defaults() -> None:
    root = Path(__file__).resolve().parents[2]
    assert read(root / "configs" / "learned.toml") == Settings(Training(), Simulated(), Measured())


def test_missing_measurements_get_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JIMPACT_DATA", str(tmp_path))
    for name, load in measured.SETS.items():
        with pytest.raises(measured.MissingData, match=f"{name}.*set JIMPACT_DATA"):
            load()


def test_a_network_is_a_callable_pytree() -> None:
    network = draw(jax.random.key(0), (4,), float)
    assert isinstance(jax.tree.map(jnp.zeros_like, network), Network) and len(jax.tree.leaves(network)) == 4
