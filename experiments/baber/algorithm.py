"""Section 4 as printed, with Euler's steps, against `solve`; and the misprints of the paper with their evidence."""

from typing import Annotated

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from pydantic import Field

from jimpact.config import Approaching, Matrix, Name, NotNegative, Range, Share, Small, Table
from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, solve_many

from .bodies import Pairs, drawn
from .crowd import matrices, solved
from .euler import End, integrate
from .forms import Crowd
from .rays import sides
from .rotation import Bodies, pushed, rotated, separation_velocity, share, to_normal

__all__ = ["AlgorithmForm", "run"]

COLORS = ("#1f4e9c", "#d1495b", "#2a9d8f", "#e09f3e")


class ImpactForm(Table):
    name: Name
    inverse_inertia: Matrix
    velocity: Approaching
    friction: NotNegative
    restitution: Share


class LimitsForm(Table):
    order: Range  # of Euler's method, from the finest two steps
    momentum: Small  # relative: linear algebra


class AlgorithmForm(Table):
    """configs/baber/algorithm.toml"""

    name: Name
    steps: Annotated[list[Annotated[int, Field(ge=10, le=1_000_000)]], Field(min_length=2)]
    impact: Annotated[list[ImpactForm], Field(min_length=1, max_length=len(COLORS))]
    plastic: Crowd
    uniqueness: Crowd
    pairs: Pairs
    limits: LimitsForm


def run(form: AlgorithmForm, progress: Progress) -> Result:
    """Convergence of the printed algorithm, its test 3(c), and the other misprints."""
    exact = solve_many(*_arguments(form), progress=progress)
    ends = [
        [_euler(form.impact[i], float(exact.impulse[i, 2]) / n) for n in form.steps] for i in range(len(form.impact))
    ]
    errors = np.array([[_error(end, exact.impulse[i]) for end in row] for i, row in enumerate(ends)])
    suspects = [_arm(form, progress), _signs(form), _plastic(form, progress)]
    findings = [_convergence(form, errors), *suspects, _errata(suspects)]
    rows = [
        [impact.name, end.how, end.steps, f"{error:.1e}"]
        for impact, row, own in zip(form.impact, ends, errors, strict=True)
        for end, error in zip(row, own, strict=True)
    ]
    grid = Grid(
        "The printed algorithm (corrected test 3(c)); it steps until slip is zero, and has formulas from there.",
        ("impact", "ends in", "steps made", "error of impulse"),
        rows,
    )
    caption = "Error of the impulse by the algorithm of section 4, as Euler's step is made smaller."
    return Result(findings, [Picture("algorithm", _draw(form, errors), caption)], [grid])


def _arguments(form: AlgorithmForm) -> tuple[np.ndarray, ...]:
    names = ("inverse_inertia", "velocity", "friction", "restitution")
    return tuple(np.array([getattr(impact, name) for impact in form.impact], float) for name in names)


def _euler(impact: ImpactForm, step: float) -> End:
    K, u = np.asarray(impact.inverse_inertia, float), np.asarray(impact.velocity, float)
    return integrate(K, u, impact.friction, impact.restitution, step)


def _error(end: End, exact: ArrayLike) -> float:
    return float(np.linalg.norm(end.impulse - np.asarray(exact)) / np.linalg.norm(exact))


def _convergence(form: AlgorithmForm, errors: np.ndarray) -> Finding:
    finer = np.log(form.steps[-1] / form.steps[-2])
    orders = np.log(errors[:, -2] / errors[:, -1]) / finer
    listed = "; ".join(f"{impact.name}: {e[-1]:.0e}" for impact, e in zip(form.impact, errors, strict=True))
    return claim(
        "B-Euler",
        "4",
        "algorithm with Euler's steps against solve",
        "the smaller the step size the more accurate",
        f"error falls with the step to the power {', '.join(f'{x:.2f}' for x in orders)}",
        bool(((orders > form.limits.order[0]) & (orders < form.limits.order[1])).all()),
        f"Error of the impulse with steps of 1/{form.steps[-1]} of the whole normal impulse: {listed}.",
    )


def _plastic(form: AlgorithmForm, progress: Progress) -> Finding:
    """Restitution 0, with the test as printed and with u_z >= 0."""
    impacts = matrices(form.plastic)
    exact = solved(impacts, progress)
    sizes = exact.impulse[:, 2] / form.steps[0]
    given = zip(impacts.inverse_inertia, impacts.velocity, impacts.friction, sizes, strict=True)
    both = [[integrate(K, u, mu, 0.0, float(h), separated) for separated in (False, True)] for K, u, mu, h in given]
    slides = [i for i, (printed, _) in enumerate(both) if printed.steps]  # the others start within a step of zero slip
    early = sum(both[i][0].steps == 1 and both[i][0].velocity[2] < 0 for i in slides)
    share = np.median([both[i][0].impulse[2] / exact.impulse[i, 2] for i in slides])
    error = np.median([_error(both[i][1], exact.impulse[i]) for i in slides])
    return claim(
        "B-e0",
        "4, step 3(c)",
        "restitution 0",
        "stop if W_d >= -e^2 W_c",
        f"stops after one step, still approaching, in {early} of {len(slides)}",
        early == 0,
        f"0 >= 0 holds at once, with {share:.1%} (median) of the normal impulse. With the further condition u_z >= 0 "
        f"the impulse is right to {error:.0e} (median, steps of 1/{form.steps[0]} of it).",
        "misprint",
    )


def _signs(form: AlgorithmForm) -> Finding:
    impacts = matrices(form.uniqueness)
    rng, n = np.random.default_rng(form.uniqueness.seed + 1), form.uniqueness.count
    growths, angles = rng.exponential(size=(n, 2)), rng.uniform(0, 2 * np.pi, (n, 2))
    left, right = sides(impacts.inverse_inertia, impacts.friction, growths, angles)
    return claim(
        "B-sides",
        "3.10",
        "contradiction that proves the diverging ray unique",
        "right hand side is positive ... left hand side is clearly negative",
        f"left positive in {int((left > 0).sum())}, right negative in {int((right < 0).sum())} of {n}",
        bool((right > 0).all() and (left < 0).all()),
        "The sides are interchanged: mu M is positive definite on the left, -(l + l')/2 negative on the right, with l "
        "and l' the growths of both rays. It is a contradiction either way.",
        "misprint",
    )


def _arm(form: AlgorithmForm, progress: Progress) -> Finding:
    """The momenta of 3.2, with both arms: do the bodies come to the contact velocity that `solve` gives?"""
    scene = drawn(form.pairs)
    moving = (scene.a.m > 0) & (scene.b.m > 0)
    R = to_normal(scene.f[moving])
    a, b = (rotated(Bodies(*(field[moving] for field in body)), R) for body in (scene.a, scene.b))
    u = separation_velocity(a, b)
    impact = solve_many(share(a) + share(b), u, scene.friction[moving], scene.restitution[moving], progress=progress)
    p, after = np.asarray(impact.impulse), np.asarray(impact.velocity)
    right, wrong = (
        np.linalg.norm(separation_velocity(pushed(a, p), pushed(b, -p, arm)) - after, axis=-1)
        / np.linalg.norm(after - u, axis=-1)
        for arm in (b.r, a.r)
    )
    return claim(
        "B-arm",
        "3.2",
        "angular momentum of body B",
        "-r_A x p = I_B w_B - I_B w_0B",
        f"change of contact velocity off by {np.median(wrong):.0%} (median) with r_A, {right.max():.0e} with r_B",
        bool(wrong.max() < form.limits.momentum),
        f"Must be -r_B x p, as (1) has it. {len(wrong)} pairs of moving bodies; with r_A the velocity at the contact "
        f"after the impulse is off by at least {wrong.min():.1%} of its change by solve.",
        "misprint",
    )


def _errata(suspects: list[Finding]) -> Finding:
    wrong = [finding for finding in suspects if finding.verdict == "misprint"]
    fails = [f.id for f in wrong if f.id == "B-e0"]
    return claim(
        "B-errata",
        "3.2, 3.10, 4",
        "misprints: summary of the rows above",
        "; ".join(finding.printed for finding in suspects),
        f"{len(wrong)} of {len(suspects)}: {', '.join(finding.id for finding in wrong)}",
        not wrong,
        "None changes a printed number." + (" With e = 0 the algorithm as printed fails." if fails else ""),
        "misprint",
    )


def _draw(form: AlgorithmForm, errors: np.ndarray) -> Figure:
    fig = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = fig.add_subplot()
    for impact, own, color in zip(form.impact, errors, COLORS, strict=False):
        ax.loglog(form.steps, own, "o-", color=color, label=impact.name)
    guide = 0.5 * errors.min(0)[0] * form.steps[0] / np.array(form.steps)
    ax.loglog(form.steps, guide, ":", color="0.4", label="proportional to the step")
    ax.set(xlabel="whole normal impulse / step of Euler's method", ylabel="relative error of the impulse")
    ax.set_title("The algorithm of section 4 converges at first order", fontsize=11)
    ax.legend(fontsize=9)
    return fig
