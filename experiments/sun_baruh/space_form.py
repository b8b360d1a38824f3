"""What the configurations of the maps in space may say, and their grids."""

from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from jimpact.config import Approaching, FrictionRange, Name, NotNegative, Positive, Share, ShareRange, Table

from .rod import Count, Lean, Reach, Rod

__all__ = ["Counts", "MaterialForm", "MaterialMap", "Orientation", "SpaceForm", "between", "leaning"]


def _in_order(figures: tuple[int, ...], maps: list) -> list:
    if tuple(case.figure for case in maps) != figures:
        raise ValueError(f"pass one map for each of the figures {', '.join(map(str, figures))}, in this order")
    return maps


Rule = Literal["poisson", "stronge"]


class Counts(Table):
    """Points along the two axes of a map."""

    x: Count
    y: Count


class Orientation(Table):
    """A map over the two angles: theta1 from -reach to reach, theta2 from 0 to reach."""

    figure: Literal[8, 9, 10, 11]
    rule: Rule
    friction: NotNegative
    restitution: Share
    reach_deg: Reach
    says: Name  # in the text, of this figure


class SpaceLimits(Table):
    """What decides where the paper has words only."""

    most: Share  # of the cells
    small: Share
    close: Positive  # relative
    few: Share


class SpacePrinted(Table):
    slide_parameters: Annotated[list[Name], Field(min_length=2, max_length=2)]  # of figures 8 and 10
    symmetric: Name
    planar: Name
    no_late_reverse: Name
    ending_loses: Name
    upright_sticks: Name
    more_friction_sticks: Name
    restitution_and_mode: Name
    lower_restitution: Name
    side_lean_sticks_less: Name
    more_sliding: Name
    more_back: Name
    flat_loses: Name
    same_modes: Name
    rules_apart: Name
    concluded_percent: Name


class SpaceForm(Table):
    """Figures 8 to 11."""

    rod: Rod
    velocity: Approaching
    coarse: Counts
    fine: Counts
    upright_deg: Positive  # within which the rod counts as upright
    maps: Annotated[list[Orientation], AfterValidator(partial(_in_order, (8, 9, 10, 11)))]
    limits: SpaceLimits
    printed: SpacePrinted


class MaterialMap(Table):
    """A map over friction and restitution at one orientation."""

    figure: Literal[12, 13]
    theta1_deg: Lean
    theta2_deg: Lean
    says: Name


class Hodographs(Table):
    """Impacts whose slip is drawn."""

    friction: Annotated[list[Positive], Field(min_length=1, max_length=8)]
    restitution: Share


class MaterialLimits(Table):
    """What decides where the paper has words only."""

    much_more: Positive  # times as far
    identical: Positive  # relative
    nearly_all: Share  # of the cells, or of the steps between them


class MaterialPrinted(Table):
    energetic: Name
    normal: Name
    energy: Name
    friction_loses: Name
    sideways: Name
    backwards: Name


class MaterialForm(Table):
    """Figures 12 and 13."""

    rod: Rod
    velocity: Approaching
    friction: FrictionRange
    restitution: ShareRange
    coarse: Counts
    fine: Counts
    maps: Annotated[list[MaterialMap], AfterValidator(partial(_in_order, (12, 13)))]
    hodographs: Hodographs
    limits: MaterialLimits
    printed: MaterialPrinted


def leaning(reach_deg: float, counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """theta1 (rows) and theta2 (columns), in degrees."""
    return between((-reach_deg, reach_deg), (0.0, reach_deg), counts)


def between(x: tuple[float, float], y: tuple[float, float], counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    one, two = np.meshgrid(np.linspace(*x, counts.x), np.linspace(*y, counts.y), indexing="ij")
    return one, two
