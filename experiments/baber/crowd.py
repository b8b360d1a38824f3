"""Random impacts for the claims of the paper that are about all impacts.

| family   | inverse inertia K                                                                              |
|----------|------------------------------------------------------------------------------------------------|
| matrices | A A^T with Gaussian A: any symmetric positive definite K, as the theorems have it              |
| boxes    | homogeneous boxes of mass 1 kg in any orientation that strike the ground with a corner         |

Contact axes: 0 and 1 tangential, 2 the normal. Approach speed is 1 m/s.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

import jimpact
from jimpact.reproduce import Progress, solve_many

from .forms import Crowd

__all__ = ["FAMILIES", "Impacts", "box_inverse_inertia", "boxes", "log_uniform", "matrices", "solved", "stick_ratio"]

UP = np.array([0.0, 0.0, 1.0])
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


class Impacts(NamedTuple):
    """The arguments of `solve`, with one leading axis; `sides` (m) of boxes only."""

    inverse_inertia: np.ndarray  # (n, 3, 3) 1/kg
    velocity: np.ndarray  # (n, 3) m/s
    friction: np.ndarray
    restitution: np.ndarray
    sides: np.ndarray | None = None

    def some(self, rows: np.ndarray) -> "Impacts":
        sides = None if self.sides is None else self.sides[rows]
        arrays = (self.inverse_inertia, self.velocity, self.friction, self.restitution)
        K, v, friction, restitution = (a[rows] for a in arrays)
        return Impacts(K, v, friction, restitution, sides)


def matrices(crowd: Crowd) -> Impacts:
    """Impacts with random symmetric positive definite inverse inertias."""
    rng = np.random.default_rng(crowd.seed)
    A = rng.normal(size=(crowd.count, 3, 3))
    K = A @ np.swapaxes(A, -1, -2) + crowd.least_eigenvalue * np.eye(3)
    return Impacts(K, *_motion(crowd, rng))


def boxes(crowd: Crowd) -> Impacts:
    """Homogeneous boxes of mass 1 kg that strike the ground with their lowest corner."""
    rng = np.random.default_rng(crowd.seed)
    sides = log_uniform(rng, crowd.side, (crowd.count, 3))
    turn = Rotation.random(crowd.count, random_state=rng).as_matrix()
    K = box_inverse_inertia(sides, turn)
    return Impacts(K, *_motion(crowd, rng), sides)


def box_inverse_inertia(sides: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """K at the lowest corner of boxes of mass 1 kg, turned by rotation matrices, on immovable ground."""
    moments = (np.sum(sides**2, -1, keepdims=True) - sides**2) / 12
    inertia = turn @ (moments[:, :, None] * np.swapaxes(turn, -1, -2))
    corners = np.einsum("nij,nkj->nki", turn, sides[:, None] * CORNERS)
    arm = corners[np.arange(len(sides)), corners[:, :, 2].argmin(1)]
    nothing = jnp.zeros_like(jnp.asarray(arm))
    body = jimpact.Body(jnp.ones(len(sides)), jnp.asarray(inertia), jnp.asarray(-arm), nothing, nothing)
    return np.asarray(jimpact.inverse_inertia(body, jimpact.immovable(), jnp.zeros(3), jnp.asarray(UP)))


FAMILIES = {"matrices": matrices, "boxes": boxes}


def solved(impacts: Impacts, progress: Progress, restitution: np.ndarray | None = None) -> jimpact.Impact:
    """The impacts by Stronge's rule over all compressions, as the paper has it."""
    e = impacts.restitution if restitution is None else restitution
    return solve_many(impacts.inverse_inertia, impacts.velocity, impacts.friction, e, progress=progress)


def stick_ratio(K: np.ndarray) -> np.ndarray:
    """Friction that stable sticking needs: |((K^-1)_13, (K^-1)_23)| / (K^-1)_33, section 3.5."""
    L = np.linalg.inv(K)
    return np.hypot(L[..., 0, 2], L[..., 1, 2]) / L[..., 2, 2]


def log_uniform(rng: np.random.Generator, limits: tuple[float, float], shape: int | tuple[int, ...]) -> np.ndarray:
    """Random numbers whose logarithms are uniform."""
    return np.exp(rng.uniform(np.log(limits[0]), np.log(limits[1]), shape))


def _motion(crowd: Crowd, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocity, friction and restitution."""
    n = crowd.count
    angle, slip = rng.uniform(0, 2 * np.pi, n), log_uniform(rng, crowd.slip_ratio, n)
    friction, restitution = rng.uniform(*crowd.friction, n), rng.uniform(*crowd.restitution, n)
    slip[_share(rng, n, crowd.still)] = 0
    friction[_share(rng, n, crowd.frictionless)] = 0
    restitution[_share(rng, n, crowd.plastic)] = 0
    restitution[_share(rng, n, crowd.elastic)] = 1
    return np.stack([slip * np.cos(angle), slip * np.sin(angle), -np.ones(n)], -1), friction, restitution


def _share(rng: np.random.Generator, count: int, share: float) -> np.ndarray:
    return rng.random(count) < share
