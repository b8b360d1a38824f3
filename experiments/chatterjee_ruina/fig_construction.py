"""Figures 1 to 3: points, lines and surfaces of impulse space, and how laws are drawn in it."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from mpl_toolkits.mplot3d.axes3d import Axes3D

import jimpact
from jimpact.plotting.impulse_figures import permissible_region
from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, only, solve_many

from .baselines import Impacts, energy, gap, length, plastic, routh, smith_path, whittaker
from .forms import TEXTS, Construction, Scene, Solid
from .populations import ROUND, answer, joined, planar
from .space import STYLES, canvas, curve, draw, flat, legend, mark, widen

SMITH = 1e-4  # (8) at the slip that was found, near points where numerator and denominator vanish together
BELOW = 0.9  # restitution of point D, outside the energy ellipse
LINES = (0.0, 0.25, 0.5, 0.75, 1.0)  # restitutions of figure 3d
SAMPLES = 41  # of each restitution of figure 2, from end to end
FAR = np.linspace(-9, 9, 3)[:, None]  # along a line, beyond the frame
ELLIPSOID, CONE, REACH, FACE = "#8D99A6", "#E69F00", "#B8A400", "#F0E442"


def figure_1(config: Construction, progress: LabelledProgress) -> Result:
    """Points O, A, B, C and a point D with restitution below 1 that gains energy."""
    impact = flat(config.scene)
    one, two = impact.plastic()
    beyond = curve(impact, "whittaker", progress, [BELOW])[0]
    title, names = "Figure 1: permissible impulses of a generic impact", {"A": "$P_I$", "B": "$2P_I$", "C": "$P_{II}$"}
    figure, ax = canvas(config.scene, title, **names)
    line: dict[str, Any] = {"color": STYLES["whittaker"][0], "lw": 1.3, "ls": (0, (5, 3)), "zorder": 1}
    ax.plot(*_level(impact, BELOW).T, **line, label=f"rebound with $e$ = {BELOW:g}")
    mark(ax, {"O": (0 * one, (-11, -9)), "D": (beyond, (-11, 9))})
    widen(ax, beyond[None])
    legend(ax, ends=False)
    share = impact.gain(np.array([beyond, 2 * one, two, 2 * two]))
    found = {
        "CR-fig1": claimed(share[0] > 1, e=BELOW, share=share[0]),
        "CR-fig1-points": claimed(np.allclose(share[1:], [1, 0, 1], atol=ROUND), share=share[1:]),
    }
    return Result(found, [TEXTS.picture("fig1", figure)])


def figure_2(config: Solid, progress: LabelledProgress) -> Result:
    """The reach of the new law is a piece of a plane."""
    W, v, mu = np.array(config.inverse_inertia), np.array(config.velocity), config.friction
    e, e_t = np.meshgrid(np.linspace(0, 1, SAMPLES), np.linspace(-1, 1, SAMPLES), indexing="ij")
    P = solve_many(W, v, mu, e, law="chatterjee_ruina", tangential_restitution=e_t, progress=progress).impulse
    one, two = plastic(np.linalg.inv(W), v)
    normal = np.cross(one, two) / length(np.cross(one, two))
    off, least = np.abs(P @ normal).max() / length(P).max(), np.array(jimpact.permissible(W, v, P, mu)).min()
    reach = claimed(off < ROUND and least > -ROUND, count=e.size, off=off, least=least)
    return Result({"CR-fig2": reach, "CR-fig2-shape": only()}, [_solid_picture(config, P, one, two)])


def figure_3(config: Construction, progress: LabelledProgress) -> Result:
    """The construction, and the laws of Routh, Smith and Whittaker in it."""
    impact, impacts = flat(config.scene), planar(joined(config.population))
    x, y = permissible_region(*impact[:3]).T
    area = 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1))
    ellipse = 2 * np.pi * energy(impact.W, impact.v) / np.sqrt(np.linalg.det(impact.W))
    found = {"CR-fig3-area": only(area=area, share=100 * area / ellipse, two=impact.plastic()[1])}
    paths = {law: curve(impact, law, progress) for law in ("poisson", "smith", "whittaker")}
    two, M, size = impact.plastic()[1], np.linalg.inv(impact.W), np.sqrt(2 * energy(impact.W, impact.v))
    right, up = M * size / np.sqrt(np.diag(M))[:, None]  # from the centre to where the normal is an axis
    figure, ax = canvas(config.scene, "Figure 3a: construction", E="$2P_I$")
    points = {"A": (two - right, (-12, 0)), "B": (two + right, (12, 0)), "C": (two + up, (0, 12))}
    points |= {"D": (two - up, (0, -12)), "F": (2 * two, (12, 9)), "O": (0 * two, (-11, -9))}
    mark(ax, points)
    legend(ax, ends=False)
    pictures = [TEXTS.picture("fig3a", figure), *_panels(config.scene, impact, paths)]
    return Result(found | _batch(impacts, progress), pictures)


def _panels(scene: Scene, impact: Impacts, paths: dict[str, np.ndarray]) -> list[Picture]:
    """The curve of each law, its path to maximum compression, and the lines that it is found by."""
    W, v, grid = impact.W, impact.v, np.linspace(-1, 0, 101)
    one, b = canvas(scene, "Figure 3b: Routh's law with Poisson's restitution")
    before: dict[str, Any] = {"lw": 2, "ls": ":", "label": "path to maximum compression", "zorder": 2}
    up = routh(*(np.broadcast_to(a, (len(grid), *a.shape)) for a in impact[:3]), grid)
    b.plot(*up.T, color=STYLES["poisson"][0], **before)

    two, c = canvas(scene, "Figure 3c: Smith's law")
    (path,), (e,) = smith_path(*(a[None] for a in impact[:3]), np.linspace(v[0], 0.99 * -v[0], 801)[None])
    c.plot(*path[(e <= 0) & (path[:, 1] >= 0)].T, color=STYLES["smith"][0], **before)
    line = 2 * impact.plastic()[1] + FAR * [-W[0, 1], W[0, 0]]
    c.plot(*line.T, color="0.35", lw=1.5, ls=(0, (8, 3)), label="slip reversed ($V_{ft} = -V_{it}$)", zorder=1)

    three, d = canvas(scene, "Figure 3d: Whittaker's law (Kane & Levinson)")
    for e, label in zip(LINES, ("lines of equal restitution", *[None] * len(LINES)), strict=False):
        d.plot(*_level(impact, e).T, color="0.6", lw=0.9, ls=(0, (6, 3)), zorder=1, label=label)
    stuck = np.array([np.linalg.solve(W, [-v[0], -(1 + e) * v[1]]) for e in LINES])
    d.plot(*stuck.T, "o", color="black", ms=5, zorder=4, label="sticking with that restitution")

    for ax, law in zip((b, c, d), ("poisson", "smith", "whittaker"), strict=True):
        draw(ax, {law: paths[law]})
    return [TEXTS.picture("fig3b", one), TEXTS.picture("fig3c", two), TEXTS.picture("fig3d", three)]


def _level(impact: Impacts, e: float) -> np.ndarray:
    """The line of one restitution."""
    return (1 + e) * impact.plastic()[0] + FAR * [-impact.W[1, 1], impact.W[1, 0]]


def _batch(impacts: Impacts, progress: LabelledProgress) -> dict[str, Computed]:
    """Construction against solver on planar impacts."""
    W, v, n, found = impacts.W, impacts.v, len(impacts.mu), {}
    planes = W[:, ::2, ::2], v[:, ::2], impacts.mu
    for law, name, construction in (("poisson", "routh", routh), ("whittaker", "whittaker", whittaker)):
        off = gap(answer(impacts, law, progress).impulse[:, ::2], construction(*planes, impacts.e))
        found[f"CR-fig3-{name}"] = claimed(off < ROUND, off=off, count=n)
    smith = answer(impacts, "smith", progress)
    path, e = smith_path(*planes, smith.velocity[:, :1])
    off = gap(path[:, 0], smith.impulse[:, ::2])
    met = off < SMITH and np.abs(e[:, 0] - impacts.e).max() < SMITH

    # The solver at the restitution for which the normal axis meets the line of reversed slip.
    p = -2 * v[:, 0] / W[:, 0, 2]  # on the normal axis: the change of slip is twice the slip before
    e = -1 - W[:, 2, 2] * p / v[:, 2]
    there = (p > 0) & (e >= 0) & (e <= 1)
    smith = answer(impacts.take(there)._replace(e=e[there]), "smith", progress)
    ratio, slip = np.abs(smith.impulse[:, 0]) / smith.impulse[:, 2], np.abs(smith.velocity[:, 0] / v[there, 0] + 1)
    on = (ratio < SMITH) & (slip < SMITH)
    return found | {
        "CR-fig3-smith": claimed(met, off=off, count=n),
        "CR-4.2.3-axis": claimed(on.all() and there.any(), on=on.sum(), there=len(on)),
    }


def _solid_picture(config: Solid, P: np.ndarray, one: np.ndarray, two: np.ndarray) -> Picture:
    figure = Figure(figsize=(8.5, 7))
    ax: Axes3D = figure.add_subplot(projection="3d")
    # Impulses that keep the energy and separate: W = U U^T with U upper triangular, so that only the last coordinate of
    # the unit sphere changes the normal velocity.
    W, v = np.array(config.inverse_inertia), np.array(config.velocity)
    root = np.linalg.inv(np.linalg.cholesky(W[::-1, ::-1])[::-1, ::-1]).T * np.sqrt(2 * energy(W, v))
    turn, up = np.meshgrid(np.linspace(0, 2 * np.pi, 121), np.linspace(0, 0.5 * np.pi, 31))
    half = two + np.stack([np.cos(turn) * np.cos(up), np.sin(turn) * np.cos(up), np.sin(up)], -1) @ root.T
    ax.plot_surface(*np.moveaxis(half, -1, 0), color=ELLIPSOID, alpha=0.13, lw=0)
    ax.plot(*half[0].T, color=ELLIPSOID, lw=1.2, label="loses energy and separates (half ellipsoid)")
    height = 1.05 * P[..., 2].max() * np.array([[0.0], [1.0]]) * np.ones(121)
    cone = config.friction * height * np.cos(turn[:2]), config.friction * height * np.sin(turn[:2]), height
    ax.plot_surface(*cone, color=CONE, alpha=0.16, lw=0)
    ax.plot(*(a[1] for a in cone), color=CONE, lw=1, label="friction cone")
    edge = np.concatenate([P[:, 0], P[-1], P[::-1, -1], P[0, ::-1]])
    ax.add_collection3d(Poly3DCollection([edge], facecolor=FACE, alpha=0.85))
    ax.plot(*edge.T, color=REACH, lw=1.5, label="reach of the new law: $e$ from 0 to 1, $e_t$ from $-1$ to 1")
    for name, at in (("O", 0 * one), ("$P_I$", one), ("$2P_I$", 2 * one), ("$P_{II}$", two)):
        ax.plot(*at[:, None], "o", color="black", ms=4)
        ax.text(*at, f"  {name}", fontsize=12)
    ax.set(xlabel="$P_{t1}$ (N s)", ylabel="$P_{t2}$ (N s)", zlabel="normal impulse $P_n$ (N s)")
    ax.set(title="Figure 2: what the new law reaches in space", aspect="equal")
    ax.locator_params(nbins=4)
    ax.view_init(elev=14, azim=-70)
    figure.legend(loc="lower center", frameon=False, fontsize=10)
    return TEXTS.picture("fig2", figure)
