"""Measured rebounds: tosses of a cube and drops of an ellipse, read from a folder that is not part of the project.

The folder is JIMPACT_DATA, else `shared/data` beside the project. Noise is set to the size of what laws leave
unexplained (5 cm/s for the cube, 10 cm/s for the ellipse, angular velocities times the radius of gyration): it only
weighs the channels against each other, and each model is judged by the spread of its own residuals.
"""

import os
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact import Rebounds

__all__ = ["SETS", "MissingData", "folds", "metric"]

ROOT = Path(__file__).resolve().parents[2]
CUBE_MASS, CUBE_INERTIA = 0.37, 0.00097  # kg; kg m^2, as the impacts themselves say
ELLIPSE_MASS, GYRATION = 0.0364, 0.0192  # kg, m
SLOWEST = 0.5  # m/s: slower impacts of the cube are a selection


class MissingData(RuntimeError):
    """The measurements are not on this machine."""


def cube() -> Rebounds:
    """3D tosses on a board (Pfrommer, Halm & Posa 2020); one group is one toss."""
    d = _table("contactnets_cube", "events.csv")
    d = d[-(d["v_pre_z"] + d["w_pre_x"] * d["r_y"] - d["w_pre_y"] * d["r_x"]) > SLOWEST]
    vector = lambda name: jnp.asarray(np.stack([d[f"{name}_{axis}"] for axis in "xyz"], -1))  # noqa: E731
    tensor = jnp.broadcast_to(CUBE_INERTIA * jnp.eye(3), (len(d), 3, 3))
    body = jimpact.Body(jnp.full(len(d), CUBE_MASS), tensor, jnp.zeros((len(d), 3)), vector("v_pre"), vector("w_pre"))
    after = body._replace(velocity=vector("v_post"), angular_velocity=vector("w_post"))
    up, toss = jnp.array([0.0, 0.0, 1.0]), d["toss"].astype(int)
    return Rebounds.from_bodies(
        body, jimpact.immovable(), vector("r"), up, after, noise=0.05 / metric("cube"), group=toss
    )


def ellipse() -> Rebounds:
    """Planar drops (Fazeli & Rodriguez, MIT); every drop is its own group."""
    d = _table("mit_ellipse", "impacts.csv")
    before, after = (np.stack([d[f"{c}_{s}"] for c in ("vx", "vy", "w")], -1) for s in ("pre", "post"))
    arm, inertia = np.stack([d["r_x"], d["r_y"]], -1), ELLIPSE_MASS * GYRATION**2
    return Rebounds.from_planar(ELLIPSE_MASS, inertia, arm, before, after, 0.1 / metric("ellipse"))


SETS: dict[str, Callable[[], Rebounds]] = {"cube": cube, "ellipse": ellipse}


def metric(name: str) -> np.ndarray:
    """What makes the channels of a set comparable: 1 for velocities, the radius of gyration (m) for spins."""
    return np.repeat([1, np.sqrt(CUBE_INERTIA / CUBE_MASS)], 3) if name == "cube" else np.array([1, 1, GYRATION])


def folds(rebounds: Rebounds, count: int, seed: int) -> np.ndarray:
    """The fold (n,) in which each impact is held out, whole groups: the same as of `cross_validate`."""
    group = np.unique(np.asarray(rebounds.group), return_inverse=True)[1]
    return np.random.default_rng(seed).permutation(np.arange(group.max() + 1) % count)[group]


def _table(folder: str, name: str) -> np.ndarray:
    data = Path(os.environ.get("JIMPACT_DATA", ROOT.parent / "shared" / "data"))
    path = data / folder / name
    if not path.is_file():
        raise MissingData(f"no {folder}/{name}: set JIMPACT_DATA to the folder of the data; skipped")
    return np.genfromtxt(path, delimiter=",", names=True, encoding="utf-8", dtype=None)
