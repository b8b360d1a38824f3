"""Sections 3.4 to 3.6, 3.9, 3.11, appendix C: every impact ends, by what, and how slip turns until then.

Slip that does not stop turns one way, towards the next ray, and never comes to it.

| symbol   | meaning                                                                    | unit     |
|----------|----------------------------------------------------------------------------|----------|
| r, theta | size and direction of slip                                                 | m/s, rad |
| f, g     | r dtheta/dp_z and dr/dp_z, which depend on theta only                      | 1/kg     |
| P        | normal impulse by which theta is at theta_end, between theta_0 and the ray | N s      |
"""

from typing import Any

import numpy as np
from scipy.integrate import cumulative_trapezoid, trapezoid

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, directions_many, solve_many, trace_many
from jimpact.reproduce.bodies import heading, unit
from jimpact.schemas.config import Table

from .crowd import FAMILIES, Crowd, Impacts, Turning, matrices, polar, rate, relative, stick_ratio
from .texts import grid, spread

BALANCE = 1e-6  # of the work of compression: standard accuracy, with slip of up to 10^4 x the approach
FORMULA = 1e-6  # relative: a formula, and a path at standard accuracy
GAIN = 1e-9  # of the work of compression: more is a gain of energy
APPROACHES = (0.01, 0.1, 1.0, 10.0, 100.0)  # m/s, for a slip of 1 m/s
WAY = 0.5  # of the angle to the next ray: theta_end
LEAST_SLIP = 1e-3  # of the slip before: directions of less are not looked at
ROUND = 1e-6  # rad: round-off of directions at standard accuracy
ANGLES = 720  # at which f and g are looked at
SAME = 1e-4  # relative: impulses by trapezia
PASSED = 0.1  # rad: directions up to this far past the ray are told from those that have nearly a turn to go
STICKS = (1, 3, 5)  # `info.mode`


class Form(Table):
    """configs/baber/termination.toml"""

    matrices: Crowd
    boxes: Crowd
    stopping: Crowd  # for the formulas after zero slip
    stationary: Crowd
    newton: Crowd
    turning: Crowd


def run(form: Form, progress: LabelledProgress) -> Result:
    """Outcomes, modes, compressions and works of a large number of random impacts."""
    crowds = {name: family(getattr(form, name)) for name, family in FAMILIES.items()}
    ends = {name: solve_many(*impacts, progress=progress) for name, impacts in crowds.items()}
    computed = {}
    for name, impacts in crowds.items():
        info, n, done = ends[name].info, len(impacts.mu), (ends[name].outcome == jimpact.Outcome.OK).sum()
        compression, stuck = np.abs(info.compression_work), np.isfinite(info.slip_end)
        fit = (np.abs(info.restitution_work + impacts.e**2 * info.compression_work) / compression).max()
        gain, rests = (info.kinetic_energy_change / compression).max(), np.isin(info.mode, STICKS)
        right = (rests == (stick_ratio(impacts.K) <= impacts.mu))[stuck].sum()
        ended, words = done == n and max(fit, gain) < BALANCE, {"done": done, "n": n, "others": n - done}
        computed[f"B-ends-{name}"] = claimed(ended, fit=fit, gain=gain, **words)
        words = {"right": right, "n": stuck.sum(), "stick": rests[stuck].sum()}
        computed[f"B-sticks-{name}"] = claimed(right == stuck.sum(), **words)
    computed |= _after_zero_slip(form.stopping) | _newton(form, progress) | _converging(form.turning, progress)
    kinds: dict[str, Any] = {  # of each kind, which impacts of every crowd
        f"outcome {outcome.name}": [end.outcome == outcome for end in ends.values()] for outcome in jimpact.Outcome
    }
    kinds |= {words: [end.info.mode == mode for end in ends.values()] for mode, words in jimpact.MODES.items()}
    for count in range(1, 1 + max(end.info.compressions.max() for end in ends.values())):
        word = "compression" if count == 1 else "compressions"
        kinds[f"{count} {word}"] = [end.info.compressions == count for end in ends.values()]
    rows = [[words, *(int(one.sum()) for one in each)] for words, each in kinds.items()]
    return Result(computed, [], [grid("termination", [row for row in rows if any(row[1:])])])


def _after_zero_slip(crowd: Crowd) -> dict[str, Computed]:
    """(5), (6) and (8) on the samples after slip was zero."""
    impacts = matrices(crowd)
    path = trace_many(*impacts)
    stops = np.isfinite(path.events.slip_end)
    stable = stick_ratio(impacts.K) <= impacts.mu
    directions, growths = directions_many(impacts.K, impacts.mu)
    s = directions[np.arange(len(stable)), np.nan_to_num(growths, nan=-np.inf).argmax(-1)]
    up = np.array([0.0, 0.0, 1.0]) / np.linalg.inv(impacts.K)[:, 2, 2, None]
    k = np.where(stable[:, None], up, rate(impacts.K, impacts.mu, s))
    u = np.concatenate([path.sliding_velocity, path.normal_velocity[..., None]], -1)
    p, work, end, rows = path.normal_impulse, path.work, path.events.slip_end[:, None], np.arange(len(k))
    at = np.abs(p - np.nan_to_num(end)).argmin(-1)
    start, done = u[rows, at][:, None], work[rows, at][:, None]
    told = done + (u[..., 2] ** 2 - start[..., 2] ** 2) / (2 * k[:, None, 2])
    line = start + k[:, None] * (p - end)[..., None]
    works = np.abs(told - work) / np.abs(work).max(-1, keepdims=True)
    velocities = np.linalg.norm(line - u, axis=-1) / np.linalg.norm(u[:, :1], axis=-1)
    found = {}
    for id, side in (("B-work-stick", stable), ("B-work-ray", ~stable)):
        after = (p >= end) & side[:, None]  # never where slip does not stop
        most = {"work": works[after].max(initial=0), "velocity": velocities[after].max(initial=0)}
        found[id] = claimed(max(most.values()) < FORMULA, **most, n=(stops & side).sum())
    return found


def _newton(form: Form, progress: LabelledProgress) -> dict[str, Computed]:
    """Newton's law with friction and without, beside Stronge's rule (3.4); and slip that stays as it is.

    With the least friction that sticks, slip against the force that would hold it goes on as it is.
    """
    K, u, _, e = matrices(form.stationary)
    L, mu = np.linalg.inv(K), stick_ratio(K)
    v = np.column_stack([-L[:, :2, 2] / (mu * L[:, 2, 2])[:, None], u[:, 2]])
    impact = solve_many(K, v, mu, e, progress=progress)
    change = impact.velocity - v
    off = np.abs(change[:, 2] / impact.impulse[:, 2] * L[:, 2, 2] - 1).max()
    slip = np.linalg.norm(change[:, :2], axis=-1).max()

    rough, n = matrices(form.newton), form.newton.count
    slick = rough._replace(mu=0 * rough.mu)
    ends = [[solve_many(*i, law=law, progress=progress) for law in ("newton", "stronge")] for i in (rough, slick)]
    gains = [end.info.kinetic_energy_change / np.abs(end.info.compression_work) for end in ends[0]]
    rises = [(end.outcome == jimpact.Outcome.OK) & (gain > GAIN) for end, gain in zip(ends[0], gains, strict=True)]
    count, none = (rise.sum() for rise in rises)
    typical = np.median(gains[0][rises[0]]) if count else 0
    gap = relative(*(end.impulse for end in ends[1])).max()
    return {
        "B-ray-stationary": claimed(max(off, slip) < FORMULA, gap=off, slip=slip, n=len(mu)),
        "B-newton": claimed(count > 0 and none == 0, newton=count, stronge=none, n=n, change=typical),
        "B-newton-slick": claimed(gap < FORMULA, gap=gap, n=n),
    }


def _converging(crowd: Crowd, progress: LabelledProgress) -> dict[str, Computed]:
    """Appendix C on a crowd that starts off the rays."""
    impacts = matrices(crowd)
    turn = Turning.of(impacts)
    path = trace_many(*impacts)
    p, stops = path.normal_impulse, path.events.slip_end
    size = np.linalg.norm(path.sliding_velocity, axis=-1)
    free = np.isnan(stops)
    before = (free[:, None] | (p < stops[:, None])) & (size > LEAST_SLIP * size[:, :1])
    angle = np.unwrap(heading(path.sliding_velocity), axis=-1)
    turned = np.where(before, turn.way[:, None] * (angle - turn.start[:, None]), np.nan)
    back = np.fmax.reduce(-np.diff(turned, axis=-1), -1, initial=0)
    beyond = np.nanmax(turned, -1) - turn.to_ray
    right, n = ((back < ROUND) & (beyond < ROUND)).sum(), crowd.count
    return {
        "B-C-monotone": claimed(right == n, right=right, n=n, back=back.max(), beyond=max(beyond.max(), 0)),
        "B-C-never": _never(impacts.some(free), Turning(*(a[free] for a in turn)), progress),
        "B-C-bound": _bound(impacts, turn, p, turned),
    }


def _never(impacts: Impacts, turn: Turning, progress: LabelledProgress) -> Computed:
    """The same slip, further and further: each approach speed is the same path with a later end."""
    v = np.tile(impacts.u, (len(APPROACHES), 1, 1))
    v[..., 2] = -np.array(APPROACHES)[:, None]
    impact = solve_many(*impacts._replace(u=v), progress=progress)
    free = np.isnan(impact.info.slip_end).all(0)
    left = turn.to_ray - turn.to(heading(impact.velocity))
    left = ((left + PASSED) % (2 * np.pi) - PASSED)[:, free]
    there = left[:-1] < ROUND
    falls = ((left[1:] < left[:-1]) | there).all(0) & (left > -ROUND).all(0) & (left[0] > ROUND)
    medians = ", ".join(f"{np.median(a):.0e} rad at {b:g} m/s" for a, b in zip(left, APPROACHES, strict=True))
    return claimed(falls.all(), falls=falls.sum(), n=free.sum(), angle=ROUND, listed=medians)


def _bound(impacts: Impacts, turn: Turning, p: np.ndarray, turned: np.ndarray) -> Computed:
    """P from the extremes of f and g, and the impulse at which the path has turned so far."""
    K, mu, slip = impacts.K[:, None], impacts.mu[:, None], np.linalg.norm(impacts.u[:, :2], axis=-1)
    goal, share = WAY * turn.to_ray, np.linspace(0, 1, ANGLES)
    angles = turn.start[:, None] + (turn.way * goal)[:, None] * share
    f, g = polar(K, mu, unit(angles))
    size = slip[:, None] * np.exp(cumulative_trapezoid(g / f, angles, initial=0))  # dr/dtheta = r g / f
    at = trapezoid(size / f, angles)  # dp_z/dtheta = r / f
    g = polar(K, mu, unit(2 * np.pi * share))[1].max(-1)
    g = np.where(g > 0, g, 1)
    with np.errstate(over="ignore"):
        P = np.expm1(goal * g / np.abs(f).min(-1)) * slip / g
    past = turned >= goal[:, None]
    reached, first = past.any(-1), past.argmax(-1)
    rows = np.arange(len(goal))
    between = (p[rows, first - 1] <= at * (1 + SAME)) & (at * (1 - SAME) <= p[rows, first])
    ratio = (at / P)[reached]
    words = {"ratio": spread(ratio), "n": len(ratio), "rest": (~reached).sum(), "way": WAY}
    holds = (ratio <= 1).all() and between[reached].all()
    return claimed(holds, between=between[reached].sum(), **words)
