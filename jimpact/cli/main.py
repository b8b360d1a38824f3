"""The command line: `solve` and `trace` for scenes, `audit`, `fit` and `compare` for measured rebounds, `simulate` for
a bouncing body, `reproduce` for the papers, `stream` for large files, `bench` for the cost of an impact.

Tables go to the terminal, or JSON to standard output with --json. The exit code is 0 on success, 1 if an impact could
not be finished, and 2, with one sentence on standard error, if the input cannot be used.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from jimpact import __version__
from jimpact.cli.bench import add_command as add_bench
from jimpact.cli.cache import kept_programs
from jimpact.cli.fit import add_commands
from jimpact.cli.reproduce import add_command as add_reproduce
from jimpact.cli.simulate import add_command as add_simulate
from jimpact.cli.stream import add_command as add_stream
from jimpact.contact.body import apply_impulse
from jimpact.diagnostics import MODES, event_sequence
from jimpact.identify.csv_file import TableError
from jimpact.impact import solve
from jimpact.io.stream_source import StreamError
from jimpact.laws import LAWS
from jimpact.outcome import Impact, ImpactError, Outcome, require
from jimpact.output.html import plain, write_files
from jimpact.output.terminal import console, table
from jimpact.schemas.config import ConfigError
from jimpact.schemas.scene import BatchScene, BodiesScene, Input, Scene, load

__all__ = ["main"]

FORMATS = (".png", ".svg", ".pdf")
LEDGER = ("compression_work", "restitution_work", "friction_work", "kinetic_energy_change")
LEGEND = "c compression ends, d compression starts again, l direction of slip invariant, s slip zero, r end"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FIRST_ROWS = 5

jitted_solve = jax.jit(solve, static_argnames=("law", "rule", "accuracy", "line_tolerance"))


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. The precision of JAX is set only during the run."""
    args = _parser().parse_args(argv)
    wide = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", not args.float32)
    try:
        with kept_programs():
            return args.run(args)
    except (ConfigError, TableError, StreamError) as error:
        return _fail(2, str(error))
    except (ValueError, TypeError) as error:
        if not hasattr(args, "data"):  # the command reads no data, so that the fault is in the program
            raise
        return _fail(2, f"{args.data or 'the embedded example'}: {error}")
    except ImpactError as error:
        return _fail(1, f"{args.scene}: {error}")
    except BrokenPipeError:  # the reader of a pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError:
        return _fail(2, "not enough memory; pass fewer impacts or starts")
    except KeyboardInterrupt:
        return _fail(130, "interrupted")
    except OSError as error:
        return _fail(2, f"{error.filename or 'a file'}: cannot be written: {error.strerror or error}")
    finally:
        jax.config.update("jax_enable_x64", wide)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="jimpact",
        description="Rigid-body impact with friction and restitution.",
        epilog="Compiled programs are kept in the user's cache folder. "
        "JIMPACT_CACHE=DIR chooses another folder, JIMPACT_CACHE=off keeps nothing.",
    )
    parser.add_argument("--version", action="version", version=f"jimpact {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    one = commands.add_parser("solve", help="solve the impacts of a scene")
    one.add_argument("--out", type=Path, metavar="DIR", help="write DIR/result.json")
    one.set_defaults(run=_solve)
    two = commands.add_parser("trace", help="follow one impact from start to end")
    two.add_argument("--plot", type=Path, metavar="FILE", help="draw the path into a .png, .svg or .pdf file")
    two.add_argument("--samples", type=int, default=400, metavar="N", help="points along the path (default 400)")
    two.set_defaults(run=_trace)
    for command in (one, two):
        command.add_argument("scene", metavar="SCENE.toml", help="description of the impacts")
        command.add_argument("--json", action="store_true", help="print JSON instead of tables")
        command.add_argument("--float32", action="store_true", help="single precision (default: double)")
    add_commands(commands)
    add_simulate(commands)
    add_reproduce(commands)
    add_stream(commands)
    add_bench(commands)
    return parser


def _fail(code: int, sentence: str) -> int:
    print("jimpact: " + "".join(c if c.isprintable() else " " for c in sentence), file=sys.stderr)
    return code


def _solved(args: argparse.Namespace) -> tuple[Scene, Input, Impact]:
    """Load and solve; invalid input raises an error that names the impact."""
    scene = load(args.scene)
    given = scene.input()
    with Console(stderr=True).status("compiling and solving"):
        arrays = [None if a is None else jnp.asarray(a, float) for a in given]
        options = {**scene.options.arguments(), "static_friction": arrays[4]}
        impact = jax.tree.map(np.asarray, jitted_solve(*arrays[:4], **options))
    invalid = np.flatnonzero(impact.outcome == Outcome.INVALID)
    if len(invalid):
        which = f"impact {invalid[0]} (and {len(invalid) - 1} more)" if impact.outcome.ndim else "the impact"
        reason = "is not usable: a number too large, or an inverse inertia that is not positive definite"
        raise ConfigError(f"{args.scene}: {which} {reason}")
    return scene, given, impact


def _solve(args: argparse.Namespace) -> int:
    scene, given, impact = _solved(args)
    result = _result(scene, given, impact)
    if args.out is not None:
        write_files(args.out, {"result.json": json.dumps(result, allow_nan=False) + "\n"})
    if args.json:
        print(json.dumps(result, indent=None if impact.outcome.ndim else 2, allow_nan=False))
    else:
        screen = console()
        (_show_batch if isinstance(scene, BatchScene) else _show_one)(screen, args.scene, result)
        if args.out is not None:
            screen.print(f"wrote {args.out / 'result.json'}")
    require(impact)
    return 0


def _result(scene: Scene, given: Input, impact: Impact) -> dict[str, Any]:
    """The result in plain Python: nan becomes None."""
    sequence, batch = event_sequence(impact), impact.outcome.ndim > 0
    names = [Outcome(code).name for code in np.ravel(impact.outcome).tolist()]
    result: dict[str, Any] = {"jimpact": __version__, "name": scene.name, **scene.options.model_dump()}
    result |= {"dtype": impact.impulse.dtype.name}
    if batch:
        result |= {"count": len(names), "outcomes": dict(Counter(names).most_common())}
        result |= {"event_sequences": dict(Counter(map(str, sequence)).most_common())}
        result |= {"quantiles": _quantiles(given, impact)}
    fields = {
        "friction": given.friction,
        "restitution": given.restitution,
        "velocity_before": given.velocity,
        "velocity": impact.velocity,
        "impulse": impact.impulse,
    }
    lanes = {name: plain(value) for name, value in fields.items()}
    lanes |= {"outcome": names if batch else names[0]}
    lanes |= {"event_sequence": list(map(str, sequence)) if batch else sequence}
    lanes |= {name: plain(value) for name, value in impact.info._asdict().items()}
    result |= {"impacts": lanes} if batch else lanes
    if isinstance(scene, BodiesScene):
        pair = scene.pair()
        after = apply_impulse(*pair, jnp.asarray(impact.impulse))
        for name, body in zip(("body_a", "body_b"), after, strict=True):
            result[name] = {key: plain(getattr(body, key)) for key in ("velocity", "angular_velocity")}
    return result


def _quantiles(given: Input, impact: Impact) -> dict[str, Any]:
    """Quantiles over the impacts of a batch that happened; None if there were none."""
    there = impact.outcome == Outcome.OK
    columns = {
        "normal impulse (N s)": impact.impulse[..., 2],
        "tangential impulse (N s)": np.hypot(impact.impulse[..., 0], impact.impulse[..., 1]),
        "slip before (m/s)": np.hypot(given.velocity[..., 0], given.velocity[..., 1]),
        "slip after (m/s)": np.hypot(impact.velocity[..., 0], impact.velocity[..., 1]),
        "normal velocity before (m/s)": given.velocity[..., 2],
        "normal velocity after (m/s)": impact.velocity[..., 2],
        "kinetic energy change (J)": impact.info.kinetic_energy_change,
    }
    none = np.full(len(QUANTILES), np.nan)
    rows = {name: np.quantile(a[there], QUANTILES) if there.any() else none for name, a in columns.items()}
    return {"levels": list(QUANTILES), **{name: plain(row) for name, row in rows.items()}}


def _show_one(screen: Console, source: str, result: dict[str, Any]) -> None:
    title = result["name"] or source
    vectors = (("velocity_before", "velocity before (m/s)"), ("velocity", "velocity after (m/s)"))
    rows = [[label, *result[key]] for key, label in (*vectors, ("impulse", "impulse (N s)"))]
    screen.print(table(title, ("contact frame", "t1", "t2", "n"), rows))
    if "body_a" in result:
        bodies = [(f"{b} {k.replace('_', ' ')}", *result[b][k]) for b in ("body_a", "body_b") for k in result[b]]
        screen.print(table("Bodies after", ("world axes (m/s, rad/s)", "x", "y", "z"), bodies))
    facts = [("outcome", result["outcome"]), ("law", result["law"])]
    facts += [("events", result["event_sequence"] or "none")]
    facts += [("mode", f"{result['mode']}: {MODES[result['mode']]}"), ("compressions", result["compressions"])]
    facts += [(f"{name.replace('_', ' ')} (J)", result[name]) for name in LEDGER]
    screen.print(table("What happened", ("", "value"), facts))
    screen.print(LEGEND)


def _show_batch(screen: Console, source: str, result: dict[str, Any]) -> None:
    count, quantiles = result["count"], dict(result["quantiles"])
    levels = [f"{100 * level:g} %" for level in quantiles.pop("levels")]
    rows = [[name, *values] for name, values in quantiles.items()]
    title = f"{result['name'] or source}: {count} impacts, law {result['law']}"
    screen.print(table(title, ("quantile", *levels), rows, 4))
    screen.print(table("Outcomes", ("outcome", "impacts"), result["outcomes"].items()))
    sequences = [(name or "none", number) for name, number in result["event_sequences"].items()]
    screen.print(table("Events", ("sequence", "impacts"), sequences))
    impacts = result["impacts"]
    first = [
        (str(i), *impacts["velocity_before"][i], *impacts["impulse"][i], impacts["event_sequence"][i])
        for i in range(min(FIRST_ROWS, count))
    ]
    columns = ("impact", "v t1", "v t2", "v n", "I t1", "I t2", "I n", "events")
    screen.print(table("First impacts: velocity before (m/s), impulse (N s)", columns, first, 4))


def _trace(args: argparse.Namespace) -> int:
    if args.plot is not None and args.plot.suffix.lower() not in FORMATS:
        return _fail(2, f"--plot {args.plot}: pass a file name that ends in {', '.join(FORMATS)}")
    if args.plot is not None and not args.plot.parent.is_dir():
        return _fail(2, f"--plot {args.plot}: no such directory")
    if not 2 <= args.samples <= 1_000_000:
        return _fail(2, f"--samples {args.samples}: pass a whole number from 2 to 1000000")
    if isinstance(load(args.scene), BatchScene):
        raise ConfigError(f"{args.scene}: batch: trace follows one impact; pass a scene with [contact]")
    if LAWS[load(args.scene).options.law].rule is None:
        followed = ", ".join(name for name, law in LAWS.items() if law.rule)
        raise ConfigError(f"{args.scene}: options.law: trace follows the slip; pass one of {followed}")
    scene, given, impact = _solved(args)
    require(impact)
    if impact.outcome == Outcome.SEPARATING:
        raise ConfigError(f"{args.scene}: nothing to trace, the bodies do not approach")
    from jimpact.plotting import impact as plot  # matplotlib takes a second to load

    options = {"law": scene.options.law, "accuracy": scene.options.accuracy, "samples": args.samples}
    options |= {} if given.static_friction is None else {"static_friction": jnp.asarray(given.static_friction, float)}
    with Console(stderr=True).status("compiling and tracing"):
        track = plot.follow(*given[:4], **options)
        if args.plot is not None:
            plot.save(plot.single_impact(*given[:4], title=scene.name, **options), args.plot)
    if args.json:
        record = {"jimpact": __version__, "name": scene.name, **scene.options.model_dump()}
        record |= {name: plain(value) for name, value in track._asdict().items() if name != "events"}
        record |= {"events": [{"event": letter, "normal_impulse": p} for letter, p in track.events]}
        print(json.dumps(record, allow_nan=False))
        return 0
    quantities = (track.sliding_velocity, track.normal_velocity, track.impulse[:, :2], track.work)
    rows = [
        (letter, p, *(float(x) for values in quantities for x in track.at(values, p)))
        for letter, p in (("start", 0.0), *track.events)
    ]
    columns = ("event", "I n", "v t1", "v t2", "v n", "I t1", "I t2", "work")
    screen = console()
    screen.print(table(scene.name or args.scene, columns, rows, 4))
    screen.print("velocity v (m/s), impulse I (N s), work of the normal force (J)")
    screen.print(LEGEND)
    if args.plot is not None:
        screen.print(f"wrote {args.plot}")
    return 0
