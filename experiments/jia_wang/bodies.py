"""Two bodies in contact axes: inverse inertia, contact velocity, and rotations that the paper does not print.

Jia & Wang (1)-(5): r_i from the centre of mass of body i to the contact point (the origin), R_i from body axes to
contact axes, Q_i the principal moments, I the impulse on body 1.

    v  = V_1 + (R_1 w_1) x r_1 - V_2 - (R_2 w_2) x r_2
    W  = sum of 1/m_i - P_i R_i Q_i^-1 R_i^T P_i           P_i u = r_i x u
    dw_i = +- Q_i^-1 R_i^T (r_i x I)
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import jimpact
from jimpact.reproduce import last_digit

from .forms import Case, Icosahedron, ImpactsForm, Pin, Rigid, values

__all__ = [
    "TIGHT",
    "UPPER",
    "Fitted",
    "Reconstructed",
    "case_of",
    "contact_velocity",
    "fitted_rotation",
    "fitted_within_rounding",
    "inverse_inertia",
    "plain_inverse_inertia",
    "reconstructed",
    "spin_change",
    "upper",
]

UPPER = np.triu_indices(3)
TIGHT: dict[str, Any] = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}  # least squares to round-off


Scene = Icosahedron | Pin


class Fitted(NamedTuple):
    """A rotation by least squares from many starts."""

    rotation: np.ndarray
    same: int  # starts that end in it
    next_best: float  # the largest residual of the best other end; nan if there is none


class Reconstructed(NamedTuple):
    """The impact of fig. 3 in contact axes."""

    inverse_inertia: np.ndarray  # (13), upper triangle
    velocity: np.ndarray
    rotation_2: np.ndarray


def upper(words: list[list[str]]) -> np.ndarray:
    """A printed matrix made symmetric from its upper triangle."""
    W = np.triu(values(words))
    return W + np.triu(W, 1).T


def inverse_inertia(pair: Scene, rotation_1: np.ndarray, rotation_2: np.ndarray) -> np.ndarray:
    """W of two bodies whose principal axes are the columns of the rotations."""
    one, two = _body(pair.body_1, rotation_1), _body(pair.body_2, rotation_2)
    return np.asarray(jimpact.inverse_inertia(one, two, jnp.zeros(3), jnp.array([0.0, 0.0, 1.0])))


def contact_velocity(pair: Scene, rotation_1: np.ndarray, rotation_2: np.ndarray) -> np.ndarray:
    """(2): velocity of the contact point of body 1 relative to that of body 2."""
    one, two = (
        np.asarray(body.velocity) + np.cross(rotation @ np.asarray(body.angular_velocity), -np.asarray(body.position))
        for body, rotation in ((pair.body_1, rotation_1), (pair.body_2, rotation_2))
    )
    return one - two


def spin_change(body: Rigid, rotation: np.ndarray, impulse: np.ndarray) -> np.ndarray:
    """Change of the angular velocity (body axes) by an impulse on the body at the origin."""
    return rotation.T @ np.cross(-np.asarray(body.position), impulse) / np.asarray(body.moments)


def case_of(scene: Scene) -> Case:
    """The impact in contact axes, by the upper triangle of the printed W."""
    return Case(
        inverse_inertia=upper(scene.printed.inverse_inertia).tolist(),
        velocity=scene.contact_velocity,
        friction=scene.friction,
        restitution=scene.restitution,
    )


def fitted_rotation(config: ImpactsForm) -> Fitted:
    """R_2 of fig. 3: the one with which W (13) and the angular velocity of body 2 after the impact are as printed."""
    scene, given = config.icosahedron, config.fit
    starts = 2 * np.random.default_rng(given.seed).normal(size=(given.starts, 3))
    ends = [least_squares(lambda x: _residual(scene, x), start, **TIGHT) for start in starts]
    best = min(ends, key=lambda found: found.cost)
    R = Rotation.from_rotvec(best.x).as_matrix()
    same = [np.abs(Rotation.from_rotvec(end.x).as_matrix() - R).max() < given.same for end in ends]
    others = [np.abs(end.fun).max() for end, alike in zip(ends, same, strict=True) if not alike]
    return Fitted(R, int(np.sum(same)), float(min(others, default=np.nan)))


def fitted_within_rounding(config: ImpactsForm, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `fitted_rotation`, from there, with moments free within half a unit of their last printed digit.

    Returns the moments, and residuals in units of the last printed digit: six of W, three of the angular velocity.
    """
    scene, printed = config.icosahedron, config.icosahedron.printed
    words = [printed.inverse_inertia[i][j] for i, j in zip(*UPPER, strict=True)] + printed.angular_velocity_2
    units = np.array([last_digit(word) for word in words])
    steps = np.array([last_digit(word) for word in printed.moments_2])

    def residual(x: np.ndarray) -> np.ndarray:
        return _residual(_with_moments(scene, x[3:] * steps), x[:3]) / units

    start = np.append(Rotation.from_matrix(rotation).as_rotvec(), np.zeros(3))
    most = np.array([np.inf] * 3 + [0.5] * 3)
    x = least_squares(residual, start, bounds=(-most, most), **TIGHT).x
    return np.asarray(scene.body_2.moments) + x[3:] * steps, residual(x)


def _with_moments(scene: Icosahedron, change: np.ndarray) -> Icosahedron:
    moments = tuple(np.asarray(scene.body_2.moments) + change)
    return scene.model_copy(update={"body_2": scene.body_2.model_copy(update={"moments": moments})})


def _residual(scene: Icosahedron, turn: np.ndarray) -> np.ndarray:
    """W and the angular velocity of body 2 after the impact less the printed ones, for a rotation vector of R_2."""
    printed, R = scene.printed, Rotation.from_rotvec(turn).as_matrix()
    spin = np.asarray(scene.body_2.angular_velocity) + spin_change(scene.body_2, R, -values(printed.impulse))
    W = plain_inverse_inertia(scene, np.eye(3), R) - upper(printed.inverse_inertia)
    return np.concatenate([W[UPPER], spin - values(printed.angular_velocity_2)])


def reconstructed(config: ImpactsForm) -> Reconstructed:
    """W and the contact velocity before the impact of fig. 3, which needs R_1 and R_2 and is not printed.

    The normal component needs R_2 only. The impact ends in stick, so the slip before it is what the printed impulse
    stops: -(W I) in the contact plane.
    """
    printed = config.icosahedron.printed
    W, R = upper(printed.inverse_inertia), fitted_rotation(config).rotation
    slip = -(W @ values(printed.impulse))[:2]
    normal = contact_velocity(config.icosahedron, np.eye(3), R)[2]
    return Reconstructed(W, np.append(slip, normal), R)


def plain_inverse_inertia(pair: Scene, rotation_1: np.ndarray, rotation_2: np.ndarray) -> np.ndarray:
    """`inverse_inertia` in NumPy, for least squares."""
    W = np.zeros((3, 3))
    for body, rotation in ((pair.body_1, rotation_1), (pair.body_2, rotation_2)):
        turn = np.cross(-np.asarray(body.position), np.eye(3)) @ rotation  # rows (r x e_k) in body axes
        W += np.eye(3) / body.mass + (turn / np.asarray(body.moments)) @ turn.T
    return W


def _body(body: Rigid, rotation: np.ndarray) -> jimpact.Body:
    inertia = rotation @ np.diag(body.moments) @ rotation.T
    return jimpact.Body(*map(jnp.asarray, (body.mass, inertia, body.position, body.velocity, np.zeros(3))))
