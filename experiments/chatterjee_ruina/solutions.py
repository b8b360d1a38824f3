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

from .baselines import smith_roots
from .forms import Laws, Several
from .populations import Impacts, answer, drawn, joined, planar

__all__ = ["run", "smith_solutions", "whittaker_solutions"]

DIRECTIONS, FINE = 720, 36000  # of the slip after; the second where the first does not count one solution
SPARSE = 2  # one of so many again: scans take longer than laws
SAMPLES = 801  # of the slip after, in a plane
NEWTON, CONVERGED, APART = 60, 1e-12, 1e-6
LARGEST = 1e4  # m/s, and N s: what runs away is not a solution


def run(config: Laws, progress: Progress) -> Result:
    every = joined(drawn(config.population))
    few = every.take(slice(None, None, SPARSE * config.population.every))
    counts = whittaker_solutions(few, DIRECTIONS)
    odd = counts != 1
    counts[odd] = whittaker_solutions(few.take(odd), FINE)
    flat = planar(few)
    push, pull = smith_roots(flat.W[:, ::2, ::2], flat.v[:, ::2], flat.mu, flat.e, SAMPLES)
    there, elsewhere = np.median(flat.mu[pull > 0]), np.median(flat.mu[pull == 0])
    findings = [
        new(
            "CR-whittaker-unique",
            "4.2.2",
            f"solutions of Whittaker's conditions, {len(counts)} impacts in space",
            ", ".join(f"{int((counts == k).sum())} have {k}" for k in np.unique(counts)),
            f"Directions of the slip after scanned in {DIRECTIONS} steps, {FINE} in doubt; sticking counts as one.",
        ),
        _equation(every, progress),
        claim(
            "CR-smith-pull",
            "4.2.3",
            f"planar impacts for which (8) has a solution that pulls, of {len(pull)}",
            "frequent for large friction",
            f"{int((pull > 0).sum())}; median friction {there:.2f} there, {elsewhere:.2f} elsewhere",
            holds=bool((pull > 0).any() and there > elsewhere),
            why=f"Of solutions that push, none of these planar impacts has more than {push.max()}.",
        ),
        _several(config.smith),
    ]
    return Result(findings)


def _equation(impacts: Impacts, progress: Progress) -> Finding:
    """(8) in space, for what jimpact finds."""
    found = answer(impacts, "smith", progress)
    slip, after, P = impacts.v[:, :2], found.velocity[:, :2], found.impulse
    miss = np.abs(P[:, :2] + (impacts.mu * P[:, 2])[:, None] * _average(slip, after)).max(-1) / np.linalg.norm(
        P, axis=-1
    )
    normal = np.abs(found.velocity[:, 2] + impacts.e * impacts.v[:, 2]) / np.abs(impacts.v[:, 2])
    return claim(
        "CR-(8)",
        "(8)",
        f"Smith's equation at the impulses found, {len(miss)} impacts in space",
        "defines the law; solutions exist",
        f"missed by {np.nanmax(miss):.0e} of the impulse, {np.nanmax(normal):.0e} of the approach; "
        f"no answer in {int((~found.good).sum())}",
        holds=bool(found.good.all() and miss.max() < 1e-6 and normal.max() < 1e-6),
    )


def _several(case: Several) -> Finding:
    found = smith_solutions(case)
    W, v = np.array(case.inverse_inertia), np.array(case.velocity)
    taken = solve_many(W[None], v[None], case.friction, case.restitution, law="smith").impulse[0]
    listed = "; ".join(f"({', '.join(f'{x:.6f}' for x in P)})" for P in found)
    first = bool(np.allclose(taken, found[0], rtol=1e-6))
    return new(
        "CR-smith-unique",
        "4.2.3",
        f"impulses (N s) that push and solve (8) for one impact, friction {case.friction:g}",
        f"{len(found)}: {listed}",
        "The paper leaves uniqueness open; this is a counterexample. jimpact takes "
        f"{'the least' if first else 'another'}, which grows from zero as restitution grows from -1.",
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
    """Impulses (k, 3) that push and solve (8), by rising normal impulse: Newton's method from random starts."""
    rng = np.random.default_rng(case.seed)
    W, v = np.array(case.inverse_inertia), np.array(case.velocity)
    scale = np.linalg.norm(v[:2])
    x = np.concatenate(
        [scale * rng.normal(size=(case.starts, 2)), -v[2] / W[2, 2] * rng.lognormal(0, 2, (case.starts, 1))], -1
    )
    for _ in range(NEWTON):
        miss = _miss(x, W, v, case)
        J = np.stack([(_miss(x + h, W, v, case) - _miss(x - h, W, v, case)) / 2e-6 for h in 1e-6 * np.eye(3)], -1)
        good = np.abs(np.linalg.det(J)) > 0
        x = x[good] - np.linalg.solve(J[good], miss[good][..., None])[..., 0]
        x = x[(np.abs(x) < LARGEST).all(-1)]
    x = x[(np.abs(_miss(x, W, v, case)).max(-1) < CONVERGED * 10) & (x[:, 2] > 0)]
    x = x[np.argsort(x[:, 2])]
    kept = x[np.concatenate([[True], np.diff(x[:, 2]) > APART * x[:-1, 2]])]
    tangential = -case.friction * kept[:, 2:] * _average(v[:2], kept[:, :2])
    return np.concatenate([tangential, kept[:, 2:]], -1)


def _miss(x: np.ndarray, W: np.ndarray, v: np.ndarray, case: Several) -> np.ndarray:
    """What slip after and normal impulse, x = (y, p), lack to solve (8)."""
    y, p = x[:, :2], x[:, 2:]
    P = np.concatenate([-case.friction * p * _average(v[:2], y), p], -1)
    return v + P @ W - np.concatenate([y, np.full_like(p, -case.restitution * v[2])], -1)


def _average(i: np.ndarray, y: np.ndarray) -> np.ndarray:
    a, b = (np.linalg.norm(u, axis=-1, keepdims=True) for u in (i, y))
    return (i * a + y * b) / (a**2 + b**2)
