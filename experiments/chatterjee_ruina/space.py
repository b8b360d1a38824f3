"""Planar impulse space: impulses that laws reach, and figures.

The figures are those of `jimpact.plotting.impulse_space` with curves of laws laid over them. The curves come from
`solve_many`, so that a law is compiled once for all figures.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

import jimpact
from jimpact.planar import in_space
from jimpact.plotting.impulse_figures import REGION, STYLES, THINNEST, WIDEST, impulse_space
from jimpact.reproduce import LabelledProgress, solve_many

from .baselines import Impacts
from .forms import Scene

UNIT = np.linspace(0, 1, 401)  # restitution
NEAR = 0.4  # of the frame: what is farther outside is not shown
OUTLINE = [withStroke(linewidth=3, foreground="white")]


def flat(scene: Scene) -> Impacts:
    """One planar impact."""
    return Impacts(*map(np.asarray, (scene.inverse_inertia, scene.velocity, scene.friction)))


def curve(impact: Impacts, law: str, progress: LabelledProgress, e: Any = UNIT, **own: Any) -> np.ndarray:
    """Impulses (n, 2) of a law; nan where it has no answer."""
    found = solve_many(*in_space(impact.W, impact.v), impact.mu, e, law=law, progress=progress, **own)
    return np.where((found.outcome == jimpact.Outcome.OK)[:, None], found.impulse[:, ::2], np.nan)


def curves(scene: Scene, progress: LabelledProgress) -> tuple[Impacts, dict[str, np.ndarray]]:
    """The laws of a scene that reach a curve."""
    impact = flat(scene)
    return impact, {law: curve(impact, law, progress) for law in scene.laws if law != REGION}


def canvas(scene: Scene, title: str = "", laws: Sequence[str] = (), **names: str) -> tuple[Figure, Axes]:
    """Energy ellipse, lines and permissible region of a scene; with the reach of the new law if it is among `laws`.

    `names` go before its labels, such as A="$P_I$".
    """
    region = [law for law in laws if law == REGION]
    figure = impulse_space(*flat(scene)[:3], laws=region, title=title or scene.name)
    labels = {label: f"{name} = {label}" for name, label in names.items()}
    for text in figure.axes[0].texts:
        text.set_text(labels.get(text.get_text(), text.get_text()))
    return figure, figure.axes[0]


def draw(ax: Axes, paths: dict[str, np.ndarray]) -> None:
    """From restitution 0 (open mark) to 1 (full mark); the first of several is the widest."""
    widths = np.linspace(WIDEST, THINNEST, len(paths)) if len(paths) > 1 else [3.0]
    for order, ((law, points), width) in enumerate(zip(paths.items(), widths, strict=True)):
        color, marker = STYLES[law]
        look: dict[str, Any] = {"color": color, "marker": marker, "ms": 4 + 0.7 * width, "zorder": 3 + 0.1 * order}
        ax.plot(*points.T, color=color, lw=width, zorder=2 + 0.1 * order, solid_capstyle="butt")
        ax.plot(*points[:1].T, **look, mfc="white", mew=1.4)
        ax.plot(*points[-1:].T, **look, mec="white", mew=0.6)
        ax.plot([], [], **look, lw=width, mec="white", mew=0.6, label=law)
        widen(ax, points)
    legend(ax)


def widen(ax: Axes, points: np.ndarray) -> None:
    """Make room for points if all of them are in the frame or just outside."""
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
    reach, room = NEAR * (high - low), 0.05 * (high - low)
    if ((points > low - reach) & (points < high + reach)).all():
        low, high = np.minimum(low, points.min(0) - room), np.maximum(high, points.max(0) + room)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def mark(ax: Axes, points: dict[str, tuple[np.ndarray, tuple[float, float]]]) -> None:
    """Named points, each with the offset of its name in points."""
    look: dict[str, Any] = {"fontsize": 12, "ha": "center", "va": "center", "path_effects": OUTLINE, "zorder": 7}
    for text, (at, offset) in points.items():
        ax.plot(*at[:, None], "o", color="black", ms=4.5, zorder=6)
        ax.annotate(text, (at[0], at[1]), xytext=offset, textcoords="offset points", **look)


def legend(ax: Axes, ends: bool = True) -> None:
    """Beside the axes: what is drawn, then what the marks at the ends of a curve mean."""
    handles, names = ax.get_legend_handles_labels()
    names = [f"{name}, $e_t$ from $-1$ to $1$" if name == REGION else name for name in names]
    if ends:
        look: dict[str, Any] = {"color": "0.35", "marker": "o", "ms": 6, "ls": "", "mew": 1.4}
        handles += [Line2D([], [], **look, mfc="white"), Line2D([], [], **look)]
        names += ["restitution $e = 0$", "restitution $e = 1$"]
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.01), "frameon": False, "handlelength": 2.6}
    ax.legend(handles, names, fontsize=10, labelspacing=0.65, **place)
