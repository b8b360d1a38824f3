"""Sun & Baruh 2022: a rod that strikes the ground, in the plane and in space; modes, normal velocity and energy."""

from jimpact.reproduce import load_paper

PAPER = load_paper(__name__)
