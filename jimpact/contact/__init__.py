"""Bodies that touch at one point: contact frame, relative velocity, inverse inertia."""
