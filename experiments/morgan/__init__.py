"""Morgan (2011): the planar rigid body impact problem, solved algebraically."""

from jimpact.reproduce import Paper, Part

from . import energy, errata, mechanism, motion, orders, paths, space
from .forms import CrowdForm, ImpactsForm, MechanismForm, MotionForm, SpaceForm

PAPER = Paper(
    "morgan",
    "Morgan: algebraic solution to the planar rigid body impact problem",
    "D. Morgan, Algebraic Solution to the Planar Rigid Body Impact Problem, M.S. thesis, The University of Texas at "
    "Arlington, 2011.",
    [
        Part("mechanism", "The double pendulum (2.1)", "morgan/mechanism.toml", MechanismForm, mechanism.run),
        Part("paths", "Ways through an impact (figs 2.2-2.5, 2.7, 2.9)", "morgan/impacts.toml", ImpactsForm, paths.run),
        Part("energy", "Energy and its parts (fig 2.6)", "morgan/impacts.toml", ImpactsForm, energy.run),
        Part("algorithm", "The algorithm and its orders (fig 2.8)", "morgan/crowd.toml", CrowdForm, orders.run),
        Part("errata", "Misprints, and what they do", "morgan/crowd.toml", CrowdForm, errata.run),
        Part("motion", "Flight and impacts (fig 3.1)", "morgan/motion.toml", MotionForm, motion.run),
        Part("space", "Toward three dimensions (chapter 4)", "morgan/space.toml", SpaceForm, space.run),
    ],
)
