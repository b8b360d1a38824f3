"""Which laws gain energy, and other statements of sections 3.5 and 4.2 on random impacts.

Source: Chatterjee & Ruina 1998. Every count depends on the population of the configuration; the statements are that
there are none, or some.
"""

import numpy as np

from jimpact.plotting.impulse_figures import STYLES
from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, only

from .baselines import Impacts, gap
from .forms import TEXTS, Laws
from .populations import KINDS, LAWS, ROUND, SLACK, Answer, answer, joined

NEVER = ("poisson", "smith", "anitescu_potra", "chatterjee_ruina", "stronge")  # laws that are said not to gain energy
BINS = 12

Answers = dict[str, Answer]


def run(config: Laws, progress: LabelledProgress) -> Result:
    impacts, count = joined(config.population), config.population.count
    kinds = {kind: slice(k * count, (k + 1) * count) for k, kind in enumerate(KINDS)}
    answers = {law: answer(impacts, law, progress) for law in LAWS}
    # All laws without friction, and Whittaker's condition: as printed, v_n after is -(1 + e) times v_n before.
    smooth = impacts.every(config.population.every).having(mu=0)
    exact = (-(1 + smooth.e) * smooth.v[:, 2] / smooth.W[:, 2, 2])[:, None] * [0, 0, 1]
    plain = [answer(smooth, law, progress) for law in LAWS]
    worst, most = max(gap(one.impulse, exact) for one in plain), max(one.energy.max() for one in plain)
    holds, words = worst < ROUND and most < 1 + ROUND, {"laws": len(LAWS), "count": len(smooth.mu)}
    reach = ((1 + e)[:, None] * impacts.plastic()[0] for e in (1 + impacts.e, impacts.e))
    printed, corrected = (100 * (impacts.gain(P) > 1 + SLACK).mean() for P in reach)
    found = {
        **_gains(impacts, answers),
        "CR-frictionless": claimed(holds, **words, worst=worst, most=most),
        "CR-Whittaker-text": claimed(printed == 0, printed=printed, corrected=corrected),
        "CR-pfeiffer": only(),
    }
    rows = []
    for kind, own in kinds.items():
        for law, one in answers.items():
            good = one.good[own]
            broken = ((one.margins[:, own] < -SLACK) & good).sum(1)
            rows.append([kind, law, len(good), int((~good).sum()), *map(int, broken), np.nanmax(one.energy[own])])
    return Result(found, [_picture(impacts, answers, kinds)], [TEXTS.grid("energy", rows)])


def _gains(impacts: Impacts, answers: Answers) -> dict[str, Computed]:
    n, gains = len(impacts.mu), {law: (found.energy > 1 + SLACK).sum() for law, found in answers.items()}
    outside = (answers["chatterjee_ruina"].margins.min(0) < -ROUND).sum()
    holds = gains["whittaker"] and not any(gains[law] for law in NEVER) and not outside
    released, counts, most = {}, {}, {}
    for law in ("poisson", "stronge"):
        info, e = answers[law].impact.info, -answers[law].velocity[:, 2] / impacts.v[:, 2]
        released[law] = (info.restitution_work > -info.compression_work * (1 + SLACK)).sum()
        over = e[(answers[law].energy < 1 - SLACK) & (e > 1 + SLACK)]
        counts[law], most[law] = len(over), over.max(initial=1)
    worst = np.nanmax(answers["whittaker"].energy)
    return {
        "CR-energy": claimed(holds, count=n, gains=gains, outside=outside, worst=worst),
        "CR-poisson-work": only(released=released, count=n, gains=gains["poisson"]),
        "CR-3.5": claimed(all(counts.values()), counts=counts, most=most, count=n),
    }


def _picture(impacts: Impacts, answers: Answers, kinds: dict[str, slice]) -> Picture:
    picture, (ax,) = TEXTS.page("energy")
    for kind, dashes in (("bodies", "-"), ("matrices", "--")):
        mu = impacts.mu[kinds[kind]]
        edges = np.linspace(mu.min(), mu.max(), BINS + 1)
        for law, found in answers.items():
            gained = (found.energy > 1 + SLACK)[kinds[kind]]
            share = 100 * np.histogram(mu[gained], edges)[0] / np.histogram(mu, edges)[0]
            if share.any():
                look = dict(zip(("color", "marker"), STYLES[law], strict=True))
                ax.plot(0.5 * (edges[1:] + edges[:-1]), share, dashes, **look, label=f"{law}, {kind}")
    none = [law for law, found in answers.items() if not (found.energy > 1 + SLACK).any()]
    ax.axhline(0, color="0.4", lw=1, label=f"{', '.join(none)}: none")
    ax.legend(frameon=False, fontsize=9)
    return picture
