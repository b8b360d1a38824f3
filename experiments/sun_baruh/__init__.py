"""Sun & Baruh 2022: a rod that strikes the ground, in the plane and in space; modes, normal velocity and energy."""

import jimpact
from jimpact.reproduce import Paper, Part

from .errata import run_errata
from .errata_form import ErrataForm
from .material import run_material
from .plane import run_plane
from .plane_form import PlaneForm
from .space import run_space
from .space_form import MaterialForm, SpaceForm
from .table2 import run_table2

__all__ = ["PAPER"]

NAMED = "; ".join(f"{k} {name}" for k, name in jimpact.MODES.items() if k >= 0)
NOTES = (
    f"Modes are the cases of Table 1: {NAMED}. Sticking is modes 1, 3 and 5; sliding back (the paper: reverse sliding) "
    "2, 4 and 6. Energetic restitution is Stronge's. "
    "Plane: theta is the lean of the rod, ratio the slip over the approach speed before, alpha the moment of inertia "
    "about the centre of mass over m L^2; the text gives no alpha for the planar rod, and the one here has the radius "
    "0.5 of section 5. P, Q, R of (27) make the inverse inertia ((R, -P), (-P, Q)) / m along (slip, up). Slip lasts "
    "through compression above the ratio R1 and throughout above R3 = R1 (1 + e); sticking needs friction R2. "
    "Space: theta1 is the turn about z, theta2 the one about the new x axis. Exactly means with the slip followed, "
    "otherwise it is the paper's approximation, with one direction of friction for each stage. |B^-1 d| is the "
    "friction that sticking needs, with B the tangential block of the inverse inertia and d its tangential part of the "
    "normal column. S_x and S_z are the signs of friction, L_x, L_y, L_z the vector from the centre of mass to the "
    "contact point (y down), phi the direction that friction opposes, F impulses with superscripts c and r for "
    "compression and restitution and 1 and 2 for their periods, W work. Steps of the maps are not in the text: coarse "
    "and fine grids are ours, and so are the limits that decide where it has words only."
)

PAPER = Paper(
    "sun_baruh",
    "Sun & Baruh: Analysis of three-dimensional rigid-body impact with friction",
    "H. Sun and H. Baruh, Analysis of Three-Dimensional Rigid-Body Impact with Friction, Dynamics 2 (2022) 1-26.",
    parts=[
        Part(
            "table2",
            "Tables 1 and 2: planar modes from three ratios",
            "sun_baruh/plane.toml",
            PlaneForm,
            run_table2,
        ),
        Part("fig3_5", "Figures 3 to 5: the rod in the plane", "sun_baruh/plane.toml", PlaneForm, run_plane),
        Part("fig8_11", "Figures 8 to 11: the rod in space", "sun_baruh/space.toml", SpaceForm, run_space),
        Part(
            "fig12_13",
            "Figures 12 and 13: friction and restitution",
            "sun_baruh/material.toml",
            MaterialForm,
            run_material,
        ),
        Part("errata", "Misprints, with evidence", "sun_baruh/errata.toml", ErrataForm, run_errata),
    ],
    notes=NOTES,
)
