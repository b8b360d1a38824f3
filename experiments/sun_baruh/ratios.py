"""The three ratios that tell the mode of a planar impact without solving it, corrected and as printed.

Source: (28), (30), R3 = R1 (1 + e), Table 2. Angles in degrees; slip along x, approach downwards.

| symbol | meaning                                                                          |
|--------|----------------------------------------------------------------------------------|
| R1, R3 | slip over approach speed above which slip lasts through compression, through all |
| R2     | tangential over normal impulse that sticking needs                               |
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .rod import Rod

__all__ = ["Ratios", "mode_of", "printed_needed", "ratios_of", "stick_limit"]


class Ratios(NamedTuple):
    through_compression: np.ndarray  # R1
    needed: np.ndarray  # R2, corrected
    throughout: np.ndarray  # R3


def ratios_of(rod: Rod, theta: Any, friction: float, restitution: float) -> Ratios:
    """R1 from (28), R2 = P / R, and R3."""
    s, c = np.sin(np.deg2rad(theta)), np.cos(np.deg2rad(theta))
    first = (s * c + friction * (rod.alpha + c * c)) / (rod.alpha + s * s + friction * s * c)
    return Ratios(first, s * c / (rod.alpha + c * c), first * (1 + restitution))


def printed_needed(rod: Rod, theta: Any) -> np.ndarray:
    """R2 as (30) has it."""
    return np.sin(np.deg2rad(theta)) / (rod.alpha + np.cos(np.deg2rad(theta)) ** 2)


def mode_of(ratio: np.ndarray, ratios: Ratios, sticks: np.ndarray) -> np.ndarray:
    """The rows of Table 2, with its test of R2 already made."""
    ended = np.where(ratio < ratios.through_compression, 1, 3) + np.where(sticks, 0, 1)
    return np.where(ratio > 0, np.where(ratio < ratios.throughout, ended, 0), np.where(sticks, 5, 6))


def stick_limit(needed: Callable[[float], float], limit: float, low: float, high: float) -> float:
    """The angle at which the needed friction is what there is, by halving."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if needed(middle) < limit else (low, middle)
    return 0.5 * (low + high)
