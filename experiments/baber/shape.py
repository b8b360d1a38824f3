"""Paths of slip laid over each other: section 3.7 says that they scale with the slip, and have nothing to do with u_z.

Between samples a path is the cubic through both slips (m/s) with the rates du/dp = d - mu M s at both, s being the
direction of slip, M and d the tangential block of K and its coupling to the normal. Where slip stops it has a corner,
and no cubic is laid across.
"""

from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

__all__ = ["largest_gap"]


def largest_gap(K: np.ndarray, mu: float, path: Any, other: Any, scale: float) -> tuple[np.ndarray, int]:
    """Largest distance of other(scale p) / scale from path(p), of each lane, over the slip before; samples compared."""
    ends, others = np.asarray(path.events.slip_end), np.asarray(other.events.slip_end) / scale
    if not np.array_equal(np.isfinite(ends), np.isfinite(others)):
        return np.full(len(ends), np.inf), 0
    gaps, count = np.zeros(len(ends)), 0
    for i, corner in enumerate(np.where(np.isfinite(ends), ends, np.inf)):
        p, slip = (np.asarray(a)[i] for a in (path.normal_impulse, path.sliding_velocity))
        q, moved = np.asarray(other.normal_impulse)[i] / scale, np.asarray(other.sliding_velocity)[i] / scale
        for side in (-1, 1):
            mine, theirs = (np.append(True, np.diff(x) > 0) & (side * (x - corner) > 0) for x in (p, q))
            if mine.sum() < 2:
                continue
            theirs &= (q >= p[mine][0]) & (q <= p[mine][-1])
            curve = CubicHermiteSpline(p[mine], slip[mine], _rate(K, mu, slip[mine]))
            away = np.linalg.norm(curve(q[theirs]) - moved[theirs], axis=-1).max(initial=0)
            gaps[i], count = max(gaps[i], away / np.linalg.norm(slip[0])), count + int(theirs.sum())
    return gaps, count


def _rate(K: np.ndarray, mu: float, slip: np.ndarray) -> np.ndarray:
    s = slip / np.linalg.norm(slip, axis=-1, keepdims=True)
    return K[:2, 2] - mu * s @ K[:2, :2]
