"""The algorithm of fig 2.8, written from the text, against jimpact on random double pendulums; orders counted."""

from collections import Counter

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import jimpact
from jimpact.reproduce import (
    Finding,
    Grid,
    Picture,
    Progress,
    Result,
    claim,
    new,
    number,
    solve_many,
    trace_many,
    unchecked,
)

from .algorithm import CODES, Solved
from .crowd import Crowd, at_posture, by_text, collide_many, draw, in_space, largest_gap
from .forms import CrowdForm, CrowdLimits, MapGrid
from .pendulum import Pendulum

__all__ = ["run"]

SHORT = 1e-6  # of the normal impulse: shorter pieces of a path have no slope
COST = "Times depend on the computer and on code that the thesis does not give."
ITERATION = "The algorithm as written here has none either (experiments/morgan/algorithm.py), which is no finding."
WAYS = {  # mode of Sun & Baruh, `info.mode`: path through fig 2.8 and what the slip does
    0: ("a-c-e: slips throughout", "#dfe5ec"),
    1: ("a-b-e: sticks", "#1f4e9c"),
    2: ("a-b-e: slip turns", "#8fb4e3"),
    3: ("a-c-d-e: sticks", "#c7561e"),
    4: ("a-c-d-e: slip turns", "#f2b872"),
}
MODES = {("a-c-e", False): 0, ("a-b-e", True): 1, ("a-b-e", False): 2, ("a-c-d-e", True): 3, ("a-c-d-e", False): 4}


def run(form: CrowdForm, progress: Progress) -> Result:
    pendulum = form.pendulum.pendulum()
    crowd = draw(pendulum, form.sample)
    text, hit = by_text(crowd), collide_many(crowd)
    found = solve_many(*in_space(crowd), crowd.friction, crowd.restitution, progress=progress)
    findings = [
        _agreement(crowd, text, hit, form.limits),
        _embedded(text, found),
        _with_static(crowd, form.limits),
        *_counts(form, crowd, text, np.asarray(jimpact.event_sequence(found))),
        _energy(crowd, hit, form.limits.gain),
        unchecked("M-cost", "chapter 3", "time: O(n^2), or linear by Featherstone's algorithm", "", COST),
        unchecked("M-closed", "abstract, chapter 5", "no iteration, few calculations", "", ITERATION),
    ]
    cells, finding = _map(pendulum, form.map)
    caption = "Path through fig 2.8 for every direction of approach and friction, at one posture of the pendulum."
    picture = Picture("fig2_8_orders", _figure(form.map, cells, _jams(pendulum, form.map)), caption)
    return Result([*findings, finding], [picture], [_table(text)])


def _impulses(text: list[Solved]) -> np.ndarray:
    return np.array([solved.impulse for solved in text])


def _agreement(crowd: Crowd, text: list[Solved], hit: jimpact.MechanismCollision, limits: CrowdLimits) -> Finding:
    codes = np.asarray(jimpact.event_sequence(hit.impact))
    gaps = largest_gap(hit.impact.impulse, _impulses(text))
    apart = np.abs(hit.speeds - np.array([solved.u for solved in text])).max(-1)
    speeds = (apart / np.linalg.norm(crowd.u, axis=-1)).max()
    same = sum(solved.code == code for solved, code in zip(text, codes, strict=True))
    counted = ", ".join(f"{code} {count}" for code, count in Counter(codes).most_common())
    above = gaps > limits.small
    least = crowd.cancellation[above].min(initial=np.inf)
    return claim(
        "M-alg",
        "fig 2.8, chapter 3",
        "the algorithm, on random double pendulums",
        "p_n = -J_t u / (J_t L), p_n = -J_n u / (J_n L), and E_n for the stop",
        f"relative difference {np.median(gaps):.0e} median, {gaps.max():.1e} largest; {counted}",
        _round_off(crowd, gaps, limits) and same == len(text),
        f"{len(text)} impacts by the text's boxes (corrected, see M-errata) and by collide_mechanism: the same events "
        f"in {same}, speeds after to {speeds:.0e} of those before. {int(above.sum())} impulses differ by more than "
        f"{limits.small:.0e}; in these J_n u is at most 1/{least:.0f} of |J_n| |u|, and its digits cancel.",
    )


def _round_off(crowd: Crowd, gaps: np.ndarray, limits: CrowdLimits) -> bool:
    """Two closed forms differ by round-off, times what cancels in the normal velocity."""
    return bool((gaps <= limits.closed_form * np.finfo(float).eps * crowd.cancellation).all())


def _embedded(text: list[Solved], found: jimpact.Impact) -> Finding:
    gaps = largest_gap(found.impulse[:, ::2], _impulses(text))
    letters = jimpact.event_sequence(found)
    same = sum(solved.code == code for solved, code in zip(text, letters, strict=True))
    return new(
        "M-alg-space",
        "section 2.2.1",
        "the same impacts as planes in space, by solve",
        f"relative difference {np.median(gaps):.0e} median, {gaps.max():.1e} largest; same events in {same}",
        "The direction of slip is invariant from the start, so that solve takes no step; where slip curves, its errors "
        "are those of M-4.9.",
    )


def _with_static(crowd: Crowd, limits: CrowdLimits) -> Finding:
    text, hit = by_text(crowd, static=True), collide_many(crowd, static=True)
    gaps = largest_gap(hit.impact.impulse, _impulses(text))
    more = sum(a.sticks != b.sticks for a, b in zip(text, by_text(crowd), strict=True))
    return claim(
        "M-static",
        "chapter 3",
        "static friction above kinetic",
        "used to determine whether sticking is possible; the dynamic everywhere else",
        f"relative difference {np.median(gaps):.0e} median, {gaps.max():.1e} largest",
        _round_off(crowd, gaps, limits),
        f"static_friction of jimpact does the same; {more} of the {len(text)} impacts stick that do not without it.",
    )


def _counts(form: CrowdForm, crowd: Crowd, text: list[Solved], letters: np.ndarray) -> list[Finding]:
    """What the thesis counts; orders and changes of friction are those of `solve` and `trace` in space."""
    n, printed = len(text), form.printed
    orders = Counter(letters)
    bends, ends = _bends(crowd, form)
    slips = (bends > 0) & (np.abs(np.abs(ends[:, 1]) - crowd.friction[: len(bends)]) < form.limits.bend)
    turned = int((slips & (ends[:, 0] * ends[:, 1] < 0)).sum())
    return [
        number(
            "M-orders",
            "fig 2.8",
            "possible orders of events",
            printed.orders,
            len(orders),
            f"By solve in space, {n} impacts: {', '.join(f'{code} {count}' for code, count in orders.most_common())}.",
            "differs",
        ),
        _states(printed.intermediate_states, text, letters),
        number(
            "M-bend",
            "(2.12)",
            "changes of friction, at most",
            printed.friction_changes,
            bends.max(),
            f"Along {len(bends)} impacts followed by trace; {int((bends > 0).sum())} have one or more.",
            "differs",
        ),
        claim(
            "M-transition",
            "section 2.2.2",
            "slip that passes zero without sticking",
            "transition from one sign to the other",
            f"friction changes its sign in {turned} of {int(slips.sum())}",
            turned == slips.sum(),
            f"Of the {len(bends)} impacts followed by trace, those whose friction changes and is mu in the end.",
        ),
    ]


def _states(printed: list[str], text: list[Solved], letters: np.ndarray) -> Finding:
    """Pauses between start and end: passed by jimpact's events, calculated by the boxes."""
    passed = [sum(letter in "sc" for letter in code) for code in letters]
    calculated = [2 + ("b" in solved.boxes) for solved in text]  # both in box a, and v_n = 0 anew in box b
    both = {name: (min(a), max(a)) for name, a in (("passed", passed), ("calculated", calculated))}
    said = tuple(int(word) for word in printed)
    mixed = (both["passed"][0], both["calculated"][1])
    return claim(
        "M-states",
        "chapter 1",
        "intermediate states, fewest and most",
        f"one to three: {said}",
        "; ".join(f"{name} {count}" for name, count in both.items()),
        said in both.values(),
        f"The fewest that are passed and the most that are calculated are {mixed}. Box a calculates both pauses, box b "
        "the normal pause again, which replaces the first; an impact that ends before v_t = 0 does not pass it.",
        "convention" if mixed == said else "differs",
    )


def _bends(crowd: Crowd, form: CrowdForm) -> tuple[np.ndarray, np.ndarray]:
    """How often tangential / normal impulse changes along the first impacts of the crowd; its first and last value."""
    W, v = (a[: form.traced] for a in in_space(crowd))
    path = trace_many(W, v, crowd.friction[: form.traced], crowd.restitution[: form.traced])
    steps = np.diff(np.asarray(path.impulse)[..., ::2], axis=1)
    counts, ends = [], []
    for step, whole in zip(steps, np.asarray(path.normal_impulse)[:, -1], strict=True):
        long = step[:, 1] > SHORT * whole
        ratio = step[long, 0] / step[long, 1]
        counts.append(int((np.abs(np.diff(ratio)) > form.limits.bend).sum()))
        ends.append(ratio[[0, -1]])
    return np.array(counts), np.array(ends)


def _energy(crowd: Crowd, hit: jimpact.MechanismCollision, limit: float) -> Finding:
    kinetic = lambda u: 0.5 * np.einsum("ni,nij,nj->n", u, crowd.M, u)  # noqa: E731
    change = (kinetic(hit.speeds) - kinetic(crowd.u)) / kinetic(crowd.u)
    return claim(
        "M-consistent",
        "chapters 1, 5",
        "kinetic energy",
        "energetically consistent",
        f"change from {change.min():.1%} to {change.max():.3%} of that before",
        bool(change.max() < limit),
    )


def _grid_crowd(pendulum: Pendulum, grid: MapGrid) -> Crowd:
    direction, friction = np.meshgrid(
        np.deg2rad(np.linspace(*grid.direction_deg, grid.columns)), np.linspace(*grid.friction, grid.rows)
    )
    tip = np.stack([np.sin(direction.ravel()), -np.cos(direction.ravel())], -1)
    return at_posture(pendulum, grid.angles_deg, tip, friction.ravel(), np.array(grid.restitution))


def _map(pendulum: Pendulum, grid: MapGrid) -> tuple[np.ndarray, Finding]:
    crowd = _grid_crowd(pendulum, grid)
    modes = np.asarray(collide_many(crowd).impact.info.mode)
    told = np.array([MODES[solved.boxes, solved.sticks] for solved in by_text(crowd)])
    same = int((modes == told).sum())
    finding = new(
        "M-map",
        "fig 2.8",
        "order of the boxes by direction of approach and friction",
        f"the same path by both in {same} of {modes.size} cells",
        "The text has single impacts only.",
    )
    return modes.reshape(grid.rows, grid.columns), finding


def _jams(pendulum: Pendulum, grid: MapGrid) -> np.ndarray:
    """Where the normal impulse presses the tip into the floor at first: (3.3) is negative."""
    crowd = _grid_crowd(pendulum, grid)
    rate = crowd.K[:, 1, 1] - crowd.friction * np.sign(crowd.v[:, 0]) * crowd.K[:, 0, 1]
    return rate.reshape(grid.rows, grid.columns) < 0


def _figure(grid: MapGrid, cells: np.ndarray, jams: np.ndarray) -> Figure:
    fig = Figure(figsize=(9.2, 5.4), layout="constrained")
    ax = fig.add_subplot()
    colors = ListedColormap([color for _, color in WAYS.values()])
    direction = np.linspace(*grid.direction_deg, grid.columns)
    friction = np.linspace(*grid.friction, grid.rows)
    norm = BoundaryNorm(np.arange(-0.5, len(WAYS)), len(WAYS))
    ax.pcolormesh(direction, friction, cells, cmap=colors, norm=norm, shading="nearest", rasterized=True)
    hatched = ax.contourf(direction, friction, jams, levels=[0.5, 1.5], colors="none", hatches=["//"])
    hatched.set_edgecolor("w")
    hatched.set_linewidth(0)
    handles = [Patch(fc=color, ec="0.5", lw=0.5, label=name) for name, color in WAYS.values()]
    handles.append(Patch(fc=WAYS[1][1], ec="w", lw=0.5, hatch="///", label="jams: (3.3) is negative"))
    fig.legend(handles=handles, loc="outside right center", frameon=False)
    ax.set(
        xlabel="direction of approach of the tip, from the normal (degrees)",
        ylabel="coefficient of friction",
        title=f"bars at ({grid.angles_deg[0]:g}°, {grid.angles_deg[1]:g}°), restitution {grid.restitution:g}",
    )
    return fig


def _table(text: list[Solved]) -> Grid:
    counts = Counter(MODES[s.boxes, s.sticks] for s in text)
    rows = [(WAYS[mode][0], CODES[path], counts[mode]) for (path, _), mode in MODES.items()]
    return Grid("Random double pendulums by path through fig 2.8.", ("path", "events", "impacts"), rows)
