"""Identification: friction and restitution, with their uncertainty, from measured rebounds."""

from jimpact.identify.audit import Audit, Suspicion, audit
from jimpact.identify.compare import Comparison, compare_laws, cross_validate
from jimpact.identify.csv_file import TableError, load_rebounds
from jimpact.identify.design import Plan, plan
from jimpact.identify.fit import Fit, fit
from jimpact.identify.material import Material, Parameter, constant, per_group, speed_dependent
from jimpact.identify.momentum_floor import Floor, momentum_floor
from jimpact.identify.rebounds import Rebounds
from jimpact.identify.uncertainty import Verdict

__all__ = [
    "Audit",
    "Comparison",
    "Fit",
    "Floor",
    "Material",
    "Parameter",
    "Plan",
    "Rebounds",
    "Suspicion",
    "TableError",
    "Verdict",
    "audit",
    "compare_laws",
    "constant",
    "cross_validate",
    "fit",
    "load_rebounds",
    "momentum_floor",
    "per_group",
    "plan",
    "speed_dependent",
]
