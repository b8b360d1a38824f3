"""The laws that follow the slip: Darboux-Keller flow with Coulomb friction, ended by a stop rule.

Source: Keller 1986; Jia & Wang (sections 2-5); Baber 2011 for several compressions. Assumptions: rigid bodies,
one point of contact, Coulomb friction at every instant, no tangential compliance. Domain: any symmetric
positive definite inverse inertia, any approach velocity, friction >= 0, static friction >= friction,
restitution in [0, 1].
"""

from typing import NamedTuple

import jax.numpy as jnp

from jimpact.closure import End
from jimpact.finish import finish
from jimpact.hodograph import Lane, Slide, lane_of
from jimpact.laws.record import Answer, Given, Options
from jimpact.mark import invariant_from, mark_of
from jimpact.numerics import where
from jimpact.replay import slide
from jimpact.state import ImpactInfo
from jimpact.types import Scalar

__all__ = ["Events", "Solution", "answer_of", "events_of", "follow", "hodograph"]


class Solution(NamedTuple):
    """A solved impact in scaled units, with what is needed to look inside."""

    end: End
    lane: Lane
    last: Slide  # where the steps ended
    line_start: Scalar


class Events(NamedTuple):
    """Normal impulse at each event; nan where it did not happen."""

    compression_end: Scalar
    recompression_start: Scalar
    recompression_end: Scalar
    slip_end: Scalar
    line_start: Scalar
    end: Scalar


def follow(given: Given, options: Options) -> Solution:
    """Follow the slip of every lane to the end."""
    lane = lane_of(given.plane, given.x, given.y, given.v, given.e)
    last, line = slide(lane, mark_of(lane, options.line_tolerance), options.rule, options.accuracy)
    end = finish(lane, last, given.static, options.rule, options.accuracy.trusted)
    line = invariant_from(lane, last, line, end.books.impulse, options.line_tolerance)
    return Solution(end, lane, last, line)


def hodograph(given: Given, options: Options) -> Answer:
    """The law with the stop rule of `options`."""
    return answer_of(follow(given, options), options)


def answer_of(solution: Solution, options: Options) -> Answer:
    """Impulse, velocity, ledger and events of a solution."""
    end, lane = solution.end, solution.lane
    books, events = end.books, events_of(solution)
    started = (lane.x0 != 0) | (lane.y0 != 0)
    case = where(end.compressing_at_zero, 1, 3) + where(end.stick, 0, 1)
    mode = where(started, where(end.reaches_zero, case, 0), where(end.stick, 5, 6))
    p = books.impulse
    info = ImpactInfo(
        compression_impulse=books.compression_impulse,
        compression_work=books.compression_work,
        restitution_work=books.restitution_work,
        friction_work=end.friction_work,
        kinetic_energy_change=0.5 * (end.ix * (lane.x0 + end.x) + end.iy * (lane.y0 + end.y) + p * (lane.v0 + end.v)),
        compression_end=events.compression_end,
        recompression_start=events.recompression_start,
        recompression_end=events.recompression_end,
        slip_end=events.slip_end,
        line_start=events.line_start,
        compressions=books.compressions.astype(jnp.int32),
        mode=mode.astype(jnp.int32),
    )
    return Answer(end.ix, end.iy, p, end.x, end.y, end.v, jnp.ones_like(end.finished), end.finished, info)


def events_of(solution: Solution) -> Events:
    """When everything happened, in scaled units."""
    end, nan = solution.end, jnp.nan
    again = end.books.compressions > 1
    return Events(
        compression_end=end.books.first_end,
        recompression_start=where(again, end.books.last_start, nan),
        recompression_end=where(again, end.books.last_end, nan),
        slip_end=where(end.reaches_zero, end.zero_at, nan),
        line_start=solution.line_start,
        end=end.books.impulse,
    )
