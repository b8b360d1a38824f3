"""Baselines in NumPy that share nothing with jimpact: the paper's MATLAB listing, and its constructions of laws.

Source: Chatterjee & Ruina 1998, appendix A.2, equations (3), (4), (8), (10)-(14), sections 4.2.1-4.2.3 and figure 3.
All functions take batches; the normal is the last axis.

| symbol  | meaning                                                      | shape       | unit |
|---------|--------------------------------------------------------------|-------------|------|
| M, W    | mass matrix of the contact, and its inverse                  | (..., 3, 3) | kg   |
| V       | relative velocity before                                     | (..., 3)    | m/s  |
| P_I     | impulse that ends the approach, without friction             | (..., 3)    | N s  |
| P_II    | impulse that ends approach and slip                          | (..., 3)    | N s  |
| K, v    | inverse inertia and velocity in a plane: tangent and normal  | (n, 2, 2)   |      |
| y       | slip after                                                   | (n, m)      | m/s  |
| q       | average direction of slip, (8): friction is -mu p q          | (n, m)      |      |
"""

from typing import Any, NamedTuple

import numpy as np


def length(a: np.ndarray) -> np.ndarray:
    """Of each vector."""
    return np.linalg.norm(a, axis=-1)


def times(W: np.ndarray, P: np.ndarray) -> np.ndarray:
    """A matrix times a vector, for each impact."""
    return np.einsum("...ij,...j->...i", W, P)


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of a vector from one of b, over the length of that."""
    return float((np.abs(a - b).max(-1) / length(b)).max())


def energy(W: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Contact kinetic energy, equation (5) (J)."""
    return 0.5 * (v * np.linalg.solve(W, v[..., None])[..., 0]).sum(-1)


def collrule(M: np.ndarray, V: np.ndarray, mu: np.ndarray, e: np.ndarray, e_t: np.ndarray) -> np.ndarray:
    """The impulse: the candidate, or what the friction cone leaves of it."""
    P_I, P_II = plastic(M, V)
    slip = slips(candidate(P_I, P_II, e, e_t), mu)
    closing = length(P_II[..., :2]) - mu * (P_II - P_I)[..., 2]
    kappa = np.where(slip, mu * (1 + e) * P_I[..., 2] / np.where(slip, closing, 1.0), 1 + e_t)
    return np.asarray(1 + e)[..., None] * P_I + kappa[..., None] * (P_II - P_I)


def plastic(M: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P_I and P_II: equations (3) and (4)."""
    normal = np.eye(V.shape[-1])[-1]
    w = np.linalg.solve(M, np.broadcast_to(normal, V.shape)[..., None])[..., -1, :]
    return -normal * V[..., -1:] / w, -times(M, V)


def candidate(P_I: np.ndarray, P_II: np.ndarray, e: np.ndarray, e_t: np.ndarray) -> np.ndarray:
    """Equation (10): what the impulse is without a limit of friction."""
    return np.asarray(1 + e)[..., None] * P_I + np.asarray(1 + e_t)[..., None] * (P_II - P_I)


def slips(P: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Equation (12): an impulse is outside the cone."""
    return length(P[..., :2]) > mu * P[..., 2]


@np.errstate(divide="ignore")
def routh(K: np.ndarray, v: np.ndarray, mu: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Up the friction line to the line of sticking, then along it, or along the other friction line if that is nearer.

    It ends when the normal impulse is 1 + e times that on the line of maximum compression.
    """
    u, normal = v[:, 0], v[:, 1]
    one = np.stack([-mu * np.sign(u), np.ones_like(u)], -1)  # direction of the impulse before slip stops
    rate = times(K, one)
    stop = np.where(rate[:, 0] * u < 0, -u / rate[:, 0], np.inf)
    held = np.clip(-K[:, 0, 1] / K[:, 0, 0], -mu, mu)  # sticks, or slides the other way
    two = np.stack([held, np.ones_like(u)], -1)
    before = rate[:, 1] * stop > -normal  # compression ends before slip does
    at_stop = np.where(np.isfinite(stop), stop, 0.0)
    later = at_stop - (normal + rate[:, 1] * at_stop) / times(K, two)[:, 1]
    p = (1 + e) * np.where(before, -normal / rate[:, 1], later)
    first = np.minimum(p, stop)
    return first[:, None] * one + (p - first)[:, None] * two


@np.errstate(divide="ignore", invalid="ignore")
def whittaker(K: np.ndarray, v: np.ndarray, mu: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Where the line of restitution e meets the line of sticking, or the friction line that is passed on the way."""
    change = -(1 + e) * v[:, 1]
    t, p = sticks = np.linalg.solve(K, np.stack([-v[:, 0], change], -1)[..., None])[..., 0].T
    ratio = np.where(p <= 0, np.sign(t) * mu, np.clip(t / p, -mu, mu))
    slides = np.stack([ratio, np.ones_like(ratio)]) * change / (K[:, 1, 0] * ratio + K[:, 1, 1])
    return np.where((np.abs(t) > mu * p) | (p <= 0), slides, sticks).T


@np.errstate(divide="ignore", invalid="ignore")
def smith_path(K: np.ndarray, v: np.ndarray, mu: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Impulses (n, m, 2) that end with slips y (n, m), and the restitution e of each.

    Both follow from (8): the change of slip gives the normal impulse, and that the normal velocity.
    """
    u = v[:, :1]
    q = (u * np.abs(u) + y * np.abs(y)) / (u**2 + y**2)
    ratio = -mu[:, None] * q
    p = (y - u) / (K[:, :1, 1] + K[:, :1, 0] * ratio)
    after = v[:, 1:] + p * (K[:, 1:, 1] + K[:, 1:, 0] * ratio)
    return np.stack([ratio * p, p], -1), -after / v[:, 1:]


class Impacts(NamedTuple):
    """A batch of impacts, or one; in space, or in a plane. The normal is the last axis."""

    W: np.ndarray
    v: np.ndarray
    mu: np.ndarray
    e: np.ndarray = np.zeros(())
    e_t: np.ndarray = np.zeros(())

    def having(self, **fields: Any) -> "Impacts":
        """With some numbers changed for all impacts."""
        return self._replace(**{name: np.broadcast_to(float(x), self.mu.shape) for name, x in fields.items()})

    def take(self, index: Any) -> "Impacts":
        return Impacts(*(a[index] for a in self))

    def every(self, step: int) -> "Impacts":
        """One of so many."""
        return self.take(slice(None, None, step))

    def plastic(self) -> tuple[np.ndarray, np.ndarray]:
        """P_I and P_II."""
        return plastic(np.linalg.inv(self.W), self.v)

    def new_law(self) -> np.ndarray:
        """Impulses by the listing."""
        return collrule(np.linalg.inv(self.W), self.v, self.mu, self.e, self.e_t)

    def after(self, P: np.ndarray) -> np.ndarray:
        """Velocities after impulses."""
        return self.v + times(self.W, P)

    def gain(self, P: np.ndarray) -> np.ndarray:
        """Energy after impulses, over that before."""
        return energy(self.W, self.after(P)) / energy(self.W, self.v)

    def restitution(self, P: np.ndarray) -> np.ndarray:
        """Kinematic restitution of impulses."""
        return -self.after(P)[..., -1] / self.v[..., -1]
