"""What the configuration of the misprints may say."""

from jimpact.config import Approaching, Name, Positive, Share, Table

from .rod import Lean, Rod

__all__ = ["ErrataForm"]


class PlanarScene(Table):
    """Impacts of the leaning rod in the plane, at angles where slip that stops turns back."""

    friction: Positive
    restitution: Share
    stops_at: Share  # where slip ends, as a part of restitution
    angles_deg: list[Lean]


class SpatialScene(Table):
    theta1_deg: Lean
    theta2_deg: Lean
    velocity: Approaching
    restitution: Share
    sliding_friction: Positive  # with which it slides throughout
    stopping_friction: Positive  # with which slip ends in compression


class ErrataPrinted(Table):
    end_of_slip: Name
    reverse: Name
    work: Name
    moments: Name
    signs: Name
    singular: Name
    speed: Name
    radius: Name
    position: Name


class ErrataLimits(Table):
    residual: Positive  # up to which an equation meets the solved impact


class ErrataForm(Table):
    rod: Rod
    plane: PlanarScene
    space: SpatialScene
    limits: ErrataLimits
    printed: ErrataPrinted
