"""What the configurations may say, and the grids of their maps."""

from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from jimpact.reproduce import Texts
from jimpact.schemas.config import Approaching, FrictionRange, NotNegative, Positive, Share, ShareRange, Small, Table

TEXTS = Texts(__file__)
Lean = Annotated[float, Field(gt=-90, lt=90)]
Reach = Annotated[float, Field(gt=0, lt=90)]
Counts = Annotated[list[Annotated[int, Field(ge=2, le=2000)]], Field(min_length=2, max_length=2)]  # along two axes
Several = Annotated[list[Positive], Field(min_length=1, max_length=8)]


def _in_order(figures: tuple[int, ...], maps: list) -> list:
    if tuple(case.figure for case in maps) != figures:
        raise ValueError(f"pass one map for each of the figures {', '.join(map(str, figures))}, in this order")
    return maps


class Rod(Table):
    """A cylinder that touches with the middle of its spherical end."""

    mass: Positive  # kg
    half_length: Positive  # m
    radius: Positive  # m

    @property
    def across(self) -> float:
        """Moment of inertia about a line across the rod, (69)."""
        return self.mass * (self.radius**2 / 4 + self.half_length**2 / 3)

    @property
    def alpha(self) -> float:
        return self.across / (self.mass * self.half_length**2)


def grid(x: tuple[float, float], y: tuple[float, float], counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Two axes as arrays of a map: the first runs along rows, the second along columns."""
    one, two = np.meshgrid(np.linspace(*x, counts[0]), np.linspace(*y, counts[1]), indexing="ij")
    return one, two


class PlaneForm(Table):
    """Figures 3 to 5, Tables 1 and 2."""

    rod: Rod
    friction: NotNegative
    restitution: Share
    reach_deg: Reach
    greatest_ratio: Positive
    coarse: Counts
    fine: Counts
    other_restitution: Share
    static_friction: NotNegative
    newton_restitution: Share
    other_frictions: Several
    other_radii: Several
    near_deg: Positive  # "in the vicinity" of an angle
    limits: Annotated[dict[Literal["around", "most", "nearly_all", "close", "substantial"], Small], Field(min_length=5)]

    def grid(self, counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Angles (rows) and ratios of slip to approach speed (columns)."""
        return grid((-self.reach_deg, self.reach_deg), (0.0, self.greatest_ratio), counts)


class Orientation(Table):
    """A map over the two angles: theta1 from -reach to reach, theta2 from 0 to reach."""

    figure: Literal[8, 9, 10, 11]
    rule: Literal["poisson", "stronge"]
    friction: NotNegative
    restitution: Share
    reach_deg: Reach


class SpatialForm(Table):
    """What the maps in space have in common."""

    rod: Rod
    velocity: Approaching
    coarse: Counts
    fine: Counts


class SpaceForm(SpatialForm):
    """Figures 8 to 11."""

    upright_deg: Positive  # within which the rod counts as upright
    maps: Annotated[list[Orientation], AfterValidator(partial(_in_order, (8, 9, 10, 11)))]
    limits: Annotated[dict[Literal["most", "small", "close", "few"], Small], Field(min_length=4)]


class MaterialMap(Table):
    """A map over friction and restitution at one orientation."""

    figure: Literal[12, 13]
    theta1_deg: Lean
    theta2_deg: Lean


class MaterialForm(SpatialForm):
    """Figures 12 and 13."""

    friction: FrictionRange
    restitution: ShareRange
    maps: Annotated[list[MaterialMap], AfterValidator(partial(_in_order, (12, 13)))]
    drawn_frictions: Several  # of impacts whose slip is drawn
    drawn_restitution: Share
    much_more: Positive  # times as far
    limits: Annotated[dict[Literal["identical", "nearly_all"], Small], Field(min_length=2)]


class PlanarScene(Table):
    """Impacts of the leaning rod in the plane, at angles where slip that stops turns back."""

    friction: Positive
    restitution: Share
    stops_at: Share  # where slip ends, as a part of restitution
    angles_deg: list[Lean]


class SpatialScene(Table):
    theta1_deg: Lean
    theta2_deg: Lean
    velocity: Approaching
    restitution: Share
    sliding_friction: Positive  # with which it slides throughout
    stopping_friction: Positive  # with which slip ends in compression


class ErrataForm(Table):
    """Impacts on which the printed equations are tried."""

    rod: Rod
    plane: PlanarScene
    space: SpatialScene
