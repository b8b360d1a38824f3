"""The nine equations of an impact in space, (60) to (65), as printed and as (36), (46)-(48), (50) and (51) demand.

Unknowns are (v_x, v_y, v_z, w_x, w_y, w_z, F_x, F_y, F_z): velocities after a stage, and impulses as amounts. Axes of
the paper: x along the slip before, y down, z to the side.

| symbol    | meaning                                               |
|-----------|-------------------------------------------------------|
| L         | from the centre of mass to the contact point (m)      |
| S         | signs of friction along x and z, (35)                 |
| direction | (cos phi, sin phi): of the slip that friction opposes |
"""

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Motion", "Signs", "friction_rows", "moment_rows", "momentum", "paper_axes", "slip_rows", "vertical_speed"]

Signs = tuple[float, float]


class Motion(NamedTuple):
    """Velocity of the centre of mass and angular velocity, in the axes of the paper."""

    velocity: np.ndarray
    spin: np.ndarray


def paper_axes(contact: Any) -> np.ndarray:
    """A vector of the contact frame (x, z, up) along (x, y down, z)."""
    return np.stack([contact[..., 0], -contact[..., 2], contact[..., 1]], -1)


def moment_rows(L: np.ndarray, S: Signs, printed: bool) -> np.ndarray:
    """Rows 4 to 6, the columns of F_x, F_y, F_z; the second row is printed right."""
    (x, y, z), (sx, sz) = L, S
    if printed:
        return np.array([[0, sx * z, y], [-sx * z, 0, sz * x], [-y, -sz * x, 0]])
    return np.array([[0, -z, -sz * y], [-sx * z, 0, sz * x], [sx * y, x, 0]])


def momentum(mass: float, inertia: np.ndarray, L: np.ndarray, S: Signs, printed: bool = False) -> np.ndarray:
    """Rows 1 to 6: linear and angular momentum."""
    rows = np.zeros((6, 9))
    rows[:3, :3], rows[3:, 3:6] = mass * np.eye(3), inertia
    rows[:3, 6:] = np.diag([-S[0], 1.0, -S[1]])
    rows[3:, 6:] = moment_rows(L, S, printed)
    return rows


def friction_rows(friction: float, direction: np.ndarray, S: Signs, printed: bool = False) -> np.ndarray:
    """S_x F_x + mu cos(phi) F_y = 0 and likewise along z; the print has minus."""
    sign = -1.0 if printed else 1.0
    rows = np.zeros((2, 9))
    rows[0, 6:8] = S[0], sign * friction * direction[0]
    rows[1, 7:] = sign * friction * direction[1], S[1]
    return rows


def slip_rows(L: np.ndarray) -> np.ndarray:
    """(54): no slip along x and z."""
    x, y, z = L
    return np.array([[1, 0, 0, 0, z, -y, 0, 0, 0], [0, 0, 1, y, -x, 0, 0, 0, 0]], float)


def vertical_speed(motion: Motion, L: np.ndarray, S: Signs, printed: bool) -> float:
    """Of the contact point, downwards: as (53) has it, or as the bracket of (64)."""
    (x, _, z), v, w = L, motion.velocity, motion.spin
    if printed:
        return float(v[1] + S[0] * z * v[0] - S[1] * x * v[2])
    return float(v[1] + w[2] * x - w[0] * z)
