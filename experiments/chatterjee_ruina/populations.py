"""Random impacts to try statements on, and what a law makes of them.

| kind     | inverse inertia W                                                        | friction                       |
|----------|--------------------------------------------------------------------------|--------------------------------|
| bodies   | two random blocks that touch at a random place                           | in a range                     |
| matrices | a random matrix times its transpose, with no bodies in mind              | in a range                     |
| gripping | as matrices                                                              | above w / |d|: slip can jam    |

Here w is the normal entry of W and d couples the normal to both tangents. Shares of a population that do this or that
depend on these choices; that nothing, or something, of it does that is the statement.
"""

from typing import Any, NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import LabelledProgress, solve_many

from .baselines import Impacts, energy, length
from .forms import Case, Population, Solid

KINDS = ("bodies", "matrices", "gripping")
LAWS = ("poisson", "stronge", "newton", "whittaker", "smith", "anitescu_potra", "chatterjee_ruina")
ROUND = 1e-9  # relative: round-off, with condition numbers up to 1e4
SLACK = 1e-6  # relative: more than the error of laws that follow the slip


class Answer(NamedTuple):
    """What a law makes of impacts; nan where it has no answer."""

    impulse: np.ndarray
    velocity: np.ndarray
    good: np.ndarray  # the outcome is OK
    energy: np.ndarray  # after / before
    margins: np.ndarray  # (4, n): lost energy, separation, push, distance from the cone; each over its scale
    impact: jimpact.Impact


def drawn(population: Population) -> dict[str, Impacts]:
    """Every kind of `KINDS`."""
    rng = np.random.default_rng(population.seed)
    kinds = {"bodies": _with_motion(rng, _block(rng, population) + _block(rng, population), population)}
    for kind in KINDS[1:]:
        root = rng.normal(size=(population.count, 3, 3))
        W = root @ np.swapaxes(root, -1, -2) + population.least_mobility * np.eye(3)
        kinds[kind] = _with_motion(rng, W, population)
    W = kinds["gripping"].W
    grip = rng.uniform(*population.grip, population.count) * W[:, 2, 2] / length(W[:, :2, 2])
    return kinds | {"gripping": kinds["gripping"]._replace(mu=grip)}


def joined(population: Population) -> Impacts:
    """All kinds in one batch."""
    return Impacts(*map(np.concatenate, zip(*drawn(population).values(), strict=True)))


def one(case: Solid | Case) -> Impacts:
    """A batch of one impact."""
    numbers = case.inverse_inertia, case.velocity, case.friction
    own = (getattr(case, name, 0.0) for name in ("restitution", "tangential_restitution"))
    return Impacts(*(np.array([x], float) for x in (*numbers, *own)))


def spheres(impacts: Impacts, second: float = 1.0) -> Impacts:
    """The same impacts with the inverse inertia of spheres: no coupling, alike in both tangents.

    Unless the mobility along the second tangent is changed by a factor.
    """
    return impacts._replace(W=np.eye(3) * impacts.W[:, [0, 0, 2], [0, 0, 2]][:, None] * [1.0, second, 1.0])


def planar(impacts: Impacts) -> Impacts:
    """The same impacts without what would leave the plane of the first tangent and the normal."""
    W = impacts.W.copy()
    W[:, [0, 1, 1, 2], [1, 0, 2, 1]] = 0
    return impacts._replace(W=W, v=impacts.v * [1, 0, 1])


def answer(impacts: Impacts, law: str, progress: LabelledProgress, **options: Any) -> Answer:
    """One law on a batch, with the parameters that it has."""
    own = {"tangential_restitution": impacts.e_t, **options}
    own = {name: x for name, x in own.items() if name in jimpact.LAWS[law].parameters}
    impact = solve_many(impacts.W, impacts.v, impacts.mu, impacts.e, law=law, progress=progress, **own)
    good = np.asarray(impact.outcome) == jimpact.Outcome.OK
    impulse, velocity = (np.where(good[:, None], a, np.nan) for a in (impact.impulse, impact.velocity))
    share = energy(impacts.W, velocity) / energy(impacts.W, impacts.v)
    return Answer(impulse, velocity, good, share, margins(impacts, impulse), impact)


def margins(impacts: Impacts, impulse: np.ndarray) -> np.ndarray:
    """How far impulses are from breaking each condition of section 3.2, over its scale: (4, n)."""
    size = length(impulse)
    scales = energy(impacts.W, impacts.v), length(impacts.v), size, (1 + impacts.mu) * size
    return np.array(jimpact.permissible(impacts.W, impacts.v, impulse, impacts.mu)) / np.array(scales)


def permitted(impacts: Impacts, impulse: np.ndarray, slack: float = ROUND) -> np.ndarray:
    """Whether impulses satisfy all four conditions, up to a share of their scale."""
    return (margins(impacts, impulse) >= -slack).all(0)


def _with_motion(rng: np.random.Generator, W: np.ndarray, population: Population) -> Impacts:
    n = len(W)
    v = rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2]) - population.least_approach
    mu = rng.uniform(*population.friction, n)
    return Impacts(0.5 * (W + np.swapaxes(W, -1, -2)), v, mu, rng.uniform(0, 1, n), rng.uniform(-1, 1, n))


def _block(rng: np.random.Generator, population: Population) -> np.ndarray:
    """Velocity change of a random place on a random block per impulse there."""
    n = population.count
    mass = rng.uniform(*population.mass, n)
    half = rng.uniform(*population.half_side, (n, 3))
    moments = mass[:, None] / 3 * ((half**2).sum(1, keepdims=True) - half**2)
    axes, _ = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    turning = np.einsum("nij,nj,nkj->nik", axes, 1 / moments, axes)
    arm = rng.uniform(*population.arm, (n, 3)) * rng.choice([-1, 1], (n, 3))
    lever = np.cross(np.eye(3), arm[:, None])  # rows: e_i x arm
    return np.eye(3) / mass[:, None, None] + np.einsum("nij,njk,nlk->nil", lever, turning, lever)
