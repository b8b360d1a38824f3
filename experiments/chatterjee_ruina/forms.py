"""What the configurations of planar scenes may say; axis 0 is tangential, axis 1 the normal."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from jimpact.config import Matrix, Name, NotNegative, Positive, Table, Vector

__all__ = ["Approach", "Approach3", "Count", "Decimal", "Plane", "Scene", "Share01", "Shares", "Solid", "Tangential"]

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


def _approaching(value: tuple) -> tuple:
    if value[-1] >= 0:
        raise ValueError("the bodies must approach: the last number is the normal velocity, below 0")
    return value


Count = Annotated[int, Field(ge=1, le=1_000_000)]
Decimal = Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?$")]  # as printed
Share01 = Annotated[float, Field(ge=0, le=1)]
Shares = Annotated[list[Share01], Field(min_length=1)]
Tangential = Annotated[float, Field(ge=-1, le=1)]  # coefficient of tangential restitution
Pair = tuple[float, float]
Plane = Annotated[tuple[Pair, Pair], BeforeValidator(_rows), AfterValidator(_definite)]
Approach = Annotated[Pair, BeforeValidator(_pair), AfterValidator(_approaching)]
Approach3 = Annotated[Vector, AfterValidator(_approaching)]
Law = Literal["poisson", "stronge", "newton", "anitescu_potra", "whittaker", "smith", "sun_baruh", "chatterjee_ruina"]


class Scene(Table):
    """One planar impact, and the laws to draw for it."""

    name: Name
    inverse_inertia: Plane  # 1/kg
    velocity: Approach  # m/s
    friction: NotNegative
    laws: list[Law]


class Solid(Table):
    """One impact in space."""

    name: Name
    inverse_inertia: Matrix  # 1/kg
    velocity: Approach3  # m/s
    friction: Positive
    samples: Annotated[int, Field(ge=8, le=512)]  # of each restitution, from end to end
