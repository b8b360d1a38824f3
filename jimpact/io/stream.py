"""Impacts that do not fit into memory: .npy files are solved in chunks, and an interrupted call can be resumed.

    summary = solve_files("given", "solved", law="stronge", friction=0.3)

reads given/inverse_inertia.npy (n, 3, 3), given/velocity.npy (n, 3) and given/restitution.npy (n,), and writes
solved/impulse.npy (n, 3), solved/velocity.npy (n, 3) and solved/outcome.npy (n,). One compiled program solves all
chunks, sharded over the devices of this process; one chunk is computed while the one before is written. The result is
that of `solve`, in the precision of the files.
"""

import os
import time
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jimpact.impact import solve
from jimpact.io.stream_source import NUMBERS, TAILS, Source, SourceFiles, StreamError, fingerprint, open_source, read
from jimpact.io.stream_target import FIELDS, append, close, resume, writing
from jimpact.outcome import Outcome
from jimpact.types import Array, Progress, StaticOptions

__all__ = ["CHUNK", "FIELDS", "StreamError", "Summary", "solve_files"]

CHUNK = 2**18  # impacts: 15 MB of input in float32; larger chunks are not faster
Done = tuple[dict[str, np.ndarray], dict[str, int]]  # outputs, and number of each outcome


class Summary(NamedTuple):
    """Summary of the output files."""

    impacts: int
    outcomes: dict[str, int]  # name of the outcome -> number of impacts
    kept: int  # impacts solved by an earlier call
    seconds: float  # time of this call, with compilation


def solve_files(
    source: SourceFiles,
    destination: str | os.PathLike[str],
    *,
    law: str = "stronge",
    friction: float | None = None,
    restitution: float | None = None,
    static_friction: float | None = None,
    tangential_restitution: float | None = None,
    mixing: float | None = None,
    rule: str = "poisson",
    accuracy: str = "standard",
    line_tolerance: float = 0.01,
    fields: Iterable[str] = ("impulse", "velocity", "outcome"),
    chunk: int = CHUNK,
    again: bool = False,
    progress: Progress = iter,
) -> Summary:
    """Solve the impacts of .npy files, and write the results to .npy files. The files may be larger than memory.

    After an interruption, the same call resumes after the last finished chunk. It raises an error if inputs or options
    have changed. Only `chunk` may change, since it does not affect results.

    Args:
        source: a folder with inverse_inertia.npy, velocity.npy, and a file for each coefficient that is not a number;
            or a mapping from these names to paths. Files are float32 or float64 and have one row per impact, or the
            shape of a single impact if it is the same for all.
        destination: a folder for the results; it is created.
        law, rule, accuracy, line_tolerance: as in `solve`.
        friction, restitution, static_friction, tangential_restitution, mixing: numbers, for coefficients without a
            file.
        fields: the results: any of impulse, velocity, outcome, and the fields of `ImpactInfo`.
        chunk: number of impacts that are solved at a time.
        again: start from the beginning, and overwrite the results of an earlier call.
        progress: wraps the steps of the loop over chunks, for a progress bar.

    Returns:
        Summary: number of impacts and of each outcome, and the time.
    """
    began = time.perf_counter()
    numbers = dict(zip(NUMBERS, (friction, restitution, static_friction, tangential_restitution, mixing), strict=True))
    given, folder, names = open_source(source, numbers), Path(destination), tuple(fields)
    _check(given, folder, names, chunk)
    options = (("law", law), ("rule", rule), ("accuracy", accuracy), ("line_tolerance", line_tolerance))
    shapes = _shapes(given, names, options)
    begun_with = fingerprint(given) | {name: str(value) for name, value in options}
    begun_with |= {"fields": ", ".join(names), "version of jimpact": version("jimpact")}
    with writing(folder):
        record = resume(folder, shapes, begun_with, given.impacts, again)
        kept = record.finished
        for done in _solved(given, names, options, record.finished, chunk, progress):
            record = append(folder, record, *done)
        close(folder, names)
    return Summary(given.impacts, record.outcomes, kept, time.perf_counter() - began)


def _check(given: Source, folder: Path, fields: tuple[str, ...], chunk: int) -> None:
    if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
        raise StreamError(f"chunk={chunk!r}; pass a whole number of impacts, at least 1")
    if not fields or len(set(fields)) < len(fields) or not set(fields) <= set(FIELDS):
        raise StreamError(f"fields={', '.join(map(str, fields)) or None}; pass some of {', '.join(FIELDS)}, each once")
    for path in given.paths.values():
        if path.resolve().parent == folder.resolve():
            raise StreamError(f"{folder}: holds the input {path.name}; pass another folder as destination")
    if given.dtype == np.float64 and jnp.result_type(float) != np.float64:
        raise StreamError('the files are float64; call jax.config.update("jax_enable_x64", True) first')


def _shapes(given: Source, fields: tuple[str, ...], options: StaticOptions) -> dict[str, jax.ShapeDtypeStruct]:
    """Shapes of the outputs. By tracing `solve` this also checks the options before anything is written."""
    rows = {name: np.zeros((1, *TAILS[name]), given.dtype) for name in given.paths}
    one = jax.eval_shape(partial(_fields, fields=fields, options=options), rows | given.shared)
    return {name: jax.ShapeDtypeStruct((given.impacts, *a.shape[1:]), a.dtype) for name, a in one.items()}


def _fields(given: dict[str, Any], fields: tuple[str, ...], options: StaticOptions) -> dict[str, Array]:
    impact = solve(**given, **dict(options))
    values = {**impact._asdict(), **impact.info._asdict()}
    return {name: values[name] for name in fields}


_program = jax.jit(_fields, static_argnames=("fields", "options"))


def _solved(
    given: Source, fields: tuple[str, ...], options: StaticOptions, finished: int, chunk: int, progress: Progress
) -> Iterator[Done]:
    """Results, chunk after chunk; the next chunk is computed while one is written."""
    mesh = Mesh(np.array(jax.local_devices()), ("impacts",))
    split, alike = NamedSharding(mesh, PartitionSpec("impacts")), NamedSharding(mesh, PartitionSpec())
    lanes = -(-max(1, min(chunk, given.impacts)) // mesh.size) * mesh.size
    shared = jax.device_put(given.shared, alike)
    needed = tuple(dict.fromkeys((*fields, "outcome")))
    waiting: tuple[int, dict[str, Array]] | None = None
    for start in progress(range(finished, given.impacts, lanes)):
        stop = min(start + lanes, given.impacts)
        rows = jax.device_put(read(given, start, stop, lanes), split)
        result = _program({**rows, **shared}, fields=needed, options=options)
        if waiting is not None:
            yield _fetched(*waiting, fields)
        waiting = stop - start, result
    if waiting is not None:
        yield _fetched(*waiting, fields)


def _fetched(count: int, result: dict[str, Array], fields: tuple[str, ...]) -> Done:
    """Results as NumPy arrays, without the padding of the chunk."""
    rows = {name: np.asarray(a)[:count] for name, a in result.items()}
    codes, numbers = np.unique(rows["outcome"], return_counts=True)
    outcomes = {Outcome(code).name: int(n) for code, n in zip(codes.tolist(), numbers.tolist(), strict=True)}
    return {name: rows[name] for name in fields}, outcomes
