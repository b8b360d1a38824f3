"""When does an impact end? The three stop rules, and the ledger they read.

The normal impulse p is the clock and v the normal relative velocity. v < 0 is compression, v > 0
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

__all__ = [
    "RULES",
    "Ledger",
    "Slopes",
    "StopRule",
    "book",
    "change_phase",
    "open_ledger",
    "to_rest",
    "work_over",
]

ROUND = 500  # x epsilon x its terms: work that was released since rest, below this, is round-off
STEADY = 0.1  # of k: if k changes by more on the way to rest, that way is not known
AT_REST = 1e-6  # closer to rest than this share of the energy, or with less to release, measure the stop from v = 0


class Ledger(NamedTuple):
    """What has been received so far, in all and by phase."""

    phase: Whole  # 0 first compression, 1 restitution, 2 second compression, ...
    impulse: Scalar
    compression_impulse: Scalar
    compression_work: Scalar  # <= 0
    restitution_work: Scalar  # >= 0
    first_end: Scalar  # normal impulse at the end of the first compression
    last_start: Scalar  # and at the start and the end of the last one
    last_end: Scalar

    @property
    def compressing(self) -> Flag:
        return (self.phase & 1) == 0

    @property
    def compressions(self) -> Whole:
        return (self.phase >> 1) + 1


class Slopes(NamedTuple):
    """How the normal velocity changes per normal impulse."""

    k: Scalar  # dv/dp
    k2: Scalar  # d2v/dp2
    fade: Scalar  # k2 decays at this rate, for far predictions only; 0 in the exact landing


class StopRule(NamedTuple):
    """One hypothesis of restitution: a quantity that must reach a target.

    missing(ledger, v, v0, e): target less quantity.
    distance(missing, v, slopes, ledger, e): normal impulse to the end, nearby exact to second order in the distance;
    inf if never reached at constant k.
    """

    missing: Callable[[Ledger, Scalar, Scalar, Scalar], Scalar]
    distance: Callable[[Scalar, Scalar, Slopes, Ledger, Scalar], Scalar]


def open_ledger(like: Scalar) -> Ledger:
    zero = jnp.zeros_like(like)
    return Ledger(jnp.zeros_like(like, jnp.int8), zero, zero, zero, zero, zero, zero, zero)


def book(ledger: Ledger, impulse: Scalar, work: Scalar) -> Ledger:
    """Add a normal impulse and its work to the phase that is open."""
    c = ledger.compressing
    return ledger._replace(
        impulse=ledger.impulse + impulse,
        compression_impulse=ledger.compression_impulse + where(c, impulse, 0),
        compression_work=ledger.compression_work + where(c, work, 0),
        restitution_work=ledger.restitution_work + where(c, 0, work),
    )


def to_rest(v: Scalar, k: Scalar, k2: Scalar) -> Scalar:
    """Normal impulse from here to v = 0 nearby, to second order; 0 where k = 0."""
    x = -divide(v, k)
    return x - 0.5 * divide(k2 * x * x, k)


def work_over(v: Scalar, k: Scalar, k2: Scalar, x: Scalar) -> Scalar:
    """Normal work over the next normal impulse x."""
    return x * (v + x * (0.5 * k + k2 * x * (1 / 6)))


def change_phase(ledger: Ledger, now: Flag, v: Scalar, k: Scalar, k2: Scalar) -> Ledger:
    """Change the phase of the lanes `now`, where v = 0 but for a landing error.

    The exact zero is `to_rest` away; the impulse and work between it and here move to the phase that they belong to.
    This term also carries the derivative of the moment at which v = 0.
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
    # From rest, with nothing released yet: e linear, so that d/de is finite at e = 0.
    back = to_rest(v, slope, k2)
    since_rest = ledger.restitution_work + work_over(v, slope, k2, back)
    close = (v * v <= AT_REST * slope * compressed) | (e * e * slope * compressed <= AT_REST * v * v)
    nothing = jnp.abs(since_rest) <= eps * (ROUND * compressed + 4 * v * v / slope)
    steady = jnp.abs(k2 * v) <= STEADY * slope * slope
    at_rest = rises & steady & close & (nothing | (ledger.phase <= 1))
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
    """The correction of a distance x for a change of k; x becomes half or twice as long at most."""
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
