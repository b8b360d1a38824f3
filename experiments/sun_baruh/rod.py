"""The rod of all figures, its impacts, and maps of them in space, by the approximation and exactly.

Source: sections 2 and 5. The paper's axes are x along the slip before, y down, z to the side; the contact frame here
is (x, z, up). Orientation: a turn theta1 about z, then theta2 about the new x; the contact point is at
L (-cos theta2 sin theta1, sin theta2, -cos theta2 cos theta1) from the centre of mass, by (68), where m, L and r
are mass, half length and radius of the rod. Other symbols are in texts.toml.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import LabelledProgress, body_at, solve_many, touching

from .forms import Rod, SpatialForm

ROUND_OFF = 1e-12
STUCK, TURNED = (1, 3, 5), (2, 4, 6)  # cases of Table 1 that end sticking, or in a slide that began at rest
RULES = {"poisson": "Poisson", "stronge": "energetic"}
NEAR, EXACT = 0, 1


def arm(rod: Rod, theta1: Any, theta2: Any) -> np.ndarray:
    """From the centre of mass to the contact point, for angles in degrees."""
    one, two = np.broadcast_arrays(np.deg2rad(theta1), np.deg2rad(theta2))
    parts = [-np.cos(two) * np.sin(one), np.sin(two), -np.cos(two) * np.cos(one)]
    return rod.half_length * np.stack(parts, -1)


def body_of(rod: Rod, theta1: Any, theta2: Any) -> jimpact.Body:
    """The rod in the axes of the contact, touching the origin, at rest."""
    reach = arm(rod, theta1, theta2)
    axis = reach / rod.half_length
    along = rod.mass * rod.radius**2 / 2
    inertia = rod.across * np.eye(3) + (along - rod.across) * axis[..., :, None] * axis[..., None, :]
    return body_at(rod.mass, inertia, reach)


def inverse_inertia(rod: Rod, theta1: Any, theta2: Any = 0.0) -> np.ndarray:
    """W of the rod on the ground at the contact point, for angles in degrees."""
    return touching(body_of(rod, theta1, theta2))


def planar_inertia(rod: Rod, theta: Any) -> np.ndarray:
    """Inverse inertia along (slip, up) from P, Q and R of (27)."""
    s, c = np.sin(np.deg2rad(theta)), np.cos(np.deg2rad(theta))
    P, Q, R = s * c / rod.alpha, 1 + s * s / rod.alpha, 1 + c * c / rod.alpha
    return np.stack([np.stack([R, -P], -1), np.stack([-P, Q], -1)], -2) / rod.mass


def spatial(ratio: Any) -> np.ndarray:
    """Velocity of the contact point in space, for a ratio of slip to approach speed, at unit approach speed."""
    ratio = np.asarray(ratio, float)
    return np.stack([ratio, np.zeros_like(ratio), -np.ones_like(ratio)], -1)


class Solved(NamedTuple):
    """Impacts of a rod without spin, by one law; shapes are those of a map."""

    impact: jimpact.Impact
    before: np.ndarray  # velocity of the contact point
    mass: float

    @property
    def mode(self) -> np.ndarray:
        return np.asarray(self.impact.info.mode)

    @property
    def stuck(self) -> np.ndarray:
        return np.isin(self.mode, STUCK)

    @property
    def turned(self) -> np.ndarray:
        return np.isin(self.mode, TURNED)

    @property
    def normal(self) -> np.ndarray:
        """Normal velocity after over before."""
        return np.asarray(self.impact.velocity[..., 2]) / -self.before[..., 2]

    @property
    def energy(self) -> np.ndarray:
        """Kinetic energy after over before."""
        before = 0.5 * self.mass * np.sum(np.square(self.before), -1)
        return np.asarray(1 + self.impact.info.kinetic_energy_change / before)


def solved(
    rod: Rod, W: Any, v: Any, friction: Any, e: Any, law: str, progress: LabelledProgress, **options: Any
) -> Solved:
    """Impacts by a law, without a failure among them."""
    impact = solve_many(W, v, friction, e, law=law, progress=progress, **options)
    return Solved(jimpact.require(impact), np.asarray(v, float), rod.mass)


def gap(a: Any, b: Any) -> np.ndarray:
    """How far two positive numbers are apart, as a part of the greater."""
    return np.abs(a - b) / np.maximum(a, b)


class Map(NamedTuple):
    """Two axes, angles in degrees or coefficients; solutions by both rules, of which the figure shows one."""

    x: np.ndarray
    y: np.ndarray
    pairs: Mapping[str, tuple[Solved, Solved]]  # by rule: the approximation, and the slip followed exactly
    rule: str

    @property
    def near(self) -> Solved:
        return self.pairs[self.rule][NEAR]

    @property
    def exact(self) -> Solved:
        return self.pairs[self.rule][EXACT]

    @property
    def wrong(self) -> np.ndarray:
        """Where the approximation names another case of Table 1."""
        return self.near.mode != self.exact.mode

    def errors(self) -> list[np.ndarray]:
        """Of the approximation, relative to the exact solution: of the impulse, and of normal velocity after."""
        near, exact = self.near.impact.impulse, self.exact.impact.impulse
        impulse = np.linalg.norm(near - exact, axis=-1) / np.linalg.norm(exact, axis=-1)
        return [impulse, np.abs(self.near.normal / self.exact.normal - 1)]

    def by_rule(self, kind: int) -> list[Solved]:
        """Poisson's and the energetic solutions, NEAR or EXACT."""
        return [self.pairs[rule][kind] for rule in RULES]

    def between_rules(self, kind: int) -> np.ndarray:
        """How far normal velocities after are apart."""
        return gap(*(one.normal for one in self.by_rule(kind)))

    def modes_between_rules(self, kind: int) -> int:
        """Cells whose mode depends on the rule."""
        one, other = self.by_rule(kind)
        return int((one.mode != other.mode).sum())


def solve_map(
    form: SpatialForm, axes: Any, W: Any, friction: Any, e: Any, progress: LabelledProgress, rule="poisson"
) -> Map:
    """By both rules; `rule` is that of the figure."""
    pairs = {}
    for name in RULES:
        given = (form.rod, W, form.velocity, friction, e)
        pairs[name] = solved(*given, "sun_baruh", progress, rule=name), solved(*given, name, progress)
    return Map(*axes, pairs, rule)
