"""The laws that follow the slip: Darboux-Keller flow with Coulomb friction, ended by a stop rule.

Source: Keller 1986; Jia & Wang (sections 2-5); Baber 2011 for several compressions. Assumptions: rigid bodies,
one point of contact, Coulomb friction at every instant, no tangential compliance. Domain: any symmetric
positive definite inverse inertia, any approach velocity, friction >= 0, static friction >= friction,
restitution in [0, 1].
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.closure import End, close
from jimpact.hodograph import Accuracy, Lane, Slide, lane_of, line_start
from jimpact.numerics import own_kernel
from jimpact.rays import plane_of
from jimpact.restitution import StopRule
from jimpact.rounds import slide
from jimpact.types import Matrix3, Scalar, Vector3

__all__ = ["Events", "Solution", "Units", "events_of", "follow", "unfold"]


class Units(NamedTuple):
    """Scale of one impact: units in which the inverse mass and the approach speed are 1."""

    velocity: Scalar
    impulse: Scalar

    @property
    def work(self) -> Scalar:
        return self.velocity * self.impulse


class Solution(NamedTuple):
    """A solved impact in scaled units, with what is needed to look inside."""

    end: End
    units: Units
    lane: Lane
    last: Slide  # where the steps ended
    line_start: Scalar


class Events(NamedTuple):
    """Normal impulse (N s) at each event; nan where it did not happen."""

    compression_end: Scalar
    recompression_start: Scalar
    recompression_end: Scalar
    slip_end: Scalar
    line_start: Scalar
    end: Scalar


def follow(
    inverse_inertia: Matrix3,
    velocity_before: Vector3,
    friction: Scalar,
    restitution: Scalar,
    static_friction: Scalar,
    rule: StopRule,
    accuracy: Accuracy,
    line_tolerance: float,
) -> Solution:
    """Follow the slip of every lane to the end. Lanes must be valid and approaching.

    Scales are constants to the derivative: the impulse is homogeneous, so the result does not depend on them.
    """
    speed = stop_gradient(jnp.abs(velocity_before[..., 2]))
    inverse_mass = stop_gradient(inverse_inertia[..., 2, 2])
    plane = plane_of(inverse_inertia / inverse_mass[..., None, None], friction)
    x, y, v = (velocity_before[..., i] / speed for i in range(3))
    tiny = jnp.maximum(jnp.abs(x), jnp.abs(y)) < jnp.finfo(v.dtype).eps ** 2  # its square would underflow: no slip
    x, y = (jnp.where(tiny, a - stop_gradient(a), a) for a in (x, y))
    e = restitution
    e = jnp.where(e < jnp.finfo(v.dtype).eps ** 2, e - stop_gradient(e), e)  # likewise
    lane = lane_of(plane, x, y, v, e, line_tolerance)
    last = slide(lane, rule, accuracy)
    finish = lambda lane, last, static: close(lane, last, static, rule)  # noqa: E731
    end = own_kernel(last.taken >= 0, finish, lane, last, static_friction)
    line = line_start(lane, last, end.books.impulse, line_tolerance)
    return Solution(end, Units(speed, speed / inverse_mass), lane, last, line)


def unfold(solution: Solution) -> tuple[Vector3, Vector3]:
    """Impulse and velocity after, in the user's units."""
    end, units = solution.end, solution.units
    impulse = [c * units.impulse for c in (end.ix, end.iy, end.books.impulse)]
    after = [c * units.velocity for c in (end.x, end.y, end.v)]
    return jnp.stack(impulse, -1), jnp.stack(after, -1)


def events_of(solution: Solution) -> Events:
    """When everything happened, in scaled units."""
    end, nan = solution.end, jnp.nan
    again = end.books.compressions > 1
    return Events(
        compression_end=end.books.first_end,
        recompression_start=jnp.where(again, end.books.last_start, nan),
        recompression_end=jnp.where(again, end.books.last_end, nan),
        slip_end=jnp.where(end.reaches_zero, end.zero_at, nan),
        line_start=solution.line_start,
        end=end.books.impulse,
    )
