"""Impacts in a plane: at most 8 steps, each of which is exact.

In the plane slip has two directions, both invariant, so an impact has at most two straight pieces: slip to zero, and
stick or slip from there (Wang & Mason 1992; Baber 2011, section 5; Morgan). On each piece the normal velocity is linear
and the work quadratic in the normal impulse. This holds for every stop rule, with static friction, jamming and several
compressions. So every step of `slip.step` is exact and ends at an event.

Axis 0 is tangential, axis 1 the normal from body b into body a.

| symbol     | meaning                                                         | unit |
|------------|-----------------------------------------------------------------|------|
| K          | inverse inertia ((K11, K12), (K12, K22)), as W in space         | 1/kg |
| R1, R2, R3 | Sun & Baruh's ratios: limits of slip / approach speed, and of friction | 1 |
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from jimpact.contact.inertia import in_space
from jimpact.impact import Case, check_followed, prepare, report
from jimpact.laws.base import mode_of
from jimpact.laws.darboux_keller import answer_of, given_lane
from jimpact.outcome import Impact
from jimpact.slip.batch_scan import follow
from jimpact.types import ArrayLike, Scalar, Whole
from jimpact.validation import floating

PIECES = 8  # steps: slip to zero and motion from there, each with its compressions and restitutions

__all__ = ["PlanarModes", "planar_modes", "solve_planar"]


class PlanarModes(NamedTuple):
    """Sun & Baruh's case 0..6 (-1: not approaching, or not valid), and the ratios that decide it."""

    mode: Whole
    slides_through_compression: Scalar  # R1: a greater slip / approach speed slides to the end of compression
    friction_needed: Scalar  # R2: least friction for stick; below 0 if the normal impulse accelerates slip
    slides_through: Scalar  # R3: a greater slip / approach speed slides to the end of the impact


def solve_planar(
    inverse_inertia: Float[ArrayLike, "... 2 2"],
    velocity: Float[ArrayLike, "... 2"],
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    *,
    law: str = "stronge",
    static_friction: Float[ArrayLike, "..."] | None = None,
) -> Impact:
    """Solve planar impacts exactly; arguments and result as in `solve`, with vectors (tangential, normal)."""
    check_followed(law, "solve_planar")
    case = _prepared(inverse_inertia, velocity, friction, restitution, static_friction, law)
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
    """Sun & Baruh's case of an impact, without solving it: their Table 2, for Poisson's rule.

    For a rod of mass m, length 2 L and inertia alpha m L^2 that leans by theta, K11 = (1 + cos^2 / alpha) / m,
    K22 = (1 + sin^2 / alpha) / m, |K12| = sin cos / (alpha m). In their print R2 lacks a cosine, and is compared with 1
    instead of static friction.
    """
    case = _prepared(inverse_inertia, velocity, friction, restitution, static_friction, "poisson")
    contact, given = case.given.contact, case.given
    slip, approach = jnp.abs(given.x), -given.v
    d = contact.dx * jnp.where(given.x < 0, -1, 1)  # coupling, with slip taken as positive
    ending, rising = contact.mu * contact.bxx - d, contact.w - contact.mu * d
    # Slip ends at p = slip / ending; compression would end at approach / rising, or never.
    first = jnp.where(ending > 0, jnp.where(rising > 0, ending / jnp.where(rising > 0, rising, 1), jnp.inf), -jnp.inf)
    last, needed = (1 + given.e) * first, -d / contact.bxx
    stick = jnp.abs(needed) <= given.static
    ratio = slip / approach
    mode = mode_of(slip > 0, ratio < last, ratio < first, stick)
    nan = lambda a: jnp.where(case.approaching, a, jnp.nan)  # noqa: E731
    return PlanarModes(jnp.where(case.approaching, mode, -1), nan(first), nan(needed), nan(last))


def _prepared(
    inverse_inertia: ArrayLike,
    velocity: ArrayLike,
    friction: ArrayLike,
    restitution: ArrayLike,
    static_friction: ArrayLike | None,
    law: str,
) -> Case:
    K, v = floating("inverse_inertia", inverse_inertia, (2, 2)), floating("velocity", velocity, (2,))
    W, v = in_space(K, v)
    return prepare(
        law=law,
        inverse_inertia=W,
        velocity=v,
        friction=friction,
        restitution=restitution,
        static_friction=static_friction,
    )
