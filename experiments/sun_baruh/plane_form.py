"""What the configuration of the planar maps may say, and their grids."""

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from jimpact.config import Name, NotNegative, Positive, Share, Table

from .rod import Count, Reach, Rod

__all__ = ["PlaneForm", "Points", "planar_grid", "spatial"]


class Points(Table):
    """How many angles, and how many ratios of slip to approach speed."""

    angles: Count
    ratios: Count


class PlaneLimits(Table):
    """What decides where the paper has words only."""

    around: Positive  # from 1, of a ratio
    most: Share  # of the cells
    nearly_all: Share  # of the cells, or of the steps between them
    close: Positive  # relative
    near_deg: Positive
    substantial: Share  # of all cells that may have less energy left


class PlanePrinted(Table):
    """What the paper says; numbers as printed."""

    modes: Name
    continues: Name
    at_stop: Name
    first_ratio: Name
    second_ratio: Name
    second_limit: Name
    line: Name
    plane: Name
    all_modes: Name
    normal: Name
    normal_varies: Name
    back_often: Name
    sticking_loses: Name
    edge_loses: Name
    flat_keeps: Name
    flat_loses: Name
    faster_keeps: Name
    friction_loses: Name
    fig5: Name
    fig5_percent: Name
    concluded_percent: Name
    fig5_angle: Name
    fig5_overall: Name
    fig5_energy: Name
    rules_apart: Name
    restitution_and_mode: Name
    newton_energy: Name
    newton_mode: Name
    static: Name
    static_back: Name
    frictionless: Name
    other_frictions: Name
    other_radii: Name


class PlaneForm(Table):
    """Figures 3 to 5, Tables 1 and 2."""

    rod: Rod
    friction: NotNegative
    restitution: Share
    reach_deg: Reach
    greatest_ratio: Positive
    coarse: Points
    fine: Points
    line_ratios: Count
    unit_limit: Positive  # with which Table 2 compares R2
    other_restitution: Share
    static_friction: NotNegative
    newton_restitution: Share
    other_frictions: Annotated[list[Positive], Field(min_length=1)]
    other_radii: Annotated[list[Positive], Field(min_length=1)]
    limits: PlaneLimits
    printed: PlanePrinted


def planar_grid(reach_deg: float, greatest_ratio: float, points: Points) -> tuple[np.ndarray, np.ndarray]:
    """Angles (rows) and ratios (columns)."""
    angles = np.linspace(-reach_deg, reach_deg, points.angles)
    theta, ratio = np.meshgrid(angles, np.linspace(0, greatest_ratio, points.ratios), indexing="ij")
    return theta, ratio


def spatial(ratio: Any) -> np.ndarray:
    """Velocity of the contact point in space at unit approach speed."""
    ratio = np.asarray(ratio, float)
    return np.stack([ratio, np.zeros_like(ratio), -np.ones_like(ratio)], -1)
