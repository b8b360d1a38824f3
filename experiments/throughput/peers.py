"""The other competitors: each solves a part of the same impacts, as many as it can in a few seconds."""

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..jia_wang.algorithm1 import Varied, algorithm1
from . import kernel, scipy_peer
from .field import Field, Lanes
from .ours import Compiled, compile_program
from .population import Impacts, part, scaled
from .race import Answer, Entry, Missing, Program

__all__ = ["COMPETITORS", "peers"]

COMPETITORS = ("diffrax", "scipy", "numpy", "numba", "c")
ALGORITHM = "Algorithm 1 (VS)"
SHARE, ALIGNED = 0.5, 0.1  # of (36); the tolerance of Algorithm 1, of the turn in a step
PASSES = (64, 512, 4096, 32768)  # steps at most: what is not finished begins anew in the next pass
PRINTED, FINE = 0.01, 0.001  # steps of Algorithm 1 in the paper, and finer ones
TOLERANCE, ZERO = 1e-8, 1e-6  # of diffrax; slip is lost in the noise of a step below its tolerance
TUNED, DEFAULT = 100, 4096  # steps of diffrax at most; the second is its own choice
INSTALL = "is not installed: pip install 'jimpact[bench]'"


def peers(field: Field, *, few: int, single: int, only: tuple[str, ...], quick: bool) -> list[Entry]:
    """Entries of the chosen competitors; `few` impacts for vectorised Python, `single` for a loop over impacts."""
    both = (("mix", field.mix), ("slip", field.slip))
    entries: list[Entry] = []
    if "diffrax" in only:
        for clock in ("regularised",) if quick else ("regularised", "impulse"):
            entries += [_diffrax(clock, TUNED, name, lanes, few) for name, lanes in both]
        entries += [] if quick else [_diffrax("impulse", DEFAULT, "mix", field.mix, few)]
    if "scipy" in only:
        entries.append(_entry("SciPy", "DOP853 1e-10", field.mix, single, _scipy))
    for step in (PRINTED,) if quick else (PRINTED, FINE):
        if "numpy" in only:
            entries.append(_entry(f"NumPy {ALGORITHM}", f"{step:g}", field.mix, few, partial(_numpy, step)))
        if "numba" in only:
            entries.append(_entry(f"numba {ALGORITHM}", f"{step:g}", field.mix, 10 * few, partial(_numba, step)))
    if "c" in only:
        n = len(field.mix.ok)
        entries += [_entry("C kernel", "early exit", field.mix, n, partial(_kernel, False))]
        entries += [_entry("C kernel", "fixed steps", field.mix, n, partial(_kernel, True))]
    return entries


def _entry(competitor: str, setting: str, lanes: Lanes, n: int, make: Callable[[Impacts], Program]) -> Entry:
    n = min(n, len(lanes.ok))
    prepare = lambda: make(part(lanes.impacts, slice(n)))  # noqa: E731
    return Entry(competitor, setting, "forward", "float64", "mix", n, lanes.truth["forward"], prepare)


def _read(impulse: Any) -> Answer:
    values = np.asarray(impulse)
    return Answer(values, np.isfinite(values).all(-1))


def _diffrax(clock: str, most: int, name: str, lanes: Lanes, n: int) -> Entry:
    n = min(n, len(lanes.ok))

    def prepare() -> Program:
        call, seconds, memory = _compiled(clock, most, n)
        given = [jnp.asarray(a) for a in part(lanes.impacts, slice(n))]
        return Program(lambda: jax.block_until_ready(call(*given)), _read, seconds, memory)

    setting = f"{clock}, {most} steps"
    return Entry("diffrax", setting, "forward", "float64", name, n, lanes.truth["forward"], prepare)


@cache
def _compiled(clock: str, most: int, n: int) -> Compiled:
    """The program of diffrax for n impacts; Missing without it."""
    try:
        from .diffrax_peer import Method, solve
    except ImportError as reason:
        raise Missing(f"{reason.name} {INSTALL}") from reason
    method = Method(clock, TOLERANCE, ZERO, most)  # type: ignore[arg-type]
    return compile_program(lambda *a: solve(*a, method), n)


def _scipy(impacts: Impacts) -> Program:
    return Program(lambda: scipy_peer.solve(impacts), _read)


def _numpy(step: float, impacts: Impacts) -> Program:
    lanes, unit = scaled(impacts)
    steps = Varied(SHARE, step, step)

    def run() -> np.ndarray:
        impulse, left = np.full((len(unit), 3), np.nan), np.arange(len(unit))
        with np.errstate(all="ignore"):
            for most in PASSES:
                found = algorithm1(*part(lanes, left), steps, tolerance=ALIGNED * step, most=most)
                impulse[left], left = found.impulse, left[found.steps == most]
                if not len(left):
                    break
        return impulse * unit

    return Program(run, _read)


def _numba(step: float, impacts: Impacts) -> Program:
    try:
        from . import numba_peer
    except ImportError as reason:
        raise Missing(f"{reason.name} {INSTALL}") from reason
    lanes, unit = scaled(impacts)
    settings = (SHARE, step, step, ALIGNED * step, PASSES[-1])
    begin = time.perf_counter()
    numba_peer.solve(part(lanes, slice(1)), *settings)
    seconds = time.perf_counter() - begin
    return Program(lambda: numba_peer.solve(lanes, *settings) * unit, _read, seconds)


def _kernel(fixed: bool, impacts: Impacts) -> Program:
    try:
        seconds = kernel.library(kernel.ORDER).seconds
    except RuntimeError as reason:
        raise Missing(str(reason)) from reason
    steps = int(kernel.solve(*impacts).steps.max()) if fixed else 0  # so many that the slowest impact comes to rest
    return Program(lambda: kernel.solve(*impacts, steps=steps), lambda out: Answer(out.impulse, out.ok), seconds)
