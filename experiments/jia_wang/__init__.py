"""Jia & Wang 2017: two bodies in space, hodographs, invariant directions, Algorithm 1 and its cost."""

from jimpact.reproduce import Paper, Part

from . import bundles, hodographs, impulse, inertia, misprints, pin, table1, theorems
from .forms import ROWS, ImpactsForm, TheoremsForm

__all__ = ["PAPER"]

IMPACTS = "jia_wang/impacts.toml"
NOTES = (
    "W is the inverse inertia of both bodies at the contact point, z its normal; B is its tangential block, d = (W_xz, "
    "W_yz), S = (1/m1 + 1/m2) 1 - W. Body i has mass m_i, moments Q_i, centre o_i and rotation R_i from its principal "
    "to contact axes; V_i and w_i are its velocity and its angular velocity in principal axes; r_i goes from o_i to "
    "the contact point. I is the impulse on body 1, I_z its normal part, mu the friction, e the restitution, E the "
    "energy stored by the normal force. gamma is the sliding velocity, of speed r and angle a; its path over I_z is "
    "the hodograph, and g_l, g_r are its values at events l, r. A direction is invariant if slip along it keeps it: "
    "centripetal if slip decreases along it, centrifugal if slip grows; it repels if slip beside it turns away. "
    "With primes for derivatives by I_z, r' = g and r a' = h. (18): W_zz > mu |d|, so that the normal velocity always "
    "grows. Algorithm 1 takes Euler steps until |gamma x gamma'| is all but zero and ends in closed form: NI is "
    "steps only, FS fixed steps, VS steps by (36). The icosahedron (truncated) hits a tetrahedron, fig. 3; the pin "
    "hits a bowling ball, fig. 11. Sequences are exact if they have l only for slip that starts on an invariant "
    "direction, as others reach it in the limit only."
)

PAPER = Paper(
    "jia_wang",
    "Jia & Wang: Analysis and computation of two body impact in three dimensions",
    "Y.-B. Jia and F. Wang, ASME Journal of Computational and Nonlinear Dynamics 12(4), 2017.",
    [
        Part("inertia", "Inverse inertia, from shapes and masses", IMPACTS, ImpactsForm, inertia.run),
        Part("impulse", "The impact of fig. 3, and fig. 5", IMPACTS, ImpactsForm, impulse.run),
        Part("hodographs", "Figures 4, 7 and 10", IMPACTS, ImpactsForm, hodographs.run),
        Part("bundles", "Figures 6 and 8", IMPACTS, ImpactsForm, bundles.run),
        Part("pin", "The impact of a bowling pin and a ball", IMPACTS, ImpactsForm, pin.run),
        Part("table1", "Table 1: Algorithm 1 and its cost", IMPACTS, ImpactsForm, table1.run),
        Part("theorems", "Theorems on random impacts", "jia_wang/theorems.toml", TheoremsForm, theorems.run),
        Part("misprints", "Formulas to correct", IMPACTS, ImpactsForm, misprints.run),
    ],
    NOTES,
    ROWS,
)
