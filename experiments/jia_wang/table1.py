"""Part "table1": Algorithm 1 in its three variants, and jimpact on the same impacts.

Errors are norms of differences of the total impulse, as in the paper. Times are CPU times of all threads, per impact in
one batch of slightly different velocities, both programs in the same run; jimpact's are without compilation.
"""

import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, new, number, solve_many

from .algorithm1 import Energy, Run, Steps, algorithm1
from .forms import Table1Form, TableImpact, values
from .reference import sticking_impulse

__all__ = ["run"]

Lanes = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

METHODS = ("NI", "FS", "VS")
COLUMNS = (
    "impact",
    "method",
    "steps printed",
    "steps",
    "left at (N s)",
    "error printed",
    "error",
    "against printed truth",
    "error, energy after",
    "s printed",
    "us, NumPy",
)


class Timed(NamedTuple):
    """One point of the figure: microseconds per impact in a batch, and the largest error there, relative."""

    label: str
    impact: str
    microseconds: float
    error: float
    steps: int


def run(config: Table1Form, progress: Progress) -> Result:
    findings, rows, points = [], [], []
    for impact in progress(config.impacts, "table 1"):
        exact = sticking_impulse(impact)
        before, after = (_methods(config, impact, energy) for energy in ("before", "after"))
        timed = _timed(config, impact, exact)
        seconds = {point.label: point.microseconds for point in timed}
        rows += _rows(impact, exact, before, after, seconds)
        findings += [
            _counts(impact, before),
            _errors(impact, exact, before, after),
            _speed(config, impact, exact, timed),
        ]
        points += timed
    findings.insert(0, _summary(findings))
    picture = Picture(
        "table1", _figure(points), "Cost and error per impact, both programs in batches of the same impacts."
    )
    return Result(findings, [picture], [Grid("Table 1; errors in N s", COLUMNS, rows)])


def _methods(config: Table1Form, impact: TableImpact, energy: Energy) -> list[Run]:
    """NI, FS and VS with the printed steps."""
    one = _one(impact)
    tolerance = config.tolerance
    return [
        algorithm1(*one, Steps(impact.step_ni), closed=False, energy=energy),
        algorithm1(*one, Steps(impact.step_fs), tolerance=tolerance, energy=energy),
        algorithm1(*one, _variable(config), tolerance=tolerance, energy=energy),
    ]


def _one(impact: TableImpact) -> Lanes:
    W, v = np.array([impact.inverse_inertia]), np.array([impact.velocity])
    return W, v, np.array([impact.friction]), np.array([impact.restitution])


def _variable(config: Table1Form, finer: float = 1.0) -> Steps:
    return Steps(0.0, config.variable.share, finer * config.variable.arc, finer * config.variable.turn)


def _rows(
    impact: TableImpact, exact: np.ndarray, before: list[Run], after: list[Run], seconds: dict
) -> list[list[Any]]:
    said, truth = impact.printed, values(impact.printed.truth)
    return [
        [
            impact.name,
            method,
            said.steps[i],
            int(before[i].steps[0]),
            f"{before[i].left[0]:.8f}",
            said.errors[i],
            f"{_gap(before[i], exact):.7e}",
            f"{_gap(before[i], truth):.7e}",
            f"{_gap(after[i], exact):.7e}",
            said.seconds[i],
            f"{seconds[method]:.1f}" if method in seconds else "",
        ]
        for i, method in enumerate(METHODS)
    ]


def _gap(run: Run, truth: np.ndarray) -> float:
    return float(np.linalg.norm(run.impulse[0] - truth))


def _counts(impact: TableImpact, runs: list[Run]) -> Finding:
    """Numbers of steps."""
    found = np.array([int(run.steps[0]) for run in runs])
    said = values(impact.printed.steps)
    agrees = np.abs(found - said) <= 1
    wrong = [f"{METHODS[i]} {found[i]} (printed {impact.printed.steps[i]})" for i in np.flatnonzero(~agrees)]
    why = "One less than printed where the step that leaves the loop is not counted."
    if wrong:
        why += f" {', '.join(wrong)}: with (36) as printed; why is not known."
    what = f"steps NI, FS, VS, {impact.name}"
    verdict = "differs" if wrong else "" if (found == said).all() else "convention"
    return number(f"JW-Table1-steps-{impact.name}", "Table 1", what, impact.printed.steps, found, why, verdict)


def _errors(impact: TableImpact, exact: np.ndarray, before: list[Run], after: list[Run]) -> Finding:
    """Errors against the exact impulse, with the energy updated by the normal velocity before or after each step."""
    late = [_gap(run, exact) for run in after]
    early = [_gap(run, exact) for run in before]
    truth = values(impact.printed.truth)
    off = np.linalg.norm(truth - exact)
    why = (
        "With energy after velocity, as lines 8 and 9 say; explicit Euler steps have "
        f"{', '.join(f'{x:.3g}' for x in early)}, and {', '.join(f'{_gap(run, truth):.3g}' for run in before)} "
        f"against the printed truth, which is off by {off:.1e} itself. The tolerance of event l is not printed."
    )
    what = f"errors NI, FS, VS (N s), {impact.name}"
    return number(f"JW-Table1-errors-{impact.name}", "Table 1", what, impact.printed.errors, late, why, "differs")


def _timed(config: Table1Form, impact: TableImpact, exact: np.ndarray) -> list[Timed]:
    """Both programs on one batch; errors against jimpact, whose own error is that of the impact itself."""
    t, rng = config.timing, np.random.default_rng(config.timing.seed)
    W, v, mu, e = (np.repeat(field, t.batch, 0) for field in _one(impact))
    v = v * (1 + t.spread * rng.normal(size=v.shape))
    v[0] = impact.velocity
    took, answer = _clock(lambda: np.asarray(solve_many(W, v, mu, e).impulse), 1 + t.repeats)
    own = max(float(np.linalg.norm(answer[0] - exact) / np.linalg.norm(exact)), np.finfo(float).eps)
    points = [Timed("jimpact", impact.name, took / t.batch * 1e6, own, 0)]
    for name, f in product(("FS", "VS"), t.finer):
        steps, tolerance = Steps(f * impact.step_fs) if name == "FS" else _variable(config, f), f * config.tolerance
        took, run = _clock(partial(algorithm1, W, v, mu, e, steps, tolerance=tolerance), t.repeats if f == 1 else 1)
        error = np.linalg.norm(run.impulse - answer, axis=-1) / np.linalg.norm(answer, axis=-1)
        label = name if f == 1 else f"{name} x {f:g}"
        points.append(Timed(label, impact.name, took / t.batch * 1e6, error.max(), int(run.steps[0])))
    return points


def _clock(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The best CPU time of some runs, in seconds, and the result."""
    best, result = np.inf, None
    for _ in range(repeats):
        begin = time.process_time()
        result = function()
        best = min(best, time.process_time() - begin)
    return best, result


def _speed(config: Table1Form, impact: TableImpact, exact: np.ndarray, timed: list[Timed]) -> Finding:
    """Time of jimpact and of FS and VS, and what FS would need for the same error."""
    by, finest = {point.label: point for point in timed}, config.timing.finest
    fine = algorithm1(*_one(impact), Steps(finest * impact.step_fs), tolerance=finest * config.tolerance)
    error, steps = _gap(fine, exact) / np.linalg.norm(exact), int(fine.steps[0])
    jimpact, fixed, variable = by["jimpact"], by["FS"], by["VS"]
    needed = steps * error / jimpact.error
    ratio = fixed.microseconds / fixed.steps * needed / jimpact.microseconds
    text = (
        f"jimpact {jimpact.microseconds:.0f} us, error {jimpact.error:.0e}; FS {fixed.microseconds:.0f} us, VS "
        f"{variable.microseconds:.0f} us, errors {fixed.error:.0e}, {variable.error:.0e}"
    )
    why = (
        f"CPU time per impact within a batch of {config.timing.batch} in float64, without compilation; errors "
        "relative, jimpact's against an independent solver. At the printed steps FS takes "
        f"{fixed.microseconds / jimpact.microseconds:.1f} and VS {variable.microseconds / jimpact.microseconds:.1f} "
        f"times the time of jimpact. FS converges by order 1 ({error:.0e} after {steps} steps): extrapolated to the "
        f"error of jimpact it needs {needed:.0e} steps, {ratio:.0e} times the time."
    )
    return new(f"JW-Table1-time-{impact.name}", "Table 1", f"time per impact, {impact.name}", text, why)


def _summary(findings: list[Finding]) -> Finding:
    by = {finding.id: finding for finding in findings}
    names = ("icosahedron", "pin")
    steps = [by[f"JW-Table1-steps-{name}"] for name in names]
    printed = "; ".join(f"{name} {found.printed}" for name, found in zip(names, steps, strict=True))
    computed = "; ".join(f"{name} {found.computed}" for name, found in zip(names, steps, strict=True))
    off = [name for name, found in zip(names, steps, strict=True) if found.verdict == "differs"]
    return claim(
        "JW-Table1",
        "Table 1",
        "steps NI, FS, VS",
        printed,
        computed,
        False,
        f"More than a step off: {', '.join(off) or 'none'}. NI needs no tolerance; the one of |gamma x gamma'| for FS "
        "and VS was read off these numbers, one for four of them.",
        "differs",
    )


def _figure(points: list[Timed]) -> Figure:
    """Error against time per impact."""
    fig = Figure(figsize=(7.4, 5.2), layout="constrained")
    ax = fig.add_subplot()
    colors = {"icosahedron": "#1f4e9c", "pin": "#d1495b"}
    for impact, color in colors.items():
        for method, marker in (("FS", "o"), ("VS", "s")):
            own = [p for p in points if p.impact == impact and p.label.startswith(method)]
            x, y = [p.microseconds for p in own], [p.error for p in own]
            ax.loglog(x, y, marker + "-", color=color, label=f"{impact}, {method} of Algorithm 1 (NumPy)")
        mine = next(p for p in points if p.impact == impact and p.label == "jimpact")
        ax.loglog(mine.microseconds, mine.error, "*", color=color, ms=14, ls="", label=f"{impact}, jimpact")
    ax.set(xlabel="CPU time per impact in a batch (us)", ylabel="relative error of the impulse")
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize=9)
    return fig
