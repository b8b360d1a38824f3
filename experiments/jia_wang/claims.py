"""What section 6.4 says about speed and accuracy, against Table 1 and against runs of Algorithm 1.

"n times faster" is read as the ratio of times less one, "p % faster" likewise; "1/n of the time" is the ratio.
"""

from typing import NamedTuple

import numpy as np

from jimpact.reproduce import Computed, claimed, numbers, only

from .algorithm1 import Run
from .flow import flow_of, slip_at, straight_at, within_product
from .forms import ImpactsForm, Pair

COMPARABLE = 2.0  # errors within this factor
NDSOLVE = np.array([0.00252722, 0.00368162, 0.00316682])  # s, printed for three schemes of Mathematica


class Half(NamedTuple):
    """One half of Table 1: what is printed, and runs of NI, FS, VS with energy before and after the velocity."""

    scene: Pair
    exact: np.ndarray  # total impulse
    explicit: list[Run]
    listed: list[Run]
    microseconds: list[float]

    @property
    def truth(self) -> np.ndarray:
        """The total impulse that the paper calls true."""
        return np.asarray(self.scene.impulse)

    @property
    def run_steps(self) -> list[int]:
        return [int(run.steps[0]) for run in self.explicit]

    @property
    def errors(self) -> list[float]:
        """Against the printed truth."""
        return self.gaps(self.explicit, self.truth)

    def gaps(self, runs: list[Run], to: np.ndarray) -> list[float]:
        return [float(np.linalg.norm(run.impulse[0] - to)) for run in runs]

    def printed(self, what: str) -> np.ndarray:
        """Steps, seconds or errors of NI, FS, VS."""
        return np.array(getattr(self.scene.table1.printed, what), float)


def claims(config: ImpactsForm, halves: list[Half]) -> dict[str, Computed]:
    """One row for each statement."""
    unchecked = {"JW-6.4-NDSolve-accuracy": only(), "JW-Table1-seconds": only()}
    return _icosahedron(halves[0]) | _pin(halves[1]) | _truth(config, halves) | _both(halves) | unchecked


def _icosahedron(half: Half) -> dict[str, Computed]:
    (ni, fs, vs), e, mine = half.printed("seconds"), half.printed("errors"), np.array(half.errors)
    percent, spreads = 100 * (fs / vs - 1), (e.max() / e.min(), mine.max() / mine.min())
    ratios = NDSOLVE / vs
    return {
        "JW-6.4-icosahedron-NI": numbers(ni / vs - 1, ratio=ni / vs),
        "JW-6.4-icosahedron-FS": numbers(percent, percent=percent),
        "JW-6.4-icosahedron-errors": claimed(max(spreads) < COMPARABLE, spreads=spreads, most=COMPARABLE),
        "JW-6.4-NDSolve": numbers([ratios.min() - 1, ratios.max() - 1], ratios=ratios),
    }


def _pin(half: Half) -> dict[str, Computed]:
    ni, fs, vs = half.printed("seconds")
    e_ni, e_fs, e_vs = half.printed("errors")
    m_ni, m_fs, m_vs = half.errors
    return {
        "JW-6.4-pin-NI-time": numbers(ni / vs),
        "JW-6.4-pin-FS-time": claimed(fs / vs - 1 > 1, faster=fs / vs - 1, ratio=fs / vs),
        "JW-6.4-pin-NI-error": numbers(e_ni / e_vs),
        "JW-6.4-pin-NI-error-run": numbers(m_ni / m_vs, NI=m_ni, VS=m_vs),
        "JW-6.4-pin-FS-error": claimed(e_fs > e_vs, ratio=e_fs / e_vs),
        "JW-6.4-pin-FS-error-run": claimed(m_fs > m_vs, ratio=m_fs / m_vs, FS=m_fs, VS=m_vs),
    }


def _truth(config: ImpactsForm, halves: list[Half]) -> dict[str, Computed]:
    """The column "Truth": steps of 1e-6 until |gamma x gamma'| is below the tolerance, by a Runge-Kutta method."""
    tolerance, counts, products = config.table1.tolerance, [], []
    for scene in (half.scene for half in halves):
        flow, slip = flow_of(scene.W, scene.friction), scene.v[:2]
        at = straight_at(flow, slip, scene.impulse[2], [within_product(flow, tolerance)])[0][0]
        counts.append(at / scene.table1.step_truth)
        products.append(within_product(flow, 0.0)(*slip_at(flow, slip, scene.table1.end)))
    off = [abs(n / float(half.printed("truth_steps")) - 1) for n, half in zip(counts, halves, strict=True)]
    return {"JW-Table1-truth-steps": numbers(counts, tolerance=tolerance, off=off, products=products)}


def _both(halves: list[Half]) -> dict[str, Computed]:
    """Times of VS, time per step in Table 1, and ratios of times by runs here."""
    each, gains, ratios = [], [], []
    for half in halves:
        ni, fs, vs = half.microseconds
        seconds, steps = (np.append(half.printed(f"truth_{what}"), half.printed(what)) for what in ("seconds", "steps"))
        each.append(1e6 * seconds / steps)
        ratios.append((steps[1] / steps[3], seconds[1] / seconds[3]))
        gains.append((ni / vs, fs / vs))
    return {
        "JW-7-time": numbers([1e3 * half.printed("seconds")[2] for half in halves]),
        "JW-Table1-per-step": only(each=each, ratios=ratios),
        "JW-6.4-run": only(gains=gains),
    }
