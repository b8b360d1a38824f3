"""Functions of a contact plane for algebraic laws, with the symbols of `slip/flow.py`."""

from jimpact.slip.flow import Plane, solve_b
from jimpact.types import Scalar

__all__ = ["normal_rate", "stopping_impulse"]


def normal_rate(plane: Plane, sx: Scalar, sy: Scalar) -> Scalar:
    """k = dv/dp, the change of the normal velocity per normal impulse, while slip is along the unit vector s."""
    return plane.w - plane.mu * (plane.dx * sx + plane.dy * sy)


def stopping_impulse(plane: Plane, x: Scalar, y: Scalar, v: Scalar, after: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Impulse that stops the slip (x, y) and turns the normal velocity v into `after`."""
    ux, uy = solve_b(plane, plane.dx, plane.dy)
    p = (after - v + ux * x + uy * y) / (plane.w - plane.dx * ux - plane.dy * uy)
    ix, iy = solve_b(plane, -x - plane.dx * p, -y - plane.dy * p)
    return ix, iy, p
