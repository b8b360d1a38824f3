"""Operations and bytes of one impact as XLA counts them, and the least time they could take on a GPU: an estimate.

The time is the larger of operations / peak rate and bytes / bandwidth (Williams, Waterman & Patterson 2009, "Roofline",
Communications of the ACM 52(4)). How loops are counted: `count.py`.
"""

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from count import Cost, counted
from rich.console import Console
from rich.table import Table

import jimpact

LAWS = [name for name, law in jimpact.LAWS.items() if law.rule is not None]  # those that step
STEPS = 5.0  # mean over random pairs of bodies, `standard`; the slowest of 200,000 took 25
LANES = 1024  # as many as step together: each turn of a loop is a step of all of them
TAILS = ((3, 3), (3,), (), ())
NOTHING = Cost(0.0, 0.0, 0.0)


class Device(NamedTuple):
    """Peak rates, from a data sheet."""

    name: str
    flops: dict[str, float]  # 1/s, without tensor cores
    bandwidth: float  # bytes/s


A100 = Device("NVIDIA A100 40GB", {"float32": 19.5e12, "float64": 9.7e12}, 1555e9)


def impulse(law: str) -> Callable[..., Any]:
    return lambda *a: jimpact.solve(*a, law=law).impulse


def gradient(law: str) -> Callable[..., Any]:
    """Value and gradient of all inputs, in reverse mode."""

    def both(*a: Any) -> Any:
        value, pull = jax.vjp(impulse(law), *a)
        return value, pull(jnp.ones_like(value))

    return both


def measured(function: Callable[..., Any], dtype: str, steps: float) -> tuple[Cost, Cost, list[float]]:
    """The cost of one impact, of that one step, and how often the loops turn."""
    shapes = [jax.ShapeDtypeStruct((LANES, *tail), dtype) for tail in TAILS]
    total, loops = counted(jax.jit(function).lower(*shapes).compile(), steps)
    step = NOTHING
    for loop in loops:
        step = step.plus(loop.body) if loop.turns == steps else step
    each = lambda cost: NOTHING.plus(cost, 1 / LANES)  # noqa: E731
    return each(total), each(step), [loop.turns for loop in loops]


def bound(found: Cost, device: Device, dtype: str) -> dict[str, Any]:
    """The least time of one impact, and which of the two decides."""
    compute, memory = found.flops / device.flops[dtype], found.bytes / device.bandwidth
    return {
        "compute": compute,
        "memory": memory,
        "seconds": max(compute, memory),
        "impacts_per_second": 1 / max(compute, memory),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--law", default="stronge", choices=LAWS)
    parser.add_argument("--steps", type=float, default=STEPS, help=f"mean number of steps (default {STEPS:g})")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    rows = []
    for dtype in ("float32", "float64"):
        for name, function in (("impulse", impulse(args.law)), ("impulse and gradient", gradient(args.law))):
            impact, step, turns = measured(function, dtype, args.steps)
            costs = {"impact": impact._asdict(), "step": step._asdict(), "loops": turns}
            rows.append({"dtype": dtype, "result": name, **costs, "bound": bound(impact, A100, dtype)})
    if args.json:
        told = {"law": args.law, "steps": args.steps, "lanes": LANES, "device": A100._asdict(), "rows": rows}
        print(json.dumps(told, indent=2))
    else:
        show(rows, args)
    return 0


def show(rows: list[dict[str, Any]], args: argparse.Namespace) -> None:
    table = Table(title=f"One impact, law {args.law}, {args.steps:g} steps; bounds for {A100.name}: an estimate")
    heads = (
        "",
        "flop",
        "of them a step",
        "exp, log, sqrt",
        "bytes",
        "of them a step",
        "flop/byte",
        "ns at least",
        "bound by",
    )
    for head in heads:
        table.add_column(head, justify="right" if head else "left")
    for row in rows:
        impact, step, limit = row["impact"], row["step"], row["bound"]
        by = "compute" if limit["compute"] > limit["memory"] else "memory"
        numbers = (impact["flops"], step["flops"], impact["transcendentals"], impact["bytes"], step["bytes"])
        cells = [f"{number:,.0f}" for number in numbers]
        cells += [f"{impact['flops'] / impact['bytes']:.2f}", f"{1e9 * limit['seconds']:.2f}", by]
        table.add_row(f"{row['dtype']}, {row['result']}", *cells)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


if __name__ == "__main__":
    sys.exit(main())
