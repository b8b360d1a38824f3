"""Stronge's law: the slip is followed; restitution ends at work = e^2 x |work of compression|.

Source: Stronge 1990 (energetic restitution); Jia & Wang, section 2; several compressions after Baber 2011.
Never gains energy.
"""

from jimpact.laws.hodograph_law import hodograph
from jimpact.laws.record import Law
from jimpact.restitution import RULES

__all__ = ["LAW"]

LAW = Law(
    name="stronge",
    function=hodograph,
    reference="Stronge 1990; Jia & Wang; Baber 2011",
    parameters=("friction", "restitution"),
    may_gain_energy=False,
    rule=RULES["stronge"],
)
