"""Theorem 8 of the appendix: unit vectors u with u x (Sigma u + p) = 0, for Sigma = diag(lambda_1, lambda_2) > 0."""

import numpy as np

from jimpact.reproduce import Finding, claim

from .forms import Theorem8

__all__ = ["theorem_8"]

REAL = 1e-7  # imaginary part below which a root of the quartic counts as real


def theorem_8(given: Theorem8, exact: float) -> list[Finding]:
    """Parts (i) to (iii) by their formulas, (iv) to (vi) by the printed quartic on random Sigma and p."""
    return [_formulas(given, exact), _third(given, exact), _numbers(given, exact)]


def _residual(eigenvalues: np.ndarray, p: np.ndarray, u: np.ndarray) -> float:
    """The largest of (48) over unit vectors (k, 2)."""
    w = eigenvalues * u + p
    return float(np.abs(u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]).max())


def _formulas(given: Theorem8, exact: float) -> Finding:
    """(i) and (ii)."""
    pair, along = np.asarray(given.eigenvalues), given.along
    alike, p = np.full(2, pair[0]), np.array([along, 0.5 * along])
    first = _residual(alike, p, np.stack([p, -p]) / np.linalg.norm(p))
    y = along / (pair[0] - pair[1])
    x = np.sqrt(1 - y * y)
    second = _residual(pair, np.array([0.0, along]), np.array([[0, 1], [0, -1], [x, y], [-x, y]]))
    return claim(
        "JW-Thm8",
        "Theorem 8 (i), (ii)",
        "u x (Sigma u + p) for the printed u",
        "zero",
        f"(i) {first:.0e}, (ii) {second:.0e}",
        max(first, second) < exact,
        f"Eigenvalues {pair[0]:g}, {pair[1]:g}, alike in (i).",
        "differs",
    )


def _third(given: Theorem8, exact: float) -> Finding:
    """(iii): the directions beside p = (p_x, 0), with the printed and with the other sign."""
    pair, p = np.asarray(given.eigenvalues), np.array([given.along, 0.0])
    residual = {}
    for name, x in (("printed", p[0] / (pair[0] - pair[1])), ("other", p[0] / (pair[1] - pair[0]))):
        y = np.sqrt(1 - x * x)
        residual[name] = _residual(pair, p, np.array([[x, y], [x, -y]]))
    return claim(
        "JW-Thm8iii",
        "Theorem 8 (iii)",
        "u x (Sigma u + p) for u_x of (iii)",
        "u_x = p_x/(lambda_1 - lambda_2)",
        f"{residual['printed']:.4f} as printed, {residual['other']:.0e} with lambda_2 - lambda_1",
        residual["printed"] < exact,
        "A sign.",
        "misprint",
    )


def _numbers(given: Theorem8, exact: float) -> Finding:
    """(iv) to (vi), and Theorem 12, by the real roots of the quartic in the proof of (iv)."""
    rng = np.random.default_rng(given.seed)
    pairs, shifts = (
        rng.uniform(0, given.largest, (given.count, 2)),
        rng.uniform(-1, 1, (given.count, 2)) * given.largest,
    )
    wrong, worst, outside = 0, 0.0, 0
    for pair, p in zip(pairs, shifts, strict=True):
        gap = pair[0] - pair[1]
        eta = np.roots([-p[1], 2 * (gap - p[0]), 0, -2 * (gap + p[0]), p[1]])
        eta = eta[np.abs(eta.imag) < REAL].real
        u = np.stack([1 - eta**2, 2 * eta], -1) / (1 + eta**2)[:, None]
        opposite = int(((u * (pair * u + p)).sum(-1) < 0).sum())
        beyond = bool(np.linalg.norm(p / pair) > 1)
        outside += int(beyond)
        wrong += not (2 <= len(u) <= 4 and opposite == int(beyond) and len(u) > opposite)
        worst = max(worst, _residual(pair, p, u) / float(np.linalg.norm(p)))
    return claim(
        "JW-Thm8iv-vi",
        "Theorem 8 (iv)-(vi), 12",
        "numbers and senses of u by the printed quartic",
        "two to four; exactly one opposite to Sigma u + p if |Sigma^-1 p| > 1, else none",
        f"{wrong} violations in {given.count}",
        wrong == 0 and worst < np.sqrt(exact),
        f"{outside} with |Sigma^-1 p| > 1; the quartic leaves (48) at most {worst:.0e}, relative.",
        "differs",
    )
