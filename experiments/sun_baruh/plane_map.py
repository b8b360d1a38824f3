"""The planar rod over lean and slip, solved by both rules."""

from typing import NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import Progress, solve_many

from .plane_form import PlaneForm, Points, planar_grid, spatial
from .rod import RULES, energy_ratio, inverse_inertia

__all__ = ["Maps", "ends", "solve_plane"]


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


def solve_plane(form: PlaneForm, points: Points, progress: Progress) -> Maps:
    theta, ratio = planar_grid(form.reach_deg, form.greatest_ratio, points)
    W, v = inverse_inertia(form.rod, theta, 0.0), spatial(ratio)
    by_rule = {
        rule: jimpact.require(solve_many(W, v, form.friction, form.restitution, law=rule, progress=progress))
        for rule in RULES
    }
    normal = {rule: np.asarray(impact.velocity[..., 2]) / form.restitution for rule, impact in by_rule.items()}
    energy = {rule: energy_ratio(impact, form.rod.mass, v) for rule, impact in by_rule.items()}
    return Maps(theta, ratio, np.asarray(by_rule["poisson"].info.mode), normal, energy)


def ends(values: np.ndarray, digits: int = 4) -> str:
    return f"{values.min():.{digits}g} to {values.max():.{digits}g}"
