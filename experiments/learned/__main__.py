"""Train a network for friction and restitution through Stronge's law, and judge it on impacts that were held out.

A run that was interrupted resumes: run it again. Checkpoints and results.json are in --out.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import jax

from jimpact.output.terminal import console, table

from .checkpoint import CheckpointError
from .drawing import draw
from .measured import SETS, MissingData
from .parts import on_measured, on_simulated
from .settings import Settings, SettingsError, read

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("simulated", *SETS)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.learned", description=__doc__)
    parser.add_argument("which", nargs="*", metavar="part", help=f"some of {', '.join(PARTS)}; all, if left out")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "learned.toml")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "learned")
    parser.add_argument("--fresh", action="store_true", help="train anew, even if there are checkpoints")
    arguments = parser.parse_args()
    for part in arguments.which:
        if part not in PARTS:
            parser.error(f"{part!r} is unknown; pass some of {', '.join(PARTS)}")
    jax.config.update("jax_enable_x64", True)
    try:
        settings = read(arguments.config)
        for part in arguments.which or PARTS:
            run(part, settings, arguments.out, arguments.fresh)
    except (CheckpointError, SettingsError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command resumes from the last checkpoint", file=sys.stderr)
        return 130
    return 0


def run(part: str, settings: Settings, out: Path, fresh: bool) -> None:
    """One part: train, print, keep the numbers, draw."""
    if fresh:
        for old in [out / "simulated.npz"] if part == "simulated" else out.glob(f"{part}-fold-*.npz"):
            old.unlink(missing_ok=True)
    try:
        if part == "simulated":
            result, network, constant = on_simulated(settings, out)
            draw(network, constant.estimate, out / "simulated.png")
        else:
            result = on_measured(part, settings, out)
    except MissingData as error:
        print(error, flush=True)
        return
    console().print(table(part, ("", "value"), list(_rows(result)), 4))
    _keep(out / "results.json", part, result)


def _rows(result: dict[str, Any]) -> list[tuple[str, Any]]:
    """Names and values of nested results, one row each."""
    rows: list[tuple[str, Any]] = []
    for name, value in result.items():
        if isinstance(value, dict):
            rows += [(f"{name}: {inner}".replace("_", " "), number) for inner, number in value.items()]
        elif isinstance(value, tuple):
            rows.append((name, "{:.4g} ({:.4g} to {:.4g})".format(*value)))
        else:
            rows.append((name, value))
    return rows


def _keep(path: Path, part: str, result: dict[str, Any]) -> None:
    """Put the results of one part beside those of the others."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    path.write_text(json.dumps(known | {part: result}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
