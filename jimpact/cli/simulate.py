"""The command `jimpact simulate`: let a body bounce among planes, and animate it."""

import argparse
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from jimpact import __version__
from jimpact.output.html import plain, to_json, write_files
from jimpact.output.terminal import console, status, table
from jimpact.schemas.config import ConfigError
from jimpact.schemas.simulation import FlightScene, load_flight
from jimpact.simulation.run import REASONS, Ending, Run, energy
from jimpact.simulation.simulate import simulate

__all__ = ["add_command"]

FAILED = (Ending.OVERLAPPING, Ending.INVALID)


def add_command(commands: Any) -> None:
    """Add `simulate` to the command line."""
    one = commands.add_parser("simulate", help="let a body bounce among planes")
    one.add_argument("scene", metavar="SCENE.toml", help="body, start and planes: see configs/tumbling_box.toml")
    one.add_argument("--out", type=Path, metavar="DIR", help="write DIR/run.json and the animation DIR/run.html")
    one.add_argument("--json", action="store_true", help="print JSON instead of tables")
    one.add_argument("--float32", action="store_true", help="single precision (default: double)")
    one.set_defaults(run=_simulate)


def _simulate(args: argparse.Namespace) -> int:
    scene = load_flight(args.scene)
    with status("compiling and flying"):
        given = (scene.body.solid(), scene.start.motion(), scene.planes())
        given = jax.tree.map(lambda a: np.asarray(a, np.float32 if args.float32 else np.float64), given)
        run = jax.tree.map(np.asarray, simulate(*given, **scene.arguments()))
    ending = Ending(int(run.ending))
    if ending in FAILED:
        raise ConfigError(f"{args.scene}: {REASONS[ending]}")
    result = _result(scene, run)
    paths = [] if args.out is None else _written(args.out, scene, run, result)
    if args.json:
        print(to_json(result), end="")
    else:
        _show(console(), args.scene, result, paths)
    return 1 if ending == Ending.UNFINISHED else 0


def _result(scene: FlightScene, run: Run) -> dict[str, Any]:
    """The result in plain Python."""
    there = np.isfinite(run.bounces.time)
    kept = jax.tree.map(lambda a: a[there], run.bounces)
    solid = scene.body.solid()
    energies = {when: energy(solid, getattr(run, when), np.asarray(scene.run.gravity)) for when in ("start", "end")}
    ending = Ending(int(run.ending))
    return plain(
        {
            "jimpact": __version__,
            "name": scene.name,
            "law": scene.options.law,
            "ending": ending.name,
            "reason": REASONS[ending],
            "time": run.time,
            "impacts": int(run.impacts),
            "energy": {when: np.asarray(value) for when, value in energies.items()},
            "end": run.end._asdict(),
            "bounces": {**kept._asdict(), "before": kept.before._asdict(), "after": kept.after._asdict()},
        }
    )


def _written(out: Path, scene: FlightScene, run: Run, result: dict[str, Any]) -> list[Path]:
    from jimpact.plotting.animated_page import animation

    page = animation(run, title=scene.name or "jimpact simulate")
    return write_files(out, {"run.json": to_json(result), "run.html": page})


def _show(screen: Console, source: str, result: dict[str, Any], paths: list[Path]) -> None:
    b = result["bounces"]
    rows = [
        (str(i + 1), t, str(p), *point, change)
        for i, (t, p, point, change) in enumerate(
            zip(b["time"], b["plane"], b["point"], b["energy_change"], strict=True)
        )
    ]
    head = ("impact", "time (s)", "plane", "x (m)", "y (m)", "z (m)", "energy (J)")
    screen.print(table(f"{result['name'] or source}: law {result['law']}", head, rows, 4))
    end = result["end"]
    labels = {"position": "position (m)", "velocity": "velocity (m/s)", "angular_velocity": "angular velocity (rad/s)"}
    screen.print(
        table(f"After {result['time']:.6g} s", ("", "x", "y", "z"), [(v, *end[k]) for k, v in labels.items()], 5)
    )
    screen.print(f"{result['ending']}: {result['reason']}", soft_wrap=True)
    if paths:
        screen.print(f"wrote {', '.join(map(str, paths))}", soft_wrap=True)
