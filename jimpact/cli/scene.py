"""`jimpact solve` and `jimpact trace`: the impacts of a scene, and the path of one impact."""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from jimpact import __version__
from jimpact.contact.body import apply_impulse
from jimpact.diagnostics import MODES, event_sequence
from jimpact.impact import check_followed, solve
from jimpact.outcome import Impact, Outcome, require
from jimpact.output.html import plain, write_files
from jimpact.output.terminal import console, status, table
from jimpact.schemas.config import ConfigError
from jimpact.schemas.scene import BatchScene, BodiesScene, Input, Scene, load

__all__ = ["add_commands"]

FORMATS = (".png", ".svg", ".pdf")
LEDGER = ("compression_work", "restitution_work", "friction_work", "kinetic_energy_change")
LEGEND = "c compression ends, d compression starts again, l direction of slip invariant, s slip zero, r end"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FIRST_ROWS = 5
MOST_SAMPLES = 1_000_000

jitted_solve = jax.jit(solve, static_argnames=("law", "rule", "accuracy", "line_tolerance"))


def add_commands(commands: Any) -> None:
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


def _solved(args: argparse.Namespace, scene: Scene) -> tuple[Input, Impact]:
    """The arrays of the scene, and its impacts; invalid input raises an error that names the impact."""
    given = scene.input()
    with status("compiling and solving"):
        arrays = [None if a is None else jnp.asarray(a, float) for a in given]
        options = {**scene.options.arguments(), "static_friction": arrays[4]}
        impact = jax.tree.map(np.asarray, jitted_solve(*arrays[:4], **options))
    invalid = np.flatnonzero(impact.outcome == Outcome.INVALID)
    if len(invalid):
        which = f"impact {invalid[0]} (and {len(invalid) - 1} more)" if impact.outcome.ndim else "the impact"
        reason = "is not usable: a number too large, or an inverse inertia that is not positive definite"
        raise ConfigError(f"{args.scene}: {which} {reason}")
    return given, impact


def _solve(args: argparse.Namespace) -> int:
    scene = load(args.scene)
    given, impact = _solved(args, scene)
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
    scene, given = _traceable(args)
    from jimpact.plotting import impact as plot  # matplotlib takes a second to load

    options = {"law": scene.options.law, "accuracy": scene.options.accuracy, "samples": args.samples}
    options |= {} if given.static_friction is None else {"static_friction": jnp.asarray(given.static_friction, float)}
    with status("compiling and tracing"):
        track = plot.follow(*given[:4], **options)
        if args.plot is not None:
            plot.save(plot.single_impact(*given[:4], title=scene.name, **options), args.plot)
    if args.json:
        print(json.dumps(_track_record(scene, track), allow_nan=False))
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


def _traceable(args: argparse.Namespace) -> tuple[Scene, Input]:
    """The scene, if it is one impact that can be followed; else an error."""
    if args.plot is not None and args.plot.suffix.lower() not in FORMATS:
        raise ConfigError(f"--plot {args.plot}: pass a file name that ends in {', '.join(FORMATS)}")
    if args.plot is not None and not args.plot.parent.is_dir():
        raise ConfigError(f"--plot {args.plot}: no such directory")
    if not 2 <= args.samples <= MOST_SAMPLES:
        raise ConfigError(f"--samples {args.samples}: pass a whole number from 2 to {MOST_SAMPLES}")
    scene = load(args.scene)
    if isinstance(scene, BatchScene):
        raise ConfigError(f"{args.scene}: batch: trace follows one impact; pass a scene with [contact]")
    try:
        check_followed(scene.options.law, "trace")
    except ValueError as error:
        raise ConfigError(f"{args.scene}: options.law: {error}") from None
    given, impact = _solved(args, scene)
    require(impact)
    if impact.outcome == Outcome.SEPARATING:
        raise ConfigError(f"{args.scene}: nothing to trace, the bodies do not approach")
    return scene, given


def _track_record(scene: Scene, track: Any) -> dict[str, Any]:
    record = {"jimpact": __version__, "name": scene.name, **scene.options.model_dump()}
    record |= {name: plain(value) for name, value in track._asdict().items() if name != "events"}
    return record | {"events": [{"event": letter, "normal_impulse": p} for letter, p in track.events]}
