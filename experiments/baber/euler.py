"""The algorithm of section 4, steps 3 to 6, as printed and for one impact at a time: a baseline.

| symbol | meaning                                                    | unit |
|--------|------------------------------------------------------------|------|
| K, u   | collision matrix; velocity of a's contact point beside b's | 1/kg, m/s |
| step   | normal impulse of one step of Euler's method               | N s  |
| Wc, Wd | works of the normal force in compression and restitution   | J    |
"""

from math import hypot, sqrt
from typing import NamedTuple

import numpy as np

from .quartic import growth, ray_angles

__all__ = ["End", "integrate"]


class End(NamedTuple):
    """The end of an impact; `how` is "sliding", "stable sticking" or "unstable sticking"."""

    impulse: np.ndarray
    velocity: np.ndarray
    steps: int
    how: str


def integrate(K: np.ndarray, u0: np.ndarray, mu: float, e: float, step: float, separated: bool = True) -> End:
    """Steps 3 to 7. With `separated` the test 3(c) also asks for u_z >= 0; as printed it does not.

    Slip that one step could stop counts as zero, the "approximately 0" of step 3(a).
    """
    rows = [[float(x) for x in row] for row in K]
    x, y, z = (float(a) for a in u0)
    zero = step * (hypot(rows[0][2], rows[1][2]) + mu * (rows[0][0] + rows[1][1]))
    Wc = Wd = 0.0
    steps = 0
    while (slip := hypot(x, y)) > zero:
        if z < 0:
            Wc += z * step
        else:
            Wd += z * step
        fx, fy = -mu * x / slip, -mu * y / slip
        x, y, z = (a + step * (k[0] * fx + k[1] * fy + k[2]) for a, k in zip((x, y, z), rows, strict=True))
        steps += 1
        if Wd >= -e * e * Wc and (z >= 0 or not separated):
            return _end(K, u0, (x, y, z), steps, "sliding")
    return _stuck(K, u0, (x, y, z), mu, (-e * e * Wc - Wd, e), steps)


def _stuck(
    K: np.ndarray, u0: np.ndarray, u: tuple[float, ...], mu: float, left: tuple[float, float], steps: int
) -> End:
    """Steps 4 to 6; `left` is the work of restitution that is missing so far, and e."""
    L = np.linalg.inv(K)
    missing, e = left
    stable = hypot(L[0, 2], L[1, 2]) <= mu * L[2, 2]
    k = np.array([0, 0, 1 / L[2, 2]]) if stable else _diverging(K, mu)
    z = old = u[2]
    if z < 0:
        missing, z = missing + e * e * z * z / (2 * k[2]), 0.0
    z = sqrt(max(2 * k[2] * missing + z * z, 0))
    x, y = (0.0, 0.0) if stable else (u[i] + k[i] / k[2] * (z - old) for i in range(2))
    return _end(K, u0, (x, y, z), steps, "stable sticking" if stable else "unstable sticking")


def _diverging(K: np.ndarray, mu: float) -> np.ndarray:
    """Step 6 (a), (b): du/dp along the diverging ray."""
    angles = ray_angles(K, np.asarray(mu))
    angles = angles[np.isfinite(angles)]
    angle = angles[growth(K, np.asarray(mu), angles).argmax()]
    return K @ np.array([-mu * np.cos(angle), -mu * np.sin(angle), 1.0])


def _end(K: np.ndarray, u0: np.ndarray, u: tuple[float, float, float], steps: int, how: str) -> End:
    """Step 7."""
    return End(np.linalg.solve(K, np.array(u) - u0), np.array(u), steps, how)
