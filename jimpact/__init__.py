"""Rigid-body impact with friction in JAX: batched, differentiable, with a real coefficient of restitution."""

from jimpact.impact import solve
from jimpact.laws import LAWS
from jimpact.rays import invariant_directions
from jimpact.state import Impact, ImpactError, ImpactInfo, Outcome, require

__version__ = "0.1.0"
__all__ = [
    "LAWS",
    "Impact",
    "ImpactError",
    "ImpactInfo",
    "Outcome",
    "invariant_directions",
    "require",
    "solve",
]
