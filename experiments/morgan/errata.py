"""What must be read otherwise than printed, and what happens if it is not: counted on random double pendulums."""

from typing import NamedTuple

import numpy as np

from jimpact.reproduce import Finding, Grid, Progress, Result, claim

from .algorithm import CORRECTED, PRINTED, Solved
from .crowd import Crowd, by_text, collide_many, draw, largest_gap
from .forms import CrowdForm, CrowdLimits

__all__ = ["run"]

SINGLE = ("(3.1) without minus sign", "sticks if m <= mu", "negative p_n for v_n = 0 kept")
INVERTED = "e = work stored / work returned"

READINGS = {
    "corrected": CORRECTED,
    "(3.1) without minus sign": CORRECTED._replace(minus=False),
    "sticks if m <= mu": CORRECTED._replace(size=False),
    "negative p_n for v_n = 0 kept": CORRECTED._replace(discard=False),
    "e = work returned / work stored": CORRECTED._replace(work="ratio"),
    INVERTED: CORRECTED._replace(work="inverted"),
    "all as printed": PRINTED,
}


class Effect(NamedTuple):
    """What a reading does to the impacts."""

    changed: int  # another impulse than the corrected one
    largest: float  # relative
    slides: int  # sticking claimed, but the tip slips
    gains: int  # kinetic energy rises
    pulls: int  # the normal impulse is negative


def run(form: CrowdForm, progress: Progress) -> Result:
    crowd = draw(form.pendulum.pendulum(), form.sample)
    expected, n = np.asarray(collide_many(crowd).impact.impulse), len(crowd.u)
    solved = {name: by_text(crowd, reading) for name, reading in READINGS.items()}
    effects = {name: _effect(crowd, text, expected, form.limits) for name, text in solved.items()}
    head = ("reading", "other impulse", "largest difference", "sticks but slips", "energy rises", "floor pulls")
    rows = [(name, e.changed, f"{e.largest:.1e}", e.slides, e.gains, e.pulls) for name, e in effects.items()]
    grid = Grid(f"{n} random impacts by the text's algorithm, against jimpact.", head, rows)
    return Result(
        [_summary(effects, n), *_sign(crowd, effects), *_others(crowd, solved, effects), _references(form)],
        grids=[grid],
    )


def _effect(crowd: Crowd, text: list[Solved], expected: np.ndarray, limits: CrowdLimits) -> Effect:
    impulse, u = np.array([s.impulse for s in text]), np.array([s.u for s in text])
    gaps = largest_gap(impulse, expected)
    slip = np.abs(np.einsum("nj,nj->n", crowd.J[:, 0], u)) / np.linalg.norm(crowd.v, axis=-1)
    kinetic = lambda u: 0.5 * np.einsum("ni,nij,nj->n", u, crowd.M, u)  # noqa: E731
    before = kinetic(crowd.u)
    with np.errstate(invalid="ignore", over="ignore"):
        gains = ~(kinetic(u) <= before * (1 + limits.gain))
    finite = gaps[np.isfinite(gaps)]
    return Effect(
        int((~(gaps <= limits.changed)).sum()),
        float(finite.max()),
        int((np.array([s.sticks for s in text]) & (slip > limits.changed)).sum()),
        int(gains.sum()),
        int((impulse[:, 1] < 0).sum()),
    )


def _summary(effects: dict[str, Effect], n: int) -> Finding:
    """The rows below, together: what the algorithm gives as printed, and corrected."""
    alone = {name: effects[name].changed for name in (*SINGLE, INVERTED)}
    needed, whole = sum(count > 0 for count in alone.values()), effects["all as printed"]
    return claim(
        "M-errata",
        "(3.1), sections 2.2.2, 2.2.3, chapter 3",
        "corrections that the algorithm needs: summary of M-3.1, M-2.11, M-jamb and M-cor",
        "m = J_t L_n / (J_t L_t); m < mu; smaller p_n first; work on / work by",
        f"{needed} of {len(alone)}; {whole.changed} of {n} impacts wrong as printed, "
        f"{effects['corrected'].changed} corrected",
        whole.changed == 0,
        f"Impacts that each changes alone: {', '.join(str(count) for count in alone.values())}. As printed, energy "
        f"rises in {whole.gains}.",
        "misprint",
    )


def _sign(crowd: Crowd, effects: dict[str, Effect]) -> list[Finding]:
    """(3.1), and the stick test that goes with it."""
    K, n = crowd.K, len(crowd.u)
    m = K[:, 0, 1] / K[:, 0, 0]
    residual = {sign: np.abs(K[:, 0, 1] + sign * m * K[:, 0, 0]).max() / np.abs(K).max() for sign in (1, -1)}
    plain, size = (effects[name] for name in SINGLE[:2])
    return [
        claim(
            "M-3.1",
            "(3.1)",
            "friction that holds the tip",
            "m = J_t L_n / (J_t L_t)",
            f"J_t (L_n + m L_t) up to {residual[1]:.2f} as printed, {residual[-1]:.0e} with a minus sign",
            plain.changed == 0,
            "It must be 0; relative to the largest entry of J M^-1 J^T. Without the minus sign, "
            f"{plain.changed} of {n} impacts change, the tip slips in {plain.slides} that stick, and energy rises in "
            f"{plain.gains}.",
            "misprint",
        ),
        claim(
            "M-2.11",
            "(2.10), (2.11), chapter 3",
            "sticking is possible",
            "m < mu",
            f"{size.changed} of {n} impacts differ from |m| <= mu",
            size.changed == 0,
            f"m is positive in {np.mean(m < 0):.0%} and negative in {np.mean(m > 0):.0%} of the postures. Without |.|, "
            "those impacts stick with friction outside the cone. (4.11) has the norm.",
            "misprint",
        ),
    ]


def _others(crowd: Crowd, solved: dict[str, list[Solved]], effects: dict[str, Effect]) -> list[Finding]:
    n = len(crowd.u)
    ratio, inverted, kept = (effects[name] for name in ("e = work returned / work stored", INVERTED, SINGLE[2]))
    K, slip = crowd.K, np.sign(crowd.v[:, 0])
    jams = K[:, 1, 1] - crowd.friction * slip * K[:, 0, 1] < 0
    boxes = {s.boxes for s, jam in zip(solved["corrected"], jams, strict=True) if jam}
    info = collide_many(crowd).impact.info
    works = np.asarray(-info.restitution_work / info.compression_work)
    off = float(np.abs(works - crowd.restitution**2).max())
    return [
        claim(
            "M-cor",
            "section 2.2.3",
            "energetic coefficient of restitution",
            "work on the compressing surfaces / work by the expanding ones",
            f"{inverted.changed} of {n} impacts differ from e² = work by / work on, which jimpact has to {off:.0e}",
            inverted.changed == 0,
            f"Inverted: as printed, every e < 1 returns more than was stored, and energy rises in {inverted.gains} of "
            f"{n} impacts. With e itself as the ratio of works it does not, but {ratio.changed} impacts differ from "
            "those with e², the usual energetic coefficient.",
            "misprint",
        ),
        claim(
            "M-jamb",
            "(3.3)",
            "normal pause in an impact that jams",
            "the smaller p_n is first",
            f"{kept.changed} of {n} impacts differ if a negative p_n comes first",
            kept.changed == 0,
            f"{int(jams.sum())} of {n} impacts press the tip into the floor at first, and (3.3) is negative. Taken as "
            f"the first pause, it gives a floor that pulls in {kept.pulls} and energy that rises in {kept.gains}; "
            f"discarded, all take {', '.join(sorted(boxes))}. The text discards a negative p_n only for (3.2), in "
            "fig 2.9(b).",
            "misprint",
        ),
    ]


def _references(form: CrowdForm) -> Finding:
    told = form.printed.references
    wrong = [name for name, (printed, is_in) in told.items() if printed != is_in]
    return claim(
        "M-refs",
        "chapters 3, 5",
        "references to equations",
        "; ".join(f"{name}: {printed}" for name, (printed, _) in told.items()),
        "; ".join(f"{name}: {is_in}" for name, (_, is_in) in told.items()),
        not wrong,
        f"{len(wrong)} point elsewhere. (2.2) is the integrated equation of motion; the only differential equations "
        "that the thesis leaves open are (4.9).",
        "misprint",
    )
