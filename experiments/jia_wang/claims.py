"""What section 6.4 says about speed and accuracy, against Table 1 and against runs of Algorithm 1.

"n times faster" is read as the ratio of times less one, "p % faster" likewise; "1/n of the time" is the ratio.
"""

from typing import NamedTuple

import numpy as np

from jimpact.reproduce import Finding, claim, new, number, unchecked

from .bodies import case_of
from .closed_form import flow_of
from .forms import ColumnsPrinted, Icosahedron, ImpactsForm, Pin, values
from .straight import slip_at, straight_at, within_product

__all__ = ["Half", "claims"]

WHERE = "6.4"
TABLE = "By the times of Table 1."


class Half(NamedTuple):
    """One half of Table 1: what is printed, and errors (N s) and times (us) of NI, FS, VS as computed."""

    name: str
    scene: Icosahedron | Pin
    errors: list[float]
    microseconds: list[float]

    @property
    def said(self) -> ColumnsPrinted:
        return self.scene.table1.printed

    @property
    def seconds(self) -> np.ndarray:
        return values(self.said.seconds)

    @property
    def said_errors(self) -> np.ndarray:
        return values(self.said.errors)


def claims(config: ImpactsForm, halves: list[Half]) -> list[Finding]:
    """One row for each statement."""
    icosahedron, pin = halves
    return [
        *_icosahedron(config, icosahedron),
        *_pin(config, pin),
        number(
            "JW-7-time",
            "7",
            "time of VS, icosahedron, pin (ms)",
            [config.table1.printed.milliseconds] * len(halves),
            [1e3 * half.seconds[2] for half in halves],
            TABLE,
            "differs",
        ),
        *_ndsolve(config, icosahedron),
        *_truth(config, halves),
        *_computed(halves),
    ]


def _icosahedron(config: ImpactsForm, half: Half) -> list[Finding]:
    said, (ni, fs, vs), e = config.table1.printed, half.seconds, half.said_errors
    mine = np.array(half.errors)
    percent = 100 * (fs / vs - 1)
    return [
        number(
            "JW-6.4-icosahedron-NI",
            WHERE,
            "VS is so many times faster than NI, icosahedron",
            said.times_faster_than_ni,
            ni / vs - 1,
            f"{TABLE} The ratio is {ni / vs:.1f}.",
            "differs",
        ),
        number(
            "JW-6.4-icosahedron-FS",
            WHERE,
            "VS is so many percent faster than FS, icosahedron",
            said.percent_faster_than_fs,
            percent,
            f"{TABLE} {percent:.1f} % is rounded down in the text.",
            "convention" if percent // 10 == float(said.percent_faster_than_fs) // 10 else "differs",
        ),
        claim(
            "JW-6.4-icosahedron-errors",
            WHERE,
            "errors of NI, FS, VS are comparable, icosahedron",
            "comparable",
            f"largest over least: {e.max() / e.min():.2f} in Table 1, {mine.max() / mine.min():.2f} by runs",
            bool(max(e.max() / e.min(), mine.max() / mine.min()) < config.table1.comparable),
            f"Comparable is taken as less than a factor of {config.table1.comparable:g}, for both.",
            "differs",
        ),
    ]


def _pin(config: ImpactsForm, half: Half) -> list[Finding]:
    said, (ni, fs, vs) = config.table1.printed, half.seconds
    (e_ni, e_fs, e_vs), (m_ni, m_fs, m_vs) = half.said_errors, half.errors
    return [
        number(
            "JW-6.4-pin-NI-time",
            WHERE,
            "VS takes 1/n of the time of NI, pin: n",
            said.part_of_time_of_ni,
            ni / vs,
            TABLE,
            "differs",
        ),
        claim(
            "JW-6.4-pin-FS-time",
            WHERE,
            "VS against FS, pin",
            "more than one time faster",
            f"{fs / vs - 1:.2f} times faster",
            bool(fs / vs - 1 > 1),
            f"{TABLE} The ratio is {fs / vs:.2f}.",
            "differs",
        ),
        number(
            "JW-6.4-pin-NI-error",
            WHERE,
            "error of NI over that of VS, pin, by Table 1",
            said.accuracy_over_ni,
            e_ni / e_vs,
            "By the errors of Table 1.",
            "differs",
        ),
        number(
            "JW-6.4-pin-NI-error-run",
            WHERE,
            "error of NI over that of VS, pin, by a run of both",
            said.accuracy_over_ni,
            m_ni / m_vs,
            f"Against the printed truth: NI {m_ni:.3g}, VS {m_vs:.3g} N s (row JW-Table1-errors-pin). The error of VS "
            "depends on the tolerance of event l, which is not printed.",
            "differs",
        ),
        claim(
            "JW-6.4-pin-FS-error",
            WHERE,
            "error of VS against FS, pin, by Table 1",
            "slightly higher accuracy",
            f"FS has {e_fs / e_vs:.2f} times the error of VS",
            bool(e_fs > e_vs),
            "By the errors of Table 1.",
            "differs",
        ),
        claim(
            "JW-6.4-pin-FS-error-run",
            WHERE,
            "error of VS against FS, pin, by a run of both",
            "slightly higher accuracy",
            f"FS has {m_fs / m_vs:.2f} times the error of VS",
            bool(m_fs > m_vs),
            f"Against the printed truth: FS {m_fs:.3g}, VS {m_vs:.3g} N s, with one tolerance for both.",
            "differs",
        ),
    ]


def _ndsolve(config: ImpactsForm, half: Half) -> list[Finding]:
    said, vs = config.table1.printed, half.seconds[2]
    faster = values(said.ndsolve_seconds) / vs - 1
    return [
        number(
            "JW-6.4-NDSolve",
            WHERE,
            "VS is so many times faster than NDSolve, icosahedron: least and most of three schemes",
            said.times_faster_than_ndsolve,
            [faster.min(), faster.max()],
            f"By the printed {', '.join(said.ndsolve_seconds)} s and the time of VS in Table 1; ratios "
            f"{', '.join(f'{x + 1:.2f}' for x in faster)}.",
            "differs",
        ),
        unchecked(
            "JW-6.4-NDSolve-accuracy",
            WHERE,
            "NDSolve is no more accurate than VS",
            "",
            "No errors of NDSolve are printed, and Mathematica is not run here.",
        ),
    ]


def _truth(config: ImpactsForm, halves: list[Half]) -> list[Finding]:
    """The column "Truth": steps of 1e-6 until |gamma x gamma'| is below the tolerance, by a Runge-Kutta method."""
    tolerance = config.table1.tolerance
    words, counts, products = [], [], []
    for half in halves:
        case, given = case_of(half.scene), half.scene.table1
        flow, last = flow_of(np.asarray(case.inverse_inertia), case.friction), float(half.scene.printed.impulse[2])
        words.append(given.printed.truth_steps)
        at = straight_at(flow, np.asarray(case.velocity[:2]), last, [within_product(flow, tolerance)])[0][0]
        counts.append(at / given.step_truth)
        angle, speed = slip_at(flow, np.asarray(case.velocity[:2]), float(words[-1]) * given.step_truth)
        products.append(within_product(flow, 0.0)(angle, speed))
    off = np.abs(np.array(counts) / values(words) - 1)
    return [
        number(
            "JW-Table1-truth-steps",
            "Table 1",
            "steps of 1e-6 N s to the true values, icosahedron, pin",
            words,
            counts,
            f"With the tolerance {tolerance:g} of |gamma x gamma'|, which is not printed; off by {off[0]:.2%}, "
            f"{off[1]:.2%}. Where the printed steps end it is {products[0]:.5f}, {products[1]:.5f}.",
            "convention" if off.max() < config.table1.truth else "differs",
        ),
        unchecked(
            "JW-Table1-seconds",
            "Table 1",
            "times of truth, NI, FS, VS (s)",
            "",
            "Of Mathematica on a laptop, to which nothing here compares; ratios have rows.",
        )._replace(printed="; ".join(f"{h.name} {h.said.truth_seconds}, {', '.join(h.said.seconds)}" for h in halves)),
    ]


def _computed(halves: list[Half]) -> list[Finding]:
    """Time per step in Table 1, and ratios of times by runs here."""
    texts, gains, parts = [], [], []
    for half in halves:
        given = half.scene.table1.printed
        seconds = np.append(float(given.truth_seconds), half.seconds)
        each = 1e6 * seconds / np.append(float(given.truth_steps), values(given.steps))
        texts.append(f"{half.name} {', '.join(f'{x:.0f}' for x in each)}")
        parts.append(
            f"{values(given.steps)[0] / values(given.steps)[2]:.1f} times the steps and "
            f"{half.seconds[0] / half.seconds[2]:.1f} times the time ({half.name})"
        )
        ni, fs, vs = half.microseconds
        gains.append(f"{half.name} NI/VS {ni / vs:.1f}, FS/VS {fs / vs:.1f}")
    return [
        new(
            "JW-Table1-per-step",
            "Table 1",
            "printed time per step: truth, NI, FS, VS (us)",
            "; ".join(texts),
            f"A step of NI does what a step of FS does, yet NI has {', '.join(parts)} of VS.",
        ),
        new(
            "JW-6.4-run",
            WHERE,
            "times of NI and FS over that of VS, both in NumPy",
            "; ".join(gains),
            "CPU time per impact in a batch, same code for all three.",
        ),
    ]
