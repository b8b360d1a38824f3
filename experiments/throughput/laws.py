"""What each law costs: all of them on the same impacts in float64, at the standard accuracy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jimpact

from .ours import compile_program
from .population import Impacts, draw
from .race import Answer, Entry, Program, Progress, Row, Truth, race

__all__ = ["COLUMNS", "Plan", "cells", "run"]

NUMBERS = {"tangential_restitution": 0.3, "mixing": 0.5}
COLUMNS = ("law", "us", "median", "comp. s", "B", "OK %")


@dataclass(frozen=True)
class Plan:
    """How much to measure."""

    batch: int
    repeats: int
    budget: float = 10.0


def run(plan: Plan, progress: Progress) -> list[Row]:
    """One row for each law."""
    impacts = draw(plan.batch)
    entries = [_entry(name, impacts) for name in jimpact.LAWS]
    return race(entries, progress, repeats=plan.repeats, budget=plan.budget)


def cells(rows: list[Row]) -> list[list[Any]]:
    return [
        [row.setting, row.best_us, row.median_us, row.compile_s, row.bytes_per_impact, 100 * (row.success or 0)]
        for row in rows
    ]


def _entry(name: str, impacts: Impacts) -> Entry:
    W, v, mu, e = impacts
    if name == "bilinear":  # its domain: no coupling, and slip in a plane
        W, v = W * np.eye(3), v * [1, 0, 1]

    def prepare() -> Program:
        program = compile_program(_function(name), len(mu))
        given = [jnp.asarray(a) for a in (W, v, mu, e)]
        run = lambda: jax.block_until_ready(program.call(*given))  # noqa: E731
        return Program(run, _read, program.seconds, program.bytes_per_impact)

    return Entry("jimpact", name, "forward", "float64", "mix", len(mu), Truth(None), prepare)


def _function(name: str) -> Callable[..., Any]:
    own: dict[str, Any] = {key: value for key, value in NUMBERS.items() if key in jimpact.LAWS[name].parameters}

    def forward(*inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        impact = jimpact.solve(*inputs, law=name, **own)
        return impact.impulse, impact.outcome

    return forward


def _read(out: Any) -> Answer:
    return Answer(np.asarray(out[0]), np.asarray(out[1]) == jimpact.Outcome.OK)
