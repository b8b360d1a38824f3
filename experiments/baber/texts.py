"""The texts of this paper: findings in `findings.toml`, all others in `texts.toml`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jimpact.reproduce import Grid, Picture, load_rows
from jimpact.schemas.config import read_text

ROWS = load_rows(Path(__file__).with_name("findings.toml"))
TEXTS = read_text(Path(__file__).with_name("texts.toml"))


def page(name: str, **words: Any) -> tuple[Picture, list[Axes]]:
    """An empty picture and its panels; the words fill fields of their titles."""
    look = TEXTS["pictures"][name]
    figure = Figure(figsize=look["size"], layout="constrained")
    axes = list(figure.subplots(1, len(look["panels"]), squeeze=False)[0])
    for ax, panel in zip(axes, look["panels"], strict=True):
        ax.set(xlabel=panel["xlabel"], ylabel=panel["ylabel"])
        ax.set_title(panel["title"].format(**words), fontsize=11)
    return Picture(name, figure, look["caption"]), axes


def grid(part: str, rows: Sequence[Sequence[Any]]) -> Grid:
    return Grid(rows=rows, **TEXTS["grids"][part])


class Spread(NamedTuple):
    least: float
    median: float
    most: float


def spread(values: np.ndarray) -> Spread:
    return Spread(values.min(), np.median(values), values.max())


def listed(values: Iterable[Any], spec: str = ".4f") -> str:
    """Numbers in one format, with commas."""
    return ", ".join(format(value, spec) for value in values)
