"""Morgan's algebraic algorithm (fig 2.8 and chapter 3), written from the text in NumPy: one impact, four boxes.

Nothing of jimpact is used here, so that the two can be compared. A `Reading` says what is taken instead of the print
where the print cannot be meant; `PRINTED` takes it literally.

| symbol | meaning | unit |
|---|---|---|
| M, J | mass matrix (n, n); Jacobian (2, n), rows tangential and normal | kg m^2, m |
| u | generalised speeds (n,) | rad/s |
| Lt, Ln | columns of the collision matrix L = M^-1 J^T, (2.5), (2.8) | |
| line | direction Ln + k Lt of the speeds as the normal impulse grows, (2.12), friction k: mu, -mu or m | |
| m | friction that keeps the tip from slipping, (3.1) | 1 |
| p | normal impulse | N s |
| E | energy exchanged by the normal impulse, (2.21), below 0 | J |
"""

from typing import NamedTuple

import numpy as np

__all__ = ["CODES", "CORRECTED", "PRINTED", "Reading", "Solved", "Stop", "slip_friction", "solve_by_text"]

CODES = {"a-b-e": "lscr", "a-c-e": "lcr", "a-c-d-e": "lcsr"}  # path through fig 2.8, as letters of events


class Reading(NamedTuple):
    """How the text is read."""

    minus: bool = True  # m = -(Jt Ln) / (Jt Lt): (3.1) has no minus sign
    size: bool = True  # sticks if |m| <= mu: (2.11) and chapter 3 compare m itself
    discard: bool = True  # a normal pause at a negative p does not come
    work: str = "square"  # work of restitution / work of compression: e^2 "square", e "ratio", 1/e "inverted"


CORRECTED = Reading()
PRINTED = Reading(minus=False, size=False, discard=False, work="inverted")


class Stop(NamedTuple):
    """A point of the way: start, tangential pause, normal pause or end."""

    event: str  # "start", "v_t = 0", "v_n = 0", "end"
    p: float
    u: np.ndarray
    E: float


class Solved(NamedTuple):
    """Speeds and impulse (tangential, normal) after an impact, and the way there."""

    u: np.ndarray
    impulse: np.ndarray
    boxes: str  # path through fig 2.8
    stops: list[Stop]
    sticks: bool
    frictions: tuple[float, ...]  # tangential / normal impulse on each straight piece

    @property
    def code(self) -> str:
        return CODES[self.boxes]


class Mechanism(NamedTuple):
    M: np.ndarray
    J: np.ndarray
    Lt: np.ndarray
    Ln: np.ndarray
    mu: float
    static: float

    def line(self, k: float) -> np.ndarray:
        return self.Ln + k * self.Lt

    def go(self, at: Stop, k: float, p: float, event: str) -> Stop:
        """A further normal impulse p with friction k; the energy by (2.21)."""
        line = self.line(k)
        E = at.E + at.u @ self.M @ self.Ln * p + 0.5 * (line @ self.M @ self.Ln) * p**2
        return Stop(event, at.p + p, at.u + line * p, E)

    def pause(self, row: int, at: Stop, k: float) -> float:
        """Normal impulse to the tangential (row 0) or normal (row 1) pause, (3.2) and (3.3); may be negative or inf."""
        rate = self.J[row] @ self.line(k)
        return np.inf if rate == 0 else -(self.J[row] @ at.u) / rate


def slip_friction(system: Mechanism, reading: Reading) -> tuple[float, bool]:
    """Friction from zero slip on, and whether the tip sticks; slip begins against the friction that would hold it."""
    Jt = system.J[0]
    m = (-1 if reading.minus else 1) * (Jt @ system.Ln) / (Jt @ system.Lt)
    if (abs(m) if reading.size else m) <= system.static:
        return m, True
    return system.mu * np.sign(m), False


def solve_by_text(
    M: np.ndarray,
    J: np.ndarray,
    u: np.ndarray,
    mu: float,
    e: float,
    *,
    static: float | None = None,
    reading: Reading = CORRECTED,
) -> Solved:
    """One impact; sticking is decided by `static`, the coefficient of static friction."""
    L = np.linalg.solve(M, J.T)
    system = Mechanism(M, J, L[:, 0], L[:, 1], mu, mu if static is None else static)
    share = {"square": e**2, "ratio": e, "inverted": 1 / e if e > 0 else np.inf}[reading.work]
    start = Stop("start", 0.0, np.asarray(u, float), 0.0)
    later, sticks = slip_friction(system, reading)
    slip = J[0] @ u
    first = -mu * np.sign(slip) if slip != 0 else later  # box a
    to_slip_zero = system.pause(0, start, first) if slip != 0 else np.inf
    to_normal_zero = system.pause(1, start, first)
    if reading.discard and to_normal_zero < 0:
        to_normal_zero = np.inf
    if 0 < to_slip_zero < to_normal_zero:
        stops, boxes, frictions = _box_b(system, start, (first, later), to_slip_zero, share)
    else:
        stops, boxes, frictions = _box_c(system, start, (first, later), to_slip_zero, to_normal_zero, share)
    lengths = _lengths(stops, len(frictions))
    impulse = np.array([float(np.dot(frictions, lengths)), stops[-1].p])
    held = bool(sticks and (len(frictions) == 2 or slip == 0))
    return Solved(stops[-1].u, impulse, boxes, stops, held, frictions)


def _box_b(
    system: Mechanism, start: Stop, k: tuple[float, float], to_slip_zero: float, share: float
) -> tuple[list[Stop], str, tuple[float, ...]]:
    """Slip ends in compression: the normal pause and the stop are found along the new direction."""
    turned = system.go(start, k[0], to_slip_zero, "v_t = 0")
    deepest = system.go(turned, k[1], system.pause(1, turned, k[1]), "v_n = 0")
    end = system.go(deepest, k[1], _to_stop(system, deepest, k[1], -share * deepest.E), "end")
    return [start, turned, deepest, end], "a-b-e", k


def _box_c(
    system: Mechanism, start: Stop, k: tuple[float, float], to_slip_zero: float, to_normal_zero: float, share: float
) -> tuple[list[Stop], str, tuple[float, ...]]:
    """Compression ends first; slip ends in restitution (box d) or not at all."""
    deepest = system.go(start, k[0], to_normal_zero, "v_n = 0")
    returned = -share * deepest.E
    further = _to_stop(system, deepest, k[0], returned)
    if not 0 < to_slip_zero < to_normal_zero + further:
        return [start, deepest, system.go(deepest, k[0], further, "end")], "a-c-e", k[:1]
    turned = system.go(deepest, k[0], to_slip_zero - to_normal_zero, "v_t = 0")
    end = system.go(turned, k[1], _to_stop(system, turned, k[1], returned - (turned.E - deepest.E)), "end")
    return [start, deepest, turned, end], "a-c-d-e", k


def _to_stop(system: Mechanism, at: Stop, k: float, missing: float) -> float:
    """Normal impulse by which (2.21) rises by what is `missing` to the stop, from a point of restitution on.

    The energy at the stop is (1 - share) x that at the normal pause; the difference is passed, not taken, so that small
    coefficients of restitution keep their digits.
    """
    v, rate = max(system.J[1] @ at.u, 0.0), system.J[1] @ system.line(k)  # v is 0 up to round-off at the normal pause
    return 2 * missing / (v + np.sqrt(v * v + max(2 * rate * missing, 0.0))) if missing > 0 else 0.0


def _lengths(stops: list[Stop], pieces: int) -> list[float]:
    """Normal impulse of each straight piece."""
    if pieces == 1:
        return [stops[-1].p]
    bend = next(stop.p for stop in stops if stop.event == "v_t = 0")
    return [bend, stops[-1].p - bend]
