"""Convex shapes, their orientation, and the distance between them."""
