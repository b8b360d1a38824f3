"""Impacts in a plane, in closed form: straight pieces, no iteration.

In the plane slip has two directions, both invariant, so an impact is at most two straight pieces: slip to zero, and
stick or slip from there (Wang & Mason 1992; Baber 2011, section 5; Morgan). On each the normal velocity is linear
and the work quadratic in the normal impulse, for every stop rule, with static friction, jamming and several
compressions: every step of `slip.step` is exact and ends at an event.

Axis 0 is tangential, axis 1 the normal from body b into body a.

| symbol     | meaning                                                         | unit |
|------------|-----------------------------------------------------------------|------|
| K          | inverse inertia ((K11, K12), (K12, K22)), as W in space         | 1/kg |
| R1, R2, R3 | Sun & Baruh's ratios: limits of slip / approach speed, and of friction | 1 |
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from jimpact.impact import check_followed, prepare, report
from jimpact.laws.darboux_keller import answer_of, given_lane
from jimpact.slip.integrate import follow
from jimpact.state import Impact
from jimpact.types import Array, ArrayLike, Scalar, Whole
from jimpact.validation import floating

PIECES = 8  # slip in compression and restitution, to zero, and likewise from there; with further compressions

__all__ = ["PlanarModes", "in_space", "planar_modes", "solve_planar"]


class PlanarModes(NamedTuple):
    """Sun & Baruh's case 0..6 (-1: not approaching, or not valid), and the ratios that decide it."""

    mode: Whole
    slides_through_compression: Scalar  # R1: a greater slip / approach speed does
    friction_needed: Scalar  # R2: to stick; less than 0 if the normal impulse drives slip on
    slides_through: Scalar  # R3: a greater slip / approach speed slides to the end


def solve_planar(
    inverse_inertia: Float[ArrayLike, "... 2 2"],
    velocity: Float[ArrayLike, "... 2"],
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    *,
    law: str = "stronge",
    static_friction: Float[ArrayLike, "..."] | None = None,
) -> Impact:
    """Solve planar impacts by a formula; arguments and result as in `solve`, with vectors (tangential, normal)."""
    K, v = floating("inverse_inertia", inverse_inertia, (2, 2)), floating("velocity", velocity, (2,))
    check_followed(law, "solve_planar")
    case = prepare(*in_space(K, v), friction, restitution, static_friction, law, "standard", 0.01)
    lane, options = given_lane(case.given), case.options
    end = follow(lane, options.rule, options.accuracy._replace(steps=PIECES))
    impact = report(case, answer_of(case.given, lane, end, options))
    axes = jnp.array([0, 2])
    return impact._replace(impulse=impact.impulse[..., axes], velocity=impact.velocity[..., axes])


def planar_modes(
    inverse_inertia: Float[ArrayLike, "... 2 2"],
    velocity: Float[ArrayLike, "... 2"],
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    *,
    static_friction: Float[ArrayLike, "..."] | None = None,
) -> PlanarModes:
    """Which of Sun & Baruh's cases an impact is, without solving it: their Table 2, for Poisson's rule.

    For a rod of mass m, length 2 L and inertia alpha m L^2 that leans by theta, K11 = (1 + cos^2 / alpha) / m,
    K22 = (1 + sin^2 / alpha) / m, |K12| = sin cos / (alpha m). Their print of R2 lacks a cosine, and compares it with 1
    where static friction belongs.
    """
    K, v = floating("inverse_inertia", inverse_inertia, (2, 2)), floating("velocity", velocity, (2,))
    case = prepare(*in_space(K, v), friction, restitution, static_friction, "poisson", "standard", 0.01)
    plane, given = case.given.plane, case.given
    slip, approach = jnp.abs(given.x), -given.v
    d = plane.dx * jnp.where(given.x < 0, -1, 1)  # coupling, with slip taken as positive
    ending, rising = plane.mu * plane.bxx - d, plane.w - plane.mu * d
    # Slip ends at p = slip / ending; compression would end at approach / rising, or never.
    first = jnp.where(ending > 0, jnp.where(rising > 0, ending / jnp.where(rising > 0, rising, 1), jnp.inf), -jnp.inf)
    last, needed = (1 + given.e) * first, -d / plane.bxx
    stick = jnp.abs(needed) <= given.static
    ratio = slip / approach
    ended = jnp.where(ratio < first, 1, 3) + jnp.where(stick, 0, 1)
    mode = jnp.where(slip > 0, jnp.where(ratio < last, ended, 0), jnp.where(stick, 5, 6))
    nan = lambda a: jnp.where(case.approaching, a, jnp.nan)  # noqa: E731
    return PlanarModes(jnp.where(case.approaching, mode, -1).astype(jnp.int32), nan(first), nan(needed), nan(last))


def in_space(K: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """The plane in space: a second tangential direction that nothing couples to."""
    K, v = jnp.asarray(K), jnp.asarray(v)
    a, zero = K[..., 0, 0], jnp.zeros_like(K[..., 0, 0])
    rows = ((a, zero, K[..., 0, 1]), (zero, a, zero), (K[..., 1, 0], zero, K[..., 1, 1]))
    W = jnp.stack([jnp.stack(row, -1) for row in rows], -2)
    return W, jnp.stack([v[..., 0], jnp.zeros_like(v[..., 0]), v[..., 1]], -1)
