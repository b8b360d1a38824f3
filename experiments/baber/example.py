"""Section 1.2 and figures 1 and 2: the impact that compresses twice, and the body that it belongs to.

The result jumps with restitution (not in the paper). At e* = sqrt(W_d / |W_c|), with the works of the first restitution
and the first compression, the impact ends where u_z is zero again. Any more, and it goes through the second one.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline

import jimpact
from jimpact.impact_path import Path
from jimpact.plotting.impact import COMPRESSION, PATH, RESTITUTION
from jimpact.reproduce import (
    Computed,
    LabelledProgress,
    Picture,
    Result,
    claimed,
    numbers,
    only,
    solve_many,
    trace_many,
)
from jimpact.reproduce.bodies import body_at, heading, touching, unit
from jimpact.schemas.config import ConfigError, Matrix, Positive, Table, Vector

from .crowd import ImpactForm, polar, rate, relative
from .texts import ROWS, grid, listed, page

ROUNDED = 0.1  # N s: a unit of the last digit of the printed roots
OTHER_START = -6.22  # m/s: normal velocity before, as a copy of the text shows it
POLYNOMIALS = (1, 0, 0, 0), (1, 0, -2, 0)  # figure 1, highest power first
SCANNED, OFFSETS = 2001, (1e-3, 1e-6, 1e-9)  # restitutions from 0 to 1, and beside the one at which the result jumps
MARK = "#d1495b"


class BodyForm(Table):
    """The moving body; the other one is immovable."""

    mass: Positive  # kg
    inverse_inertia_tensor: Matrix  # 1/(kg m^2)
    arm: Vector  # from the centre of mass to the contact, m


class Form(Table):
    """configs/baber/example.toml"""

    body: BodyForm
    impact: ImpactForm


class Track(NamedTuple):
    """One impact with restitution 1: the path of every other restitution, continued."""

    path: Path
    zeros: np.ndarray  # of the normal velocity, but for the last: normal impulses
    extrema: np.ndarray  # of the normal velocity
    extremes: np.ndarray  # and its values


def run(form: Form, progress: LabelledProgress) -> Result:
    """Body, roots and extrema of the example."""
    K, track = contact(form)
    given = form.impact
    v = np.array(given.velocity)
    impact = solve_many(K, v, given.friction, given.restitution)
    count = int(impact.info.compressions)
    positive = np.array([np.polyval(polynomial, np.linspace(-3, 3, 600)) > 0 for polynomial in POLYNOMIALS])
    steady, falls = (positive[:, :-1] & ~positive[:, 1:]).sum(-1)  # how often it turns from positive to negative
    computed = {
        **_body(K, form),
        **_roots(K, track, form),
        "B-phases": claimed(count == 2, count=count, events=jimpact.event_sequence(impact)),
        "B-impulse": only(impulse=listed(impact.impulse, ".7f"), info=impact.info),
        "B-velocity": only(velocity=listed(impact.velocity, ".6f")),
        "B-Fig1": claimed(steady == 0 and falls == 1, steady=steady, turning=falls),
        "B-Fig2": only(count=len(track.zeros)),
    }
    return Result(computed, [_draw(track, impact.impulse[2], given)])


def contact(form: Form) -> tuple[np.ndarray, Track]:
    """K and the path, if the impact compresses twice."""
    body, given = form.body, form.impact
    K = touching(body_at(body.mass, np.linalg.inv(body.inverse_inertia_tensor), np.array(body.arm)))
    track = _tracked(K, given.velocity, given.friction)
    if (len(track.zeros), len(track.extrema)) != (3, 2):
        raise ConfigError("impact: it does not compress twice, as that of section 1.2 does")
    return K, track


def _tracked(K: np.ndarray, velocity: Any, mu: float) -> Track:
    """du_z/dp is a cubic between samples, from its values and from its slopes, that is how fast slip turns there."""
    path = trace_many(K, velocity, mu, 1.0)
    zeros = np.array([path.events.compression_end, path.events.recompression_start, path.events.recompression_end])
    keep = np.append(True, np.diff(path.normal_impulse) > 0)
    p, u, slip = (a[keep] for a in (path.normal_impulse, path.normal_velocity, path.sliding_velocity))
    s, size = unit(heading(slip)), np.linalg.norm(slip, axis=-1)
    across, k = np.stack([-s[:, 1], s[:, 0]], -1) @ K[:2, 2], rate(K, mu, s)[:, 2]
    extrema = CubicHermiteSpline(p, k, -mu * across * polar(K, mu, s)[0] / size).roots(extrapolate=False)
    return Track(path, zeros[np.isfinite(zeros)], extrema, CubicHermiteSpline(p, u, k)(extrema))


def _body(K: np.ndarray, form: Form) -> dict[str, Computed]:
    """K leaves the moment about the arm open: with the larger of the other two, the body is one that can exist."""
    tensor, mass, arm = np.array(form.body.inverse_inertia_tensor), form.body.mass, np.array(form.body.arm)
    length = np.linalg.norm(arm)
    values, vectors = np.linalg.eigh(K - np.eye(3) / mass)  # the least one, zero, is along the arm
    moments = length**2 / values[1:][::-1]  # an axis across the arm moves the contact along the other one
    axes = np.stack([vectors[:, 1], vectors[:, 2], arm / length], -1)
    principal = np.array([*moments, moments.max()])
    other = touching(body_at(mass, axes @ (principal[:, None] * axes.T), arm))
    gap = np.abs(other - K).max() / np.abs(K).max()
    said, real = np.sort(1 / np.linalg.eigvalsh(tensor)), np.sort(principal)  # the first two must reach the third
    return {
        "B-K": numbers(K),
        "B-eig": numbers([np.linalg.eigvalsh(a)[::-1] for a in (tensor, K)]),
        "B-inertia": claimed(said[2] <= said[:2].sum(), moments=listed(said), two=said[:2].sum(), most=said[2]),
        "B-body": only(gap=gap, moments=listed(real), two=real[:2].sum(), most=real[2]),
    }


def _roots(K: np.ndarray, track: Track, form: Form) -> dict[str, Computed]:
    """Roots from the start of the text, and from the one that a copy shows."""
    v, mu = np.array(form.impact.velocity), form.impact.friction
    other = _tracked(K, [*v[:2], OTHER_START], mu).zeros
    printed = np.array(ROWS["example"]["B-example"].printed[0], float)
    fits = [len(zeros) == len(printed) and np.abs(zeros - printed).max() < ROUNDED for zeros in (track.zeros, other)]
    start = rate(K, mu, v[:2] / np.linalg.norm(v[:2]))[2]
    words = {"count": len(track.zeros), "start": v[2], "other_count": len(other), "other": OTHER_START}
    turns = start > 0 and track.extremes[1] < 0 < track.extremes[0]
    return {
        "B-example": numbers([*track.zeros, track.extrema[0]]),
        "B-u0": claimed(fits == [True, False], roots=listed(other), **words),
        "B-turn": claimed(turns, start=start, at=track.extrema, u=track.extremes),
    }


def _draw(track: Track, end: float, given: ImpactForm) -> Picture:
    p, u = track.path.normal_impulse, track.path.normal_velocity
    picture, (ax,) = page("fig2", friction=given.friction, start=u[0])
    for i, ends in enumerate(pairwise([0.0, *track.zeros, p[-1]])):
        name, color = (("compression", COMPRESSION), ("restitution", RESTITUTION))[i % 2]
        ax.axvspan(*ends, color=color, lw=0, zorder=0, label=name if i < 2 else None)
    ax.axhline(0, color="0.35", lw=0.8)
    ax.plot(p, u, color=PATH, lw=2)
    ax.plot(track.zeros, 0 * track.zeros, "o", color=PATH, ms=6)
    ax.plot(track.extrema, track.extremes, "D", color=MARK, ms=6)
    points = zip([*track.zeros, *track.extrema], [0, 0, 0, *track.extremes], (-17, -17, -17, 8, -16), strict=True)
    for x, y, below in points:
        ax.annotate(f"{x:.2f}", (x, y), (0, below), textcoords="offset points", ha="center", fontsize=10)
    ax.set(xlim=(0, p[-1]), ylim=(-0.6, 0.6))
    ax.legend(loc="upper left", fontsize=10)
    arrow, words = {"arrowstyle": "->", "color": "0.3"}, f"ends at {end:.1f}\nwith e = {given.restitution:g}"
    ax.annotate(words, (end, 0.6), (47, 0.43), ha="center", arrowprops=arrow, fontsize=10)
    return picture


def jump(form: Form, progress: LabelledProgress) -> Result:
    """The restitution of the jump, and the impulse on both sides of it."""
    K, track = contact(form)
    compressed, released = np.interp(track.zeros[:2], track.path.normal_impulse, track.path.work)
    limit = np.sqrt((released - compressed) / -compressed)
    offsets, n = np.array(OFFSETS), SCANNED
    e = np.concatenate([np.linspace(0, 1, n), limit - offsets, limit + offsets[::-1]])
    impact = solve_many(K, form.impact.velocity, form.impact.friction, e, progress=progress)
    impulse, count = impact.impulse, impact.info.compressions
    event = np.abs(track.path.normal_impulse - track.zeros[1]).argmin()  # is one of the samples
    below, above = track.path.impulse[event], impulse[-len(offsets)]
    right = ((count == 2) == (e > limit))[:n].sum()
    computed = {
        "B-jump": only(e=limit),
        "B-jump-below": only(impulse=listed(below, ".6f")),
        "B-jump-above": only(impulse=listed(above, ".6f"), offset=offsets[-1], ratio=relative(above, below)),
        "B-jump-scan": only(right=right, n=n),
    }
    near = zip(e[n:], count[n:], impulse[n:], strict=True)
    rows = [[f"e* {e - limit:+.0e}", int(c), *(f"{x:.6f}" for x in p)] for e, c, p in near]
    picture, (ax,) = page("jump")
    names = {"tangential, $p_x$": "#2a9d8f", "tangential, $p_y$": "#e09f3e", "normal, $p_z$": PATH}
    edge = np.searchsorted(e[:n], limit)
    gap = np.insert(impulse[:n], edge, np.nan, axis=0)  # no line across the jump
    for (name, color), values in zip(names.items(), gap.T, strict=True):
        ax.plot(np.insert(e[:n], edge, limit), values, color=color, lw=2, label=name)
    ax.axvline(limit, color=MARK, lw=1.2, ls="--", label=f"e* = {limit:.6f}")
    ax.text(limit - 0.02, 41, "ends in the\nfirst restitution", ha="right", va="center")
    ax.text(limit + 0.02, 41, "goes through a\nsecond compression", ha="left", va="center")
    ax.set(xlim=(0, 1))
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.9), fontsize=9)
    return Result(computed, [picture], [grid("jump", rows)])
