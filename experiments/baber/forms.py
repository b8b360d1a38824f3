"""Types that the configurations of this paper share."""

from typing import Annotated

from pydantic import AfterValidator, Field

from jimpact.config import FrictionRange, NotNegative, PositiveRange, Printed, Seed, Share, ShareRange, Table, Vector

__all__ = ["Approach", "Count", "Crowd", "Rotation", "Sides", "Three"]

MOST = 1_000_000  # impacts in a batch: half a minute


def _positive(sides: tuple) -> tuple:
    if min(sides) <= 0:
        raise ValueError("sides must be positive")
    return sides


def _turn(angles: tuple) -> tuple:
    if max(map(abs, angles)) > 180:
        raise ValueError("pass angles from -180 to 180 degrees")
    return angles


Count = Annotated[int, Field(ge=1, le=MOST)]
Three = Annotated[list[Printed], Field(min_length=3, max_length=3)]
Approach = Annotated[float, Field(lt=0)]  # normal velocity, m/s
Sides = Annotated[Vector, AfterValidator(_positive)]
Rotation = Annotated[Vector, AfterValidator(_turn)]


class Crowd(Table):
    """Random impacts: ranges are uniform, but slip over approach speed and sides, which are log-uniform."""

    count: Count
    seed: Seed
    friction: FrictionRange
    restitution: ShareRange
    slip_ratio: PositiveRange  # slip / approach speed before
    side: PositiveRange = (0.5, 2.0)  # of boxes, m
    still: Share = 0.0  # share of impacts that start without slip
    frictionless: Share = 0.0
    plastic: Share = 0.0  # share with restitution 0
    elastic: Share = 0.0  # share with restitution 1
    least_eigenvalue: NotNegative = 0.0  # added to random inverse inertias, 1/kg
