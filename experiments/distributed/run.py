"""Solve one batch with several processes of this machine: start them, wait for them, say what came out."""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import jimpact

HERE = Path(__file__).resolve().parent
POLL = 0.1  # s
GIVEN = ("inverse_inertia", "velocity", "friction", "restitution")
LAWS = [name for name, law in jimpact.LAWS.items() if set(law.parameters) <= set(GIVEN)]


class Failure(RuntimeError):
    """A process died, or took too long."""


def draw(folder: Path, impacts: int, seed: int = 0) -> None:
    """Random impacts as files: inverse inertias of condition up to 100, friction and restitution 0 to 1."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(impacts, 3, 3)))[0]
    W = np.einsum("nij,nj,nkj->nik", axes, 10 ** rng.uniform(-1, 1, (impacts, 3)), axes)
    v = rng.normal(size=(impacts, 3))
    v[:, 2] = -np.abs(v[:, 2])
    arrays = (0.5 * (W + np.swapaxes(W, 1, 2)), v, rng.uniform(0, 1, impacts), rng.uniform(0, 1, impacts))
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(GIVEN, arrays, strict=True):
        np.save(folder / f"{name}.npy", array)


def solve(given: Path, out: Path, *, law: str, processes: int, devices: int, seconds: float) -> dict:
    """Start the processes, wait at most so many seconds, and return the summary; Failure says what went wrong."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "summary.json").unlink(missing_ok=True)
    started = [
        _start(given, out, law, processes, devices, index, port) for port in [_port()] for index in range(processes)
    ]
    try:
        _wait(started, out, time.monotonic() + seconds, seconds)
    finally:
        for process in started:
            process.kill()  # those that are still there
            process.wait()
    return json.loads((out / "summary.json").read_text())


def _start(
    given: Path, out: Path, law: str, processes: int, devices: int, index: int, port: int
) -> "subprocess.Popen[bytes]":
    flags = re.sub(r"--xla_force_host_platform_device_count=\d+", "", os.environ.get("XLA_FLAGS", ""))
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    options = {"given": given, "out": out, "law": law, "processes": processes, "devices": devices, "index": index}
    options["coordinator"] = f"127.0.0.1:{port}"
    command = [sys.executable, HERE / "worker.py", *(f"--{name}={value}" for name, value in options.items())]
    with _log(out, index).open("wb") as log:
        return subprocess.Popen(list(map(str, command)), env=env, stdout=log, stderr=subprocess.STDOUT)


def _wait(started: list["subprocess.Popen[bytes]"], out: Path, deadline: float, seconds: float) -> None:
    while any(process.poll() is None for process in started):
        if any(process.poll() for process in started):
            break
        if time.monotonic() > deadline:
            raise Failure(f"the processes did not end within {seconds:g} s; logs are in {out}")
        time.sleep(POLL)
    for index, process in enumerate(started):
        if process.poll():
            log = _log(out, index)
            raise Failure(f"process {index} ended with code {process.returncode}: {_reason(log)} (all of it: {log})")


def _reason(log: Path) -> str:
    """The last line that names an error, or the last line."""
    lines = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    return next((line for line in reversed(lines) if re.match(r"[\w.]*(Error|Exception)\b", line)), lines[-1])


def _log(out: Path, index: int) -> Path:
    return out / f"process-{index}.log"


def _port() -> int:
    """One that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--devices", type=int, default=1, help="CPU devices of each process (default 1)")
    parser.add_argument("--impacts", type=int, default=100_000, help="to draw, if --given is left out")
    parser.add_argument("--given", type=Path, help="folder with inverse_inertia.npy, velocity.npy, .. (n, ..)")
    parser.add_argument("--law", default="stronge", choices=LAWS)
    parser.add_argument("--out", type=Path, default=Path("out/distributed"))
    parser.add_argument("--seconds", type=float, default=600, help="to wait at most (default 600)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    given = args.given or args.out / "given"
    if args.given is None:
        draw(given, args.impacts)
    options = {"law": args.law, "processes": args.processes, "devices": args.devices, "seconds": args.seconds}
    try:
        summary = solve(given, args.out, **options)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(summary, indent=2))
        return 0
    outcomes = ", ".join(f"{n} {name}" for name, n in summary["outcomes"].items())
    print(f"{summary['impacts']} impacts, {summary['processes']} processes, {summary['devices']} devices: {outcomes}")
    print(
        f"solved in {summary['seconds']:.2f} s after compilation; collectives in the program: {summary['collectives']}"
    )
    print(f"wrote {args.out}: impulse, velocity and outcome, one file of each per process")
    return 0


if __name__ == "__main__":
    sys.exit(main())
