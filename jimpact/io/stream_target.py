"""The outputs of a stream, written chunk by chunk, and the record of the finished impacts.

An output is called NAME.unfinished.npy until its last row is written, then NAME.npy; rows that are not written yet
are 0. The record, `stream.json`, holds the inputs and options of the stream and the number of finished impacts. It is
replaced atomically, after the rows that it counts are on the disk, so that a process may be killed at any time.
"""

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.format import open_memmap

from jimpact.io.stream_source import StreamError, mapped
from jimpact.outcome import Impact, ImpactInfo

try:
    import fcntl
except ImportError:  # Windows has no lock: two simultaneous runs are not detected there
    fcntl = None  # type: ignore[assignment]

__all__ = ["FIELDS", "RECORD", "StreamRecord", "append", "close", "resume", "writing"]

FIELDS = (*Impact._fields[:-1], *ImpactInfo._fields)
RECORD = "stream.json"
ANEW = "pass another destination, or again=True (--again) to start from the beginning"


class StreamRecord(NamedTuple):
    """The inputs and options of a stream, and its progress."""

    begun_with: dict[str, str]  # inputs and options, as text to compare
    impacts: int
    finished: int
    outcomes: dict[str, int]  # number of each outcome among the finished impacts


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Lock a folder for one process, and turn errors of writing into one sentence."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = os.open(folder, os.O_RDONLY) if fcntl else None
        try:
            if place is not None:
                _lock(folder, place)
            yield
        finally:
            if place is not None:
                os.close(place)
    except OSError as error:
        reason = error.strerror or error
        raise StreamError(f"{folder}: cannot be written: {reason}; what is finished is kept") from None


def _lock(folder: Path, place: int) -> None:
    """Lock the folder; the lock ends with the process. Some file systems have no locks."""
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StreamError(f"{folder}: another process writes there; pass another destination") from None
    except OSError:
        return


def resume(
    folder: Path, shapes: Mapping[str, Any], begun_with: dict[str, str], impacts: int, again: bool
) -> StreamRecord:
    """The record from which to continue. `shapes` has the shape and dtype of each output."""
    old = None if again else _recall(folder)
    if old is None:
        there = [path for name in FIELDS for path in _names(folder, name) if path.exists()]
        if there and not again:
            raise StreamError(f"{there[0]}: exists, but no {RECORD} describes it; {ANEW}")
    else:
        _compare(folder, old.begun_with, begun_with)
    if old is not None and old.finished:
        _check_outputs(folder, shapes, old)
        return old
    return _begin(folder, shapes, StreamRecord(begun_with, impacts, 0, {}))


def append(
    folder: Path, record: StreamRecord, rows: Mapping[str, np.ndarray], outcomes: Mapping[str, int]
) -> StreamRecord:
    """Write rows to the disk, and then count them as finished."""
    for name, values in rows.items():
        path = _names(folder, name)[1]
        whole = mapped(path)
        row = math.prod(whole.shape[1:]) * whole.itemsize
        with open(path, "r+b") as file:
            file.seek(whole.offset + record.finished * row)
            file.write(np.ascontiguousarray(values).data)
            file.flush()
            os.fsync(file.fileno())
    total = {name: record.outcomes.get(name, 0) + outcomes.get(name, 0) for name in {**record.outcomes, **outcomes}}
    return _note(folder, record._replace(finished=record.finished + sum(outcomes.values()), outcomes=total))


def close(folder: Path, fields: tuple[str, ...]) -> None:
    """Give the outputs their final names, when all rows are written."""
    for name in fields:
        final, part = _names(folder, name)
        with suppress(FileNotFoundError):  # the file was renamed before an interruption
            part.replace(final)


def _names(folder: Path, field: str) -> tuple[Path, Path]:
    return folder / f"{field}.npy", folder / f"{field}.unfinished.npy"


def _recall(folder: Path) -> StreamRecord | None:
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        record = StreamRecord(**json.loads(path.read_text(encoding="utf-8")))
        whole = 0 <= record.finished <= record.impacts and sum(record.outcomes.values()) == record.finished
        if whole and isinstance(record.begun_with, dict):
            return record
    except (ValueError, TypeError, AttributeError):
        pass
    raise StreamError(f"{path}: not the record of a stream; {ANEW}")


def _compare(folder: Path, old: dict[str, str], new: dict[str, str]) -> None:
    differ = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if differ:
        raise StreamError(f"{folder}: was begun with another {', '.join(differ)}; {ANEW}")


def _check_outputs(folder: Path, shapes: Mapping[str, Any], record: StreamRecord) -> None:
    for name, wanted in shapes.items():
        final, part = _names(folder, name)
        path = part if part.exists() or record.finished < record.impacts else final
        array = mapped(path) if path.exists() else None
        if array is None or (array.shape, array.dtype) != (wanted.shape, wanted.dtype):
            raise StreamError(f"{path}: is not the file that {RECORD} describes; {ANEW}")


def _begin(folder: Path, shapes: Mapping[str, Any], record: StreamRecord) -> StreamRecord:
    """Write an empty record first, so that the rest is repeated after an interruption."""
    old = [path for name in FIELDS for path in _names(folder, name) if path.exists()]
    need = sum(math.prod(a.shape) * a.dtype.itemsize for a in shapes.values())
    room = shutil.disk_usage(folder).free + sum(path.stat().st_size for path in old)
    if need > room:
        raise StreamError(f"{folder}: the outputs take {need / 1e9:.3g} GB, and {room / 1e9:.3g} GB are free")
    _note(folder, record)
    for path in old:
        path.unlink()
    for name, wanted in shapes.items():
        part = folder / f".{name}.part"
        open_memmap(part, mode="w+", dtype=wanted.dtype, shape=wanted.shape)
        part.replace(_names(folder, name)[1])
    return record


def _note(folder: Path, record: StreamRecord) -> StreamRecord:
    part = folder / f".{RECORD}.part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(record._asdict(), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / RECORD)
    return record
