"""One map of the rod in space, solved by the paper's approximation and exactly."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jimpact.reproduce import Progress

from .forms import SpatialForm
from .rod import RULES, Solved, gap, solved

Axes = tuple[np.ndarray, np.ndarray]
NEAR, EXACT = 0, 1


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
    form: SpatialForm, axes: Axes, W: Any, friction: Any, restitution: Any, progress: Progress, rule: str = "poisson"
) -> Map:
    """By both rules; `rule` is that of the figure."""
    pairs = {}
    for name in RULES:
        given = (form.rod, W, form.velocity, friction, restitution)
        pairs[name] = solved(*given, "sun_baruh", progress, rule=name), solved(*given, name, progress)
    return Map(*axes, pairs, rule)
