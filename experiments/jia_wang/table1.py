"""Part "table1": Algorithm 1 in its three variants, and jimpact on the same impacts.

Errors are norms of differences of the total impulse, as in the paper. Times are CPU times of all threads, per impact in
one batch of slightly different velocities, both programs in the same run; jimpact's are without compilation.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, new, number, solve_many

from .algorithm1 import Energy, Fixed, Run, Varied, algorithm1
from .bodies import case_of
from .claims import Half, claims
from .forms import Icosahedron, ImpactsForm, Pin, values
from .reference import sticking_impulse

__all__ = ["run"]

Lanes = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

METHODS = ("NI", "FS", "VS")
COLORS = ("#1f4e9c", "#d1495b")
COLUMNS = (
    "impact",
    "method",
    "steps printed",
    "steps",
    "left at (N s)",
    "error printed",
    "error against printed truth",
    "error",
    "energy after: against printed truth",
    "energy after: error",
    "s printed",
    "us, NumPy",
)


class Impact(NamedTuple):
    """One half of Table 1."""

    name: str
    scene: Icosahedron | Pin
    lane: Lanes  # of one impact
    exact: np.ndarray  # total impulse

    @property
    def truth(self) -> np.ndarray:
        """The total impulse that the paper calls true."""
        return values(self.scene.printed.impulse)


class Timed(NamedTuple):
    """One point of the figure: microseconds per impact in a batch, and the largest error there, relative."""

    label: str
    impact: str
    microseconds: float
    error: float
    steps: int


def run(config: ImpactsForm, progress: Progress) -> Result:
    findings, rows, points, halves = [], [], [], []
    scenes: dict[str, Icosahedron | Pin] = {"icosahedron": config.icosahedron, "pin": config.pin}
    for name, scene in progress(list(scenes.items()), "table 1"):
        impact = _impact(name, scene)
        explicit, listed = (_methods(config, impact, energy) for energy in ("before", "after"))
        timed = _timed(config, impact)
        microseconds = {point.label: point.microseconds for point in timed}
        rows += _rows(impact, explicit, listed, microseconds)
        findings += [_counts(impact, explicit), _errors(impact, explicit, listed), _speed(config, impact, timed)]
        points += timed
        errors = [_gap(run, impact.truth) for run in explicit]
        halves.append(Half(name, scene, errors, [microseconds[method] for method in METHODS]))
    findings = [_summary(findings), *findings, *claims(config, halves)]
    caption = "Cost and error per impact, both programs in batches of the same impacts."
    picture = Picture("table1", _figure(points, list(scenes)), caption)
    return Result(findings, [picture], [Grid("Table 1; errors in N s", COLUMNS, rows)])


def _impact(name: str, scene: Icosahedron | Pin) -> Impact:
    case = case_of(scene)
    lane = tuple(np.array([x], float) for x in (case.inverse_inertia, case.velocity, case.friction, case.restitution))
    return Impact(name, scene, lane, sticking_impulse(case))  # type: ignore[arg-type]


def _methods(config: ImpactsForm, impact: Impact, energy: Energy) -> list[Run]:
    """NI, FS and VS with the printed steps."""
    steps, tolerance = impact.scene.table1, config.table1.tolerance
    return [
        algorithm1(*impact.lane, Fixed(steps.step_ni), closed=False, energy=energy),
        algorithm1(*impact.lane, Fixed(steps.step_fs), tolerance=tolerance, energy=energy),
        algorithm1(*impact.lane, _varied(config), tolerance=tolerance, energy=energy),
    ]


def _varied(config: ImpactsForm, finer: float = 1.0) -> Varied:
    given = config.table1.variable
    return Varied(given.share, finer * given.arc, finer * given.turn)


def _rows(impact: Impact, explicit: list[Run], listed: list[Run], microseconds: dict[str, float]) -> list[list[Any]]:
    said, truth, exact = impact.scene.table1.printed, impact.truth, impact.exact
    return [
        [
            impact.name,
            method,
            said.steps[i],
            int(explicit[i].steps[0]),
            f"{explicit[i].left[0]:.8f}",
            said.errors[i],
            f"{_gap(explicit[i], truth):.7e}",
            f"{_gap(explicit[i], exact):.7e}",
            f"{_gap(listed[i], truth):.7e}",
            f"{_gap(listed[i], exact):.7e}",
            said.seconds[i],
            f"{microseconds[method]:.1f}",
        ]
        for i, method in enumerate(METHODS)
    ]


def _gap(run: Run, truth: np.ndarray) -> float:
    return float(np.linalg.norm(run.impulse[0] - truth))


def _counts(impact: Impact, runs: list[Run]) -> Finding:
    """Numbers of steps."""
    words = impact.scene.table1.printed.steps
    found, said = np.array([int(run.steps[0]) for run in runs]), values(words)
    one_less = [METHODS[i] for i in np.flatnonzero(found == said - 1)]
    wrong = [f"{METHODS[i]} {found[i]} (printed {words[i]})" for i in np.flatnonzero(np.abs(found - said) > 1)]
    why = ""
    if one_less:
        why += f"{', '.join(one_less)}: one less than printed, as if the step that leaves the loop were counted. "
    if wrong:
        why += f"{', '.join(wrong)}: with (36) as printed; why is not known."
    what, id = f"steps NI, FS, VS, {impact.name}", f"JW-Table1-steps-{impact.name}"
    return number(id, "Table 1", what, words, found, why.strip(), "differs" if wrong else "convention")


def _errors(impact: Impact, explicit: list[Run], listed: list[Run]) -> Finding:
    """Errors against the printed truth and against the exact impulse."""

    def told(runs: list[Run], reference: np.ndarray) -> str:
        return ", ".join(f"{_gap(run, reference):.3g}" for run in runs)

    truth, exact = impact.truth, impact.exact
    why = (
        f"Against the printed truth, as in the paper; {told(explicit, exact)} against the exact impulse, from which "
        f"the printed truth is {np.linalg.norm(truth - exact):.1e} off. By explicit Euler steps; with the energy "
        f"updated after the velocity, as lines 8 and 9 list it, {told(listed, truth)} and {told(listed, exact)}, but "
        f"then NI takes {listed[0].steps[0]} steps, not {explicit[0].steps[0]}. The tolerance of event l "
        "is not printed."
    )
    what, id = f"errors NI, FS, VS (N s), {impact.name}", f"JW-Table1-errors-{impact.name}"
    found = [_gap(run, truth) for run in explicit]
    return number(id, "Table 1", what, impact.scene.table1.printed.errors, found, why, "differs")


def _batch(config: ImpactsForm, impact: Impact, count: int) -> Lanes:
    """Impacts with slightly different velocities; the first is the impact itself."""
    W, v, mu, e = (np.repeat(field, count, 0) for field in impact.lane)
    rng = np.random.default_rng(config.table1.timing.seed)
    v = v * (1 + config.table1.timing.spread * rng.normal(size=v.shape))
    v[0] = impact.lane[1][0]
    return W, v, mu, e


def _timed(config: ImpactsForm, impact: Impact) -> list[Timed]:
    """Both programs on one batch; errors against jimpact, whose own error is that of the impact itself."""
    t, tolerance, size = config.table1.timing, config.table1.tolerance, impact.scene.table1
    batch, large = (_batch(config, impact, count) for count in (t.batch, t.large))
    took, answer = _clock(lambda: np.asarray(solve_many(*batch).impulse), 1 + t.repeats)
    own = max(float(np.linalg.norm(answer[0] - impact.exact) / np.linalg.norm(impact.exact)), np.finfo(float).eps)
    points = [Timed("jimpact", impact.name, took / t.batch * 1e6, own, 0)]
    took = _clock(lambda: np.asarray(solve_many(*large).impulse), 2)[0]
    points.append(Timed("jimpact, large", impact.name, took / t.large * 1e6, own, 0))
    runs = {"NI": partial(algorithm1, *batch, Fixed(size.step_ni), closed=False)}
    for f in t.finer:
        mark = "" if f == 1 else f" x {f:g}"
        runs["FS" + mark] = partial(algorithm1, *batch, Fixed(f * size.step_fs), tolerance=f * tolerance)
        runs["VS" + mark] = partial(algorithm1, *batch, _varied(config, f), tolerance=f * tolerance)
    for label, program in runs.items():
        took, run = _clock(program, t.repeats if label in ("FS", "VS") else 1)
        error = np.linalg.norm(run.impulse - answer, axis=-1) / np.linalg.norm(answer, axis=-1)
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


def _speed(config: ImpactsForm, impact: Impact, timed: list[Timed]) -> Finding:
    """Time of jimpact and of FS and VS, and what FS would need for the same error."""
    by, t, size = {point.label: point for point in timed}, config.table1.timing, impact.scene.table1.step_fs
    fine = algorithm1(*impact.lane, Fixed(t.finest * size), tolerance=t.finest * config.table1.tolerance)
    error, steps = _gap(fine, impact.exact) / np.linalg.norm(impact.exact), int(fine.steps[0])
    jimpact, large, fixed, variable = by["jimpact"], by["jimpact, large"], by["FS"], by["VS"]
    needed = steps * error / jimpact.error
    ratio = fixed.microseconds / fixed.steps * needed / jimpact.microseconds
    text = (
        f"jimpact {jimpact.microseconds:.0f} us, error {jimpact.error:.0e}; FS {fixed.microseconds:.0f} us, VS "
        f"{variable.microseconds:.0f} us, errors {fixed.error:.0e}, {variable.error:.0e}"
    )
    why = (
        f"CPU time per impact within a batch of {t.batch} in float64, without compilation; within {t.large}, in chunks "
        f"of the same program, jimpact takes {large.microseconds:.0f} us. Errors are relative, jimpact's against an "
        f"independent solver. At the printed steps FS takes {fixed.microseconds / jimpact.microseconds:.1f} and VS "
        f"{variable.microseconds / jimpact.microseconds:.1f} times the time of jimpact. FS converges by order 1 "
        f"({error:.0e} after {steps} steps): extrapolated to the error of jimpact it needs {needed:.0e} steps, "
        f"{ratio:.0e} times the time."
    )
    return new(f"JW-Table1-time-{impact.name}", "Table 1", f"time per impact, {impact.name}", text, why)


def _summary(findings: list[Finding]) -> Finding:
    """All numbers of steps in one row."""
    prefix = "JW-Table1-steps-"
    steps = {found.id.removeprefix(prefix): found for found in findings if found.id.startswith(prefix)}
    verdicts = {name: found.verdict for name, found in steps.items()}
    return claim(
        "JW-Table1",
        "Table 1",
        "steps NI, FS, VS",
        "; ".join(f"{name} {found.printed}" for name, found in steps.items()),
        "; ".join(f"{name} {found.computed}" for name, found in steps.items()),
        set(verdicts.values()) == {"agrees"},
        f"The rows below: {', '.join(f'{name} {verdict}' for name, verdict in verdicts.items())}. NI needs no "
        "tolerance; the one of |gamma x gamma'| for FS and VS was read off these numbers, one for four of them.",
        "differs" if "differs" in verdicts.values() else "convention",
    )


def _figure(points: list[Timed], names: list[str]) -> Figure:
    """Error against time per impact."""
    fig = Figure(figsize=(7.4, 5.2), layout="constrained")
    ax = fig.add_subplot()
    for impact, color in zip(names, COLORS, strict=True):
        for method, marker in (("FS", "o"), ("VS", "s")):
            own = [p for p in points if p.impact == impact and p.label.startswith(method)]
            x, y = [p.microseconds for p in own], [p.error for p in own]
            ax.loglog(x, y, marker + "-", color=color, label=f"{impact}, {method} of Algorithm 1 (NumPy)")
        mine = next(p for p in points if p.impact == impact and p.label == "jimpact")
        ax.loglog(mine.microseconds, mine.error, "*", color=color, ms=14, ls="", label=f"{impact}, jimpact")
    ax.set(xlabel="CPU time per impact in a batch (us)", ylabel="relative error of the impulse")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(alpha=0.3, which="both")
    ax.legend(fontsize=9)
    return fig
