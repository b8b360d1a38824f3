"""Functions of a contact for algebraic laws, with the symbols of `slip/flow.py`."""

from jimpact.slip.flow import Constants, solve_b
from jimpact.types import Scalar

__all__ = ["normal_rate", "stopping_impulse"]


def normal_rate(contact: Constants, sx: Scalar, sy: Scalar) -> Scalar:
    """k = dv/dp, the change of the normal velocity per normal impulse, while slip is along the unit vector s."""
    return contact.w - contact.mu * (contact.dx * sx + contact.dy * sy)


def stopping_impulse(
    contact: Constants, x: Scalar, y: Scalar, v: Scalar, after: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Impulse that stops the slip (x, y) and turns the normal velocity v into `after`."""
    ux, uy = solve_b(contact, contact.dx, contact.dy)
    p = (after - v + ux * x + uy * y) / (contact.w - contact.dx * ux - contact.dy * uy)
    ix, iy = solve_b(contact, -x - contact.dx * p, -y - contact.dy * p)
    return ix, iy, p
