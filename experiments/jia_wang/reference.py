"""An impact that ends in stick, by a Runge-Kutta method of order 8 with tight tolerances: independent of jimpact.

Clock: dp = |gamma| dt, in which (31) is smooth also where slip stops; slip decays exponentially, and what is left of it
after the last step is below round-off.
"""

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from .forms import Case

__all__ = ["sticking_impulse"]

OVER = 1e-15  # of the slip before: round-off
LONG = 1e6  # kg: far beyond any decay of slip
TIGHT: dict[str, Any] = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-18}


def sticking_impulse(case: Case) -> np.ndarray:
    """Total impulse under Stronge's hypothesis, if slip stops and sticks before the end."""
    W, v, mu, e = np.asarray(case.inverse_inertia), np.asarray(case.velocity), case.friction, case.restitution
    B, d = W[:2, :2], W[:2, 2]
    stuck = np.linalg.solve(B, d)
    if np.linalg.norm(stuck) > mu:
        raise ValueError("friction is too low to stick: this impact does not end in stick")

    def normal_velocity(y: np.ndarray) -> float:
        return v[2] + W[2, 2] * y[2] + d @ np.linalg.solve(B, y[:2] - v[:2] - y[2] * d)

    def flow(_: float, y: np.ndarray) -> np.ndarray:
        r = np.hypot(y[0], y[1])
        return np.array([*(r * d - mu * B @ y[:2]), r, -r * normal_velocity(y)])

    def stopped(_: float, y: np.ndarray) -> float:
        return np.hypot(y[0], y[1]) - OVER * np.hypot(v[0], v[1])

    stopped.terminal = True  # type: ignore[attr-defined]
    rest = lambda _, y: normal_velocity(y)  # noqa: E731
    path = solve_ivp(flow, (0, LONG), [*v[:2], 0, 0], events=(rest, stopped), **TIGHT)
    p, E, vz = path.y[2, -1], path.y[3, -1], normal_velocity(path.y[:, -1])
    k = W[2, 2] - d @ stuck
    if vz < 0:  # compression ends in stick
        E, p, vz = e**2 * (E + vz**2 / (2 * k)), p - vz / k, 0.0
    else:
        E -= (1 - e**2) * path.y_events[0][0][3]
    p += (np.sqrt(vz**2 + 2 * k * E) - vz) / k
    return np.append(np.linalg.solve(B, -v[:2] - p * d), p)
