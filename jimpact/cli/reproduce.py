"""The command `jimpact reproduce`: recompute the papers of a checkout, and report what agrees."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from jimpact.output.html import to_json, write_files
from jimpact.output.terminal import console, table
from jimpact.reproduce.batch import LabelledProgress
from jimpact.reproduce.pages import html_page, markdown_page, tally
from jimpact.reproduce.parts import Paper, Part, PartRecord, checkout, chosen, kept, load_papers, run_part
from jimpact.schemas.config import read

__all__ = ["add_command"]

PAGE = "RESULTS.md"
SHORT = ("agrees", "conv.", "mispr.", "differs", "unch.", "new")  # of VERDICTS


def add_command(commands: Any) -> None:
    """Add `reproduce` to the command line."""
    one = commands.add_parser("reproduce", help="recompute the five papers from their configurations")
    one.add_argument("what", nargs="*", metavar="WHAT", help="all (default), a paper, or paper/part; see --list")
    one.add_argument("--list", action="store_true", help="list papers and parts, compute nothing")
    one.add_argument("--out", type=Path, metavar="DIR", help="folder of the stored parts (default: out/reproduce)")
    one.add_argument("--configs", type=Path, metavar="DIR", help="folder of the configurations (default: configs)")
    one.add_argument("--again", action="store_true", help="compute finished parts again")
    one.add_argument("--json", action="store_true", help="print JSON instead of a table")
    one.set_defaults(run=_reproduce, float32=False)


def _reproduce(args: argparse.Namespace) -> int:
    root = checkout()
    papers = load_papers(root)
    parts = chosen(papers, args.what)
    if args.list:
        rows = [(f"{paper.key}/{part.key}", part.title) for paper, part in parts]
        width = max(len(name) for name, _ in rows)
        print("\n".join(f"{name:{width}s}  {title}" for name, title in rows))
        return 0
    configs, out = args.configs or root / "configs", args.out or root / "out" / "reproduce"
    for _, part in parts:  # all of them, before anything is computed
        read(configs / part.config, part.form)
    done = _computed(parts, root, configs, out, args.again)
    finished = _finished(papers, root, configs, out)
    pages = {PAGE: markdown_page(papers, finished), "results.html": html_page(papers, finished, out)}
    paths = write_files(out, pages)
    if len(finished) == sum(len(paper.parts) for paper in papers) and args.out is None and args.configs is None:
        paths += write_files(root / "experiments", {PAGE: pages[PAGE]})
    if args.json:
        print(to_json([{"paper": r.paper, "part": r.part, "findings": r.findings} for r, _ in done]), end="")
    else:
        _show(done, paths)
    return 0


def _computed(
    parts: Sequence[tuple[Paper, Part]], root: Path, configs: Path, out: Path, again: bool
) -> list[tuple[PartRecord, bool]]:
    """The records of the parts, and whether each existed before."""
    records = []
    with _bars() as (progress, label):
        for paper, part in progress(parts, "papers"):
            label(f"{paper.key}/{part.key}")
            record = None if again else kept(paper, part, root, configs, out)
            records.append((record or run_part(paper, part, root, configs, out, progress), record is not None))
    return records


def _finished(papers: Sequence[Paper], root: Path, configs: Path, out: Path) -> list[PartRecord]:
    """Records of all stored parts, also from earlier runs."""
    there = [kept(paper, part, root, configs, out) for paper in papers for part in paper.parts]
    return [record for record in there if record is not None]


@contextmanager
def _bars() -> Iterator[tuple[LabelledProgress, Any]]:
    """Nested progress bars on standard error; silent if that is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    quiet = not sys.stderr.isatty()
    with Bars(*columns, console=Console(stderr=True), transient=True, disable=quiet) as bars:

        def progress(steps: Iterable[Any], label: str) -> Iterator[Any]:
            listed = list(steps)
            task = bars.add_task(label, total=len(listed))
            for step in listed:
                yield step
                bars.advance(task)
            bars.remove_task(task)

        def label(words: str) -> None:
            bars.update(bars.task_ids[0], description=words)

        yield progress, label


def _show(done: Sequence[tuple[PartRecord, bool]], paths: Sequence[Path]) -> None:
    screen = console()
    rows = []
    for record, old in done:
        counts = (count or "" for count in tally([record]).values())
        rows.append((f"{record.paper}/{record.part}", *counts, "kept" if old else f"{record.seconds:.1f}"))
    screen.print(table("Reproduced", ("part", *SHORT, "s"), rows))
    total = {verdict: count for verdict, count in tally(record for record, _ in done).items() if count}
    screen.print("in all: " + ", ".join(f"{count} {verdict}" for verdict, count in total.items()), soft_wrap=True)
    screen.print(f"wrote {' and '.join(map(str, paths))}", soft_wrap=True)
