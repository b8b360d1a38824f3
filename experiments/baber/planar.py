"""Section 5: the planar algorithm against `solve_planar`, and against `solve` on the same impact in space."""

from collections import Counter
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

import jimpact
from jimpact.config import FrictionRange, Name, NotNegative, PositiveRange, Seed, Share, ShareRange, Small, Table
from jimpact.reproduce import Finding, Grid, Progress, Result, claim, new, solve_many

from .crowd import log_uniform
from .forms import Count
from .planar_algorithm import Disk, collide, collision_matrix, turn

__all__ = ["Pair", "PlanarForm", "drawn", "run"]

STEPS = {
    "3 8": "slip grows from the start",
    "3a 6": "no slip at the start, sticks",
    "3a 7": "no slip at the start, slides",
    "4b 6": "stops in compression, sticks",
    "4b 7": "stops in compression, slides on",
    "4c 6": "stops in restitution, sticks",
    "4c 7": "stops in restitution, slides on",
    "4d": "slides throughout, slowing",
}
_solve_planar = jax.jit(jimpact.solve_planar)


class PlanarForm(Table):
    """configs/baber/planar.toml"""

    name: Name
    count: Count
    seed: Seed
    mass: PositiveRange
    inertia: PositiveRange
    arm: NotNegative
    speed: NotNegative
    spin: NotNegative
    friction: FrictionRange
    restitution: ShareRange
    immovable: Share
    still: Share
    frictionless: Share
    plastic: Share
    elastic: Share
    closed_form: Small  # relative: two formulas for the same


Pair = tuple[Disk, Disk, np.ndarray, float, float]  # two bodies, f, friction, restitution


def run(form: PlanarForm, progress: Progress) -> Result:
    """The three ways to one impulse."""
    pairs = drawn(form)
    ends = [collide(*pair) for pair in pairs]
    K, u = (np.stack(a) for a in zip(*(_contact(*pair[:3]) for pair in pairs), strict=True))
    mu, e = np.array([pair[3] for pair in pairs]), np.array([pair[4] for pair in pairs])
    impulse = np.stack([end.impulse for end in ends])
    closed = jax.tree.map(np.asarray, _solve_planar(K, u, mu, e))
    space = solve_many(*_in_space(K, u), mu, e, progress=progress)
    limit = form.closed_form
    findings = [*_agreement(impulse, closed, space, limit), _energy(K, u, impulse, pairs, limit), _once(closed)]
    counts = Counter(end.steps for end in ends)
    gaps = _gap(closed.impulse, impulse)
    rows: list[list[Any]] = []
    for steps, words in STEPS.items():
        mine = np.array([end.steps == steps for end in ends])
        rows.append([steps, words, counts[steps], f"{gaps[mine].max(initial=0):.0e}"])
    columns = ("steps", "what happens", "impacts", "largest deviation from solve_planar")
    return Result(findings, [], [Grid("The branches of the planar algorithm.", columns, rows)])


def drawn(form: PlanarForm) -> list[Pair]:
    """Random approaching pairs; those that would separate get their velocities reversed."""
    rng = np.random.default_rng(form.seed)
    return [_pair(form, rng) for _ in range(form.count)]


def _pair(form: PlanarForm, rng: np.random.Generator) -> Pair:
    held = rng.integers(2) if rng.random() < form.immovable else -1
    a, b = (_disk(form, rng, held == i) for i in range(2))
    angle = rng.uniform(0, 2 * np.pi)
    f = np.array([np.cos(angle), np.sin(angle)])
    mu = 0.0 if rng.random() < form.frictionless else rng.uniform(*form.friction)
    e = rng.uniform(*form.restitution)
    chance = rng.random()
    e = 0.0 if chance < form.plastic else 1.0 if chance > 1 - form.elastic else e
    u = _contact(a, b, f)[1]
    sign = -np.sign(u[1])
    a, b = (
        body._replace(velocity=sign * body.velocity, angular_velocity=sign * body.angular_velocity) for body in (a, b)
    )
    if rng.random() < form.still:
        a, b, f = _without_slip(a, b, abs(u[1]))
    return a, b, f, mu, e


def _disk(form: PlanarForm, rng: np.random.Generator, held: bool) -> Disk:
    mass, inertia = rng.uniform(*form.mass), float(log_uniform(rng, form.inertia, 1)[0])
    arm, v, w = form.arm * rng.normal(size=2), form.speed * rng.normal(size=2), form.spin * rng.normal()
    return Disk(0.0 if held else 1 / mass, 0.0 if held else 1 / inertia, arm, v, w)


def _without_slip(a: Disk, b: Disk, approach: float) -> tuple[Disk, Disk, np.ndarray]:
    """No spin and no slip, exactly: the normal is along y, body a comes down."""
    still = np.zeros(2)
    a = a._replace(velocity=np.array([0.0, -approach]), angular_velocity=0.0)
    return a, b._replace(velocity=still, angular_velocity=0.0), np.array([0.0, 1.0])


def _contact(a: Disk, b: Disk, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K and u in contact axes."""
    R = turn(f)
    a, b = (body._replace(arm=R @ body.arm, velocity=R @ body.velocity) for body in (a, b))
    point = lambda body: body.velocity + body.angular_velocity * np.array([-body.arm[1], body.arm[0]])  # noqa: E731
    return collision_matrix(a, b), point(a) - point(b)


def _in_space(K: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """With a second tangential direction that nothing couples to."""
    W = np.zeros((len(K), 3, 3))
    W[:, 0, 0], W[:, 0, 2], W[:, 2, 0], W[:, 2, 2] = K[:, 0, 0], K[:, 0, 1], K[:, 1, 0], K[:, 1, 1]
    W[:, 1, 1] = K[:, 0, 0]
    return W, np.stack([u[:, 0], 0 * u[:, 0], u[:, 1]], -1)


def _gap(value: ArrayLike, reference: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.asarray(value) - reference, axis=-1) / np.linalg.norm(reference, axis=-1)


def _agreement(impulse: np.ndarray, closed: jimpact.Impact, space: jimpact.Impact, limit: float) -> list[Finding]:
    plane = _gap(closed.impulse, impulse).max()
    solid = _gap(space.impulse[:, [0, 2]], impulse)
    aside = np.abs(space.impulse[:, 1]).max()
    return [
        claim(
            "B-2D",
            "5.2",
            "planar algorithm against solve_planar: impulse",
            "u_y = sqrt(2 k_y (-e^2 W_c - W_d) + u_y^2), and the steps before it",
            f"deviates by at most {plane:.1e} in {len(impulse)}",
            bool(plane < limit),
            digits=-float(np.log10(plane)),
        ),
        claim(
            "B-2D-space",
            "5",
            "planar algorithm against solve in space: impulse",
            "2D collisions are just a special subcase of 3D collisions",
            f"deviates by at most {solid.max():.1e}, {np.median(solid):.1e} (median)",
            bool(solid.max() < limit and aside == 0),
            f"Slip is on a ray from the start, so solve has no steps to take; {aside:g} N s leave the plane.",
        ),
    ]


def _energy(K: np.ndarray, u: np.ndarray, impulse: np.ndarray, pairs: list[Pair], limit: float) -> Finding:
    """Change of kinetic energy, beside the most that an impulse at this contact could take."""
    change = np.einsum("ni,ni->n", impulse, u + 0.5 * np.einsum("nij,nj->ni", K, impulse))
    most = 0.5 * np.einsum("ni,ni->n", u, np.linalg.solve(K, u[..., None])[..., 0])
    gain = change / most
    fixed = sum(0 in (a.inverse_mass, b.inverse_mass) for a, b, *_ in pairs)
    return claim(
        "B-2D-energy",
        "3.4, 5.2",
        "kinetic energy lost, over u K^-1 u / 2, the most that an impulse at this contact can take",
        "total energy will decrease",
        f"{max(-gain.max(), 0):.0%} to {-gain.min():.0%}; largest gain {max(gain.max(), 0):.0e}",
        bool(gain.max() < limit),
        f"{fixed} of {len(pairs)} have an immovable body.",
    )


def _once(closed: jimpact.Impact) -> Finding:
    most = int(closed.info.compressions.max())
    why = "After zero slip u_y only rises, and until then it is straight: a second compression needs slip that turns."
    return new("B-2D-once", "5", "compressions of planar impacts", f"{most} in all {len(closed.outcome)}", why)
