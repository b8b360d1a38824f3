"""Uniform solids: a convex polyhedron, the truncated icosahedron, and a ball with drilled holes.

Each is a set of points with weights (m^3), on which quadratic functions have the integrals that they have on the solid.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull

NODES = 40  # of each quadrature over a hole: converged to round-off
GOLDEN = (1 + 5**0.5) / 2
TETRAHEDRON = ((5 - 5**0.5) * np.ones((4, 4)) + 4 * 5**0.5 * np.eye(4)) / 20  # four points, by their corners


class Solid(NamedTuple):
    """Points and weights of a body."""

    points: np.ndarray
    weights: np.ndarray

    @property
    def volume(self) -> float:
        return float(self.weights.sum())

    @property
    def centre(self) -> np.ndarray:
        return self.weights @ self.points / self.volume

    def inertia(self, mass: float) -> np.ndarray:
        """Inertia about the centre, same axes."""
        arms = self.points - self.centre
        second = (self.weights * arms.T) @ arms / self.volume
        return mass * (np.trace(second) * np.eye(3) - second)


def polyhedron(vertices: np.ndarray) -> Solid:
    """A convex polyhedron, as tetrahedra between its triangles and one inner point."""
    triangles = vertices[ConvexHull(vertices).simplices]
    inner = np.broadcast_to(vertices.mean(0), (len(triangles), 1, 3))
    volumes = np.abs(np.linalg.det(triangles - inner)) / 6
    points = TETRAHEDRON @ np.concatenate([inner, triangles], 1)
    return Solid(points.reshape(-1, 3), np.repeat(volumes / 4, 4))


def truncated_icosahedron(edge: float) -> tuple[Solid, float]:
    """The solid about its centre, and the distance of a pentagon from it, which is that of its farthest face."""
    a, b = GOLDEN, 2 * GOLDEN
    seeds = [(0, 1, 3 * a), (1, 2 + a, b), (a, 2, b + 1)]
    signed = {tuple(np.multiply(seed, signs)) for seed in seeds for signs in product((1, -1), repeat=3)}
    vertices = np.array([np.roll(vertex, k) for vertex in signed for k in range(3)]) * edge / 2
    return polyhedron(vertices), float(-ConvexHull(vertices).equations[:, 3].min())


def drilled_ball(radius: float, centre: np.ndarray, holes: Sequence[tuple[np.ndarray, float]]) -> Solid:
    """A ball without cylinders along y, each from its bottom (centre, radius) out to the surface."""
    points = [centre + radius * 0.6**0.5 * np.concatenate([np.eye(3), -np.eye(3)])]
    weights = [np.full(6, 4 / 3 * np.pi * radius**3 / 6)]
    x, w = np.polynomial.legendre.leggauss(NODES)
    share, weight, turns = (x + 1) / 2, w / 2, np.arange(NODES) / NODES
    for bottom, hole in holes:  # what it removes, with weights below zero
        r, a, y = (grid.ravel() for grid in np.meshgrid(hole * share, 2 * np.pi * turns, share, indexing="ij"))
        wr, _, wy = (grid.ravel() for grid in np.meshgrid(hole * weight, turns, weight, indexing="ij"))
        px, pz = bottom[0] + r * np.cos(a), bottom[2] + r * np.sin(a)
        depth = centre[1] + np.sqrt(radius**2 - (px - centre[0]) ** 2 - (pz - centre[2]) ** 2) - bottom[1]
        points.append(np.stack([px, bottom[1] + depth * y, pz], -1))
        weights.append(-wr * wy * depth * r * 2 * np.pi / NODES)
    return Solid(np.concatenate(points), np.concatenate(weights))
