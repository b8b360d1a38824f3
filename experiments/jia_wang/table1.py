"""Part "table1": Algorithm 1 in its three variants, jimpact on the same impacts, and what section 6.4 says of both.

Errors are norms of differences of the total impulse, as in the paper. Times are CPU times of all threads, per impact in
one call with slightly different velocities, both programs in the same run; jimpact's are without compilation. In the
claims "n times faster" is read as the ratio of times less one, "p % faster" likewise; "1/n of the time" is the ratio.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, numbers, only, solve_many

from .algorithm1 import Fixed, Run, Varied, algorithm1
from .flow import flow_of, slip_at, sticking_impulse, straight_at, within_product
from .forms import TEXTS, ImpactsForm, Pair, Table1

Lanes = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # W, velocity, friction and restitution of a batch

METHODS = ("NI", "FS", "VS")
COLORS = ("#1f4e9c", "#d1495b")
BATCH, LARGE = 2048, 131_072  # impacts in one call of Algorithm 1, and of jimpact
SEED, SPREAD = 3, 0.01  # relative, of the velocities in a batch
REPEATS = 5
FINER, FINEST = (1.0, 0.1), 0.03  # factors on the steps of FS and VS and on the tolerance; the last for FS only
COMPARABLE = 2.0  # errors within this factor
NDSOLVE = np.array([0.00252722, 0.00368162, 0.00316682])  # s, printed for three schemes of Mathematica


class Half(NamedTuple):
    """One half of Table 1: what is printed, and runs of NI, FS, VS with energy before and after the velocity."""

    scene: Pair
    exact: np.ndarray  # total impulse
    truth: np.ndarray  # the one that the paper calls true
    explicit: list[Run]
    listed: list[Run]
    microseconds: list[float]

    @property
    def run_steps(self) -> list[int]:
        return [int(run.steps[0]) for run in self.explicit]

    def gaps(self, runs: list[Run], to: np.ndarray) -> list[float]:
        return [float(np.linalg.norm(run.impulse[0] - to)) for run in runs]

    def printed(self, what: str) -> np.ndarray:
        """Steps, seconds or errors of NI, FS, VS."""
        return np.array(self.scene.table1.printed[what], float)


class Timed(NamedTuple):
    """One point of the figure: microseconds per impact in a batch, and the largest error there, relative."""

    label: str
    impact: str
    microseconds: float
    error: float
    steps: int = 0


def run(config: ImpactsForm, progress: LabelledProgress) -> Result:
    found: dict[str, Computed] = {}
    points: list[Timed] = []
    rows, halves = [], []
    scenes: dict[str, Pair] = {"icosahedron": config.icosahedron, "pin": config.pin}
    for name, scene in progress(list(scenes.items()), "table 1"):
        explicit, listed = (_methods(config.table1, scene, energy) for energy in ("before", "after"))
        exact = sticking_impulse(scene)
        timed = {point.label: point for point in _timed(config.table1, name, scene, exact)}
        took = [timed[method].microseconds for method in METHODS]
        half = Half(scene, exact, np.array(scene.impulse), explicit, listed, took)
        points += timed.values()
        said, truths = scene.table1.printed, (half.truth, exact)
        gaps = [half.gaps(runs, to) for runs in (explicit, listed) for to in truths]
        for i, method in enumerate(METHODS):
            left, errors = f"{explicit[i].left[0]:.8f}", [f"{gap[i]:.7e}" for gap in gaps]
            end = said["errors"][i], *errors, said["seconds"][i], f"{half.microseconds[i]:.1f}"
            rows.append([name, method, said["steps"][i], half.run_steps[i], left, *end])
        words: dict[str, Any] = dict(zip(("exact", "listed", "listed_exact"), gaps[1:], strict=True))
        words |= {"off": np.linalg.norm(half.truth - exact), "steps": (listed[0].steps[0], half.run_steps[0])}
        halves.append(half)
        found |= {
            f"JW-Table1-steps-{name}": numbers(half.run_steps, steps=half.run_steps),
            f"JW-Table1-errors-{name}": numbers(gaps[0], **words),
            f"JW-Table1-time-{name}": _speed(config.table1, half, timed),
        }
    steps = [half.run_steps for half in halves]
    found["JW-Table1"] = claimed(np.array_equal(steps, [half.printed("steps") for half in halves]), steps=steps)
    found |= _claims(*halves) | _steps(config, halves) | {"JW-Table1-seconds": only()}
    return Result(found, [_picture(points, list(scenes))], [TEXTS.grid("table1", rows)])


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
    ax.set_xticks([5, 10, 20, 50, 100, 200], ["5", "10", "20", "50", "100", "200"])
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize=9)
    return picture


def _claims(icosahedron: Half, pin: Half) -> dict[str, Computed]:
    """What section 6.4 says about speed and accuracy."""
    (ni, fs, vs), e = icosahedron.printed("seconds"), icosahedron.printed("errors")
    mine = np.array(icosahedron.gaps(icosahedron.explicit, icosahedron.truth))
    percent, spreads, ratios = 100 * (fs / vs - 1), (e.max() / e.min(), mine.max() / mine.min()), NDSOLVE / vs
    found = {
        "JW-6.4-icosahedron-NI": numbers(ni / vs - 1, ratio=ni / vs),
        "JW-6.4-icosahedron-FS": numbers(percent, percent=percent),
        "JW-6.4-icosahedron-errors": claimed(max(spreads) < COMPARABLE, spreads=spreads, most=COMPARABLE),
        "JW-6.4-NDSolve": numbers([ratios.min() - 1, ratios.max() - 1], ratios=ratios),
        "JW-6.4-NDSolve-accuracy": only(),
    }
    ni, fs, vs = pin.printed("seconds")
    (e_ni, e_fs, e_vs), (m_ni, m_fs, m_vs) = pin.printed("errors"), pin.gaps(pin.explicit, pin.truth)
    return found | {
        "JW-6.4-pin-NI-time": numbers(ni / vs),
        "JW-6.4-pin-FS-time": claimed(fs / vs - 1 > 1, faster=fs / vs - 1, ratio=fs / vs),
        "JW-6.4-pin-NI-error": numbers(e_ni / e_vs),
        "JW-6.4-pin-NI-error-run": numbers(m_ni / m_vs, NI=m_ni, VS=m_vs),
        "JW-6.4-pin-FS-error": claimed(e_fs > e_vs, ratio=e_fs / e_vs),
        "JW-6.4-pin-FS-error-run": claimed(m_fs > m_vs, ratio=m_fs / m_vs, FS=m_fs, VS=m_vs),
    }


def _steps(config: ImpactsForm, halves: list[Half]) -> dict[str, Computed]:
    """Times of VS, time per step in Table 1, ratios of times by runs here, and steps of the column "Truth".

    Those are of 1e-6 until |gamma x gamma'| is below the tolerance, by a Runge-Kutta method.
    """
    tolerance, counts, products, each, gains, ratios = config.table1.tolerance, [], [], [], [], []
    for half in halves:
        scene, slip, flow = half.scene, half.scene.v[:2], flow_of(half.scene.W, half.scene.friction)
        at = straight_at(flow, slip, scene.impulse[2], [within_product(flow, tolerance)])[0][0]
        counts.append(at / scene.table1.step_truth)
        products.append(within_product(flow, 0.0)(*slip_at(flow, slip, scene.table1.end)))
        ni, fs, vs = half.microseconds
        seconds, steps = (np.append(half.printed(f"truth_{what}"), half.printed(what)) for what in ("seconds", "steps"))
        each.append(1e6 * seconds / steps)
        ratios.append((steps[1] / steps[3], seconds[1] / seconds[3]))
        gains.append((ni / vs, fs / vs))
    off = [abs(n / float(half.printed("truth_steps")) - 1) for n, half in zip(counts, halves, strict=True)]
    return {
        "JW-Table1-truth-steps": numbers(counts, tolerance=tolerance, off=off, products=products),
        "JW-7-time": numbers([1e3 * half.printed("seconds")[2] for half in halves]),
        "JW-Table1-per-step": only(each=each, ratios=ratios),
        "JW-6.4-run": only(gains=gains),
    }
