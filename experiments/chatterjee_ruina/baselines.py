"""Baselines in NumPy that share nothing with jimpact: the paper's MATLAB listing, and its constructions of laws.

Source: Chatterjee & Ruina 1998, appendix A.2, equations (3), (4), (8), (10)-(14), sections 4.2.1-4.2.3 and figure 3.
All functions take batches.

| symbol  | meaning                                                      | shape       | unit |
|---------|--------------------------------------------------------------|-------------|------|
| M       | mass matrix of the contact, the inverse of jimpact's W       | (..., 3, 3) | kg   |
| V       | relative velocity before                                     | (..., 3)    | m/s  |
| n       | unit normal                                                  | (..., 3)    |      |
| P_I     | impulse that ends the approach, without friction             | (..., 3)    | N s  |
| P_II    | impulse that ends approach and slip                          | (..., 3)    | N s  |
| K, v    | inverse inertia and velocity in a plane: tangent and normal  | (n, 2, 2)   |      |
| y       | slip after                                                   | (n, m)      | m/s  |
| q       | average direction of slip, (8): friction is -mu p q          | (n, m)      |      |
"""

import numpy as np

__all__ = ["NORMAL", "candidate", "collrule", "plastic", "routh", "slips", "smith_path", "whittaker"]

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


def routh(K: np.ndarray, v: np.ndarray, mu: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Up the friction line to the line of sticking, then along it, or along the other friction line if that is nearer.

    It ends when the normal impulse is 1 + e times that on the line of maximum compression.
    """
    u, normal = v[:, 0], v[:, 1]
    one = np.stack([-mu * np.sign(u), np.ones_like(u)], -1)  # direction of the impulse before slip stops
    rate = np.einsum("nij,nj->ni", K, one)
    with np.errstate(divide="ignore"):
        stop = np.where(rate[:, 0] * u < 0, -u / rate[:, 0], np.inf)
    held = np.clip(-K[:, 0, 1] / K[:, 0, 0], -mu, mu)  # sticks, or slides the other way
    two = np.stack([held, np.ones_like(u)], -1)
    later = np.einsum("nij,nj->ni", K, two)[:, 1]
    before = rate[:, 1] * stop > -normal  # compression ends before slip does
    at_stop = np.where(np.isfinite(stop), stop, 0.0)
    with np.errstate(divide="ignore"):
        compression = np.where(before, -normal / rate[:, 1], at_stop - (normal + rate[:, 1] * at_stop) / later)
    p = (1 + e) * compression
    first = np.minimum(p, stop)
    return first[:, None] * one + (p - first)[:, None] * two


def whittaker(K: np.ndarray, v: np.ndarray, mu: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Where the line of restitution e meets the line of sticking, or the friction line that is passed on the way."""
    change = -(1 + e) * v[:, 1]
    sticks = np.linalg.solve(K, np.stack([-v[:, 0], change], -1)[..., None])[..., 0]
    ratio = np.clip(_over(sticks[:, 0], sticks[:, 1]), -mu, mu)
    outside = (np.abs(sticks[:, 0]) > mu * sticks[:, 1]) | (sticks[:, 1] <= 0)
    ratio = np.where(sticks[:, 1] <= 0, np.sign(sticks[:, 0]) * mu, ratio)
    slides = np.stack([ratio, np.ones_like(ratio)], -1) * (change / (K[:, 1, 0] * ratio + K[:, 1, 1]))[:, None]
    return np.where(outside[:, None], slides, sticks)


def smith_path(K: np.ndarray, v: np.ndarray, mu: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Impulses (n, m, 2) that end with slips y (n, m), and the restitution e of each.

    Both follow from (8): the change of slip gives the normal impulse, and that the normal velocity.
    """
    u = v[:, :1]
    q = (u * np.abs(u) + y * np.abs(y)) / (u**2 + y**2)
    ratio = -mu[:, None] * q
    p = _over(y - u, K[:, :1, 1] + K[:, :1, 0] * ratio)
    after = v[:, 1:] + p * (K[:, 1:, 1] + K[:, 1:, 0] * ratio)
    return np.stack([ratio * p, p], -1), -after / v[:, 1:]


def _over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b
