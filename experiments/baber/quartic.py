"""The rays of constant sliding by the paper's two quartics, in NumPy: sections 3.8 and 3.10.

On a ray of angle a slip keeps its direction. With x = tan(a / 2) its angle is a root of a quartic in x; the growth rate
l of slip along the diverging ray is a root of a quartic in l.
"""

import numpy as np

__all__ = ["coefficients", "growth", "growth_quartic", "ray_angles", "real_roots"]

AXES = 8
REAL = 1e-6  # imaginary part beside the size of a root: more than the square root of round-off at a double root


def coefficients(K: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """a_4, ..., a_0 of section 3.8, for a batch."""
    mu = np.asarray(mu)
    k11, k12, k22, k13, k23 = K[..., 0, 0], K[..., 0, 1], K[..., 1, 1], K[..., 0, 2], K[..., 1, 2]
    a = (
        mu * k12 + k23,
        2 * k13 + 2 * mu * k11 - 2 * mu * k22,
        -6 * mu * k12,
        2 * k13 + 2 * mu * k22 - 2 * mu * k11,
        mu * k12 - k23,
    )
    return np.stack(a, -1)


def real_roots(polynomials: np.ndarray) -> np.ndarray:
    """Real roots of quartics (..., 5), highest power first, as eigenvalues; nan where a root is not real."""
    leading = polynomials[..., :1]
    companion = np.zeros((*polynomials.shape[:-1], 4, 4))
    companion[..., 0, :] = -polynomials[..., 1:] / np.where(leading == 0, 1, leading)
    companion[..., np.arange(1, 4), np.arange(3)] = 1
    roots = np.linalg.eigvals(companion)
    real = (np.abs(roots.imag) <= REAL * (1 + np.abs(roots))) & (leading != 0)
    return np.where(real, roots.real, np.nan)


def ray_angles(K: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Angles of the rays (..., 4) in [0, 2 pi), sorted, nan padded.

    a_4 is the turning of slip at the angle pi. Where it is zero, pi is a ray and its root is at infinity; so the
    quartic is set up in axes, of eight around the circle, in which a_4 is largest.
    """
    turns = 2 * np.pi * np.arange(AXES) / AXES
    a = np.stack([coefficients(_turned(K, turn), mu) for turn in turns])
    best = np.abs(a[..., 0]).argmax(0)
    chosen = np.take_along_axis(a, best[None, ..., None], 0)[0]
    return np.sort((2 * np.arctan(real_roots(chosen)) + turns[best][..., None]) % (2 * np.pi), -1)


def _turned(K: np.ndarray, angle: float) -> np.ndarray:
    """K in tangential axes turned by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    return R @ K @ R.T


def growth(K: np.ndarray, mu: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Growth of slip per normal impulse along a direction: positive on the diverging ray."""
    s = np.stack([np.cos(angle), np.sin(angle)], -1)
    return np.einsum("...i,...i->...", s, K[..., :2, 2] - np.asarray(mu)[..., None] * _times(K, s))


def _times(K: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...j->...i", K[..., :2, :2], s)


def growth_quartic(K: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """|adj(N) d|^2 = det(N)^2 with N = l + mu M, as a quartic in l (..., 5): the afterthought of section 3.10."""
    a, b, c = (np.asarray(mu) * K[..., i, j] for i, j in ((0, 0), (0, 1), (1, 1)))
    x, y = K[..., 0, 2], K[..., 1, 2]
    trace, det = a + c, a * c - b * b
    fixed_x, fixed_y = c * x - b * y, a * y - b * x
    return np.stack(
        [
            np.ones_like(trace),
            2 * trace,
            trace**2 + 2 * det - (x * x + y * y),
            2 * trace * det - 2 * (fixed_x * x + fixed_y * y),
            det**2 - (fixed_x**2 + fixed_y**2),
        ],
        -1,
    )
