"""Uniform solids: a convex polyhedron, the truncated icosahedron, and a ball with drilled holes.

| symbol | meaning                                                       | unit   |
|--------|---------------------------------------------------------------|--------|
| V      | volume                                                        | m^3    |
| c      | centre of mass                                                | m      |
| M      | second moments about c over V, integral of (x - c)(x - c)^T   | m^2    |
| J      | inertia about c, mass (trace(M) 1 - M)                        | kg m^2 |
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull

__all__ = ["Solid", "drilled_ball", "polyhedron", "truncated_icosahedron"]

NODES = 40  # of each quadrature over a hole: converged to round-off
GOLDEN = (1 + 5**0.5) / 2


class Solid(NamedTuple):
    """Volume, centre, and second moments about the centre per volume."""

    volume: float
    centre: np.ndarray
    second: np.ndarray

    def inertia(self, mass: float) -> np.ndarray:
        """Inertia about the centre, same axes."""
        return mass * (np.trace(self.second) * np.eye(3) - self.second)


def polyhedron(vertices: np.ndarray) -> Solid:
    """A convex polyhedron, as tetrahedra between its triangles and one inner point."""
    hull = ConvexHull(vertices)
    inner = vertices.mean(0)
    corners = np.concatenate(
        [np.broadcast_to(inner, (len(hull.simplices), 1, 3)), vertices[hull.simplices]], 1
    )  # (triangles, 4, 3)
    volumes = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / 6
    total = corners.sum(1)
    raw = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum("n,ni,nj->ij", volumes, total, total)
    return _centred(volumes.sum(), np.einsum("n,ni->i", volumes, total) / 4, raw / 20)


def truncated_icosahedron(edge: float) -> tuple[Solid, float]:
    """The solid about its centre, and the distance of a pentagon from it, which is that of its farthest face."""
    a, b = GOLDEN, 2 * GOLDEN
    seeds = [(0, 1, 3 * a), (1, 2 + a, b), (a, 2, b + 1)]
    signed = {tuple(np.multiply(seed, signs)) for seed in seeds for signs in product((1, -1), repeat=3)}
    vertices = np.array([np.roll(vertex, k) for vertex in signed for k in range(3)]) * edge / 2
    return polyhedron(vertices), float(-ConvexHull(vertices).equations[:, 3].min())


def drilled_ball(radius: float, centre: np.ndarray, holes: Sequence[tuple[np.ndarray, float]]) -> Solid:
    """A ball without cylinders along y, each from its bottom (centre, radius) out to the surface."""
    volume = 4 / 3 * np.pi * radius**3
    first, raw = volume * centre, volume * (np.outer(centre, centre) + radius**2 / 5 * np.eye(3))
    for bottom, hole in holes:
        points, weights = _drilled(radius, centre, bottom, hole)
        volume = volume - weights.sum()
        first = first - weights @ points
        raw = raw - np.einsum("n,ni,nj->ij", weights, points, points)
    return _centred(volume, first, raw)


def _drilled(radius: float, centre: np.ndarray, bottom: np.ndarray, hole: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of a quadrature over what a hole removes."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    share, weight = (x + 1) / 2, w / 2
    angle = np.arange(NODES) * 2 * np.pi / NODES
    r, a, y = (grid.ravel() for grid in np.meshgrid(hole * share, angle, share, indexing="ij"))
    px, pz = bottom[0] + r * np.cos(a), bottom[2] + r * np.sin(a)
    depth = centre[1] + np.sqrt(radius**2 - (px - centre[0]) ** 2 - (pz - centre[2]) ** 2) - bottom[1]
    wr, _, wy = (grid.ravel() for grid in np.meshgrid(hole * weight, angle, weight, indexing="ij"))
    return np.stack([px, bottom[1] + depth * y, pz], -1), wr * wy * depth * r * 2 * np.pi / NODES


def _centred(volume: float, first: np.ndarray, raw: np.ndarray) -> Solid:
    centre = first / volume
    return Solid(float(volume), centre, raw / volume - np.outer(centre, centre))
