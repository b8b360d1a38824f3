"""What the configuration of statements about laws may say."""

from typing import Annotated

from pydantic import Field

from jimpact.config import Matrix, Positive, Table

from .forms import Approach3, Count, Share01, Shares, Tangential
from .populations import Population

__all__ = ["Case", "Grazing", "Laws", "Rebound", "Several", "Spread"]

Below = Annotated[float, Field(lt=0)]


class Case(Table):
    """One impact."""

    inverse_inertia: Matrix  # 1/kg
    velocity: Approach3  # m/s
    friction: Positive
    restitution: Share01


class Several(Case):
    """An impact, and how its solutions are looked for."""

    starts: Count
    seed: int


class Grazing(Table):
    inverse_inertia: Matrix  # 1/kg
    friction: Positive
    restitution: Share01
    tangential_restitution: Tangential
    normal_velocity: Annotated[list[Below], Field(min_length=2)]  # m/s
    nearness: Annotated[float, Field(gt=0, lt=1e-3)]


class Infinite(Table):
    friction: Annotated[float, Field(ge=1e3)]
    restitution: Shares


class Rebound(Case):
    tangential_restitution: Tangential
    mixing: Share01


class Spread(Table):
    inverse_inertia: Matrix  # 1/kg
    velocity: Approach3  # m/s
    friction: Positive


class Composite(Table):
    mixing: Shares
    rebound: Rebound
    spread: Spread


class Laws(Table):
    population: Population
    diagonal: Case
    grazing: Grazing
    infinite: Infinite
    smith: Several
    composite: Composite
