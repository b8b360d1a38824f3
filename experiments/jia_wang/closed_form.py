"""Slip speed by slip angle in closed form, and normal impulse by slip angle as a quadrature.

With slip r (cos a, sin a), s the unit vector of slip and t = s turned by +90 degrees, the flow (31) reads

    r' = g(a)        r a' = h(a)        g = s.(d - mu B s)        h = t.(d - mu B s)

so that d(ln r)/da = g/h, a ratio of trigonometric polynomials of degree 2. In z = exp(i a) it is rational, with simple
poles at 0 and at the four roots of h, and ln r is a sum of logarithms: r is a product of powers. The normal impulse
is the integral of r/h.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import quad

__all__ = ["Flow", "flow_of", "impulse_between", "least_slip", "refined", "speed_ratio"]

FINE = 20_001  # angles along a path, to follow the branches of logarithms and to find the least slip


class Flow(NamedTuple):
    """g and h as polynomials in z, times z^2; highest power first."""

    g: np.ndarray
    h: np.ndarray

    def rates(self, angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = np.exp(1j * np.asarray(angle))
        return (np.polyval(self.g, z) / z**2).real, (np.polyval(self.h, z) / z**2).real

    def turning(self, angle: np.ndarray) -> np.ndarray:
        """dh/da: above zero at an invariant direction that repels."""
        z = np.exp(1j * np.asarray(angle))
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
    roots = np.roots(flow.h)
    poles = np.append(roots, 0)
    slope = np.polyder(np.polymul(flow.h, [1, 0]))
    powers = np.polyval(flow.g, poles) / (1j * np.polyval(slope, poles))
    away = np.exp(1j * angles)[:, None] - poles
    logarithms = np.log(np.abs(away)) + 1j * np.unwrap(np.angle(away), axis=0)
    sums = (powers * (logarithms - logarithms[0])).sum(-1)
    return np.exp(sums.real)


def refined(flow: Flow, slip: np.ndarray, turning: int, between: int = 20) -> np.ndarray:
    """Sampled slip (samples, 2) with more points between the first `turning` samples, by the closed form."""
    if turning < 2:
        return slip
    angles = np.unwrap(np.arctan2(slip[:turning, 1], slip[:turning, 0]))
    places = np.linspace(0, turning - 1, between * (turning - 1) + 1)
    fine = np.interp(places, np.arange(turning), angles)
    speed = np.hypot(*slip[0]) * speed_ratio(flow, fine)
    return np.concatenate([speed[:, None] * np.stack([np.cos(fine), np.sin(fine)], -1), slip[turning:]])


def impulse_between(flow: Flow, slip: float, first: float, last: float) -> float:
    """Normal impulse while slip turns from one angle to another, from the speed `slip`."""
    steps = np.linspace(0, 1, 101)

    def integrand(angle: float) -> float:
        ratio = speed_ratio(flow, first + (angle - first) * steps)[-1]
        return slip * ratio / float(flow.rates(np.array(angle))[1])

    return quad(integrand, first, last, epsabs=0, epsrel=1e-11, limit=200)[0]


def least_slip(inverse_inertia: np.ndarray, friction: float, before: np.ndarray, after: np.ndarray) -> float:
    """The least speed of slip of an impact in which it never stops; 0 where it is over at the end."""
    if np.hypot(*after[:2]) == 0:
        return 0.0
    start = np.arctan2(before[1], before[0])
    turn = (np.arctan2(after[1], after[0]) - start + np.pi) % (2 * np.pi) - np.pi
    ahead = flow_of(inverse_inertia, friction).rates(np.array(start))[1]
    turn += 2 * np.pi * np.sign(ahead) * (np.sign(ahead) != np.sign(turn))
    angles = start + turn * np.linspace(0, 1, FINE)
    return float(np.hypot(*before[:2]) * speed_ratio(flow_of(inverse_inertia, friction), angles).min())
