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

from jimpact.reproduce import Finding, Progress, Result, claim, new, solve_many

from .forms import Laws, Several
from .populations import Impacts, answer, drawn, joined, times

__all__ = ["run", "smith_solutions", "whittaker_solutions"]

NEWTON, STEP, CONVERGED, APART = 60, 1e-6, 1e-11, 1e-6
LARGEST = 1e4  # m/s, and N s: what runs away is not a solution


def run(config: Laws, progress: Progress) -> Result:
    every, given = joined(drawn(config.population)), config.solutions
    few = every.take(slice(None, None, given.sparse * config.population.every))
    counts = whittaker_solutions(few, given.directions)
    odd = counts != 1
    counts[odd] = whittaker_solutions(few.take(odd), given.fine)
    findings = [
        new(
            "CR-whittaker-unique",
            "4.2.2",
            f"solutions of Whittaker's conditions, {len(counts)} impacts in space",
            ", ".join(f"{int((counts == k).sum())} have {k}" for k in np.unique(counts)),
            f"Directions of the slip after scanned in {given.directions} steps, {given.fine} in doubt; sticking counts "
            "as one.",
        ),
        _equation(every, progress),
        _pulling(config, every),
        _several(config.smith),
    ]
    return Result(findings)


def _equation(impacts: Impacts, progress: Progress) -> Finding:
    """(8) in space, for what jimpact finds."""
    found = answer(impacts, "smith", progress)
    P, friction = found.impulse, impacts.mu * found.impulse[:, 2]
    miss = P[:, :2] + friction[:, None] * _average(impacts.v[:, :2], found.velocity[:, :2])
    miss = np.abs(miss).max(-1) / np.linalg.norm(P, axis=-1)
    normal = np.abs(found.velocity[:, 2] + impacts.e * impacts.v[:, 2]) / np.abs(impacts.v[:, 2])
    return claim(
        "CR-(8)",
        "(8)",
        f"Smith's equation at the impulses found, {len(miss)} impacts in space",
        '"solutions exist"',
        f"missed by {np.nanmax(miss):.0e} of the impulse, {np.nanmax(normal):.0e} of the approach; "
        f"no answer in {int((~found.good).sum())}",
        holds=bool(found.good.all() and miss.max() < 1e-6 and normal.max() < 1e-6),
    )


def _pulling(config: Laws, every: Impacts) -> Finding:
    """Share of impacts with a solution that pulls, by friction."""
    given = config.solutions
    some = every.take(slice(None, None, max(1, len(every.mu) // given.sample)))
    x, which = _newton(some, given.starts, np.random.default_rng(config.smith.seed))
    pulls = np.isin(np.arange(len(some.mu)), which[x[:, 2] < 0])
    groups = np.array_split(np.argsort(some.mu), given.groups)
    shares = [100 * pulls[group].mean() for group in groups]
    listed = ", ".join(f"{a:.0f} % (to {some.mu[g].max():.2g})" for a, g in zip(shares, groups, strict=True))
    return claim(
        "CR-smith-pull",
        "4.2.3",
        f"impacts in space for which (8) has a solution that pulls, in {given.groups} groups by friction",
        '"frequently exist for 3D collisions with large enough values of mu"',
        f"{listed}, of {len(pulls)}",
        holds=bool(pulls.any() and (np.diff(shares) > 0).all()),
        why=f"Found by Newton's method from {given.starts} random starts each, which may miss some.",
    )


def _several(case: Several) -> Finding:
    found = smith_solutions(case)
    W, v = np.array(case.inverse_inertia), np.array(case.velocity)
    taken = solve_many(W[None], v[None], case.friction, case.restitution, law="smith").impulse[0]
    listed = "; ".join(f"({', '.join(f'{x:.6f}' for x in P)})" for P in found)
    nearest = 1 + int(np.abs(found - taken).max(-1).argmin())
    return new(
        "CR-smith-unique",
        "4.2.3",
        f"impulses (N s) that push and solve (8) for one impact, friction {case.friction:g}",
        f"{len(found)}: {listed}",
        f"The paper leaves uniqueness open; this is a counterexample. jimpact takes number {nearest}, to "
        f"{np.abs(found[nearest - 1] - taken).max():.0e} N s.",
    )


def whittaker_solutions(impacts: Impacts, directions: int) -> np.ndarray:
    """Sticking, if the cone allows it, and every slip after that friction on the cone opposes."""
    B, d, w = impacts.W[:, :2, :2], impacts.W[:, :2, 2], impacts.W[:, 2, 2]
    change = -(1 + impacts.e) * impacts.v[:, 2]
    goal = np.concatenate([-impacts.v[:, :2], change[:, None]], -1)
    stuck = np.linalg.solve(impacts.W, goal[..., None])[..., 0]
    sticks = np.hypot(stuck[:, 0], stuck[:, 1]) <= impacts.mu * stuck[:, 2]
    angle = np.linspace(0, 2 * np.pi, directions + 1)
    s = np.stack([np.cos(angle), np.sin(angle)], -1)
    p = change[:, None] / (w[:, None] - impacts.mu[:, None] * (d @ s.T))
    turned = d[:, None] - impacts.mu[:, None, None] * np.einsum("nij,kj->nki", B, s)
    after = impacts.v[:, None, :2] + p[..., None] * turned
    across, along = after[..., 1] * s[:, 0] - after[..., 0] * s[:, 1], (after * s).sum(-1)
    both = lambda flag: flag[:, 1:] & flag[:, :-1]  # noqa: E731
    slides = (across[:, 1:] * across[:, :-1] < 0) & both(along > 0) & both(p > 0)
    return sticks.astype(int) + slides.sum(-1)


def smith_solutions(case: Several) -> np.ndarray:
    """Impulses (k, 3) that push and solve (8), by rising normal impulse."""
    numbers = case.inverse_inertia, case.velocity, case.friction, case.restitution, 0.0
    one = Impacts(*(np.array(a, float)[None] for a in numbers))
    x, _ = _newton(one, case.starts, np.random.default_rng(case.seed))
    x = x[x[:, 2] > 0]
    x = x[np.argsort(x[:, 2])]
    kept = x[np.concatenate([[True], np.diff(x[:, 2]) > APART * x[:-1, 2]])]
    return np.concatenate([-case.friction * kept[:, 2:] * _average(one.v[:, :2], kept[:, :2]), kept[:, 2:]], -1)


def _newton(impacts: Impacts, starts: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Solutions x = (y, p) of (8) from random starts of either sign of p, and the impact of each."""
    which = np.repeat(np.arange(len(impacts.mu)), starts)
    own = [a[which] for a in (impacts.W, impacts.v, impacts.mu, impacts.e)]
    W, v = own[:2]
    slip = np.linalg.norm(v[:, :2], axis=-1, keepdims=True) * rng.normal(size=(len(which), 2))
    size = rng.lognormal(0, 2, len(which)) * rng.choice([-1, 1], len(which))
    x = np.column_stack([slip, -v[:, 2] / W[:, 2, 2] * size])
    for _ in range(NEWTON):
        steps = STEP * np.eye(3)
        J = np.stack([(_miss(x + h, *own) - _miss(x - h, *own)) / (2 * STEP) for h in steps], -1)
        with np.errstate(all="ignore"):
            kept = (np.abs(np.linalg.det(J)) > 0) & (np.abs(x) < LARGEST).all(-1)
        x, which, own, J = x[kept], which[kept], [a[kept] for a in own], J[kept]
        x = x - np.linalg.solve(J, _miss(x, *own)[..., None])[..., 0]
    good = np.abs(_miss(x, *own)).max(-1) < CONVERGED
    return x[good], which[good]


def _miss(x: np.ndarray, W: np.ndarray, v: np.ndarray, mu: np.ndarray, e: np.ndarray) -> np.ndarray:
    """What slip after and normal impulse, x = (y, p), lack to solve (8)."""
    y, p = x[:, :2], x[:, 2:]
    P = np.concatenate([-mu[:, None] * p * _average(v[:, :2], y), p], -1)
    return v + times(W, P) - np.column_stack([y, -e * v[:, 2]])


def _average(i: np.ndarray, y: np.ndarray) -> np.ndarray:
    a, b = (np.linalg.norm(u, axis=-1, keepdims=True) for u in (i, y))
    return (i * a + y * b) / (a**2 + b**2)
