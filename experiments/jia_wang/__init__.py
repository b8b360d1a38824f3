"""Jia & Wang 2017: two bodies in space, hodographs, invariant directions, Algorithm 1 and its cost."""

from jimpact.reproduce import Paper, Part

from . import bundles, hodographs, impulse, inertia, misprints, pin, table1, theorems
from .forms import BundlesForm, HodographsForm, ImpactsForm, MisprintsForm, Table1Form, TheoremsForm

__all__ = ["PAPER"]

PAPER = Paper(
    "jia_wang",
    "Analysis and computation of two body impact in three dimensions",
    "Y.-B. Jia and F. Wang, ASME Journal of Computational and Nonlinear Dynamics 12(4), 2017.",
    [
        Part("inertia", "Inverse inertia, from shapes and masses", "jia_wang/impacts.toml", ImpactsForm, inertia.run),
        Part("impulse", "The impact of fig. 3, and fig. 5", "jia_wang/impacts.toml", ImpactsForm, impulse.run),
        Part("hodographs", "Figures 4, 7 and 10", "jia_wang/hodographs.toml", HodographsForm, hodographs.run),
        Part("bundles", "Figures 6 and 8", "jia_wang/bundles.toml", BundlesForm, bundles.run),
        Part("pin", "The impact of a bowling pin and a ball", "jia_wang/impacts.toml", ImpactsForm, pin.run),
        Part("table1", "Table 1: Algorithm 1 and its cost", "jia_wang/table1.toml", Table1Form, table1.run),
        Part("theorems", "Theorems on random impacts", "jia_wang/theorems.toml", TheoremsForm, theorems.run),
        Part("misprints", "Formulas to correct", "jia_wang/misprints.toml", MisprintsForm, misprints.run),
    ],
)
