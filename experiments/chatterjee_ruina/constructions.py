"""The paper's graphical constructions of planar laws as formulas in NumPy, and roots of Smith's equation.

Source: Chatterjee & Ruina 1998, sections 4.2.1-4.2.3 and figure 3. All functions take batches: K (n, 2, 2), v (n, 2),
mu (n,), e (n,); they share nothing with the solvers of jimpact.

| symbol | meaning                                                                          | unit |
|--------|----------------------------------------------------------------------------------|------|
| K      | inverse inertia, axes tangential and normal                                      | 1/kg |
| u      | slip: tangential velocity                                                        | m/s  |
| y      | slip after                                                                       | m/s  |
| p      | normal impulse                                                                   | N s  |
| q      | average direction of slip, equation (8): friction is -mu p q                     |      |
"""

import numpy as np

__all__ = ["routh", "smith_path", "smith_roots", "whittaker"]

FAR = 1e3  # slips before: slips after are looked for up to so many


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


def smith_roots(
    K: np.ndarray, v: np.ndarray, mu: np.ndarray, e: np.ndarray, samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """How many slips after solve (8) with a normal impulse that pushes, and with one that pulls."""
    grid = np.sinh(np.linspace(-1, 1, samples) * np.arcsinh(FAR))
    y = grid * np.abs(v[:, :1])
    path, restitution = smith_path(K, v, mu, y)
    p, miss = path[..., 1], restitution - e[:, None]
    same = np.sign(p[:, 1:]) == np.sign(p[:, :-1])  # p has a pole where its sign changes
    crossing = same & (miss[:, 1:] * miss[:, :-1] < 0)
    return (crossing & (p[:, 1:] > 0)).sum(-1), (crossing & (p[:, 1:] < 0)).sum(-1)


def _over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b
