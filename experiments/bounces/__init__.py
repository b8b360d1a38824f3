"""Bouncing bodies: is an impact missed, what does a bounce cost, and what do derivatives through bounces find."""
