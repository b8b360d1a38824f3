"""What the configurations in `configs/jia_wang/` may say; printed decimals are text, so that their digits count."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from jimpact.config import (
    FrictionRange,
    Matrix,
    NotNegative,
    Positive,
    PositiveRange,
    Printed,
    Seed,
    Share,
    ShareRange,
    Small,
    Table,
    Vector,
)

__all__ = [
    "Bundle",
    "Case",
    "ColumnsPrinted",
    "GrowingBundle",
    "Icosahedron",
    "ImpactsForm",
    "Instance",
    "Limits",
    "Pair",
    "Pin",
    "Rigid",
    "TheoremsForm",
    "values",
]


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


Words2 = Annotated[list[Printed], Field(min_length=2, max_length=2)]
Words3 = Annotated[list[Printed], Field(min_length=3, max_length=3)]
Words22 = Annotated[list[Words2], Field(min_length=2, max_length=2)]
Words33 = Annotated[list[Words3], Field(min_length=3, max_length=3)]
Moments = Annotated[tuple[float, float, float], BeforeValidator(_moments)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Approach = Annotated[float, Field(lt=0)]
Directions = Annotated[int, Field(ge=0, le=4)]
Sequence = Literal["cr", "scr", "csr", "lscr", "lcsr", "lcr", "clsr", "clr"]


class Case(Table):
    """One impact in contact axes."""

    inverse_inertia: Matrix
    velocity: Vector
    friction: NotNegative
    restitution: Share


class Limits(Table):
    """What counts as equal: relative, but for velocities (m/s) and directions (rad)."""

    exact: Small
    formula: Small
    velocity: Small
    direction: Small


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
    same: Small


class ColumnsPrinted(Table):
    """One half of Table 1; NI, FS, VS."""

    truth_steps: Printed
    truth_seconds: Printed
    steps: Words3
    seconds: Words3
    errors: Words3


class Columns(Table):
    """Steps of one half of Table 1."""

    step_truth: Positive
    step_ni: Positive
    step_fs: Positive
    printed: ColumnsPrinted


class Pair(Table):
    """Two bodies that touch at the origin; `contact_velocity` is that before the impact, which is not printed."""

    friction: NotNegative
    restitution: Share
    contact_velocity: Vector
    body_1: Rigid
    body_2: Rigid
    table1: Columns


class IcosahedronPrinted(Table):
    inverse_inertia: Words33
    tangential: Words22
    coupling: Words2
    stick_ratio: Printed
    moment_1: Printed
    height_1: Printed
    moments_2: Words3
    position_2: Words3
    impulse: Words3
    impulse_without_friction: Words3
    velocity_1: Words3
    angular_velocity_1: Words3
    velocity_2: Words3
    angular_velocity_2: Words3
    sequence: Sequence


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


class Pin(Pair):
    tangent_of_turn: float
    ball_radius: Positive
    holes: list[Hole]
    printed: PinPrinted


class InstancePrinted(Table):
    sequence: Sequence
    centripetal: Directions | None = None
    centrifugal: Directions | None = None


class Instance(Table):
    """One hodograph of figures 4, 7 and 10."""

    figure: str
    friction: NotNegative
    velocity_1: Vector
    printed: InstancePrinted


class Hodographs(Table):
    """Figures 4, 7 and 10; the angle within which a direction counts as invariant, and others to try."""

    line_tolerance: Small
    tolerances: Annotated[list[Small], Field(min_length=1)]
    closed_form: Small
    instances: Annotated[list[Instance], Field(min_length=1)]


class BundlePrinted(Table):
    count: Count
    reaching: Annotated[int, Field(ge=0)]
    centripetal: Directions
    centrifugal: Directions


class Bundle(Table):
    friction: Positive
    normal_velocity: Approach
    all_around: Count
    printed: BundlePrinted


class GrowingBundlePrinted(BundlePrinted):
    through_origin: Annotated[int, Field(ge=0)]


class GrowingBundle(Bundle):
    angles: Annotated[list[Small], Field(min_length=1)]
    drawn: Small
    printed: GrowingBundlePrinted


class Bundles(Table):
    """Figures 6 and 8."""

    fig6: Bundle
    fig8: GrowingBundle


class Variable(Table):
    """The steps of (36)."""

    share: Small
    arc: Positive
    turn: Positive


class Timing(Table):
    batch: Count
    large: Count
    seed: Seed
    spread: NotNegative
    repeats: Count
    finer: Annotated[list[Positive], Field(min_length=1)]
    finest: Positive


class SpeedPrinted(Table):
    """Section 6.4: what VS is said to gain."""

    times_faster_than_ni: Printed
    percent_faster_than_fs: Printed
    part_of_time_of_ni: Printed
    accuracy_over_ni: Printed
    ndsolve_seconds: Words3
    times_faster_than_ndsolve: Words2
    milliseconds: Printed


class Table1(Table):
    """Table 1: three methods on two impacts."""

    tolerance: Positive
    truth: Small
    comparable: Positive
    variable: Variable
    timing: Timing
    printed: SpeedPrinted


class Misprints(Table):
    """What printed formulas are tried on beside the figures."""

    difference: Small
    twice: Case


class ImpactsForm(Table):
    """Both impacts of the paper, with the figures and the table that start from them."""

    limits: Limits
    spheres: Spheres
    fit: Fit
    icosahedron: Icosahedron
    pin: Pin
    hodographs: Hodographs
    bundles: Bundles
    table1: Table1
    misprints: Misprints


class RandomBodies(Table):
    count: Count
    seed: Seed
    mass: PositiveRange
    gyration: PositiveRange
    arm: Positive
    friction: FrictionRange
    restitution: ShareRange
    special: Count
    traced: Count


class Isotropic(Table):
    inverse_inertia: Matrix
    friction: Positive
    directions: Count


class Theorem8(Table):
    eigenvalues: Annotated[list[Positive], Field(min_length=2, max_length=2)]
    along: Positive
    count: Count
    seed: Seed
    largest: Positive


class TheoremsPrinted(Table):
    directions: list[int]
    sequences: list[Sequence]


class TheoremsLimits(Table):
    """What counts as zero: relative, but for directions (rad); and the step of differences (rad)."""

    exact: Small
    direction: Small
    difference: Small


class TheoremsForm(Table):
    """The theorems on random bodies."""

    limits: TheoremsLimits
    bodies: RandomBodies
    isotropic: Isotropic
    theorem_8: Theorem8
    printed: TheoremsPrinted
