"""What the configuration of the planar maps may say, and their grids."""

from typing import Any

import numpy as np

from jimpact.config import Name, NotNegative, Positive, Share, Table

from .rod import Count, Reach, Rod

__all__ = ["PlaneForm", "Points", "planar_grid", "spatial"]


class Points(Table):
    """How many angles, and how many ratios of slip to approach speed."""

    angles: Count
    ratios: Count


class PlanePrinted(Table):
    """What the paper says; decimals as printed."""

    modes: Name
    first_ratio: Name
    second_ratio: Name
    second_limit: Name
    line: Name
    plane: Name
    all_modes: Name
    normal: Name
    sticking_loses: Name
    flat_keeps: Name
    flat_loses: Name
    faster_keeps: Name
    fig5: Name
    fig5_difference: Name
    fig5_difference_concluded: Name
    fig5_angle: Name
    fig5_overall: Name
    fig5_energy: Name
    restitution_and_mode: Name
    newton_energy: Name
    newton_mode: Name
    static: Name


class PlaneForm(Table):
    """Figures 3 to 5 and Table 2."""

    rod: Rod
    friction: NotNegative
    restitution: Share
    reach_deg: Reach
    greatest_ratio: Positive
    coarse: Points
    fine: Points
    unit_limit: Positive  # with which Table 2 compares R2
    other_restitution: Share
    static_friction: NotNegative
    newton_restitution: Share
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
