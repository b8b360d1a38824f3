"""Impacts by `scipy.integrate.solve_ivp`, one after another: phases of slip that end at events, then closed forms.

The clock is the regularised one, dp = |slip| dtau (docs/method.md), in which nothing is singular where slip ends; slip
that is all but gone counts as zero. What follows, stick or slip along the diverging ray, is straight.

| letter | meaning                                                     | unit |
|--------|-------------------------------------------------------------|------|
| y      | slip (2), normal impulse, work of the normal force          | scaled |
| B, d   | blocks of the inverse inertia                               | scaled |
| lost   | work of all compressions, below 0                           | scaled |
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from .population import Impacts, scaled

__all__ = ["solve"]

LEFT = 1e-10  # of the slip at the start: less counts as zero
FOREVER = 1e6  # of the clock
MOST = 8  # phases of one impact
LOOSER = 100  # absolute tolerances are smaller than relative ones by this factor, in scaled units


class Impact(NamedTuple):
    """One impact in scaled units."""

    B: np.ndarray
    d: np.ndarray
    inverse: np.ndarray  # of B
    v: np.ndarray
    mu: float
    e: float

    def tangential(self, slip: np.ndarray, p: float) -> np.ndarray:
        return self.inverse @ (slip - self.v[:2] - p * self.d)

    def normal_velocity(self, y: np.ndarray) -> float:
        return float(self.v[2] + y[2] + self.d @ self.tangential(y[:2], y[2]))

    def flow(self, _: float, y: np.ndarray) -> np.ndarray:
        r = np.hypot(y[0], y[1])
        return np.array([*(r * self.d - self.mu * self.B @ y[:2]), r, r * self.normal_velocity(y)])


def solve(impacts: Impacts, method: str = "DOP853", tolerance: float = 1e-10) -> np.ndarray:
    """Impulses (n, 3); nan where no end was found."""
    (W, v, mu, e), unit = scaled(impacts)
    lanes = [Impact(A[:2, :2], A[:2, 2], np.linalg.inv(A[:2, :2]), a, b, c) for A, a, b, c in zip(W, v, mu, e)]  # noqa: B905
    return np.stack([_one(lane, method, tolerance) for lane in lanes]) * unit


def _one(impact: Impact, method: str, tolerance: float) -> np.ndarray:
    y, lost, back, compressing = np.array([*impact.v[:2], 0.0, 0.0]), 0.0, 0.0, True
    for _ in range(MOST):
        y[3] = 0.0
        events = _events(impact, compressing, impact.e**2 * lost + back)
        options = {"rtol": tolerance, "atol": tolerance / LOOSER, "events": events}
        run = solve_ivp(impact.flow, (0, FOREVER), y, method, **options)
        if run.status != 1:
            break
        y, hit = run.y[:, -1].copy(), [len(t) > 0 for t in run.t_events]
        lost, back = (lost + y[3], back) if compressing else (lost, back + y[3])
        if hit[0]:
            return _straight(impact, y[2], lost, back, compressing)
        if not compressing and hit[2]:
            return np.array([*impact.tangential(y[:2], y[2]), y[2]])
        compressing = not compressing
    return np.full(3, np.nan)


def _events(impact: Impact, compressing: bool, missing: float) -> list[Any]:
    """Slip is zero; the phase turns; and, while the bodies part, the work of restitution is done."""
    least = LEFT * np.hypot(*impact.v[:2])
    stops: Any = lambda _, y: np.hypot(y[0], y[1]) - least  # noqa: E731
    turns: Any = lambda _, y: impact.normal_velocity(y)  # noqa: E731
    ends: Any = lambda _, y: y[3] + missing  # noqa: E731
    stops.direction, turns.direction, ends.direction = -1, 1 if compressing else -1, 1
    stops.terminal = turns.terminal = ends.terminal = True
    return [stops, turns] if compressing else [stops, turns, ends]


def _straight(impact: Impact, p: float, lost: float, back: float, compressing: bool) -> np.ndarray:
    """From zero slip to the end: the normal velocity grows at a constant rate k."""
    ratio = impact.inverse @ impact.d
    if np.linalg.norm(ratio) > impact.mu:
        ratio = impact.mu * _diverging(impact)
    k, v = 1 - impact.d @ ratio, impact.normal_velocity(np.array([0, 0, p]))
    more = 0.0
    if compressing:
        more = -v / k
        lost, v = lost + v * more / 2, 0.0
    more += (np.sqrt(max(v * v - 2 * k * (impact.e**2 * lost + back), 0)) - v) / k
    return np.array([*(impact.tangential(np.zeros(2), p) - more * ratio), p + more])


def _diverging(impact: Impact) -> np.ndarray:
    """The unit vector s = (l + mu B)^-1 d along which slip leaves zero, at a rate l > 0."""
    ray = lambda l: np.linalg.solve(l * np.eye(2) + impact.mu * impact.B, impact.d)  # noqa: E731
    rate = brentq(lambda l: np.linalg.norm(ray(l)) - 1, 0, np.linalg.norm(impact.d), xtol=1e-15)
    return ray(rate)
