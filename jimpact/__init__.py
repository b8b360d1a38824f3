"""Rigid-body impact with friction in JAX: batched, differentiable, with a real coefficient of restitution.

What fits laws to measurements is loaded when it is first asked for: `jimpact.fit`, `jimpact.audit` and so on are those
of `jimpact.identify`; so are `jimpact.solve_files`, of `jimpact.stream`, and `jimpact.export_solve`, of
`jimpact.export`.
"""

from typing import Any

from jimpact.bodies import Collision, ManyCollision, collide, collide_bodies
from jimpact.contact import Body, contact_frame, immovable
from jimpact.diagnostics import MODES, event_sequence, permissible
from jimpact.flight import Solid
from jimpact.impact import solve
from jimpact.inertia import inverse_inertia, inverse_inertia_contacts, inverse_inertia_generalized
from jimpact.laws import LAWS
from jimpact.mechanism import MechanismCollision, collide_mechanism
from jimpact.planar import PlanarModes, planar_modes, solve_planar
from jimpact.rays import invariant_directions
from jimpact.rotation import Motion
from jimpact.sequence import Contacts, resolve_contacts
from jimpact.shapes import Ellipsoid, Hull, Planes, Sphere, box
from jimpact.simulate import Ending, Run, energy, motion_at, simulate, simulate_pair
from jimpact.state import Impact, ImpactError, ImpactInfo, Outcome, require
from jimpact.trace import trace

__version__ = "0.1.0"
__all__ = [
    "LAWS",
    "MODES",
    "Body",
    "Collision",
    "Contacts",
    "Ellipsoid",
    "Ending",
    "Hull",
    "Impact",
    "ImpactError",
    "ImpactInfo",
    "ManyCollision",
    "MechanismCollision",
    "Motion",
    "Outcome",
    "PlanarModes",
    "Planes",
    "Run",
    "Solid",
    "Sphere",
    "box",
    "collide",
    "collide_bodies",
    "collide_mechanism",
    "contact_frame",
    "energy",
    "event_sequence",
    "immovable",
    "invariant_directions",
    "inverse_inertia",
    "inverse_inertia_contacts",
    "inverse_inertia_generalized",
    "motion_at",
    "permissible",
    "planar_modes",
    "require",
    "resolve_contacts",
    "simulate",
    "simulate_pair",
    "solve",
    "solve_planar",
    "trace",
]

IDENTIFY = ("Rebounds", "audit", "compare_laws", "fit", "load_rebounds")
STREAM = ("StreamError", "solve_files")
EXPORT = ("export_solve",)
__all__ += [*EXPORT, *IDENTIFY, *STREAM]


def __getattr__(name: str) -> Any:
    if name in IDENTIFY:
        from jimpact import identify

        return getattr(identify, name)
    if name in STREAM:
        from jimpact import stream

        return getattr(stream, name)
    if name in EXPORT:
        from jimpact import export

        return getattr(export, name)
    raise AttributeError(f"module 'jimpact' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
