"""Rigid-body impact with friction in JAX: batched, differentiable, with a real coefficient of restitution."""

from jimpact.bodies import Collision, collide
from jimpact.contact import Body, contact_frame, immovable
from jimpact.diagnostics import event_sequence, permissible
from jimpact.impact import solve
from jimpact.inertia import inverse_inertia, inverse_inertia_generalized
from jimpact.laws import LAWS
from jimpact.rays import invariant_directions
from jimpact.state import Impact, ImpactError, ImpactInfo, Outcome, require
from jimpact.trace import trace

__version__ = "0.1.0"
__all__ = [
    "LAWS",
    "Body",
    "Collision",
    "Impact",
    "ImpactError",
    "ImpactInfo",
    "Outcome",
    "collide",
    "contact_frame",
    "event_sequence",
    "immovable",
    "invariant_directions",
    "inverse_inertia",
    "inverse_inertia_generalized",
    "permissible",
    "require",
    "solve",
    "trace",
]
