"""The command `jimpact stream`: solve the impacts of .npy files that may be larger than memory."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from jimpact.io.stream import CHUNK, FIELDS, Summary, solve_files
from jimpact.io.stream_source import NUMBERS, StreamError
from jimpact.laws import LAWS
from jimpact.output.html import to_json
from jimpact.output.terminal import bar, console, table

__all__ = ["add_command"]

SOURCE = "folder with inverse_inertia.npy (n, 3, 3), velocity.npy (n, 3), friction.npy and restitution.npy (n,)"
ABOUT = "After an interruption, the same command resumes. Bad impacts are counted; they are not an error."


def add_command(commands: Any) -> None:
    """Add `stream` to the command line."""
    one = commands.add_parser("stream", help="solve the impacts of .npy files larger than memory", epilog=ABOUT)
    one.add_argument("data", metavar="SOURCE", help=SOURCE)
    one.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the results; it is created")
    one.add_argument("--law", default="stronge", metavar="LAW", help=f"one of {', '.join(LAWS)} (default stronge)")
    one.add_argument("--rule", default="poisson", help="stop rule, for sun_baruh and composite (default poisson)")
    one.add_argument("--accuracy", default="standard", help="low, standard (default) or high")
    one.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help=f"a number for all: {', '.join(NUMBERS)}"
    )
    one.add_argument("--fields", default="impulse,velocity,outcome", metavar="NAME,..", help=", ".join(FIELDS))
    one.add_argument("--chunk", type=int, default=CHUNK, metavar="N", help=f"impacts at a time (default {CHUNK})")
    one.add_argument("--again", action="store_true", help="start from the beginning, and overwrite the results in DIR")
    one.add_argument("--json", action="store_true", help="print JSON instead of a table")
    one.set_defaults(run=_stream, float32=False)


def _stream(args: argparse.Namespace) -> int:
    fields = tuple(name.strip() for name in args.fields.split(","))
    names = ("law", "rule", "accuracy", "chunk", "again")
    options: dict[str, Any] = {name: getattr(args, name) for name in names} | _numbers(args.set)
    found = solve_files(args.data, args.out, fields=fields, **options, progress=bar("impacts"))
    paths = [str(args.out / f"{name}.npy") for name in fields]
    if args.json:
        print(to_json({"source": args.data, "law": args.law, **found._asdict(), "files": paths}), end="")
    else:
        _show(console(), args, found, paths)
    return 0


def _numbers(given: list[str]) -> dict[str, float]:
    values = {}
    for pair in given:
        name, _, value = (part.strip() for part in pair.partition("="))
        try:
            values[name] = float(value)
        except ValueError:
            name = ""
        if name not in NUMBERS:
            raise StreamError(f"--set {pair}: pass NAME=NUMBER, with NAME one of {', '.join(NUMBERS)}")
    return values


def _show(screen: Console, args: argparse.Namespace, found: Summary, paths: list[str]) -> None:
    screen.print(table("Outcomes", ("outcome", "impacts"), found.outcomes.items()))
    kept = f", and {found.kept} kept from an earlier run" if found.kept else ""
    solved = f"{found.impacts - found.kept} solved in {found.seconds:.1f} s{kept}"
    screen.print(f"{args.data}: {found.impacts} impacts, law {args.law}: {solved}", soft_wrap=True)
    screen.print(f"wrote {', '.join(paths)}", soft_wrap=True)
