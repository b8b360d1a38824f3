"""One run: the impacts, the race, the sweep over batch sizes, and the bars."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from . import machine, ours
from .bars import Bar, bars
from .field import Field, field
from .peers import COMPETITORS, peers
from .race import Entry, Progress, Row, Truth, What, race
from .sweep import Point, sweep

__all__ = ["EVERYBODY", "FULL", "QUICK", "Plan", "Results", "record", "run"]

EVERYBODY = ("jimpact", *COMPETITORS)


@dataclass(frozen=True)
class Plan:
    """How much to measure."""

    batch: int = 262_144
    few: int = 2_000  # impacts for diffrax and NumPy, which are slow
    single: int = 200  # and for SciPy, one after another
    repeats: int = 8
    budget: float = 10.0  # seconds, after which an entry is not repeated
    largest: int = 1_000_000  # batch of the sweep
    largest_gradient: int = 100_000
    accuracies: tuple[str, ...] = ours.ACCURACIES
    dtypes: tuple[str, ...] = ("float64", "float32")
    whats: tuple[What, ...] = ("forward", "jvp", "gradient")
    only: tuple[str, ...] = EVERYBODY
    quick: bool = False


FULL = Plan()
QUICK = replace(
    FULL,
    batch=10_000,
    few=300,
    single=20,
    repeats=4,
    budget=3.0,
    largest=0,
    accuracies=("standard",),
    whats=("forward",),
    quick=True,
)


@dataclass(frozen=True)
class Results:
    """Everything that was measured."""

    plan: Plan
    machine: dict[str, Any]
    facts: dict[str, Any]  # about the impacts and their reference
    rows: list[Row]
    points: list[Point]
    bars: list[Bar]


def run(plan: Plan, progress: Progress) -> Results:
    """Measure what the plan says; needs float64 to be enabled in JAX."""
    where = machine.describe()
    # The derivatives at the highest accuracy are the reference of the others; alone, they need none.
    wanted = plan.whats if len(plan.accuracies) > 1 else ("forward",)
    on = field(plan.batch, [what for what in wanted if what != "forward" and "jimpact" in plan.only])
    entries = _ours(plan, on) if "jimpact" in plan.only else []
    entries += peers(on, few=plan.few, single=plan.single, only=plan.only, quick=plan.quick)
    rows = race(entries, progress, repeats=plan.repeats, budget=plan.budget)
    largest = {"forward": plan.largest, "gradient": min(plan.largest, plan.largest_gradient)}
    whats: list[What] = [what for what in plan.whats if what != "jvp"]
    series = [(what, dtype) for what in whats for dtype in plan.dtypes if "jimpact" in plan.only]
    points = [*sweep(on.mix.impacts, series, largest, progress), *_points(rows)]
    points.sort(key=lambda point: (series.index((point.what, point.dtype)), point.batch))
    return Results(plan, where, on.facts, rows, points, bars(rows))


def _ours(plan: Plan, on: Field) -> list[Entry]:
    """All programs of jimpact on the mix, and values in float64 on the lanes that only slip."""
    chosen = [(a, what, dtype) for dtype in plan.dtypes for what in plan.whats for a in plan.accuracies]
    entries = []
    for accuracy, what, dtype in chosen:
        same = accuracy == "high" and dtype == "float64"  # the reference itself
        truth = on.mix.truth.get(what, Truth(None))
        truth = (on.mix.judge if what == "forward" else Truth(None)) if same else truth
        entries.append(ours.entry(accuracy, what, dtype, "mix", on.mix.impacts, on.mix.ok, truth))
    for accuracy in plan.accuracies:
        truth = on.slip.judge if accuracy == "high" else on.slip.truth["forward"]
        entries.append(ours.entry(accuracy, "forward", "float64", "slip", on.slip.impacts, on.slip.ok, truth))
    return entries


def _points(rows: list[Row]) -> list[Point]:
    """The rows that belong to the sweep, too."""
    own = [row for row in rows if (row.competitor, row.setting, row.lanes) == ("jimpact", "standard", "mix")]
    return [
        Point(r.what, r.dtype, r.batch, r.best_us, r.median_us, r.compile_s, r.bytes_per_impact)
        for r in own
        if r.what != "jvp"
    ]


def record(results: Results) -> dict[str, Any]:
    """The results in plain Python, for JSON."""
    return asdict(results)
