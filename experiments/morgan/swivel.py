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
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.integrate import solve_ivp

import jimpact

from .pendulum import Pendulum

__all__ = ["TOLERANCE", "Integrated", "held_by", "integrate", "swivel_matrices"]

TOLERANCE = 1e-12  # of the integration
STOPPED = 1e-11  # of the slip before: zero
LONGEST = 1e4  # of the clock, in units of 1 / (entries of J M^-1 J^T)
GAUSS = 0.5 + np.array([-0.5, 0.5]) / 3**0.5


class Integrated(NamedTuple):
    """Speeds after an impact by chapter 4, and how slip went."""

    u: np.ndarray
    slip_ends: bool
    sticks: bool
    followed: bool  # False where slip stops and cannot stick: the chapter does not say where it goes


class Contact(NamedTuple):
    J: np.ndarray
    Ln: np.ndarray
    LT: np.ndarray
    mu: float

    def rate(self, _: float, y: np.ndarray) -> np.ndarray:
        """(4.9) and dE_n/dp = v_n, both times the slip speed; y = (u, E_n)."""
        slip = self.J[:2] @ y[:-1]
        size = np.linalg.norm(slip)
        return np.append(self.Ln * size - self.mu * self.LT @ slip, (self.J[2] @ y[:-1]) * size)


def swivel_matrices(pendulum: Pendulum, q: np.ndarray, normal: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """M, and J with rows t1, t2, n of the floor with the given normal."""

    def point(q: Array, first: float, second: float) -> Array:
        out = first * jnp.cos(q[1]) + second * jnp.cos(q[1] + q[2])
        up = first * jnp.sin(q[1]) + second * jnp.sin(q[1] + q[2])
        return pendulum.length * jnp.stack([out * jnp.cos(q[0]), out * jnp.sin(q[0]), up])

    first, second = np.array([*GAUSS, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, *GAUSS, 1.0])
    *bars, tip = np.asarray(jax.jit(jax.vmap(jax.jacfwd(point), (None, 0, 0)))(jnp.asarray(q), first, second))
    M = 0.5 * pendulum.mass * sum(A.T @ A for A in bars)
    up = np.asarray(normal) / np.linalg.norm(normal)
    return M, np.asarray(jimpact.contact_frame(jnp.asarray(up))) @ tip


def integrate(M: np.ndarray, J: np.ndarray, u: np.ndarray, mu: float, e: float) -> Integrated:
    """The six steps of section 4.2: (4.9) to v_n = 0 and on to the stop, (4.13) from zero slip if it can stick."""
    L = np.linalg.solve(M, J.T)
    contact = Contact(J, L[:, 2], L[:, :2], mu)
    zero = STOPPED * float(np.linalg.norm(J[:2] @ u))
    y, stopped = _slide(contact, np.append(u, 0.0), lambda y: J[2] @ y[:-1], zero)
    lowest = None
    if not stopped:  # v_n = 0 comes first
        lowest = float(y[-1])
        y, stopped = _slide(contact, y, lambda y: y[-1] - (1 - e**2) * lowest, zero)
    if not stopped:
        return Integrated(y[:-1], False, False, True)
    m = held_by(J, L)
    if np.linalg.norm(m) > mu:
        return Integrated(y[:-1], True, False, False)
    return Integrated(_stuck(J, contact.Ln - contact.LT @ m, y, e, lowest), True, True, True)


def held_by(J: np.ndarray, L: np.ndarray) -> np.ndarray:
    """m of (4.12): L_n - L_T m keeps both tangential velocities."""
    return np.linalg.solve(J[:2] @ L[:, :2], J[:2] @ L[:, 2])


def _slide(
    contact: Contact, y: np.ndarray, rises: Callable[[np.ndarray], float], zero: float
) -> tuple[np.ndarray, bool]:
    """Follow (4.9) until something rises through 0, or until slip is zero (then True)."""
    goal = lambda _, y: rises(y)  # noqa: E731
    slip = lambda _, y: np.linalg.norm(contact.J[:2] @ y[:-1]) - zero  # noqa: E731
    goal.terminal = slip.terminal = True  # type: ignore[attr-defined]
    goal.direction = 1  # type: ignore[attr-defined]
    longest = LONGEST / np.abs(contact.J @ np.column_stack([contact.LT, contact.Ln])).max()
    found = solve_ivp(
        contact.rate, (0, longest), y, "DOP853", events=(goal, slip), rtol=TOLERANCE, atol=1e-3 * TOLERANCE
    )
    return found.y[:, -1], len(found.t_events[1]) > 0


def _stuck(J: np.ndarray, line: np.ndarray, y: np.ndarray, e: float, lowest: float | None) -> np.ndarray:
    """(4.13) from zero slip to the stop; E_n is quadratic in p. `lowest` is E_n at v_n = 0 if that is past."""
    u, E = y[:-1], y[-1]
    v, rate = J[2] @ u, J[2] @ line
    deepest = E - 0.5 * v * v / rate if lowest is None else lowest
    return u + line * (-v + np.sqrt(max(v * v + 2 * rate * ((1 - e**2) * deepest - E), 0.0))) / rate
