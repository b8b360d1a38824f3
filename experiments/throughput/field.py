"""The impacts of a run, and what their answers should be.

The reference is jimpact at its highest accuracy in float64. It is itself judged by another program, the C kernel, at a
tighter tolerance.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

import jimpact

from . import kernel, ours
from .population import Impacts, draw, part, repeated
from .race import Answer, Truth, What, errors

__all__ = ["Field", "Lanes", "field"]

TIGHT = 1e-13  # tolerance of the C kernel as a judge
STICKING = (1, 3, 5)  # of `jimpact.MODES`
CHUNK = 10_000  # impacts at a time


class Lanes(NamedTuple):
    """A batch: impacts, whether jimpact finished each, the truth by quantity, and that of the truth itself."""

    impacts: Impacts
    ok: np.ndarray
    truth: dict[What, Truth]
    judge: Truth


class Field(NamedTuple):
    """The mix, those of it that only slip (repeated to the same number), and what is known about them."""

    mix: Lanes
    slip: Lanes
    facts: dict[str, Any]


def field(n: int, whats: Sequence[What], seed: int = 0) -> Field:
    """Draw n impacts, and solve them; `whats` are the derivatives that are wanted, too."""
    impacts = draw(n, seed)
    forward, modes = _reference(impacts)
    judge, agreement = _judged(impacts, forward)
    truth: dict[What, Truth] = {what: _derivative(impacts, what) for what in whats}
    mix = Lanes(impacts, forward.ok, {"forward": Truth(forward.values), **truth}, Truth(judge))
    slips = np.resize(np.flatnonzero(modes == 0), n)
    again = None if judge is None else judge[slips]
    slip = Lanes(part(impacts, slips), forward.ok[slips], {"forward": Truth(forward.values[slips])}, Truth(again))
    facts = {
        "impacts": n,
        "seed": seed,
        "sticking": float(np.isin(modes, STICKING).mean()),
        "slipping": float((modes == 0).mean()),
        "reference": "jimpact high, float64",
        "finished": float(forward.ok.mean()),
        "agreement": agreement,
    }
    return Field(mix, slip, facts)


def _reference(impacts: Impacts) -> tuple[Answer, np.ndarray]:
    """Impulses, and Sun & Baruh's case of each impact, in chunks of one program."""

    def solved(*inputs: jax.Array) -> tuple[jax.Array, ...]:
        impact = jimpact.solve(*inputs, accuracy="high")
        return impact.impulse, impact.outcome, impact.info.mode

    n, program = len(impacts[2]), jax.jit(solved)
    size = min(n, CHUNK)
    parts = [program(*repeated(part(impacts, slice(i, i + size)), size)) for i in range(0, n, size)]
    impulse, outcome, mode = (
        np.concatenate([np.asarray(a) for a in arrays])[:n] for arrays in zip(*parts, strict=True)
    )
    return Answer(impulse, outcome == jimpact.Outcome.OK), mode


def _derivative(impacts: Impacts, what: What) -> Truth:
    one = ours.entry("high", what, "float64", "mix", impacts, np.ones(len(impacts[2]), bool), Truth(None))
    program = one.prepare()
    return Truth(program.read(program.run()).values)


def _judged(impacts: Impacts, reference: Answer) -> tuple[np.ndarray | None, dict[str, Any]]:
    """The impulses of the judge, and how far the reference is from them."""
    try:
        solved = kernel.solve(*impacts, tolerance=TIGHT)
    except RuntimeError as reason:
        return None, {"note": str(reason)}
    return solved.impulse, {"judge": "C kernel", "tolerance": TIGHT, **errors(reference, Truth(solved.impulse))}
