"""Maps over two axes, several beside each other: modes in the colours of a legend, quantities with a colour bar."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import jimpact

from .rod import Map, Solved

COLOURS = ("#dfe3ea", "#2a9d8f", "#d1495b", "#8fd0c6", "#f0a3ad", "#16325c", "#e09f3e")
WRONG = "names another mode than the exact solution"
OUTLINED = f"{WRONG} (below: white line)"
COLUMNS = 4  # of the legend
PANEL, GAPS = (3.3, 2.45), (0.72, 0.36)  # inches: width and height of a map, and between maps
LEFT, RIGHT, ABOVE = 0.65, 0.72, 0.65  # inches


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
    wrong: Any = np.False_  # hatched, or outlined in white
    colours: str = "viridis"
    limits: tuple[float | None, float | None] = (None, None)

    @property
    def is_mode(self) -> bool:
        return np.issubdtype(self.values.dtype, np.integer)


def triples(solved: Sequence[Solved], titles: Sequence[str], endings: Sequence[str], e=1.0) -> list[list[Panel]]:
    """For each map a row: modes, normal velocity after / before (and over restitution), energy after / before."""
    normal, energy = [one.normal / e for one in solved], [one.energy for one in solved]
    spans = [(float(np.min(arrays)), float(np.max(arrays))) for arrays in (normal, energy)]
    rows = []
    for i, (one, ending) in enumerate(zip(solved, endings, strict=True)):
        mode, velocity, left = (title + ending for title in titles)
        rows.append([Panel(mode, one.mode), Panel(velocity, normal[i], limits=spans[0])])
        rows[-1].append(Panel(left, energy[i], colours="magma", limits=spans[1]))
    return rows


def compared(m: Map, quantity: str, restitution: float = 1.0) -> list[list[Panel]]:
    """A row for the approximation, with what it names wrongly, and one for the exact solution."""
    titles = ("mode, ", f"{quantity}, ", "energy after / before, ")
    rows = triples((m.near, m.exact), titles, ("approximation", "exact"), restitution)
    rows[0][0] = rows[0][0]._replace(wrong=m.wrong)
    return rows


def maps(frame: Frame, rows: Sequence[Sequence[Panel]], title: str) -> Figure:
    """Rows of panels with one legend: of the modes that occur, and what marks wrong ones."""
    panels = [panel for row in rows for panel in row]
    seen = np.unique(np.concatenate([np.ravel(panel.values) for panel in panels if panel.is_mode]))
    handles = [Patch(facecolor=COLOURS[k], edgecolor="#777777", label=f"{k}  {jimpact.MODES[k]}") for k in seen]
    marked = [panel for panel in panels if panel.wrong.any()]
    if marked:
        label = WRONG if all(panel.is_mode for panel in marked) else OUTLINED
        handles.append(Patch(facecolor="white", edgecolor="black", hatch="////", label=label))
    # Axes of one size, placed in inches: a layout that measures every label takes as long as drawing them.
    (n, m), below = (len(rows), len(rows[0])), 0.65 + 0.22 * -(-len(handles) // COLUMNS)
    width, height = LEFT + m * PANEL[0] + (m - 1) * GAPS[0] + RIGHT, below + n * PANEL[1] + (n - 1) * GAPS[1] + ABOVE
    figure = Figure(figsize=(width, height))
    figure.subplots_adjust(LEFT / width, below / height, 1 - RIGHT / width, 1 - ABOVE / height)
    figure.subplots_adjust(wspace=GAPS[0] / PANEL[0], hspace=GAPS[1] / PANEL[1])
    grid = figure.subplots(n, m, squeeze=False, sharex=True, sharey=True)
    for axes, panel in zip(grid.flat, panels, strict=True):
        _draw(axes, frame, panel)
    for axes in grid[-1]:
        axes.set_xlabel(frame.x_label)
    for axes in grid[:, 0]:
        axes.set_ylabel(frame.y_label)
    figure.suptitle(title, fontsize=12, y=1 - 0.1 / height, va="top")
    figure.legend(handles=handles, loc="lower center", ncols=min(COLUMNS, len(handles)), fontsize=9, frameon=False)
    return figure


def _draw(axes: Axes, frame: Frame, panel: Panel) -> None:
    axes.set_title(panel.title, fontsize=10)
    extent = [edge for a in (frame.x, frame.y) for edge in (1.5 * a[0] - 0.5 * a[1], 1.5 * a[-1] - 0.5 * a[-2])]
    placed: dict[str, Any] = {"origin": "lower", "extent": extent, "aspect": "auto", "interpolation": "nearest"}
    if panel.is_mode:
        norm = BoundaryNorm(np.arange(-0.5, len(COLOURS)), len(COLOURS))
        axes.imshow(panel.values.T, cmap=ListedColormap(COLOURS), norm=norm, **placed)
    else:
        image = axes.imshow(panel.values.T, cmap=panel.colours, vmin=panel.limits[0], vmax=panel.limits[1], **placed)
        axes.figure.colorbar(image, cax=axes.inset_axes((1.02, 0, 0.045, 1)))
    if panel.wrong.any() and panel.is_mode:
        axes.contourf(frame.x, frame.y, panel.wrong.T, levels=[0.5, 1.5], colors="none", hatches=["////"])
    elif panel.wrong.any():
        axes.contour(frame.x, frame.y, panel.wrong.T, levels=[0.5], colors="white", linewidths=0.8)
