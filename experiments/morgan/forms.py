"""What the configurations in configs/morgan may say."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from jimpact.reproduce import Texts
from jimpact.schemas import config
from jimpact.schemas.config import Name, NotNegative, Positive, Share, Table

from .pendulum import Pendulum

TEXTS = Texts(__file__)
STRAIGHT = 1.0  # deg: nearer to straight (or folded) bars leave the tip one way to go, and K is singular
PATHS = {"fig 2.7": "a-b-e", "fig 2.9a": "a-c-e", "fig 2.9b": "a-c-e"}  # through fig 2.8, as the text tells


def _must(hold: Callable[[Any], bool], otherwise: str) -> AfterValidator:
    """Refuse a value in one sentence."""

    def checked(value: Any) -> Any:
        if not hold(value):
            raise ValueError(otherwise)
        return value

    return AfterValidator(checked)


BENT = _must(
    lambda angles: abs((angles[1] + 90) % 180 - 90) >= STRAIGHT,
    f"the bars are straight or folded; pass a second angle at least {STRAIGHT:g} degree from that",
)
SLIPPING = _must(
    lambda velocity: any(velocity[:-1]),
    "the tip does not slip, and its impact has no path of fig 2.8; pass a tangential velocity",
)
TOLD = _must(
    lambda impacts: {impact.figure for impact in impacts} >= set(PATHS),
    f"a figure has no impact; pass at least one for each of {', '.join(PATHS)}",
)
OUT_OF_REACH = _must(
    lambda hung: hung.floor < -hung.length, "the joint between the bars can reach the floor; pass a floor below -length"
)

Pair = Annotated[tuple[float, float], Field(strict=False)]  # a list of two
Posture = Annotated[Pair, BENT]  # deg, first bar to the horizontal, second to the first
Count = Annotated[int, Field(ge=2, le=20_000)]


class Bars(Table):
    """Two equal slender bars; no gravity: it does nothing in an impact."""

    mass: Positive  # kg, of each
    length: Positive  # m, of each

    def pendulum(self) -> Pendulum:
        return Pendulum(**self.model_dump())


class Hung(Bars):
    """The same over a floor."""

    gravity: NotNegative  # m/s^2
    floor: float  # m, height; the support is at 0


class Form(Table):
    """What every file has."""

    name: Name
    pendulum: Bars


class Surface(Table):
    """Tip and floor."""

    friction: NotNegative
    restitution: Share


class Draw(Table):
    """Random impacts."""

    seed: config.Seed
    count: Count
    friction: config.FrictionRange
    restitution: config.ShareRange


class MechanismForm(Form):
    """mechanism.toml"""

    posture_deg: Posture  # that is drawn


class Impact(Surface):
    """One impact of the tip."""

    name: Name
    figure: Name
    angles_deg: Posture
    tip_velocity: Annotated[Pair, AfterValidator(config.approaching), SLIPPING]  # m/s, along the floor and up


class ImpactsForm(Form):
    """impacts.toml; the first impact is the example that the text follows."""

    impact: Annotated[list[Impact], TOLD]


class CrowdForm(Form):
    """crowd.toml"""

    sample: Draw
    traced: Count  # of the sample, followed


class Start(Table):
    """At rest or not."""

    angles_deg: Pair
    speeds: Pair  # rad/s


class MotionForm(Form):
    """motion.toml"""

    pendulum: Annotated[Hung, OUT_OF_REACH]
    start: Start
    material: Surface
    law: Literal["stronge", "poisson", "newton"]
    duration: Positive  # s
    step: Positive  # s, of the Runge-Kutta method
    rest: Positive  # s: the tip rests once its next bounce would be shorter

    @field_validator("start")
    @classmethod
    def _above(cls, start: Start, info: ValidationInfo) -> Start:
        hung = info.data.get("pendulum")
        if hung and hung.length * np.sin(np.cumsum(np.deg2rad(start.angles_deg))).sum() < hung.floor:
            raise ValueError("the tip starts below the floor; pass other angles or a lower floor")
        return start


class SpaceImpact(Surface):
    """One impact on an inclined floor."""

    name: Name
    tip_velocity: Annotated[config.Approaching, SLIPPING]  # m/s, along t1, t2 and the normal


class SpaceForm(Form):
    """space.toml: the double pendulum on a support that swivels about the vertical."""

    angles_deg: Posture
    normal: config.Normal  # of the floor: radial, across, up
    impact: Annotated[list[SpaceImpact], Field(min_length=1)]
    sample: Draw
