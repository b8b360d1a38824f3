"""Section 3.7 and figure 4: unstable sticking, the four rays of constant sliding, and who reaches the origin."""

from typing import Annotated

import numpy as np
from matplotlib.patches import Wedge
from pydantic import Field
from scipy.interpolate import CubicHermiteSpline

import jimpact
from jimpact.impact_path import Path
from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, numbers, solve_many, trace_many
from jimpact.reproduce.bodies import heading, unit
from jimpact.schemas.config import ConfigError, Matrix, NotNegative, Positive, Table

from .crowd import polar, rate, stick_ratio
from .rays import ray_angles
from .texts import grid, page

CONVERGED_DEG = 1.0  # slip that ends nearer to the ray than this is on its way along it
SAME_PATH = 1e-3  # of the slip before; a cubic between samples is worse where slip is small
BLUE, RED, PATH, RAY = "#cfe0f5", "#f8d9d6", "#22313f", "#5a6672"
EDGE, FAR = 1.55, 3.0  # m/s: half of the figure, and more than the distance to its corners
APPROACH, LONG, OTHER = -2.0, -200.0, -3.0  # m/s; the second ends when every slip has stopped or left for good
SCALE = 2.0  # of r, the slip before: the same path, scaled
Many = Annotated[int, Field(ge=4, le=100_000)]


class Form(Table):
    """configs/baber/fig4.toml"""

    inverse_inertia: Matrix  # 1/kg
    friction: NotNegative
    radius: Positive  # of the starts, m/s
    paths: Many
    directions: Many  # of which it is asked which reach the origin


def run(form: Form, progress: LabelledProgress) -> Result:
    """Inverse, rays, and the sixteen paths."""
    K, mu = np.array(form.inverse_inertia), form.friction
    directions = jimpact.invariant_directions(K, mu)[0]
    angles = np.sort(np.degrees(heading(directions[np.isfinite(directions[:, 0])])) % 360)
    rates = polar(K, mu, unit(np.radians(angles)))[1]
    if (rates > 0).tolist() != [True, False, False, False]:
        raise ConfigError("inverse_inertia: it has not the four rays of section 3.7, the first of them diverging")
    slip = form.radius * unit(2 * np.pi * np.arange(form.paths) / form.paths)
    starts = np.column_stack([slip, np.full(form.paths, APPROACH)])
    path = trace_many(K, starts, mu, 1.0)
    needed, reach = stick_ratio(K), np.isfinite(path.events.slip_end)
    computed = {
        "B-Kinv": numbers(76 * np.linalg.inv(K)),
        "B-Fig4": numbers(angles, gap=np.abs(np.degrees(ray_angles(K, mu)) - angles).max()),
        "B-Fig4-ray": numbers(angles[rates > 0]),
        "B-Fig4-stick": claimed(needed > mu, needed=needed, mu=mu),
        "B-Fig4-origin": numbers(reach.sum(), n=len(reach)),
        **_regions(K, angles, form, progress),
    }
    # The paths of greater slip, and of another approach, beside the first: sample by sample.
    cases = {"B-Fig4-scale": ([SCALE, SCALE, 1], SCALE), "B-Fig4-approach": ([1, 1, OTHER / APPROACH], 1.0)}
    for id, (factors, scale) in cases.items():
        gap, count = _largest_gap(K, mu, path, trace_many(K, starts * np.array(factors), mu, 1.0), scale)
        words = {"n": len(starts), "gap": gap, "count": count, "scale": scale, "other": OTHER, "approach": APPROACH}
        computed[id] = claimed(gap < SAME_PATH, **words)
    kinds = ["diverging" if g > 0 else "converging" for g in rates]
    rows = [[f"{a:.4f}", kind, f"{g:.5f}"] for a, kind, g in zip(angles, kinds, rates, strict=True)]
    return Result(computed, [_draw(path.sliding_velocity, angles)], [grid("fig4", rows)])


def _regions(K: np.ndarray, angles: np.ndarray, form: Form, progress: LabelledProgress) -> dict[str, Computed]:
    """All directions around the circle: which stop, and where slip points in the end."""
    count, (diverging, low, _, high) = form.directions, angles
    degrees = 360 * np.arange(count) / count
    starts = np.column_stack([form.radius * unit(np.radians(degrees)), np.full(count, LONG)])
    impact = solve_many(K, starts, form.friction, 1.0, progress=progress)
    stops = np.isfinite(impact.info.slip_end)
    wrong = stops != ((degrees >= low) & (degrees <= high))
    near = np.abs(degrees[wrong, None] - angles).min(-1).max(initial=0)
    away = np.abs(np.degrees(heading(impact.velocity)) % 360 - diverging)
    words = {"right": count - wrong.sum(), "n": count, "low": low, "high": high, "near": near}
    ends = {"others": away[~stops].max(), "stopped": away[stops].max()}
    return {
        "B-Fig4-regions": numbers([degrees[stops].min(), degrees[stops].max()], **words),
        "B-Fig4-converge": claimed(away.max() < CONVERGED_DEG, **ends),
    }


def _largest_gap(K: np.ndarray, mu: float, path: Path, other: Path, scale: float) -> tuple[float, int]:
    """Largest distance of other(scale p) / scale from path(p), over the slip before; and samples compared.

    Between samples a path is the cubic through both slips with the rates du/dp at both. Where slip stops it has a
    corner, and no cubic is laid across.
    """
    ends, others = path.events.slip_end, other.events.slip_end / scale
    if not np.array_equal(np.isfinite(ends), np.isfinite(others)):
        return np.inf, 0
    gap, count = 0.0, 0
    for i, corner in enumerate(np.where(np.isfinite(ends), ends, np.inf)):
        p, slip = path.normal_impulse[i], path.sliding_velocity[i]
        q, moved = other.normal_impulse[i] / scale, other.sliding_velocity[i] / scale
        for side in (-1, 1):
            mine, theirs = (np.append(True, np.diff(x) > 0) & (side * (x - corner) > 0) for x in (p, q))
            if mine.sum() < 2:
                continue
            theirs &= (q >= p[mine][0]) & (q <= p[mine][-1])
            rates = rate(K, mu, unit(heading(slip[mine])))[:, :2]
            away = CubicHermiteSpline(p[mine], slip[mine], rates)(q[theirs]) - moved[theirs]
            gap = max(gap, np.linalg.norm(away, axis=-1).max(initial=0) / np.linalg.norm(slip[0]))
            count += int(theirs.sum())
    return gap, count


def _draw(paths: np.ndarray, angles: np.ndarray) -> Picture:
    """The first ray is the diverging one; starts between the second and the last reach the origin."""
    picture, (ax,) = page("fig4", count=len(paths))
    wedge = {"lw": 0, "zorder": 0}
    ax.add_patch(Wedge((0, 0), FAR, angles[1], angles[3], fc=BLUE, label="starts that reach the origin", **wedge))
    others = "starts that converge to the diverging ray"
    ax.add_patch(Wedge((0, 0), FAR, angles[3], angles[1] + 360, fc=RED, label=others, **wedge))
    ax.plot([], [], ":", color=RAY, lw=1.6, label="ray of constant sliding")
    ax.plot([], [], "o-", color=PATH, lw=1.3, label="slip, from its start")
    for i, (angle, s) in enumerate(zip(angles, unit(np.radians(angles)), strict=True)):
        ax.plot(*np.stack([0 * s, FAR * s], -1), ":", color=RAY, lw=1.6, zorder=1)
        ahead, aside = (0.06, -0.3) if i == 0 else (-0.06, 0.17)
        arrow = {"arrowstyle": "-|>", "color": RAY, "mutation_scale": 16}
        ax.annotate("", (1.3 + ahead) * s, (1.3 - ahead) * s, arrowprops=arrow, zorder=2)
        ax.text(*(1.3 * s + aside * np.array([-s[1], s[0]])), f"{angle:.1f}°", ha="center", va="center", color="0.25")
    for path in paths:
        ax.plot(*path.T, "o-", color=PATH, lw=1.3, markevery=[0], zorder=3)
    ax.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), aspect="equal")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.09), ncols=2, frameon=False)
    return picture
