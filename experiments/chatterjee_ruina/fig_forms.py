"""What the configurations of figures 7 to 9 say beside the scene."""

from typing import Annotated

from pydantic import Field

from jimpact.config import Positive, Table

from .forms import Approach, Decimal, Scene, Share01, Tangential

__all__ = ["Hinge", "InfiniteFriction", "NearGrazing"]

Below = Annotated[float, Field(lt=0)]


class Centred(Table):
    velocity: Approach  # m/s


class InfiniteFriction(Scene):
    centred: Centred


class Limit(Table):
    mobility: Annotated[list[Positive], Field(min_length=2)]  # 1/kg, along the rod
    restitution: Share01
    tangential_restitution: Tangential


class Hinge(Scene):
    limit: Limit


class Closer(Table):
    normal_velocity: Annotated[list[Below], Field(min_length=1)]  # m/s


class PrintedRestitution(Table):
    restitution: Decimal


class NearGrazing(Scene):
    closer: Closer
    printed: PrintedRestitution
