"""The method of jimpact as a C kernel, written by hand with vector types: how fast could it be?

`kernel.c` is compiled by the compiler of the machine, for its processor, into a temporary folder. Its order is a
constant of the program, as in a program of XLA.
"""

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

__all__ = ["ORDER", "Library", "Solved", "compiler", "library", "solve"]

SOURCE = Path(__file__).with_name("kernel.c")
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")
ORDER = 12  # of the series, as in jimpact at its standard accuracy
TOLERANCE = 1e-8  # admitted per step: gives the errors of jimpact at its standard accuracy
MOST = 128  # steps, as many as jimpact takes at its highest accuracy


class Solved(NamedTuple):
    """Impulse (n, 3), steps until each impact rested (n,), and whether it is finished (n,)."""

    impulse: np.ndarray
    steps: np.ndarray
    ok: np.ndarray


class Library(NamedTuple):
    """The compiled kernel, and the seconds that it took."""

    call: ctypes.CDLL
    seconds: float


def compiler() -> str | None:
    """A C compiler of this machine, or None."""
    return next((path for path in map(shutil.which, ("gcc", "cc", "clang")) if path), None)


def solve(
    W: np.ndarray,
    v: np.ndarray,
    mu: np.ndarray,
    e: np.ndarray,
    *,
    order: int = ORDER,
    tolerance: float = TOLERANCE,
    steps: int = 0,
    threads: int | None = None,
) -> Solved:
    """Solve approaching impacts in float64. `steps` > 0: so many for all of them, instead of until they rest."""
    n = len(mu)
    arrays = [np.ascontiguousarray(a, float) for a in (W, v, mu, e)]
    out = Solved(np.empty((n, 3)), np.empty(n, np.int32), np.empty(n, bool))
    threads = len(os.sched_getaffinity(0)) if threads is None and hasattr(os, "sched_getaffinity") else threads
    addresses = [a.ctypes.data_as(ctypes.c_void_p) for a in (*arrays, *out)]
    library(order).call.solve(n, *addresses, tolerance, steps, MOST, threads or os.cpu_count() or 1)
    return out


@cache
def library(order: int) -> Library:
    """The kernel of an order, compiled once per process; RuntimeError if that fails."""
    found = compiler()
    if found is None:
        raise RuntimeError("no C compiler on this machine")
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.so"
        command = [found, *FLAGS, f"-DORDER={order}", str(SOURCE), "-o", str(path), "-lpthread"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"the C compiler failed: {run.stderr.strip().splitlines()[0]}")
        loaded = ctypes.CDLL(str(path))
    real, whole = ctypes.c_double, ctypes.c_int32
    loaded.solve.argtypes = [ctypes.c_int64, *[ctypes.c_void_p] * 7, real, whole, whole, whole]
    loaded.solve.restype = None
    return Library(loaded, time.perf_counter() - begin)
