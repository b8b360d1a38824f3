"""What a compiled program costs, by XLA's own cost analysis, with loops counted as often as they turn.

XLA counts the body of a loop once. Here every body is cut out of the text of the compiled program, analysed by itself,
and taken as often as it turns:

    total(program) = analysis(program) + sum over its loops of (turns x total(body) - analysis(body))

A loop whose number of turns is a constant of the program turns so often. One that ends when its lanes have nothing left
to do (its end is not known, or its body is conditional) turns `steps` times; if it holds another such loop, the turns
are those of the inner one.
"""

import re
from typing import NamedTuple

import jax

# The analysis behind `Compiled.cost_analysis`, for parts of a program: jax has no public name for it.
from jaxlib import _hlo, _jax

__all__ = ["Cost", "Loop", "counted"]

BLOCK = re.compile(r"^(?:ENTRY )?%([\w.-]+) \(.*?^\}", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"%([\w.-]+)")
WHILE = re.compile(r" while\(.*?\bbody=%([\w.-]+)(.*)")
TURNS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
METADATA = re.compile(r", metadata=\{[^}]*\}")


class Cost(NamedTuple):
    """Operations, those of exp, log, sin and the like (not among them), and bytes read and written."""

    flops: float
    transcendentals: float
    bytes: float

    def plus(self, other: "Cost", times: float = 1.0) -> "Cost":
        return Cost(*(a + times * b for a, b in zip(self, other, strict=True)))


class Loop(NamedTuple):
    """A loop that the program holds: how often it turns, and one turn."""

    turns: float
    body: Cost


def counted(compiled: jax.stages.Compiled, steps: float) -> tuple[Cost, list[Loop]]:
    """The cost of a program, and its loops that hold no other."""
    text = METADATA.sub("", compiled.as_text())
    blocks = {match[1]: match[0] for match in BLOCK.finditer(text)}
    entry = next(name for name, block in blocks.items() if block.startswith("ENTRY"))
    found: list[Loop] = []
    return _total(entry, blocks, steps, found), found


def _total(name: str, blocks: dict[str, str], steps: float, found: list[Loop]) -> Cost:
    cost = _analysis(name, blocks)
    for body, rest in _loops(name, blocks):
        held = len(found)
        total, once = _total(body, blocks, steps, found), _analysis(body, blocks)
        turns = _turns(body, rest, blocks, steps)
        if len(found) == held:
            found.append(Loop(turns, total))
        cost = cost.plus(total, turns).plus(once, -1.0)
    return cost


def _turns(body: str, rest: str, blocks: dict[str, str], steps: float) -> float:
    known = TURNS.search(rest)
    if known and not _conditional(body, blocks):
        return float(known[1])
    inner = [b for b, r in _loops(body, blocks) if not TURNS.search(r) or _conditional(b, blocks)]
    return 1.0 if inner else steps


def _conditional(name: str, blocks: dict[str, str]) -> bool:
    return any(" conditional(" in blocks[part] for part in _reach(name, blocks))


def _loops(name: str, blocks: dict[str, str]) -> list[tuple[str, str]]:
    """Bodies of the loops in a computation and in what it calls, but not in other loops; with what their line says."""
    inside = [match for part in _reach(name, blocks) for match in WHILE.finditer(blocks[part])]
    nested = {
        match[1] for outer in inside for part in _reach(outer[1], blocks) for match in WHILE.finditer(blocks[part])
    }
    return [(match[1], match[2]) for match in inside if match[1] not in nested]


def _reach(name: str, blocks: dict[str, str]) -> list[str]:
    """A computation and all that it calls, in the order of the text."""
    seen, waiting = {name}, [name]
    while waiting:
        called = {other for other in NAME.findall(blocks[waiting.pop()]) if other in blocks} - seen
        seen |= called
        waiting += called
    return [other for other in blocks if other in seen]


def _analysis(name: str, blocks: dict[str, str]) -> Cost:
    """XLA's, of one computation as a program."""
    parts = [blocks[part].removeprefix("ENTRY ") for part in _reach(name, blocks) if part != name]
    text = "\n\n".join(["HloModule part", *parts, "ENTRY " + blocks[name].removeprefix("ENTRY ")])
    found = _jax.hlo_module_cost_analysis(jax.devices()[0].client, _hlo.hlo_module_from_text(text))
    return Cost(*(found.get(key, 0.0) for key in ("flops", "transcendentals", "bytes accessed")))
