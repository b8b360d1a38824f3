"""Checkpoints: everything that decides the rest of a training, in one .npz file that cannot execute anything.

A file is written beside its place and renamed, so that a run that is killed leaves the last whole checkpoint. It holds
parameters and state of the optimiser (the leaves of their pytree, in order), step, key of the random numbers, losses so
far, and as JSON the settings with a digest of the data; what does not belong to this training is refused.
"""

import hashlib
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimpact import Rebounds

__all__ = ["CheckpointError", "State", "digest", "load", "save"]

ANEW = "pass --fresh to train anew, or another --out"
DAMAGED = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError)


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be used, and what to do."""


class State(NamedTuple):
    """Of a training, after `step` steps."""

    network: Any
    optimiser: Any
    key: jax.Array  # of the batches to come
    step: int
    losses: np.ndarray  # (step,) of each batch, before its step


def save(path: Path, state: State, identity: dict[str, Any]) -> None:
    """Write atomically; `identity` is what must be the same when it is loaded."""
    leaves = jax.tree.leaves((state.network, state.optimiser))
    arrays: dict[str, Any] = {f"leaf_{i:03d}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    arrays |= {"key": np.asarray(jax.random.key_data(state.key)), "step": np.asarray(state.step)}
    arrays |= {"losses": state.losses, "identity": np.asarray(json.dumps(identity, sort_keys=True))}
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def load(path: Path, like: State, identity: dict[str, Any]) -> State:
    """Read what `save` wrote; `like` is the state of a new training, whose shapes and types it must have."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        written = json.loads(str(arrays["identity"]))
        key, step, losses = arrays["key"], int(arrays["step"]), arrays["losses"]
    except DAMAGED as error:
        raise CheckpointError(f"{path.name} is damaged or not a checkpoint; {ANEW}") from error
    _same(path, written, identity)
    leaves, tree = jax.tree.flatten((like.network, like.optimiser))
    found = [arrays.get(f"leaf_{i:03d}") for i in range(len(leaves))]
    shapes = [None if a is None else (a.shape, a.dtype) for a in found]
    whole = shapes == [(leaf.shape, leaf.dtype) for leaf in leaves] and losses.shape == (step,)
    if not whole or key.shape != jax.random.key_data(like.key).shape:
        raise CheckpointError(f"{path.name} has arrays of another network, optimiser or precision; {ANEW}")
    network, optimiser = jax.tree.unflatten(tree, [jnp.asarray(a) for a in found])
    return State(network, optimiser, jax.random.wrap_key_data(key), step, losses)


def digest(rebounds: Rebounds, chosen: np.ndarray) -> str:
    """Of the data and of which of them are trained on."""
    whole = hashlib.sha256()
    for array in (*jax.tree.leaves(rebounds), chosen):
        flat = np.ascontiguousarray(array)
        whole.update(f"{flat.dtype}{flat.shape}".encode())
        whole.update(flat.tobytes())
    return whole.hexdigest()


def _same(path: Path, written: Any, identity: dict[str, Any]) -> None:
    """Raise if a checkpoint is that of another training."""
    expected = json.loads(json.dumps(identity))  # tuples become lists
    known = written if isinstance(written, dict) else {}
    for name in sorted(expected.keys() | known.keys()):
        if known.get(name) != expected.get(name):
            what = "other data" if name == "data" else f"{name} = {known.get(name)!r}, and not {expected.get(name)!r}"
            raise CheckpointError(f"{path.name} is of a training with {what}; {ANEW}")
