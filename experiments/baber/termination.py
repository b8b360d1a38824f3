"""Sections 3.4 to 3.6, 3.9, 3.11: every impact ends, by what it ends, and how many compressions it has."""

import numpy as np

import jimpact
from jimpact.config import Name, Small, Table
from jimpact.reproduce import Finding, Grid, Progress, Result, claim

from .convergence import ConvergenceForm, converging
from .crowd import FAMILIES, Impacts, solved, stick_ratio
from .forms import Crowd
from .phases import PhasesForm, phases

__all__ = ["TerminationForm", "run"]

STICKS = (1, 3, 5)  # `info.mode`


class TerminationForm(Table):
    """configs/baber/termination.toml"""

    name: Name
    matrices: Crowd
    boxes: Crowd
    balance: Small  # of the work of compression: what the works may miss e^2 by, or energy rise
    phases: PhasesForm
    convergence: ConvergenceForm


def run(form: TerminationForm, progress: Progress) -> Result:
    """Outcomes, modes, compressions and works of a large number of random impacts."""
    crowds = {name: FAMILIES[name](getattr(form, name)) for name in FAMILIES}
    ends = {name: solved(impacts, progress) for name, impacts in crowds.items()}
    findings = [finding for name in FAMILIES for finding in _ends(name, crowds[name], ends[name], form.balance)]
    findings += [*phases(form.phases, progress), *converging(form.convergence, progress)]
    columns = ("how it went", *FAMILIES)
    return Result(
        findings, [], [Grid("Random impacts: outcome, slip, and number of compressions.", columns, _rows(ends))]
    )


def _ends(name: str, impacts: Impacts, impact: jimpact.Impact, limit: float) -> list[Finding]:
    info, n = impact.info, len(impacts.friction)
    done = int((impact.outcome == jimpact.Outcome.OK).sum())
    balance = np.abs(info.restitution_work + impacts.restitution**2 * info.compression_work)
    worst = float((balance / np.abs(info.compression_work)).max())
    stuck = np.isfinite(info.slip_end)
    stable = stick_ratio(impacts.inverse_inertia) <= impacts.friction
    rests = np.isin(info.mode, STICKS)
    right = int((rests == stable)[stuck].sum())
    gain = float((info.kinetic_energy_change / np.abs(info.compression_work)).max())
    return [
        claim(
            f"B-ends-{name}",
            "3.11",
            f"the algorithm terminates: random {name}",
            "the algorithm will always terminate",
            f"{done} of {n} end, {n - done} do not",
            done == n and worst < limit and gain < limit,
            f"The works fit e^2 to {worst:.0e} of the work of compression; energy rises by at most {gain:.0e} of it.",
        ),
        claim(
            f"B-sticks-{name}",
            "3.5",
            f"slip that stops: random {name}",
            "sticks if ((K^-1)_13)^2 + ((K^-1)_23)^2 <= mu^2 ((K^-1)_33)^2",
            f"{right} of {int(stuck.sum())} as the condition says, {int(rests[stuck].sum())} of them stick",
            right == stuck.sum(),
        ),
    ]


def _rows(ends: dict[str, jimpact.Impact]) -> list[list[str | int]]:
    rows: list[list[str | int]] = []
    for outcome in jimpact.Outcome:
        counts = [int((end.outcome == outcome).sum()) for end in ends.values()]
        rows += [[f"outcome {outcome.name}", *counts]] if any(counts) else []
    for mode, words in jimpact.MODES.items():
        counts = [int((end.info.mode == mode).sum()) for end in ends.values()]
        rows += [[words, *counts]] if any(counts) else []
    most = max(int(end.info.compressions.max()) for end in ends.values())
    for count in range(1, most + 1):
        word = "compression" if count == 1 else "compressions"
        rows.append([f"{count} {word}", *(int((end.info.compressions == count).sum()) for end in ends.values())])
    return rows
