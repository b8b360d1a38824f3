"""What the configurations may say. In planar scenes axis 0 is tangential and axis 1 the normal."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from jimpact.config import (
    Approaching,
    FrictionRange,
    Matrix,
    Name,
    NotNegative,
    Positive,
    PositiveRange,
    Printed,
    Share,
    Table,
    Vector,
    approaching,
)

__all__ = [
    "Case",
    "Construction",
    "Grazing",
    "Hinge",
    "InfiniteFriction",
    "Laws",
    "NearGrazing",
    "Population",
    "Scene",
    "Several",
    "Solid",
]

ASYMMETRY = 1e-12  # of a 2 x 2 matrix that is written, not measured


def _pair(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError("pass a list of 2, for the tangential and the normal direction")
    return tuple(value)


def _rows(value: Any) -> Any:
    return tuple(_pair(row) for row in _pair(value))


def _definite(value: tuple) -> tuple:
    K = np.asarray(value)
    if abs(K[0, 1] - K[1, 0]) > ASYMMETRY * np.abs(K).max() or np.linalg.eigvalsh(K).min() <= 0:
        raise ValueError("the matrix must be symmetric and positive definite")
    return value


Count = Annotated[int, Field(ge=1, le=1_000_000)]
Shares = Annotated[list[Share], Field(min_length=1)]
Tangential = Annotated[float, Field(ge=-1, le=1)]  # coefficient of tangential restitution
Below = Annotated[float, Field(lt=0)]
Small = Annotated[float, Field(gt=0, lt=1e-3)]
Pair = tuple[float, float]
Plane = Annotated[tuple[Pair, Pair], BeforeValidator(_rows), AfterValidator(_definite)]
Approach = Annotated[Pair, BeforeValidator(_pair), AfterValidator(approaching)]
Law = Literal["poisson", "stronge", "newton", "anitescu_potra", "whittaker", "smith", "sun_baruh", "chatterjee_ruina"]


class Population(Table):
    """Random impacts: how many, and in which ranges."""

    seed: int
    count: Count  # of each kind
    every: Count = 1  # for statements that solve each impact many times: one of so many
    mass: PositiveRange  # kg
    half_side: PositiveRange  # m, of a block
    arm: PositiveRange  # m, from the centre to the contact, in each direction up to these
    friction: FrictionRange
    grip: PositiveRange  # friction over w / |d|
    least_approach: Positive  # m/s, with speeds of order 1
    least_mobility: Positive  # 1/kg, with random matrices of order 1


class Scene(Table):
    """One planar impact, and the laws to draw for it."""

    name: Name
    inverse_inertia: Plane  # 1/kg
    velocity: Approach  # m/s
    friction: NotNegative
    laws: list[Law]


class Solid(Table):
    """Figure 2: one impact in space."""

    name: Name
    inverse_inertia: Matrix  # 1/kg
    velocity: Approaching  # m/s
    friction: Positive
    samples: Annotated[int, Field(ge=8, le=512)]  # of each restitution, from end to end


class PointD(Table):
    restitution: Share


class Lines(Table):
    restitution: Shares


class Construction(Table):
    """Figures 1 and 3."""

    scene: Scene
    figure1: PointD
    figure3: Lines
    population: Population


class Centred(Table):
    velocity: Approach  # m/s


class InfiniteFriction(Scene):
    """Figure 7."""

    centred: Centred


class Limit(Table):
    mobility: Annotated[list[Positive], Field(min_length=2)]  # 1/kg, along the rod
    restitution: Share
    tangential_restitution: Tangential
    held: Positive  # of the speed before: less is left at the least mobility where something vanishes


class Hinge(Scene):
    """Figure 8."""

    limit: Limit


class Closer(Table):
    normal_velocity: Annotated[list[Below], Field(min_length=1)]  # m/s


class PrintedRestitution(Table):
    restitution: Printed


class NearGrazing(Scene):
    """Figure 9."""

    closer: Closer
    printed: PrintedRestitution


class Definitions(Table):
    seed: int
    realised: Count  # bodies made for so many matrices
    share: Annotated[float, Field(gt=0, lt=1)]  # of the least mobility, given to the masses of bodies that are made
    spread: Positive  # of the larger of P_I and P_II, about 1.5 P_I: a share of such impulses is permissible
    frame: Vector  # m/s, of a moving observer


class Case(Table):
    """One impact."""

    inverse_inertia: Matrix  # 1/kg
    velocity: Approaching  # m/s
    friction: Positive
    restitution: Share


class Several(Case):
    """An impact with several solutions of Smith's equation."""

    starts: Count  # of Newton's method
    seed: int


class Solutions(Table):
    sparse: Count  # one of so many of the sample: scans take longer than laws
    directions: Count  # of the slip after
    fine: Count  # the same where the first do not count one solution
    sample: Count  # impacts whose solutions of Smith's equation are looked for
    starts: Count  # of Newton's method, for each
    groups: Annotated[int, Field(ge=2)]  # by friction


class Grazing(Table):
    inverse_inertia: Matrix  # 1/kg
    friction: Positive
    restitution: Share
    tangential_restitution: Tangential
    normal_velocity: Annotated[list[Below], Field(min_length=2)]  # m/s
    nearness: Small
    some: Small  # of the speed, or of |P_II|: more than what nearness leaves


class Infinite(Table):
    friction: Annotated[float, Field(ge=1e3)]
    restitution: Shares


class Rebound(Case):
    tangential_restitution: Tangential
    mixing: Share


class Spread(Table):
    inverse_inertia: Matrix  # 1/kg
    velocity: Approaching  # m/s
    friction: Positive
    grid: Annotated[int, Field(ge=2, le=32)]  # of each of e, e_t and sigma
    least: Positive  # of the largest singular value: more is not flat


class Composite(Table):
    mixing: Shares
    rebound: Rebound
    spread: Spread


class Laws(Table):
    """Statements about laws."""

    population: Population
    definitions: Definitions
    beyond_one: Annotated[float, Field(gt=1)]  # a restitution beyond the law's range
    second_mobility: Positive  # over the first, of a diagonal M with slip along the first tangent
    diagonal: Case
    grazing: Grazing
    infinite: Infinite
    solutions: Solutions
    smith: Several
    composite: Composite
