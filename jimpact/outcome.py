"""The result of an impact. Failure is a value, the `Outcome` of a lane; `require` turns it into an exception."""

from enum import IntEnum
from typing import NamedTuple

import jax
import numpy as np

from jimpact.types import Scalar, Vector3, Whole

__all__ = ["Impact", "ImpactError", "ImpactInfo", "Outcome", "require"]


class Outcome(IntEnum):
    """Status of the result of one impact."""

    OK = 0
    SEPARATING = 1  # not approaching: zero impulse, velocity unchanged
    INVALID = 2  # input not usable: nan, W not symmetric positive definite, a coefficient out of range
    UNFINISHED = 3  # an estimate, not accurate: the steps did not suffice, or the result violates a condition
    OUTSIDE = 4  # no answer: the impact is outside the domain of the law, `LAWS[name].domain`


ADVICE = {
    Outcome.SEPARATING: "normal velocity >= 0, nothing to collide",
    Outcome.INVALID: "input not usable: nan, inverse inertia not symmetric positive definite, friction < 0, "
    "static friction below friction, restitution outside [0, 1], another coefficient out of its range, or no approach "
    "beside the slip",
    Outcome.UNFINISHED: 'not accurate; for a law that follows the slip pass accuracy="high", else another law',
    Outcome.OUTSIDE: "outside the domain of the law, see LAWS[law].domain; pass another law",
}


class ImpactInfo(NamedTuple):
    """Events, works and impulses of the impact. Unused fields cost nothing under `jax.jit`.

    Fields that a law does not define are nan or -1. Works are in J, impulses in N s. compression_work +
    restitution_work + friction_work = kinetic_energy_change. Event fields are normal impulses, nan if the event did not
    happen.
    """

    compression_impulse: Scalar
    compression_work: Scalar
    restitution_work: Scalar
    friction_work: Scalar
    kinetic_energy_change: Scalar
    compression_end: Scalar  # where the first compression ended
    recompression_start: Scalar  # where the last further compression began, if there was one; then where it ended
    recompression_end: Scalar
    slip_end: Scalar  # where slip first reached zero
    line_start: Scalar  # where the direction of slip became invariant, to within `line_tolerance`
    compressions: Whole
    mode: Whole  # Sun & Baruh's case 0..6 (their Table 1); -1 where there was none


class Impact(NamedTuple):
    """The result of one impact, or of a batch of them."""

    impulse: Vector3  # on body a, contact frame
    velocity: Vector3  # relative velocity of the contact points after, contact frame
    outcome: Whole
    info: ImpactInfo


class ImpactError(RuntimeError):
    """Raised by `require` if a lane of a batch failed."""


def require(impact: Impact, *, separating: bool = True) -> Impact:
    """Return `impact` unchanged, or raise ImpactError if any lane failed.

    A SEPARATING lane is a failure only if `separating` is False. The function runs on the host, not under jit.
    """
    if not hasattr(impact, "outcome"):
        raise TypeError(f"require takes an Impact, not a {type(impact).__name__}; how a Run went is in its `ending`")
    try:
        codes = np.asarray(impact.outcome)
    except jax.errors.TracerArrayConversionError:
        raise TypeError("require looks at values; call it on the result, outside jit, grad and vmap") from None
    accepted = {int(Outcome.OK)} | ({int(Outcome.SEPARATING)} if separating else set())
    bad = ~np.isin(codes, sorted(accepted))
    if not bad.any():
        return impact
    reasons = []
    for code in sorted(set(codes[bad].ravel().tolist())):
        lanes = np.argwhere(codes == code)
        first = ", ".join(str(tuple(i.tolist())) for i in lanes[:3])
        where = f", first at {first}" if codes.ndim else ""
        reasons.append(f"{len(lanes)} {Outcome(code).name}{where} ({ADVICE[Outcome(code)]})")
    raise ImpactError(f"{int(bad.sum())} of {codes.size} impacts failed: " + "; ".join(reasons))
