"""Sections 3.8 to 3.10: rays of constant sliding by the paper's two quartics, and the diverging ray that exists alone.

With x = tan(a / 2) the angle a of a ray is a root of a quartic in x; the growth rate l of slip along the diverging ray
is a root of a quartic in l.
"""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, directions_many, heading, only
from jimpact.schemas.config import Table

from .crowd import Count, Crowd, matrices, rate, stick_ratio

RESIDUAL = 1e-12  # of the quartic at a ray, beside the sum of its terms
SAME = 1e-9  # rad: angles of rays that are well apart
APART = 1e-2  # rad: rays nearer to each other than this are nearly a double root
OPPOSITE = np.array([[3, 1, 0.4], [1, 2, -0.5], [0.4, -0.5, 1]])  # 1/kg, and
OPPOSITE_FRICTION = 0.5  # with which a_4 = 0: the ray at 180 degrees, where tan(angle / 2) is infinite
OPPOSITE_DEG = 1e-8
AXES = 8
REAL = 1e-6  # imaginary part beside the size of a root: more than the square root of round-off at a double root


class Form(Table):
    """configs/baber/rays.toml"""

    quartics: Count  # of the crowd, solved by the paper's quartics
    crowd: Crowd


def run(form: Form, progress: LabelledProgress) -> Result:
    """Existence, uniqueness and formulas of the rays."""
    K, _, mu, _ = matrices(form.crowd)
    directions, growths = directions_many(K, mu)
    unstable, n, count = stick_ratio(K) > mu, len(K), np.isfinite(growths).sum(-1)
    right = ((growths > 0).sum(-1) == unstable).sum()
    each = ", ".join(f"{i} rays: {(count == i).sum()}" for i in np.unique(count))
    k = rate(K[:, None], mu[:, None], directions)[..., 2]
    least = (np.where(growths > 0, k, np.inf) / K[:, None, 2, 2]).min()
    fall = (np.where(growths < 0, k, 1) < 0).any(-1).sum()
    computed = {
        "B-ray-unique": claimed(right == n, right=right, n=n, unstable=unstable.sum()),
        "B-ray-exists": claimed(count.min() >= 1, least=count.min(), n=n, numbers=each),
        "B-ray-separates": claimed(least > 0, least=least, fall=fall, n=n),
    }
    few, some = slice(form.quartics), np.flatnonzero(unstable)[: form.quartics]
    computed |= _quartic(K[few], mu[few], directions[few])
    return Result(computed | _other_roots(K[some], mu[some], growths[some]))


def _quartic(K: np.ndarray, mu: np.ndarray, s: np.ndarray) -> dict[str, Computed]:
    powers, angle = np.arange(4, -1, -1), heading(s)
    sine, cosine = np.sin(angle / 2)[..., None], np.cos(angle / 2)[..., None]
    terms = coefficients(K, mu)[:, None] * sine**powers * cosine ** (4 - powers)
    residual = np.nanmax(np.abs(terms.sum(-1)) / np.abs(terms).sum(-1))
    ours, theirs = np.sort(angle % (2 * np.pi), -1), ray_angles(K, mu)
    gaps = [_apart(ours[:, i] - ours[:, j]) for i in range(4) for j in range(i)]
    apart = np.nanmin(np.stack(gaps), 0) > APART
    same = np.isfinite(ours).sum(-1) == np.isfinite(theirs).sum(-1)
    worst = np.nanmax(_apart(ours - theirs)[apart & same])
    words = {"same": same.sum(), "n": len(K), "worst": worst, "near": (~apart).sum(), "apart": APART}
    return {
        "B-quartic": claimed(residual < RESIDUAL, residual=residual),
        "B-quartic-roots": claimed(worst < SAME and same[apart].all(), **words),
    }


def _apart(angle: np.ndarray) -> np.ndarray:
    return np.abs((angle + np.pi) % (2 * np.pi) - np.pi)


def _other_roots(K: np.ndarray, mu: np.ndarray, growths: np.ndarray) -> dict[str, Computed]:
    """The root that is at infinity, and those of the other quartic."""
    angles = np.degrees(heading(directions_many(OPPOSITE, OPPOSITE_FRICTION)[0])) % 360
    nearest = angles[np.nanargmin(np.abs(angles - 180))]
    leading = coefficients(OPPOSITE, OPPOSITE_FRICTION)[0]
    there = leading == 0 and abs(nearest - 180) < OPPOSITE_DEG
    roots = real_roots(growth_quartic(K, mu))
    positive = np.where(roots > 0, roots, np.nan)
    alone = (np.isfinite(positive).sum(-1) == 1).mean()
    worst = np.nanmax(np.abs(np.nanmax(positive, -1) / np.nanmax(growths, -1) - 1))
    return {
        "B-quartic-pi": claimed(there, leading=leading, nearest=nearest),
        "B-quartic-growth": only(alone=alone, n=len(roots), worst=worst),
    }


def coefficients(K: np.ndarray, mu: Any) -> np.ndarray:
    """a_4, ..., a_0 of section 3.8, for a batch."""
    k11, k12, k22, k13, k23 = K[..., 0, 0], K[..., 0, 1], K[..., 1, 1], K[..., 0, 2], K[..., 1, 2]
    unequal = 2 * mu * (k11 - k22)
    return np.stack([mu * k12 + k23, 2 * k13 + unequal, -6 * mu * k12, 2 * k13 - unequal, mu * k12 - k23], -1)


def real_roots(polynomials: np.ndarray) -> np.ndarray:
    """Real roots of quartics (..., 5), highest power first, as eigenvalues; nan where a root is not real."""
    leading = polynomials[..., :1]
    companion = np.zeros((*polynomials.shape[:-1], 4, 4))
    companion[..., 0, :] = -polynomials[..., 1:] / np.where(leading == 0, 1, leading)
    companion[..., np.arange(1, 4), np.arange(3)] = 1
    roots = np.linalg.eigvals(companion)
    real = (np.abs(roots.imag) <= REAL * (1 + np.abs(roots))) & (leading != 0)
    return np.where(real, roots.real, np.nan)


def ray_angles(K: np.ndarray, mu: Any) -> np.ndarray:
    """Angles of the rays (..., 4) in [0, 2 pi), sorted, nan padded.

    a_4 is the turning of slip at the angle pi. Where it is zero, pi is a ray and its root is at infinity; so the
    quartic is set up in axes, of eight around the circle, in which a_4 is largest.
    """
    turns = 2 * np.pi * np.arange(AXES) / AXES
    R = Rotation.from_euler("z", -turns[:, None]).as_matrix()
    a = coefficients(R @ K[..., None, :, :] @ np.swapaxes(R, -1, -2), np.asarray(mu)[..., None])
    best = np.abs(a[..., :1]).argmax(-2, keepdims=True)
    roots = real_roots(np.take_along_axis(a, best, -2)[..., 0, :])
    return np.sort((2 * np.arctan(roots) + turns[best[..., 0]]) % (2 * np.pi), -1)


def growth_quartic(K: np.ndarray, mu: Any) -> np.ndarray:
    """|adj(N) d|^2 = det(N)^2 with N = l + mu M, as a quartic in l (..., 5): the afterthought of section 3.10."""
    a, b, c = (mu * K[..., i, j] for i, j in ((0, 0), (0, 1), (1, 1)))
    x, y = K[..., 0, 2], K[..., 1, 2]
    trace, det = a + c, a * c - b * b
    fixed_x, fixed_y = c * x - b * y, a * y - b * x
    quadratic = trace**2 + 2 * det - (x * x + y * y)
    linear = 2 * trace * det - 2 * (fixed_x * x + fixed_y * y)
    return np.stack([np.ones_like(det), 2 * trace, quadratic, linear, det**2 - (fixed_x**2 + fixed_y**2)], -1)
