"""Maps over two axes, several beside each other: modes in the colours of a legend, quantities with a colour bar."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import jimpact

__all__ = ["COLOURS", "Frame", "Panel", "draw_modes", "maps"]

COLOURS = ("#dfe3ea", "#2a9d8f", "#d1495b", "#8fd0c6", "#f0a3ad", "#16325c", "#e09f3e")
WRONG = "names another mode than the exact solution"
OUTLINED = f"{WRONG} (below: white line)"


class Frame(NamedTuple):
    """The axes of a map."""

    x: np.ndarray
    y: np.ndarray
    x_label: str
    y_label: str


class Panel(NamedTuple):
    """One map: whole numbers are modes, others a quantity; both of shape (len(x), len(y))."""

    title: str
    values: Any
    wrong: np.ndarray | None = None  # hatched, or outlined in white
    colours: str = "viridis"
    limits: tuple[float, float] | None = None


def maps(frame: Frame, rows: Sequence[Sequence[Panel]], title: str, wide: float = 4.3, high: float = 2.9) -> Figure:
    """Rows of panels with one legend of the modes that occur."""
    figure = Figure(figsize=(wide * len(rows[0]), high * len(rows) + 0.9), layout="constrained")
    grid = figure.subplots(len(rows), len(rows[0]), squeeze=False, sharex=True, sharey=True)
    for i, row in enumerate(rows):
        for j, panel in enumerate(row):
            axes = grid[i, j]
            _draw(figure, axes, frame, panel)
            axes.set_xlabel(frame.x_label if i == len(rows) - 1 else "")
            axes.set_ylabel(frame.y_label if j == 0 else "")
    figure.suptitle(title, fontsize=12)
    _legend(figure, [panel for row in rows for panel in row])
    return figure


def draw_modes(axes: Axes, frame: Frame, mode: np.ndarray) -> None:
    colours = ListedColormap(COLOURS)
    norm = BoundaryNorm(np.arange(-0.5, len(COLOURS)), len(COLOURS))
    axes.imshow(mode.T, cmap=colours, norm=norm, **_placed(frame))


def _draw(figure: Figure, axes: Axes, frame: Frame, panel: Panel) -> None:
    axes.set_title(panel.title, fontsize=10)
    if np.issubdtype(panel.values.dtype, np.integer):
        draw_modes(axes, frame, panel.values)
    else:
        low, high = panel.limits or (None, None)
        image = axes.imshow(panel.values.T, cmap=panel.colours, vmin=low, vmax=high, **_placed(frame))
        figure.colorbar(image, ax=axes, pad=0.02)
    if panel.wrong is not None and panel.wrong.any():
        mask = panel.wrong.T.astype(float)
        if np.issubdtype(panel.values.dtype, np.integer):
            axes.contourf(frame.x, frame.y, mask, levels=[0.5, 1.5], colors="none", hatches=["////"])
        else:
            axes.contour(frame.x, frame.y, mask, levels=[0.5], colors="white", linewidths=0.8)


def _placed(frame: Frame) -> dict:
    """Where `imshow` puts cells that are centred on the points of the axes."""
    edges = []
    for values in (frame.x, frame.y):
        half = 0.5 * (values[1] - values[0])
        edges += [values[0] - half, values[-1] + half]
    return {"origin": "lower", "extent": edges, "aspect": "auto", "interpolation": "nearest"}


def _legend(figure: Figure, panels: Sequence[Panel]) -> None:
    seen = sorted(set().union(*(np.unique(panel.values).tolist() for panel in _modes(panels))))
    handles = [Patch(facecolor=COLOURS[k], edgecolor="#777777", label=f"{k}  {jimpact.MODES[k]}") for k in seen]
    marked = [panel for panel in panels if panel.wrong is not None and panel.wrong.any()]
    if marked:
        label = OUTLINED if len(marked) > len(_modes(marked)) else WRONG
        handles.append(Patch(facecolor="white", edgecolor="black", hatch="////", label=label))
    columns = min(4, len(handles))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=9, frameon=False)


def _modes(panels: Sequence[Panel]) -> list[Panel]:
    return [panel for panel in panels if np.issubdtype(panel.values.dtype, np.integer)]
