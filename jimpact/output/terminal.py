"""Tables and progress bars for the terminal."""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

__all__ = ["bar", "console", "status", "table"]

LEAST = 110  # least width of a table in columns: a narrow terminal then breaks lines, but no text is lost


def console() -> Console:
    width = max(shutil.get_terminal_size().columns, LEAST)
    return Console(markup=False, emoji=False, highlight=False, width=width)


def bar(label: str) -> Callable[[Iterable[int]], Iterator[int]]:
    """A progress bar on standard error; one line if that is not a terminal."""

    def steps_with_bar(steps: Iterable[int]) -> Iterator[int]:
        quiet = not sys.stderr.isatty()
        if quiet:
            print(f"jimpact: {label} ...", file=sys.stderr, flush=True)
        yield from track(list(steps), label, console=Console(stderr=True), disable=quiet, transient=True)

    return steps_with_bar


@contextmanager
def status(label: str) -> Iterator[None]:
    """A spinner on standard error while the body runs; one line if that is not a terminal."""
    if sys.stderr.isatty():
        with Console(stderr=True).status(label):
            yield
    else:
        print(f"jimpact: {label} ...", file=sys.stderr, flush=True)
        yield


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[Any]], digits: int = 6) -> Table:
    """A table whose first column is text and whose others are numbers; its text is not read as markup."""
    result = Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for i, column in enumerate(columns):
        result.add_column(Text(column), justify="right" if i else "left", no_wrap=True)
    for row in rows:
        result.add_row(*(Text(_cell(x, digits)) for x in row))
    return result


def _cell(x: Any, digits: int) -> str:
    """A number; with an exponent it has fewer digits, so that a row fits 80 columns."""
    if isinstance(x, float):
        text = f"{x:.{digits}g}"
        return text if "e" not in text else f"{x:.{digits - 2}g}"
    return "-" if x is None else str(x)
