"""The table of laws: name -> law with its reference, its parameters, and whether it may gain energy."""

from jimpact.laws import (
    anitescu_potra,
    bilinear,
    chatterjee_ruina,
    composite,
    newton,
    poisson,
    smith,
    stronge,
    sun_baruh,
    whittaker,
)
from jimpact.laws.record import Law

__all__ = ["LAWS", "Law"]

LAWS: dict[str, Law] = {
    module.LAW.name: module.LAW
    for module in (
        stronge,
        poisson,
        newton,
        chatterjee_ruina,
        whittaker,
        smith,
        anitescu_potra,
        bilinear,
        sun_baruh,
        composite,
    )
}
