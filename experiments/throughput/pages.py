"""The results as tables: for the terminal, as Markdown, and as one HTML page with the figures."""

from collections.abc import Iterable, Sequence
from typing import Any

from jimpact.output.html import embedded, page, table, text

from .bars import Bar
from .race import SUCCESS, Row
from .run import Results
from .sweep import Point

__all__ = [
    "BARS",
    "COLUMNS",
    "POINTS",
    "bar_cells",
    "bar_lines",
    "cells",
    "html_page",
    "markdown_page",
    "notes",
    "point_cells",
    "sentences",
]

TITLE = "What does an impact cost?"
COLUMNS = ("", "of", "dtype", "lanes", "batch", "us", "median", "err 50 %", "99 %", "max", "good %", "compile s", "B")
POINTS = ("jimpact standard", "dtype", "batch", "us", "median", "compile s", "B")
BARS = ("", "measured", "bar", "met")
LEGEND = (
    "us: best time of one impact in microseconds, and median of repeats; errors are relative, of half, 99 % and "
    f"all of the impacts; good: finished, and wrong by less than {SUCCESS:g}; B: bytes of one impact. Lanes: the mix, "
    "or those of it that only slip."
)
WIDE = "body { max-width: 80rem } td, th { padding-right: 0.6rem } table { font-size: 0.85rem }"


def cells(rows: Iterable[Row]) -> list[list[str]]:
    """One line for each row; dashes where nothing was measured."""
    return [
        [
            row.name,
            row.what,
            row.dtype,
            row.lanes,
            f"{row.batch:,}",
            _time(row.best_us),
            _time(row.median_us),
            *(_small(e) for e in (row.error_median, row.error_99, row.error_max)),
            "-" if row.success is None else f"{100 * row.success:.2f}",
            "-" if row.compile_s is None else f"{row.compile_s:.1f}",
            "-" if row.bytes_per_impact is None else f"{row.bytes_per_impact:.0f}",
        ]
        for row in rows
    ]


def point_cells(points: Iterable[Point]) -> list[list[str]]:
    return [
        [
            point.what,
            point.dtype,
            f"{point.batch:,}",
            _time(point.best_us),
            _time(point.median_us),
            "-" if point.compile_s is None else f"{point.compile_s:.1f}",
            "-" if point.bytes_per_impact is None else f"{point.bytes_per_impact:.0f}",
        ]
        for point in points
    ]


def bar_cells(bars: Iterable[Bar]) -> list[list[str]]:
    return [[bar.name, bar.words, bar.bar, {True: "yes", False: "no", None: "-"}[bar.met]] for bar in bars]


def bar_lines(bars: Iterable[Bar]) -> list[str]:
    """One sentence each, for the terminal."""
    words = {True: "met", False: "missed", None: "open"}
    return [f"{words[bar.met]:6s}  {bar.name}: {bar.words}; bar: {bar.bar}" for bar in bars]


def notes(rows: Iterable[Row], points: Iterable[Point]) -> list[str]:
    """What was not measured, and why."""
    found = [f"{row.name}: {row.note}" for row in rows if row.note]
    found += [f"{point.what}, {point.dtype}, batch {point.batch:,}: {point.note}" for point in points if point.note]
    return list(dict.fromkeys(found))


def sentences(results: Results) -> list[str]:
    """The machine, the impacts, and the reference."""
    m, f = results.machine, results.facts
    memory = "" if m["memory_bytes"] is None else f", {m['memory_bytes'] / 1e9:.0f} GB"
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items() if version)
    told = [f"{m['cpu']}, {m['cores']} cores{memory}, {m['system']}, {m['device']}, {m['date']}", versions]
    told += [
        f"{f['impacts']:,} random impacts of two bodies: {100 * f['slipping']:.1f} % only slip, "
        f"{100 * f['sticking']:.1f} % stick"
    ]
    a, share = f["agreement"], f"{100 * f['finished']:.3f} % finished"
    judged = f"not checked, {a.get('note')}"
    if "judge" in a:
        errors = ", ".join(_small(a[name]) for name in ("error_median", "error_99", "error_max"))
        judged = f"it agrees with the {a['judge']} at tolerance {a['tolerance']:g} to {errors} (half, 99 %, all)"
    told += [f"reference: {f['reference']}, {share}; {judged}"]
    if m["compilation_cache"]:
        told += ["a cache of compiled programs is in use: times to compile may be those of reading it"]
    return told


def markdown_page(results: Results) -> str:
    lines = [f"# {TITLE}", "", *(f"* {words}" for words in sentences(results)), "", LEGEND, ""]
    lines += _markdown(COLUMNS, cells(results.rows))
    lines += ["", *(f"* {words}" for words in notes(results.rows, results.points))]
    lines += ["", "## Bars", "", *_markdown(BARS, bar_cells(results.bars))]
    lines += ["", "## Batch sizes", "", *_markdown(POINTS, point_cells(results.points))]
    return "\n".join(lines).rstrip() + "\n"


def html_page(results: Results, images: Sequence[tuple[bytes, str]]) -> str:
    parts = [f"<h1>{text(TITLE)}</h1>"]
    parts += [f"<p class=lead>{text(words)}</p>" for words in sentences(results)]
    parts += [table(COLUMNS, cells(results.rows)), f"<p>{text(LEGEND)}</p>"]
    parts += [f"<p class=note>{text(words)}</p>" for words in notes(results.rows, results.points)]
    parts += ["<h2>Bars</h2>", table(BARS, bar_cells(results.bars))]
    parts += ["<h2>Figures</h2>", *(embedded(image, caption) for image, caption in images)]
    parts += ["<h2>Batch sizes</h2>", table(POINTS, point_cells(results.points))]
    return page(TITLE, parts, WIDE)


def _time(us: float | None) -> str:
    if us is None:
        return "-"
    return f"{us:.3g}" if us < 100 else f"{us:,.0f}"


def _small(error: float | None) -> str:
    return "-" if error is None else f"{error:.0e}"


def _markdown(head: Sequence[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    line = lambda row: "| " + " | ".join(str(x) for x in row) + " |"  # noqa: E731
    return [line(head), "|" + "---|" * len(head), *map(line, rows)]
