"""How many solutions the implicit laws have: sections 4.2.2 and 4.2.3.

Source: Chatterjee & Ruina 1998; Whittaker's conditions and Smith's equation (8), solved in NumPy apart from jimpact.

| symbol  | meaning                                                                  | unit |
|---------|--------------------------------------------------------------------------|------|
| B, d, w | blocks of W: both tangents, their coupling to the normal, the normal     | 1/kg |
| i, y    | slip before and after                                                    | m/s  |
| p       | normal impulse                                                           | N s  |
| q       | (i |i| + y |y|) / (|i|^2 + |y|^2), the average direction of slip          |      |
"""

import numpy as np

from jimpact.reproduce import LabelledProgress, Result, claimed, cross, only, unit

from .baselines import Impacts, length
from .forms import Laws
from .populations import SLACK, answer, joined, one

SPARSE = 2  # one of so many of the sample of impacts: scans take longer than laws
DIRECTIONS, FINE = 720, 36000  # of the slip after; where the first do not count one solution
SAMPLE, STARTS, GROUPS = 400, 40, 4  # impacts whose solutions of (8) are looked for, starts of each, groups
MANY, SEED = 4000, 5  # starts for the one impact with several solutions
STEPS, STEP, CONVERGED, APART = 60, 1e-6, 1e-11, 1e-6  # of Newton's method
LARGEST = 1e4  # m/s, and N s: what runs away is not a solution


def run(config: Laws, progress: LabelledProgress) -> Result:
    impacts = joined(config.population)
    few = impacts.every(SPARSE * config.population.every)
    counts = _whittaker_solutions(few, DIRECTIONS)
    odd = counts != 1
    counts[odd] = _whittaker_solutions(few.take(odd), FINE)
    have = ", ".join(f"{(counts == k).sum()} have {k}" for k in np.unique(counts))

    smith = answer(impacts, "smith", progress)
    P, friction = smith.impulse, impacts.mu * smith.impulse[:, 2]
    miss = P[:, :2] + friction[:, None] * _average(impacts.v[:, :2], smith.velocity[:, :2])  # (8) in space
    miss, none = (np.abs(miss).max(-1) / length(P)).max(), (~smith.good).sum()
    normal = np.abs(smith.velocity[:, 2] / impacts.v[:, 2] + impacts.e).max()
    words = {"count": len(P), "miss": miss, "normal": normal, "none": none}

    # Share of impacts with a solution that pulls, by friction.
    some = impacts.every(max(1, len(impacts.mu) // SAMPLE))
    x, which = _newton(some, STARTS)
    pulls = np.isin(np.arange(len(some.mu)), which[x[:, 2] < 0])
    groups = np.array_split(np.argsort(some.mu), GROUPS)
    shares = [100 * pulls[group].mean() for group in groups]
    listed = ", ".join(f"{a:.0f} % (to {some.mu[g].max():.2g})" for a, g in zip(shares, groups, strict=True))
    rises = pulls.any() and (np.diff(shares) > 0).all()

    # Impulses that push and solve (8), by rising normal impulse.
    impact, mu = one(config.smith), config.smith.friction
    x, _ = _newton(impact, MANY)
    x = x[x[:, 2] > 0]
    x = x[np.argsort(x[:, 2])]
    x = x[np.concatenate([[True], np.diff(x[:, 2]) > APART * x[:-1, 2]])]
    P = np.concatenate([-mu * x[:, 2:] * _average(impact.v[:, :2], x[:, :2]), x[:, 2:]], -1)
    off = np.abs(P - answer(impact, "smith", progress).impulse).max(-1)
    each = "; ".join(f"({', '.join(f'{x:.6f}' for x in row)})" for row in P)
    found = {
        "CR-whittaker-unique": only(count=len(counts), have=have, directions=DIRECTIONS, fine=FINE),
        "CR-(8)": claimed(not none and max(miss, normal) < SLACK, **words),
        "CR-smith-pull": claimed(rises, groups=GROUPS, shares=listed, count=len(pulls), starts=STARTS),
        "CR-smith-unique": only(friction=mu, count=len(P), impulses=each, nearest=1 + off.argmin(), off=off.min()),
    }
    return Result(found)


def _whittaker_solutions(impacts: Impacts, directions: int) -> np.ndarray:
    """Number of solutions: sticking, if the cone allows it, and every slip after that friction on the cone opposes."""
    B, d, w = impacts.W[:, :2, :2], impacts.W[:, :2, 2], impacts.W[:, 2, 2]
    change = -(1 + impacts.e) * impacts.v[:, 2]
    goal = np.concatenate([-impacts.v[:, :2], change[:, None]], -1)
    stuck = np.linalg.solve(impacts.W, goal[..., None])[..., 0]
    sticks = length(stuck[:, :2]) <= impacts.mu * stuck[:, 2]
    s = unit(np.linspace(0, 2 * np.pi, directions + 1))
    p = change[:, None] / (w[:, None] - impacts.mu[:, None] * (d @ s.T))
    turned = d[:, None] - impacts.mu[:, None, None] * np.einsum("nij,kj->nki", B, s)
    after = impacts.v[:, None, :2] + p[..., None] * turned
    across, good = cross(s, after), ((after * s).sum(-1) > 0) & (p > 0)
    slides = (across[:, 1:] * across[:, :-1] < 0) & good[:, 1:] & good[:, :-1]
    return sticks.astype(int) + slides.sum(-1)


def _newton(impacts: Impacts, starts: int) -> tuple[np.ndarray, np.ndarray]:
    """Solutions x = (y, p) of (8) from random starts of either sign of p, and the impact of each."""
    rng = np.random.default_rng(SEED)
    which = np.repeat(np.arange(len(impacts.mu)), starts)
    given = impacts.take(which)
    slip = length(given.v[:, :2])[:, None] * rng.normal(size=(len(which), 2))
    size = rng.lognormal(0, 2, len(which)) * rng.choice([-1, 1], len(which))
    x = np.column_stack([slip, -given.v[:, 2] / given.W[:, 2, 2] * size])
    for _ in range(STEPS):
        J = np.stack([(_miss(x + h, given) - _miss(x - h, given)) / (2 * STEP) for h in STEP * np.eye(3)], -1)
        with np.errstate(all="ignore"):
            kept = (np.abs(np.linalg.det(J)) > 0) & (np.abs(x) < LARGEST).all(-1)
        x, which, given, J = x[kept], which[kept], given.take(kept), J[kept]
        x = x - np.linalg.solve(J, _miss(x, given)[..., None])[..., 0]
    good = np.abs(_miss(x, given)).max(-1) < CONVERGED
    return x[good], which[good]


def _miss(x: np.ndarray, given: Impacts) -> np.ndarray:
    """What slip after and normal impulse, x = (y, p), lack to solve (8)."""
    y, p = x[:, :2], x[:, 2:]
    P = np.concatenate([-given.mu[:, None] * p * _average(given.v[:, :2], y), p], -1)
    return given.after(P) - np.column_stack([y, -given.e * given.v[:, 2]])


def _average(i: np.ndarray, y: np.ndarray) -> np.ndarray:
    a, b = length(i)[:, None], length(y)[:, None]
    return (i * a + y * b) / (a**2 + b**2)
