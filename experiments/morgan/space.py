"""Chapter 4: impacts in space, by numerical integration as the chapter proposes, against jimpact; sticking."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, directions_many, only, solve_many, trace_many

from .crowd import Crowd, with_tips
from .drawing import space_figure
from .forms import TEXTS, SpaceForm
from .swivel import TOLERANCE, Integrated, by_geometry, held_by, integrate

INTEGRATED = 1e-7  # of the speeds before: solve at standard accuracy
ZERO = 1e-12  # of the velocity before: no slip
ALGEBRA = 1e-12  # of the largest entry of J M^-1 J^T
SPREAD, APPROACH = 0.7, 1.0  # m/s, of random impacts: standard deviation of each tangential velocity
SLIP = 0.05  # m/s, of starts along the invariant direction to zero slip: it is soon over


def run(form: SpaceForm, progress: LabelledProgress) -> Result:
    crowd = _impacts(form)
    given = (crowd.K, crowd.v, crowd.friction, crowd.restitution)
    found = solve_many(*given, progress=progress)
    ways = [integrate(*row) for row in zip(*crowd[:5], strict=True)]
    after = crowd.u + np.einsum("nij,nj->ni", crowd.L, found.impulse)
    gaps = np.abs(after - np.array([way.u for way in ways])).max(-1) / np.linalg.norm(crowd.u, axis=-1)
    gaps[[not way.followed for way in ways]] = np.nan  # the chapter has no answer
    once = np.asarray(found.info.compressions) == 1
    told = gaps[once & np.isfinite(gaps)]
    words = {"largest": told.max(), "median": np.median(told), "count": len(told), "again": (~once).sum()}
    findings = {
        "M-4.9": claimed(told.max() < INTEGRATED, **words, tolerance=TOLERANCE),
        **_sticking(crowd, found, ways, progress),
        "M-fig4.1": only(),
    }
    labels = [f"{impact.name}, friction {impact.friction:g}" for impact in form.impact]
    picture = space_figure(trace_many(*(a[: len(labels)] for a in given)), labels)
    events, rows = jimpact.event_sequence(found), []
    for i, impact in enumerate(form.impact):
        impulse = "({:.6f}, {:.6f}, {:.6f})".format(*found.impulse[i])
        gap = f"{gaps[i]:.0e}" if np.isfinite(gaps[i]) else ""
        rows.append((impact.name, str(events[i]), "yes" if ways[i].sticks else "no", impulse, gap))
    return Result(findings, [picture], [TEXTS.grid("space", rows)])


def _impacts(form: SpaceForm) -> Crowd:
    """The configured impacts, then the random ones, all at one posture."""
    posture = np.deg2rad([0.0, *form.angles_deg])
    M, tip = (np.asarray(a) for a in jax.jit(by_geometry)(form.pendulum.pendulum(), posture))
    frame = jimpact.contact_frame(jnp.asarray(form.normal) / np.linalg.norm(form.normal))
    rng, sample, given = np.random.default_rng(form.sample.seed), form.sample, form.impact
    slip = rng.normal(scale=SPREAD, size=(sample.count, 2))
    velocities = [*(i.tip_velocity for i in given), *((*s, -APPROACH) for s in slip)]
    mu = [*(i.friction for i in given), *rng.uniform(*sample.friction, sample.count)]
    e = [*(i.restitution for i in given), *rng.uniform(*sample.restitution, sample.count)]
    return with_tips(M, np.asarray(frame) @ tip, velocities, mu, e)


def _sticking(crowd: Crowd, found: Any, ways: list[Integrated], progress: LabelledProgress) -> dict[str, Computed]:
    J, L = crowd.J[0], crowd.L[0]
    m = held_by(J, L)
    held, size = np.linalg.norm(m), np.abs(crowd.K).max()
    change = [np.abs(J[:2] @ (L[:, 2] - sign * L[:, :2] @ m)).max() / size for sign in (-1, 1)]  # m is -f_t / f_n here
    ends = np.isfinite(found.info.slip_end)
    stuck = ends & (np.linalg.norm(found.velocity[:, :2], axis=-1) <= ZERO * np.linalg.norm(crowd.v, axis=-1))
    same = int((stuck == [way.sticks for way in ways]).sum())
    fits = (stuck == (ends & (held <= crowd.friction))).all() and same == len(ways)

    # Zero slip that cannot stick is reached only along an invariant direction, and left along another.
    loose = crowd.friction < held
    directions, rates = directions_many(crowd.K, crowd.friction)
    best = [np.nan_to_num(sign * rates, nan=-np.inf).argmax(-1) for sign in (-1, 1)]
    towards, leaves = (directions[np.arange(len(loose)), index] for index in best)
    start = np.column_stack([SLIP * towards, np.full(len(loose), -APPROACH)])
    after = solve_many(crowd.K, start, crowd.friction, crowd.restitution, progress=progress).velocity[:, :2]
    through = loose & (np.linalg.norm(after - SLIP * towards, axis=-1) > SLIP)
    way = after[through] / np.linalg.norm(after[through], axis=-1, keepdims=True)
    words = {"loose": loose.sum(), "through": through.sum(), "apart": np.abs(way - leaves[through]).max(initial=0.0)}
    return {
        "M-4.13-anew": only(reached=(loose & ends).sum(), **words),
        "M-4.12": claimed(change[0] < ALGEBRA, minus=change[0], plus=change[1]),
        "M-4.13": claimed(fits, stuck=stuck.sum(), count=len(ways), ends=ends.sum(), held=held, same=same),
    }
