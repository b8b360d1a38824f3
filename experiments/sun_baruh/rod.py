"""The rod of all figures, its impacts under four models, and what the maps show of them.

Source: sections 2 and 5. The paper's axes are x along the slip before, y down, z to the side; the contact frame here
is (x, z, up). Orientation: a turn theta1 about z, then theta2 about the new x; the contact point is at
L (-cos theta2 sin theta1, sin theta2, -cos theta2 cos theta1) from the centre of mass, by (68).

| symbol  | meaning                                                       | unit   |
|---------|---------------------------------------------------------------|--------|
| m, L, r | mass, half length and radius of the rod                       | kg, m  |
| alpha   | moment of inertia across the rod over m L^2, from (69)        | 1      |
| P, Q, R | of (27): the inverse inertia in the plane is ((R, -P), (-P, Q)) / m | 1 |
"""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from pydantic import Field

import jimpact
from jimpact.config import Positive, Table
from jimpact.reproduce import Progress, solve_many

__all__ = [
    "RULES",
    "STUCK",
    "TURNED",
    "Count",
    "Error",
    "Lean",
    "Pair",
    "Reach",
    "Rod",
    "arm",
    "body_of",
    "counted",
    "energy_ratio",
    "error_of",
    "gap",
    "inverse_inertia",
    "percent",
    "planar_inertia",
    "solve_both",
    "spread",
]

STUCK, TURNED = (1, 3, 5), (2, 4, 6)  # cases of Table 1 that end sticking, or in a slide that began at rest
RULES = {"poisson": "Poisson", "stronge": "energetic"}

Lean = Annotated[float, Field(gt=-90, lt=90)]
Reach = Annotated[float, Field(gt=0, lt=90)]
Count = Annotated[int, Field(ge=2, le=2000)]


class Rod(Table):
    """A cylinder that touches with the middle of its spherical end."""

    mass: Positive
    half_length: Positive
    radius: Positive

    @property
    def across(self) -> float:
        """Moment of inertia about a line across the rod, (69)."""
        return self.mass * (self.radius**2 / 4 + self.half_length**2 / 3)

    @property
    def along(self) -> float:
        return self.mass * self.radius**2 / 2

    @property
    def alpha(self) -> float:
        return self.across / (self.mass * self.half_length**2)


class Pair(NamedTuple):
    """The paper's approximation, and the slip followed exactly, under one rule of restitution."""

    approximate: jimpact.Impact
    exact: jimpact.Impact

    @property
    def wrong(self) -> np.ndarray:
        """Where the approximation names another case of Table 1."""
        return np.asarray(self.approximate.info.mode != self.exact.info.mode)


class Error(NamedTuple):
    """Of the approximation: impulse relative to that of the exact solution, and likewise normal velocity after."""

    impulse: np.ndarray
    normal: np.ndarray


def arm(rod: Rod, theta1: Any, theta2: Any) -> np.ndarray:
    """From the centre of mass to the contact point, for angles in degrees."""
    one, two = np.broadcast_arrays(np.deg2rad(theta1), np.deg2rad(theta2))
    parts = [-np.cos(two) * np.sin(one), np.sin(two), -np.cos(two) * np.cos(one)]
    return rod.half_length * np.stack(parts, -1)


def body_of(rod: Rod, theta1: Any, theta2: Any, velocity: Any) -> jimpact.Body:
    """The rod in the axes of the contact, touching the origin, without spin."""
    reach = arm(rod, theta1, theta2)
    axis = reach / rod.half_length
    inertia = rod.across * np.eye(3) + (rod.along - rod.across) * axis[..., :, None] * axis[..., None, :]
    return jimpact.Body(*map(jnp.asarray, (rod.mass, inertia, -reach, velocity, np.zeros(3))))


def inverse_inertia(rod: Rod, theta1: Any, theta2: Any) -> np.ndarray:
    """W of the rod on the ground at the contact point, for angles in degrees."""
    body = body_of(rod, theta1, theta2, np.zeros(3))
    return np.asarray(jimpact.inverse_inertia(body, jimpact.immovable(), jnp.zeros(3), jnp.array([0.0, 0.0, 1.0])))


def planar_inertia(rod: Rod, theta: Any) -> np.ndarray:
    """Inverse inertia along (slip, up) from P, Q and R of (27)."""
    s, c = np.sin(np.deg2rad(theta)), np.cos(np.deg2rad(theta))
    P, Q, R = s * c / rod.alpha, 1 + s * s / rod.alpha, 1 + c * c / rod.alpha
    return np.stack([np.stack([R, -P], -1), np.stack([-P, Q], -1)], -2) / rod.mass


def solve_both(W: Any, v: Any, friction: Any, restitution: Any, rule: str, progress: Progress) -> Pair:
    """The approximation and the exact solution, without a failure among them."""
    near = solve_many(W, v, friction, restitution, law="sun_baruh", rule=rule, progress=progress)
    exact = solve_many(W, v, friction, restitution, law=rule, progress=progress)
    return Pair(jimpact.require(near), jimpact.require(exact))


def error_of(pair: Pair) -> Error:
    size = lambda a: np.linalg.norm(a, axis=-1)  # noqa: E731
    near, exact = pair
    impulse = size(near.impulse - exact.impulse) / size(exact.impulse)
    return Error(impulse, np.abs(near.velocity[..., 2] / exact.velocity[..., 2] - 1))


def energy_ratio(impact: jimpact.Impact, mass: float, velocity: Any) -> np.ndarray:
    """Kinetic energy after over before, of a rod without spin before."""
    before = 0.5 * mass * np.sum(np.square(velocity), -1)
    return np.asarray(1 + impact.info.kinetic_energy_change / before)


def gap(a: Any, b: Any) -> np.ndarray:
    """How far two positive numbers are apart, as a part of the greater."""
    return np.abs(a - b) / np.maximum(a, b)


def counted(mode: Any) -> str:
    """How many cells each mode has."""
    keys, counts = np.unique(mode, return_counts=True)
    return ", ".join(f"mode {key}: {count}" for key, count in zip(keys.tolist(), counts.tolist(), strict=True))


def percent(part: Any) -> str:
    return f"{100 * float(part):.3g} %"


def spread(values: np.ndarray) -> str:
    """Median and largest."""
    return f"median {np.median(values):.7g}, worst {np.max(values):.7g}"
