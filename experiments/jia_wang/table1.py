"""Part "table1": Algorithm 1 in its three variants, jimpact on the same impacts, and what section 6.4 says of both.

Errors are norms of differences of the total impulse, as in the paper. Times are CPU times of all threads, per impact in
one call with slightly different velocities, both programs in the same run; jimpact's are without compilation.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

import jimpact
from jimpact.reproduce import Computed, Picture, Progress, Result, claimed, numbers, only, solve_many

from .algorithm1 import Fixed, Run, Varied, algorithm1
from .claims import Half, claims
from .flow import sticking_impulse
from .forms import TEXTS, ImpactsForm, Pair, Table1

Lanes = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # W, velocity, friction and restitution of a batch

METHODS = ("NI", "FS", "VS")
COLORS = ("#1f4e9c", "#d1495b")
BATCH, LARGE = 2048, 131_072  # impacts in one call of Algorithm 1, and of jimpact
SEED, SPREAD = 3, 0.01  # relative, of the velocities in a batch
REPEATS = 5
FINER, FINEST = (1.0, 0.1), 0.03  # factors on the steps of FS and VS and on the tolerance; the last for FS only


class Timed(NamedTuple):
    """One point of the figure: microseconds per impact in a batch, and the largest error there, relative."""

    label: str
    impact: str
    microseconds: float
    error: float
    steps: int = 0


def run(config: ImpactsForm, progress: Progress) -> Result:
    found: dict[str, Computed] = {}
    points: list[Timed] = []
    rows, halves = [], []
    scenes: dict[str, Pair] = {"icosahedron": config.icosahedron, "pin": config.pin}
    for name, scene in progress(list(scenes.items()), "table 1"):
        explicit, listed = (_methods(config.table1, scene, energy) for energy in ("before", "after"))
        exact = sticking_impulse(scene)
        timed = {point.label: point for point in _timed(config.table1, name, scene, exact)}
        half = Half(scene, exact, explicit, listed, [timed[method].microseconds for method in METHODS])
        points += timed.values()
        rows += _rows(name, half)
        halves.append(half)
        found |= {
            f"JW-Table1-steps-{name}": numbers(half.run_steps, steps=half.run_steps),
            f"JW-Table1-errors-{name}": _errors(half),
            f"JW-Table1-time-{name}": _speed(config.table1, half, timed),
        }
    steps = [half.run_steps for half in halves]
    found["JW-Table1"] = claimed(np.array_equal(steps, [half.printed("steps") for half in halves]), steps=steps)
    return Result(found | claims(config, halves), [_picture(points, list(scenes))], [TEXTS.grid("table1", rows)])


def _lanes(scene: Pair, count: int = 1) -> Lanes:
    """Impacts with slightly different velocities; the first is the impact itself."""
    W, v, mu, e = (np.repeat(field[None], count, 0) for field in scene.arrays)
    v[1:] *= 1 + SPREAD * np.random.default_rng(SEED).normal(size=v.shape)[1:]
    return W, v, mu, e


def _methods(given: Table1, scene: Pair, energy: str) -> list[Run]:
    """NI, FS and VS with the printed steps."""
    lane = _lanes(scene)
    methods = Fixed(scene.table1.step_fs), Varied(given.share, given.arc, given.turn)
    by_steps = algorithm1(*lane, Fixed(scene.table1.step_ni), closed=False, energy=energy)
    return [by_steps, *(algorithm1(*lane, method, tolerance=given.tolerance, energy=energy) for method in methods)]


def _rows(name: str, half: Half) -> list[list[Any]]:
    said, rows = half.scene.table1.printed, []
    gaps = [half.gaps(runs, to) for runs in (half.explicit, half.listed) for to in (half.truth, half.exact)]
    for i, method in enumerate(METHODS):
        left, errors = f"{half.explicit[i].left[0]:.8f}", [f"{gap[i]:.7e}" for gap in gaps]
        end = said.errors[i], *errors, said.seconds[i], f"{half.microseconds[i]:.1f}"
        rows.append([name, method, said.steps[i], half.run_steps[i], left, *end])
    return rows


def _errors(half: Half) -> Computed:
    """Errors against the printed truth and against the exact impulse."""
    listed, listed_exact = (half.gaps(half.listed, to) for to in (half.truth, half.exact))
    exact = half.gaps(half.explicit, half.exact)
    off, steps = np.linalg.norm(half.truth - half.exact), (half.listed[0].steps[0], half.run_steps[0])
    return numbers(half.errors, exact=exact, off=off, steps=steps, listed=listed, listed_exact=listed_exact)


def _timed(given: Table1, name: str, scene: Pair, exact: np.ndarray) -> list[Timed]:
    """Both programs on one batch; errors against jimpact, whose own error is that of the impact itself."""
    batch, large = _lanes(scene, BATCH), _lanes(scene, LARGE)
    took = _clock(lambda: np.asarray(_impulse(*large)), 1 + REPEATS)[0]
    answer = solve_many(*batch).impulse
    own = max(float(np.linalg.norm(answer[0] - exact) / np.linalg.norm(exact)), np.finfo(float).eps)
    points = [Timed("jimpact", name, took / LARGE * 1e6, own)]
    runs = {"NI": partial(algorithm1, *batch, Fixed(scene.table1.step_ni), closed=False)}
    for f in FINER:
        mark, varied = "" if f == 1 else f" x {f:g}", Varied(given.share, f * given.arc, f * given.turn)
        runs["FS" + mark] = partial(algorithm1, *batch, Fixed(f * scene.table1.step_fs), tolerance=f * given.tolerance)
        runs["VS" + mark] = partial(algorithm1, *batch, varied, tolerance=f * given.tolerance)
    for label, program in runs.items():
        took, run = _clock(program, REPEATS if label in ("FS", "VS") else 1)
        error = np.linalg.norm(run.impulse - answer, axis=-1) / np.linalg.norm(answer, axis=-1)
        points.append(Timed(label, name, took / BATCH * 1e6, error.max(), int(run.steps[0])))
    return points


@jax.jit
def _impulse(*lanes: jax.Array) -> jax.Array:
    """As a user calls it: one batch, the impulse only."""
    return jimpact.solve(*lanes).impulse


def _clock(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The best CPU time of some runs, in seconds, and the result."""
    best, result = np.inf, None
    for _ in range(repeats):
        begin = time.process_time()
        result = function()
        best = min(best, time.process_time() - begin)
    return best, result


def _speed(given: Table1, half: Half, timed: dict[str, Timed]) -> Computed:
    """Time of jimpact and of FS and VS, and what FS would need for the same error."""
    size = FINEST * half.scene.table1.step_fs
    fine = algorithm1(*_lanes(half.scene), Fixed(size), tolerance=FINEST * given.tolerance)
    error, steps = half.gaps([fine], half.exact)[0] / np.linalg.norm(half.exact), int(fine.steps[0])
    own, fixed, variable = timed["jimpact"], timed["FS"], timed["VS"]
    needed = steps * error / own.error
    words: dict[str, Any] = {"own": own, "FS": fixed, "VS": variable}
    words |= {"times": [point.microseconds / own.microseconds for point in (fixed, variable)], "error": error}
    ratio = fixed.microseconds / fixed.steps * needed / own.microseconds
    return only(batch=BATCH, large=LARGE, steps=steps, needed=needed, ratio=ratio, **words)


def _picture(points: list[Timed], names: list[str]) -> Picture:
    """Error against time per impact."""
    picture, (ax,) = TEXTS.page("table1")
    for impact, color in zip(names, COLORS, strict=True):
        for method, marker in (("FS", "o"), ("VS", "s")):
            own = [p for p in points if p.impact == impact and p.label.startswith(method)]
            x, y = [p.microseconds for p in own], [p.error for p in own]
            ax.loglog(x, y, marker + "-", color=color, label=f"{impact}, {method} of Algorithm 1 (NumPy)")
        mine = next(p for p in points if p.impact == impact and p.label == "jimpact")
        ax.loglog(mine.microseconds, mine.error, "*", color=color, ms=14, ls="", label=f"{impact}, jimpact")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize=9)
    return picture
