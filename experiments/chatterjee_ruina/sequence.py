"""Simultaneous contacts as a sequence of single ones: sections 6, 6.1, 6.4 and 6.5.

Source: Chatterjee & Ruina 1998. Contacts are resolved by `collide_bodies` with the new law; `in_sequence` does the same
with the paper's listing in NumPy.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import jimpact
from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, unchecked

from .hinged_rod import hinged_rod
from .baselines import NORMAL, collrule
from .sequence_forms import Ball, Material, Sequence

__all__ = ["in_sequence", "run"]

ROUND = 1e-9  # relative, after some hundred impacts
DIAMOND = (1, 2, 3, 2, 1)  # balls in each row
UP = np.array([0.0, 0.0, 1.0])

Pairs = list[tuple[int, int]]


def run(config: Sequence, progress: Progress) -> Result:
    found, grid, decays = _rack(config)
    rods, rod_grid = hinged_rod(config.hinged, config.material)
    findings = [_single(config), *_three(config), *_squeezed(config), *found, *rods]
    picture = Picture("decay", _figure(config, decays), "Energy of approach along sequences of single impacts.")
    return Result(findings, [picture], [grid, rod_grid])


def in_sequence(
    W: np.ndarray, v: np.ndarray, material: Material, decay: float, most: int
) -> tuple[np.ndarray, list[float]]:
    """Velocities after at all contacts, and the energy of approach before each impact; W (k, k, 3, 3), v (k, 3)."""
    normal = np.einsum("iijj->ij", W)[:, 2]
    M = np.linalg.inv(np.einsum("iijk->ijk", W))
    numbers = (np.asarray(x) for x in (material.friction, material.restitution, material.tangential_restitution))
    law = partial(_listed, numbers=tuple(numbers))
    energy = [0.5 * float((np.minimum(v[:, 2], 0) ** 2 / normal).sum())]
    while energy[-1] > decay * energy[0] and len(energy) <= most:
        first = int(v[:, 2].argmin())
        v = v + np.einsum("kij,j->ki", W[:, first], law(M[first], v[first]))
        energy.append(0.5 * float((np.minimum(v[:, 2], 0) ** 2 / normal).sum()))
    return v, energy


def _listed(M: np.ndarray, v: np.ndarray, numbers: tuple[np.ndarray, ...]) -> np.ndarray:
    return collrule(M, v, NORMAL, *numbers)


def _options(material: Material) -> dict[str, Any]:
    return {"law": "chatterjee_ruina", "tangential_restitution": material.tangential_restitution}


def _balls(ball: Ball, centres: np.ndarray, velocities: np.ndarray, shares: Any = 1.0) -> jimpact.Body:
    """Solid spheres, with shares of the mass of a ball, and an immovable body as the last."""
    shape = centres.shape[:-1]
    mass = np.broadcast_to(ball.mass * np.asarray(shares), shape)
    inertia = 0.4 * ball.radius**2 * mass[..., None, None] * np.eye(3)
    spheres = jimpact.Body(*map(jnp.asarray, (mass, inertia, centres, velocities, 0 * velocities)))
    wall = jax.tree.map(lambda a: jnp.broadcast_to(a, (*shape[:-1], 1, *jnp.shape(a))), jimpact.immovable())
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b], len(shape) - 1), spheres, wall)


def _touching(pairs: Pairs, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = (centres[..., [pair[side] for pair in pairs], :] for side in (0, 1))
    return 0.5 * (a + b), (a - b) / np.linalg.norm(a - b, axis=-1, keepdims=True)


def _coupled(bodies: jimpact.Body, pairs: Pairs, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    compiled = jax.jit(lambda bodies, points, normals: jimpact.inverse_inertia_contacts(bodies, pairs, points, normals))
    return np.asarray(compiled(bodies, points, normals))


def _three_scene(config: Sequence, faster: np.ndarray) -> tuple[jimpact.Body, Pairs, np.ndarray, np.ndarray]:
    """Left, middle and right ball; in each of some scenes the left one is faster by a share."""
    r, given = config.ball.radius, config.three
    centres = np.broadcast_to([[-2 * r, 0, 0], [0.0, 0, 0], [2 * r, 0, 0]], (len(faster), 3, 3))
    velocities = np.zeros_like(centres)
    velocities[:, 0, 0], velocities[:, 0, 1], velocities[:, 2, 0] = (
        given.speed * (1 + faster),
        given.sideways,
        -given.speed,
    )
    pairs = [(0, 1), (1, 2)]
    return _balls(config.ball, centres, velocities, [1.0, given.middle, 1.0]), pairs, *_touching(pairs, centres)


def _single(config: Sequence) -> Finding:
    """One contact only."""
    bodies, pairs, points, normals = _three_scene(config, np.zeros(1))
    m = config.material
    numbers = {"friction": m.friction, "restitution": m.restitution}
    run = jax.jit(partial(jimpact.collide_bodies, pairs=pairs[:1], **_options(m)))
    many = run(bodies, points=points[:, :1], normals=normals[:, :1], **numbers)
    a, b = (jax.tree.map(lambda f, i=i: f[:, i], bodies) for i in pairs[0])
    alone = jax.jit(partial(jimpact.collide, **_options(m)))
    one = alone(a, b, points[:, 0], normals[:, 0], **numbers).impact.impulse[0]
    gap = float(jnp.abs(many.contacts.impulse[0, 0] - one).max() / jnp.linalg.norm(one))
    return claim(
        "CR-6.4-single",
        "6.4, item 4",
        "one contact: sequence against single impact",
        "the same law exactly",
        f"{int(many.contacts.impacts[0])} impact, impulse differs by {gap:.0e}",
        holds=gap < 1e-15 and int(many.contacts.impacts[0]) == 1,
    )


def _three(config: Sequence) -> list[Finding]:
    m, given = config.material, config.three
    run = jax.jit(partial(jimpact.collide_bodies, pairs=[(0, 1), (1, 2)], **_options(m)))
    numbers = {"friction": m.friction, "restitution": m.restitution}
    bodies, _, points, normals = _three_scene(config, given.nudge * np.array([0.0, 0, 1, -1]))
    first = jnp.array([[1.0, 0], [0, 1.0], [0, 0], [0, 0]])
    end = np.asarray(run(bodies, points=points, normals=normals, priority=first, **numbers).bodies.velocity[:, :3])
    change, follows = (float(np.abs(a).max()) / given.speed for a in (end[0] - end[1], end[:2] - end[2:]))
    bodies, _, points, normals = _three_scene(config, np.zeros(given.draws))
    key = jax.random.key(given.seed)
    random = run(bodies, points=points, normals=normals, key=key, **numbers).contacts.order[:, 0]
    left = float((random == 0).mean())
    return [
        claim(
            "CR-6.1-order",
            "6.1",
            "three balls, the outer ones equally fast: change of a velocity with the order",
            "vastly different results by minute changes of the start",
            f"{change:.3f} of the speed; {given.nudge:g} of it more or less selects the order (to {follows:.0e})",
            holds=change > 0.1 and follows < 1e-6,
        ),
        claim(
            "CR-6.4-ties",
            "6.4",
            f"order at random, {given.draws} draws",
            "one of three ways to decide a tie",
            f"left first in {100 * left:.0f} %",
            holds=0.35 < left < 0.65,
        ),
    ]


def _squeezed(config: Sequence) -> list[Finding]:
    """A ball between two walls."""
    given, m, r = config.squeezed, config.material, config.ball.radius
    bodies = _balls(config.ball, np.zeros((1, 3)), np.array([[given.speed, 0.0, 0.0]]))
    pairs, points = [(0, 1), (0, 1)], r * np.array([[-1.0, 0, 0], [1.0, 0, 0]])
    normals = -points / r
    W = _coupled(bodies, pairs, points, normals)
    values = np.linalg.eigvalsh(np.moveaxis(W, 1, 2).reshape(6, 6))
    run = jax.jit(partial(jimpact.collide_bodies, pairs=pairs, most=given.most, decay=given.decay, **_options(m)))
    ends, never = (
        run(bodies, points=points, normals=normals, friction=0.0, restitution=e) for e in (m.restitution, 1.0)
    )
    count = int(ends.contacts.impacts)
    expected = int(np.ceil(np.log(given.decay) / (2 * np.log(m.restitution)))) if m.restitution > 0 else 1
    left = float(jnp.linalg.norm(ends.bodies.velocity[0])) / given.speed
    lost = abs(float(never.contacts.kinetic_energy_change)) / (0.5 * config.ball.mass * given.speed**2)
    outcome = jimpact.Outcome(int(never.contacts.outcome))
    return [
        claim(
            "CR-6-singular",
            "6, (15)",
            "eigenvalues of W, a ball between two walls",
            "symmetric and positive semidefinite, often singular",
            f"least {values[0]:.0e}, largest {values[-1]:.2f} 1/kg",
            holds=bool(abs(values[0]) < 1e-9 * values[-1]),
        ),
        claim(
            "CR-6.4-decay",
            "6.4",
            f"the same with e = {m.restitution:g}: an endless sequence",
            "approach decays exponentially in the number of impacts, and is cut",
            f"{count} impacts to {given.decay:g} of the energy, speed {left:.2e}: e^n = {m.restitution**count:.3e}",
            holds=abs(count - expected) <= 1 and abs(left / m.restitution**count - 1) < 1e-6,
        ),
        claim(
            "CR-6.4-endless",
            "6.4",
            "the same with e = 1",
            "may go on for ever without loss: no prediction",
            f"{outcome.name} after {int(never.contacts.impacts)} impacts, energy lost {lost:.0e}",
            holds=outcome == jimpact.Outcome.UNFINISHED and lost < ROUND,
        ),
    ]


def _rack_scene(config: Sequence, angles: np.ndarray) -> tuple[Any, ...]:
    """Nine balls and a cue ball (index 9) on the floor (index 10), one scene for each angle (rad)."""
    r = config.ball.radius
    places = [
        (2 * r * np.cos(np.pi / 6) * x, 2 * r * (y - 0.5 * (n - 1))) for x, n in enumerate(DIAMOND) for y in range(n)
    ]
    rack = np.array([(x, y, r) for x, y in places])
    towards = np.stack([np.cos(angles), np.sin(angles), 0 * angles], -1)
    centres = np.concatenate([np.broadcast_to(rack, (len(angles), 9, 3)), (rack[0] - 2 * r * towards)[:, None]], 1)
    velocities = np.zeros_like(centres)
    velocities[:, 9, 0] = config.rack.speed
    gaps = np.linalg.norm(rack[:, None] - rack, axis=-1)
    pairs = [(i, j) for i in range(9) for j in range(i) if gaps[i, j] < 2.001 * r] + [(9, 0)]
    points, normals = _touching(pairs, centres)
    below = centres - r * UP
    pairs += [(i, 10) for i in range(10)]
    points, normals = np.concatenate([points, below], 1), np.concatenate([normals, np.broadcast_to(UP, below.shape)], 1)
    return _balls(config.ball, centres, velocities), pairs, points, normals


def _rack(config: Sequence) -> tuple[list[Finding], Grid, list[list[float]]]:
    given, m = config.rack, config.material
    angles = np.radians(given.angle_deg)
    bodies, pairs, points, normals = _rack_scene(config, angles)
    run = jax.jit(partial(jimpact.collide_bodies, pairs=pairs, most=given.most, **_options(m)))
    result = run(bodies, points=points, normals=normals, friction=m.friction, restitution=m.restitution)
    n = len(angles)
    W = _coupled(bodies, pairs, points, normals)
    start = np.asarray(result.contacts.velocity) - np.einsum("nklij,nlj->nki", W, np.asarray(result.contacts.impulse))
    listed = [in_sequence(W[i], start[i], m, 1e-12, given.most) for i in range(n)]
    gap = (
        max(float(np.abs(np.asarray(result.contacts.velocity[i]) - v).max()) for i, (v, _) in enumerate(listed))
        / given.speed
    )
    before = 0.5 * config.ball.mass * given.speed**2
    lost = -np.asarray(result.contacts.kinetic_energy_change) / before
    impacts = np.asarray(result.contacts.impacts)
    done = bool((np.asarray(result.contacts.outcome) == jimpact.Outcome.OK).all())
    rows = [[float(x), int(k), float(y)] for x, k, y in zip(given.angle_deg, impacts, lost, strict=True)]
    columns = ("angle (deg)", "impacts", "energy lost / before")
    findings = [
        unchecked(
            "CR-6.4-rack",
            "6.4",
            f"{len(pairs)} contacts of 10 balls and the floor, {n} aims",
            f"ended: {done} after {impacts.min()} to {impacts.max()}; energy lost {lost.min():.2f} to {lost.max():.2f}",
            "The paper mentions promising simulations of 5 to 10 bodies with about 30 contacts, without numbers.",
        ),
        claim(
            "CR-6.4-listing",
            "6.4",
            "the same sequences by the paper's listing, in NumPy",
            "states the rule",
            f"velocities differ by {gap:.0e} of the speed",
            holds=gap < 1e-6,
        ),
    ]
    return findings, Grid("A break of nine balls on a floor", columns, rows), [energy for _, energy in listed]


def _figure(config: Sequence, decays: list[list[float]]) -> Figure:
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    ax = figure.add_subplot()
    for angle, energy in zip(config.rack.angle_deg, decays, strict=True):
        share = np.array(energy) / energy[0]
        ax.semilogy(np.flatnonzero(share > 0), share[share > 0], lw=1.4, label=f"rack of nine, {angle:g} deg")
    e = config.material.restitution
    last = int(np.log(config.squeezed.decay) / (2 * np.log(e))) if e > 0 else 1
    ax.semilogy([0, last], [1, e ** (2 * last)], "k--", lw=1.2, label="ball between two walls, $e^{2n}$")
    ax.set(
        xlabel="single impacts, n",
        ylabel="energy of approach, over that before",
        title="Energy of approach along a sequence",
    )
    ax.set_ylim(bottom=0.1 * config.squeezed.decay)
    ax.legend(frameon=False, fontsize=9)
    return figure
