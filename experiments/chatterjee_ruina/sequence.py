"""Simultaneous contacts as a sequence of single ones: sections 6, 6.1, 6.4 and 6.5.

Source: Chatterjee & Ruina 1998. All scenes are resolved by jimpact in one program (`contacts.resolve`).
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import jimpact
from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, new, solve_many, unchecked

from .contacts import Lane, Touch, in_sequence, jacobian, resolve
from .hinged_rod import hinged_lanes, hinged_rod
from .sequence_forms import Sequence

__all__ = ["run"]

ROUND = 1e-9  # relative, after some hundred impacts
UP, ACROSS = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])

Solved = list[tuple[Lane, jimpact.Contacts]]


def run(config: Sequence, progress: Progress) -> Result:
    centres, touches, rack = _rack_lanes(config)
    scenes = {
        "three": _three_lanes(config),
        "rod": _rod_lanes(config),
        "squeezed": _squeezed_lanes(config),
        "crowd": _crowd_lanes(config),
        "rack": rack,
        "hinged": hinged_lanes(config.hinged, config.material),
    }
    scenes["single"] = [lane._replace(J=lane.J[:3], priority=None) for lane in scenes["three"][:1]]
    answers = iter(resolve([lane for lanes in scenes.values() for lane in lanes], config.cut))
    found: dict[str, Solved] = {name: [(lane, next(answers)) for lane in lanes] for name, lanes in scenes.items()}
    rods, rod_grid = hinged_rod(
        config.hinged, config.material, config.cut, scenes["hinged"], [contacts for _, contacts in found["hinged"]]
    )
    rack_findings, grid, decays = _rack(config, found["rack"])
    findings = [
        _single(found["single"], progress),
        *_three(config, found["three"]),
        _rod(config, found["rod"]),
        _singular(config, centres, touches, scenes["squeezed"][0]),
        *_squeezed(config, found["squeezed"]),
        _crowd(config, found["crowd"]),
        *rack_findings,
        *rods,
    ]
    picture = Picture("decay", _figure(config, decays), "Energy of approach along sequences of single impacts.")
    return Result(findings, [picture], [grid, rod_grid])


def _balls(config: Sequence, centres: np.ndarray, velocities: np.ndarray, touches: list[Touch], **own: object) -> Lane:
    """Solid spheres, of the mass of a ball unless `shares` says otherwise, and of the material unless `own` does."""
    mass = config.ball.mass * np.broadcast_to(np.asarray(own.pop("shares", 1.0)), len(centres))
    mobile = np.repeat(1 / np.stack([mass, 0.4 * config.ball.radius**2 * mass], -1), 3, axis=-1).ravel()
    U = np.concatenate([velocities, 0 * velocities], -1).ravel()
    m = config.material
    lane = Lane(jacobian(centres, touches), mobile, U, m.friction, m.restitution, m.tangential_restitution)
    return lane._replace(**own)  # type: ignore[arg-type]


def _three_lanes(config: Sequence) -> list[Lane]:
    """Left, middle and right ball: each order, a faster left and right ball, ties by direction, and at random."""
    r, given = config.ball.radius, config.three
    centres = 2 * r * np.array([[-1.0, 0, 0], [0, 0, 0], [1, 0, 0]])
    touches: list[Touch] = [(0, 1, -r * ACROSS, -ACROSS), (1, 2, r * ACROSS, -ACROSS)]
    by_direction = np.array([point @ np.array(given.direction) for _, _, point, _ in touches])
    random = np.random.default_rng(given.seed).uniform(size=(given.draws, 2))
    ties = [(0.0, [1.0, 0]), (0.0, [0, 1.0]), (given.nudge, [0, 0]), (-given.nudge, [0, 0]), (0.0, by_direction)]
    lanes = []
    for faster, priority in ties + [(0.0, pair) for pair in random]:
        u = given.speed * np.array([[1 + faster, given.sideways / given.speed, 0], [0, 0, 0], [-1, 0, 0]])
        own = {"shares": [1.0, given.middle, 1.0], "priority": np.asarray(priority)}
        lanes.append(_balls(config, centres, u, touches, **own))
    return lanes


def _single(solved: Solved, progress: Progress) -> Finding:
    """One contact only."""
    (lane, many) = solved[0]
    own = {"tangential_restitution": lane.tangential}
    law = "chatterjee_ruina"
    one = solve_many(lane.W[0], lane.v, lane.friction, lane.restitution, law=law, progress=progress, **own).impulse
    gap = float(np.abs(many.impulse - one).max() / np.linalg.norm(one))
    return claim(
        "CR-6.4-single",
        "6.4, item 4",
        "one contact: sequence against single impact",
        '"reduces exactly to the single-point version"',
        f"{int(many.impacts)} impact, impulse differs by {gap:.0e}",
        holds=gap < ROUND and int(many.impacts) == 1,
    )


def _three(config: Sequence, solved: Solved) -> list[Finding]:
    given = config.three
    end = np.array([lane.after(contacts.impulse).reshape(3, 6)[:, :3] for lane, contacts in solved]) / given.speed
    first = np.array([int(contacts.order[0]) for _, contacts in solved])
    off = np.abs(end - end[first]).max((-1, -2))  # lane 0 begins with contact 0, lane 1 with contact 1
    change, left = float(np.abs(end[0] - end[1]).max()), float((first[5:] == 0).mean())
    return [
        claim(
            "CR-6.1-order",
            "6.1",
            "three balls, the outer ones equally fast: change of a velocity with the order",
            '"vastly different results"; "minute changes in initial conditions"',
            f"{change:.3f} of the speed; {given.nudge:g} of it more or less selects the order, to {off[2:4].max():.0e}",
            holds=change > config.vast and off[2:4].max() < 1e-6 and set(first[2:4]) == {0, 1},
        ),
        claim(
            "CR-6.4-ties",
            "6.4",
            "the same by each way to decide a tie: 1) a changed start, 2) by a direction, 3) at random",
            '"three options available to the simulator"',
            f"each gives the result of one order, to {off[2:].max():.0e}; 2) {('left', 'right')[first[4]]} first, 3) "
            f"left first in {100 * left:.0f} % of {given.draws} draws",
            holds=off[2:].max() < 1e-6 and set(first[2:4]) == {0, 1} and 0 < left < 1,
        ),
    ]


def _rod_lanes(config: Sequence) -> list[Lane]:
    """A rod along x that falls flat on a table without friction; a hair faster on the left, and on the right."""
    given = config.rod
    ends = 0.5 * given.length * np.array([-ACROSS, ACROSS])
    J = jacobian(np.zeros((1, 3)), [(0, None, end, UP) for end in ends])
    mobile = 1 / np.repeat([given.mass, given.mass * given.length**2 / 12], 3)
    falls = [np.array([0, 0, -1, 0, side * given.tilt / given.length, 0]) * given.speed for side in (-1, 1)]
    return [Lane(J, mobile, U, 0.0, e, 0.0) for e in given.restitution for U in falls]


def _rod(config: Sequence, solved: Solved) -> Finding:
    up = np.array([contacts.velocity[:, 2] for _, contacts in solved]).reshape(-1, 2, 2) / config.rod.speed
    mirror = float(np.abs(up[:, 0] - up[:, 1, ::-1]).max())
    change = np.abs(up[:, 0] - up[:, 1]).max(-1)
    listed = zip(config.rod.restitution, up[:, 0], strict=True)
    return claim(
        "CR-6.1-rod",
        "6.1, 6.4",
        "a rod that falls flat on both ends: velocities of its ends after, over the speed before",
        '"Another example is a horizontal rod" (of a sensitive outcome)',
        "; ".join(f"({ends[0]:.3f}, {ends[1]:.3f}) or the reverse with e = {e:g}" for e, ends in listed),
        holds=bool((change > config.sensitive * config.rod.tilt).all()),
        why=f"A tilt of {config.rod.tilt:g} of the speed selects the end that is first, and with it one of two "
        f"results, mirror images to {mirror:.0e}. They are {change.min():.3f} to {change.max():.3f} of the speed "
        f"apart: ill-posed, if vastly different (more than {config.vast:g}) for {int((change > config.vast).sum())} of "
        f"{len(change)} e only.",
    )


def _singular(config: Sequence, centres: np.ndarray, touches: list[Touch], ball: Lane) -> Finding:
    """W of the rack by jimpact, and impulses of two walls that cancel."""
    n, mass = len(centres), config.ball.mass
    inertia = np.broadcast_to(0.4 * mass * config.ball.radius**2 * np.eye(3), (n, 3, 3))
    still = np.zeros((n, 3))
    bodies = jimpact.Body(*map(jnp.asarray, (np.full(n, mass), inertia, centres, still, still)))
    bodies = jax.tree.map(lambda a, b: jnp.concatenate([a, jnp.asarray(b)[None]]), bodies, jimpact.immovable())
    pairs = [(a, n if b is None else b) for a, b, _, _ in touches]
    points, normals = (jnp.asarray(np.array([touch[k] for touch in touches])) for k in (2, 3))
    coupled = jax.jit(partial(jimpact.inverse_inertia_contacts, pairs=pairs))
    W = np.asarray(coupled(bodies, points=points, normals=normals))
    W = np.swapaxes(W, 1, 2).reshape(3 * len(pairs), -1)
    values = np.linalg.eigvalsh(W)
    skew, zero = np.abs(W - W.T).max() / values[-1], int((np.abs(values) < ROUND * values[-1]).sum())
    moved = np.abs(np.einsum("klij,lj->ki", ball.W, np.tile(UP, (2, 1)))).max() / np.abs(ball.W).max()
    return claim(
        "CR-6-singular",
        "6, (15)",
        f"W of {len(pairs)} contacts of {n} balls, and equal and opposite impulses of two walls on a ball",
        '"symmetric and positive semidefinite"; "Often, W will be singular"',
        f"asymmetry {skew:.0e}, least eigenvalue {values[0] / values[-1]:.0e} of the largest, {zero} of {len(values)} "
        f"are zero; the opposite impulses change a velocity by {moved:.0e}",
        holds=bool(skew < ROUND and values[0] > -ROUND * values[-1] and zero and moved < ROUND),
    )


def _squeezed_lanes(config: Sequence) -> list[Lane]:
    """A ball between two walls, with the restitution of the material and with e = 1."""
    r, u = config.ball.radius, config.squeezed_speed * ACROSS[None]
    touches: list[Touch] = [(0, None, side * r * ACROSS, -side * ACROSS) for side in (-1, 1)]
    both = config.material.restitution, 1.0
    return [_balls(config, np.zeros((1, 3)), u, touches, friction=0.0, restitution=e) for e in both]


def _squeezed(config: Sequence, solved: Solved) -> list[Finding]:
    e, decay = config.material.restitution, config.cut.decay
    (lane, ends), (_, never) = solved
    count = int(ends.impacts)
    expected = int(np.ceil(np.log(decay) / (2 * np.log(e)))) if e > 0 else 1
    left = float(np.linalg.norm(lane.after(ends.impulse)[:3])) / config.squeezed_speed
    lost = abs(float(never.kinetic_energy_change)) / (0.5 * config.ball.mass * config.squeezed_speed**2)
    outcome = jimpact.Outcome(int(never.outcome))
    return [
        claim(
            "CR-6.4-decay",
            "6.4",
            f"a ball between two walls, e = {e:g}: an endless sequence that is cut",
            '"exponentially (in the number of collisions)"',
            f"{count} impacts to {decay:g} of the energy, speed {left:.2e}: e^n = {e**count:.3e}",
            holds=abs(count - expected) <= 1 and abs(left / e**count - 1) < 1e-6,
        ),
        claim(
            "CR-6.4-endless",
            "6.4",
            "the same with e = 1",
            '"continues indefinitely with no energy dissipation"',
            f"{outcome.name} after {int(never.impacts)} impacts, energy lost {lost:.0e}",
            holds=outcome == jimpact.Outcome.UNFINISHED and lost < ROUND,
        ),
    ]


def _crowd_lanes(config: Sequence) -> list[Lane]:
    given = config.crowd
    rng = np.random.default_rng(given.seed)
    lanes = []
    for _ in range(given.count):
        J = rng.normal(size=(3 * given.contacts, given.directions))
        numbers = rng.uniform(*given.friction), rng.uniform(0, given.restitution), rng.uniform(-1, 1)
        lanes.append(Lane(J, np.ones(given.directions), rng.normal(size=given.directions), *numbers))
    return lanes


def _crowd(config: Sequence, solved: Solved) -> Finding:
    impacts = np.array([int(contacts.impacts) for _, contacts in solved])
    outcome = np.array([int(contacts.outcome) for _, contacts in solved])
    done = np.isin(outcome, [jimpact.Outcome.OK, jimpact.Outcome.SEPARATING])
    left = np.array([max(-c.velocity[:, 2].min(), 0) / -lane.v[:, 2].min() for lane, c in solved])
    ended = done & (left < config.cut.ended)
    return claim(
        "CR-6.4-exist",
        "6.4, item 3",
        f"{config.crowd.contacts} contacts with random coupling and e below {config.crowd.restitution:g}",
        '"Existence of solutions is guaranteed whenever e < 1"',
        f"{int(ended.sum())} of {len(done)} end, {int((done & ~ended).sum())} are cut at {config.cut.decay:g} of the "
        f"energy, {int((~done).sum())} do neither within {config.cut.most} impacts (the longest takes "
        f"{impacts[done].max(initial=0)})",
        holds=bool(done.all()),
        why=f"Not shown for those that take more than {config.cut.most} impacts." * (not done.all()),
        verdict="differs",
    )


def _rack_lanes(config: Sequence) -> tuple[np.ndarray, list[Touch], list[Lane]]:
    """Balls on a floor in rows that touch, and a last one that arrives in the plane of their centres."""
    r, given = config.ball.radius, config.rack
    places = [(np.sqrt(3) * r * x, r * (2 * y - (n - 1))) for x, n in enumerate(given.rows) for y in range(n)]
    rack = np.array([(x, y, r) for x, y in places])
    n, lanes = len(rack), []
    gaps = np.linalg.norm(rack[:, None] - rack, axis=-1)
    pairs = [(i, j) for i in range(n) for j in range(i) if gaps[i, j] < 2.001 * r] + [(n, 0)]
    for angle in np.radians(given.angle_deg):
        towards = np.array([np.cos(angle), np.sin(angle), 0.0])
        centres = np.concatenate([rack, rack[:1] - 2 * r * towards])
        touches: list[Touch] = [
            (i, j, 0.5 * (centres[i] + centres[j]), (centres[i] - centres[j]) / (2 * r)) for i, j in pairs
        ]
        touches += [(i, None, centre - r * UP, UP) for i, centre in enumerate(centres)]
        lanes.append(_balls(config, centres, given.speed * np.outer(np.arange(n + 1) == n, ACROSS), touches))
    return centres, touches, lanes


def _rack(config: Sequence, solved: Solved) -> tuple[list[Finding], Grid, list[list[float]]]:
    given, cut = config.rack, config.cut
    listed = [in_sequence(lane.W, lane.v, config.material, cut.decay, cut.most) for lane, _ in solved]
    gap = max(float(np.abs(c.velocity - v).max()) for (_, c), (v, _) in zip(solved, listed, strict=True)) / given.speed
    before = 0.5 * config.ball.mass * given.speed**2
    lost = np.array([-float(c.kinetic_energy_change) for _, c in solved]) / before
    impacts = np.array([int(c.impacts) for _, c in solved])
    done = sum(int(c.outcome == jimpact.Outcome.OK) for _, c in solved)
    rows = [[x, int(k), float(y)] for x, k, y in zip(given.angle_deg, impacts, lost, strict=True)]
    findings = [
        unchecked(
            "CR-6.4-rack",
            "6.4",
            f"{solved[0][0].contacts} contacts of {sum(given.rows) + 1} balls and the floor, {len(solved)} aims",
            f"{done} end, after {impacts.min()} to {impacts.max()}; energy lost {lost.min():.2f} to {lost.max():.2f}",
            "The paper mentions promising simulations of 5 to 10 bodies with about 30 contacts, without numbers.",
        ),
        new(
            "CR-6.4-listing",
            "6.4, A.2",
            "the same sequences by the paper's listing, in NumPy",
            f"velocities differ by {gap:.0e} of the speed",
            digits=float(min(16.0, -np.log10(max(gap, 1e-16)))),
        ),
    ]
    columns = ("angle (deg)", "impacts", "energy lost / before")
    return findings, Grid("A break of nine balls on a floor", columns, rows), [energy for _, energy in listed]


def _figure(config: Sequence, decays: list[list[float]]) -> Figure:
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    ax = figure.add_subplot()
    for angle, energy in zip(config.rack.angle_deg, decays, strict=True):
        share = np.array(energy) / energy[0]
        ax.semilogy(np.flatnonzero(share > 0), share[share > 0], lw=1.4, label=f"rack of nine, {angle:g} deg")
    e, decay = config.material.restitution, config.cut.decay
    last = int(np.log(decay) / (2 * np.log(e))) if e > 0 else 1
    ax.semilogy([0, last], [1, e ** (2 * last)], "k--", lw=1.2, label="ball between two walls, $e^{2n}$")
    ax.set(
        xlabel="single impacts, n",
        ylabel="energy of approach, over that before",
        title="Energy of approach along a sequence",
    )
    ax.set_ylim(bottom=0.1 * decay)
    ax.legend(frameon=False, fontsize=9)
    return figure
