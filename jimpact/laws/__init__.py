"""The table of laws: name -> law with its reference, its parameters, and whether it may gain energy."""

from jimpact.laws import newton, poisson, stronge
from jimpact.laws.record import Law

__all__ = ["LAWS", "Law"]

LAWS: dict[str, Law] = {law.name: law for law in (stronge.LAW, poisson.LAW, newton.LAW)}
