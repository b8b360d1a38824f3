"""The planar algorithm of section 5.2, step by step, in NumPy and for one impact at a time: a baseline.

| symbol     | meaning                                                            | unit    |
|------------|--------------------------------------------------------------------|---------|
| f          | unit vector along which the normal force acts on body a            | 1       |
| r, v, w    | from centre of mass to contact; velocity; angular velocity         | m, m/s, rad/s |
| K, u       | collision matrix (2 x 2), velocity of a's contact point beside b's | 1/kg, m/s |
| kx, ky     | du_x/dp_y and du_y/dp_y                                            | 1/kg    |
| Wc, Wd     | works of the normal force in compression and in restitution        | J       |
"""

from typing import NamedTuple

import numpy as np

__all__ = ["Disk", "Outcome", "collide", "collision_matrix", "end_velocity", "turn"]


class Disk(NamedTuple):
    """A body in the plane; an immovable one has inverse mass and inverse inertia 0."""

    inverse_mass: float
    inverse_inertia: float
    arm: np.ndarray  # (2,)
    velocity: np.ndarray  # (2,)
    angular_velocity: float


class Outcome(NamedTuple):
    """Both bodies after, the impulse on body a in contact axes, and the steps that were taken."""

    body_a: Disk
    body_b: Disk
    impulse: np.ndarray
    steps: str


def collide(a: Disk, b: Disk, f: np.ndarray, mu: float, e: float) -> Outcome:
    """Steps 1 to 10."""
    R = turn(f)
    a, b = (body._replace(arm=R @ body.arm, velocity=R @ body.velocity) for body in (a, b))
    K = collision_matrix(a, b)
    u0 = _contact_velocity(a) - _contact_velocity(b)
    u, steps = end_velocity(K, u0, mu, e)
    p = np.linalg.solve(K, u - u0)
    after = [_pushed(body, q) for body, q in ((a, p), (b, -p))]
    back = [body._replace(arm=R.T @ body.arm, velocity=R.T @ body.velocity) for body in after]
    return Outcome(back[0], back[1], p, steps)


def turn(f: np.ndarray) -> np.ndarray:
    """Step 1: the rotation that takes f to (0, 1)."""
    return np.array([[f[1], -f[0]], [f[0], f[1]]])


def collision_matrix(a: Disk, b: Disk) -> np.ndarray:
    """Step 2."""
    K = (a.inverse_mass + b.inverse_mass) * np.eye(2)
    for body in (a, b):
        K = K + body.inverse_inertia * np.outer(_lever(body), _lever(body))
    return K


def end_velocity(K: np.ndarray, u0: np.ndarray, mu: float, e: float) -> tuple[np.ndarray, str]:
    """Steps 3 to 8: the velocity at the end, and the steps taken, such as "4b 6"."""
    ux, uy = float(u0[0]), float(u0[1])
    if ux == 0:
        return _from_zero_slip(K, uy, mu, e, 0.0, 0.0, "3a")
    kx, ky = K @ np.array([-mu if ux > 0 else mu, 1.0])
    if kx * ux >= 0:
        return _along_ray(ux, uy, kx, ky, e, 0.0, 0.0), "3 8"
    origin = uy - ky / kx * ux
    if origin <= 0:
        Wc = -ux * uy / kx + ky * ux**2 / (2 * kx**2)
        return _from_zero_slip(K, origin, mu, e, Wc, 0.0, "4b")
    if origin < -e * uy:
        return _from_zero_slip(K, origin, mu, e, -(uy**2) / (2 * ky), origin**2 / (2 * ky), "4c")
    return np.array([ux - (1 + e) * kx / ky * uy, -e * uy]), "4d"


def _from_zero_slip(
    K: np.ndarray, uy: float, mu: float, e: float, Wc: float, Wd: float, steps: str
) -> tuple[np.ndarray, str]:
    """Steps 5 to 7: stable sticking, or the one diverging ray."""
    if abs(K[0, 1]) <= mu * K[0, 0]:
        return _along_ray(0.0, uy, 0.0, 1 / np.linalg.inv(K)[1, 1], e, Wc, Wd), f"{steps} 6"
    kx, ky = K @ np.array([-mu, 1.0])
    if kx <= 0:
        kx, ky = K @ np.array([mu, 1.0])
    return _along_ray(0.0, uy, kx, ky, e, Wc, Wd), f"{steps} 7"


def _along_ray(ux: float, uy: float, kx: float, ky: float, e: float, Wc: float, Wd: float) -> np.ndarray:
    """Step 8: the rest of the impact is straight."""
    old = uy
    if uy < 0:
        Wc, uy = Wc - uy**2 / (2 * ky), 0.0
    uy = np.sqrt(2 * ky * (-(e**2) * Wc - Wd) + uy**2)
    return np.array([kx / ky * (uy - old) + ux, uy])


def _lever(body: Disk) -> np.ndarray:
    return np.array([-body.arm[1], body.arm[0]])


def _contact_velocity(body: Disk) -> np.ndarray:
    return body.velocity + body.angular_velocity * _lever(body)


def _pushed(body: Disk, impulse: np.ndarray) -> Disk:
    """Step 9."""
    spin = body.inverse_inertia * float(_lever(body) @ impulse)
    return body._replace(
        velocity=body.velocity + body.inverse_mass * impulse, angular_velocity=body.angular_velocity + spin
    )
