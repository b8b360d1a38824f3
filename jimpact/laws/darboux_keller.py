"""The laws that follow the slip: Darboux-Keller flow with Coulomb friction, ended by a stop rule.

Sources: Keller 1986; Jia & Wang (sections 2-5); Baber 2011 for several compressions. Assumptions: rigid bodies,
one point of contact, Coulomb friction at every instant, no tangential compliance. Domain: any symmetric
positive definite inverse inertia, any approach velocity, friction >= 0, static friction >= friction,
restitution in [0, 1].

* stronge: restitution ends at work = e^2 x |work of compression| (Stronge 1990). It never gains energy.
* poisson: restitution ends at impulse = e x impulse of compression (Poisson 1817, Routh 1897); with several
  compressions both are sums over all phases. It does not gain kinetic energy (Ivanov 1992), though the normal force may
  do more work in restitution than it stored in compression.
* newton: restitution ends at normal velocity = -e x normal velocity before (Newton 1687; Whittaker 1904 for its use
  with friction). It can gain kinetic energy with friction; the ledger in `ImpactInfo` shows the gain. It gives no
  rebound for a grazing start.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jimpact.laws.base import Answer, Given, Law, Options, answer, mode_of
from jimpact.numerics import where
from jimpact.slip.batch_scan import follow
from jimpact.slip.events import line_start
from jimpact.slip.restitution import RULES
from jimpact.slip.state import Lane, Stage, State, lane_of
from jimpact.types import Scalar

__all__ = ["NEWTON", "POISSON", "STRONGE", "Events", "answer_of", "darboux_keller", "events_of", "given_lane"]


class Events(NamedTuple):
    """Normal impulse at each event; nan if the event did not happen."""

    compression_end: Scalar
    recompression_start: Scalar
    recompression_end: Scalar
    slip_end: Scalar
    line_start: Scalar
    end: Scalar


def darboux_keller(given: Given, options: Options) -> Answer:
    """The law with the stop rule of `options`."""
    lane = given_lane(given)
    return answer_of(given, lane, follow(lane, options.rule, options.accuracy), options)


def given_lane(given: Given) -> Lane:
    return lane_of(given.contact, given.x, given.y, given.v, given.e, given.static)


def answer_of(given: Given, lane: Lane, end: State, options: Options) -> Answer:
    """Impulse, velocity, ledger and events of a solution; one that violates its stop rule is not finished."""
    events, ledger = events_of(lane, end, options.accuracy.line)._asdict(), end.ledger
    p = events.pop("end")
    started = (lane.x0 != 0) | (lane.y0 != 0)
    # At a STOP slip is small but not zero, so that static friction alone does not hold it.
    stuck = lane.sticks & ~(lane.held & (end.stage == Stage.STOP))
    stuck = where(started, stuck, lane.sticks)
    found = answer(
        given,
        end.ix,
        end.iy,
        p,
        jnp.ones_like(lane.sticks),
        end.stage != Stage.SLIP,
        compression_impulse=ledger.compression_impulse,
        compression_work=ledger.compression_work,
        restitution_work=ledger.restitution_work,
        compressions=ledger.compressions.astype(jnp.int32),
        mode=mode_of(started, ~jnp.isnan(end.zero_at), end.compressing_at_zero, stuck),
        **events,
    )
    works = ledger.compression_work + ledger.restitution_work
    info = found.info._replace(friction_work=found.info.kinetic_energy_change - works)
    trusted = options.accuracy.trusted
    kept = jnp.abs(options.rule.missing(ledger, end.v, lane.v0, lane.e)) <= trusted * (1 + p - ledger.compression_work)
    no_slip = lane.sticks & (end.stage == Stage.ZERO)
    x, y = where(no_slip, 0, found.x), where(no_slip, 0, found.y)
    return found._replace(x=x, y=y, finished=found.finished & kept, info=info)


def events_of(lane: Lane, end: State, line_tolerance: float) -> Events:
    """The events in scaled units."""
    ledger, nan = end.ledger, jnp.nan
    again = ledger.compressions > 1
    line = line_start(lane.contact, lane.rate, end.line, line_tolerance)
    return Events(
        compression_end=where(ledger.phase > 0, ledger.first_end, nan),
        recompression_start=where(again, ledger.last_start, nan),
        recompression_end=where(again, ledger.last_end, nan),
        slip_end=end.zero_at,
        line_start=where(line <= ledger.impulse, line, nan),
        end=ledger.impulse,
    )


def _law(name: str, reference: str, may_gain_energy: bool) -> Law:
    return Law(name, darboux_keller, reference, ("friction", "restitution"), may_gain_energy, rule=RULES[name])


STRONGE = _law("stronge", "Stronge 1990; Jia & Wang; Baber 2011", may_gain_energy=False)
POISSON = _law("poisson", "Routh 1897; Keller 1986; Ivanov 1992", may_gain_energy=False)
NEWTON = _law("newton", "Newton 1687", may_gain_energy=True)
