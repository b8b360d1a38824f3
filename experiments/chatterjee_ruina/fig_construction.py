"""Figures 1 to 3: points, lines and surfaces of impulse space, and how laws are drawn in it.

Source: Chatterjee & Ruina 1998, sections 3.1-3.3, 4.2.1-4.2.3 and 5.2.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from mpl_toolkits.mplot3d.axes3d import Axes3D

import jimpact
from jimpact.plot_space import permissible_region
from jimpact.reproduce import Finding, Picture, Progress, Result, claim, new, solve_many, unchecked

from .baselines import routh, smith_path, whittaker
from .forms import Construction, Population, Solid
from .populations import Impacts, answer, drawn, energy, joined, planar
from .space import STYLES, Flat, canvas, curve, draw_curve, legend, mark, rename, share_of_energy, widen

__all__ = ["figure_1", "figure_2", "figure_3"]

ROUND = 1e-9  # relative; what laws that follow the slip reach on planar impacts is far better
SMITH = 1e-4  # (8) at the slip that was found, near points where numerator and denominator vanish together
ELLIPSOID, CONE, REACH = "#8D99A6", "#E69F00", "#B8A400"


def figure_1(config: Construction, progress: Progress) -> Result:
    """Points O, A, B, C and a point D with restitution below 1 that gains energy."""
    flat = Flat.of(config.scene)
    one, two = flat.plastic()
    e = config.figure1.restitution
    beyond = curve(flat, "whittaker", progress, np.array([e]))[0]
    figure, ax = canvas(config.scene, region=False, title="Figure 1: permissible impulses of a generic impact")
    line = _restitution_line(flat, e)
    ax.plot(*line.T, color="#D55E00", lw=1.3, ls=(0, (5, 3)), label=f"rebound with $e$ = {e:g}", zorder=1)
    rename(ax, {"$P_I$": "A = $P_I$", "$2P_I$": "B = $2P_I$", "$P_{II}$": "C = $P_{II}$"})
    mark(ax, "O", 0 * one, (-11, -9))
    mark(ax, "D", beyond, (-11, 9))
    widen(ax, beyond[None])
    legend(ax, ends=False)
    share = share_of_energy(flat, np.array([one, 2 * one, two, 2 * two, beyond]))
    findings = [
        claim(
            "CR-fig1",
            "3.1, Fig. 1",
            "D: restitution below 1, energy gained",
            '"on an e < 1 plane but lies outside the initial energy surface"',
            f"e = {e:g} and energy after / before = {share[4]:.4f}",
            holds=share[4] > 1,
        ),
        claim(
            "CR-fig1-points",
            "3.1, Fig. 1",
            "energy after / before at B = 2 P_I, C = P_II and 2 P_II",
            '"conserves energy"; "zero final E_c"; "conserves energy"',
            f"{share[1]:.12f}, {abs(share[2]):.1e} and {share[3]:.12f}",
            holds=bool(np.allclose(share[[1, 2, 3]], [1, 0, 1], atol=ROUND)),
        ),
    ]
    caption = "Impulses inside the ellipse lose energy; D has restitution below 1 and gains it."
    return Result(findings, [Picture("fig1", figure, caption)])


def figure_2(config: Solid, progress: Progress) -> Result:
    """The reach of the new law is a piece of a plane."""
    W, v, mu = np.array(config.inverse_inertia), np.array(config.velocity), config.friction
    e, e_t = np.meshgrid(np.linspace(0, 1, config.samples), np.linspace(-1, 1, config.samples), indexing="ij")
    impact = solve_many(W, v, mu, e, law="chatterjee_ruina", tangential_restitution=e_t, progress=progress)
    P = np.asarray(impact.impulse)
    one, two = np.array([0, 0, -v[2] / W[2, 2]]), -np.linalg.solve(W, v)
    normal = np.cross(one, two) / np.linalg.norm(np.cross(one, two))
    off = np.abs(P @ normal).max() / np.linalg.norm(P, axis=-1).max()
    margins = np.array(jimpact.permissible(W, v, P, mu))
    lost = float(margins.min())
    figure = _solid_figure(config, P, one, two)
    findings = [
        claim(
            "CR-fig2",
            "5.2, Fig. 2",
            "reach of the new law",
            '"2D region in 3D impulse space"; "a weighted sum of" P_I and P_II',
            f"{P[..., 0].size} impulses: off the plane by {off:.0e}, least margin {lost:.0e}",
            holds=off < ROUND and lost > -ROUND,
        ),
        unchecked("CR-fig2-shape", "Fig. 2", "the figure itself", "redrawn", "A sketch; the impact is ours."),
    ]
    caption = "The reach of the new law (yellow) in the half ellipsoid of lost energy (grey) and the friction cone."
    return Result(findings, [Picture("fig2", figure, caption)])


def figure_3(config: Construction, progress: Progress) -> Result:
    """The construction, and the laws of Routh, Smith and Whittaker in it."""
    flat = Flat.of(config.scene)
    pictures = [_panel_a(config), _panel_b(config, flat, progress), _panel_c(config, flat, progress)]
    pictures += [_panel_d(config, flat, progress)]
    return Result([*_batch_findings(config.population, progress), *_permissible_finding(flat)], pictures)


def _panel_a(config: Construction) -> Picture:
    flat = Flat.of(config.scene)
    two = flat.plastic()[1]
    A, B = (two + side * _touching(flat, 0) for side in (-1, 1))  # upright tangents: no normal velocity
    D, C = (two + side * _touching(flat, 1) for side in (-1, 1))
    F = 2 * two
    figure, ax = canvas(config.scene, region=False, title="Figure 3a: construction")
    points = {"A": (A, (-12, 0)), "B": (B, (12, 0)), "C": (C, (0, 12)), "D": (D, (0, -12))}
    points |= {"F": (F, (12, 9)), "O": (0 * two, (-11, -9))}
    rename(ax, {"$2P_I$": "E = $2P_I$"})
    for name, (at, offset) in points.items():
        mark(ax, name, at, offset)
    legend(ax, ends=False)
    return Picture("fig3a", figure, "AB: line of maximum compression; CD: line of sticking; EF: rebound with e = 1.")


def _panel_b(config: Construction, flat: Flat, progress: Progress) -> Picture:
    figure, ax = canvas(config.scene, region=False, title="Figure 3b: Routh's law with Poisson's restitution")
    e = np.linspace(-1, 0, 101)
    _before(ax, "poisson", routh(*_repeated(flat, e), e))
    draw_curve(ax, "poisson", curve(flat, "poisson", progress))
    legend(ax)
    return Picture("fig3b", figure, "Up the friction line, and from the line of sticking on along the other one.")


def _panel_c(config: Construction, flat: Flat, progress: Progress) -> Picture:
    figure, ax = canvas(config.scene, region=False, title="Figure 3c: Smith's law")
    y = np.linspace(flat.v[0], 0.99 * -flat.v[0], 801)[None]
    K, v, mu = _repeated(flat, np.zeros(1))
    path, e = smith_path(K, v, mu, y)
    _before(ax, "smith", path[0][(e[0] <= 0) & (path[0, :, 1] >= 0)])
    reversed_ = 2 * flat.plastic()[1] + np.linspace(-9, 9, 3)[:, None] * np.array([-flat.K[0, 1], flat.K[0, 0]])
    ax.plot(*reversed_.T, color="0.35", lw=1.5, ls=(0, (8, 3)), label="slip reversed ($V_{ft} = -V_{it}$)", zorder=1)
    draw_curve(ax, "smith", curve(flat, "smith", progress))
    legend(ax)
    return Picture("fig3c", figure, "No kink at the line of sticking: the curve leaves the friction line gradually.")


def _panel_d(config: Construction, flat: Flat, progress: Progress) -> Picture:
    figure, ax = canvas(config.scene, region=False, title="Figure 3d: Whittaker's law (Kane & Levinson)")
    for e in config.figure3.restitution:
        line = _restitution_line(flat, e)
        ax.plot(*line.T, color="0.6", lw=0.9, ls=(0, (6, 3)), zorder=1)
        stuck = np.linalg.solve(flat.K, [-flat.v[0], -(1 + e) * flat.v[1]])
        ax.plot(*stuck[:, None], "o", color="black", ms=5, zorder=4)
    ax.plot([], [], color="0.6", lw=0.9, ls=(0, (6, 3)), label="lines of equal restitution")
    ax.plot([], [], "o", color="black", ms=5, label="sticking with that restitution")
    draw_curve(ax, "whittaker", curve(flat, "whittaker", progress))
    legend(ax)
    return Picture("fig3d", figure, "Where sticking would leave the friction cone, the friction line is taken.")


def _before(ax: Axes, law: str, points: np.ndarray) -> None:
    """The part of a path before restitution 0."""
    ax.plot(*points.T, color=STYLES[law][0], lw=2, ls=":", label="path to maximum compression", zorder=2)


def _restitution_line(flat: Flat, e: float) -> np.ndarray:
    along = np.array([-flat.K[1, 1], flat.K[1, 0]])
    return (1 + e) * flat.plastic()[0] + np.linspace(-9, 9, 3)[:, None] * along


def _touching(flat: Flat, axis: int) -> np.ndarray:
    """From the centre of the ellipse to where its normal is that axis."""
    direction = np.linalg.inv(flat.K)[axis]
    radius = np.sqrt(flat.v @ np.linalg.solve(flat.K, flat.v))
    return direction * radius / np.sqrt(direction[axis])


def _repeated(flat: Flat, like: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(like)
    return np.tile(flat.K, (n, 1, 1)), np.tile(flat.v, (n, 1)), np.full(n, flat.mu)


def _batch_findings(population: Population, progress: Progress) -> list[Finding]:
    """Construction against solver on planar impacts."""
    impacts = planar(joined(drawn(population)))
    flat = impacts.W[:, ::2, ::2], impacts.v[:, ::2], impacts.mu
    findings = []
    for law, name, section, formula, words in (
        ("poisson", "Routh", "4.2.1, Fig. 3b", routh, "up along the right friction line"),
        ("whittaker", "Whittaker", "4.2.2, Fig. 3d", whittaker, "the intersection of the dashed line"),
    ):
        found, drawn_ = answer(impacts, law, progress).impulse[:, ::2], formula(*flat, impacts.e)
        gap = float((np.abs(found - drawn_).max(-1) / np.linalg.norm(drawn_, axis=-1)).max())
        text = f"construction of {name}'s law against its solver", f'"{words} [...]"', _largest(gap, impacts)
        findings.append(claim(f"CR-fig3-{name.lower()}", section, *text, holds=gap < ROUND))
    smith = answer(impacts, "smith", progress)
    path, e = smith_path(*flat, smith.velocity[:, :1])
    gap = float((np.abs(path[:, 0] - smith.impulse[:, ::2]).max(-1) / np.linalg.norm(smith.impulse, axis=-1)).max())
    text = "construction of Smith's law against its solver", '"parameterizing it with e [...]"', _largest(gap, impacts)
    good = gap < SMITH and np.abs(e[:, 0] - impacts.e).max() < SMITH
    findings.append(claim("CR-fig3-smith", "4.2.3, Fig. 3c", *text, holds=bool(good)))
    return [*findings, _reversal(impacts, progress)]


def _largest(gap: float, impacts: Impacts) -> str:
    return f"largest difference {gap:.0e} of the impulse, {len(impacts.mu)} planar impacts"


def _reversal(impacts: Impacts, progress: Progress) -> Finding:
    """The solver at the restitution for which the normal axis meets the line of reversed slip."""
    W, v = impacts.W, impacts.v
    p = -2 * v[:, 0] / W[:, 0, 2]  # on the normal axis: the change of slip is twice the slip before
    e = -(v[:, 2] + W[:, 2, 2] * p) / v[:, 2]
    there = (p > 0) & (e >= 0) & (e <= 1)
    smith = answer(impacts.take(there)._replace(e=e[there]), "smith", progress)
    ratio = np.abs(smith.impulse[:, 0]) / smith.impulse[:, 2]
    slip = np.abs(smith.velocity[:, 0] / v[there, 0] + 1)
    on = (ratio < SMITH) & (slip < SMITH)
    return claim(
        "CR-4.2.3-axis",
        "4.2.3, Fig. 3c",
        "Smith's law where the normal axis meets the line of reversed slip, if that has e from 0 to 1",
        '"reaches the normal axis at the point where it intersects the dashed line"',
        f"impulse on the normal axis and slip reversed in {int(on.sum())} of {int(there.sum())} planar impacts",
        holds=bool(on.all() and there.any()),
        why="In the others the solver takes another solution of (8)." if not on.all() else "",
        verdict="" if on.all() else "convention",
    )


def _permissible_finding(flat: Flat) -> list[Finding]:
    corners = permissible_region(flat.K, flat.v, flat.mu)
    x, y = corners.T
    area = 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1))
    two = flat.plastic()[1]
    ellipse = np.pi * (flat.v @ np.linalg.solve(flat.K, flat.v)) / np.sqrt(np.linalg.det(flat.K))
    words = f"{area:.4f} (N s)^2, {100 * area / ellipse:.1f} % of the ellipse about P_II = ({two[0]:.4f}, {two[1]:.4f})"
    return [new("CR-fig3-area", "3.3, Fig. 3a", "area of the permissible region drawn", words)]


def _solid_figure(config: Solid, P: np.ndarray, one: np.ndarray, two: np.ndarray) -> Figure:
    W, v, mu = np.array(config.inverse_inertia), np.array(config.velocity), config.friction
    figure = Figure(figsize=(8.5, 7))
    ax: Axes3D = figure.add_subplot(projection="3d")
    # W = U U^T with U upper triangular: only the last coordinate of the sphere changes the normal velocity.
    root = np.linalg.inv(np.linalg.cholesky(W[::-1, ::-1])[::-1, ::-1]).T * np.sqrt(2 * energy(W, v))
    around, up = np.meshgrid(np.linspace(0, 2 * np.pi, 121), np.linspace(0, 0.5 * np.pi, 31))
    sphere = np.stack([np.cos(around) * np.cos(up), np.sin(around) * np.cos(up), np.sin(up)], -1)
    half = two + sphere @ root.T
    ax.plot_surface(*np.moveaxis(half, -1, 0), color=ELLIPSOID, alpha=0.13, lw=0)
    ax.plot(*half[0].T, color=ELLIPSOID, lw=1.2)
    top = 1.05 * float(P[..., 2].max())
    ring, height = np.meshgrid(np.linspace(0, 2 * np.pi, 121), np.array([0, top]))
    ax.plot_surface(mu * height * np.cos(ring), mu * height * np.sin(ring), height, color=CONE, alpha=0.16, lw=0)
    ax.plot(mu * top * np.cos(ring[0]), mu * top * np.sin(ring[0]), top, color=CONE, lw=1)
    edge = np.concatenate([P[:, 0], P[-1], P[::-1, -1], P[0, ::-1]])
    ax.add_collection3d(Poly3DCollection([edge], facecolor="#F0E442", edgecolor=REACH, alpha=0.85, lw=1.5))
    for name, at in (("O", 0 * one), ("$P_I$", one), ("$2P_I$", 2 * one), ("$P_{II}$", two)):
        ax.plot(*at[:, None], "o", color="black", ms=4)
        ax.text(*at, f"  {name}", fontsize=12)
    ax.set(xlabel="$P_{t1}$ (N s)", ylabel="$P_{t2}$ (N s)", zlabel="normal impulse $P_n$ (N s)", title=config.name)
    ax.set_aspect("equal")
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_major_locator(MaxNLocator(4))
    ax.view_init(elev=14, azim=-70)
    names = {"loses energy and separates (half ellipsoid)": ELLIPSOID, "friction cone": CONE}
    handles = [Patch(fc=color, alpha=0.4, label=name) for name, color in names.items()]
    handles += [Patch(fc="#F0E442", ec=REACH, label="reach of the new law: $e$ from 0 to 1, $e_t$ from $-1$ to 1")]
    figure.legend(handles=handles, loc="lower center", frameon=False, fontsize=10)
    return figure
