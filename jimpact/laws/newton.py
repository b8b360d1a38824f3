"""Newton's law: the slip is followed; restitution ends at normal velocity = -e x the one before.

Source: Newton 1687; Whittaker 1904 for its use with friction. Can gain kinetic energy with friction; the
ledger in `ImpactInfo` shows it. Gives no rebound for a grazing start.
"""

from jimpact.laws.hodograph_law import hodograph
from jimpact.laws.record import Law
from jimpact.restitution import RULES

__all__ = ["LAW"]

LAW = Law(
    name="newton",
    function=hodograph,
    reference="Newton 1687",
    parameters=("friction", "restitution"),
    may_gain_energy=True,
    rule=RULES["newton"],
)
