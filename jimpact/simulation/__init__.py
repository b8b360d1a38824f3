"""Free motion of bodies between impacts, and the time of the next impact."""
