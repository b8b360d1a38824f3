"""The contact problem as sections 2, 3.1 and 3.2 set it up, in NumPy and batched: a baseline.

| symbol   | meaning                                                            | shape  |
|----------|--------------------------------------------------------------------|--------|
| f        | unit vector along which the normal force acts on body a            | (n, 3) |
| R        | rotation that takes f to (0, 0, 1)                                 | (n, 3, 3) |
| m, L     | inverse mass; inverse inertia tensor; 0 if the body is immovable   | (n,), (n, 3, 3) |
| r, v, w  | from centre of mass to contact; velocity; angular velocity         | (n, 3) |
"""

from typing import NamedTuple

import numpy as np

__all__ = ["Bodies", "cross_matrix", "pushed", "rotated", "separation_velocity", "share", "to_normal"]


class Bodies(NamedTuple):
    """A batch of bodies."""

    m: np.ndarray
    L: np.ndarray
    r: np.ndarray
    v: np.ndarray
    w: np.ndarray


def cross_matrix(a: np.ndarray) -> np.ndarray:
    """The matrix of a x."""
    x, y, z = np.moveaxis(a, -1, 0)
    zero = np.zeros_like(x)
    rows = ((zero, -z, y), (z, zero, -x), (-y, x, zero))
    return np.stack([np.stack(row, -1) for row in rows], -2)


def to_normal(f: np.ndarray) -> np.ndarray:
    """Section 3.1 and appendix A. On the z axis the paper leaves the axis of rotation open: x serves."""
    up = np.array([0.0, 0.0, 1.0])
    cross = np.cross(f, up)
    sine, cosine = np.linalg.norm(cross, axis=-1), f @ up
    lost = sine == 0
    n = np.where(lost[:, None], np.array([1.0, 0.0, 0.0]), cross / np.where(lost, 1, sine)[:, None])
    sine, cosine = sine[:, None, None], cosine[:, None, None]
    return (1 - cosine) * n[:, :, None] * n[:, None, :] + cosine * np.eye(3) + sine * cross_matrix(n)


def rotated(body: Bodies, R: np.ndarray) -> Bodies:
    """Step 1, or step 8 with the transpose of R."""
    r, v, w = (np.einsum("nij,nj->ni", R, a) for a in (body.r, body.v, body.w))
    return Bodies(body.m, R @ body.L @ np.swapaxes(R, -1, -2), r, v, w)


def separation_velocity(a: Bodies, b: Bodies) -> np.ndarray:
    """Step 2."""
    return a.v + np.cross(a.w, a.r) - b.v - np.cross(b.w, b.r)


def share(body: Bodies) -> np.ndarray:
    """Step 2: what a body adds to K, 1/m - [r] I^-1 [r]."""
    return body.m[:, None, None] * np.eye(3) - cross_matrix(body.r) @ body.L @ cross_matrix(body.r)


def pushed(body: Bodies, p: np.ndarray, arm: np.ndarray | None = None) -> Bodies:
    """Step 7: the bodies after the impulses p (n, 3) at the contact; `arm` is r unless it is given."""
    turn = np.einsum("nij,nj->ni", body.L, np.cross(body.r if arm is None else arm, p))
    return body._replace(v=body.v + body.m[:, None] * p, w=body.w + turn)
