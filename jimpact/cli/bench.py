"""The command `jimpact bench`: the cost of an impact in jimpact and in other programs, measured in one run."""

import argparse
import importlib
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from jimpact.output.html import plain, png, to_json, write_files
from jimpact.output.terminal import bar, console, table
from jimpact.reproduce.parts import checkout
from jimpact.schemas.config import ConfigError

__all__ = ["add_command"]

LARGEST = 10**8  # impacts: a larger number is probably a typing error
WIDTH = 150  # columns of the table, also in a narrow terminal, which breaks its lines
CAPTIONS = {
    "batch.png": "Time of one impact, and time to compile, against the size of the batch.",
    "accuracy.png": "Error of half (open) and of 99 % (full) of the impacts against the time of one.",
}
ABOUT = "Most of a full run is compilation. A missed target is not an error."


def add_command(commands: Any) -> None:
    """Add `bench` to the command line."""
    one = commands.add_parser("bench", help="measure time, error and memory of an impact", epilog=ABOUT)
    one.add_argument("--out", type=Path, metavar="DIR", help="write results.json, tables and figures into DIR")
    one.add_argument("--json", action="store_true", help="print JSON instead of tables")
    one.add_argument("--quick", action="store_true", help="small batches and few programs")
    one.add_argument("--batch", type=int, metavar="N", help="impacts of jimpact and of the C kernel (default 262144)")
    one.add_argument("--largest", type=int, metavar="N", help="largest batch of the sweep (default 1000000)")
    one.add_argument("--only", metavar="NAME,..", help="some of jimpact, diffrax, scipy, numpy, numba, c")
    one.add_argument("--laws", action="store_true", help="measure every law of jimpact instead of other programs")
    one.set_defaults(run=_bench, float32=False)


def _bench(args: argparse.Namespace) -> int:
    root = str(checkout())
    if root not in sys.path:
        sys.path.insert(0, root)
    throughput = importlib.import_module("experiments.throughput.run")
    pages = importlib.import_module("experiments.throughput.pages")
    plan = _plan(args, throughput)
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)  # before the run, so that an error comes early
    if args.laws:
        return _laws(args, plan)
    results = throughput.run(plan, bar)
    record = plain(throughput.record(results))
    paths = [] if args.out is None else _written(args.out, results, record, pages)
    if args.json:
        print(to_json(record), end="")
    else:
        _show(results, pages, paths)
    return 0


def _plan(args: argparse.Namespace, throughput: Any) -> Any:
    plan = throughput.QUICK if args.quick else throughput.FULL
    for name in ("batch", "largest"):
        value = getattr(args, name)
        if value is not None and not 1 <= value <= LARGEST:
            raise ConfigError(f"--{name} {value}: pass a whole number from 1 to {LARGEST}")
        plan = plan if value is None else replace(plan, **{name: value})
    if args.only is not None:
        names = tuple(name.strip() for name in args.only.split(","))
        for name in names:
            if name not in throughput.EVERYBODY:
                raise ConfigError(f"--only {name}: pass some of {', '.join(throughput.EVERYBODY)}")
        plan = replace(plan, only=names)
    return plan


def _laws(args: argparse.Namespace, plan: Any) -> int:
    laws = importlib.import_module("experiments.throughput.laws")
    rows = laws.run(laws.Plan(plan.batch, plan.repeats), bar)
    record = to_json(plain([asdict(row) for row in rows]))
    paths = [] if args.out is None else write_files(args.out, {"laws.json": record})
    if args.json:
        print(record, end="")
        return 0
    screen = console()
    screen.print(table(f"{plan.batch:,} impacts, float64, accuracy standard", laws.COLUMNS, laws.cells(rows), 4))
    if paths:
        screen.print(f"wrote {paths[0]}", soft_wrap=True)
    return 0


def _written(folder: Path, results: Any, record: Any, pages: Any) -> list[Path]:
    figures = importlib.import_module("experiments.throughput.figures")  # matplotlib takes a second to load
    drawn = {"batch.png": figures.batch_figure(results.points), "accuracy.png": figures.accuracy_figure(results.rows)}
    images = {name: png(figure) for name, figure in drawn.items()}
    page = pages.html_page(results, [(image, CAPTIONS[name]) for name, image in images.items()])
    texts = {"results.json": to_json(record), "results.md": pages.markdown_page(results), "results.html": page}
    return write_files(folder, {**texts, **images})


def _show(results: Any, pages: Any, paths: list[Path]) -> None:
    screen = console()
    screen.width = max(screen.width, WIDTH)
    screen.print(table("Impacts", pages.COLUMNS, pages.cells(results.rows)))
    if results.points:
        screen.print(table("Batch sizes", pages.POINTS, pages.point_cells(results.points)))
    for words in (
        *pages.bar_lines(results.bars),
        *pages.notes(results.rows, results.points),
        *pages.sentences(results),
    ):
        screen.print(words, soft_wrap=True)
    if paths:
        screen.print(f"wrote {', '.join(map(str, paths))}", soft_wrap=True)
