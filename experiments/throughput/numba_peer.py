"""Algorithm 1 of Jia & Wang (VS), impact by impact, compiled by numba for all cores.

The same steps as the NumPy version in `experiments/jia_wang/algorithm1.py`, which has the equations and letters; a lane
stops when it is done instead of waiting for the slowest.
"""

import numpy as np
from numba import njit, prange

from .population import Impacts

__all__ = ["solve"]

ALIGNED = 1e-6  # a direction counts as invariant if slip turns there by less than this, of the sizes of its terms


def solve(impacts: Impacts, share: float, arc: float, turn: float, tolerance: float, most: int) -> np.ndarray:
    """Impulses (n, 3) of impacts in scaled units; steps by (36)."""
    return _all(*impacts, share, arc, turn, tolerance, most)


@njit(parallel=True, error_model="numpy")
def _all(W, v, mu, e, share, arc, turn, tolerance, most):  # type: ignore[no-untyped-def]
    out = np.empty((len(mu), 3))
    for i in prange(len(mu)):
        out[i] = _one(W[i], v[i], mu[i], e[i], share, arc, turn, tolerance, most)
    return out


@njit(error_model="numpy")
def _one(W, v, mu, e, share, arc, turn, tolerance, most):  # type: ignore[no-untyped-def]
    x, y, p, E, restituting = v[0], v[1], 0.0, 0.0, False
    for _ in range(most):
        dx, dy = _slope(W, mu, x, y)
        if abs(x * dy - y * dx) < tolerance:
            break
        h = _step(W, mu, x, y, dx, dy, share, arc, turn)
        E -= h * _normal(W, v, *_impulse(W, v, x, y, p))
        x, y, p = x + h * dx, y + h * dy, p + h
        if not restituting and _normal(W, v, *_impulse(W, v, x, y, p)) >= 0:
            E, restituting = e * e * E, True
        if restituting and E <= 0:
            break
    return _finish(W, v, mu, e, x, y, p, E, restituting)


@njit(error_model="numpy")
def _step(W, mu, x, y, dx, dy, share, arc, turn):  # type: ignore[no-untyped-def]
    """(36) and (37)."""
    r, speed = np.hypot(x, y), np.hypot(dx, dy)
    along = (x * dx + y * dy) / r
    tx, ty = (dx - x / r * along) / r, (dy - y / r * along) / r
    bx, by = -mu * (W[0, 0] * tx + W[0, 1] * ty), -mu * (W[1, 0] * tx + W[1, 1] * ty)
    curvature = abs(dx * by - dy * bx) / speed**3
    return share * arc / speed + (1 - share) * turn / (curvature * speed)


@njit(error_model="numpy")
def _finish(W, v, mu, e, x, y, p, E, restituting):  # type: ignore[no-untyped-def]
    """6.3 and 6.2: straight slip until it stops, then stick or the centrifugal direction."""
    ix, iy, p = _impulse(W, v, x, y, p)
    r, (dx, dy) = np.hypot(x, y), _slope(W, mu, x, y)
    rate = (x * dx + y * dy) / r
    reach = -r / rate if rate < 0 else np.inf
    over = restituting and E <= 0
    sx, sy = -mu * x / r, -mu * y / r
    E, restituting, gone, over = _straight(W, v, e, E, restituting, over, ix, iy, p, sx, sy, reach)
    ix, iy, p = ix + gone * sx, iy + gone * sy, p + gone
    if not over:
        ix, iy, p = _impulse(W, v, 0.0, 0.0, p)
        sx, sy = _solve(W, -W[0, 2], -W[1, 2])
        if np.hypot(sx, sy) > mu:
            sx, sy = _centrifugal(W, mu)
            sx, sy = -mu * sx, -mu * sy
        gone = _straight(W, v, e, E, restituting, over, ix, iy, p, sx, sy, np.inf)[2]
        ix, iy, p = ix + gone * sx, iy + gone * sy, p + gone
    return np.array([ix, iy, p])


@njit(error_model="numpy")
def _straight(W, v, e, E, restituting, over, ix, iy, p, sx, sy, reach):  # type: ignore[no-untyped-def]
    """Energy, phase, normal impulse gone and whether it is over, where impulse grows at the rate (sx, sy, 1)."""
    if over:
        return E, restituting, 0.0, over
    vz, k, first = _normal(W, v, ix, iy, p), W[2, 0] * sx + W[2, 1] * sy + W[2, 2], 0.0
    if not restituting and -vz / k <= reach:
        first, restituting = -vz / k, True
        E, vz = e * e * (E - vz * first - k * first**2 / 2), 0.0
    second = (np.sqrt(max(vz**2 + 2 * k * E, 0.0)) - vz) / k
    over = restituting and first + second <= reach
    if not over:
        second = reach - first if np.isfinite(reach) else 0.0
    return E - vz * second - k * second**2 / 2, restituting, first + second, over


@njit(error_model="numpy")
def _centrifugal(W, mu):  # type: ignore[no-untyped-def]
    """The direction along which slip leaves zero, by the quartic after Theorem 5."""
    a, b, c, dx, dy = mu * W[0, 0], mu * W[0, 1], mu * W[1, 1], W[0, 2], W[1, 2]
    quartic = np.empty(5, np.complex128)
    quartic[0], quartic[4] = -dy - b, dy - b
    quartic[1], quartic[3] = -2 * dx - 2 * (a - c), -2 * dx + 2 * (a - c)
    quartic[2] = 6 * b
    roots = np.roots(quartic)
    bx, by, best = -1.0, 0.0, -np.inf
    size = np.hypot(dx, dy) + np.sqrt(a * a + 2 * b * b + c * c)
    for i in range(len(roots) + 1):
        x, y = -1.0, 0.0
        if i < len(roots):
            if abs(roots[i].imag) >= 1e-9:
                continue
            t = roots[i].real
            x, y = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
        gx, gy = dx - a * x - b * y, dy - b * x - c * y
        if abs(x * gy - y * gx) <= ALIGNED * size and x * gx + y * gy > best:
            bx, by, best = x, y, x * gx + y * gy
    return bx, by


@njit(error_model="numpy")
def _slope(W, mu, x, y):  # type: ignore[no-untyped-def]
    """(31)."""
    r = np.hypot(x, y)
    return W[0, 2] - mu * (W[0, 0] * x + W[0, 1] * y) / r, W[1, 2] - mu * (W[1, 0] * x + W[1, 1] * y) / r


@njit(error_model="numpy")
def _impulse(W, v, x, y, p):  # type: ignore[no-untyped-def]
    """(26)."""
    ix, iy = _solve(W, x - v[0] - p * W[0, 2], y - v[1] - p * W[1, 2])
    return ix, iy, p


@njit(error_model="numpy")
def _solve(W, x, y):  # type: ignore[no-untyped-def]
    det = W[0, 0] * W[1, 1] - W[0, 1] * W[1, 0]
    return (W[1, 1] * x - W[0, 1] * y) / det, (W[0, 0] * y - W[1, 0] * x) / det


@njit(error_model="numpy")
def _normal(W, v, ix, iy, p):  # type: ignore[no-untyped-def]
    """(10)."""
    return v[2] + W[2, 0] * ix + W[2, 1] * iy + W[2, 2] * p
