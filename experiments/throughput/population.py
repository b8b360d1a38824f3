"""The impacts that are timed: random pairs of bodies."""

import numpy as np

__all__ = ["Impacts", "draw", "part", "repeated", "scaled"]

Impacts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # W (n, 3, 3), v (n, 3), friction, restitution


def draw(n: int, seed: int = 0) -> Impacts:
    """Random two-body impacts: sums of two one-body inverse inertias, friction 0.05 to 1.2, restitution 0 to 1.

    About one in five comes to rest and sticks. Numbers are such that float32 holds them: all dtypes solve the same.
    """
    rng = np.random.default_rng(seed)
    W = np.zeros((n, 3, 3))
    for _ in range(2):
        r, inverse = rng.normal(size=(n, 3)), 10 ** rng.uniform(-0.5, 1, size=(n, 3))
        axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
        cross = np.zeros((n, 3, 3))
        cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -r[:, 2], r[:, 1], -r[:, 0]
        cross -= np.swapaxes(cross, 1, 2).copy()
        tensor = np.einsum("nij,nj,nkj->nik", axes, inverse, axes)
        W += rng.uniform(0.2, 2, (n, 1, 1)) * np.eye(3) + np.einsum("nji,njk,nkl->nil", cross, tensor, cross)
    v = rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2])
    arrays = (W, v, rng.uniform(0.05, 1.2, n), rng.uniform(0, 1, n))
    W, v, mu, e = (a.astype(np.float32).astype(float) for a in arrays)
    return W, v, mu, e


def part(impacts: Impacts, which: np.ndarray | slice) -> Impacts:
    """Some of the impacts."""
    W, v, mu, e = impacts
    return W[which], v[which], mu[which], e[which]


def repeated(impacts: Impacts, n: int) -> Impacts:
    """The first n of the impacts, which begin anew where there are fewer."""
    W, v, mu, e = (np.resize(a, (n, *a.shape[1:])) for a in impacts)
    return W, v, mu, e


def scaled(impacts: Impacts) -> tuple[Impacts, np.ndarray]:
    """In units in which the normal inverse mass and the speed of approach are 1; and the unit of impulse (n, 1)."""
    W, v, mu, e = impacts
    mass, speed = W[:, 2, 2], -v[:, 2]
    return (W / mass[:, None, None], v / speed[:, None], mu, e), (speed / mass)[:, None]
