"""Section 1.2 and figures 1 and 2: the impact that compresses twice, and the body that it belongs to.

| symbol | meaning                                                         | unit |
|--------|-----------------------------------------------------------------|------|
| K      | inverse inertia at the contact (the paper's collision matrix)   | 1/kg |
| u      | velocity of the contact point of body a relative to that of b   | m/s  |
| p      | normal impulse                                                  | N s  |
| k      | du_z/dp, along slip of direction s: K_33 - mu d.s               | 1/kg |
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, NamedTuple

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from pydantic import Field
from scipy.interpolate import CubicHermiteSpline

import jimpact
from jimpact.config import Approaching, ConfigError, Matrix, Name, NotNegative, Positive, Printed, Share, Table, Vector
from jimpact.reproduce import Finding, Picture, Progress, Result, claim, new, number, solve_many, trace_many, unchecked

from .crowd import UP
from .forms import Approach, Three

__all__ = ["ExampleForm", "Track", "impulse_at", "inverse_inertia", "run", "shade_phases", "tracked", "twice"]

ROUNDED = 0.1  # N s: a unit of the last digit of the printed roots
LINE, COMPRESSION, RESTITUTION, MARK = "#1f4e9c", "#dbe7f6", "#fbead3", "#d1495b"


class BodyForm(Table):
    """The moving body; the other one is immovable."""

    mass: Positive
    inverse_inertia_tensor: Matrix
    arm: Vector


class ImpactForm(Table):
    velocity: Approaching
    friction: NotNegative
    restitution: Share
    other_normal_velocity: Approach


class JumpForm(Table):
    restitutions: Annotated[int, Field(ge=11, le=100_001)]
    offsets: Annotated[list[Annotated[float, Field(gt=0, lt=0.1)]], Field(min_length=1)]


class CurvesForm(Table):
    steady: list[float]
    turning: list[float]


class PrintedForm(Table):
    inverse_inertia: Annotated[list[Three], Field(min_length=3, max_length=3)]
    tensor_eigenvalues: Three
    eigenvalues: Three
    normal_velocity: Printed
    roots: Three
    maximum_at: Printed
    compressions: Printed


class ExampleForm(Table):
    """configs/baber/example.toml"""

    name: Name
    body: BodyForm
    impact: ImpactForm
    jump: JumpForm
    curves: CurvesForm
    printed: PrintedForm


class Track(NamedTuple):
    """One impact, sampled."""

    normal_impulse: np.ndarray  # (samples,)
    normal_velocity: np.ndarray
    impulse: np.ndarray  # (samples, 3)
    work: np.ndarray  # of the normal force
    zeros: np.ndarray  # of the normal velocity, but for the last
    extrema: np.ndarray  # of the normal velocity: normal impulses
    extremes: np.ndarray  # and its values


def run(form: ExampleForm, progress: Progress) -> Result:
    """Body, roots and extrema of the example."""
    K = inverse_inertia(form)
    track = twice(tracked(K, form))
    findings = [*_body(K, form), *_roots(K, track, form), *_end(K, form), *_curves(form)]
    why = "A curve; of its numbers the text gives the roots, the maximum and the start, see B-example and B-u0."
    findings.append(unchecked("B-Fig2", "Fig 2", "curve of u_z over p_z", f"{len(track.zeros)} roots", why))
    caption = "Baber's figure 2, to the end of the impact with restitution 1: normal velocity over normal impulse."
    return Result(findings, [Picture("fig2", _draw(track, K, form), caption)])


def inverse_inertia(form: ExampleForm) -> np.ndarray:
    """K of the body on an immovable one, with the normal along z."""
    inertia, arm = np.linalg.inv(np.asarray(form.body.inverse_inertia_tensor)), np.asarray(form.body.arm)
    return _inverse_inertia(form.body.mass, inertia, arm)


def _inverse_inertia(mass: float, inertia: np.ndarray, arm: np.ndarray) -> np.ndarray:
    still = jnp.zeros(3)
    body = jimpact.Body(jnp.asarray(mass), jnp.asarray(inertia), jnp.asarray(-arm, float), still, still)
    return np.asarray(jimpact.inverse_inertia(body, jimpact.immovable(), still, jnp.asarray(UP)))


def tracked(K: np.ndarray, form: ExampleForm, normal_velocity: float | None = None) -> Track:
    """The path with restitution 1, which is that of every other restitution continued."""
    v, mu = np.array(form.impact.velocity, float), form.impact.friction
    v[2] = v[2] if normal_velocity is None else normal_velocity
    path = trace_many(K, v[None], mu, 1.0)
    names = ("normal_impulse", "normal_velocity", "sliding_velocity", "impulse", "work")
    p, u, slip, impulse, work = (np.asarray(getattr(path, name))[0] for name in names)
    keep = np.append(True, np.diff(p) > 0)
    events = path.events
    zeros = np.concatenate([events.compression_end, events.recompression_start, events.recompression_end])
    k = _rate(p[keep], slip[keep], K, mu)
    extrema = k.roots(extrapolate=False)
    extremes = CubicHermiteSpline(p[keep], u[keep], k(p[keep]))(extrema)
    return Track(p, u, impulse, work, zeros[np.isfinite(zeros)], extrema, extremes)


def twice(track: Track) -> Track:
    """The same, if it compresses twice."""
    if (len(track.zeros), len(track.extrema)) != (3, 2):
        raise ConfigError("impact: it does not compress twice, as that of section 1.2 does")
    return track


def _rate(p: np.ndarray, slip: np.ndarray, K: np.ndarray, mu: float) -> CubicHermiteSpline:
    """k over p, from its values and slopes at the samples: slip turns at the rate t.(d - mu B s) / |slip|."""
    B, d, size = K[:2, :2], K[:2, 2], np.linalg.norm(slip, axis=-1)
    s = slip / size[:, None]
    t = np.stack([-s[:, 1], s[:, 0]], -1)
    turning = np.sum(t * (d - mu * s @ B), -1) / size
    return CubicHermiteSpline(p, K[2, 2] - mu * s @ d, -mu * (t @ d) * turning)


def impulse_at(track: Track, p: float) -> np.ndarray:
    """The impulse at an event, which is one of the samples."""
    return track.impulse[np.abs(track.normal_impulse - p).argmin()]


def _body(K: np.ndarray, form: ExampleForm) -> list[Finding]:
    tensor, printed = np.asarray(form.body.inverse_inertia_tensor), form.printed
    eigenvalues = np.concatenate([np.linalg.eigvalsh(a)[::-1] for a in (tensor, K)])
    moments = np.sort(1 / np.linalg.eigvalsh(tensor))
    why = (
        f"A body needs principal moments of which the smaller two, here {moments[:2].sum():.4f} kg m^2 together, are "
        f"not below the largest, here {moments[2]:.4f}. Harmless, as only K counts: see B-body."
    )
    words = "positive definite and hence a valid inverse inertia tensor"
    possible = bool(moments[2] <= moments[:2].sum())
    return [
        number("B-K", "1.2", "collision matrix K", printed.inverse_inertia, K),
        number(
            "B-eig",
            "1.2",
            "eigenvalues of the inverse inertia tensor and of K",
            [*printed.tensor_eigenvalues, *printed.eigenvalues],
            eigenvalues,
        ),
        claim("B-inertia", "1.2", "inertia of the body", words, f"moments {_row(moments)}", possible, why, "differs"),
        _real_body(K, form),
    ]


def _real_body(K: np.ndarray, form: ExampleForm) -> Finding:
    """K leaves the moment about the arm open: with the larger of the other two, the body is one that can exist."""
    mass, arm = form.body.mass, np.asarray(form.body.arm, float)
    length = np.linalg.norm(arm)
    values, vectors = np.linalg.eigh(K - np.eye(3) / mass)  # the least one, zero, is along the arm
    moments = length**2 / values[1:][::-1]  # an axis across the arm moves the contact along the other one
    axes = np.stack([vectors[:, 1], vectors[:, 2], arm / length], -1)
    principal = np.array([*moments, moments.max()])
    inertia = axes @ (principal[:, None] * axes.T)
    gap = np.abs(_inverse_inertia(mass, inertia, arm) - K).max() / np.abs(K).max()
    two, most = np.sort(principal)[:2].sum(), principal.max()
    why = f"Same mass, arm and K (to {gap:.0e}); the smaller two add up to {two:.4f}, the largest is {most:.4f} kg m^2."
    return new("B-body", "1.2", "moments of a body that can exist", f"{_row(np.sort(principal))} kg m^2", why)


def _roots(K: np.ndarray, track: Track, form: ExampleForm) -> list[Finding]:
    printed, values = form.printed, [*track.zeros, track.extrema[0]]
    v, mu = np.asarray(form.impact.velocity, float), form.impact.friction
    start = K[2, 2] - mu * K[2, :2] @ v[:2] / np.linalg.norm(v[:2])
    return [
        number(
            "B-example",
            "1.2, Fig 2",
            "three roots of u_z, and its local maximum, p_z",
            [*printed.roots, printed.maximum_at],
            values,
        ),
        _start(track, tracked(K, form, form.impact.other_normal_velocity), form),
        claim(
            "B-turn",
            "1.1, 1.2",
            "du_z/dp_z can turn from positive to negative",
            "positive at the start, zero at the maximum, then negative",
            f"{start:.5f} 1/kg at the start, zero at {track.extrema[0]:.6f} and {track.extrema[1]:.6f}",
            bool(start > 0 and track.extremes[1] < 0 < track.extremes[0]),
            f"u_z is {track.extremes[0]:.7f} m/s at its maximum, {track.extremes[1]:.7f} m/s at the minimum after it.",
        ),
    ]


def _start(track: Track, other: Track, form: ExampleForm) -> Finding:
    """The start of the text with its printed roots, and the one that a copy shows."""
    roots, start = np.array(form.printed.roots, float), form.impact.other_normal_velocity
    fits = [len(t.zeros) == len(roots) and bool(np.abs(t.zeros - roots).max() < ROUNDED) for t in (track, other)]
    words = [f"{len(t.zeros)} from {u:g} m/s" for t, u in ((track, form.impact.velocity[2]), (other, start))]
    return claim(
        "B-u0",
        "1.2",
        "u_z before: roots from there",
        f"starts at {form.printed.normal_velocity}; roots {', '.join(form.printed.roots)}",
        f"{words[0]}, {words[1]}",
        fits == [True, False],
        f"A copy of the text shows {start:g} too; its roots are {_row(other.zeros)}.",
        "differs",
    )


def _end(K: np.ndarray, form: ExampleForm) -> list[Finding]:
    given = form.impact
    impact = solve_many(K, np.asarray(given.velocity)[None], given.friction, given.restitution)
    info = impact.info
    count, sequence = int(info.compressions[0]), jimpact.event_sequence(impact)[0]
    works = f"{info.compression_work[0]:.6f} and {info.restitution_work[0]:.6f} J"
    said = f"{form.printed.compressions} compression phases and as many decompression phases"
    return [
        claim(
            "B-phases", "1.2", "phases", said, f"{count}, events {sequence}", str(count) == form.printed.compressions
        ),
        new("B-impulse", "1.2", "impulse", f"({_row(impact.impulse[0], 7)}) N s", f"normal works {works}"),
        new("B-velocity", "1.2", "velocity after", f"({_row(impact.velocity[0], 6)}) m/s"),
    ]


def _curves(form: ExampleForm) -> list[Finding]:
    """Figure 1: a polynomial that is positive may turn negative later, though in the end it is positive."""

    def turns(coefficients: list[float]) -> int:
        roots = np.roots(coefficients[::-1])
        real = np.unique(np.round(roots[np.abs(roots.imag) < 1e-9].real, 9))
        signs = [bool(np.polyval(coefficients[::-1], x) > 0) for x in (*(real - 1e-3), real[-1] + 1)]
        return sum(a and not b for a, b in pairwise(signs))

    steady, turning = turns(form.curves.steady), turns(form.curves.turning)
    words = "both end positive; only the first, once positive, stays so"
    computed = f"positive to negative: {steady} and {turning} times"
    return [claim("B-Fig1", "Fig 1", "x^3 and x^3 - 2x", words, computed, (steady, turning) == (0, 1))]


def _row(values: Iterable[float], decimals: int = 4) -> str:
    return ", ".join(f"{x:.{decimals}f}" for x in values)


def _draw(track: Track, K: np.ndarray, form: ExampleForm) -> Figure:
    fig = Figure(figsize=(7.6, 4.6), layout="constrained")
    ax = fig.add_subplot()
    p, u = track.normal_impulse, track.normal_velocity
    shade_phases(ax, [0.0, *track.zeros, p[-1]])
    ax.axhline(0, color="0.35", lw=0.8)
    ax.plot(p, u, color=LINE, lw=2)
    ax.plot(track.zeros, 0 * track.zeros, "o", color=LINE, ms=6)
    ax.plot(track.extrema, track.extremes, "D", color=MARK, ms=6)
    for x, aside in zip(track.zeros, (0, 0, 23), strict=True):
        ax.annotate(f"{x:.2f}", (x, 0), (aside, -17), textcoords="offset points", ha="center", fontsize=10)
    for x, y, above in zip(track.extrema, track.extremes, (8, -16), strict=True):
        ax.annotate(f"{x:.2f}", (x, y), (0, above), textcoords="offset points", ha="center", color=MARK, fontsize=10)
    ax.set(xlim=(0, p[-1]), ylim=(-0.6, 0.6), xlabel="normal impulse $p_z$ (N s)", ylabel="normal velocity $u_z$ (m/s)")
    e = form.impact.restitution
    ax.set_title(f"Two compressions in one impact: friction {form.impact.friction:g}, start {u[0]:g} m/s", fontsize=11)
    phases = [Patch(fc=COMPRESSION, label="compression"), Patch(fc=RESTITUTION, label="restitution")]
    ax.legend(handles=phases, loc="upper left", fontsize=10)
    end = float(solve_many(K, np.asarray(form.impact.velocity)[None], form.impact.friction, e).impulse[0, 2])
    ax.annotate(
        f"ends at {end:.1f}\nwith e = {e:g}",
        (end, 0.6),
        (47, 0.43),
        ha="center",
        arrowprops={"arrowstyle": "->", "color": "0.3"},
        fontsize=10,
    )
    return fig


def shade_phases(ax: Axes, edges: list[float]) -> None:
    """Compressions and restitutions in turn, from compression on."""
    for i, (a, b) in enumerate(pairwise(edges)):
        ax.axvspan(a, b, color=RESTITUTION if i % 2 else COMPRESSION, lw=0, zorder=0)
