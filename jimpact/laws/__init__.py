"""The table of laws: name -> law with its reference, its parameters, and whether it may gain energy."""

from jimpact.laws import (
    anitescu_potra,
    bilinear,
    chatterjee_ruina,
    composite,
    newton,
    poisson,
    stronge,
    sun_baruh,
    whittaker,
)
from jimpact.laws.record import Law

__all__ = ["LAWS", "Law"]

LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        stronge.LAW,
        poisson.LAW,
        newton.LAW,
        chatterjee_ruina.LAW,
        whittaker.LAW,
        anitescu_potra.LAW,
        bilinear.LAW,
        sun_baruh.LAW,
        composite.LAW,
    )
}
