"""The planar rod over lean and slip, solved by both rules."""

from typing import NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import Progress, solve_many

from .plane_form import PlaneForm, Points, planar_grid, spatial
from .ratios import ratios_of, stick_limit
from .rod import RULES, STUCK, TURNED, energy_ratio, inverse_inertia

__all__ = ["Maps", "by_mode", "ends", "line_of", "solve_at", "solve_plane"]


class Maps(NamedTuple):
    """One grid, solved; arrays have the shape (angles, ratios)."""

    theta: np.ndarray
    ratio: np.ndarray
    mode: np.ndarray
    normal: dict[str, np.ndarray]  # velocity after / (e x velocity before), by rule
    energy: dict[str, np.ndarray]  # after / before

    @property
    def quotient(self) -> np.ndarray:
        """Poisson's normal velocity after over the energetic one."""
        return self.normal["poisson"] / self.normal["stronge"]

    @property
    def energy_quotient(self) -> np.ndarray:
        return self.energy["poisson"] / self.energy["stronge"]

    @property
    def stuck(self) -> np.ndarray:
        return np.isin(self.mode, STUCK)

    @property
    def turned(self) -> np.ndarray:
        """Cells that end in a slide which began at rest."""
        return np.isin(self.mode, TURNED)

    def place(self, index: np.integer) -> str:
        """Where a cell is, by its flat index."""
        theta, ratio, mode = (a.flat[index] for a in (self.theta, self.ratio, self.mode))
        return f"{theta:.4g} deg, ratio {ratio:.4g}, mode {mode}"


def solve_plane(form: PlaneForm, points: Points, progress: Progress) -> Maps:
    return solve_at(form, *planar_grid(form.reach_deg, form.greatest_ratio, points), progress)


def solve_at(form: PlaneForm, theta: np.ndarray, ratio: np.ndarray, progress: Progress) -> Maps:
    W, v = inverse_inertia(form.rod, theta, 0.0), spatial(ratio)
    by_rule = {
        rule: jimpact.require(solve_many(W, v, form.friction, form.restitution, law=rule, progress=progress))
        for rule in RULES
    }
    normal = {rule: np.asarray(impact.velocity[..., 2]) / form.restitution for rule, impact in by_rule.items()}
    energy = {rule: energy_ratio(impact, form.rod.mass, v) for rule, impact in by_rule.items()}
    return Maps(theta, ratio, np.asarray(by_rule["poisson"].info.mode), normal, energy)


def line_of(form: PlaneForm) -> float:
    """The angle (deg) at which sticking turns to sliding back."""
    needed = lambda angle: float(ratios_of(form.rod, angle, form.friction, form.restitution).needed)  # noqa: E731
    return stick_limit(needed, form.friction, 0.0, form.reach_deg)


def by_mode(values: np.ndarray, mode: np.ndarray) -> dict[int, float]:
    """The mean of each mode that occurs."""
    return {k: float(values[mode == k].mean()) for k in np.unique(mode).tolist()}


def ends(values: np.ndarray, digits: int = 4) -> str:
    return f"{values.min():.{digits}g} to {values.max():.{digits}g}"
