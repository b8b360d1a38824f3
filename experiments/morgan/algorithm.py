"""Morgan's algebraic algorithm (fig 2.8 and chapter 3), written from the text in NumPy: one impact, four boxes.

Nothing of jimpact is used here, so that the two can be compared. A `Reading` says what is taken instead of the print
where the print cannot be meant; `PRINTED` takes it literally.

| symbol | meaning | unit |
|---|---|---|
| M, J | mass matrix (n, n); Jacobian (2, n), rows tangential and normal | kg m^2, m |
| u | generalised speeds (n,) | rad/s |
| L | M^-1 J^T with columns Lt and Ln, the collision matrix, (2.5), (2.8) | |
| line | direction Ln + k Lt of the speeds as the normal impulse grows, (2.12), friction k: mu, -mu or m | |
| m | friction that keeps the tip from slipping, (3.1) | 1 |
| E | energy exchanged by the normal impulse, (2.21), below 0 | J |
"""

from typing import NamedTuple

import numpy as np
from numpy import ndarray as Array

CODES = {"a-b-e": "lscr", "a-c-e": "lcr", "a-c-d-e": "lcsr"}  # path through fig 2.8, as letters of events


class Reading(NamedTuple):
    """How the text is read."""

    minus: bool = True  # m = -(Jt Ln) / (Jt Lt): (3.1) has no minus sign
    size: bool = True  # sticks if |m| <= mu: (2.11) and chapter 3 compare m itself
    discard: bool = True  # a normal pause at a negative impulse does not come
    work: str = "square"  # work of restitution / work of compression: e^2 "square", e "ratio", 1/e "inverted"


CORRECTED = Reading()
PRINTED = Reading(minus=False, size=False, discard=False, work="inverted")


class Stop(NamedTuple):
    """A point of the way: start, tangential pause, normal pause or end."""

    event: str  # "start", "v_t = 0", "v_n = 0", "end"
    impulse: Array  # (2,) N s, tangential and normal
    u: Array
    E: float

    @property
    def p(self) -> float:
        """Normal impulse."""
        return self.impulse[1]


class Solved(NamedTuple):
    """After an impact, and the way there."""

    u: Array
    impulse: Array
    boxes: str  # path through fig 2.8
    code: str  # the same in letters of events
    stops: list[Stop]
    sticks: bool
    frictions: tuple[float, ...]  # tangential / normal impulse on each straight piece


class Mechanism(NamedTuple):
    """What the boxes calculate with."""

    M: Array
    J: Array
    L: Array

    def line(self, k: float) -> Array:
        return self.L[:, 1] + k * self.L[:, 0]

    def energy(self, at: Stop, k: float, p: Array | float) -> Array | float:
        """(2.21) after a further normal impulse p with friction k."""
        M, line, Ln = self.M, self.line(k), self.L[:, 1]
        return at.E + at.u @ M @ Ln * p + 0.5 * (line @ M @ Ln) * p**2

    def go(self, at: Stop, k: float, p: float, event: str) -> Stop:
        impulse = at.impulse + p * np.array([k, 1.0])
        return Stop(event, impulse, at.u + self.line(k) * p, self.energy(at, k, p))

    def pause(self, row: int, at: Stop, k: float) -> float:
        """Normal impulse to the tangential (row 0) or normal (row 1) pause, (3.2) and (3.3); may be negative or inf."""
        rate = self.J[row] @ self.line(k)
        return np.inf if rate == 0 else -(self.J[row] @ at.u) / rate

    def end(self, at: Stop, k: float, missing: float) -> Stop:
        """The end, where (2.21) has risen by what is `missing` at a point of restitution.

        The energy at the end is (1 - share) x that at the normal pause; the difference is passed, not taken, so that
        small coefficients of restitution keep their digits.
        """
        v, rate = max(self.J[1] @ at.u, 0.0), self.J[1] @ self.line(k)  # v is 0 up to round-off at the normal pause
        p = 2 * missing / (v + np.sqrt(v * v + max(2 * rate * missing, 0.0))) if missing > 0 else 0.0
        return self.go(at, k, p, "end")


def solve_by_text(M: Array, J: Array, u: Array, mu: float, e: float, *, static=None, reading=CORRECTED) -> Solved:
    """One impact by a `Reading`; sticking is decided by `static`, the coefficient of static friction (mu if None)."""
    system = Mechanism(M, J, np.linalg.solve(M, J.T))
    start, slip = Stop("start", np.zeros(2), np.asarray(u, float), 0.0), J[0] @ u
    # Friction from zero slip on; slip begins against the friction m that would hold it.
    m = (-1 if reading.minus else 1) * (J[0] @ system.L[:, 1]) / (J[0] @ system.L[:, 0])
    sticks = bool((abs(m) if reading.size else m) <= (mu if static is None else static))
    later = m if sticks else mu * np.sign(m)
    first = -mu * np.sign(slip) if slip != 0 else later  # box a
    to_slip_zero = system.pause(0, start, first) if slip != 0 else np.inf
    to_normal_zero = system.pause(1, start, first)
    if reading.discard and to_normal_zero < 0:
        to_normal_zero = np.inf
    share = {"square": e**2, "ratio": e, "inverted": 1 / e if e > 0 else np.inf}[reading.work]
    if 0 < to_slip_zero < to_normal_zero:  # box b: slip ends in compression, and the normal pause moves
        boxes, turned = "a-b-e", system.go(start, first, to_slip_zero, "v_t = 0")
        deepest = system.go(turned, later, system.pause(1, turned, later), "v_n = 0")
        stops = [start, turned, deepest, system.end(deepest, later, -share * deepest.E)]
    else:  # box c: compression ends first
        boxes, deepest = "a-c-e", system.go(start, first, to_normal_zero, "v_n = 0")
        stops = [start, deepest, system.end(deepest, first, -share * deepest.E)]
        if 0 < to_slip_zero < stops[-1].p:  # box d: slip ends in restitution
            boxes, turned = "a-c-d-e", system.go(deepest, first, to_slip_zero - to_normal_zero, "v_t = 0")
            missing = -share * deepest.E - (turned.E - deepest.E)
            stops = [start, deepest, turned, system.end(turned, later, missing)]
    bends = len(stops) == 4
    held, frictions = sticks and (bends or slip == 0), (first, later) if bends else (first,)
    return Solved(stops[-1].u, stops[-1].impulse, boxes, CODES[boxes], stops, bool(held), frictions)
