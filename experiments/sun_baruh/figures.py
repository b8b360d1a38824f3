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
COLUMNS = 4  # of the legend
PANEL, GAPS = (3.3, 2.45), (0.72, 0.36)  # inches: width and height of a map, and between maps
LEFT, RIGHT, ABOVE = 0.65, 0.72, 0.65  # inches
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


def maps(frame: Frame, rows: Sequence[Sequence[Panel]], title: str) -> Figure:
    """Rows of panels with one legend of the modes that occur."""
    handles = _handles([panel for row in rows for panel in row])
    lines = -(-len(handles) // COLUMNS)
    figure, grid = _sheet(len(rows), len(rows[0]), 0.65 + 0.22 * lines)
    for i, row in enumerate(rows):
        for j, panel in enumerate(row):
            axes = grid[i, j]
            _draw(figure, axes, frame, panel)
            axes.set_xlabel(frame.x_label if i == len(rows) - 1 else "")
            axes.set_ylabel(frame.y_label if j == 0 else "")
    figure.suptitle(title, fontsize=12, y=1 - 0.1 / figure.get_figheight(), va="top")
    figure.legend(handles=handles, loc="lower center", ncols=min(COLUMNS, len(handles)), fontsize=9, frameon=False)
    return figure


def _sheet(rows: int, columns: int, below: float) -> tuple[Figure, np.ndarray]:
    """Axes of one size, placed in inches: a layout that measures every label takes as long as drawing them."""
    width = LEFT + columns * PANEL[0] + (columns - 1) * GAPS[0] + RIGHT
    height = below + rows * PANEL[1] + (rows - 1) * GAPS[1] + ABOVE
    figure = Figure(figsize=(width, height))
    figure.subplots_adjust(
        left=LEFT / width,
        right=1 - RIGHT / width,
        bottom=below / height,
        top=1 - ABOVE / height,
        wspace=GAPS[0] / PANEL[0],
        hspace=GAPS[1] / PANEL[1],
    )
    return figure, figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)


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
        figure.colorbar(image, cax=axes.inset_axes((1.02, 0, 0.045, 1)))
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


def _handles(panels: Sequence[Panel]) -> list[Patch]:
    """The legend: modes that occur, and what marks wrong ones."""
    seen = sorted(set().union(*(np.unique(panel.values).tolist() for panel in _modes(panels))))
    handles = [Patch(facecolor=COLOURS[k], edgecolor="#777777", label=f"{k}  {jimpact.MODES[k]}") for k in seen]
    marked = [panel for panel in panels if panel.wrong is not None and panel.wrong.any()]
    if marked:
        label = OUTLINED if len(marked) > len(_modes(marked)) else WRONG
        handles.append(Patch(facecolor="white", edgecolor="black", hatch="////", label=label))
    return handles


def _modes(panels: Sequence[Panel]) -> list[Panel]:
    return [panel for panel in panels if np.issubdtype(panel.values.dtype, np.integer)]
