"""Which laws gain energy, and other statements of sections 3.5 and 4.2 on random impacts.

Source: Chatterjee & Ruina 1998. Every count depends on the population of the configuration; the statements are that
there are none, or some.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, new, unchecked

from .forms import Laws
from .populations import Answer, Impacts, answer, drawn
from .populations import energy as contact_energy
from .space import STYLES

__all__ = ["SLACK", "run"]

LAWS = ("poisson", "stronge", "newton", "whittaker", "smith", "anitescu_potra", "chatterjee_ruina")
SLACK = 1e-6  # of the energy before: more than the error of laws that follow the slip
BINS = 12


def run(config: Laws, progress: Progress) -> Result:
    impacts = drawn(config.population)
    answers = {kind: {law: answer(given, law, progress) for law in LAWS} for kind, given in impacts.items()}
    gains = {law: sum(_gains(answers[kind][law]) for kind in impacts) for law in LAWS}
    n = sum(len(given.mu) for given in impacts.values())
    findings = [
        _main(gains, answers, n),
        _released(answers, n),
        _frictionless(impacts, config.population.every, progress),
        _printed_whittaker(impacts),
        *_ranges(impacts, answers),
        unchecked(
            "CR-pfeiffer",
            "4.2.4",
            "Pfeiffer & Glocker's planar law with tangential restitution",
            "not computed",
            "Described without equations.",
        ),
    ]
    picture = Picture("energy", _figure(impacts, answers), "Share of random impacts that gain energy, by friction.")
    return Result(findings, [picture], [_grid(answers)])


def _gains(found: Answer) -> int:
    return int((found.energy > 1 + SLACK).sum())


def _main(gains: dict[str, int], answers: dict[str, dict[str, Answer]], n: int) -> Finding:
    never = ("poisson", "smith", "anitescu_potra", "chatterjee_ruina", "stronge")
    worst = max(float(np.nanmax(found["whittaker"].energy)) for found in answers.values())
    outside = sum(int((found["chatterjee_ruina"].margins.min(0) < -1e-9).sum()) for found in answers.values())
    return claim(
        "CR-energy",
        "4.2",
        f"impacts that gain energy, of {n}",
        '"can predict arbitrarily large increases" (Whittaker), "cannot" (Smith), "proof of non-negative energy '
        'dissipation" (Routh), "ensures" it (Anitescu & Potra)',
        ", ".join(f"{law} {count}" for law, count in gains.items()) + f"; new law outside {outside}",
        holds=not any(gains[law] for law in never) and gains["whittaker"] > 0 and not outside,
        why=f"Whittaker's up to {worst:.3g} times the energy before. Counts depend on the population. Jia & Wang and "
        "Sun & Baruh call Poisson's rule energetically inconsistent without a condition; as to kinetic energy, the "
        f"{gains['poisson']} gains by it are against that.",
    )


def _released(answers: dict[str, dict[str, Answer]], n: int) -> Finding:
    counts = {}
    for law in ("poisson", "stronge"):
        infos = [found[law].impact.info for found in answers.values()]
        counts[law] = sum(int((i.restitution_work > -i.compression_work * (1 + SLACK)).sum()) for i in infos)
    return new(
        "CR-poisson-work",
        "4.2.1, footnote 5",
        "normal force releases more than it stored (W_d > |W_c|)",
        f"poisson {counts['poisson']}, stronge {counts['stronge']} of {n}",
        "This is what is inconsistent in Poisson's rule; kinetic energy is gained in "
        f"{sum(_gains(found['poisson']) for found in answers.values())} of them: friction takes the surplus.",
    )


def _frictionless(impacts: dict[str, Impacts], every: int, progress: Progress) -> Finding:
    """All laws without friction."""
    worst, gain, n = 0.0, 0.0, 0
    for given in impacts.values():
        smooth = given.take(slice(None, None, every)).having(mu=0.0)
        exact = np.zeros_like(smooth.v)
        exact[:, 2] = -(1 + smooth.e) * smooth.v[:, 2] / smooth.W[:, 2, 2]
        for law in LAWS:
            found = answer(smooth, law, progress)
            worst = max(worst, float((np.abs(found.impulse - exact).max(-1) / exact[:, 2]).max()))
            gain = max(gain, float(found.energy.max()) - 1)
        n += len(smooth.mu)
    return claim(
        "CR-frictionless",
        "3.5, 4.2.5, 5.2",
        f"all {len(LAWS)} laws without friction, {n} impacts",
        '"identical for frictionless"; "nonnegative dissipation" for e <= 1',
        f"differ from (1 + e) P_I by {worst:.0e} at most; greatest energy after / before {1 + gain:.9f}",
        holds=worst < 1e-9 and gain < 1e-9,
    )


def _printed_whittaker(impacts: dict[str, Impacts]) -> Finding:
    """The condition as printed, without friction: the normal velocity after is -(1 + e) times the one before."""
    shares = []
    for given in impacts.values():
        for factor in (1 + given.e, given.e):
            after = given.v + given.W[:, :, 2] * (-(1 + factor) * given.v[:, 2] / given.W[:, 2, 2])[:, None]
            shares.append(np.mean(contact_energy(given.W, after) > contact_energy(given.W, given.v) * (1 + SLACK)))
    printed, corrected = np.mean(shares[::2]), np.mean(shares[1::2])
    return claim(
        "CR-Whittaker-text",
        "4.2.2",
        "condition for the normal velocity in Whittaker's law",
        "V_f.n = -(1 + e) V_i.n",
        "V_f.n = -e V_i.n",
        holds=bool(printed == 0),
        why=f"As printed, {100 * printed:.1f} % of impacts without friction gain energy; "
        f"with -e {100 * corrected:.1f} % do. The print is the change of the normal velocity.",
        verdict="misprint",
    )


def _ranges(impacts: dict[str, Impacts], answers: dict[str, dict[str, Answer]]) -> list[Finding]:
    """Kinematic restitution that laws with other rules reach while they lose energy."""
    over = {}
    for law in ("poisson", "stronge"):
        e = np.concatenate([-answers[kind][law].velocity[:, 2] / given.v[:, 2] for kind, given in impacts.items()])
        lost = np.concatenate([answers[kind][law].energy < 1 - SLACK for kind in impacts])
        over[law] = e[lost & (e > 1 + SLACK)]
    counts = ", ".join(f"{law} {len(e)} (up to {e.max(initial=1):.3g})" for law, e in over.items())
    n = sum(len(given.mu) for given in impacts.values())
    return [
        claim(
            "CR-3.5",
            "3.5",
            "impacts that lose energy with kinematic restitution above 1, M not diagonal",
            '"substantially larger than one even in dissipative collisions"',
            f"{counts}, of {n}",
            holds=all(len(e) > 0 for e in over.values()),
        )
    ]


def _grid(answers: dict[str, dict[str, Answer]]) -> Grid:
    rows = []
    for kind, found in answers.items():
        for law, one in found.items():
            low = one.margins < -SLACK
            counts = [int((low[k] & one.good).sum()) for k in range(4)]
            rows.append([kind, law, len(one.good), int((~one.good).sum()), *counts, float(np.nanmax(one.energy))])
    columns = ("kind", "law", "impacts", "no answer", "gain energy", "approach after", "pull", "outside the cone")
    return Grid("Conditions of section 3.2 that are broken", (*columns, "greatest energy after / before"), rows)


def _figure(impacts: dict[str, Impacts], answers: dict[str, dict[str, Answer]]) -> Figure:
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    ax = figure.add_subplot()
    for kind, dashes in (("bodies", "-"), ("matrices", "--")):
        mu = impacts[kind].mu
        edges = np.linspace(mu.min(), mu.max(), BINS + 1)
        which = np.clip(np.digitize(mu, edges) - 1, 0, BINS - 1)
        for law in LAWS:
            gained = answers[kind][law].energy > 1 + SLACK
            share = [100 * gained[which == k].mean() for k in range(BINS)]
            color, marker = STYLES.get(law, ("0.4", "."))
            look: dict[str, Any] = {"color": color, "marker": marker, "label": f"{law}, {kind}"}
            if not any(share):
                look = {"color": "0.4", "lw": 1, "label": "_none"}
            ax.plot(0.5 * (edges[1:] + edges[:-1]), share, dashes, **look)
    none = [law for law in LAWS if not any((answers[kind][law].energy > 1 + SLACK).any() for kind in answers)]
    ax.plot([], [], color="0.4", lw=1, label=f"{', '.join(none)}: none")
    ax.set(xlabel="friction", ylabel="impacts that gain energy (%)", title="Who gains energy?")
    ax.legend(frameon=False, fontsize=9)
    return figure
