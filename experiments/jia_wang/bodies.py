"""Two bodies in contact axes: inverse inertia, contact velocity, and rotations that the paper does not print.

Jia & Wang (1)-(5): r_i from the centre of mass of body i to the contact point (the origin), R_i from body axes to
contact axes, Q_i the principal moments, I the impulse on body 1.

    v  = V_1 + (R_1 w_1) x r_1 - V_2 - (R_2 w_2) x r_2
    W  = sum of 1/m_i - P_i R_i Q_i^-1 R_i^T P_i           P_i u = r_i x u
    dw_i = +- Q_i^-1 R_i^T (r_i x I)
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq, least_squares
from scipy.spatial.transform import Rotation

import jimpact
from jimpact.reproduce import body_at, last_digit, solve_many, touching
from jimpact.schemas.config import ConfigError

from .forms import ROWS, Icosahedron, Pair

UPPER = np.triu_indices(3)
TIGHT: dict[str, Any] = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}  # least squares to round-off
STARTS, SEED = 30, 0  # random rotations from which R_2 is fitted
SAME = 1e-6  # of entries of rotations that count as the same
MOMENT = 1e-6  # kg m2: a unit of the last digit of the printed moments of body 2
VELOCITY = 1e-8  # m/s: contact velocities of the configuration against the reconstructed ones


def inverse_inertia(pair: Pair, *rotations: np.ndarray) -> np.ndarray:
    """W of two bodies whose principal axes are the columns of the rotations."""
    turned = zip((pair.body_1, pair.body_2), rotations, strict=True)
    return touching(*(body_at(b.mass, R @ np.diag(b.moments) @ R.T, -np.asarray(b.position)) for b, R in turned))


def plain_inverse_inertia(pair: Pair, *rotations: np.ndarray) -> np.ndarray:
    """`inverse_inertia` in NumPy, for least squares."""
    W = np.zeros((3, 3))
    for body, R in zip((pair.body_1, pair.body_2), rotations, strict=True):
        turn = body.momentum(np.eye(3)) @ R  # rows (r x e_k) in body axes
        W += np.eye(3) / body.mass + (turn / np.asarray(body.moments)) @ turn.T
    return W


def contact_velocity(pair: Pair, *rotations: np.ndarray) -> np.ndarray:
    """(2): velocity of the contact point of body 1 relative to that of body 2."""
    one, two = (
        body.velocity + np.cross(R @ body.angular_velocity, -np.asarray(body.position))
        for body, R in zip((pair.body_1, pair.body_2), rotations, strict=True)
    )
    return one - two


def spin_2(pair: Pair, rotation: np.ndarray, impulse: np.ndarray) -> np.ndarray:
    """Angular velocity of body 2 after an impulse on body 1, in body axes."""
    body = pair.body_2
    return body.angular_velocity + rotation.T @ body.momentum(-impulse) / np.asarray(body.moments)


def same_velocity(name: str, pair: Pair, velocity: np.ndarray) -> None:
    """Refuse a configuration whose contact velocity, from which other parts start, is not the reconstructed one."""
    off = np.abs(velocity - pair.v).max()
    if off > VELOCITY:
        raise ConfigError(f"{name}.velocity is off by {off:.1e} m/s; the reconstructed one is {velocity}")


def stopping_velocity(pair: Pair) -> np.ndarray:
    """The velocity before an impact that ends in stick with the printed impulse."""
    impulse = np.asarray(pair.impulse)
    slip, guess = -(pair.W @ impulse)[:2], -pair.W[2, 2] * impulse[2]

    def excess(normal: float) -> float:
        found = solve_many(pair.W, np.append(slip, normal)[None], pair.friction, pair.restitution)
        return float(found.impulse[0, 2] - impulse[2])

    return np.append(slip, brentq(excess, 0.8 * guess, 0.2 * guess, xtol=1e-12))


def events_of(impact: jimpact.Impact, i: int = 0) -> tuple[str, dict[str, float]]:
    """The exact sequence of events, which has no l, and the normal impulse at each."""
    exact = str(jimpact.event_sequence(impact)[i]).replace("l", "")
    at = {"c": impact.info.compression_end[i], "s": impact.info.slip_end[i], "r": impact.impulse[i, 2]}
    return exact, {letter: float(at[letter]) for letter in exact}


def fitted_rotation(scene: Icosahedron) -> tuple[np.ndarray, dict[str, float]]:
    """R_2 of fig. 3: the one with which W (13) and the angular velocity of body 2 after the impact are as printed.

    Also how many of the random starts end in it, and the largest residual of the best other end, nan if there is none.
    """
    starts = 2 * np.random.default_rng(SEED).normal(size=(STARTS, 3))
    ends = [least_squares(lambda x: _residual(scene, x), start, **TIGHT) for start in starts]
    R = Rotation.from_rotvec(min(ends, key=lambda found: found.cost).x).as_matrix()
    same = [np.abs(Rotation.from_rotvec(end.x).as_matrix() - R).max() < SAME for end in ends]
    others = [np.abs(end.fun).max() for end, alike in zip(ends, same, strict=True) if not alike]
    return R, {"starts": STARTS, "same": sum(same), "next_best": min(others, default=np.nan)}


def fitted_within_rounding(scene: Icosahedron, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `fitted_rotation`, from there, with moments free within half a unit of their last printed digit.

    Returns the moments, and residuals in units of the last printed digit: six of W, three of the angular velocity.
    """
    words = [*ROWS["inertia"]["JW-W-geom"].printed, *ROWS["impulse"]["JW-post-exact"].printed[2]]
    units = np.array([last_digit(word) for word in words])

    moments = lambda x: np.asarray(scene.body_2.moments) + MOMENT * x[3:]  # noqa: E731

    def residual(x: np.ndarray) -> np.ndarray:
        body = scene.body_2.model_copy(update={"moments": tuple(moments(x))})
        return _residual(scene.model_copy(update={"body_2": body}), x[:3]) / units

    start = np.append(Rotation.from_matrix(rotation).as_rotvec(), np.zeros(3))
    most = np.array([np.inf] * 3 + [0.5] * 3)
    x = least_squares(residual, start, bounds=(-most, most), **TIGHT).x
    return moments(x), residual(x)


def _residual(scene: Icosahedron, turn: np.ndarray) -> np.ndarray:
    """W and the angular velocity of body 2 after the impact less the printed ones, for a rotation vector of R_2."""
    R = Rotation.from_rotvec(turn).as_matrix()
    W = plain_inverse_inertia(scene, np.eye(3), R) - scene.W
    return np.append(W[UPPER], spin_2(scene, R, np.asarray(scene.impulse)) - scene.angular_velocity_2)


def reconstructed(scene: Icosahedron) -> tuple[np.ndarray, np.ndarray]:
    """The contact velocity before the impact of fig. 3, and R_2.

    The normal component needs R_2 only. The impact ends in stick, so the slip before it is what the printed impulse
    stops: -(W I) in the contact plane.
    """
    R = fitted_rotation(scene)[0]
    return np.append(-(scene.W @ scene.impulse)[:2], contact_velocity(scene, np.eye(3), R)[2]), R
