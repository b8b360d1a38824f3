"""Timing side by side: entries are prepared, then run in turn, so that a busy moment of the machine hits all."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from . import machine

__all__ = ["SUCCESS", "Answer", "Entry", "Missing", "Program", "Progress", "Row", "Truth", "errors", "race"]

What = Literal["forward", "jvp", "gradient"]
Progress = Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]]  # of a label: passes steps through
SUCCESS = 1e-3  # relative error: an answer that is further off does not count


class Missing(Exception):
    """A competitor that cannot run here; the message says why."""


class Answer(NamedTuple):
    """Values (n, k) and whether the competitor calls each of them good (n,)."""

    values: np.ndarray
    ok: np.ndarray


class Truth(NamedTuple):
    """What the values should be (m, k), m >= n; None where nothing else is as good."""

    values: np.ndarray | None


class Program(NamedTuple):
    """Something to time: `run` blocks until it is done; `read` turns what it returns into an answer."""

    run: Callable[[], Any]
    read: Callable[[Any], Answer]
    compile_seconds: float | None = None
    bytes_per_impact: float | None = None


@dataclass(frozen=True)
class Entry:
    """A competitor with one setting, on a batch."""

    competitor: str
    setting: str
    what: What
    dtype: str
    lanes: str  # "mix" or "slip"
    batch: int
    truth: Truth
    prepare: Callable[[], Program]


@dataclass(frozen=True)
class Row:
    """What was measured; None is what was not, and the note says why."""

    competitor: str
    setting: str
    what: What
    dtype: str
    lanes: str
    batch: int
    best_us: float | None = None  # per impact
    median_us: float | None = None
    repeats: int = 0
    error_median: float | None = None  # relative
    error_99: float | None = None
    error_max: float | None = None
    success: float | None = None  # share of impacts
    compile_s: float | None = None
    bytes_per_impact: float | None = None
    note: str = ""

    @property
    def name(self) -> str:
        return " ".join(word for word in (self.competitor, self.setting) if word)


def race(entries: Sequence[Entry], progress: Progress, *, repeats: int, budget: float) -> list[Row]:
    """Measure all entries; one that has run for `budget` seconds is not repeated."""
    rows: list[Row] = []
    running: list[tuple[int, Program, list[float]]] = []
    for i, entry in enumerate(progress("prepared")(entries)):
        row, program, first = _begin(entry)
        rows.append(row)
        if program is not None:
            running.append((i, program, [first]))
    for _ in progress("repeated")(range(repeats - 1)):
        for _, program, times in running:
            if sum(times) < budget:
                times.append(_seconds(program.run))
    for i, _, times in running:
        kept = times[1:] or times  # the first run warms caches
        unit = 1e6 / entries[i].batch
        timed = {"best_us": min(kept) * unit, "median_us": float(np.median(kept)) * unit, "repeats": len(kept)}
        rows[i] = Row(**{**rows[i].__dict__, **timed})
    return rows


def _begin(entry: Entry) -> tuple[Row, Program | None, float]:
    """Compile, run once, and judge the answer."""
    given = (entry.competitor, entry.setting, entry.what, entry.dtype, entry.lanes, entry.batch)
    try:
        program = entry.prepare()
    except Missing as reason:
        return Row(*given, note=str(reason)), None, 0.0
    begin = time.perf_counter()
    result, grown = machine.growth(program.run)
    first = time.perf_counter() - begin
    memory = program.bytes_per_impact
    memory = grown / entry.batch if memory is None and grown is not None else memory
    judged = errors(program.read(result), entry.truth)
    return Row(*given, **judged, compile_s=program.compile_seconds, bytes_per_impact=memory), program, first


def errors(answer: Answer, truth: Truth) -> dict[str, Any]:
    """Quantiles of the relative error, and the share of good answers; what is not finite is infinitely wrong."""
    finite = np.isfinite(answer.values).all(-1)
    if truth.values is None:
        return {"success": float((answer.ok & finite).mean())}
    right = truth.values[: len(finite)]
    size = np.linalg.norm(right, axis=-1)
    gap = np.linalg.norm(np.where(finite[:, None], answer.values - right, 0), axis=-1)
    error = np.where(finite, gap / np.where(size > 0, size, 1), np.inf)
    middle, most, largest = np.quantile(error, (0.5, 0.99, 1), method="higher")  # no mean of inf and inf
    success = float((answer.ok & (error < SUCCESS)).mean())
    return {"error_median": float(middle), "error_99": float(most), "error_max": float(largest), "success": success}


def _seconds(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin
