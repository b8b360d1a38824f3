"""Rigid-body impact with friction in JAX: batched, differentiable, with a real coefficient of restitution.

The names from `jimpact.identify` (`jimpact.fit`, `jimpact.audit` and so on) and from `jimpact.io`
(`jimpact.solve_files` and `jimpact.export_solve`) are loaded at their first use.
"""

from typing import Any

from jimpact.collision.collide import Collision, ManyCollision, collide, collide_bodies
from jimpact.collision.mechanism import MechanismCollision, collide_mechanism
from jimpact.collision.sequence import Contacts, resolve_contacts
from jimpact.contact.body import Body, contact_frame, immovable
from jimpact.contact.inertia import inverse_inertia, inverse_inertia_contacts, inverse_inertia_generalized
from jimpact.diagnostics import MODES, event_sequence, permissible
from jimpact.geometry.rotation import Motion
from jimpact.geometry.shapes import Ellipsoid, Hull, Planes, Sphere, box
from jimpact.impact import solve
from jimpact.impact_path import trace
from jimpact.laws import LAWS
from jimpact.outcome import Impact, ImpactError, ImpactInfo, Outcome, require
from jimpact.planar import PlanarModes, planar_modes, solve_planar
from jimpact.simulation.free_motion import Solid
from jimpact.simulation.run import Ending, Run, energy, motion_at
from jimpact.simulation.simulate import simulate, simulate_pair
from jimpact.slip.invariant_directions import invariant_directions

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
        from jimpact.io import stream

        return getattr(stream, name)
    if name in EXPORT:
        from jimpact.io import export

        return getattr(export, name)
    raise AttributeError(f"module 'jimpact' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
