"""Sun & Baruh 2022: a rod that strikes the ground, in the plane and in space; modes, normal velocity and energy."""

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

PAPER = Paper(
    "sun_baruh",
    "Sun & Baruh 2022: analysis of three-dimensional impact with friction",
    "H. Sun and H. Baruh, Analysis of Three-Dimensional Rigid-Body Impact with Friction, Dynamics 2 (2022) 1-26.",
    parts=[
        Part("table2", "Table 2: planar modes from three ratios", "sun_baruh/plane.toml", PlaneForm, run_table2),
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
)
