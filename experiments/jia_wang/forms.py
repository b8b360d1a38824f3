"""What the configurations in `configs/jia_wang/` may say; printed decimals are text, so that their digits count."""

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from jimpact.config import FrictionRange, Matrix, NotNegative, Positive, PositiveRange, Share, ShareRange, Table, Vector

__all__ = [
    "BundlesForm",
    "Case",
    "HodographsForm",
    "ImpactsForm",
    "Instance",
    "MisprintsForm",
    "Pair",
    "Rigid",
    "Table1Form",
    "TheoremsForm",
    "values",
]


def _decimal(word: str) -> str:
    try:
        finite = Decimal(word).is_finite()
    except InvalidOperation:
        finite = False
    if not finite:
        raise ValueError("write the printed number as text, such as '0.3157'")
    return word


def _moments(value: Any) -> Any:
    numbers = value if isinstance(value, list | tuple) and len(value) == 3 else ()
    if not numbers or not all(isinstance(x, int | float) and 0 < x < np.inf for x in numbers):
        raise ValueError("pass the 3 principal moments of inertia, above zero")
    if 2 * max(numbers) > sum(numbers):
        raise ValueError("no body has a moment of inertia above the sum of the other two")
    return tuple(float(x) for x in numbers)


def values(words: Any) -> np.ndarray:
    """Printed decimals, also in nested lists, as numbers."""
    return np.asarray(words, dtype=float)


Word = Annotated[str, AfterValidator(_decimal)]
Words2 = Annotated[list[Word], Field(min_length=2, max_length=2)]
Words3 = Annotated[list[Word], Field(min_length=3, max_length=3)]
Words22 = Annotated[list[Words2], Field(min_length=2, max_length=2)]
Words33 = Annotated[list[Words3], Field(min_length=3, max_length=3)]
Moments = Annotated[tuple[float, float, float], BeforeValidator(_moments)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Seed = Annotated[int, Field(ge=0)]
Approach = Annotated[float, Field(lt=0)]
Small = Annotated[float, Field(gt=0, lt=1)]
Sequence = Literal["cr", "scr", "csr", "lscr", "lcsr", "lcr", "clsr", "clr"]


class Case(Table):
    """One impact in contact axes."""

    inverse_inertia: Matrix
    velocity: Vector
    friction: NotNegative
    restitution: Share


class Rigid(Table):
    """A body before the impact: moments and angular velocity in its principal axes, the rest in contact axes."""

    mass: Positive
    moments: Moments
    position: Vector
    velocity: Vector
    angular_velocity: Vector


class Spheres(Table):
    count: Count
    seed: Seed
    mass: PositiveRange
    radius: PositiveRange


class Fit(Table):
    starts: Count
    seed: Seed


class Pair(Table):
    """Two bodies that touch at the origin."""

    friction: NotNegative
    restitution: Share
    body_1: Rigid
    body_2: Rigid


class IcosahedronPrinted(Table):
    inverse_inertia: Words33
    tangential: Words22
    coupling: Words2
    stick_ratio: Word
    moment_1: Word
    height_1: Word
    moments_2: Words3
    position_2: Words3
    impulse: Words3
    impulse_without_friction: Words3
    velocity_1: Words3
    angular_velocity_1: Words3
    velocity_2: Words3
    angular_velocity_2: Words3
    sequence: Sequence
    left_at: Word
    largest_friction: Word


class Icosahedron(Pair):
    edge: Positive
    vertices: Annotated[list[Vector], Field(min_length=4, max_length=4)]
    printed: IcosahedronPrinted


class Hole(Table):
    bottom: Vector
    radius: Positive


class PinPrinted(Table):
    inverse_inertia: Words33
    moments_1: Words3
    moments_2: Words3
    position_2: Words3
    impulse: Words3
    left_at: Word


class Pin(Pair):
    tangent_of_turn: float
    ball_radius: Positive
    holes: list[Hole]
    printed: PinPrinted


class ImpactsForm(Table):
    """Both impacts of the paper."""

    spheres: Spheres
    fit: Fit
    icosahedron: Icosahedron
    pin: Pin


class Contact(Table):
    """The impact of fig. 3 in contact axes, and the velocity of body 1 that it was found with."""

    inverse_inertia: Matrix
    velocity: Vector
    velocity_1: Vector
    restitution: Share


class InstancePrinted(Table):
    sequence: Sequence
    centripetal: Annotated[int, Field(ge=0, le=4)] | None = None
    centrifugal: Annotated[int, Field(ge=0, le=1)] | None = None


class Instance(Table):
    """One hodograph of figures 4, 7 and 10."""

    figure: str
    friction: NotNegative
    velocity_1: Vector
    printed: InstancePrinted


class HodographsForm(Table):
    """Figures 4, 7 and 10."""

    contact: Contact
    instances: Annotated[list[Instance], Field(min_length=1)]


class BundleContact(Table):
    inverse_inertia: Matrix
    restitution: Share


class BundlePrinted(Table):
    count: Count
    reaching: Annotated[int, Field(ge=0)]
    centripetal: Annotated[int, Field(ge=0, le=4)]
    centrifugal: Annotated[int, Field(ge=0, le=1)]


class Bundle(Table):
    friction: Positive
    normal_velocity: Approach
    all_around: Count
    printed: BundlePrinted


class GrowingBundle(Bundle):
    angles: Annotated[list[Small], Field(min_length=1)]


class BundlesForm(Table):
    """Figures 6 and 8."""

    contact: BundleContact
    fig6: Bundle
    fig8: GrowingBundle


class RandomBodies(Table):
    count: Count
    seed: Seed
    mass: PositiveRange
    gyration: PositiveRange
    arm: Positive
    friction: FrictionRange
    restitution: ShareRange


class Isotropic(Table):
    inverse_inertia: Matrix
    friction: Positive


class Theorem8(Table):
    eigenvalues: Annotated[list[Positive], Field(min_length=2, max_length=2)]
    along: Positive


class TheoremsPrinted(Table):
    directions: list[int]
    sequences: list[Sequence]


class TheoremsForm(Table):
    """The theorems on random bodies, and one path for the closed form."""

    bodies: RandomBodies
    isotropic: Isotropic
    theorem_8: Theorem8
    printed: TheoremsPrinted
    path: Case


class Variable(Table):
    """The steps of (36)."""

    share: Small
    arc: Positive
    turn: Positive


class Timing(Table):
    batch: Count
    seed: Seed
    spread: NotNegative
    repeats: Count
    finer: Annotated[list[Positive], Field(min_length=1)]
    finest: Positive


class TableImpactPrinted(Table):
    truth: Words3
    steps: Words3
    seconds: Words3
    errors: Words3


class TableImpact(Case):
    name: Literal["icosahedron", "pin"]
    step_ni: Positive
    step_fs: Positive
    printed: TableImpactPrinted


class Table1Form(Table):
    """Table 1: three methods on two impacts."""

    tolerance: Positive
    variable: Variable
    timing: Timing
    impacts: Annotated[list[TableImpact], Field(min_length=2, max_length=2)]


class MisprintsForm(Table):
    """Impacts on which printed formulas are tried."""

    tolerance: Positive
    impact: Case
    line: Case
    growing: Case
    twice: Case
