"""A scene: impacts described in a TOML file, checked field by field and converted to arrays.

There are three forms, distinguished by their tables:

| form    | tables                                                                               |
|---------|--------------------------------------------------------------------------------------|
| contact | [contact] inverse_inertia, velocity; [material]                                      |
| bodies  | [body_a], [body_b], [contact] point, normal; [material]                              |
| batch   | [batch] count, seed, ranges, [batch.body]: random impacts of a ball on the ground    |

Each may have `name` and [options]. A file holds numbers and words only; nothing in it is executed.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import jax.numpy as jnp
import numpy as np
from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from jimpact.contact.body import Body, immovable, relative_velocity
from jimpact.contact.inertia import inverse_inertia
from jimpact.laws import LAWS
from jimpact.schemas.config import (
    AngleRange,
    FrictionRange,
    Inertia,
    Matrix,
    Name,
    Normal,
    NotNegative,
    Positive,
    PositiveRange,
    Range,
    Share,
    ShareRange,
    Table,
    Vector,
    check,
    read_text,
    tables,
)
from jimpact.types import Array

__all__ = ["BatchScene", "BodiesScene", "ContactScene", "Input", "Scene", "load", "parse"]

MOST = 10_000_000  # impacts in a batch: about 1 GB of input
GYRATION = {"solid sphere": 2 / 5, "hollow sphere": 2 / 3}  # moment of inertia / (mass x radius^2)


class Input(NamedTuple):
    """The arguments of `solve`; a batch has one leading axis."""

    inverse_inertia: np.ndarray
    velocity: np.ndarray
    friction: np.ndarray
    restitution: np.ndarray
    static_friction: np.ndarray | None = None


def _law(value: str) -> str:
    if value not in LAWS:
        raise ValueError(f"unknown law; pass one of {', '.join(LAWS)}")
    return value


class OptionsTable(Table):
    """Options of `solve`: the law, the parameters that only some laws have, and the accuracy."""

    law: Annotated[str, AfterValidator(_law)] = "stronge"
    accuracy: Literal["low", "standard", "high"] = "standard"
    rule: Literal["poisson", "stronge"] = "poisson"
    tangential_restitution: Annotated[float, Field(ge=-1, le=1)] | None = None
    mixing: Share | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for name in ("tangential_restitution", "mixing"):
            needed, given = name in LAWS[self.law].parameters, getattr(self, name) is not None
            if needed != given:
                raise ValueError(f"the law {self.law} {'needs' if needed else 'has no'} {name}")
        return self

    def arguments(self) -> dict[str, Any]:
        """Arguments of `solve`."""
        return self.model_dump(exclude_none=True)


class MaterialTable(Table):
    """The coefficients of one contact."""

    friction: NotNegative
    restitution: Share
    static_friction: NotNegative | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.static_friction is not None and self.static_friction < self.friction:
            raise ValueError("static_friction must not be below friction")
        return self

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        static = None if self.static_friction is None else np.asarray(self.static_friction)
        return np.asarray(self.friction), np.asarray(self.restitution), static


class Head(Table):
    """Fields of every form."""

    name: Name = ""
    options: OptionsTable = OptionsTable()


class ContactTable(Table):
    """The contact frame: axis 2 is the normal, from body b into body a."""

    inverse_inertia: Matrix
    velocity: Vector


class ContactScene(Head):
    """One impact, given in the contact frame."""

    material: MaterialTable
    contact: ContactTable

    def input(self) -> Input:
        return Input(
            np.asarray(self.contact.inverse_inertia), np.asarray(self.contact.velocity), *self.material.arrays()
        )


class Moving(Table):
    """A rigid body, in world axes."""

    mass: Positive
    inertia: Inertia
    position: Vector
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)

    def body(self) -> Body:
        return Body(*(jnp.asarray(value, float) for value in self.model_dump().values()))


class Fixed(Table):
    """A body that no impulse moves, such as the ground."""

    immovable: Literal[True]

    def body(self) -> Body:
        return immovable()


def _kind(value: Any) -> str:
    """The kind of a body, so that an error mentions only this kind."""
    return "fixed" if isinstance(value, Fixed) or (isinstance(value, dict) and "immovable" in value) else "moving"


class Place(Table):
    """Contact point and normal in world axes; the normal points from body b into body a."""

    point: Vector
    normal: Normal


class BodiesScene(Head):
    """One impact of two bodies, given in world axes."""

    material: MaterialTable
    body_a: Moving
    body_b: Annotated[Annotated[Moving, Tag("moving")] | Annotated[Fixed, Tag("fixed")], Discriminator(_kind)]
    contact: Place

    def pair(self) -> tuple[Body, Body, Array, Array]:
        """The bodies before, the point and the unit normal."""
        unit = np.asarray(self.contact.normal) / np.linalg.norm(self.contact.normal)
        return self.body_a.body(), self.body_b.body(), jnp.asarray(self.contact.point), jnp.asarray(unit)

    def input(self) -> Input:
        pair = self.pair()
        W, v = inverse_inertia(*pair), relative_velocity(*pair)
        return Input(np.asarray(W), np.asarray(v), *self.material.arrays())


class Ball(Table):
    """A ball, by the name of its shape."""

    shape: Literal["solid sphere", "hollow sphere"]
    mass: Positive
    radius: Positive


class Batch(Table):
    """Ranges from which each bounce is drawn uniformly; incidence is measured from the normal."""

    count: Annotated[int, Field(ge=1, le=MOST)]
    seed: Annotated[int, Field(ge=0)]
    body: Ball
    speed: PositiveRange
    incidence_deg: AngleRange
    spin: Range = (0.0, 0.0)
    friction: FrictionRange
    restitution: ShareRange


class BatchScene(Head):
    """Many bounces of a ball on the ground; the ball travels along axis 0, the ground's normal is axis 2."""

    batch: Batch

    def input(self) -> Input:
        b, ball = self.batch, self.batch.body
        rng = np.random.default_rng(b.seed)
        speed, angle = rng.uniform(*b.speed, b.count), np.deg2rad(rng.uniform(*b.incidence_deg, b.count))
        spin = rng.uniform(*b.spin, (b.count, 3))
        friction, restitution = rng.uniform(*b.friction, b.count), rng.uniform(*b.restitution, b.count)
        centre = np.stack([speed * np.sin(angle), np.zeros(b.count), -speed * np.cos(angle)], -1)
        velocity = centre + np.cross(spin, [0.0, 0.0, -ball.radius])
        along = (1 + 1 / GYRATION[ball.shape]) / ball.mass
        W = np.diag([along, along, 1 / ball.mass])
        return Input(np.broadcast_to(W, (b.count, 3, 3)), velocity, friction, restitution)


Scene = ContactScene | BodiesScene | BatchScene


def load(path: str | Path) -> Scene:
    """Read a scene from a TOML file, or raise ConfigError with one sentence."""
    return _scene(read_text(path), str(path))


def parse(text: str, source: str = "scene") -> Scene:
    """Read a scene from TOML text; `source` names it in errors."""
    return _scene(tables(text, source), source)


def _scene(data: dict[str, Any], source: str) -> Scene:
    bodies = "body_a" in data or "body_b" in data
    form: type[Scene] = BatchScene if "batch" in data else BodiesScene if bodies else ContactScene
    return check(data, form, source)
