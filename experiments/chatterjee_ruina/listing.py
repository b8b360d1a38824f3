"""The law as the paper's MATLAB listing states it, in NumPy: a baseline that shares nothing with jimpact.

Source: Chatterjee & Ruina 1998, appendix A.2 and equations (3), (4), (10)-(14). All functions take batches.

| symbol  | meaning                                                      | shape     | unit |
|---------|--------------------------------------------------------------|-----------|------|
| M       | mass matrix of the contact, the inverse of jimpact's W       | (..., 3, 3) | kg   |
| V       | relative velocity before                                     | (..., 3)  | m/s  |
| n       | unit normal                                                  | (..., 3)  |      |
| P_I     | impulse that ends the approach, without friction             | (..., 3)  | N s  |
| P_II    | impulse that ends approach and slip                          | (..., 3)  | N s  |
"""

import numpy as np

__all__ = ["NORMAL", "candidate", "collrule", "plastic", "slips"]

NORMAL = np.array([0.0, 0.0, 1.0])  # jimpact's contact frame


def collrule(M: np.ndarray, V: np.ndarray, n: np.ndarray, mu: np.ndarray, e: np.ndarray, e_t: np.ndarray) -> np.ndarray:
    """The impulse: the candidate, or what the friction cone leaves of it."""
    P_I, P_II = plastic(M, V, n)
    P_hat = candidate(P_I, P_II, e, e_t)
    closing = _tangential(P_II, n) - mu * _dot(n, P_II - P_I)
    slip = slips(P_hat, n, mu)
    kappa = np.where(slip, mu * (1 + e) * _dot(n, P_I) / np.where(slip, closing, 1.0), 1 + e_t)
    return (1 + e)[..., None] * P_I + kappa[..., None] * (P_II - P_I)


def plastic(M: np.ndarray, V: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P_I and P_II: equations (3) and (4)."""
    normal = np.broadcast_to(n, V.shape)
    P_I = -normal * (_dot(normal, V) / _dot(normal, np.linalg.solve(M, normal[..., None])[..., 0]))[..., None]
    return P_I, -np.einsum("...ij,...j->...i", M, V)


def candidate(P_I: np.ndarray, P_II: np.ndarray, e: np.ndarray, e_t: np.ndarray) -> np.ndarray:
    """Equation (10): what the impulse is without a limit of friction."""
    return np.asarray(1 + e)[..., None] * P_I + np.asarray(1 + e_t)[..., None] * (P_II - P_I)


def slips(P_hat: np.ndarray, n: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Equation (12): the candidate is outside the cone."""
    return _tangential(P_hat, n) > mu * _dot(n, P_hat)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1)


def _tangential(P: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.linalg.norm(P - _dot(n, P)[..., None] * n, axis=-1)
