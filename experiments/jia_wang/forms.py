"""What the configurations in `configs/jia_wang/` may say, and the rows of `findings.toml`."""

import re
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from jimpact.reproduce import Texts, load_rows
from jimpact.schemas import config
from jimpact.schemas.config import Positive, Small, Table, Vector

ROWS, TEXTS = load_rows(Path(__file__).with_name("findings.toml")), Texts(__file__)


def said(part: str, id: str) -> set[str]:
    """The pieces of what a claim prints: those between commas, colons and semicolons."""
    return set(re.split("[,:;] ", str(ROWS[part][id].printed)))


def _moments(value: tuple) -> tuple:
    if min(value) <= 0:
        raise ValueError("pass the 3 principal moments of inertia, above zero")
    if 2 * max(value) > sum(value):
        raise ValueError("no body has a moment of inertia above the sum of the other two")
    return value


Count = Annotated[int, Field(ge=1, le=1_000_000)]
Angles = Annotated[list[Small], Field(min_length=1)]
PrintedKey = Literal["truth_steps", "truth_seconds", "steps", "seconds", "errors"]
Words3 = Annotated[list[config.Printed], Field(min_length=3, max_length=3)]


class Case(Table):
    """One impact in contact axes; only the upper triangle of a printed W counts."""

    inverse_inertia: config.Matrix
    velocity: Vector
    friction: config.NotNegative
    restitution: config.Share

    @property
    def W(self) -> np.ndarray:
        upper = np.triu(self.inverse_inertia)
        return upper + np.triu(upper, 1).T

    @property
    def v(self) -> np.ndarray:
        return np.asarray(self.velocity)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """W, velocity, friction and restitution, as `solve` takes them."""
        return self.W, self.v, np.asarray(self.friction), np.asarray(self.restitution)


class Rigid(Table):
    """A body before the impact: moments and angular velocity in its principal axes, the rest in contact axes."""

    mass: Positive
    moments: Annotated[Vector, AfterValidator(_moments)]
    position: Vector
    velocity: Vector
    angular_velocity: Vector

    def momentum(self, impulse: np.ndarray) -> np.ndarray:
        """Angular momentum that an impulse on the body at the origin brings, in contact axes."""
        return np.cross(-np.asarray(self.position), impulse)


class Columns(Table):
    """Steps of one half of Table 1, N s."""

    step_truth: Positive
    step_ni: Positive
    step_fs: Positive
    printed: Annotated[dict[PrintedKey, config.Printed | Words3], Field(min_length=5)]  # NI, FS, VS

    @property
    def end(self) -> float:
        """Normal impulse at which the steps to the true values end."""
        return float(self.printed["truth_steps"]) * self.step_truth


class Pair(Case):
    """Two bodies that touch at the origin. Velocity: that of the contact before the impact, which is not printed."""

    impulse: Vector  # printed
    body_1: Rigid
    body_2: Rigid
    table1: Columns


class Icosahedron(Pair):
    """Fig. 3; angular velocities after the impact as printed."""

    angular_velocity_1: Vector
    angular_velocity_2: Vector
    edge: Positive
    vertices: Annotated[list[Vector], Field(min_length=4, max_length=4)]


class Hole(Table):
    bottom: Vector
    radius: Positive


class Pin(Pair):
    """Fig. 11."""

    tangent_of_turn: float
    ball_radius: Positive
    holes: list[Hole]


class Instance(Table):
    """One hodograph of figures 4, 7 and 10."""

    figure: str
    friction: config.NotNegative
    velocity_1: Vector


class Hodographs(Table):
    """Figures 4, 7 and 10; the angle within which a direction counts as invariant, and others to try."""

    line_tolerance: Small
    tolerances: Angles
    instances: Annotated[list[Instance], Field(min_length=1)]


class Bundle(Table):
    """A figure of hodographs from unit slip, and how many directions all around are tried beside it."""

    friction: Positive
    normal_velocity: Annotated[float, Field(lt=0)]
    count: Count
    all_around: Count


class Table1(Table):
    """Table 1: the tolerance of event l, and epsilon, h1, h2 of (36)."""

    tolerance: Positive
    share: Small
    arc: Positive
    turn: Positive


class ImpactsForm(Table):
    """Both impacts of the paper, with the figures and the table that start from them; and one that compresses twice."""

    icosahedron: Icosahedron
    pin: Pin
    hodographs: Hodographs
    fig6: Bundle
    fig8: Bundle
    table1: Table1
    twice: Case


class TheoremsForm(Table):
    """Random bodies for the theorems."""

    count: Count
    seed: config.Seed
    mass: config.PositiveRange
    gyration: config.PositiveRange
    arm: Positive
    friction: config.FrictionRange
    restitution: config.ShareRange
    special: Count
    traced: Count
