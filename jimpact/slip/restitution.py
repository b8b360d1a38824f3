"""The three stop rules, which end an impact, and the ledger of impulse and work that they read.

p is the normal impulse so far and v the normal relative velocity. v < 0 is compression, v > 0
restitution; there may be several of each, and all sums run over all phases (Baber 2011).

| rule    | restitution ends when                                                    | source       |
|---------|--------------------------------------------------------------------------|--------------|
| stronge | work of restitution = e^2 x |work of compression|                        | Stronge 1990 |
| poisson | impulse of restitution = e x impulse of compression                      | Poisson 1817 |
| newton  | normal velocity = e x |normal velocity before|                           | Newton 1687  |

With e = 0 every rule ends at the first end of compression.

| letter | meaning                                              | unit    |
|--------|------------------------------------------------------|---------|
| e      | coefficient of restitution                           | 1       |
| v, v0  | normal relative velocity now, and before the impact  | m/s     |
| x      | normal impulse still to come                         | N s     |
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.numerics import divide, sqrt, where
from jimpact.types import Flag, Scalar, Whole

__all__ = ["RULES", "Ledger", "Slopes", "StopRule", "book", "change_phase", "open_ledger", "to_rest", "work_over"]

ROUND = 50  # x epsilon x its terms: restitution work before the last v = 0 that is below this is round-off
STEADY = 0.1  # if k changes by more than this share back to v = 0, the distance to v = 0 is not reliable
# The stop is measured from v = 0 if v^2 / k and the work of compression, or e^2 x this work, are so unequal:
AT_REST = 1e-6  # v^2 <= AT_REST k |work|, or e^2 k |work| <= AT_REST v^2


class Ledger(NamedTuple):
    """Normal impulse and work received so far, in total and by phase."""

    phase: Whole  # 0 first compression, 1 restitution, 2 second compression, ...
    impulse: Scalar
    compression_impulse: Scalar
    compression_work: Scalar  # <= 0
    restitution_work: Scalar  # >= 0
    first_end: Scalar  # normal impulse at the end of the first compression
    last_start: Scalar  # normal impulse at the start of the last further compression
    last_end: Scalar  # normal impulse at the end of the last compression

    @property
    def compressing(self) -> Flag:
        return (self.phase & 1) == 0

    @property
    def compressions(self) -> Whole:
        return (self.phase >> 1) + 1


class Slopes(NamedTuple):
    """Derivatives of the normal velocity with respect to the normal impulse."""

    k: Scalar  # dv/dp
    k2: Scalar  # d2v/dp2
    fade: Scalar  # rate at which k2 decays, for distant predictions; a landing has no decay


class StopRule(NamedTuple):
    """One hypothesis of restitution: a quantity that must reach a target.

    missing(ledger, v, v0, e): target - quantity.
    distance(missing, v, slopes, ledger, e): normal impulse to the end, exact to second order in short distances;
    inf if the target is never reached at constant k.
    """

    missing: Callable[[Ledger, Scalar, Scalar, Scalar], Scalar]
    distance: Callable[[Scalar, Scalar, Slopes, Ledger, Scalar], Scalar]


def open_ledger(like: Scalar) -> Ledger:
    zero = jnp.zeros_like(like)
    return Ledger(jnp.zeros_like(like, jnp.int8), zero, zero, zero, zero, zero, zero, zero)


def book(ledger: Ledger, impulse: Scalar, work: Scalar) -> Ledger:
    """Add a normal impulse and its work to the present phase."""
    c = ledger.compressing
    return ledger._replace(
        impulse=ledger.impulse + impulse,
        compression_impulse=ledger.compression_impulse + where(c, impulse, 0),
        compression_work=ledger.compression_work + where(c, work, 0),
        restitution_work=ledger.restitution_work + where(c, 0, work),
    )


def to_rest(v: Scalar, k: Scalar, k2: Scalar) -> Scalar:
    """Normal impulse to a nearby v = 0, to second order; 0 where k = 0."""
    x = -divide(v, k)
    return x - 0.5 * divide(k2 * x * x, k)


def work_over(v: Scalar, k: Scalar, k2: Scalar, x: Scalar) -> Scalar:
    """Normal work over the next normal impulse x."""
    return x * (v + x * (0.5 * k + k2 * x * (1 / 6)))


def change_phase(ledger: Ledger, now: Flag, v: Scalar, k: Scalar, k2: Scalar) -> Ledger:
    """Change the phase of the lanes `now`, where v = 0 within a landing error.

    The exact zero of v is `to_rest` away. The impulse and work between it and the present state are moved to the right
    phase. This term also carries the derivative of the event.
    """
    x = where(now, to_rest(v, k, k2), 0)
    work, c = where(now, work_over(v, k, k2, x), 0), ledger.compressing
    sign, at = where(c, jnp.ones_like(x), -1), ledger.impulse + x
    return ledger._replace(
        phase=ledger.phase + now.astype(jnp.int8),
        compression_impulse=ledger.compression_impulse + sign * x,
        compression_work=ledger.compression_work + sign * work,
        restitution_work=ledger.restitution_work - sign * work,
        first_end=where(now & (ledger.phase == 0), at, ledger.first_end),
        last_start=where(now & ~c, at, ledger.last_start),
        last_end=where(now & c, at, ledger.last_end),
    )


def _stronge_distance(missing: Scalar, v: Scalar, slopes: Slopes, ledger: Ledger, e: Scalar) -> Scalar:
    k, k2, fade = slopes
    rises, eps = k > 0, jnp.finfo(v.dtype).eps
    slope, compressed = where(rises, k, 1), -ledger.compression_work
    # Just after v = 0 the distance is linear in e, so that d/de is finite at e = 0.
    back = to_rest(v, slope, k2)
    before_rest = ledger.restitution_work + work_over(v, slope, k2, back)
    close = (v * v <= AT_REST * slope * compressed) | (e * e * slope * compressed <= AT_REST * v * v)
    nothing = jnp.abs(before_rest) <= eps * (ROUND * compressed + 4 * v * v / slope)
    steady = jnp.abs(k2 * v) <= STEADY * slope * slope
    at_rest = rises & steady & close & nothing
    first = where(at_rest, slope + k2 * back, 1)  # k at rest
    y = e * sqrt(where(at_rest, 2 * compressed / first, 1))
    from_rest = y + back - _limited(k2 * y * y / (6 * first), y, fade)
    square = v * v + 2 * k * missing
    root = sqrt(where(at_rest, 1, square))
    both = v + root
    forward = both > 1e-3 * root
    x = where(forward, divide(2 * missing, both), where(rises, (root - v) / slope, jnp.inf))
    reached = ~((square < 0) & ~rises) & jnp.isfinite(x) & ~at_rest
    x = where(reached, x, 0)
    end = v + k * x
    curved = _limited(where(end > 0, divide(k2 * x * x * x, 6 * end), 0), x, fade)
    return where(at_rest, from_rest, where(reached, x - curved, jnp.inf))


def _newton_distance(missing: Scalar, v: Scalar, slopes: Slopes, ledger: Ledger, e: Scalar) -> Scalar:
    k, k2, fade = slopes
    x = where(k > 0, divide(missing, k), where(missing <= 0, jnp.zeros_like(k), jnp.inf))
    reached = jnp.isfinite(x)
    near = where(reached, x, 0)
    return where(reached, near - _limited(0.5 * divide(k2 * near * near, k), near, fade), jnp.inf)


def _limited(correction: Scalar, x: Scalar, fade: Scalar) -> Scalar:
    """The correction of a distance x for a change of k, bounded by |x| / 2 above and -|x| below."""
    x = jnp.abs(x)
    bent = correction / (1 + fade * x)
    return where(jnp.abs(bent) <= 0.5 * x, bent, jnp.clip(bent, -x, 0.5 * x))


RULES = {
    "stronge": StopRule(
        missing=lambda ledger, v, v0, e: -e * e * ledger.compression_work - ledger.restitution_work,
        distance=_stronge_distance,
    ),
    "poisson": StopRule(
        missing=lambda ledger, v, v0, e: (1 + e) * ledger.compression_impulse - ledger.impulse,
        distance=lambda missing, v, slopes, ledger, e: missing,
    ),
    "newton": StopRule(missing=lambda ledger, v, v0, e: -e * v0 - v, distance=_newton_distance),
}
