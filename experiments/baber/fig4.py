"""Section 3.7 and figure 4: unstable sticking, the four rays of constant sliding, and who reaches the origin."""

from typing import Annotated, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Wedge
from pydantic import Field

import jimpact
from jimpact.config import ConfigError, Matrix, Name, NotNegative, Positive, Printed, Share, Small, Table
from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, number, solve_many, trace_many

from .crowd import stick_ratio
from .forms import Approach, Three
from .quartic import growth, ray_angles
from .shape import largest_gap

__all__ = ["Fig4Form", "run"]

BLUE, RED, PATH, RAY = "#cfe0f5", "#f8d9d6", "#22313f", "#5a6672"
Many = Annotated[int, Field(ge=4, le=100_000)]


class ContactForm(Table):
    inverse_inertia: Matrix
    friction: NotNegative


class PathsForm(Table):
    count: Many
    radius: Positive
    normal_velocity: Approach
    restitution: Share
    scale: Positive
    other_normal_velocity: Approach


class RegionsForm(Table):
    count: Many
    normal_velocity: Approach


class LimitsForm(Table):
    converged_deg: Positive
    path: Small


class PrintedForm(Table):
    inverse_times_denominator: Annotated[list[Three], Field(min_length=3, max_length=3)]
    denominator: Printed
    rays_deg: Annotated[list[Printed], Field(min_length=4, max_length=4)]
    diverging_deg: Printed
    borders_deg: Annotated[list[Printed], Field(min_length=2, max_length=2)]
    reach_origin: Printed
    scale: Name
    normal_velocity: Name


class Fig4Form(Table):
    """configs/baber/fig4.toml"""

    name: Name
    contact: ContactForm
    paths: PathsForm
    regions: RegionsForm
    limits: LimitsForm
    printed: PrintedForm


def run(form: Fig4Form, progress: Progress) -> Result:
    """Inverse, rays, and the sixteen paths."""
    K, mu = np.asarray(form.contact.inverse_inertia, float), form.contact.friction
    angles, rates = _rays(K, mu)
    if len(angles) != 4 or (rates > 0).tolist() != [True, False, False, False]:
        raise ConfigError("contact: it has not the four rays of section 3.7, the first of them diverging")
    starts = _starts(form.paths.count, form.paths.radius, form.paths.normal_velocity)
    path = trace_many(K, starts, mu, form.paths.restitution)
    reach = np.isfinite(path.events.slip_end)
    inverse = np.linalg.inv(K) * float(form.printed.denominator)
    findings = [
        number(
            "B-Kinv",
            "3.7",
            f"{form.printed.denominator} x the inverse of K",
            form.printed.inverse_times_denominator,
            inverse,
        ),
        *_ray_findings(K, mu, angles, rates, form),
        number(
            "B-Fig4-origin",
            "Fig 4",
            f"paths of {len(reach)} that reach the origin",
            form.printed.reach_origin,
            reach.sum(),
        ),
        *_regions(K, mu, angles, rates, form, progress),
        *_shape(K, starts, path, form),
    ]
    kinds = [("diverging" if g > 0 else "converging", g) for g in rates]
    rows = [[f"{a:.4f}", kind, f"{g:.5f}"] for a, (kind, g) in zip(angles, kinds, strict=True)]
    grid = Grid("Rays of constant sliding.", ("angle (deg)", "kind", "growth of slip (1/kg)"), rows)
    caption = "Baber's figure 4: paths of the sliding velocity from all directions, and the rays of constant sliding."
    return Result(
        findings, [Picture("fig4", _draw(np.asarray(path.sliding_velocity), starts, angles, rates), caption)], [grid]
    )


def _rays(K: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles (degrees, sorted) of the rays, and growth of slip along them."""
    directions, rates = (np.asarray(a) for a in jimpact.invariant_directions(K, mu))
    angles = np.degrees(np.arctan2(directions[:, 1], directions[:, 0])) % 360
    order = np.argsort(angles)[: int(np.isfinite(angles).sum())]
    return angles[order], rates[order]


def _starts(count: int, radius: float, normal_velocity: float) -> np.ndarray:
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(count, normal_velocity)], -1)


def _ray_findings(K: np.ndarray, mu: float, angles: np.ndarray, rates: np.ndarray, form: Fig4Form) -> list[Finding]:
    needed = float(stick_ratio(K))
    quartic = np.degrees(ray_angles(K, np.asarray(mu)))
    gap = np.abs(quartic - angles).max()
    why = f"by invariant_directions; the paper's quartic in tan(angle/2) gives the same to {gap:.0e} degrees"
    diverging = angles[growth(K, np.asarray(mu), np.radians(angles)) > 0]
    return [
        number("B-Fig4", "3.7, Fig 4", "rays of constant sliding (degrees)", form.printed.rays_deg, angles, why),
        number("B-Fig4-ray", "3.7", "the only diverging ray (degrees)", form.printed.diverging_deg, diverging),
        claim(
            "B-Fig4-stick",
            "3.7",
            "sticking is unstable",
            "easy to check unstable sticking occurs",
            f"needs friction {needed:.6f}, has {mu:g}",
            needed > mu,
        ),
    ]


def _regions(
    K: np.ndarray, mu: float, angles: np.ndarray, rates: np.ndarray, form: Fig4Form, progress: Progress
) -> list[Finding]:
    """All directions around the circle: which stop, and where slip points in the end."""
    count = form.regions.count
    starts = _starts(count, form.paths.radius, form.regions.normal_velocity)
    impact = solve_many(K, starts, mu, form.paths.restitution, progress=progress)
    degrees, stops = 360 * np.arange(count) / count, np.isfinite(impact.info.slip_end)
    low, high = angles[1], angles[3]
    wrong = stops != ((degrees >= low) & (degrees <= high))
    near = np.abs(degrees[wrong, None] - angles).min(-1).max(initial=0)
    last = np.degrees(np.arctan2(impact.velocity[:, 1], impact.velocity[:, 0])) % 360
    away = np.abs(last - angles[rates > 0][0])
    borders = [degrees[stops].min(), degrees[stops].max()]
    return [
        number(
            "B-Fig4-regions",
            "3.7, Fig 4",
            "directions that reach the origin, from and to (degrees)",
            form.printed.borders_deg,
            borders,
            f"{count - wrong.sum()} of {count} directions as the rays at {low:.4f} and {high:.4f} degrees divide them; "
            f"the rest start within {near:.3f} degrees of a ray, and pass zero slip too closely to tell.",
        ),
        claim(
            "B-Fig4-converge",
            "3.7, Fig 4",
            "all others converge to the diverging ray, and so does slip that leaves the origin",
            "Trajectories in the red region converge to the ray",
            f"at the end at most {away[~stops].max():.2g} and {away[stops].max():.2g} degrees away",
            bool(away.max() < form.limits.converged_deg),
        ),
    ]


def _shape(K: np.ndarray, starts: np.ndarray, path: Any, form: Fig4Form) -> list[Finding]:
    """The paths of greater slip, and of another approach, beside the first: sample by sample."""
    paths, mu, limit = form.paths, form.contact.friction, form.limits.path
    larger = trace_many(K, starts * np.array([paths.scale, paths.scale, 1]), mu, paths.restitution)
    approach = np.full(len(starts), paths.other_normal_velocity)
    faster = trace_many(K, np.column_stack([starts[:, :2], approach]), mu, paths.restitution)
    scaled, count = largest_gap(K, mu, path, larger, paths.scale)
    other, compared = largest_gap(K, mu, path, faster, 1.0)
    n = len(starts)
    return [
        claim(
            "B-Fig4-scale",
            "3.7",
            f"paths from r = {paths.scale:g} m/s, at {paths.scale:g} x the impulse",
            form.printed.scale,
            f"{n} paths differ by at most {scaled.max():.0e} of r",
            bool(scaled.max() < limit),
            f"{count} samples, between which a cubic is laid; but not where slip stops.",
        ),
        claim(
            "B-Fig4-approach",
            "3.7",
            f"paths with u_z = {paths.other_normal_velocity:g} instead of {paths.normal_velocity:g} m/s",
            form.printed.normal_velocity,
            f"{n} paths differ by at most {other.max():.0e} of r",
            bool(other.max() < limit),
            f"{compared} samples, compared in the same way.",
        ),
    ]


def _draw(paths: np.ndarray, starts: np.ndarray, angles: np.ndarray, rates: np.ndarray) -> Figure:
    fig = Figure(figsize=(6.6, 7.2), layout="constrained")
    ax = fig.add_subplot()
    edge, far = 1.55, 3.0
    ax.add_patch(Wedge((0, 0), far, angles[3], angles[1] + 360, fc=RED, lw=0, zorder=0))
    ax.add_patch(Wedge((0, 0), far, angles[1], angles[3], fc=BLUE, lw=0, zorder=0))
    for angle, rate in zip(angles, rates, strict=True):
        s = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        ax.plot(*np.stack([0 * s, far * s], -1), ":", color=RAY, lw=1.6, zorder=1)
        inside = 1.4 if rate > 0 else 1.3
        tail, head = (inside - 0.06, inside + 0.06) if rate > 0 else (inside + 0.06, inside - 0.06)
        arrow = {"arrowstyle": "-|>", "color": RAY, "mutation_scale": 16}
        ax.annotate("", (head * s[0], head * s[1]), (tail * s[0], tail * s[1]), arrowprops=arrow, zorder=2)
        place = inside * s + (-0.3 if rate > 0 else 0.17) * np.array([-s[1], s[0]])
        ax.text(place[0], place[1], f"{angle:.1f}°", ha="center", va="center", fontsize=10, color="0.25")
    for path, start in zip(paths, starts, strict=True):
        ax.plot(*path.T, color=PATH, lw=1.3, zorder=3)
        ax.plot(*start[:2], "o", color=PATH, ms=6, zorder=4)
    ax.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
    ax.set(xlabel="sliding velocity $u_x$ (m/s)", ylabel="sliding velocity $u_y$ (m/s)")
    ax.set_title(f"Slip from {len(starts)} directions: friction too weak to stick", fontsize=11)
    handles = [
        Line2D([], [], color=PATH, marker="o", lw=1.3, label="slip, from its start"),
        Line2D([], [], color=RAY, ls=":", lw=1.6, label="ray of constant sliding"),
        Patch(fc=BLUE, label="starts that reach the origin"),
        Patch(fc=RED, label="starts that converge to the diverging ray"),
    ]
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.09), ncols=2, frameon=False)
    return fig
