"""What must be read otherwise than printed, and what happens if it is not: counted on random double pendulums."""

from typing import NamedTuple

import numpy as np

from jimpact.reproduce import Finding, Grid, Progress, Result, claim

from .algorithm import CORRECTED, PRINTED, Solved
from .crowd import Crowd, by_text, collide_many, draw, largest_gap
from .forms import CrowdForm

__all__ = ["run"]

CHANGED = 1e-9  # relative to the impulse: more is another answer
GAIN = 1e-12  # relative to the energy before

READINGS = {
    "corrected": CORRECTED,
    "(3.1) without minus sign": CORRECTED._replace(minus=False),
    "sticks if m <= mu": CORRECTED._replace(size=False),
    "negative p_n for v_n = 0 kept": CORRECTED._replace(discard=False),
    "e = work returned / work stored": CORRECTED._replace(work="ratio"),
    "e = work stored / work returned": CORRECTED._replace(work="inverted"),
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
    expected = np.asarray(collide_many(crowd).impact.impulse)
    solved = {name: by_text(crowd, reading) for name, reading in READINGS.items()}
    effects = {name: _effect(crowd, text, expected) for name, text in solved.items()}
    head = ("reading", "other impulse", "largest difference", "sticks but slips", "energy rises", "floor pulls")
    rows = [(name, e.changed, f"{e.largest:.1e}", e.slides, e.gains, e.pulls) for name, e in effects.items()]
    grid = Grid(f"{len(expected)} random impacts by the text's algorithm, against jimpact.", head, rows)
    return Result([*_sign(crowd, effects), *_others(crowd, solved, effects), _references()], grids=[grid])


def _effect(crowd: Crowd, text: list[Solved], expected: np.ndarray) -> Effect:
    impulse, u = np.array([s.impulse for s in text]), np.array([s.u for s in text])
    gaps = largest_gap(impulse, expected)
    slip = np.abs(np.einsum("nj,nj->n", crowd.J[:, 0], u)) / np.linalg.norm(crowd.v, axis=-1)
    kinetic = lambda u: 0.5 * np.einsum("ni,nij,nj->n", u, crowd.M, u)  # noqa: E731
    before = kinetic(crowd.u)
    with np.errstate(invalid="ignore", over="ignore"):
        gains = ~(kinetic(u) <= before * (1 + GAIN))
    finite = gaps[np.isfinite(gaps)]
    return Effect(
        int((~(gaps <= CHANGED)).sum()),
        float(finite.max()),
        int((np.array([s.sticks for s in text]) & (slip > CHANGED)).sum()),
        int(gains.sum()),
        int((impulse[:, 1] < 0).sum()),
    )


def _sign(crowd: Crowd, effects: dict[str, Effect]) -> list[Finding]:
    """(3.1), and the stick test that goes with it."""
    K, n = crowd.K, len(crowd.u)
    m = K[:, 0, 1] / K[:, 0, 0]
    residual = {sign: np.abs(K[:, 0, 1] + sign * m * K[:, 0, 0]).max() / np.abs(K).max() for sign in (1, -1)}
    plain, size, whole = (effects[k] for k in ("(3.1) without minus sign", "sticks if m <= mu", "all as printed"))
    return [
        claim(
            "M-errata",
            "(3.1), sections 2.2.2, 2.2.3, chapter 3",
            "corrections that the algorithm needs",
            "as printed",
            f"{whole.changed} of {n} impacts wrong as printed, {effects['corrected'].changed} corrected",
            False,
            "Minus sign in (3.1), |m| in the stick test, e² as ratio of works and not inverted, no normal pause at "
            f"negative p_n. As printed, energy rises in {whole.gains} impacts.",
            "misprint",
        ),
        claim(
            "M-3.1",
            "(3.1)",
            "friction that holds the tip",
            "m = J_t L_n / (J_t L_t)",
            "m = -J_t L_n / (J_t L_t)",
            False,
            f"J_t (L_n + m L_t) must be 0: it is {residual[-1]:.0e} of the largest entry of J M^-1 J^T with the minus "
            f"sign, up to {residual[1]:.2f} without. Without, {plain.changed} of {n} impacts change, the tip slips in "
            f"{plain.slides} that stick, and energy rises in {plain.gains}.",
            "misprint",
        ),
        claim(
            "M-2.11",
            "(2.10), (2.11), chapter 3",
            "sticking is possible",
            "m < mu",
            "|m| <= mu",
            False,
            f"m is positive in {np.mean(m < 0):.0%} and negative in {np.mean(m > 0):.0%} of the postures. Without |.|, "
            f"{size.changed} of {n} impacts stick with friction outside the cone. (4.11) has the norm.",
            "misprint",
        ),
    ]


def _others(crowd: Crowd, solved: dict[str, list[Solved]], effects: dict[str, Effect]) -> list[Finding]:
    n = len(crowd.u)
    ratio, inverted = (effects[f"e = work {words}"] for words in ("returned / work stored", "stored / work returned"))
    kept = effects["negative p_n for v_n = 0 kept"]
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
            f"e² = work by the expanding / work on the compressing, to {off:.0e} in jimpact",
            False,
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
            "a negative p_n is discarded: " + ", ".join(sorted(boxes)),
            False,
            f"{int(jams.sum())} of {n} impacts press the tip into the floor at first, and (3.3) is negative. Taken as "
            f"the first pause, it gives a floor that pulls in {kept.pulls} and energy that rises in {kept.gains}. The "
            "text discards a negative p_n only for (3.2), in fig 2.9(b).",
            "misprint",
        ),
    ]


def _references() -> Finding:
    return claim(
        "M-refs",
        "chapters 3, 5",
        "references to equations",
        "M and J from (2.2); equations in (??)",
        "below (2.1); (4.9)",
        False,
        "(2.2) is the integrated equation of motion, and the only differential equations left open are (4.9).",
        "misprint",
    )
