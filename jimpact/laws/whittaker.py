"""Whittaker's law, also of Kane & Levinson: friction opposes the final slip.

Source: Whittaker 1904; Kane & Levinson 1985; Chatterjee & Ruina 1998, section 4.2.2, whose print of the condition
for the normal velocity has 1 + e for e. Assumptions: the normal velocity after is -e times the one before; slip
stops if friction can stop it, or else friction mu x normal impulse opposes the slip after. Domain: every impact in
which such an impulse exists; lanes without one are OUTSIDE. The law CAN GAIN ENERGY, without bound for some inertias:
check `info.kinetic_energy_change`.

The slip after, l s with |s| = 1, solves (l + mu A) s = f: a quartic in l (see `opposing_friction`). If there are
several roots, friction opposes the direction closest to that of the slip after a frictionless impact.
"""

from jimpact.laws.base import Answer, Given, Law, Options, answer
from jimpact.laws.opposing_friction import opposing

__all__ = ["LAW"]


def impulse(given: Given, options: Options) -> Answer:
    """The normal velocity changes by -(1 + e) v."""
    ix, iy, p, exists, accurate = opposing(given.contact, given.x, given.y, given.v, -(1 + given.e) * given.v)
    return answer(given, ix, iy, p, exists, accurate)


LAW = Law(
    name="whittaker",
    function=impulse,
    reference="Whittaker 1904; Kane & Levinson 1985; Chatterjee & Ruina 1998, section 4.2.2",
    parameters=("friction", "restitution"),
    may_gain_energy=True,
    domain="impacts that have an impulse whose friction opposes the final slip",
)
