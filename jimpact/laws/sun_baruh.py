"""Sun & Baruh's law: two phases, each with one direction of friction, which follows from the phase without friction.

Source: Sun & Baruh 2022, sections 3 and 4. Equations (60)-(65) need corrections: (36), (46)-(48), (50) and (51) are
used instead. Assumptions: friction of a phase (compression, restitution) opposes the slip with which the phase would
end without friction. A phase in which sliding ends is split there, and continues with stick if |B^-1 d| <= static
friction, else with sliding in the direction of a frictionless impact. "Sliding ends" means zero slip with |tangential
impulse| = mu x normal impulse in any direction. Restitution ends by the rule of Poisson or of Stronge. The law is exact
in the plane. In space it is an approximation of `poisson` and `stronge`, and can gain energy, because the friction of a
phase may push along the slip.

Domain: impacts in which each phase ends, and the bodies do not approach after; others are OUTSIDE. `info.mode` is the
case 0..6.

Letters:

* t: tangential impulse per normal impulse of a piece
* k: dv/dp on a piece
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jimpact.laws.base import Answer, Given, Law, Options, answer, mode_of
from jimpact.numerics import divide, largest, norm, sqrt
from jimpact.slip.flow import Constants, moved, solve_b
from jimpact.slip.restitution import Ledger, Slopes, StopRule, book, change_phase, open_ledger
from jimpact.slip.stick import sticks
from jimpact.types import Flag, Scalar

__all__ = ["LAW"]


class At(NamedTuple):
    """State of the impact: tangential impulse, velocity, and the ledger of the normal impulse."""

    ix: Scalar
    iy: Scalar
    x: Scalar
    y: Scalar
    v: Scalar
    ledger: Ledger


def impulse(given: Given, options: Options) -> Answer:
    """Compression, then restitution, each in one piece or two."""
    contact, v, rule = given.contact, given.v, options.rule
    started = (given.x != 0) | (given.y != 0)
    stick = sticks(contact, given.static)
    # The value is zero; the derivative is that of an impulse that stops a small slip.
    hx, hy = (jnp.where(~started & stick, a, 0) for a in solve_b(contact, -given.x, -given.y))
    start = At(hx, hy, given.x, given.y, v + contact.dx * hx + contact.dy * hy, open_ledger(v))

    at, halts, slip_end, ends = _compression(contact, start, started, stick)
    at, halts_later, late_end, reached = _restitution(given, rule, at, halts | ~started, stick)
    inside = ends & reached & (at.v >= 0)
    mode = mode_of(started, halts | halts_later, halts, stick)
    return answer(
        given,
        at.ix,
        at.iy,
        at.ledger.impulse,
        inside,
        inside,
        compression_impulse=at.ledger.compression_impulse,
        compression_work=at.ledger.compression_work,
        restitution_work=at.ledger.restitution_work,
        compression_end=at.ledger.first_end,
        slip_end=jnp.where(halts_later, late_end, slip_end),
        compressions=jnp.ones_like(mode),
        mode=mode,
    )


def _compression(contact: Constants, start: At, started: Flag, stick: Flag) -> tuple[At, Flag, Scalar, Flag]:
    """The end of compression; whether slip stops before it and at which normal impulse; whether compression ends."""
    zero = jnp.zeros_like(start.v)
    halt, stops = _sliding_ends(contact, start, started)
    halts = stops & (halt.v < 0)
    at = _choose(halts, halt, start)
    t = _friction(contact, at, -start.v / contact.w, halts | ~started, stick)
    k = contact.w + contact.dx * t[0] + contact.dy * t[1]
    ends = k > 0
    at = _moved(contact, at, t, jnp.where(ends, -at.v / jnp.where(ends, k, 1), 1))
    at = at._replace(v=zero, ledger=change_phase(at.ledger, jnp.ones_like(ends), zero, jnp.ones_like(k), zero))
    return at, halts, jnp.where(halts, halt.ledger.impulse, jnp.nan), ends


def _restitution(given: Given, rule: StopRule, at: At, rested: Flag, stick: Flag) -> tuple[At, Flag, Scalar, Flag]:
    """The end; whether slip stops in restitution and at which normal impulse; whether the end is reached."""
    contact, e, zero = given.contact, given.e, jnp.zeros_like(at.v)
    missing = lambda at: rule.missing(at.ledger, at.v, given.v, e)  # noqa: E731
    halt, stops = _sliding_ends(contact, at, ~rested)
    halts = stops & (missing(halt) > 0)
    frictionless = rule.distance(missing(at), at.v, Slopes(contact.w, zero, zero), at.ledger, e)
    first = _friction(contact, at, frictionless, rested & stick, stick)
    second = _friction(contact, at, frictionless, halts, stick)
    at = _choose(halts, halt, at)
    t = tuple(jnp.where(halts, b, a) for a, b in zip(first, second, strict=True))
    k = contact.w + contact.dx * t[0] + contact.dy * t[1]
    p = rule.distance(missing(at), at.v, Slopes(k, zero, zero), at.ledger, e)
    reached = jnp.isfinite(p)
    return _moved(contact, at, t, jnp.where(reached, p, 1)), halts, halt.ledger.impulse, reached


def _sliding_ends(contact: Constants, at: At, slides: Flag) -> tuple[At, Flag]:
    """The state with zero slip and |tangential impulse| = mu x normal impulse; whether it exists, in lanes that slide.

    With b = B^-1 gamma and u = B^-1 d the condition is |b + u p| = mu p; the smallest p > 0 is taken.
    """
    bx, by = solve_b(contact, at.x, at.y)
    ux, uy = solve_b(contact, contact.dx, contact.dy)
    b_unit, u_unit = largest(bx, by), largest(ux, uy, contact.mu)
    bx, by, ux, uy, mu = bx / b_unit, by / b_unit, ux / u_unit, uy / u_unit, contact.mu / u_unit
    square, half, rest = ux * ux + uy * uy - mu * mu, bx * ux + by * uy, bx * bx + by * by
    inner = half * half - square * rest
    root = sqrt(inner)
    # Two forms of the same root: each lane uses the one without cancellation, if its denominator is positive.
    top, bottom = jnp.where(half < 0, rest, half + root), jnp.where(half < 0, root - half, -square)
    possible = slides & (inner >= 0) & (rest > 0) & (bottom > 0)
    p = jnp.where(possible, top / jnp.where(possible, bottom, 1), 0)
    per = tuple(jnp.where(possible, -(u + b / jnp.where(possible, p, 1)), 0) for b, u in ((bx, ux), (by, uy)))
    there = _moved(contact, at, tuple(u_unit * t for t in per), p * (b_unit / u_unit))
    return there._replace(x=jnp.zeros_like(p), y=jnp.zeros_like(p)), possible


def _friction(contact: Constants, at: At, frictionless: Scalar, rested: Flag, stick: Flag) -> tuple[Scalar, ...]:
    """Tangential impulse per normal impulse: that of stick, or against the slip after a frictionless phase.

    If slip was zero (`rested`), a frictionless phase slides along d.
    """
    ux, uy = solve_b(contact, contact.dx, contact.dy)
    fx = jnp.where(rested, contact.dx, at.x + contact.dx * frictionless)
    fy = jnp.where(rested, contact.dy, at.y + contact.dy * frictionless)
    size, sticks = largest(fx, fy), rested & stick
    fx, fy = fx / size, fy / size
    r = norm(fx, fy)
    return (
        jnp.where(sticks, -ux, -contact.mu * divide(fx, r)),
        jnp.where(sticks, -uy, -contact.mu * divide(fy, r)),
    )


def _moved(contact: Constants, at: At, t: tuple[Scalar, ...], p: Scalar) -> At:
    """The state after the normal impulse p with the tangential impulse t p, on a straight piece."""
    ix, iy = t[0] * p, t[1] * p
    x, y, v = moved(contact, at.x, at.y, at.v, ix, iy, p)
    return At(at.ix + ix, at.iy + iy, x, y, v, book(at.ledger, p, 0.5 * (at.v + v) * p))


def _choose(flag: Flag, one: At, other: At) -> At:
    return jax.tree.map(lambda a, b: jnp.where(flag, a, b), one, other)


LAW = Law(
    name="sun_baruh",
    function=impulse,
    reference="Sun & Baruh 2022, sections 3 and 4",
    parameters=("friction", "restitution"),
    may_gain_energy=True,
    rules=("poisson", "stronge"),
    domain="impacts in which compression and restitution end, and the bodies do not approach afterwards",
)
