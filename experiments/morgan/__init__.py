"""Morgan (2011): the planar rigid body impact problem, solved algebraically."""

from pathlib import Path

from jimpact.reproduce import Paper, Part, load_rows

from . import mechanism, motion, orders, space
from .forms import CrowdForm, ImpactsForm, MechanismForm, MotionForm, SpaceForm
from .impacts import energy, paths

NOTES = (
    "u are the generalised speeds, M the mass matrix, J the Jacobian of the tip with rows J_t along the floor and J_n "
    "up from it, v_t and v_n the velocity of the tip along both; L = M^-1 J^T with columns L_t and L_n (in space L_T, "
    "two columns), p_n and p_t the normal and the tangential impulse. The direction of the speeds is L_n + k L_t as "
    "p_n grows, with k = mu or -mu while the tip slips and k = m while it sticks. The tangential pause is where "
    "v_t = 0, the normal pause where v_n = 0; E_n and E_f are the parts of the energy exchanged by the normal and the "
    "frictional impulse. Boxes of fig 2.8: a finds both pauses along the first direction; b, slip ends first: a new "
    "direction, the normal pause again, and the end; c, compression ends first: the end; d, slip ends before it: a new "
    "direction, and the end; e, the speeds there. An impact takes the path a-b-e, a-c-e or a-c-d-e. It jams if the "
    "first direction presses the tip further into the floor. Only the thesis's text was at hand, no drawings."
)

PAPER = Paper(
    "morgan",
    "Morgan: Algebraic solution to the planar rigid body impact problem",
    "D. Morgan, Algebraic Solution to the Planar Rigid Body Impact Problem, M.S. thesis, The University of Texas at "
    "Arlington, 2011.",
    [
        Part("mechanism", "The double pendulum (2.1)", "morgan/mechanism.toml", MechanismForm, mechanism.run),
        Part("paths", "Ways through an impact (figs 2.2-2.5, 2.7, 2.9)", "morgan/impacts.toml", ImpactsForm, paths),
        Part("energy", "Energy and its parts (fig 2.6)", "morgan/impacts.toml", ImpactsForm, energy),
        Part("algorithm", "The algorithm and its orders (fig 2.8)", "morgan/crowd.toml", CrowdForm, orders.algorithm),
        Part("errata", "Misprints, and what they do", "morgan/crowd.toml", CrowdForm, orders.errata),
        Part("motion", "Flight and impacts (fig 3.1)", "morgan/motion.toml", MotionForm, motion.run),
        Part("space", "Toward three dimensions (chapter 4)", "morgan/space.toml", SpaceForm, space.run),
    ],
    NOTES,
    load_rows(Path(__file__).with_name("findings.toml")),
)
