"""What the configuration of simultaneous contacts may say."""

from typing import Annotated

from pydantic import Field

from jimpact.config import NotNegative, Positive, Table

from .forms import Count, Share01, Shares, Tangential

__all__ = ["Hinged", "Rack", "Sequence"]

Most = Annotated[int, Field(ge=1, le=10_000)]
Degrees = Annotated[float, Field(gt=-90, lt=90)]


class Ball(Table):
    mass: Positive  # kg
    radius: Positive  # m


class Material(Table):
    friction: NotNegative
    restitution: Annotated[float, Field(ge=0, lt=1)]
    tangential_restitution: Tangential


class Three(Table):
    speed: Positive  # m/s
    sideways: float  # m/s
    middle: Positive  # mass of the middle ball, over that of a ball
    nudge: Annotated[float, Field(gt=0, lt=1e-3)]
    draws: Count
    seed: int


class Squeezed(Table):
    speed: Positive  # m/s
    most: Most
    decay: Share01


class Rack(Table):
    speed: Positive  # m/s
    angle_deg: Annotated[list[Annotated[float, Field(gt=-29, lt=29)]], Field(min_length=1)]  # free of the other balls
    most: Most


class Hinged(Table):
    mass: Positive  # kg
    length: Positive  # m
    angle_deg: Degrees
    speed: Positive  # rad/s
    friction: Annotated[list[NotNegative], Field(min_length=1)]
    restitution: Shares
    heavy: Annotated[float, Field(ge=1e3)]
    most: Most


class Sequence(Table):
    ball: Ball
    material: Material
    three: Three
    squeezed: Squeezed
    rack: Rack
    hinged: Hinged
