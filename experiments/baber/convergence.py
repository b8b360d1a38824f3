"""Section 3.11 and appendix C: slip that does not stop turns one way, towards the next ray, and never comes to it.

| symbol   | meaning                                                                    | unit  |
|----------|----------------------------------------------------------------------------|-------|
| r, theta | size and direction of slip                                                 | m/s, rad |
| f, g     | r dtheta/dp_z and dr/dp_z, which depend on theta only                      | 1/kg  |
| P        | normal impulse by which theta is at theta_end, between theta_0 and the ray | N s   |
"""

from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from jimpact.config import Positive, Small, Table
from jimpact.reproduce import Finding, Progress, claim, directions_many, solve_many, trace_many

from .crowd import Impacts, matrices
from .forms import Crowd

__all__ = ["ConvergenceForm", "converging"]

ANGLES = 720  # at which f and g are looked at
SAME = 1e-4  # relative: impulses by trapezia
PASSED = 0.1  # rad: directions up to this far past the ray are told from those that have nearly a turn to go


class ConvergenceForm(Table):
    """A crowd that starts off the rays; `approaches` (m/s) follow the same slip further."""

    crowd: Crowd
    approaches: Annotated[list[Positive], Field(min_length=2)]
    way: Annotated[float, Field(gt=0, lt=1)]  # theta_end, as a share of the way to the ray
    least_slip: Small  # of the slip before: a direction of less is round-off
    angle_rad: Small  # round-off of directions


class Turning(NamedTuple):
    """Where slip starts, which way it turns, and how far the next ray is; (n,)."""

    start: np.ndarray
    way: np.ndarray  # 1 or -1
    to_ray: np.ndarray


def converging(form: ConvergenceForm, progress: Progress) -> list[Finding]:
    """All claims of this module."""
    impacts = matrices(form.crowd)
    turning = _turning(impacts)
    path = trace_many(impacts.inverse_inertia, impacts.velocity, impacts.friction, impacts.restitution)
    p, slip = np.asarray(path.normal_impulse), np.asarray(path.sliding_velocity)
    stops = np.asarray(path.events.slip_end)
    size = np.linalg.norm(slip, axis=-1)
    before = (np.isnan(stops)[:, None] | (p < stops[:, None])) & (size > form.least_slip * size[:, :1])
    angle = np.unwrap(np.arctan2(slip[..., 1], slip[..., 0]), axis=-1)
    turned = np.where(before, turning.way[:, None] * (angle - turning.start[:, None]), np.nan)
    free = np.isnan(stops)
    return [
        _monotone(turned, turning, form),
        _never(impacts.some(free), Turning(*(a[free] for a in turning)), form, progress),
        _bound(impacts, turning, p, turned, form),
    ]


def _turning(impacts: Impacts) -> Turning:
    start = np.arctan2(impacts.velocity[:, 1], impacts.velocity[:, 0])
    way = np.sign(_fields(impacts, start[:, None])[0][:, 0])
    directions = directions_many(impacts.inverse_inertia, impacts.friction)[0]
    rays = np.arctan2(directions[..., 1], directions[..., 0])
    return Turning(start, way, np.nanmin((way[:, None] * (rays - start[:, None])) % (2 * np.pi), -1))


def _fields(impacts: Impacts, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f and g of every impact at angles (n, m)."""
    K, mu = impacts.inverse_inertia, impacts.friction[:, None, None]
    s = np.stack([np.cos(angles), np.sin(angles)], -1)
    push = K[:, None, :2, 2] - mu * np.einsum("nij,nmj->nmi", K[:, :2, :2], s)
    return s[..., 0] * push[..., 1] - s[..., 1] * push[..., 0], np.sum(s * push, -1)


def _monotone(turned: np.ndarray, turning: Turning, form: ConvergenceForm) -> Finding:
    back = np.fmax.reduce(-np.diff(turned, axis=-1), -1, initial=0)
    beyond = np.nanmax(turned, -1) - turning.to_ray
    right = int(((back < form.angle_rad) & (beyond < form.angle_rad)).sum())
    return claim(
        "B-C-monotone",
        "3.11, C",
        "slip turns one way, and not past the next ray",
        "theta will converge monotonically to a root",
        f"{right} of {len(back)} paths",
        right == len(back),
        f"Between samples it turns back by at most {back.max():.0e} rad; it passes the ray by at most "
        f"{max(beyond.max(), 0):.0e} rad.",
    )


def _never(impacts: Impacts, turning: Turning, form: ConvergenceForm, progress: Progress) -> Finding:
    """The same slip, further and further: each approach speed is the same path with a later end."""
    speeds = np.array(form.approaches)[:, None]
    v = np.broadcast_to(impacts.velocity, (len(speeds), *impacts.velocity.shape)).copy()
    v[..., 2] = -speeds
    impact = solve_many(impacts.inverse_inertia, v, impacts.friction, impacts.restitution, progress=progress)
    free = np.isnan(impact.info.slip_end).all(0)
    last = np.arctan2(impact.velocity[..., 1], impact.velocity[..., 0])
    left = turning.to_ray - (turning.way * (last - turning.start)) % (2 * np.pi)
    left = ((left + PASSED) % (2 * np.pi) - PASSED)[:, free]
    there = left[:-1] < form.angle_rad
    falls = ((left[1:] < left[:-1]) | there).all(0) & (left > -form.angle_rad).all(0) & (left[0] > form.angle_rad)
    listed = ", ".join(f"{np.median(a):.0e} rad at {b:g} m/s" for a, b in zip(left, form.approaches, strict=True))
    return claim(
        "B-C-never",
        "C",
        "angle left to the ray after impacts with greater and greater approach",
        "theta never reaches theta_root after a finite change in p_z",
        f"{int(falls.sum())} of {int(free.sum())} come nearer each time, and do not pass it",
        bool(falls.all()),
        f"Impacts whose slip never stops, as far as the angle is above {form.angle_rad:.0e} rad, where it is lost in "
        f"round-off. Median {listed}.",
    )


def _bound(impacts: Impacts, turning: Turning, p: np.ndarray, turned: np.ndarray, form: ConvergenceForm) -> Finding:
    """P from the extremes of f and g, and the impulse at which the path has turned so far."""
    goal, share = form.way * turning.to_ray, np.linspace(0, 1, ANGLES)
    angles = turning.start[:, None] + turning.way[:, None] * goal[:, None] * share
    at = _impulse(impacts, turning, goal, angles)
    slowest = np.abs(_fields(impacts, angles)[0]).min(-1)
    g = _fields(impacts, np.broadcast_to(2 * np.pi * share, angles.shape))[1].max(-1)
    g = np.where(g > 0, g, 1)
    with np.errstate(over="ignore"):
        P = np.expm1(goal * g / slowest) * np.linalg.norm(impacts.velocity[:, :2], axis=-1) / g
    past = turned >= goal[:, None]
    reached, first = past.any(-1), past.argmax(-1)
    rows = np.arange(len(goal))
    between = (p[rows, first - 1] <= at * (1 + SAME)) & (at * (1 - SAME) <= p[rows, first])
    ratio = (at / P)[reached]
    return claim(
        "B-C-bound",
        "C",
        f"impulse by which slip has turned {form.way:.0%} of the way to the ray",
        "before p_z becomes P = (exp((theta_end - theta_0) r'_max / f_min) - 1) r_0 / r'_max",
        f"{np.median(ratio):.2f} P (median), {ratio.max():.3f} P (most) in {len(ratio)}",
        bool((ratio <= 1).all() and between[reached].all()),
        f"The impulse is the integral of r / f; {int(between[reached].sum())} of the {len(ratio)} paths followed by "
        f"trace turn so far between the samples around it. The other {int((~reached).sum())} end before.",
    )


def _impulse(impacts: Impacts, turning: Turning, goal: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Normal impulse on the way through angles (n, m): dr/dtheta = r g / f, dp_z/dtheta = r / f."""
    f, g = _fields(impacts, angles)
    step = (turning.way * goal / (angles.shape[-1] - 1))[:, None]
    steps = 0.5 * step * (g / f)[:, 1:], 0.5 * step * (g / f)[:, :-1]
    grown = np.concatenate([np.zeros((len(goal), 1)), np.cumsum(steps[0] + steps[1], -1)], -1)
    rate = np.linalg.norm(impacts.velocity[:, :2], axis=-1)[:, None] * np.exp(grown) / f
    return np.sum(0.5 * step * (rate[:, 1:] + rate[:, :-1]), -1)
