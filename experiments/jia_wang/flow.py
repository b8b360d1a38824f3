"""Slip by its angle: the speed in closed form, and events by a Runge-Kutta method; both independent of jimpact.

With slip r (cos a, sin a), s the unit vector of slip and t = s turned by +90 degrees, the flow (31) reads

    r' = g(a)        r a' = h(a)        g = s.(d - mu B s)        h = t.(d - mu B s)

so that d(ln r)/da = g/h, a ratio of trigonometric polynomials of degree 2. In z = exp(i a) it is rational, with simple
poles at 0 and at the four roots of h, and ln r is a sum of logarithms: r is a product of powers. The normal impulse
is the integral of r/h. For events the clock is dI_z = r dt, in which a' = h, (ln r)' = g and I_z' = r are smooth, and
well scaled also where slip stops.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from jimpact.reproduce import heading, unit

from .forms import Case

FINE = 20_001  # angles along a path, to follow the branches of logarithms and to find the least slip
DECAY = 300.0  # of ln r: slip is over
LONG = 1e6  # kg: far beyond any decay of slip
OVER = 1e-15  # of the slip before: round-off
TIGHT: dict[str, Any] = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-18}

Test = Callable[[float, float], float]  # of angle and speed of slip; at most 0 where slip counts as straight


class Flow(NamedTuple):
    """g and h as polynomials in z, times z^2; highest power first."""

    g: np.ndarray
    h: np.ndarray

    def rates(self, angle: Any) -> tuple[np.ndarray, np.ndarray]:
        z = np.exp(1j * np.asarray(angle))
        return (np.polyval(self.g, z) / z**2).real, (np.polyval(self.h, z) / z**2).real

    def turning(self, angle: np.ndarray) -> np.ndarray:
        """dh/da: above zero at an invariant direction that repels."""
        z = np.exp(1j * angle)
        return (1j * np.polyval(np.arange(2, -3, -1) * self.h, z) / z**2).real


def flow_of(inverse_inertia: np.ndarray, friction: float) -> Flow:
    """The two polynomials of an impact."""
    (bxx, bxy), (_, byy) = inverse_inertia[:2, :2]
    dx, dy = inverse_inertia[:2, 2]
    cos1, sin1 = np.array([0, 1, 0, 1, 0]) / 2, np.array([0, 1, 0, -1, 0]) / 2j
    cos2, sin2 = np.array([1, 0, 0, 0, 1]) / 2, np.array([1, 0, 0, 0, -1]) / 2j
    one = np.array([0, 0, 1, 0, 0])
    g = dx * cos1 + dy * sin1 - friction * ((bxx + byy) / 2 * one + (bxx - byy) / 2 * cos2 + bxy * sin2)
    h = dy * cos1 - dx * sin1 - friction * ((byy - bxx) / 2 * sin2 + bxy * cos2)
    return Flow(g, h)


def speed_ratio(flow: Flow, angles: np.ndarray) -> np.ndarray:
    """r over its first value along angles that follow each other closely and reach no invariant direction."""
    poles = np.append(np.roots(flow.h), 0)
    slope = np.polyder(np.polymul(flow.h, [1, 0]))
    powers = np.polyval(flow.g, poles) / (1j * np.polyval(slope, poles))
    away = np.exp(1j * angles)[:, None] - poles
    logarithms = np.log(np.abs(away)) + 1j * np.unwrap(np.angle(away), axis=0)
    return np.exp((powers * (logarithms - logarithms[0])).sum(-1).real)


def refined(flow: Flow, slip: np.ndarray, between: int = 20) -> np.ndarray:
    """Sampled slip (samples, 2) with more points in between, while it turns."""
    angles = np.unwrap(heading(slip))
    places = np.linspace(0, len(slip) - 1, between * (len(slip) - 1) + 1)
    fine = np.interp(places, np.arange(len(slip)), angles)
    speed = np.hypot(*slip[0]) * speed_ratio(flow, fine)
    return speed[:, None] * unit(fine)


def least_slip(flow: Flow, before: np.ndarray, after: np.ndarray) -> float:
    """The least speed of slip of an impact in which it never stops; 0 where it is over at the end."""
    if np.hypot(*after) == 0:
        return 0.0
    start = heading(before)
    turn = (heading(after) - start + np.pi) % (2 * np.pi) - np.pi
    ahead = np.sign(flow.rates(start)[1])
    turn += 2 * np.pi * ahead * (ahead != np.sign(turn))
    return float(np.hypot(*before) * speed_ratio(flow, start + turn * np.linspace(0, 1, FINE)).min())


def within_angle(rays: np.ndarray, tolerance: float) -> Test:
    """Slip within an angle of one of the invariant directions (k, 2)."""
    angles = heading(rays)
    return lambda a, r: float(np.abs((a - angles + np.pi) % (2 * np.pi) - np.pi).min()) - tolerance


def within_product(flow: Flow, tolerance: float) -> Test:
    """|gamma x gamma'| below a tolerance, as in Algorithm 1."""
    return lambda a, r: r * abs(float(flow.rates(a)[1])) - tolerance


def straight_at(flow: Flow, slip: np.ndarray, last: float, tests: list[Test]) -> list[tuple[float, float]]:
    """Normal impulse and rate g of slip where each test first holds, up to a normal impulse `last`; nan if never."""
    path = _path(flow, slip, last, tests)
    start, found = path.y[:, 0], []
    for test, hits in zip(tests, path.y_events[1:], strict=True):
        first = [start] if test(start[0], np.exp(start[1])) <= 0 else hits
        found.append((float(first[0][2]), float(flow.rates(first[0][0])[0])) if len(first) else (np.nan, np.nan))
    return found


def slip_at(flow: Flow, slip: np.ndarray, at: float) -> tuple[float, float]:
    """Angle and speed of slip at a normal impulse."""
    end = _path(flow, slip, at, []).y[:, -1]
    return float(end[0]), float(np.exp(end[1]))


def _path(flow: Flow, slip: np.ndarray, last: float, tests: list[Test]) -> Any:
    """Angle, ln of the speed and normal impulse, to `last` or until slip is over."""
    start = np.array([heading(slip), np.log(np.hypot(*slip)), 0.0])

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        g, h = flow.rates(y[0])
        return np.array([h, g, np.exp(y[1])])

    def over(_: float, y: np.ndarray) -> float:
        return min(last - y[2], y[1] - start[1] + DECAY)

    over.terminal = True  # type: ignore[attr-defined]
    events = [over, *(lambda _, y, test=test: test(y[0], np.exp(y[1])) for test in tests)]
    return solve_ivp(rates, (0, LONG), start, method="DOP853", rtol=1e-10, atol=1e-12, events=events)


def sticking_impulse(case: Case) -> np.ndarray:
    """Total impulse under Stronge's hypothesis, if slip stops and sticks before the end; by tight tolerances.

    Clock: dp = |gamma| dt. What is left of the slip after the last step is below round-off.
    """
    W, v, mu, e = case.arrays
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
