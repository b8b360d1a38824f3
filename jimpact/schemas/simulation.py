"""A run described in a TOML file: a body, its motion at the start, the planes around it, and when to stop.

| table     | holds                                                                                        |
|-----------|----------------------------------------------------------------------------------------------|
| [body]    | shape = "sphere", "ellipsoid", "box" or "hull", sizes, mass, inertia (default: homogeneous) |
| [start]   | position, velocity, angular_velocity, orientation                                            |
| [[plane]] | normal, point, friction, restitution                                                         |
| [run]     | gravity, duration, impacts, rest_speed                                                       |
| [options] | as in a scene                                                                                |
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import jax.numpy as jnp
import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from jimpact.geometry.rotation import Motion
from jimpact.geometry.shapes import Ellipsoid, Hull, Planes, Shape, Sphere, box
from jimpact.schemas.config import Inertia, Name, Normal, NotNegative, Positive, Share, Table, Vector, read
from jimpact.schemas.scene import OptionsTable
from jimpact.simulation.free_motion import Solid
from jimpact.simulation.simulate import MOST

__all__ = ["FlightScene", "load_flight"]


def _points(value: Any) -> Any:
    rows = value if isinstance(value, list) else []
    if not rows or not all(isinstance(row, list) and len(row) == 3 for row in rows):
        raise ValueError("pass a list of points, each a list of 3 numbers")
    return tuple(tuple(row) for row in rows)


def _four(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise ValueError("pass a quaternion [w, x, y, z]")
    return tuple(value)


def _unit(value: tuple) -> tuple:
    size = float(np.linalg.norm(value))
    if abs(size - 1) > 1e-3:
        raise ValueError(f"the quaternion [w, x, y, z] has length {size:.4g}; pass one of length 1")
    return tuple(x / size for x in value)


def _sizes(value: tuple) -> tuple:
    if min(value) <= 0:
        raise ValueError("pass 3 lengths above 0")
    return value


Sizes = Annotated[Vector, AfterValidator(_sizes)]
PointList = Annotated[tuple[tuple[float, float, float], ...], BeforeValidator(_points)]
Quaternion = Annotated[tuple[float, float, float, float], BeforeValidator(_four), AfterValidator(_unit)]
NEEDED = {"sphere": "radius", "ellipsoid": "semi_axes", "box": "size", "hull": "points"}


class BodyTable(Table):
    """A solid; lengths in m."""

    shape: Literal["sphere", "ellipsoid", "box", "hull"]
    mass: Positive
    inertia: Inertia | None = None
    radius: NotNegative | None = None
    semi_axes: Sizes | None = None
    size: Sizes | None = None
    points: PointList | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = NEEDED[self.shape]
        for name in dict.fromkeys(NEEDED.values()):
            given, round_ = getattr(self, name) is not None, name == "radius" and self.shape in ("box", "hull")
            if given != (name == needed) and not (round_ and given):
                if name == "radius" and round_:
                    continue
                raise ValueError(f"the shape {self.shape} {'needs' if name == needed else 'has no'} {name}")
        if self.shape == "sphere" and not self.radius:
            raise ValueError("the radius of a sphere must be above 0")
        if self.shape == "hull" and self.inertia is None:
            raise ValueError("the shape hull needs inertia")
        if self.shape == "box" and 2 * (self.radius or 0.0) > min(self.size or ()):
            raise ValueError("the radius of a box must not be above half of its least size")
        return self

    def solid(self) -> Solid:
        shape: Shape
        if self.shape == "sphere":
            shape, squares = Sphere(jnp.asarray(self.radius)), np.full(3, 0.2 * (self.radius or 0.0) ** 2)
        elif self.shape == "ellipsoid":
            shape, squares = Ellipsoid(jnp.asarray(self.semi_axes)), 0.2 * np.square(np.asarray(self.semi_axes))
        elif self.shape == "box":
            shape, squares = box(np.asarray(self.size), self.radius or 0.0), np.square(np.asarray(self.size)) / 12
        else:
            shape, squares = Hull(jnp.asarray(self.points), jnp.asarray(self.radius or 0.0)), np.zeros(3)
        moments = np.diag(squares.sum() - squares)
        inertia = self.mass * moments if self.inertia is None else self.inertia
        return Solid(jnp.asarray(self.mass), jnp.asarray(inertia), shape)


class Start(Table):
    """The motion at time 0."""

    position: Vector
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = (1.0, 0.0, 0.0, 0.0)

    def motion(self) -> Motion:
        fields = (self.position, self.orientation, self.velocity, self.angular_velocity)
        return Motion(*(jnp.asarray(field, float) for field in fields))


class PlaneTable(Table):
    """A plane through a point; the body is on the side of the normal."""

    normal: Normal
    point: Vector = (0.0, 0.0, 0.0)
    friction: NotNegative
    restitution: Share


class RunTable(Table):
    """Gravity, and when to stop."""

    gravity: Vector = (0.0, 0.0, -9.81)
    duration: NotNegative | None = None
    impacts: Annotated[int, Field(ge=1, le=MOST)] = 50
    rest_speed: NotNegative | None = None


class FlightScene(Table):
    """One run."""

    name: Name = ""
    body: BodyTable
    start: Start
    plane: Annotated[list[PlaneTable], Field(min_length=1)]
    run: RunTable = RunTable()
    options: OptionsTable = OptionsTable()

    def planes(self) -> Planes:
        normals = np.asarray([p.normal for p in self.plane])
        normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
        offsets = np.sum(normals * np.asarray([p.point for p in self.plane]), -1)
        friction, restitution = (
            np.asarray([getattr(p, name) for p in self.plane]) for name in ("friction", "restitution")
        )
        return Planes(*(jnp.asarray(a) for a in (normals, offsets, friction, restitution)))

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `simulate`."""
        given = {k: v for k, v in self.run.model_dump().items() if v is not None}
        return {**given, "gravity": np.asarray(self.run.gravity), **self.options.arguments()}


def load_flight(path: str | Path) -> FlightScene:
    """Read a run from a TOML file, or raise ConfigError with one sentence."""
    return read(path, FlightScene)
