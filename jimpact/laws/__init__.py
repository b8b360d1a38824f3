"""The table of laws by name."""

from jimpact.laws import anitescu_potra, bilinear, chatterjee_ruina, composite, smith, sun_baruh, whittaker
from jimpact.laws.base import Law
from jimpact.laws.darboux_keller import NEWTON, POISSON, STRONGE

__all__ = ["LAWS", "Law"]

OTHERS = (chatterjee_ruina, whittaker, smith, anitescu_potra, bilinear, sun_baruh, composite)
LAWS: dict[str, Law] = {law.name: law for law in (STRONGE, POISSON, NEWTON, *(module.LAW for module in OTHERS))}
