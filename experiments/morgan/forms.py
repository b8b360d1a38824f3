"""What the configurations in configs/morgan may say."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from jimpact.config import (
    Approaching,
    FrictionRange,
    Name,
    Normal,
    NotNegative,
    Positive,
    Range,
    Seed,
    Share,
    ShareRange,
    Small,
    Table,
    approaching,
)

from .pendulum import Pendulum

__all__ = [
    "CrowdForm",
    "CrowdLimits",
    "Impact",
    "ImpactsForm",
    "MapGrid",
    "MechanismForm",
    "MotionForm",
    "Pair",
    "SpaceAnew",
    "SpaceForm",
    "SpaceImpact",
]

STRAIGHT = 1.0  # deg: nearer to straight (or folded) bars leave the tip one way to go, and K is singular


def _two(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2 or any(isinstance(x, list | tuple) for x in value):
        raise ValueError("pass a list of 2 numbers")
    return tuple(value)


def _bent(angles: tuple[float, float]) -> tuple[float, float]:
    if abs((angles[1] + 90) % 180 - 90) < STRAIGHT:
        raise ValueError(f"the bars are straight or folded; pass a second angle at least {STRAIGHT:g} degree from that")
    return angles


def _bends(bend: tuple[float, float]) -> tuple[float, float]:
    if bend[0] < STRAIGHT or bend[1] > 180 - STRAIGHT:
        raise ValueError(f"bars may be straight or folded; pass bends from {STRAIGHT:g} to {180 - STRAIGHT:g} degrees")
    return bend


def _slipping(velocity: tuple) -> tuple:
    if not any(velocity[:-1]):
        raise ValueError("the tip does not slip, and its impact has no path of fig 2.8; pass a tangential velocity")
    return velocity


Pair = Annotated[tuple[float, float], BeforeValidator(_two)]
Posture = Annotated[Pair, AfterValidator(_bent)]  # first bar to the horizontal, second to the first
Approach = Annotated[Pair, AfterValidator(approaching), AfterValidator(_slipping)]  # along the floor, up
Approach3 = Annotated[Approaching, AfterValidator(_slipping)]
Bend = Annotated[Range, AfterValidator(_bends)]
Count = Annotated[int, Field(ge=2, le=20_000)]
Law = Literal["stronge", "poisson", "newton"]


class Bars(Table):
    """Two equal slender bars; no gravity: it does nothing in an impact."""

    mass: Positive  # kg, of each
    length: Positive  # m, of each

    def pendulum(self) -> Pendulum:
        return Pendulum(self.mass, self.length)


class Hung(Bars):
    """The same over a floor."""

    gravity: NotNegative  # m/s^2
    floor: float  # m, height; the support is at 0

    @field_validator("floor")
    @classmethod
    def _below(cls, floor: float, info: ValidationInfo) -> float:
        if floor >= -info.data.get("length", 0.0):
            raise ValueError("the joint between the bars can reach the floor; pass a floor below -length")
        return floor

    def pendulum(self) -> Pendulum:
        return Pendulum(self.mass, self.length, self.gravity, self.floor)


class Draw(Table):
    """Random states."""

    seed: Seed
    count: Count
    speed: Positive  # rad/s, standard deviation of each generalised speed


class MechanismForm(Table):
    """mechanism.toml"""

    name: Name
    pendulum: Bars
    posture_deg: Posture  # that is drawn
    round_off: Small
    printed: Name  # what can be read of M and J
    sample: Draw


class Impact(Table):
    """One impact of the tip."""

    name: Name
    figure: Name
    angles_deg: Posture
    tip_velocity: Approach  # m/s
    friction: NotNegative
    restitution: Share


class ImpactsPrinted(Table):
    """Paths through fig 2.8, figure by figure, and all of them."""

    paths: dict[Literal["fig 2.7", "fig 2.9a", "fig 2.9b"], str]
    orders: list[str]


class ImpactsForm(Table):
    """impacts.toml; the first impact is the example that the text follows."""

    name: Name
    pendulum: Bars
    impact: Annotated[list[Impact], Field(min_length=1)]
    printed: ImpactsPrinted

    @field_validator("printed")
    @classmethod
    def _there(cls, printed: ImpactsPrinted, info: ValidationInfo) -> ImpactsPrinted:
        missing = set(printed.paths) - {impact.figure for impact in info.data.get("impact", [])}
        if missing and "impact" in info.data:
            raise ValueError(f"no impact has the figure {', '.join(sorted(missing))}; add one, or leave its path out")
        return printed


class CrowdDraw(Draw):
    """Random postures, speeds and materials."""

    angle_deg: Range  # of the first bar
    bend_deg: Bend  # of the second bar to the first, either way
    friction: FrictionRange
    static_over_kinetic: Annotated[FrictionRange, Field(description="static over kinetic friction")]
    restitution: ShareRange

    @field_validator("static_over_kinetic")
    @classmethod
    def _not_less(cls, ratio: tuple[float, float]) -> tuple[float, float]:
        if ratio[0] < 1:
            raise ValueError("static friction is not below kinetic friction; pass ratios of at least 1")
        return ratio


class MapGrid(Table):
    """One posture, all directions of approach, all frictions."""

    angles_deg: Posture
    restitution: Share
    direction_deg: Annotated[Range, Field(description="of the tip's velocity, from the normal")]
    friction: FrictionRange
    columns: Annotated[int, Field(ge=2, le=400)]
    rows: Annotated[int, Field(ge=2, le=400)]

    @field_validator("direction_deg")
    @classmethod
    def _towards(cls, direction: tuple[float, float]) -> tuple[float, float]:
        if not -90 < direction[0] < direction[1] < 90:
            raise ValueError("the tip must approach; pass directions between -90 and 90 degrees")
        return direction

    @field_validator("columns")
    @classmethod
    def _slipping(cls, columns: int, info: ValidationInfo) -> int:
        low, high = info.data.get("direction_deg", (1.0, 2.0))
        if 0.0 in np.linspace(low, high, columns):
            raise ValueError("one column has no slip, and no path of fig 2.8; pass one more or less")
        return columns


class CrowdPrinted(Table):
    """What the text counts."""

    orders: str
    intermediate_states: list[str]
    friction_changes: str
    references: dict[Name, Annotated[list[Name], Field(min_length=2, max_length=2)]]  # as printed, and where it is


class CrowdLimits(Table):
    """How near is equal."""

    closed_form: Positive  # eps, per unit of cancellation, of the impulse
    small: Small  # relative differences above are counted
    changed: Small  # of the impulse: more is another answer
    gain: Small  # of the energy before: more is a gain
    bend: Small  # of friction: less is no change of it


class CrowdForm(Table):
    """crowd.toml"""

    name: Name
    pendulum: Bars
    sample: CrowdDraw
    traced: Count  # of the sample, followed
    map: MapGrid
    limits: CrowdLimits
    printed: CrowdPrinted


class Start(Table):
    """At rest or not."""

    angles_deg: Pair
    speeds: Pair  # rad/s


class Surface(Table):
    """Tip and floor."""

    friction: NotNegative
    restitution: Share
    law: Law


class Run(Table):
    """How the flight is computed, and when it ends."""

    duration: Positive  # s
    step: Positive  # s, of the Runge-Kutta method
    rest: Positive  # s: the tip rests once its next bounce would be shorter


class MotionForm(Table):
    """motion.toml"""

    name: Name
    pendulum: Hung
    start: Start
    material: Surface
    run: Run

    @field_validator("start")
    @classmethod
    def _above(cls, start: Start, info: ValidationInfo) -> Start:
        first, second = np.deg2rad(start.angles_deg)
        hung = info.data.get("pendulum")
        if hung is not None and hung.length * (np.sin(first) + np.sin(first + second)) < hung.floor:
            raise ValueError("the tip starts below the floor; pass other angles or a lower floor")
        return start


class SpaceImpact(Table):
    """One impact on an inclined floor."""

    name: Name
    tip_velocity: Approach3  # m/s, along t1, t2 and the normal
    friction: NotNegative
    restitution: Share


class SpaceDraw(Table):
    """Random directions of slip, frictions and restitutions at the same posture."""

    seed: Seed
    count: Count
    slip: Positive  # m/s, standard deviation of each tangential velocity
    approach: Positive  # m/s
    friction: FrictionRange
    restitution: ShareRange


class SpaceAnew(Table):
    """Impacts that start along the invariant direction to zero slip."""

    slip: Positive  # m/s
    approach: Positive  # m/s


class SpaceLimits(Table):
    """How near is equal."""

    integrated: Small  # of the speeds before: `solve` at standard accuracy
    zero: Small  # of the velocity before
    algebra: Small  # of the largest entry of J M^-1 J^T


class SpaceForm(Table):
    """space.toml: the double pendulum on a support that swivels about the vertical."""

    name: Name
    pendulum: Bars
    angles_deg: Posture
    normal: Normal  # of the floor: radial, across, up
    impact: Annotated[list[SpaceImpact], Field(min_length=1)]
    sample: SpaceDraw
    anew: SpaceAnew
    limits: SpaceLimits
