"""Section 4 as printed, with Euler's steps, against `solve`; and the misprints of the paper with their evidence."""

from math import hypot
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, claimed, solve_many, unit
from jimpact.schemas.config import Matrix, Name, Table

from .bodies import Pairs, drawn, pushed, resolved, separation_velocity
from .crowd import Crowd, ImpactForm, Impacts, along_ray, matrices, polar, rate, relative
from .rays import ray_angles
from .texts import grid, listed, page, spread

ORDER = (0.7, 1.3)  # of Euler's method, from the finest two steps
MOMENTUM = 1e-11  # relative: linear algebra
COLORS = ("#1f4e9c", "#d1495b", "#2a9d8f", "#e09f3e")


class Case(ImpactForm):
    name: Name
    inverse_inertia: Matrix


class Form(Table):
    """configs/baber/algorithm.toml"""

    steps: Annotated[list[Annotated[int, Field(ge=10, le=1_000_000)]], Field(min_length=2)]
    impact: Annotated[list[Case], Field(min_length=1, max_length=len(COLORS))]
    plastic: Crowd
    uniqueness: Crowd
    pairs: Pairs


class End(NamedTuple):
    """The end of an impact; `how` is "sliding", "stable sticking" or "unstable sticking"."""

    impulse: np.ndarray
    velocity: np.ndarray
    steps: int
    how: str


def run(form: Form, progress: LabelledProgress) -> Result:
    """Convergence of the printed algorithm, its test 3(c), and the other misprints."""
    arguments = ("inverse_inertia", "velocity", "friction", "restitution")
    impacts = Impacts(*(np.array([getattr(impact, key) for impact in form.impact], float) for key in arguments))
    exact = solve_many(*impacts, progress=progress).impulse
    names, rows, errors = [impact.name for impact in form.impact], [], np.zeros((len(exact), len(form.steps)))
    for i, given in enumerate(zip(*impacts, strict=True)):
        for j, count in enumerate(form.steps):
            end = integrate(*given, exact[i, 2] / count)
            errors[i, j] = relative(end.impulse, exact[i])
            rows.append([names[i], end.how, end.steps, f"{errors[i, j]:.1e}"])
    orders = np.log(errors[:, -2] / errors[:, -1]) / np.log(form.steps[-1] / form.steps[-2])
    each = "; ".join(f"{name}: {error:.0e}" for name, error in zip(names, errors[:, -1], strict=True))
    holds = orders.min() > ORDER[0] and orders.max() < ORDER[1]

    # Restitution 0, with the test as printed and with u_z >= 0.
    impacts = matrices(form.plastic)
    exact = solve_many(*impacts, progress=progress).impulse
    given = list(zip(*impacts[:3], 0 * impacts.e, exact[:, 2] / form.steps[0], strict=True))
    printed, corrected = ([integrate(*one, separated) for one in given] for separated in (False, True))
    slides = [i for i, end in enumerate(printed) if end.steps]  # the others start within a step of zero slip
    early = sum(printed[i].steps == 1 and printed[i].velocity[2] < 0 for i in slides)
    words = {"early": early, "n": len(slides), "steps": form.steps[0]}
    words["share"] = np.median([printed[i].impulse[2] / exact[i, 2] for i in slides])
    words["error"] = np.median([relative(corrected[i].impulse, exact[i]) for i in slides])
    computed = {**_formulas(form, progress), "B-e0": claimed(early == 0, **words)}
    wrong = [id for id, suspect in computed.items() if not suspect.holds]
    fails = " With e = 0 the algorithm as printed fails." if "B-e0" in wrong else ""
    computed["B-errata"] = claimed(not wrong, count=len(wrong), n=len(computed), listed=", ".join(wrong), fails=fails)
    computed["B-Euler"] = claimed(holds, orders=listed(orders, ".2f"), steps=form.steps[-1], listed=each)
    return Result(computed, [_draw(form.steps, names, errors)], [grid("algorithm", rows)])


def _formulas(form: Form, progress: LabelledProgress) -> dict[str, Computed]:
    """Two formulas: the momenta of 3.2, with both arms, and both sides of the last equation of section 3.10."""
    (a, b), _, impact = resolved(drawn(form.pairs), progress)
    u, p = separation_velocity(a, b), impact.impulse
    ends = [separation_velocity(pushed(a, p), pushed(b, -p, arm)) for arm in (b.r, a.r)]
    right, wrong = (relative(end - u, impact.velocity - u)[::3] for end in ends)  # both bodies move in every third

    impacts, n = matrices(form.uniqueness), form.uniqueness.count
    rng = np.random.default_rng(form.uniqueness.seed + 1)
    growths, s = rng.exponential(size=(n, 2)), unit(rng.uniform(0, 2 * np.pi, (n, 2)))
    apart = s[:, 0] - s[:, 1]
    one = impacts.mu * np.einsum("ni,nij,nj->n", apart, impacts.K[:, :2, :2], apart)
    other = -0.5 * growths.sum(-1) * np.sum(apart * apart, -1)
    holds = (other > 0).all() and (one < 0).all()
    return {
        "B-arm": claimed(wrong.max() < MOMENTUM, wrong=spread(wrong), right=right.max(), n=len(wrong)),
        "B-sides": claimed(holds, left=(one > 0).sum(), right=(other < 0).sum(), n=n),
    }


def _draw(steps: list[int], names: list[str], errors: ArrayLike) -> Picture:
    picture, (ax,) = page("algorithm")
    for name, own, color in zip(names, errors, COLORS, strict=False):
        ax.loglog(steps, own, "o-", color=color, label=name)
    guide = 0.5 * np.min(errors, 0)[0] * steps[0] / np.array(steps)
    ax.loglog(steps, guide, ":", color="0.4", label="proportional to the step")
    ax.legend(fontsize=9)
    return picture


def integrate(K: np.ndarray, u0: np.ndarray, mu: float, e: float, step: float, separated: bool = True) -> End:
    """Steps 3 to 7. With `separated` the test 3(c) also asks for u_z >= 0; as printed it does not.

    Slip that one step could stop counts as zero, the "approximately 0" of step 3(a).
    """
    rows = [[float(x) for x in row] for row in K]
    x, y, z = (float(a) for a in u0)
    zero = step * (hypot(rows[0][2], rows[1][2]) + mu * (rows[0][0] + rows[1][1]))
    Wc = Wd = 0.0
    steps, how = 0, ""
    while not how and (slip := hypot(x, y)) > zero:
        if z < 0:
            Wc += z * step
        else:
            Wd += z * step
        fx, fy = -mu * x / slip, -mu * y / slip
        x, y, z = (a + step * (k[0] * fx + k[1] * fy + k[2]) for a, k in zip((x, y, z), rows, strict=True))
        steps += 1
        how = "sliding" if Wd >= -e * e * Wc and (z >= 0 or not separated) else ""
    u = np.array([x, y, z])
    if not how:
        k, how = _from_zero_slip(K, mu)
        u = along_ray(np.array([0, 0, z]) if how == "stable sticking" else u, k, e, Wc, Wd)
    return End(np.linalg.solve(K, u - u0), u, steps, how)


def _from_zero_slip(K: np.ndarray, mu: float) -> tuple[np.ndarray, str]:
    """Steps 4 to 6: du/dp, which is along the diverging ray if sticking is not stable."""
    L = np.linalg.inv(K)
    if hypot(L[0, 2], L[1, 2]) <= mu * L[2, 2]:
        return np.array([0, 0, 1 / L[2, 2]]), "stable sticking"
    angles = ray_angles(K, mu)
    s = unit(angles[np.isfinite(angles)])
    return rate(K, mu, s[polar(K, mu, s)[1].argmax()]), "unstable sticking"
