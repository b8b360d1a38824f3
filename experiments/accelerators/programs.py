"""Programs compiled for a device that is not there, and what they would launch."""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

import jimpact

HERE = Path(__file__).parent
# Instructions of a program that launch nothing.
FREE = {
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "iota",
    "after-all",
    "partition-id",
    "replica-id",
}
KNOWN = re.compile(r'known_trip_count"?[:=]\{"?n"?[:=]"?(\d+)')
LAUNCH, WAIT = 3e-6, 10e-6  # s: an operation, and a wait of the host for the device


class Count(NamedTuple):
    """Of one call of a program."""

    kernels: int  # in the code
    operations: int  # launched
    waits: int  # of the host: a conditional, or a round of a loop of unknown length
    conditionals: int
    unknown_loops: int


class Registers(NamedTuple):
    """Of the kernel that takes most."""

    most: int
    spilled: int  # bytes, of all kernels


def device(name: str) -> Any:
    """The first device of an H100 or of a TPU v5e, by its description."""
    if name == "h100":
        target = (HERE / "h100.txtpb").read_text()
        return topologies.get_topology_desc(platform="cuda", target_config=target, topology="1x1x1").devices[0]
    return topologies.get_topology_desc("v5e:2x2", platform="tpu").devices[0]


def forward(W: jax.Array, v: jax.Array, mu: jax.Array, e: jax.Array) -> jax.Array:
    return jimpact.solve(W, v, mu, e).impulse


def gradient(W: jax.Array, v: jax.Array, mu: jax.Array, e: jax.Array, bar: jax.Array) -> tuple[jax.Array, ...]:
    return jax.vjp(forward, W, v, mu, e)[1](bar)


def compiled(kind: str, place: Any, n: int, dtype: str, dump: str | None = None) -> tuple[Any, float]:
    """`forward` or `gradient` of n impacts for the device, and the seconds that it took."""
    shapes = [(n, 3, 3), (n, 3), (n,), (n,)] + [(n, 3)] * (kind == "gradient")
    given = [jax.ShapeDtypeStruct(shape, dtype, sharding=SingleDeviceSharding(place)) for shape in shapes]
    began = time.perf_counter()
    lowered = jax.jit({"forward": forward, "gradient": gradient}[kind]).trace(*given).lower()
    options = {"xla_dump_to": dump, "xla_dump_hlo_as_text": True} if dump else None
    program = lowered.compile(compiler_options=options)
    return program, time.perf_counter() - began


def count(text: str, trips: int = 20) -> Count:
    """What the program launches; loops of unknown length are taken to turn `trips` times."""
    found, entry = _computations(text)

    def of(name: str) -> Count:
        total = Count(0, 0, 0, 0, 0)
        for opcode, line in found.get(name, []):
            if opcode == "while":
                known, body = KNOWN.search(line), of(re.search(r"body=%?([\w.\-]+)", line)[1])
                turns = int(known[1]) if known else trips
                looks = 0 if known else turns + 1  # the host reads whether to go on
                own = Count(
                    body.kernels,
                    body.operations * turns + 2 * looks,
                    body.waits * turns + looks,
                    body.conditionals,
                    body.unknown_loops + (not known),
                )
            elif opcode in ("call", "conditional"):
                inner = re.search(r"(?:to_apply|branch_computations=\{|true_computation)=?%?([\w.\-]+)", line)
                own, asks = of(inner[1]) if inner else Count(0, 0, 0, 0, 0), opcode == "conditional"
                own = own._replace(waits=own.waits + asks, conditionals=own.conditionals + asks)
            else:
                own = Count(1, 1, 0, 0, 0) if opcode not in FREE else Count(0, 0, 0, 0, 0)
            total = Count(*(a + b for a, b in zip(total, own, strict=True)))
        return total

    return of(entry)


def _computations(text: str) -> tuple[dict[str, list[tuple[str, str]]], str]:
    """Name -> instructions (opcode and line), and the name of the entry."""
    found: dict[str, list[tuple[str, str]]] = {}
    entry = name = ""
    for line in text.splitlines():
        head = re.match(r"^(ENTRY )?%?([\w.\-]+) .*\{$", line)
        if head and "=" not in line.split("(")[0]:
            name = head[2]
            found[name], entry = [], name if head[1] else entry
        elif name and (m := re.match(r"^\s+(?:ROOT )?%?[\w.\-]+ = .*?\s([a-z][\w\-]*)\(", line)):
            found[name].append((m[1], line))
    return found, entry


def registers(kind: str, place: Any, n: int, dtype: str) -> Registers | None:
    """As the assembler of NVIDIA says; None without it."""
    tools = [Path(p) / "nvidia/cuda_nvcc/bin/ptxas" for p in sys.path]
    assembler = next((tool for tool in tools if tool.exists()), None)
    if assembler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        compiled(kind, place, n, dtype, dump=folder)
        most = spilled = 0
        for code in Path(folder).glob("*.ptx"):
            run = subprocess.run(
                [assembler, "-v", "-arch=sm_90a", code, "-o", "/dev/null"], capture_output=True, text=True, check=True
            )
            most = max([most, *map(int, re.findall(r"Used (\d+) registers", run.stderr))])
            spilled += sum(map(int, re.findall(r"(\d+) bytes spill stores", run.stderr)))
    return Registers(most, spilled)
