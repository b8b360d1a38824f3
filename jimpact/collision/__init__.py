"""Impacts of bodies: two of them, several contacts in sequence, and mechanisms in generalised coordinates."""
