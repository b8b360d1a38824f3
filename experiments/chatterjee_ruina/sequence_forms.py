"""What the configuration of simultaneous contacts may say."""

from typing import Annotated

from pydantic import Field

from jimpact.config import FrictionRange, NotNegative, Positive, Table, Vector

from .forms import Count, Shares, Small, Tangential

__all__ = ["Ball", "Crowd", "Cut", "Hinged", "Material", "Sequence"]

BelowOne = Annotated[float, Field(ge=0, lt=1)]


class Ball(Table):
    mass: Positive  # kg
    radius: Positive  # m


class Material(Table):
    friction: NotNegative
    restitution: BelowOne
    tangential_restitution: Tangential


class Cut(Table):
    most: Annotated[int, Field(ge=1, le=10_000)]  # impacts
    decay: BelowOne  # of the energy of approach
    ended: Small  # of the speed before: less approach is none


class Three(Table):
    speed: Positive  # m/s
    sideways: float  # m/s
    middle: Positive  # mass of the middle ball, over that of a ball
    nudge: Small
    direction: Vector
    draws: Count
    seed: int


class Rod(Table):
    mass: Positive  # kg
    length: Positive  # m
    speed: Positive  # m/s
    restitution: Annotated[list[BelowOne], Field(min_length=1)]
    tilt: Small


class Crowd(Table):
    seed: int
    count: Count
    contacts: Annotated[int, Field(ge=1, le=12)]
    directions: Annotated[int, Field(ge=3)]  # in which the bodies can move
    friction: FrictionRange
    restitution: Annotated[float, Field(gt=0, lt=1)]  # the greatest


class Rack(Table):
    speed: Positive  # m/s
    rows: Annotated[list[Count], Field(min_length=1)]  # balls in each
    angle_deg: Annotated[list[Annotated[float, Field(gt=-29, lt=29)]], Field(min_length=1)]  # free of the other balls


class Hinged(Table):
    mass: Positive  # kg
    length: Positive  # m
    angle_deg: Annotated[float, Field(gt=-90, lt=90)]
    speed: Positive  # rad/s
    friction: Annotated[list[NotNegative], Field(min_length=1)]
    restitution: Shares
    heavy: Annotated[float, Field(ge=1e3)]


class Sequence(Table):
    ball: Ball
    material: Material
    cut: Cut
    three: Three
    rod: Rod
    vast: Positive  # of the speed: more is a vastly different result
    sensitive: Positive  # change of the result over that of the start: more is an ill-posed problem
    squeezed_speed: Positive  # m/s
    crowd: Crowd
    rack: Rack
    hinged: Hinged
