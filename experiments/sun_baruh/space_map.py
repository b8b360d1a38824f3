"""One map over the orientation of the rod, solved."""

from typing import NamedTuple

import numpy as np

from .rod import STUCK, Pair, gap

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

    @property
    def between_rules(self) -> np.ndarray:
        """How far the exact normal velocities after are apart, Poisson's and the energetic."""
        return gap(*(self.pairs[rule].exact.velocity[..., 2] for rule in ("poisson", "stronge")))

    @property
    def modes_between_rules(self) -> int:
        """Cells whose exact mode depends on the rule."""
        return int((self.pairs["poisson"].exact.info.mode != self.pairs["stronge"].exact.info.mode).sum())
