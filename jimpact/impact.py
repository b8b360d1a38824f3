"""The front door: one impact, or a batch of them.

Shapes, dtypes and names are checked here, at once and with a sentence; bad values in a lane become that
lane's `Outcome` and never touch another lane, nor its derivative.
"""

from numbers import Real
from typing import NamedTuple, TypeVar

import jax.numpy as jnp
from jaxtyping import Float

from jimpact.contact import check_batch, floating
from jimpact.hodograph import Accuracy
from jimpact.laws import LAWS
from jimpact.laws.hodograph_law import Solution, events_of, follow, unfold
from jimpact.numerics import norm
from jimpact.restitution import StopRule
from jimpact.state import Impact, ImpactInfo, Outcome
from jimpact.types import Array, ArrayLike, Flag, Matrix3, Scalar, Vector3

__all__ = ["ACCURACIES", "Case", "prepare", "solve"]

T = TypeVar("T")

# Numbers of steps are those of random lanes of condition up to 1000, measured.
# Measured errors: docs/accuracy.md.
ACCURACIES = {
    "float64": {
        "low": Accuracy(8, 5, 10, 48, 1e-5),
        "standard": Accuracy(12, 5, 11, 64, 2e-8),
        "high": Accuracy(12, 9, 28, 128, 1e-12),
    },
    "float32": {
        "low": Accuracy(6, 6, 15, 48, 1e-4),
        "standard": Accuracy(8, 6, 13, 64, 1e-6),
        "high": Accuracy(10, 5, 12, 64, 1e-7),
    },
}
TRUSTED = 1e3  # x the error admitted per step: an estimated error beyond this is UNFINISHED
EVENTS = ("compression_end", "recompression_start", "recompression_end", "slip_end", "line_start", "mode")
ASYMMETRY = 1e-4  # of the largest entry: more than rounded print, less than a mistake


def solve(
    inverse_inertia: Float[ArrayLike, "... 3 3"],
    velocity: Float[ArrayLike, "... 3"],
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    *,
    law: str = "stronge",
    static_friction: Float[ArrayLike, "..."] | None = None,
    tangential_restitution: Float[ArrayLike, "..."] | None = None,
    accuracy: str = "standard",
    line_tolerance: float = 0.01,
) -> Impact:
    """Solve one impact with friction, or a batch of them (all arguments broadcast over leading axes).

    Contact frame: axis 2 is the unit normal, from body b into body a. SI units.

    Args:
        inverse_inertia: W, velocity change per impulse (1/kg); symmetric positive definite.
        velocity: of body a's contact point relative to body b's, before; approaching if velocity[2] < 0.
        friction: coefficient of kinetic friction, >= 0.
        restitution: coefficient of restitution, in [0, 1].
        law: a name in `LAWS`.
        static_friction: coefficient of static friction, >= friction; the same as `friction` if None.
        tangential_restitution: for laws that have it; stronge, poisson and newton have not.
        accuracy: "low", "standard" or "high": see docs/accuracy.md for the error each reaches.
        line_tolerance: angle (rad) within which a direction of slip counts as invariant in
            `info.line_start`; changes nothing else.

    Returns:
        Impact: impulse on body a, velocity after, outcome, and info, each with the batch shape in front.
    """
    _named(law, LAWS, "law")
    if tangential_restitution is not None:
        raise ValueError(f"tangential_restitution is not a parameter of law={law!r}; leave it out")
    case = prepare(inverse_inertia, velocity, friction, restitution, static_friction, law, accuracy, line_tolerance)
    valid, approaching, level, solution = case.valid, case.approaching, case.level, case.solution
    impulse, after = unfold(solution)
    end = solution.end
    good = end.finished & (end.error <= TRUSTED * level.tolerance) & _plausible(case)
    outcome = jnp.where(good, Outcome.OK, Outcome.UNFINISHED)
    outcome = jnp.where(valid, jnp.where(approaching, outcome, Outcome.SEPARATING), Outcome.INVALID)
    outcome = outcome.astype(jnp.int32)
    info = _info(solution, impulse, after)
    return Impact(
        jnp.where(valid[..., None], jnp.where(approaching[..., None], impulse, 0), jnp.nan),
        jnp.where(valid[..., None], jnp.where(approaching[..., None], after, case.velocity), jnp.nan),
        outcome,
        ImpactInfo(*(_masked(a, name, valid, approaching) for a, name in zip(info, ImpactInfo._fields, strict=True))),
    )


class Case(NamedTuple):
    """Checked input and its solution; lanes that are not valid and approaching hold a harmless stand-in."""

    velocity: Vector3
    static_friction: Scalar
    valid: Flag
    approaching: Flag
    level: Accuracy
    rule: StopRule
    solution: Solution


def prepare(
    inverse_inertia: ArrayLike,
    velocity: ArrayLike,
    friction: ArrayLike,
    restitution: ArrayLike,
    static_friction: ArrayLike | None,
    law: str,
    accuracy: str,
    line_tolerance: float,
) -> Case:
    """Check the input, and follow the slip of every lane that is valid and approaching."""
    record = _named(law, LAWS, "law")
    if isinstance(line_tolerance, bool) or not isinstance(line_tolerance, Real) or not 0 < line_tolerance < 1:
        raise ValueError(f"line_tolerance={line_tolerance!r}; pass an angle in radians between 0 and 1")
    W, v, mu, e, static = _arrays(inverse_inertia, velocity, friction, restitution, static_friction)
    level = _named(accuracy, ACCURACIES[v.dtype.name], "accuracy")
    valid = _valid(W, v, mu, e, static)
    approaching = valid & (v[..., 2] < 0)
    # Harmless stand-ins, so that no bad lane can make a nan, not even in a derivative.
    W_ = jnp.where(approaching[..., None, None], W, jnp.eye(3, dtype=W.dtype))
    v_ = jnp.where(approaching[..., None], v, jnp.asarray([0, 0, -1], v.dtype))
    mu_, e_, static_ = (jnp.where(approaching, a, 0.5) for a in (mu, e, static))
    solution = follow(W_, v_, mu_, e_, static_, record.rule, level, float(line_tolerance))
    return Case(v, static_, valid, approaching, level, record.rule, solution)


def _plausible(case: Case) -> Flag:
    """Finite, pushing, not approaching, and within the friction cone: what every law of slip promises."""
    end = case.solution.end
    p, slack = end.books.impulse, TRUSTED * case.level.tolerance
    cone = norm(end.ix, end.iy) <= case.static_friction * p * (1 + slack) + slack * p
    return jnp.isfinite(end.ix + end.iy + p) & (p > 0) & (end.v >= -slack * (1 + p)) & cone


def _info(solution: Solution, impulse: Vector3, after: Vector3) -> ImpactInfo:
    """Ledger and events, in the user's units."""
    end, units, lane = solution.end, solution.units, solution.lane
    books, events = end.books, events_of(solution)
    before = units.velocity[..., None] * jnp.stack([lane.x0, lane.y0, lane.v0], -1)
    started = (lane.x0 != 0) | (lane.y0 != 0)
    case = jnp.where(end.compressing_at_zero, 1, 3) + jnp.where(end.stick, 0, 1)
    mode = jnp.where(started, jnp.where(end.reaches_zero, case, 0), jnp.where(end.stick, 5, 6))
    return ImpactInfo(
        compression_impulse=books.compression_impulse * units.impulse,
        compression_work=books.compression_work * units.work,
        restitution_work=books.restitution_work * units.work,
        friction_work=end.friction_work * units.work,
        kinetic_energy_change=0.5 * (impulse * (before + after)).sum(-1),
        compression_end=events.compression_end * units.impulse,
        recompression_start=events.recompression_start * units.impulse,
        recompression_end=events.recompression_end * units.impulse,
        slip_end=events.slip_end * units.impulse,
        line_start=events.line_start * units.impulse,
        compressions=books.compressions.astype(jnp.int32),
        mode=mode.astype(jnp.int32),
    )


def _masked(a: Array, name: str, valid: Flag, approaching: Flag) -> Array:
    """Without an impact sums are 0, events nan and the mode -1; where the input was not usable, nan or -1."""
    bad = jnp.nan if jnp.issubdtype(a.dtype, jnp.floating) else -1
    none = bad if name in EVENTS else 0
    return jnp.where(valid, jnp.where(approaching, a, none), bad)


def _named(name: str, table: dict[str, T], argument: str) -> T:
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"{argument}={name!r} is unknown; pass one of {', '.join(map(repr, table))}")
    return table[name]


def _arrays(
    W: ArrayLike, v: ArrayLike, mu: ArrayLike, e: ArrayLike, static: ArrayLike | None
) -> tuple[Matrix3, Vector3, Scalar, Scalar, Scalar]:
    """Arrays of one floating dtype and one batch shape, or a sentence that says what to pass."""
    names = ("inverse_inertia", "velocity", "friction", "restitution", "static_friction")
    tails = ((3, 3), (3,), (), (), ())
    given = (W, v, mu, e, mu if static is None else static)
    arrays = [floating(name, a, tail) for a, name, tail in zip(given, names, tails, strict=True)]
    dtype = jnp.result_type(*arrays)
    if dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"inputs have dtype {dtype}; pass float32 or float64")
    batches = [arrays[0].shape[:-2], arrays[1].shape[:-1], *(a.shape for a in arrays[2:])]
    check_batch(**dict(zip(names, batches, strict=True)))
    batch = jnp.broadcast_shapes(*batches)
    W_, v_, mu_, e_, static_ = (
        jnp.broadcast_to(a.astype(dtype), batch + tail) for a, tail in zip(arrays, tails, strict=True)
    )
    return W_, v_, mu_, e_, static_


def _valid(W: Matrix3, v: Vector3, mu: Scalar, e: Scalar, static: Scalar) -> Flag:
    """Finite, W symmetric positive definite, coefficients in range."""
    W = W / jnp.where(W[..., 2:, 2:] > 0, W[..., 2:, 2:], 1)  # so that no determinant over- or underflows
    finite = jnp.isfinite(W).all((-1, -2)) & jnp.isfinite(v).all(-1) & jnp.isfinite(mu) & jnp.isfinite(static)
    asymmetry = jnp.abs(W - jnp.swapaxes(W, -1, -2)).max((-1, -2))
    symmetric = asymmetry <= ASYMMETRY * jnp.abs(W).max((-1, -2))
    a, b, c = W[..., 0, 0], 0.5 * (W[..., 0, 1] + W[..., 1, 0]), W[..., 1, 1]
    det = a * c - b * b
    dx, dy = 0.5 * (W[..., 0, 2] + W[..., 2, 0]), 0.5 * (W[..., 1, 2] + W[..., 2, 1])
    schur = W[..., 2, 2] * det - (c * dx * dx - 2 * b * dx * dy + a * dy * dy)
    definite = (a > 0) & (det > 0) & (schur > 0)
    # Beside more slip than this, the approach is round-off of round-off, and its square is lost.
    grazing = jnp.abs(v[..., :2]).max(-1) * jnp.finfo(v.dtype).eps ** 2 > jnp.abs(v[..., 2])
    definite &= ~((v[..., 2] < 0) & grazing)
    return finite & symmetric & definite & (mu >= 0) & (e >= 0) & (e <= 1) & (static >= mu)
