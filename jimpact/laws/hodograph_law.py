"""The laws that follow the slip: Darboux-Keller flow with Coulomb friction, ended by a stop rule.

Source: Keller 1986; Jia & Wang (sections 2-5); Baber 2011 for several compressions. Assumptions: rigid bodies,
one point of contact, Coulomb friction at every instant, no tangential compliance. Domain: any symmetric
positive definite inverse inertia, any approach velocity, friction >= 0, static friction >= friction,
restitution in [0, 1].
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient

from jimpact.closure import End, close
from jimpact.hodograph import Accuracy, Lane, Slide, Steps, lane_of, series_at, slide, velocity
from jimpact.numerics import horner, norm, own_kernel, root_in
from jimpact.rays import plane_of, turn_ahead
from jimpact.restitution import StopRule
from jimpact.types import Matrix3, Scalar, Vector3

__all__ = ["Solution", "Units", "follow", "line_start", "unfold"]


NOISY = 1e3  # x sqrt(epsilon): slip that fell this far in its last step may have lost its direction


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
    steps: Steps
    last: Slide  # where the steps ended


def follow(
    inverse_inertia: Matrix3,
    velocity_before: Vector3,
    friction: Scalar,
    restitution: Scalar,
    static_friction: Scalar,
    rule: StopRule,
    accuracy: Accuracy,
) -> Solution:
    """Follow the slip of every lane to the end. Lanes must be valid and approaching.

    Scales are constants to the derivative: the impulse is homogeneous, so the result does not depend on them.
    """
    speed = stop_gradient(jnp.abs(velocity_before[..., 2]))
    inverse_mass = stop_gradient(inverse_inertia[..., 2, 2])
    plane = plane_of(inverse_inertia / inverse_mass[..., None, None], friction)
    v = velocity_before / speed[..., None]
    lane = lane_of(plane, v[..., 0], v[..., 1], v[..., 2], restitution)
    last, steps = slide(lane, rule, accuracy)
    finish = lambda lane, last, static: close(lane, last, static, rule)  # noqa: E731
    end = own_kernel(last.taken >= 0, finish, lane, last, static_friction)
    return Solution(end, Units(speed, speed / inverse_mass), lane, steps, last)


def unfold(solution: Solution) -> tuple[Vector3, Vector3]:
    """Impulse and velocity after, in the user's units."""
    end, units = solution.end, solution.units
    impulse = [c * units.impulse for c in (end.ix, end.iy, end.books.impulse)]
    after = [c * units.velocity for c in (end.x, end.y, end.v)]
    return jnp.stack(impulse, -1), jnp.stack(after, -1)


def line_start(solution: Solution, tolerance: float, order: int) -> Scalar:
    """Normal impulse (scaled) from which the direction of slip stays within `tolerance` of its invariant one.

    An invariant direction is reached only asymptotically, except by starting on it, so the moment is a matter of
    tolerance. nan where slip never comes that close to one. Carries no derivative.
    """
    lane, last, steps = stop_gradient((solution.lane, solution.last, solution.steps))
    bx, by, _ = velocity(lane, steps.before)
    stepping = ~steps.before.resting
    x, y, _ = velocity(lane, last)
    active = jnp.maximum(stepping.sum(0) - 1, 0)[None]
    px, py = jnp.take_along_axis(bx, active, 0)[0], jnp.take_along_axis(by, active, 0)[0]
    noisy = norm(x, y) < NOISY * jnp.finfo(x.dtype).eps ** 0.5 * norm(px, py)  # slip is over: direction lost
    x, y = jnp.where(noisy, px, x), jnp.where(noisy, py, y)
    r = jnp.where((x != 0) | (y != 0), norm(x, y), 1)
    turn = turn_ahead(lane.plane, x / r, y / r)
    ex, ey = (x - turn * y) / r, (y + turn * x) / r
    found = ((lane.x0 != 0) | (lane.y0 != 0)) & (jnp.abs(turn) <= tolerance)

    off = jnp.arctan2(ex * by - ey * bx, ex * bx + ey * by)  # angle past the invariant one, before each step
    outside = stepping & (jnp.abs(off) > tolerance)
    from_start = ~outside.any(0)
    crossing = jnp.where(from_start, 0, outside.shape[0] - 1 - jnp.argmax(outside[::-1], axis=0))
    pick = lambda a: jnp.take_along_axis(a, crossing[None], 0)[0] if a.ndim > crossing.ndim else a[0]  # noqa: E731
    at, length, side = jax.tree.map(pick, steps.before), pick(steps.length), jnp.sign(pick(off))

    angle = side * tolerance
    cx, cy = ex * jnp.cos(angle) - ey * jnp.sin(angle), ey * jnp.cos(angle) + ex * jnp.sin(angle)
    series, _ = series_at(lane, at, order)
    nearing = [side * (cy * a - cx * b) for a, b in zip(series.X, series.Y, strict=True)]
    t = root_in(nearing, length, 0.5 * length, 1e-6 * tolerance * series.R[0], 12)
    inside = at.books.impulse + horner(series.P, t)
    return jnp.where(found, jnp.where(from_start, 0, inside), jnp.nan)
