"""A mixture of Chatterjee & Ruina's law and a law that follows the slip.

Source: Chatterjee & Ruina 1998, section 5.3: sigma x their law + (1 - sigma) x Routh's. Assumptions: those of both.
The permissible impulses are a convex set, so a mixture of two of them is permissible: the law does not gain energy,
with the rule of Poisson or of Stronge. Domain: every impact, mixing in [0, 1]. The law has both a normal rebound for a
grazing start (from the law that follows the slip) and a tangential one (from e_t).

`info` has the energy of the mixture; events and works are not defined for it.
"""

from jimpact.laws import chatterjee_ruina
from jimpact.laws.base import Answer, Given, Law, Options, answer, plausible
from jimpact.laws.darboux_keller import darboux_keller

__all__ = ["LAW"]

FINER = 0.05  # x tolerance of the slip, the only part that has an error


def impulse(given: Given, options: Options) -> Answer:
    """The weighted sum, with the stop rule of the options."""
    level = options.accuracy
    more = 2 * (level.steps // 8)  # a quarter more steps, an even number
    finer = level._replace(tolerance=FINER * level.tolerance, steps=level.steps + more)
    one, other = chatterjee_ruina.impulse(given, options), darboux_keller(given, options._replace(accuracy=finer))
    share = given.mixing
    ix, iy, p = (share * a + (1 - share) * b for a, b in ((one.ix, other.ix), (one.iy, other.iy), (one.p, other.p)))
    good = plausible(other.ix, other.iy, other.p, other.v, given.static, finer.trusted)
    return answer(given, ix, iy, p, other.inside, other.finished & good)


LAW = Law(
    name="composite",
    function=impulse,
    reference="Chatterjee & Ruina 1998, section 5.3",
    parameters=("friction", "restitution", "tangential_restitution", "mixing"),
    may_gain_energy=False,
    rules=("poisson", "stronge"),
)
