"""One map over the orientation of the rod, solved."""

from typing import NamedTuple

import numpy as np

from .rod import RULES, STUCK, Pair, gap

__all__ = ["Leaning"]


class Leaning(NamedTuple):
    """Angles in degrees; solutions by both rules, of which the figure shows one."""

    theta1: np.ndarray
    theta2: np.ndarray
    rule: str
    pairs: dict[str, Pair]

    @property
    def pair(self) -> Pair:
        return self.pairs[self.rule]

    @property
    def stuck(self) -> np.ndarray:
        """Cells that end sticking, by the approximation."""
        return np.isin(self.pair.approximate.info.mode, STUCK)

    def between_rules(self, kind: str) -> np.ndarray:
        """How far normal velocities after are apart, Poisson's and the energetic; "approximate" or "exact"."""
        return gap(*(getattr(self.pairs[rule], kind).velocity[..., 2] for rule in RULES))

    def modes_between_rules(self, kind: str) -> int:
        """Cells whose mode depends on the rule."""
        one, other = (getattr(self.pairs[rule], kind).info.mode for rule in RULES)
        return int((one != other).sum())
