"""What the table of laws says about each of them."""

from typing import NamedTuple

from jimpact.restitution import StopRule

__all__ = ["Law"]


class Law(NamedTuple):
    """One law of impact."""

    name: str
    rule: StopRule
    reference: str
    parameters: tuple[str, ...]
    may_gain_energy: bool
