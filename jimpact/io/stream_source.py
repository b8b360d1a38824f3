"""The inputs of a stream: .npy files with one row per impact, or one row for all impacts, and numbers.

A file is mapped only while a chunk is copied from it, so that its pages do not accumulate in memory. Files that do not
hold numbers are refused; nothing in a file is executed.
"""

import os
import zlib
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.format import open_memmap

__all__ = ["NUMBERS", "TAILS", "Source", "SourceFiles", "StreamError", "fingerprint", "mapped", "open_source", "read"]

NUMBERS = ("friction", "restitution", "static_friction", "tangential_restitution", "mixing")  # may be scalars
TAILS: dict[str, tuple[int, ...]] = {"inverse_inertia": (3, 3), "velocity": (3,), **dict.fromkeys(NUMBERS, ())}
NEEDED = ("inverse_inertia", "velocity", "friction", "restitution")
HARMLESS = {"inverse_inertia": np.eye(3), "velocity": np.array([0.0, 0.0, 1.0])}  # separating; coefficients are 0
SAMPLES = 64  # rows of each file in its fingerprint

SourceFiles = str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]]


class StreamError(ValueError):
    """Files cannot be used; the message is one sentence that names them."""


class Source(NamedTuple):
    """The inputs of a stream."""

    paths: dict[str, Path]  # files with a row per impact
    shared: dict[str, np.ndarray]  # values that are the same for all impacts
    impacts: int
    dtype: np.dtype[Any]


def open_source(source: SourceFiles, numbers: Mapping[str, float | None]) -> Source:
    """Find and check the inputs: the files of a folder, or of a mapping name -> path, and numbers."""
    files = {name: Path(path) for name, path in source.items()} if isinstance(source, Mapping) else _listed(source)
    given = {name: value for name, value in numbers.items() if value is not None}
    for name, path in files.items():
        if name not in TAILS:
            raise StreamError(f"{path}: {name!r} is no input; pass some of {', '.join(TAILS)}")
        if name in given:
            raise StreamError(f"{path}: {name} is also given as a number; leave one of them out")
    for name, value in given.items():
        if name not in NUMBERS or isinstance(value, bool) or not isinstance(value, Real):
            raise StreamError(f"{name}={value!r}: pass a number for any of {', '.join(NUMBERS)}")
    for name in NEEDED:
        if name not in files and name not in given:
            place = "the source" if isinstance(source, Mapping) else source
            raise StreamError(f"{place}: {name}.npy is missing{', and no number for it' * (name in NUMBERS)}")
    return _checked(files, given)


def _listed(folder: str | os.PathLike[str]) -> dict[str, Path]:
    if not Path(folder).is_dir():
        raise StreamError(f"{folder}: no such folder")
    return {path.stem: path for path in sorted(Path(folder).glob("*.npy"))}


def _checked(files: dict[str, Path], numbers: Mapping[str, float]) -> Source:
    """Open every file, and check that all have one length and one precision."""
    arrays = {name: mapped(path) for name, path in files.items()}
    for name, array in arrays.items():
        if array.dtype.kind != "f" or array.dtype.itemsize not in (4, 8):
            raise StreamError(f"{files[name]}: holds {array.dtype}; save float32 or float64")
        if TAILS[name] not in (array.shape, array.shape[1:]):
            every = str(("n", *TAILS[name])).replace("'", "")
            raise StreamError(
                f"{files[name]}: has shape {array.shape}; save {every}, or {TAILS[name]} for all impacts alike"
            )
    lengths = {name: len(array) for name, array in arrays.items() if array.shape != TAILS[name]}
    if not lengths:
        raise StreamError("no file has a row per impact; call jimpact.solve for a single impact")
    if len(set(lengths.values())) > 1:
        raise StreamError(f"numbers of impacts differ: {', '.join(f'{files[k]} has {n}' for k, n in lengths.items())}")
    dtype = np.result_type(*(array.dtype for array in arrays.values())).newbyteorder("=")
    shared = {name: np.array(array, dtype) for name, array in arrays.items() if name not in lengths}
    shared |= {name: np.array(value, dtype) for name, value in numbers.items()}
    return Source({name: files[name] for name in lengths}, shared, next(iter(lengths.values())), dtype)


def mapped(path: Path) -> np.memmap[Any, Any]:
    """A .npy file of numbers, mapped while the result exists."""
    try:
        return open_memmap(path, mode="r")
    except OSError as error:
        raise StreamError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, SyntaxError) as error:
        raise StreamError(f"{path}: not a whole .npy file of numbers ({str(error).splitlines()[0]})") from None


def read(source: Source, start: int, stop: int, lanes: int) -> dict[str, np.ndarray]:
    """Rows `start` to `stop` of every file, padded with harmless rows up to `lanes`."""
    rows = {name: np.empty((lanes, *TAILS[name]), source.dtype) for name in source.paths}
    for name, path in source.paths.items():
        rows[name][: stop - start] = mapped(path)[start:stop]
        rows[name][stop - start :] = HARMLESS.get(name, 0.0)
    return rows


def fingerprint(source: Source) -> dict[str, str]:
    """Text that identifies the inputs: shape, precision, time of change, and a checksum of rows across each file."""
    prints = {name: repr(value.tolist()) for name, value in source.shared.items()}
    for name, path in source.paths.items():
        array = mapped(path)
        check = zlib.crc32(array[:: max(1, len(array) // SAMPLES)].tobytes())
        prints[name] = f"{array.shape} {array.dtype.str} {path.stat().st_mtime_ns} {check:08x}"
    return prints
