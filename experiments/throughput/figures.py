"""Two figures: time against the size of the batch, and error against time. Functions return a matplotlib Figure."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .race import Row
from .sweep import Point

__all__ = ["accuracy_figure", "batch_figure"]

COLORS = {
    "jimpact": "#1f4e9c",
    "diffrax": "#d1495b",
    "SciPy": "#e09f3e",
    "NumPy": "#7b4fa3",
    "numba": "#3a9ec2",
    "C": "#2a9d8f",
}
SERIES = {
    ("forward", "float64"): ("#1f4e9c", "o-"),
    ("forward", "float32"): ("#3a9ec2", "s-"),
    ("gradient", "float64"): ("#d1495b", "o--"),
    ("gradient", "float32"): ("#e09f3e", "s--"),
}
FLOOR, CEILING = 1e-17, 1e3  # errors beyond are drawn here


def batch_figure(points: Sequence[Point]) -> Figure:
    """Time per impact, and time to compile, against the size of the batch."""
    fig = Figure(figsize=(9, 4), layout="constrained")
    left, right = fig.subplots(1, 2, sharex=True)
    for (what, dtype), (color, style) in SERIES.items():
        own = [p for p in points if (p.what, p.dtype) == (what, dtype) and p.best_us is not None]
        if own:
            batch = [p.batch for p in own]
            left.plot(batch, [p.best_us for p in own], style, color=color, ms=4, label=f"{what}, {dtype}")
            right.plot(batch, [p.compile_s for p in own], style, color=color, ms=4)
    left.set(xscale="log", yscale="log", xlabel="impacts in a batch", ylabel="time per impact (µs), best")
    left.set_ylim(_decades(left.get_ylim()))
    right.set(xlabel="impacts in a batch", ylabel="time to compile (s)")
    right.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize=9)
    for ax in (left, right):
        _clean(ax)
    return fig


def accuracy_figure(rows: Sequence[Row]) -> Figure:
    """Error of half (open) and of 99 % (full) of the impacts against the time of one: lower left is better."""
    fig = Figure(figsize=(10, 5), layout="constrained")
    ax = fig.add_subplot()
    shown = [r for r in rows if r.what == "forward" and r.lanes == "mix" and r.best_us and r.error_99 is not None]
    for number, row in enumerate(shown, 1):
        color, marker = COLORS[row.competitor.split()[0]], "s" if row.dtype == "float32" else "o"
        us, (low, high) = (
            row.best_us or 0.0,
            (min(max(e or 0, FLOOR), CEILING) for e in (row.error_median, row.error_99)),
        )
        ax.plot([us, us], [low, high], "-", color=color, lw=1)
        ax.plot(us, low, marker, mfc="white", mec=color, ms=5)
        ax.plot(us, high, marker, color=color, ms=6, label=f"{number}  {_label(row)}")
        ax.annotate(str(number), (us, high), (0, 6), textcoords="offset points", ha="center", fontsize=9, color=color)
    ax.set(xscale="log", yscale="log", xlabel="time per impact (µs), best", ylabel="relative error: half, and 99 %")
    ax.margins(0.08)
    ax.set_xlim(_decades(ax.get_xlim()))
    if shown:
        fig.legend(loc="outside right upper", frameon=False, fontsize=9)
    _clean(ax)
    return fig


def _label(row: Row) -> str:
    narrow = ", float32" if row.dtype == "float32" else ""
    return f"{row.name}{narrow}"


def _decades(ends: tuple[float, float]) -> tuple[float, float]:
    """Whole decades around the ends of a logarithmic axis, so that it has labels."""
    low, high = (math.log10(end) for end in ends)
    return 10.0 ** math.floor(low), 10.0 ** math.ceil(high)


def _clean(ax: Axes) -> None:
    ax.grid(True, which="major", color="#e3e8ee", lw=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
