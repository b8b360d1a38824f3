"""Time per impact against the size of the batch: jimpact at its standard accuracy, one program for each size."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from . import machine, ours
from .population import Impacts, repeated
from .race import Progress, What

__all__ = ["Point", "sizes", "sweep"]

LEAST, MOST, LONG = 5, 200, 0.5  # runs of a program, and seconds after which they are enough
SPARE = 3  # x the memory that a program says it takes must be free: also the host holds its arrays


@dataclass(frozen=True)
class Point:
    """One size; times in microseconds per impact, None where it does not fit into memory."""

    what: What
    dtype: str
    batch: int
    best_us: float | None = None
    median_us: float | None = None
    compile_s: float | None = None
    bytes_per_impact: float | None = None
    note: str = ""


def sizes(largest: int) -> list[int]:
    """Powers of ten, up to the largest; none for 0."""
    return [10**k for k in range(len(str(largest)))] if largest > 0 else []


def sweep(
    impacts: Impacts, series: Sequence[tuple[What, str]], largest: dict[str, int], progress: Progress
) -> list[Point]:
    """Each series (what, dtype) at sizes up to the largest for it."""
    jobs = [(what, dtype, n) for what, dtype in series for n in sizes(largest[what])]
    points: list[Point] = []
    for what, dtype, n in progress("batch sizes")(jobs):
        alike = [p.bytes_per_impact for p in points if (p.what, p.dtype) == (what, dtype) and p.bytes_per_impact]
        points.append(_point(impacts, what, dtype, n, min(alike, default=0)))
    return points


def _point(impacts: Impacts, what: What, dtype: str, n: int, expected: float) -> Point:
    free = machine.available()
    if free is not None and SPARE * expected * n > free:
        return Point(what, dtype, n, note=f"{SPARE * expected * n / 1e9:.0f} GB of memory are needed")
    program = ours.compiled("standard", what, dtype, n)
    given = ours.arguments(repeated(impacts, n), what, dtype)
    jax.block_until_ready(program.call(*given))
    times: list[float] = []
    while len(times) < LEAST or (sum(times) < LONG and len(times) < MOST):
        begin = time.perf_counter()
        jax.block_until_ready(program.call(*given))
        times.append(time.perf_counter() - begin)
    unit = 1e6 / n
    best, middle = min(times) * unit, float(np.median(times)) * unit
    return Point(what, dtype, n, best, middle, program.seconds, program.bytes_per_impact)
