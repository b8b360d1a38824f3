"""Jia & Wang 2017: two bodies in space, hodographs, invariant directions, Algorithm 1 and its cost."""

from jimpact.reproduce import load_paper

PAPER = load_paper(__name__)
