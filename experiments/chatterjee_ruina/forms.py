"""What the configurations may say. In planar scenes axis 0 is tangential and axis 1 the normal."""

from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from jimpact.reproduce import Texts
from jimpact.schemas import config
from jimpact.schemas.config import Approaching, Matrix, NotNegative, Positive, PositiveRange, Share, Table

TEXTS = Texts(__file__)
ASYMMETRY = 1e-12  # of a 2 x 2 matrix that is written, not measured


def _definite(value: list) -> list:
    K = np.asarray(value)
    if abs(K[0, 1] - K[1, 0]) > ASYMMETRY * np.abs(K).max() or np.linalg.eigvalsh(K).min() <= 0:
        raise ValueError("the matrix must be symmetric and positive definite")
    return value


ANY, TWO = Field(min_length=1), Field(min_length=2, max_length=2)
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Tangential = Annotated[float, Field(ge=-1, le=1)]  # coefficient of tangential restitution
BelowOne = Annotated[float, Field(ge=0, lt=1)]
Pair = Annotated[list[float], TWO]
Plane = Annotated[list[Pair], TWO, AfterValidator(_definite)]
Approach = Annotated[Pair, AfterValidator(config.approaching)]
Law = Literal["poisson", "stronge", "newton", "anitescu_potra", "whittaker", "smith", "sun_baruh", "chatterjee_ruina"]


class Population(Table):
    """Random impacts: how many, and in which ranges."""

    seed: int
    count: Count  # of each kind
    every: Count = 1  # for statements that solve each impact many times: one of so many
    mass: PositiveRange  # kg
    half_side: PositiveRange  # m, of a block
    arm: PositiveRange  # m, from the centre to the contact, in each direction up to these
    friction: config.FrictionRange
    grip: PositiveRange  # friction over w / |d|
    least_approach: Positive  # m/s, with speeds of order 1
    least_mobility: Positive  # 1/kg, with random matrices of order 1


class Scene(Table):
    """One planar impact, and the laws to draw for it."""

    name: config.Name
    inverse_inertia: Plane  # 1/kg
    velocity: Approach  # m/s
    friction: NotNegative
    laws: list[Law]


class Construction(Table):
    """Figures 1 and 3."""

    scene: Scene
    population: Population


class Solid(Table):
    """One impact in space, for any restitution."""

    inverse_inertia: Matrix  # 1/kg
    velocity: Approaching  # m/s
    friction: Positive


class Case(Solid):
    """One impact in space."""

    restitution: Share
    tangential_restitution: Tangential = 0.0


class Laws(Table):
    """Statements about laws."""

    population: Population
    beyond_one: Annotated[float, Field(gt=1)]  # a restitution beyond the law's range
    infinite: Annotated[float, Field(ge=1e3)]  # friction
    mixing: Annotated[list[Share], ANY]  # weights of the new law
    diagonal: Case
    grazing: Case
    smith: Case
    rebound: Case
    spread: Solid


class Material(Table):
    friction: NotNegative
    restitution: BelowOne
    tangential_restitution: Tangential


class Cut(Table):
    most: Annotated[int, Field(ge=1, le=10_000)]  # impacts
    decay: BelowOne  # of the energy of approach
    ended: Annotated[float, Field(gt=0, lt=1e-3)]  # of the speed before: less approach is none


class Sequence(Table):
    """Simultaneous contacts."""

    mass: Positive  # kg, of a ball
    radius: Positive  # m
    rows: Annotated[list[Count], ANY]  # balls in each row of a rack
    angle_deg: Annotated[list[Annotated[float, Field(gt=-29, lt=29)]], ANY]  # of arrival, free of the other balls
    rod: Annotated[list[BelowOne], ANY]  # restitution of one that falls flat
    hinged: Annotated[list[BelowOne], ANY]  # restitution of a rod on a hinge
    friction: Annotated[list[NotNegative], ANY]  # of that rod
    crowd: Count  # random bodies
    material: Material
    cut: Cut
