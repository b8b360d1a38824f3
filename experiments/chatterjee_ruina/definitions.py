"""Points and surfaces of impulse space, the mass matrix, and the permissible region: sections 2, 3.1, 3.2 and A.1.

Source: Chatterjee & Ruina 1998, equations (1)-(6). Symbols as in `listing`; W is the inverse of M.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Progress, Result, claim

from .law_forms import Laws
from .listing import NORMAL, plastic
from .populations import Impacts, answer, drawn, energy, joined

__all__ = ["permitted", "run"]

ROUND = 1e-9  # relative, with condition numbers up to 1e4
REALISED = 2000  # bodies made for so many matrices
SPREAD = 0.15  # of the larger of P_I and P_II, about 1.5 P_I: a share of such impulses is permissible
SHARE = 0.5  # of the least mobility, given to the masses of bodies that are made


def run(config: Laws, progress: Progress) -> Result:
    impacts = joined(drawn(config.population))
    M = np.linalg.inv(impacts.W)
    points = plastic(M, impacts.v, NORMAL)
    findings = [
        *_points(impacts, *points),
        _surface(impacts),
        _diameters(impacts),
        _scaling(impacts, 2 * config.population.every, progress),
    ]
    findings += [_convex(config, impacts, *points), _realised(impacts), *_bodies(impacts)]
    return Result(findings)


def _points(impacts: Impacts, one: np.ndarray, two: np.ndarray) -> list[Finding]:
    W, v = impacts.W, impacts.v
    speed = np.linalg.norm(v, axis=-1)
    after = [v + np.einsum("nij,nj->ni", W, P) for P in (one, two, 2 * two, 2 * one)]
    normal, rest = np.abs(after[0][:, 2] / speed).max(), (np.abs(after[1]).max(-1) / speed).max()
    reversed_ = (np.abs(after[2] + v).max(-1) / speed).max()
    kept = np.abs(energy(W, after[3]) / energy(W, v) - 1).max()
    return [
        claim(
            "CR-(3)(4)",
            "(3), (4)",
            f"velocity after P_I and P_II, {len(v)} impacts",
            "no normal velocity; no velocity",
            f"normal velocity after P_I at most {normal:.1e}, any velocity after P_II at most {rest:.1e} of the speed",
            holds=bool(normal < ROUND and rest < ROUND),
        ),
        claim(
            "CR-2P",
            "3.1",
            "2 P_II reverses the velocity, 2 P_I conserves energy",
            "V_f = -V_i; same energy",
            f"off by {reversed_:.1e} of the speed, and {kept:.1e} of the energy, at most",
            holds=bool(reversed_ < ROUND and kept < ROUND),
        ),
    ]


def _surface(impacts: Impacts) -> Finding:
    """The impulse that is highest on a surface of constant energy leaves no tangential velocity."""
    M = np.linalg.inv(impacts.W)
    up = M[:, :, 2] * np.sqrt(2 * energy(impacts.W, impacts.v) / M[:, 2, 2])[:, None]  # P - P_II, by Lagrange
    rng = np.random.default_rng(0)
    others = np.linalg.solve(np.swapaxes(np.linalg.cholesky(impacts.W), -1, -2), rng.normal(size=(*up.shape, 1)))[
        ..., 0
    ]
    others *= np.sqrt(2 * energy(impacts.W, impacts.v) / np.einsum("ni,nij,nj->n", others, impacts.W, others))[:, None]
    slip = np.abs(np.einsum("nij,nj->ni", impacts.W, up)[:, :2]).max(-1) / np.linalg.norm(impacts.v, axis=-1)
    above = int((others[:, 2] > up[:, 2] * (1 + ROUND)).sum())
    return claim(
        "CR-sticking",
        "3.1",
        "highest impulse on an energy surface",
        "it ends slip: V_f along n",
        f"slip at most {slip.max():.1e} of the speed; {above} of {len(up)} random points of the surface are higher",
        holds=bool(slip.max() < ROUND and not above),
    )


def _diameters(impacts: Impacts) -> Finding:
    """Semi-axes of the surface (P - P_II) W (P - P_II) = 2 E, along the eigenvectors of M, measured on the surface."""
    values, axes = np.linalg.eigh(np.linalg.inv(impacts.W))
    semi = np.sqrt(2 * energy(impacts.W, impacts.v)[:, None] / np.einsum("nik,nij,njk->nk", axes, impacts.W, axes))
    ratio = semi[:, 2] / semi[:, 0]
    direct = np.abs(ratio / np.sqrt(values[:, 2] / values[:, 0]) - 1).max()
    inverse = np.median(ratio / np.sqrt(values[:, 0] / values[:, 2]))
    return claim(
        "CR-diameters",
        "3.1",
        "diameters of the energy ellipsoid, along the principal directions of M",
        "in inverse proportion to the square roots of the eigenvalues of M",
        f"in proportion to them, to {direct:.1e}",
        holds=False,
        why=f"Inverse proportion misses the ratio of longest to shortest by a factor of {inverse:.3g} (median). "
        "Sections 3.3 and 3.4 have it right: the ellipse stretches with the eigenvalue of M.",
        verdict="misprint",
    )


def _scaling(impacts: Impacts, every: int, progress: Progress) -> Finding:
    """Three times the velocity, three times the impulse (a factor of 2 would be exact in binary anyway)."""
    few = impacts.take(slice(None, None, every))
    worst = {}
    for law in ("poisson", "stronge", "whittaker", "smith", "anitescu_potra", "chatterjee_ruina"):
        one, two = (answer(given, law, progress).impulse for given in (few, few._replace(v=3 * few.v)))
        worst[law] = float(np.nanmax(np.abs(two - 3 * one).max(-1) / np.linalg.norm(two, axis=-1)))
    law = max(worst, key=lambda name: worst[name])
    return claim(
        "CR-homogeneous",
        "3.2",
        f"impulse of three times the velocity, {len(worst)} laws on {len(few.mu)} impacts",
        "in proportion",
        f"off by {worst[law]:.1e} of the impulse at most ({law})",
        holds=worst[law] < 1e-6,
    )


def _convex(config: Laws, impacts: Impacts, one: np.ndarray, two: np.ndarray) -> Finding:
    """Mixtures of permissible impulses."""
    rng = np.random.default_rng(config.population.seed)
    size = np.maximum(np.linalg.norm(one, axis=-1), np.linalg.norm(two, axis=-1))[:, None]
    tried = [1.5 * one + size * rng.normal(size=one.shape) * SPREAD for _ in range(2)]
    inside = np.all([permitted(impacts, P) for P in tried], axis=0)
    share = rng.uniform(size=(len(one), 1))
    mixed = permitted(impacts, share * tried[0] + (1 - share) * tried[1])[inside]
    return claim(
        "CR-convex",
        "3.2",
        "random mixtures of two permissible impulses",
        "the permissible region is convex",
        f"{int((~mixed).sum())} of {len(mixed)} are not permissible",
        holds=bool(mixed.all()),
    )


def permitted(impacts: Impacts, P: np.ndarray, slack: float = ROUND) -> np.ndarray:
    """Whether impulses satisfy all four conditions of section 3.2, up to a share of their scale."""
    scales = energy(impacts.W, impacts.v), np.linalg.norm(impacts.v, axis=-1), *(np.linalg.norm(P, axis=-1),) * 2
    margins = np.array(jimpact.permissible(impacts.W, impacts.v, P, impacts.mu))
    return (margins >= -slack * np.array(scales) * (1 + impacts.mu)).all(0)


def _realised(impacts: Impacts) -> Finding:
    """Two free bodies for any positive definite W."""
    W = impacts.W[:: max(1, len(impacts.W) // REALISED)]
    first, second, real = _two_bodies(W)
    made = jimpact.inverse_inertia(first, second, jnp.zeros(3), jnp.asarray(NORMAL))
    turn = np.asarray(jimpact.contact_frame(jnp.asarray(NORMAL)))
    made = np.swapaxes(turn, -1, -2) @ np.asarray(made) @ turn  # back to world axes, in which W was taken
    gap = float((np.abs(made - W).max((-1, -2)) / np.abs(W).max((-1, -2))).max())
    return claim(
        "CR-realizable",
        "2",
        "two free bodies made for each of so many M",
        "every positive definite M belongs to some pair of bodies",
        f"{len(W)} pairs with real inertias: {bool(real.all())}; M^-1 met to {gap:.1e}",
        holds=bool(real.all()) and gap < ROUND,
    )


def _two_bodies(W: np.ndarray) -> tuple[jimpact.Body, jimpact.Body, np.ndarray]:
    """Half of the least mobility from the masses, the rest from turning; each body's arm is a principal axis of W."""
    values, axes = np.linalg.eigh(W)
    least = SHARE * values[:, :1]
    rest = values - least
    halves = rest * [1.0, 0.5, 0.0], rest * [0.0, 0.5, 1.0]
    bodies, real = [], []
    for part, hidden in zip(halves, (2, 0), strict=True):
        others = [k for k in range(3) if k != hidden]
        moments = np.empty_like(values)
        moments[:, others] = 1 / part[:, others[::-1]]  # an impulse along one axis turns the body about the other
        moments[:, hidden] = moments[:, others].max(1)  # between difference and sum of the others
        real.append(2 * moments.max(1) <= moments.sum(1) * (1 + ROUND))
        inertia = np.einsum("nij,nj,nkj->nik", axes, moments, axes)
        zero = np.zeros((len(W), 3))
        mass = 2 / least[:, 0]
        bodies.append(jimpact.Body(*map(jnp.asarray, (mass, inertia, axes[:, :, hidden], zero, zero))))
    return bodies[0], bodies[1], np.logical_and(*real)


def _bodies(impacts: Impacts) -> list[Finding]:
    """Contact energy against the energy of two moving bodies; M^-1 from accelerations."""
    few = impacts.take(slice(0, REALISED))
    first, second, _ = _two_bodies(few.W)
    rng = np.random.default_rng(2)
    push, spin = (jnp.asarray(rng.normal(size=(2, len(few.mu), 3))) for _ in range(2))
    first = first._replace(velocity=push[0], angular_velocity=spin[0])
    second = second._replace(velocity=push[1], angular_velocity=spin[1])
    result = jax.jit(_collided)(first, second, few.mu, few.e, few.e_t)
    gap, frame, columns = (float(np.max(a)) for a in result)
    return [
        claim(
            "CR-(5)",
            "(5)",
            f"change of E_c and of the bodies' kinetic energy, {len(few.mu)} impacts",
            "equal",
            f"differ by {gap:.1e} of E_c at most; E_c in a moving frame by {frame:.1e}",
            holds=gap < ROUND and frame < ROUND,
        ),
        claim(
            "CR-A1",
            "A.1",
            "M^-1 by four computations of contact accelerations",
            "columns of M^-1",
            f"differ by {columns:.1e} at most",
            holds=columns < ROUND,
        ),
    ]


def _collided(a: jimpact.Body, b: jimpact.Body, mu: jax.Array, e: jax.Array, e_t: jax.Array) -> tuple[jax.Array, ...]:
    """Relative differences: of energy changes, of E_c seen from another frame, and of M^-1 from accelerations."""
    point, normal = jnp.zeros(3), jnp.asarray(NORMAL)
    own = {"law": "chatterjee_ruina", "tangential_restitution": e_t}
    W = jimpact.inverse_inertia(a, b, point, normal)

    def contact_energy(a: jimpact.Body, b: jimpact.Body) -> jax.Array:
        v = _velocity(a) - _velocity(b)
        return 0.5 * (v * jnp.linalg.solve(_world(W), v[..., None])[..., 0]).sum(-1)

    after = jimpact.collide(a, b, point, normal, mu, e, **own)
    before = contact_energy(a, b)
    change = contact_energy(after.body_a, after.body_b) - before
    whole = sum(_kinetic(x) - _kinetic(y) for x, y in ((after.body_a, a), (after.body_b, b)))
    shift = jnp.array([3.0, -2.0, 5.0])
    moved = contact_energy(*(x._replace(velocity=x.velocity + shift) for x in (a, b)))
    columns = jnp.stack([_acceleration(a, x) - _acceleration(b, -x) for x in jnp.eye(3)], -1)
    reference = (_acceleration(a, jnp.zeros(3)) - _acceleration(b, jnp.zeros(3)))[..., None]
    off = jnp.abs(columns - reference - _world(W)).max((-1, -2)) / jnp.abs(W).max((-1, -2))
    happened = after.impact.outcome == jimpact.Outcome.OK
    return jnp.where(happened, jnp.abs(change - whole) / before, 0), jnp.abs(moved / before - 1), off


def _world(W: jax.Array) -> jax.Array:
    turn = jimpact.contact_frame(jnp.asarray(NORMAL))
    return turn.T @ W @ turn


def _velocity(body: jimpact.Body) -> jax.Array:
    """Of the contact point, at the origin."""
    return body.velocity - jnp.cross(body.angular_velocity, body.position)


def _kinetic(body: jimpact.Body) -> jax.Array:
    spin = body.angular_velocity
    turning = jnp.einsum("...i,...ij,...j->...", spin, body.inertia, spin)
    return 0.5 * (body.mass * (body.velocity**2).sum(-1) + turning)


def _acceleration(body: jimpact.Body, force: jax.Array) -> jax.Array:
    """Of the contact point, with the force acting there; centripetal and gyroscopic terms included."""
    arm, spin = -body.position, body.angular_velocity
    moment = jnp.cross(arm, force) - jnp.cross(spin, jnp.einsum("...ij,...j->...i", body.inertia, spin))
    turning = jnp.linalg.solve(body.inertia, moment[..., None])[..., 0]
    return force / body.mass[..., None] + jnp.cross(turning, arm) + jnp.cross(spin, jnp.cross(spin, arm))
