"""Figures of a fit: likelihood, predictions, residuals and worst impacts. Each function returns a matplotlib Figure."""

import math

import jax.numpy as jnp
import numpy as np
from matplotlib import colormaps
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from scipy import stats

from jimpact.identify.compare import Comparison
from jimpact.identify.fit import Fit
from jimpact.identify.least_squares import minimise
from jimpact.identify.material import COEFFICIENTS
from jimpact.laws import LAWS
from jimpact.plotting.impact import CONE, PATH, PLANE, STICK, draw_hodograph, follow

__all__ = [
    "comparison",
    "contour",
    "held_out",
    "measured",
    "profiles",
    "residuals",
    "with_unit",
    "worst",
    "worst_impacts",
]

CONTOUR = "#16325c"
WIDE = 4.0  # half width of a contour in standard deviations
LEVELS = (0.5, 0.9, 0.99)
GRID, LARGE = 21, 2000  # points along each side of a contour; a third of them for LARGE or more impacts
MOST = 6  # panels of profiles
LEAST_SPREAD = 1e-4  # least standard deviation for the width of a contour
BLUES = ListedColormap(colormaps["Blues_r"](np.linspace(0.4, 1, 256)))  # light enough for dark lines
UNITS = {
    **dict.fromkeys(("ux", "uy", "uz", "vx", "vy", "vz"), "m/s"),
    **dict.fromkeys(("w", "wx", "wy", "wz"), "rad/s"),
}


def with_unit(channel: str) -> str:
    """The name of a channel with its unit, if the unit is known: channels of CSV files and of bodies."""
    unit = UNITS.get((channel.split() or [""])[0])
    return f"{channel} ({unit})" if unit else channel


def _title(name: str) -> str:
    """The name of a fitted number; coefficients have no unit."""
    words = name.replace("_", " ")
    return f"coefficient of {words} (1)" if name in COEFFICIENTS else words


def contour(fit: Fit, x: str = "friction", y: str = "restitution") -> Figure | None:
    """Likelihood of two numbers, maximised over the others; None unless both are fitted and identifiable."""
    if x not in fit.names or y not in fit.names:
        return None
    i, j = fit.names.index(x), fit.names.index(y)
    spread = np.sqrt(np.diag(fit.covariance))
    if not np.isfinite(spread[[i, j]]).all():
        return None
    count = GRID if len(fit.rebounds) < LARGE else GRID // 3
    low, high = fit.material.bounds()
    sides = []
    for at in (i, j):
        half = WIDE * max(spread[at], LEAST_SPREAD)
        ends = max(fit.numbers[at] - half, low[at]), min(fit.numbers[at] + half, high[at])
        sides.append(np.linspace(*ends, count))
    a, b = np.meshgrid(*sides)
    natural = np.tile(fit.numbers, (a.size, 1))
    natural[:, i], natural[:, j] = a.ravel(), b.ravel()
    held = np.zeros(natural.shape, bool)
    held[:, [i, j]] = True
    free = np.stack([np.asarray(fit.material.free(jnp.asarray(row))) for row in natural])
    cost = minimise(fit.choice, fit.material, fit.solved.problem, free, held).cost.reshape(a.shape)
    fig = Figure(figsize=(5.2, 4.4), layout="constrained")
    ax = fig.add_subplot()
    fall = cost - min(fit.solved.cost, cost.min())
    ax.contourf(a, b, np.sqrt(fall), levels=np.linspace(0, WIDE, 17), cmap=BLUES, extend="max")
    lines = ax.contour(a, b, fall, levels=stats.chi2.ppf(LEVELS, 2), colors=CONTOUR, linewidths=1.2)
    ax.clabel(lines, fmt=dict(zip(lines.levels, (f"{100 * level:g} %" for level in LEVELS), strict=True)))
    ax.plot(fit.numbers[i], fit.numbers[j], "o", color=STICK, label="estimate")
    ax.set(xlabel=_title(x), ylabel=_title(y), title="Confidence regions")
    ax.legend(fontsize=8)
    return fig


def profiles(fit: Fit) -> Figure:
    """Profile likelihood of each number: twice its fall, with the 95 % level and the parabola of the curvature."""
    names = fit.names[:MOST]
    fig = _panels(len(names))
    for ax, name in zip(fig.axes, names, strict=True):
        curve, at = fit.profile(name), fit.numbers[fit.names.index(name)]
        ax.plot(curve.values, curve.fall, "o-", color=PATH, markersize=3, label="profile")
        spread = fit.standard_error[name]
        if np.isfinite(spread) and spread > 0:
            x = np.linspace(curve.values.min(), curve.values.max(), 200)
            ax.plot(x, ((x - at) / spread) ** 2, color=CONE, linestyle="--", label="curvature")
        ax.axhline(stats.chi2.ppf(0.95, 1), color=STICK, linewidth=1, label="95 %")
        ax.axvline(at, color=PLANE, linewidth=1, label="estimate")
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.set(xlabel=_title(name), ylim=(0, max(4.5, min(10.0, float(curve.fall.max()) * 1.05))))
        ax.set_ylabel("fall of 2 log-likelihood (1)")
    fig.axes[0].legend(fontsize=8, loc="upper center")
    return fig


def measured(fit: Fit) -> Figure:
    """Predicted against measured values, a panel per channel."""
    fig = _panels(len(fit.rebounds.channels))
    predicted, seen = fit.predict(), np.where(np.isfinite(fit.sigma), np.asarray(fit.rebounds.observation), np.nan)
    for c, (ax, name) in enumerate(zip(fig.axes, fit.rebounds.channels, strict=True)):
        ax.plot(seen[:, c], predicted[:, c], ".", color=PATH, markersize=4, alpha=0.6)
        both = np.concatenate([seen[:, c], predicted[:, c]])
        ends = [np.nanmin(both), np.nanmax(both)]
        ax.plot(ends, ends, color=CONE, linewidth=1, label="equal")
        ax.set_title(name, parse_math=False, fontsize=10)
        unit = with_unit(name).removeprefix(name)
        ax.set(xlabel=f"measured{unit}", ylabel=f"predicted{unit}")
    fig.axes[0].legend(fontsize=8)
    return fig


def residuals(fit: Fit) -> Figure:
    """Residuals in units of the noise, a panel per channel, with those of the best impulse and the normal density."""
    fig = _panels(len(fit.rebounds.channels))
    there = np.isfinite(fit.sigma)
    of_law = fit.residuals / fit.sigma
    of_any = np.where(there, fit.floor.residual / np.where(there, fit.sigma, 1), np.nan)
    for c, (ax, name) in enumerate(zip(fig.axes, fit.rebounds.channels, strict=True)):
        seen = of_law[there[:, c], c]
        edge = float(np.clip(np.quantile(np.abs(seen), 0.99) if len(seen) else 3, 3, 30))
        bins = np.linspace(-edge, edge, 31).tolist()
        ax.hist(np.clip(seen, -edge, edge), bins, density=True, color=PATH, alpha=0.55, label="law")
        if fit.floor.freedom.sum():
            best = np.clip(of_any[there[:, c], c], -edge, edge)
            ax.hist(best, bins, density=True, histtype="step", color=STICK, label="any impulse")
        x = np.linspace(-edge, edge, 200)
        ax.plot(x, stats.norm.pdf(x), color=CONE, linewidth=1, label="normal")
        ax.set_title(name, parse_math=False, fontsize=10)
        ax.set(xlabel="residual / noise (1)", ylabel="density (1)")
    fig.axes[0].legend(fontsize=8)
    return fig


def worst_impacts(fit: Fit, count: int = 4) -> list[int]:
    """Indices of the impacts that the fit explains worst, the worst first."""
    square = np.nansum((fit.residuals / fit.sigma) ** 2, -1)
    return [int(i) for i in np.argsort(-square)[:count]]


def worst(fit: Fit, count: int = 4) -> Figure | None:
    """Hodographs of the impacts that the fit explains worst; None for a law that does not follow the slip."""
    if LAWS[fit.choice.law].rule is None:
        return None
    rows = [i for i in worst_impacts(fit, count) if fit.rebounds.velocity[i, 2] < 0]
    if not rows:
        return None
    given, data = fit.coefficients(), fit.rebounds
    columns = min(2, len(rows))
    fig = Figure(figsize=(4.8 * columns, 5.0 * math.ceil(len(rows) / columns)), layout="constrained")
    for place, i in enumerate(rows):
        W, v = np.asarray(data.inverse_inertia[i]), np.asarray(data.velocity[i])
        own = {name: value[i] for name, value in given.items() if name == "static_friction"}
        track = follow(W, v, given["friction"][i], given["restitution"][i], law=fit.choice.law, **own)
        ax = fig.add_subplot(math.ceil(len(rows) / columns), columns, place + 1)
        draw_hodograph(ax, [track], W, given["friction"][i])
        after = v + W @ fit.floor.impulse[i]
        ax.plot(after[0], after[1], "*", color=STICK, markersize=12, zorder=7)
        ax.set_title(f"impact {i}", fontsize=10)
        legend = ax.get_legend()  # of the slip and its invariant directions
        known = legend.legend_handles if legend else []
        star = Line2D([], [], ls="", marker="*", color=STICK, markersize=12, label="slip after, measured")
        ax.legend(handles=[*known, star], loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False, fontsize=9)
    return fig


def comparison(table: Comparison) -> Figure:
    """Held-out error of each law, in units of the noise."""
    fig = Figure(figsize=(6.4, 0.4 * len(table.rows) + 1.2), layout="constrained")
    ax = fig.add_subplot()
    names = [row.law for row in table.rows][::-1]
    scores = [row.score for row in table.rows][::-1]
    ax.barh(names, scores, color=PATH, alpha=0.75)
    ax.set(xlabel="held-out error / noise", xlim=(0, min(max(scores), 5 * min(scores)) * 1.05))
    ax.axvline(min(scores), color=STICK, linewidth=1)
    for place, score in enumerate(scores):  # a label even for a bar that is longer than the axis
        ax.text(0.01 * ax.get_xlim()[1], place, f"{score:.3g}", va="center", color="white", fontsize=9)
    return fig


def held_out(table: Comparison) -> Figure:
    """Held-out residuals of each law, a panel per channel: median, quartiles, and 5 to 95 %."""
    channels = table.best.fit.rebounds.channels
    columns = min(len(channels), 3)
    height = 0.3 * len(table.rows) + 1.2
    fig = Figure(figsize=(2.2 + 2.6 * columns, height * math.ceil(len(channels) / columns)), layout="constrained")
    for c, name in enumerate(channels):
        ax = fig.add_subplot(math.ceil(len(channels) / columns), columns, c + 1)
        left = [row.held_out[np.isfinite(row.held_out[:, c]), c] for row in table.rows[::-1]]
        boxes = ax.boxplot(left, orientation="horizontal", whis=(5, 95), showfliers=False, patch_artist=True)
        for box in boxes["boxes"]:
            box.set(facecolor=PATH, alpha=0.5)
        ax.axvline(0, color=STICK, linewidth=1)
        ax.set_yticks(range(1, len(left) + 1), [row.law for row in table.rows[::-1]] if c % columns == 0 else [])
        ax.set_title(name, parse_math=False, fontsize=10)
        ax.set_xlabel("measured - predicted")
    return fig


def _panels(count: int) -> Figure:
    columns = min(count, 3)
    rows = math.ceil(count / columns)
    fig = Figure(figsize=(3.6 * columns, 3.0 * rows), layout="constrained")
    for i in range(count):
        fig.add_subplot(rows, columns, i + 1)
    return fig
