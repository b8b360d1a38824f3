"""Random impacts for the claims of the paper that are about all impacts, and how slip moves in an impact.

| family   | inverse inertia K                                                                              |
|----------|------------------------------------------------------------------------------------------------|
| matrices | A A^T with Gaussian A: any symmetric positive definite K, as the theorems have it              |
| boxes    | homogeneous boxes of mass 1 kg in any orientation that strike the ground with a corner         |

Contact axes: 0 and 1 tangential, 2 the normal. Approach speed is 1 m/s.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

from jimpact.reproduce import body_at, cross, directions_many, heading, touching, unit
from jimpact.schemas import config
from jimpact.schemas.config import NotNegative, PositiveRange, Share, Table

CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])

Count = Annotated[int, Field(ge=1, le=1_000_000)]  # impacts in a batch: at most half a minute


class ImpactForm(Table):
    """One impact, but for its inverse inertia."""

    velocity: config.Approaching
    friction: NotNegative
    restitution: Share


class Random(Table):
    """Random impacts; ranges are uniform unless a comment says otherwise."""

    count: Count
    seed: config.Seed
    friction: config.FrictionRange
    restitution: config.ShareRange


class Bordered(Random):
    """Random impacts of which some are at the borders of what is possible: shares of all impacts."""

    still: Share = 0.0  # without slip at the start
    frictionless: Share = 0.0
    plastic: Share = 0.0  # restitution 0
    elastic: Share = 0.0  # restitution 1


class Crowd(Bordered):
    """Random impacts in space."""

    slip_ratio: PositiveRange  # slip / approach speed before, log-uniform
    side: PositiveRange = (0.5, 2.0)  # of boxes, m, log-uniform
    least_eigenvalue: NotNegative = 0.0  # added to random inverse inertias, 1/kg


class Impacts(NamedTuple):
    """The arguments of `solve`, with one leading axis."""

    K: np.ndarray  # (n, 3, 3) 1/kg
    u: np.ndarray  # (n, 3) m/s
    mu: np.ndarray
    e: np.ndarray

    def some(self, rows: np.ndarray) -> "Impacts":
        return Impacts(*(a[rows] for a in self))


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
    K = box_inverse_inertia(sides, Rotation.random(crowd.count, random_state=rng).as_matrix())
    return Impacts(K, *_motion(crowd, rng))


FAMILIES = {"matrices": matrices, "boxes": boxes}


def box_inverse_inertia(sides: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """K at the lowest corner of boxes of mass 1 kg, turned by rotation matrices, on immovable ground."""
    moments = (np.sum(sides**2, -1, keepdims=True) - sides**2) / 12
    inertia = turn @ (moments[:, :, None] * np.swapaxes(turn, -1, -2))
    corners = np.einsum("nij,nkj->nki", turn, sides[:, None] * CORNERS)
    arm = corners[np.arange(len(sides)), corners[:, :, 2].argmin(1)]
    return touching(body_at(np.ones(len(sides)), inertia, arm))


def stick_ratio(K: np.ndarray) -> np.ndarray:
    """Friction that stable sticking needs: |((K^-1)_13, (K^-1)_23)| / (K^-1)_33, section 3.5."""
    L = np.linalg.inv(K)
    return np.hypot(L[..., 0, 2], L[..., 1, 2]) / L[..., 2, 2]


def log_uniform(rng: np.random.Generator, limits: tuple[float, float], shape: int | tuple[int, ...]) -> np.ndarray:
    """Random numbers whose logarithms are uniform."""
    return np.exp(rng.uniform(np.log(limits[0]), np.log(limits[1]), shape))


def rate(K: np.ndarray, mu: Any, s: np.ndarray) -> np.ndarray:
    """du/dp_z (..., 3) while slip has the direction s: K (-mu s, 1)."""
    pushed = np.einsum("...ij,...j->...i", K[..., :, :2], s)
    return K[..., :, 2] - np.asarray(mu)[..., None] * pushed


def polar(K: np.ndarray, mu: Any, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f = r dtheta/dp_z and g = dr/dp_z of slip with the size r and the direction s, the angle theta.

    On a ray f is zero, and g positive if it is diverging.
    """
    du = rate(K, mu, s)
    return cross(s, du), np.sum(s * du[..., :2], -1)


def along_ray(u: np.ndarray, k: np.ndarray, e: float, Wc: float = 0.0, Wd: float = 0.0) -> np.ndarray:
    """The velocity at the end if du/dp = k from u on, with the works so far; the normal is the last axis."""
    z, rise = u[-1], k[-1]
    if z < 0:
        Wc, z = Wc - z**2 / (2 * rise), 0.0
    z = np.sqrt(max(2 * rise * (-(e**2) * Wc - Wd) + z**2, 0.0))
    return u + k / rise * (z - u[-1])


class Turning(NamedTuple):
    """Where slip starts, which way it turns, and how far the next ray is; (n,)."""

    start: np.ndarray
    way: np.ndarray  # 1 or -1
    to_ray: np.ndarray

    @classmethod
    def of(cls, impacts: Impacts) -> "Turning":
        """The way of slip from its direction before the impact."""
        start, rays = heading(impacts.u), heading(directions_many(impacts.K, impacts.mu)[0])
        way = np.sign(polar(impacts.K, impacts.mu, unit(start))[0])
        to_rays = way[:, None] * (rays - start[:, None])
        return cls(start, way, np.nanmin(to_rays % (2 * np.pi), -1))

    def to(self, angle: np.ndarray) -> np.ndarray:
        """How far it is to an angle, from 0 to a turn."""
        return (self.way * (angle - self.start)) % (2 * np.pi)


def relative(value: Any, reference: Any) -> np.ndarray:
    """Sizes of differences of vectors beside those of the reference."""
    return np.linalg.norm(np.asarray(value) - reference, axis=-1) / np.linalg.norm(reference, axis=-1)


def _motion(crowd: Crowd, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocity, friction and restitution."""
    n = crowd.count
    angle, slip = rng.uniform(0, 2 * np.pi, n), log_uniform(rng, crowd.slip_ratio, n)
    friction, restitution = rng.uniform(*crowd.friction, n), rng.uniform(*crowd.restitution, n)
    borders = (slip, crowd.still, 0), (friction, crowd.frictionless, 0), (restitution, crowd.plastic, 0)
    for values, share, border in (*borders, (restitution, crowd.elastic, 1)):
        values[rng.random(n) < share] = border
    return np.stack([slip * np.cos(angle), slip * np.sin(angle), -np.ones(n)], -1), friction, restitution
