"""`solve`: one impact, or a batch of them.

Wrong shapes, dtypes and names raise an error of one sentence. Bad values in a lane become the `Outcome` of that
lane, and never affect another lane or its derivative.
"""

from functools import partial
from numbers import Real
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from jaxtyping import Float

from jimpact.laws import LAWS
from jimpact.laws.base import Answer, Given, Law, Options, plausible
from jimpact.numerics import divide, where
from jimpact.outcome import Impact, ImpactInfo, Outcome
from jimpact.slip.flow import Constants, constants_of
from jimpact.slip.restitution import RULES
from jimpact.slip.state import Accuracy
from jimpact.types import Array, ArrayLike, Flag, Matrix3, Scalar, Vector3
from jimpact.validation import broadcast, check_name

__all__ = ["ACCURACIES", "Case", "check_followed", "prepare", "report", "solve"]

T = TypeVar("T")
Choice = tuple[Law, Options]

# Measured errors: docs/accuracy.md.
ACCURACIES = {
    "float64": {"low": Accuracy(28, 1e-7), "standard": Accuracy(34, 1e-9), "high": Accuracy(56, 1e-12)},
    "float32": {"low": Accuracy(28, 1e-5), "standard": Accuracy(34, 1e-6), "high": Accuracy(40, 2e-7)},
}
WITHOUT_ZERO = ("compression_end", "recompression_start", "recompression_end", "slip_end", "line_start", "mode")
EXTRA = {"tangential_restitution": "in [-1, 1]", "mixing": "in [0, 1]"}  # coefficients that only some laws have
TAILS = {"inverse_inertia": (3, 3), "velocity": (3,)}  # last axes of the arguments that are not numbers
WORKS = ("compression_work", "restitution_work", "friction_work", "kinetic_energy_change")
COUNTS = ("compressions", "mode")
SINGULAR = 8  # x epsilon x its terms: a smaller determinant is round-off
WIDEST = 0.1  # rad: largest line_tolerance; steps find an invariant direction only within `flow.NEAR`
ASYMMETRY = 1e-4  # largest asymmetry relative to the largest entry: allows rounded print, but not a mistake


def solve(
    inverse_inertia: Float[ArrayLike, "... 3 3"],
    velocity: Float[ArrayLike, "... 3"],
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    *,
    law: str = "stronge",
    static_friction: Float[ArrayLike, "..."] | None = None,
    tangential_restitution: Float[ArrayLike, "..."] | None = None,
    mixing: Float[ArrayLike, "..."] | None = None,
    rule: str = "poisson",
    accuracy: str = "standard",
    line_tolerance: float = 0.01,
) -> Impact:
    """Solve one impact with friction, or a batch of them (all arguments broadcast over leading axes).

    Contact frame: axis 2 is the unit normal, from body b into body a. SI units.

    Args:
        inverse_inertia: W, velocity change per impulse (1/kg); symmetric positive definite.
        velocity: velocity before of the contact point of body a relative to that of body b; approaching if
            velocity[2] < 0.
        friction: coefficient of kinetic friction, >= 0.
        restitution: coefficient of restitution, in [0, 1].
        law: a name in `LAWS`, which has the parameters and properties of each law.
        static_friction: coefficient of static friction, >= friction; the same as `friction` if None. Only the
            laws that distinguish stick from slip during the impact use it (stronge, poisson, newton, sun_baruh,
            composite), but it must be in range for every law.
        tangential_restitution: in [-1, 1], for the laws that need it (chatterjee_ruina, bilinear, composite).
        mixing: in [0, 1], for composite: the share of chatterjee_ruina.
        rule: stop rule, "poisson" or "stronge", for the laws that accept both (sun_baruh, composite); the others
            ignore it.
        accuracy: "low", "standard" or "high", for laws that follow the slip: docs/accuracy.md has the error of each.
        line_tolerance: angle (rad, at most 0.1) within which a direction of slip counts as invariant in
            `info.line_start`; it affects nothing else.

    Returns:
        Impact: impulse on body a, velocity after, outcome, and info, each with the batch axes first.
    """
    given = {
        "inverse_inertia": inverse_inertia,
        "velocity": velocity,
        "friction": friction,
        "restitution": restitution,
        "static_friction": static_friction,
        "tangential_restitution": tangential_restitution,
        "mixing": mixing,
    }
    choice, arrays = _checked(given, law, accuracy, line_tolerance, rule)
    return _impacts(choice, *arrays)


@partial(jax.jit, static_argnums=0)
def _impacts(choice: Choice, *arrays: Array) -> Impact:
    case = _case(choice, *arrays)
    return report(case, case.law.function(case.given, case.options))


class Case(NamedTuple):
    """Checked input in scaled units; lanes that are invalid or do not approach hold a harmless stand-in."""

    given: Given
    options: Options
    law: Law
    velocity: Vector3  # as passed
    valid: Flag
    approaching: Flag
    velocity_unit: Scalar  # the approach speed
    impulse_unit: Scalar  # velocity_unit / inverse mass along the normal

    @property
    def work_unit(self) -> Scalar:
        return self.velocity_unit * self.impulse_unit


def prepare(*, law: str, accuracy: str = "standard", line_tolerance: float = 0.01, **given: ArrayLike | None) -> Case:
    """Check arguments of `solve`, and scale them."""
    choice, arrays = _checked(given, law, accuracy, line_tolerance, "poisson")
    return _case(choice, *arrays)


def _checked(
    given: dict[str, ArrayLike | None], law: str, accuracy: str, line_tolerance: float, rule: str
) -> tuple[Choice, tuple[Array, ...]]:
    """The law with its options, and the arrays, coefficients first. Raises if an argument cannot be used."""
    record = _named(law, LAWS, "law")
    chosen = _named(rule, {name: RULES[name] for name in record.rules or RULES}, "rule")
    if isinstance(line_tolerance, bool) or not isinstance(line_tolerance, Real) or not 0 < line_tolerance <= WIDEST:
        raise ValueError(
            f"line_tolerance={line_tolerance!r}; pass a Python number, an angle in radians above 0 and at most {WIDEST}"
        )
    static = given["friction"] if given["static_friction"] is None else given["static_friction"]
    W, v, *coefficients = _arrays({**given, "static_friction": static, **_wanted(record, given)})
    level = _named(accuracy, ACCURACIES[v.dtype.name], "accuracy")
    options = Options(record.rule or chosen, level._replace(line=float(line_tolerance)))
    return (record, options), (*coefficients, W, v)


def _case(choice: Choice, *arrays: Array) -> Case:
    """The impact in scaled units, with a harmless stand-in where it is not valid or not approaching."""
    mu, e, static, e_t, mixing, W, v = arrays
    valid = _valid(*arrays)
    approaching = valid & (v[..., 2] < 0)
    # Harmless stand-ins, so that a bad lane causes no nan, not even in a derivative.
    W = where(approaching[..., None, None], W, jnp.eye(3, dtype=W.dtype))
    x, y, z = (where(approaching, a, instead) for a, instead in zip(_columns(v), (0, 0, -1), strict=True))
    mu, e, static, e_t, mixing = (where(approaching, a, 0.5) for a in (mu, e, static, e_t, mixing))
    # Greater friction changes the result by less than round-off, and its square would overflow.
    most = float(jnp.finfo(mu.dtype).eps) ** -2
    mu, static = jnp.minimum(mu, most), jnp.minimum(static, most)
    # Results do not depend on the units, so the units need no derivative.
    speed, inverse_mass = stop_gradient(jnp.abs(z)), stop_gradient(W[..., 2, 2])
    bxx, bxy, byy, dx, dy, w = (a / inverse_mass for a in constants_of(W, mu)[:-1])
    contact = Constants(bxx, bxy, byy, dx, dy, w, mu)
    # Slip and e below eps^2 count as zero, but keep their derivatives.
    tiny = float(jnp.finfo(v.dtype).eps) ** 2
    vanished = lambda a, small: where(small, a - stop_gradient(a), a)  # noqa: E731
    x, y, z = x / speed, y / speed, z / speed
    still = jnp.maximum(jnp.abs(x), jnp.abs(y)) < tiny
    given = Given(contact, vanished(x, still), vanished(y, still), z, vanished(e, e < tiny), static, e_t, mixing)
    law, options = choice
    return Case(given, options, law, v, valid, approaching, speed, speed / inverse_mass)


def report(case: Case, answer: Answer) -> Impact:
    """The answer in the user's units, with its outcome."""
    slack = case.options.accuracy.trusted
    good = answer.finished & plausible(answer.ix, answer.iy, answer.p, answer.v, case.given.static, slack)
    outcome = where(answer.inside, where(good, Outcome.OK, Outcome.UNFINISHED), Outcome.OUTSIDE)
    outcome = where(case.valid, where(case.approaching, outcome, Outcome.SEPARATING), Outcome.INVALID)
    outcome = outcome.astype(jnp.int32)
    usable = case.valid & (answer.inside | ~case.approaching)

    def lanes(parts: tuple[Scalar, ...], unit: Scalar, instead: Vector3) -> Vector3:
        vector = jnp.stack([a * unit for a in parts], -1)
        return where(usable[..., None], where(case.approaching[..., None], vector, instead), jnp.nan)

    info = answer.info._asdict()
    for name, value in info.items():
        if name not in COUNTS:
            value = value * (case.work_unit if name in WORKS else case.impulse_unit)
        info[name] = _masked(value, name, usable, case.approaching)
    return Impact(
        lanes((answer.ix, answer.iy, answer.p), case.impulse_unit, jnp.zeros_like(case.velocity)),
        lanes((answer.x, answer.y, answer.v), case.velocity_unit, case.velocity),
        outcome,
        ImpactInfo(**info),
    )


def _masked(a: Array, name: str, usable: Flag, approaching: Flag) -> Array:
    """Separating lanes: sums and compressions 0, events nan, mode -1. Lanes without an answer: all nan or -1."""
    bad = jnp.nan if name not in COUNTS else -1
    none = bad if name in WITHOUT_ZERO else 0
    return where(usable, where(approaching, a, none), bad)


def _wanted(law: Law, given: dict[str, ArrayLike | None]) -> dict[str, ArrayLike]:
    """The coefficients that only some laws have; 0 if this law does not."""
    values: dict[str, ArrayLike] = {}
    for name in EXTRA:
        value = given.get(name)
        if name in law.parameters and value is None:
            raise ValueError(f"law={law.name!r} needs {name}; pass {name}= a number {EXTRA[name]}")
        if name not in law.parameters and value is not None:
            takers = " or ".join(repr(other.name) for other in LAWS.values() if name in other.parameters)
            raise ValueError(
                f"{name} is not a parameter of law={law.name!r}; leave it out, or pass law= one of {takers}"
            )
        values[name] = 0.0 if value is None else value
    return values


def check_followed(law: str, caller: str) -> None:
    """Raise ValueError unless the law follows the slip."""
    if _named(law, LAWS, "law").rule is None:
        followed = ", ".join(repr(name) for name, record in LAWS.items() if record.rule)
        raise ValueError(f"law={law!r} does not follow the slip, and {caller} does; pass one of {followed}")


def _named(name: str, table: dict[str, T], argument: str) -> T:
    check_name(name, table, argument)
    return table[name]


def _arrays(given: dict[str, ArrayLike]) -> tuple[Array, ...]:
    """Arrays of one floating dtype and one batch shape; an error says what to pass."""
    tails = {name: TAILS.get(name, ()) for name in given}
    whole = broadcast({name: (a, tails[name]) for name, a in given.items()})
    # Add a zero that is sharded like the batch, so that broadcast scalars are sharded like the arrays.
    zeros = [jnp.zeros_like(a[(..., *(0,) * len(tails[name]))]) for name, a in whole.items()]
    zero = sum(zeros[1:], zeros[0])
    return tuple(a + zero[(..., *(None,) * len(tails[name]))] for name, a in whole.items())


def _columns(vector: Vector3) -> list[Scalar]:
    return [vector[..., i] for i in range(3)]


def _valid(mu: Scalar, e: Scalar, static: Scalar, e_t: Scalar, mixing: Scalar, W: Matrix3, v: Vector3) -> Flag:
    """Whether all numbers are finite, W is symmetric positive definite, and coefficients are in range."""
    x, y, z = _columns(v)
    normal = W[..., 2, 2]
    W = W / where(normal > 0, normal, 1)[..., None, None]  # so that no determinant over- or underflows
    entries = jnp.max(jnp.abs(W), (-1, -2))
    symmetric = jnp.max(jnp.abs(W - jnp.swapaxes(W, -1, -2)), (-1, -2)) <= ASYMMETRY * entries
    xx, b, yy, dx, dy, zz, _ = constants_of(W, mu)
    det = xx * yy - b * b
    schur = zz * det - (yy * dx * dx - 2 * b * dx * dy + xx * dy * dy)
    # Each determinant must be above round-off, relative to its terms.
    least = SINGULAR * jnp.finfo(mu.dtype).eps
    definite = (xx > 0) & (yy > 0) & (normal > 0) & (divide(det, xx * yy) > least) & (divide(schur, zz * det) > least)
    finite = jnp.isfinite(entries) & jnp.isfinite(x) & jnp.isfinite(y) & jnp.isfinite(z)
    finite &= jnp.isfinite(mu) & jnp.isfinite(static)
    # If slip is above |z| / eps^2, the normal velocity is lost to round-off.
    lost = (z < 0) & (jnp.maximum(jnp.abs(x), jnp.abs(y)) * jnp.finfo(mu.dtype).eps ** 2 > -z)
    ranges = (mu >= 0) & (e >= 0) & (e <= 1) & (static >= mu) & (jnp.abs(e_t) <= 1) & (mixing >= 0) & (mixing <= 1)
    return finite & symmetric & definite & ~lost & ranges
