"""Poisson's law: the slip is followed; restitution ends at impulse = e x impulse of compression.

Source: Poisson 1817, Routh 1897, Keller 1986; with several compressions both impulses are sums over all phases.
Does not gain kinetic energy (Ivanov 1992), though the normal force may release more work than it stored.
"""

from jimpact.laws.hodograph_law import hodograph
from jimpact.laws.record import Law
from jimpact.restitution import RULES

__all__ = ["LAW"]

LAW = Law(
    name="poisson",
    function=hodograph,
    reference="Routh 1897; Keller 1986; Ivanov 1992",
    parameters=("friction", "restitution"),
    may_gain_energy=False,
    rule=RULES["poisson"],
)
