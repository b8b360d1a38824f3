"""Measured impacts of a tossed cube (Pfrommer, Halm & Posa 2020), and the score of a prediction.

The data are not part of the project: they are in the folder JIMPACT_DATA, else in `shared/data` beside the project.
"""

import os
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import jimpact

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("JIMPACT_DATA", ROOT.parent / "shared" / "data"))
MASS = 0.37  # kg
SLOWEST = 0.5  # m/s, of approach: slower impacts were selected


class Tosses(NamedTuple):
    """n impacts, world axes, z up. `before` and `after`: velocity (m/s), then angular velocity (rad/s)."""

    toss: np.ndarray
    arm: np.ndarray  # contact point minus centre of mass, m
    before: np.ndarray
    after: np.ndarray
    noise: np.ndarray  # of what an exact law would get wrong: before and after, one sigma

    def __getitem__(self, index: object) -> "Tosses":  # type: ignore[override]
        return Tosses(*(field[index] for field in tuple.__iter__(self)))


class Score(NamedTuple):
    """Root mean squares over impacts."""

    speed: float  # length of the error, angular velocity times the radius of gyration, m/s
    linear: float  # m/s
    angular: float  # rad/s
    sigmas: float  # error of a component in units of its noise


def load(folder: Path = DATA) -> Tosses | None:
    """All impacts that approach fast enough, or None, with a message, where the data are not there."""
    path = folder / "contactnets_cube" / "events.csv"
    if not path.is_file():
        print(f"no contactnets_cube/{path.name}: set JIMPACT_DATA to the folder of the data; skipped")
        return None
    d = np.genfromtxt(path, delimiter=",", names=True)
    vectors = lambda *names: np.stack([d[f"{name}_{axis}"] for name in names for axis in "xyz"], -1)  # noqa: E731
    noise = np.repeat([np.hypot(d[f"sig_{kind}_pre"], d[f"sig_{kind}_post"]) for kind in "vw"], 3, 0).T
    all_of = Tosses(d["toss"].astype(int), vectors("r"), vectors("v_pre", "w_pre"), vectors("v_post", "w_post"), noise)
    approach = -(all_of.before[:, :3] + np.cross(all_of.before[:, 3:], all_of.arm))[:, 2]
    return all_of[approach > SLOWEST]


def halves(tosses: Tosses, seed: int = 0) -> tuple[Tosses, Tosses]:
    """Two random halves of the tosses: all impacts of a toss are in one of them."""
    names = np.random.default_rng(seed).permutation(np.unique(tosses.toss))
    first = np.isin(tosses.toss, names[: len(names) // 2])
    return tosses[first], tosses[~first]


def rebounds(tosses: Tosses, inertia: float) -> jimpact.Rebounds:
    """For `jimpact.fit`, with the noise to be estimated: the law is not exact."""
    n = len(tosses.toss)
    v, w = (jnp.asarray(tosses.before[:, part]) for part in (slice(3), slice(3, 6)))
    tensor = jnp.broadcast_to(inertia * jnp.eye(3), (n, 3, 3))
    body = jimpact.Body(jnp.full(n, MASS), tensor, jnp.zeros((n, 3)), v, w)
    after = body._replace(velocity=jnp.asarray(tosses.after[:, :3]), angular_velocity=jnp.asarray(tosses.after[:, 3:]))
    up = jnp.array([0.0, 0.0, 1.0])
    return jimpact.Rebounds.from_bodies(
        body, jimpact.immovable(), jnp.asarray(tosses.arm), up, after, group=tosses.toss
    )


def score(tosses: Tosses, predicted: np.ndarray, gyration: float) -> Score:
    """How far `predicted`, velocities and angular velocities after, are from what was measured."""
    left = np.asarray(predicted) - tosses.after
    rms = lambda a: float(np.sqrt(np.mean(np.sum(a * a, -1))))  # noqa: E731
    metric = np.repeat([1, gyration], 3)
    sigmas = float(np.sqrt(np.mean((left / tosses.noise) ** 2)))
    return Score(rms(left * metric), rms(left[:, :3]), rms(left[:, 3:]), sigmas)
