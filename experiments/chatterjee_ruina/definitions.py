"""Points and surfaces of impulse space, the mass matrix, and the permissible region: sections 2, 3.1, 3.2 and A.1.

Source: Chatterjee & Ruina 1998, equations (1)-(6). Symbols as in `baselines`; W is the inverse of M. Bodies that are
made for an M have the contact at the origin, and world axes parallel to those of W.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Progress, Result, claim, solve_many

from .baselines import NORMAL, plastic
from .forms import Definitions, Laws
from .populations import Impacts, answer, drawn, energy, joined, times

__all__ = ["permitted", "run"]

ROUND = 1e-9  # relative, with condition numbers up to 1e4
SCALED = ("poisson", "stronge", "whittaker", "smith", "anitescu_potra", "chatterjee_ruina")


def run(config: Laws, progress: Progress) -> Result:
    impacts = joined(drawn(config.population))
    points = plastic(np.linalg.inv(impacts.W), impacts.v, NORMAL)
    rng = np.random.default_rng(config.definitions.seed)
    findings = [
        *_points(impacts, *points),
        _normal(impacts, points[1], rng),
        _planes(impacts, points[0], rng),
        _sticking(impacts, rng),
        _diameters(impacts),
        _scaling(impacts, 2 * config.population.every, progress),
        _convex(config.definitions, impacts, *points, rng),
        *_made(config.definitions, impacts, rng, progress),
    ]
    return Result(findings)


def permitted(impacts: Impacts, P: np.ndarray, slack: float = ROUND) -> np.ndarray:
    """Whether impulses satisfy all four conditions of section 3.2, up to a share of their scale."""
    scales = energy(impacts.W, impacts.v), np.linalg.norm(impacts.v, axis=-1), *(np.linalg.norm(P, axis=-1),) * 2
    margins = np.array(jimpact.permissible(impacts.W, impacts.v, P, impacts.mu))
    return (margins >= -slack * np.array(scales) * (1 + impacts.mu)).all(0)


def _points(impacts: Impacts, one: np.ndarray, two: np.ndarray) -> list[Finding]:
    W, v = impacts.W, impacts.v
    speed = np.linalg.norm(v, axis=-1)
    after = [v + times(W, P) for P in (one, two, 2 * two, 2 * one)]
    normal, rest = np.abs(after[0][:, 2] / speed).max(), (np.abs(after[1]).max(-1) / speed).max()
    reversed_ = (np.abs(after[2] + v).max(-1) / speed).max()
    kept = np.abs(energy(W, after[3]) / energy(W, v) - 1).max()
    return [
        claim(
            "CR-(3)(4)",
            "(3), (4)",
            f"velocity after P_I and P_II, {len(v)} impacts",
            '"brings the normal velocity to zero"; "to a stop"',
            f"normal velocity after P_I at most {normal:.1e}, any velocity after P_II at most {rest:.1e} of the speed",
            holds=bool(normal < ROUND and rest < ROUND),
        ),
        claim(
            "CR-2P",
            "3.1",
            "2 P_II reverses the velocity, 2 P_I keeps the energy",
            '"direct reversal" (V_f = -V_i); "conserves energy"',
            f"off by {reversed_:.1e} of the speed, and {kept:.1e} of the energy, at most",
            holds=bool(reversed_ < ROUND and kept < ROUND),
        ),
    ]


def _normal(impacts: Impacts, two: np.ndarray, rng: np.random.Generator) -> Finding:
    """The gradient of E_c, by central differences (exact for a quadratic but for round-off), against the velocity."""
    size = np.linalg.norm(two, axis=-1)[:, None]
    P = size * rng.normal(size=two.shape)
    steps = 1e-3 * size[..., None] * np.eye(3)
    surface = lambda P: 0.5 * np.einsum("ni,nij,nj->n", P - two, impacts.W, P - two)  # noqa: E731
    slope = np.stack([surface(P + steps[:, k]) - surface(P - steps[:, k]) for k in range(3)], -1) / (2e-3 * size)
    V = impacts.v + times(impacts.W, P)
    sine = np.linalg.norm(np.cross(slope, V), axis=-1) / np.linalg.norm(slope, axis=-1) / np.linalg.norm(V, axis=-1)
    return claim(
        "CR-normal",
        "3.1",
        f"velocity after a random impulse, and the normal of its E_c surface, {len(P)} impacts",
        '"V is normal to the E_c surface on which P lies"',
        f"{np.degrees(sine.max()):.0e} degrees apart at most",
        holds=bool(sine.max() < 1e-6),
    )


def _planes(impacts: Impacts, one: np.ndarray, rng: np.random.Generator) -> Finding:
    """Two random impulses with one e: their difference leads from P_I to another impulse without normal velocity."""
    size = np.linalg.norm(one, axis=-1)[:, None]
    P, Q = (size * rng.normal(size=one.shape) for _ in range(2))
    rise = np.einsum("nj,nj->n", impacts.W[:, 2], P - Q) / impacts.W[:, 2, 2]
    Q[:, 2] += rise  # now both end with one normal velocity
    after = (impacts.v + times(impacts.W, one + P - Q))[:, 2]
    off = np.abs(after) / np.linalg.norm(impacts.W[:, 2], axis=-1) / np.linalg.norm(P - Q, axis=-1)
    return claim(
        "CR-planes",
        "3.1",
        f"difference of two impulses with the same e, against the plane of maximum compression, {len(P)} impacts",
        '"parallel to the plane of maximum compression"',
        f"{np.degrees(off.max()):.0e} degrees off at most",
        holds=bool(off.max() < ROUND),
    )


def _sticking(impacts: Impacts, rng: np.random.Generator) -> Finding:
    """The impulse that is highest on a surface of constant energy leaves no tangential velocity."""
    M = np.linalg.inv(impacts.W)
    twice = 2 * energy(impacts.W, impacts.v)
    up = M[:, :, 2] * np.sqrt(twice / M[:, 2, 2])[:, None]  # P - P_II, by Lagrange
    root = np.swapaxes(np.linalg.cholesky(impacts.W), -1, -2)
    others = np.linalg.solve(root, rng.normal(size=(*up.shape, 1)))[..., 0]
    others *= np.sqrt(twice / np.einsum("ni,nij,nj->n", others, impacts.W, others))[:, None]
    slip = np.abs(times(impacts.W, up)[:, :2]).max(-1) / np.linalg.norm(impacts.v, axis=-1)
    above = int((others[:, 2] > up[:, 2] * (1 + ROUND)).sum())
    return claim(
        "CR-sticking",
        "3.1",
        "the highest impulse on an energy surface ends slip (V_f along n)",
        '"P^T n is maximum on the corresponding E_c surface"',
        f"slip at most {slip.max():.1e} of the speed; {above} of {len(up)} random points of the surface are higher",
        holds=bool(slip.max() < ROUND and not above),
    )


def _diameters(impacts: Impacts) -> Finding:
    """Semi-axes of the surface (P - P_II) W (P - P_II) = 2 E, along the eigenvectors of M, measured on the surface."""
    values, axes = np.linalg.eigh(np.linalg.inv(impacts.W))
    semi = np.sqrt(2 * energy(impacts.W, impacts.v)[:, None] / np.einsum("nik,nij,njk->nk", axes, impacts.W, axes))
    ratio, root = semi[:, 2] / semi[:, 0], np.sqrt(values[:, 2] / values[:, 0])
    return claim(
        "CR-diameters",
        "3.1",
        "diameters of the energy ellipsoid, along the principal directions of M",
        '"in inverse proportion to the square roots of the eigenvalues of M"',
        f"in proportion to them, to {np.abs(ratio / root - 1).max():.1e}",
        holds=bool(np.abs(ratio * root - 1).max() < ROUND),
        why=f"Inverse proportion misses the ratio of longest to shortest by a factor of {np.median(ratio * root):.3g} "
        'in the median. Section 3.4 has it right: the ellipse "stretches" as an eigenvalue of M grows.',
        verdict="misprint",
    )


def _scaling(impacts: Impacts, every: int, progress: Progress) -> Finding:
    """Three times the velocity, three times the impulse (a factor of 2 would be exact in binary anyway)."""
    few = impacts.take(slice(None, None, every))
    worst = {}
    for law in SCALED:
        one, two = (answer(given, law, progress).impulse for given in (few, few._replace(v=3 * few.v)))
        worst[law] = float(np.nanmax(np.abs(two - 3 * one).max(-1) / np.linalg.norm(two, axis=-1)))
    law = max(worst, key=lambda name: worst[name])
    return claim(
        "CR-homogeneous",
        "3.2",
        f"impulse of three times the velocity, {len(worst)} laws on {len(few.mu)} impacts",
        '"a homogeneous function of degree one"',
        f"off by {worst[law]:.1e} of the impulse at most ({law})",
        holds=worst[law] < 1e-6,
    )


def _convex(
    given: Definitions, impacts: Impacts, one: np.ndarray, two: np.ndarray, rng: np.random.Generator
) -> Finding:
    """Mixtures of permissible impulses."""
    size = np.maximum(np.linalg.norm(one, axis=-1), np.linalg.norm(two, axis=-1))[:, None]
    tried = [1.5 * one + size * rng.normal(size=one.shape) * given.spread for _ in range(2)]
    inside = np.all([permitted(impacts, P) for P in tried], axis=0)
    share = rng.uniform(size=(len(one), 1))
    mixed = permitted(impacts, share * tried[0] + (1 - share) * tried[1])[inside]
    return claim(
        "CR-convex",
        "3.2",
        "random mixtures of two permissible impulses",
        '"closed, bounded and convex"',
        f"{int((~mixed).sum())} of {len(mixed)} are not permissible",
        holds=bool(mixed.all()),
    )


def _made(given: Definitions, impacts: Impacts, rng: np.random.Generator, progress: Progress) -> list[Finding]:
    """Two moving bodies for each of some M: their M^-1, its columns from accelerations, and their energy."""
    few = impacts.take(slice(None, None, max(1, len(impacts.W) // given.realised)))
    pair, real = _two_bodies(few.W, given.share)
    push, spin = rng.normal(size=(2, 2, len(few.W), 3))
    pair = [body._replace(velocity=u, angular_velocity=w) for body, u, w in zip(pair, push, spin, strict=True)]
    turn = np.asarray(jimpact.contact_frame(jnp.asarray(NORMAL)))
    W = np.asarray(jimpact.inverse_inertia(pair[0], pair[1], jnp.zeros(3), jnp.asarray(NORMAL)))
    world, scale = turn.T @ W @ turn, np.abs(W).max((-1, -2))
    met = float((np.abs(world - few.W).max((-1, -2)) / scale).max())
    reference = _acceleration(pair[0], np.zeros(3)) - _acceleration(pair[1], np.zeros(3))
    columns = [_acceleration(pair[0], x) - _acceleration(pair[1], -x) - reference for x in np.eye(3)]
    off = float((np.abs(np.stack(columns, -1) - world).max((-1, -2)) / scale).max())
    change, frame = _energies(given, few, pair, world, turn, progress)
    return [
        claim(
            "CR-realizable",
            "2",
            "two free bodies made for each of so many M",
            '"All symmetric positive definite M have physical realizations"',
            f"{int(real.sum())} of {len(real)} pairs have possible inertias; M^-1 met to {met:.1e}",
            holds=bool(real.all()) and met < ROUND,
        ),
        claim(
            "CR-(5)",
            "(5)",
            f"change of E_c and of the bodies' kinetic energy, {len(few.W)} impacts by the new law",
            '"the same as changes in the system kinetic energy"; "frame-invariant"',
            f"differ by {change:.1e} of E_c at most; E_c in a moving frame by {frame:.1e}",
            holds=change < ROUND and frame < ROUND,
        ),
        claim(
            "CR-A1",
            "A.1",
            "M^-1 from accelerations of the contact points, moving bodies",
            '"four non-collisional rigid body calculations"',
            f"columns differ by {off:.1e} at most",
            holds=off < ROUND,
        ),
    ]


def _energies(
    given: Definitions, few: Impacts, pair: list[jimpact.Body], world: np.ndarray, turn: np.ndarray, progress: Progress
) -> tuple[float, float]:
    """Relative differences: of the changes of energy in an impact, and of E_c seen from another frame."""
    v = _velocity(pair[0]) - _velocity(pair[1])
    own = {"tangential_restitution": few.e_t}
    frame = turn @ world @ turn.T
    impact = solve_many(frame, v @ turn.T, few.mu, few.e, law="chatterjee_ruina", progress=progress, **own)
    hit = (np.asarray(impact.outcome) == jimpact.Outcome.OK)[:, None]
    P = np.where(hit, impact.impulse, 0.0) @ turn
    after = [_pushed(body, side * P) for body, side in zip(pair, (1, -1), strict=True)]
    before = energy(world, v)
    change = energy(world, _velocity(after[0]) - _velocity(after[1])) - before
    whole = sum(_kinetic(x) - _kinetic(y) for x, y in zip(after, pair, strict=True))
    moved = [_velocity(body._replace(velocity=body.velocity + np.array(given.frame))) for body in pair]
    seen = np.abs(energy(world, moved[0] - moved[1]) / before - 1).max()
    return float((np.abs(change - whole) / before).max()), float(seen)


def _two_bodies(W: np.ndarray, share: float) -> tuple[list[jimpact.Body], np.ndarray]:
    """A share of the least mobility from the masses, the rest from turning; each arm is a principal axis of W."""
    values, axes = np.linalg.eigh(W)
    least = share * values[:, :1]
    rest = values - least
    bodies, real = [], []
    for part, hidden in ((rest * [1.0, 0.5, 0.0], 2), (rest * [0.0, 0.5, 1.0], 0)):
        others = [k for k in range(3) if k != hidden]
        moments = np.empty_like(values)
        moments[:, others] = 1 / part[:, others[::-1]]  # an impulse along one axis turns the body about the other
        moments[:, hidden] = moments[:, others].max(1)  # between difference and sum of the others
        real.append(2 * moments.max(1) <= moments.sum(1) * (1 + ROUND))
        inertia = np.einsum("nij,nj,nkj->nik", axes, moments, axes)
        zero = np.zeros((len(W), 3))
        fields: tuple[Any, ...] = (2 / least[:, 0], inertia, axes[:, :, hidden], zero, zero)
        bodies.append(jimpact.Body(*fields))
    return bodies, np.logical_and(*real)


def _velocity(body: jimpact.Body) -> np.ndarray:
    """Of the contact point, at the origin."""
    return np.asarray(body.velocity - np.cross(body.angular_velocity, body.position))


def _pushed(body: jimpact.Body, P: np.ndarray) -> jimpact.Body:
    turning = np.linalg.solve(body.inertia, np.cross(-body.position, P)[..., None])[..., 0]
    return body._replace(
        velocity=body.velocity + P / body.mass[:, None], angular_velocity=body.angular_velocity + turning
    )


def _kinetic(body: jimpact.Body) -> np.ndarray:
    spin = body.angular_velocity
    turning = np.einsum("...i,...ij,...j->...", spin, body.inertia, spin)
    return 0.5 * (body.mass * (body.velocity**2).sum(-1) + turning)


def _acceleration(body: jimpact.Body, force: np.ndarray) -> np.ndarray:
    """Of the contact point, with the force acting there; centripetal and gyroscopic terms included."""
    arm, spin = -body.position, body.angular_velocity
    moment = np.cross(arm, force) - np.cross(spin, times(np.asarray(body.inertia), np.asarray(spin)))
    turning = np.linalg.solve(body.inertia, moment[..., None])[..., 0]
    return force / body.mass[..., None] + np.cross(turning, arm) + np.cross(spin, np.cross(spin, arm))
