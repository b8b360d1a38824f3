"""Algorithm 1 of Jia & Wang in NumPy, for a batch of impacts: the baseline of Table 1.

Euler steps of (31) over the normal impulse until slip is all but along an invariant direction, then closed forms:
straight slip to zero (6.3), stick or slip along the centrifugal direction (6.2), to the end of restitution.

| method | steps                                      | closed forms |
|--------|--------------------------------------------|--------------|
| NI     | fixed, to the end of the impact            | no           |
| FS     | fixed                                      | yes          |
| VS     | (36), by speed and curvature of the slip   | yes          |

Misprints that are corrected here: the curvature (37) has |gamma|, not |gamma'|, as first factor of its denominator;
(42) means infinity where slip grows; case 1 of 6.3 books the work since event l; line 21 uses the slip before the
impact; the centrifugal direction is told by the dot product. What is not printed: the `tolerance` below which
|gamma x gamma'| counts as zero. Explicit Euler steps change the energy by the normal velocity before the step,
`energy="before"`, with which the printed steps of NI come out; lines 6-9 list it the other way round: "after".

| symbol     | meaning                                               | unit |
|------------|-------------------------------------------------------|------|
| g, dg      | sliding velocity and its derivative                   | m/s, 1/kg |
| p          | normal impulse                                        | N s  |
| E          | energy stored by the normal force                     | J    |
| vz, k      | normal velocity and its derivative                    | m/s, 1/kg |
"""

from typing import NamedTuple

import numpy as np
from numpy import ndarray as Array

from jimpact.reproduce import cross, unit

from .flow import flow_of

INVARIANT = 1e-6  # relative: slip that turns less keeps its direction


class Fixed(NamedTuple):
    """Steps of one normal impulse."""

    size: float


class Varied(NamedTuple):
    """Steps by (36): epsilon, h1 and h2; `printed_curvature` takes (37) as printed."""

    share: float
    arc: float
    turn: float
    printed_curvature: bool = False


Steps = Fixed | Varied


class Run(NamedTuple):
    """Total impulse (n, 3), number of Euler steps (n,), and normal impulse where they ended (n,)."""

    impulse: Array
    steps: Array
    left: Array


class State(NamedTuple):
    """Lanes on their way."""

    g: Array
    p: Array
    E: Array
    restituting: Array
    steps: Array


class Given:
    """The impacts: W and its blocks, velocity before, friction, restitution."""

    def __init__(self, W: Array, v: Array, mu: Array, e: Array) -> None:
        self.W, self.v, self.mu, e = (np.asarray(field, float) for field in (W, v, mu, e))
        self.B, self.d, self.e2 = self.W[:, :2, :2], self.W[:, :2, 2], e**2
        self.inverse = np.linalg.inv(self.B)

    def slope(self, g: Array) -> Array:
        """(31)."""
        return self.d - self.mu[:, None] * np.einsum("nij,nj->ni", self.B, _unit(g))

    def impulse(self, g: Array, p: Array) -> Array:
        """(26)."""
        tangential = np.einsum("nij,nj->ni", self.inverse, g - self.v[:, :2] - p[:, None] * self.d)
        return np.concatenate([tangential, p[:, None]], -1)

    def normal_velocity(self, impulse: Array) -> Array:
        """(10)."""
        return self.v[:, 2] + (self.W[:, 2] * impulse).sum(-1)


def algorithm1(
    W: Array, v: Array, mu: Array, e: Array, steps: Steps, *, closed=True, tolerance=0.0, energy="before", most=100_000
) -> Run:
    """Solve impacts (n, 3, 3), (n, 3), (n,), (n,); `closed=False` is NI. After `most` steps a lane is left as it is."""
    given = Given(W, v, mu, e)
    zero = np.zeros(len(given.v))
    state = State(given.v[:, :2], zero, zero, zero > 0, zero.astype(int))
    active = zero == 0
    while active.any():
        dg = given.slope(state.g)
        if closed:
            active = active & (np.abs(cross(state.g, dg)) >= tolerance)
        if active.any():
            state = _euler(given, state, dg, active, steps, energy)
            active = active & ~(state.restituting & (state.E <= 0)) & (state.steps < most)
    impulse = given.impulse(state.g, state.p)
    return Run(_finish(given, state, impulse) if closed else impulse, state.steps, state.p)


def _euler(given: Given, state: State, dg: Array, active: Array, steps: Steps, energy: str) -> State:
    """Lines 5-14, for active lanes; sizes of steps by (36) and (37)."""
    if isinstance(steps, Fixed):
        size = steps.size
    else:
        r, speed, s = np.linalg.norm(state.g, axis=-1), np.linalg.norm(dg, axis=-1), _unit(state.g)
        turning = (dg - s * (s * dg).sum(-1, keepdims=True)) / (speed if steps.printed_curvature else r)[:, None]
        bend = -given.mu[:, None] * np.einsum("nij,nj->ni", given.B, turning)
        curvature = np.abs(cross(dg, bend)) / speed**3
        size = steps.share * steps.arc / speed + (1 - steps.share) * steps.turn / (curvature * speed)
    h = np.where(active, size, 0.0)
    g, p = state.g + h[:, None] * dg, state.p + h
    before, after = (given.normal_velocity(given.impulse(*at)) for at in ((state.g, state.p), (g, p)))
    E = state.E - h * (after if energy == "after" else before)
    ends = active & ~state.restituting & (after >= 0)
    return State(g, p, np.where(ends, given.e2 * E, E), state.restituting | ends, state.steps + active)


def _finish(given: Given, state: State, impulse: Array) -> Array:
    """6.3 and 6.2: straight slip until it stops, then stick or the centrifugal direction."""
    s, one = _unit(state.g), np.ones((len(state.g), 1))
    rate = (s * given.slope(state.g)).sum(-1)
    reach = np.where(rate < 0, np.linalg.norm(state.g, axis=-1) / np.where(rate < 0, -rate, 1), np.inf)
    line = np.concatenate([-given.mu[:, None] * s, one], -1)
    over = state.restituting & (state.E <= 0)
    E, restituting, gone, over = _straight(given, state.E, state.restituting, over, impulse, line, reach)
    impulse = impulse + gone[:, None] * line
    impulse = np.where(over[:, None], impulse, given.impulse(np.zeros_like(state.g), impulse[:, 2]))
    stuck = np.einsum("nij,nj->ni", given.inverse, given.d)
    for lane in np.flatnonzero(~over & (np.linalg.norm(stuck, axis=-1) > given.mu)):
        stuck[lane] = given.mu[lane] * centrifugal(given.W[lane], given.mu[lane])
    last = np.concatenate([-stuck, one], -1)
    gone = _straight(given, E, restituting, over, impulse, last, np.full(len(s), np.inf))[2]
    return impulse + gone[:, None] * last


def _straight(given: Given, E: Array, restituting: Array, over: Array, I: Array, *line: Array) -> tuple[Array, ...]:
    """Energy, phase, normal impulse gone and whether the impact is over, on a line: (rate of the impulse, its length).

    E' = -vz is linear, so that compression ends at a root of it, and restitution at the larger root of E.
    """
    rate, reach = line
    vz, k = given.normal_velocity(I), (given.W[:, 2] * rate).sum(-1)
    to_rest = np.where(restituting, 0, -vz / k)
    ends = ~over & ~restituting & (to_rest <= reach)
    first = np.where(ends, to_rest, 0)
    E = np.where(ends, given.e2 * (E - vz * first - k * first**2 / 2), E)
    vz, restituting = np.where(ends, 0, vz), restituting | ends
    to_end = (np.sqrt(np.maximum(vz**2 + 2 * k * E, 0)) - vz) / k
    stops = ~over & restituting & (first + to_end <= reach)
    left = np.where(np.isfinite(reach), reach - first, 0)
    second = np.where(over, 0, np.where(stops, to_end, left))
    return E - vz * second - k * second**2 / 2, restituting, np.where(over, 0, first + second), over | stops


def centrifugal(inverse_inertia: Array, friction: float) -> Array:
    """The unit vector along which slip leaves zero: a root of h, as in the quartic after Theorem 5, where g > 0."""
    flow = flow_of(inverse_inertia, friction)
    angles = np.angle(np.roots(flow.h))
    growth, turns = flow.rates(angles)
    size = np.linalg.norm(inverse_inertia[:2, 2]) + friction * np.linalg.norm(inverse_inertia[:2, :2])
    return unit(angles[np.where(np.abs(turns) > INVARIANT * size, -np.inf, growth).argmax()])


def _unit(g: Array) -> Array:
    return g / np.linalg.norm(g, axis=-1, keepdims=True)
