"""The double pendulum on a support that swivels about the vertical: three degrees of freedom, slip in two directions.

M and J come from geometry by JAX: two points of Gauss on each bar are exact for the square of a velocity that is linear
along it. Chapter 4 is followed by numerical integration, as it proposes, with SciPy and without jimpact.

| symbol | meaning | shape | unit |
|---|---|---|---|
| q | angle of the swivel, then those of the bars | (3,) | rad |
| Ln, LT | columns of M^-1 J^T: normal, and both tangential | (3,), (3,2) | |
| s | clock with dp = (slip speed) ds: the direction of slip stays smooth as slip ends | | |
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.integrate import solve_ivp

from .pendulum import Pendulum, State

TOLERANCE = 1e-12  # of the integration
STOPPED = 1e-11  # of the slip before: zero
LONGEST = 1e4  # of the clock, in units of 1 / (entries of J M^-1 J^T)
GAUSS = 0.5 + np.array([-0.5, 0.5]) / 3**0.5


class Integrated(NamedTuple):
    """Speeds after an impact by chapter 4, and how slip went."""

    u: np.ndarray
    sticks: bool
    followed: bool  # False where slip stops and cannot stick: the chapter does not say where it goes


def by_geometry(pendulum: Pendulum, q: State) -> tuple[Array, Array]:
    """M, and J of the tip with rows radial (at angle 0 of the swivel), across, up."""

    def point(q: Array, first: float, second: float) -> Array:
        out = first * jnp.cos(q[1]) + second * jnp.cos(q[1] + q[2])
        up = first * jnp.sin(q[1]) + second * jnp.sin(q[1] + q[2])
        return pendulum.length * jnp.stack([out * jnp.cos(q[0]), out * jnp.sin(q[0]), up])

    first, second = np.array([*GAUSS, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, *GAUSS, 1.0])
    points = jax.vmap(jax.jacfwd(point), (None, 0, 0))(jnp.asarray(q), first, second)
    return 0.5 * pendulum.mass * jnp.einsum("pki,pkj->ij", points[:4], points[:4]), points[4]


def held_by(J: np.ndarray, L: np.ndarray) -> np.ndarray:
    """m of (4.12): L_n - L_T m keeps both tangential velocities."""
    return np.linalg.solve(J[:2] @ L[:, :2], J[:2] @ L[:, 2])


def integrate(M: np.ndarray, J: np.ndarray, u: np.ndarray, mu: float, e: float) -> Integrated:
    """The six steps of section 4.2: (4.9) to v_n = 0 and on to the stop, (4.13) from zero slip if it can stick."""
    L = np.linalg.solve(M, J.T)
    m, zero, lowest = held_by(J, L), STOPPED * float(np.linalg.norm(J[:2] @ u)), None
    y, stopped = _slide(J, L, mu, np.append(u, 0.0), lambda y: J[2] @ y[:-1], zero)
    if not stopped:  # v_n = 0 comes first
        lowest = float(y[-1])
        y, stopped = _slide(J, L, mu, y, lambda y: y[-1] - (1 - e**2) * lowest, zero)
    if not stopped or np.linalg.norm(m) > mu:
        return Integrated(y[:-1], False, not stopped)
    # (4.13) from zero slip to the stop; E_n is quadratic in p.
    u, E, line = y[:-1], y[-1], L[:, 2] - L[:, :2] @ m
    v, rate = J[2] @ u, J[2] @ line
    deepest = E - 0.5 * v * v / rate if lowest is None else lowest
    p = (-v + np.sqrt(max(v * v + 2 * rate * ((1 - e**2) * deepest - E), 0.0))) / rate
    return Integrated(u + line * p, True, True)


def _slide(J: Any, L: Any, mu: float, y: np.ndarray, rises: Callable, zero: float) -> tuple[np.ndarray, bool]:
    """Follow (4.9), y = (u, E_n), until something rises through 0, or until slip is zero (then True)."""
    slip = lambda y: J[:2] @ y[:-1]  # noqa: E731

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        """(4.9) and dE_n/dp = v_n, both times the slip speed."""
        size = np.linalg.norm(slip(y))
        return np.append(L[:, 2] * size - mu * L[:, :2] @ slip(y), (J[2] @ y[:-1]) * size)

    goal = lambda _, y: rises(y)  # noqa: E731
    rest = lambda _, y: np.linalg.norm(slip(y)) - zero  # noqa: E731
    goal.terminal = rest.terminal = True  # type: ignore[attr-defined]
    goal.direction = 1  # type: ignore[attr-defined]
    accuracy = {"method": "DOP853", "rtol": TOLERANCE, "atol": 1e-3 * TOLERANCE}
    found = solve_ivp(rate, (0, LONGEST / np.abs(J @ L).max()), y, events=(goal, rest), **accuracy)
    return found.y[:, -1], len(found.t_events[1]) > 0
