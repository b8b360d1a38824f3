"""Planar impulse space: impulses that laws reach, formulas of the paper's constructions, and figures.

The figures are those of `jimpact.plot_space` with curves of laws laid over them; the curves come from `solve_many`, so
that a law is compiled once for all figures.

| symbol  | meaning                                                          | unit |
|---------|------------------------------------------------------------------|------|
| K       | inverse inertia, axes tangential and normal                      | 1/kg |
| v       | velocity before                                                  | m/s  |
| P       | impulse                                                          | N s  |
"""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

import jimpact
from jimpact.plot_space import REGION, impulse_space
from jimpact.reproduce import Progress, solve_many

from .forms import Scene

__all__ = [
    "SAMPLES",
    "STYLES",
    "Flat",
    "canvas",
    "curve",
    "draw_curve",
    "in_space",
    "legend",
    "mark",
    "rename",
    "share_of_energy",
    "widen",
]

SAMPLES = 401  # of restitution from 0 to 1
# Okabe & Ito's colours, which most kinds of colour blindness tell apart; a law looks the same in every figure.
STYLES = {
    "poisson": ("#56B4E9", "D"),
    "stronge": ("#0072B2", "s"),
    "newton": ("#009E73", "v"),
    "anitescu_potra": ("#E69F00", "P"),
    "whittaker": ("#D55E00", "^"),
    "smith": ("#CC79A7", "o"),
    "sun_baruh": ("#000000", "X"),
}
WIDEST, THINNEST = 7.0, 1.8  # points: laws that share a path are drawn inside one another
NEAR = 0.4  # of the frame: what is farther outside is not shown
OUTLINE = [withStroke(linewidth=3, foreground="white")]


class Flat(NamedTuple):
    """One planar impact as arrays."""

    K: np.ndarray
    v: np.ndarray
    mu: float

    @classmethod
    def of(cls, scene: Scene) -> "Flat":
        return cls(np.array(scene.inverse_inertia), np.array(scene.velocity), scene.friction)

    def plastic(self) -> tuple[np.ndarray, np.ndarray]:
        """P_I and P_II."""
        return np.array([0.0, -self.v[1] / self.K[1, 1]]), -np.linalg.solve(self.K, self.v)


def in_space(K: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A planar impact as one in space that never leaves its plane; the second tangent is as mobile as the first."""
    W = np.zeros((*K.shape[:-2], 3, 3))
    W[..., ::2, ::2] = K
    W[..., 1, 1] = K[..., 0, 0]
    return W, np.stack([v[..., 0], np.zeros_like(v[..., 0]), v[..., 1]], -1)


def curve(flat: Flat, law: str, progress: Progress, e: np.ndarray | None = None) -> np.ndarray:
    """Impulses (n, 2) of a law for restitution e, 0 to 1 if not given; nan where it has no answer."""
    e = np.linspace(0, 1, SAMPLES) if e is None else e
    impact = solve_many(*in_space(flat.K, flat.v), flat.mu, e, law=law, progress=progress)
    good = (impact.outcome == jimpact.Outcome.OK)[:, None]
    return np.where(good, impact.impulse[:, ::2], np.nan)


def share_of_energy(flat: Flat, impulses: np.ndarray) -> np.ndarray:
    """Energy after / before."""
    after = flat.v + impulses @ flat.K
    return np.einsum("ni,ni->n", after, np.linalg.solve(flat.K, after.T).T) / (flat.v @ np.linalg.solve(flat.K, flat.v))


def canvas(scene: Scene, region: bool, title: str | None = None) -> tuple[Figure, Axes]:
    """Energy ellipse, lines and permissible region of a scene; with the reach of the new law if `region`."""
    figure = impulse_space(*Flat.of(scene), laws=(REGION,) if region else (), title=title or scene.name)
    return figure, figure.axes[0]


def draw_curve(ax: Axes, law: str, points: np.ndarray, order: int = 0, of: int = 1) -> None:
    """From restitution 0 (open mark) to 1 (full mark); the first of several is the widest."""
    color, marker = STYLES[law]
    width = np.linspace(WIDEST, THINNEST, of)[order] if of > 1 else 3.0
    look: dict[str, Any] = {"color": color, "marker": marker, "ms": 4 + 0.7 * width, "zorder": 3 + 0.1 * order}
    ax.plot(*points.T, color=color, lw=width, zorder=2 + 0.1 * order, solid_capstyle="butt")
    ax.plot(*points[:1].T, **look, mfc="white", mew=1.4)
    ax.plot(*points[-1:].T, **look, mec="white", mew=0.6)
    ax.plot([], [], **look, lw=width, mec="white", mew=0.6, label=law)
    widen(ax, points)


def widen(ax: Axes, points: np.ndarray) -> None:
    """Make room for points if all of them are in the frame or just outside."""
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
    reach = NEAR * (high - low)
    if ((points > low - reach) & (points < high + reach)).all():
        room = 0.05 * (high - low)
        low, high = np.minimum(low, points.min(0) - room), np.maximum(high, points.max(0) + room)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def rename(ax: Axes, names: dict[str, str]) -> None:
    """Give labels of the canvas other words."""
    for text in ax.texts:
        text.set_text(names.get(text.get_text(), text.get_text()))


def mark(ax: Axes, text: str, at: np.ndarray, offset: tuple[float, float], dot: bool = True) -> None:
    """A named point; `offset` of its name in points."""
    if dot:
        ax.plot(*np.asarray(at)[:, None], "o", color="black", ms=4.5, zorder=6)
    look: dict[str, Any] = {"fontsize": 12, "ha": "center", "va": "center", "path_effects": OUTLINE, "zorder": 7}
    ax.annotate(text, (float(at[0]), float(at[1])), xytext=offset, textcoords="offset points", **look)


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
