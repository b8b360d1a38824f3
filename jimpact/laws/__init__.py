"""The table of laws: name -> law with its reference, its parameters, and whether it may gain energy."""

from jimpact.laws import anitescu_potra, bilinear, chatterjee_ruina, composite, smith, sun_baruh, whittaker
from jimpact.laws.darboux_keller import NEWTON, POISSON, STRONGE
from jimpact.laws.record import Law

__all__ = ["LAWS", "Law"]

OTHERS = (chatterjee_ruina, whittaker, smith, anitescu_potra, bilinear, sun_baruh, composite)
LAWS: dict[str, Law] = {law.name: law for law in (STRONGE, POISSON, NEWTON, *(module.LAW for module in OTHERS))}
