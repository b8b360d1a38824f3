"""Morgan (2011): the planar rigid body impact problem, solved algebraically."""

from jimpact.reproduce import load_paper

PAPER = load_paper(__name__)
