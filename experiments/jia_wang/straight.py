"""Where slip is all but straight: event l for any tolerance, by a Runge-Kutta method independent of jimpact.

With slip r (cos a, sin a) and the clock dI_z = r dt, (31) reads a' = h(a), (ln r)' = g(a), I_z' = r: smooth, and well
scaled also where slip stops.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from .closed_form import Flow

__all__ = ["Test", "slip_at", "straight_at", "within_angle", "within_product"]

DECAY = 300.0  # of ln r: slip is over
LONG = 1e6  # kg: far beyond any decay of slip

Test = Callable[[float, float], float]  # of angle and speed of slip; at most 0 where slip counts as straight


def within_angle(rays: np.ndarray, tolerance: float) -> Test:
    """Slip within an angle of one of the invariant directions (k, 2)."""
    angles = np.arctan2(rays[:, 1], rays[:, 0])
    return lambda a, r: float(np.abs((a - angles + np.pi) % (2 * np.pi) - np.pi).min()) - tolerance


def within_product(flow: Flow, tolerance: float) -> Test:
    """|gamma x gamma'| below a tolerance, as in Algorithm 1."""
    return lambda a, r: r * abs(float(flow.rates(np.array(a))[1])) - tolerance


def straight_at(flow: Flow, slip: np.ndarray, last: float, tests: list[Test]) -> list[tuple[float, float]]:
    """Normal impulse and rate g of slip where each test first holds, up to a normal impulse `last`; nan if never."""
    path = _path(flow, slip, last, tests)
    start, found = path.y[:, 0], []
    for test, hits in zip(tests, path.y_events[1:], strict=True):
        if test(start[0], np.exp(start[1])) <= 0:
            hits = start[None]
        found.append((float(hits[0][2]), float(flow.rates(hits[0][0])[0])) if len(hits) else (np.nan, np.nan))
    return found


def slip_at(flow: Flow, slip: np.ndarray, at: float) -> tuple[float, float]:
    """Angle and speed of slip at a normal impulse."""
    end = _path(flow, slip, at, []).y[:, -1]
    return float(end[0]), float(np.exp(end[1]))


def _path(flow: Flow, slip: np.ndarray, last: float, tests: list[Test]) -> Any:
    """Angle, ln of the speed and normal impulse, to `last` or until slip is over."""
    start = np.array([np.arctan2(slip[1], slip[0]), np.log(np.hypot(*slip)), 0.0])

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        g, h = flow.rates(y[0])
        return np.array([h, g, np.exp(y[1])])

    def over(_: float, y: np.ndarray) -> float:
        return min(last - y[2], y[1] - start[1] + DECAY)

    over.terminal = True  # type: ignore[attr-defined]
    events = [over, *(lambda _, y, test=test: test(y[0], np.exp(y[1])) for test in tests)]
    return solve_ivp(rates, (0, LONG), start, method="DOP853", rtol=1e-10, atol=1e-12, events=events)
