"""Sun & Baruh 2022: a rod that strikes the ground, in the plane and in space; modes, normal velocity and energy."""

from pathlib import Path

import jimpact
from jimpact.reproduce import Paper, Part, load_rows

from .errata import run_errata
from .forms import ErrataForm, MaterialForm, PlaneForm, SpaceForm
from .material import run_material
from .plane_claims import run_plane
from .space import run_space
from .table2 import run_table2

__all__ = ["PAPER"]

HERE = Path(__file__).parent
PLANE, MATERIAL = "sun_baruh/plane.toml", "sun_baruh/material.toml"
MODES = "; ".join(f"{k} {name}" for k, name in jimpact.MODES.items() if k >= 0)
PAPER = Paper(
    "sun_baruh",
    "Sun & Baruh: Analysis of three-dimensional rigid-body impact with friction",
    "H. Sun and H. Baruh, Analysis of Three-Dimensional Rigid-Body Impact with Friction, Dynamics 2 (2022) 1-26.",
    parts=[
        Part("table2", "Tables 1 and 2: planar modes from three ratios", PLANE, PlaneForm, run_table2),
        Part("fig3_5", "Figures 3 to 5: the rod in the plane", PLANE, PlaneForm, run_plane),
        Part("fig8_11", "Figures 8 to 11: the rod in space", "sun_baruh/space.toml", SpaceForm, run_space),
        Part("fig12_13", "Figures 12 and 13: friction and restitution", MATERIAL, MaterialForm, run_material),
        Part("errata", "Misprints, with evidence", "sun_baruh/errata.toml", ErrataForm, run_errata),
    ],
    notes=" ".join((HERE / "notes.md").read_text(encoding="utf-8").split()).format(modes=MODES),
    rows=load_rows(HERE / "findings.toml"),
)
