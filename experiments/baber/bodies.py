"""Sections 3.1, 3.2, the end of 4, and appendix B: any normal, two bodies, immovable ones, against `collide`."""

from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

import jimpact
from jimpact.config import FrictionRange, Name, NotNegative, Positive, PositiveRange, Seed, ShareRange, Small, Table
from jimpact.reproduce import Finding, Progress, Result, claim, solve_many, unchecked

from .rotation import Bodies, pushed, rotated, separation_velocity, share, to_normal

__all__ = ["BodiesForm", "Pairs", "Scene", "drawn", "run"]

FIG3 = "An illustration without numbers; K and the velocities after depend on both, see B-collide."
GROUPS = ("both move", "a held", "b held")


class LimitsForm(Table):
    algebra: Small  # relative
    solved: Small  # relative: two solutions at standard accuracy, in different axes


class Pairs(Table):
    """Random pairs of boxes."""

    count: Annotated[int, Field(ge=30, le=100_000)]
    seed: Seed
    mass: PositiveRange
    side: PositiveRange
    arm: NotNegative
    speed: NotNegative
    spin: NotNegative
    friction: FrictionRange
    restitution: ShareRange
    tilts: list[Annotated[float, Field(ge=0, lt=0.1)]] = Field(default_factory=list)


class BodiesForm(Table):
    """configs/baber/bodies.toml"""

    name: Name
    pairs: Pairs
    heavy: Annotated[list[Positive], Field(min_length=1)]
    limits: LimitsForm


class Scene(NamedTuple):
    """Random approaching pairs in world axes."""

    a: Bodies
    b: Bodies
    f: np.ndarray
    friction: np.ndarray
    restitution: np.ndarray


def run(form: BodiesForm, progress: Progress) -> Result:
    """The paper's set-up and axes against those of jimpact."""
    scene = drawn(form.pairs)
    R = to_normal(scene.f)
    a, b = (rotated(body, R) for body in (scene.a, scene.b))
    K, u = share(a) + share(b), separation_velocity(a, b)
    p = np.asarray(solve_many(K, u, scene.friction, scene.restitution, progress=progress).impulse)
    ends = [rotated(pushed(body, push), np.swapaxes(R, -1, -2)) for body, push in ((a, p), (b, -p))]
    ours = _collided(scene)
    findings = [
        *_axes(scene, R, K, form.limits),
        *_agreement(scene, ends, ours, form.limits),
        _heavy(scene, a, b, u, form, progress),
        unchecked("B-Fig3", "Fig 3", "axes and sense of rotation", "right-handed", FIG3),
    ]
    return Result(findings)


def drawn(form: Pairs) -> Scene:
    """Boxes in any orientation; velocities are reversed where the bodies would separate."""
    rng = np.random.default_rng(form.seed)
    n = form.count
    a, b = (_bodies(form, rng, np.arange(n) % 3 == held) for held in (1, 2))
    f = rng.normal(size=(n, 3))
    f /= np.linalg.norm(f, axis=-1, keepdims=True)
    poles = np.array([[np.sin(t), 0, sign * np.cos(t)] for sign in (1, -1) for t in form.tilts]).reshape(-1, 3)[:n]
    f[: len(poles)] = poles
    away = np.sign(np.einsum("ni,ni->n", separation_velocity(a, b), f))[:, None]
    a, b = (body._replace(v=-away * body.v, w=-away * body.w) for body in (a, b))
    return Scene(a, b, f, rng.uniform(*form.friction, n), rng.uniform(*form.restitution, n))


def _bodies(form: Pairs, rng: np.random.Generator, held: np.ndarray) -> Bodies:
    n = form.count
    mass, sides = rng.uniform(*form.mass, n), rng.uniform(*form.side, (n, 3))
    moments = mass[:, None] * (np.sum(sides**2, -1, keepdims=True) - sides**2) / 12
    turn = Rotation.random(n, random_state=rng).as_matrix()
    L = np.where(held[:, None, None], 0, turn @ (np.swapaxes(turn, -1, -2) / moments[:, :, None]))
    r, v, w = (scale * rng.normal(size=(n, 3)) for scale in (form.arm, form.speed, form.spin))
    return Bodies(np.where(held, 0, 1 / mass), L, r, v, w)


def _body(body: Bodies) -> jimpact.Body:
    """The contact point is the origin of the world."""
    held = body.m == 0
    still = np.where(np.eye(3, dtype=bool), np.inf, 0)
    inertia = np.where(held[:, None, None], still, np.linalg.inv(np.where(held[:, None, None], np.eye(3), body.L)))
    mass = np.where(held, np.inf, 1 / np.where(held, 1, body.m))
    return jimpact.Body(*(jnp.asarray(x) for x in (mass, inertia, -body.r, body.v, body.w)))


@jax.jit
def _collide(a: jimpact.Body, b: jimpact.Body, f: jax.Array, mu: jax.Array, e: jax.Array) -> tuple:
    """Both bodies after; what else `collide` tells is not compiled."""
    return jimpact.collide(a, b, jnp.zeros(3), f, mu, e)[:2]


def _collided(scene: Scene) -> tuple[jimpact.Body, jimpact.Body]:
    f, mu, e = (jnp.asarray(a) for a in (scene.f, scene.friction, scene.restitution))
    return _collide(_body(scene.a), _body(scene.b), f, mu, e)


def _axes(scene: Scene, R: np.ndarray, K: np.ndarray, limits: LimitsForm) -> list[Finding]:
    frame = np.asarray(jimpact.contact_frame(jnp.asarray(scene.f)))
    normal = np.abs(np.einsum("nij,nj->ni", R, scene.f) - np.array([0, 0, 1])).max()
    about = frame @ np.swapaxes(R, -1, -2)  # from their axes to ours: a turn about the normal
    aside = max(np.abs(about[:, 2, :2]).max(), np.abs(about[:, :2, 2]).max())
    W = np.asarray(jimpact.inverse_inertia(_body(scene.a), _body(scene.b), jnp.zeros(3), jnp.asarray(scene.f)))
    gap = np.abs(about @ K @ np.swapaxes(about, -1, -2) - W).max((-1, -2)) / np.abs(W).max((-1, -2))
    near = np.sort(np.hypot(scene.f[:, 0], scene.f[:, 1]))
    return [
        claim(
            "B-rotation",
            "3.1, A",
            "rotation of the normal force to z",
            "R f = (0, 0, 1), with care near the z axis",
            f"to {normal:.0e}; differs from contact_frame by a turn about the normal, to {aside:.0e}",
            bool(max(normal, aside) < limits.algebra),
            f"Also at {near[near > 0][0]:.0e} from the z axis: only exactly on it the axis of rotation is open. "
            "contact_frame has no such place.",
        ),
        claim(
            "B-K-bodies",
            "3.2",
            "K of two bodies against inverse_inertia",
            "K = 1/m_A + 1/m_B - r_A I_A^-1 r_A - r_B I_B^-1 r_B",
            f"equal to {gap.max():.0e} in {len(gap)}",
            bool(gap.max() < limits.algebra),
        ),
        _definite(scene, W),
    ]


def _definite(scene: Scene, K: np.ndarray) -> Finding:
    """Appendix B: K is 1/m_A + 1/m_B and what adds to it, and so is its inverse."""
    least, inverse = (np.linalg.eigvalsh(a)[:, 0] for a in (K, np.linalg.inv(K)))
    masses = scene.a.m + scene.b.m
    return claim(
        "B-definite",
        "3.2, B",
        "eigenvalues of K (by inverse_inertia) and of its inverse",
        "K is positive definite and has an inverse which is also positive definite",
        f"at least {least.min():.3g} 1/kg and {inverse.min():.3g} kg in {len(K)}",
        bool(least.min() > 0 and inverse.min() > 0),
        f"The least eigenvalue of K is {(least / masses).min():.4f} to {(least / masses).max():.4f} of 1/m_A + 1/m_B.",
    )


def _gap(ours: jimpact.Body, end: Bodies) -> np.ndarray:
    """Largest difference of velocities and angular velocities, beside the largest of them."""
    size = np.maximum(np.abs(end.v).max(-1), np.abs(end.w).max(-1))
    gap = np.maximum(
        np.abs(np.asarray(ours.velocity) - end.v).max(-1), np.abs(np.asarray(ours.angular_velocity) - end.w).max(-1)
    )
    return gap / size


def _agreement(
    scene: Scene, ends: list[Bodies], ours: tuple[jimpact.Body, jimpact.Body], limits: LimitsForm
) -> list[Finding]:
    gap = np.maximum(_gap(ours[0], ends[0]), _gap(ours[1], ends[1]))
    held = np.where(scene.a.m == 0, 1, np.where(scene.b.m == 0, 2, 0))
    parts = ", ".join(f"{name} {gap[held == i].max():.0e}" for i, name in enumerate(GROUPS))
    still = [np.abs(np.asarray(body.velocity) - before.v)[held == i].max() for i, body, before in _held(scene, ours)]
    return [
        claim(
            "B-collide",
            "3.1, 3.2, 4",
            "velocities after, by the paper's axes and by collide",
            "resolve the collision ... and rotate the space back",
            f"equal to {gap.max():.0e} in {len(gap)}",
            bool(gap.max() < limits.solved),
            f"{parts}; the impulse itself is solved in both axes, at standard accuracy.",
        ),
        claim(
            "B-immovable",
            "4",
            "an immovable body: 1/m and I^-1 replaced by 0",
            "its motion remains unaffected",
            f"its velocity changes by {max(still):g} m/s",
            max(still) == 0,
        ),
    ]


def _held(scene: Scene, ours: tuple[jimpact.Body, jimpact.Body]) -> list[tuple[int, jimpact.Body, Bodies]]:
    """The bodies that may be held, by number of their group: after, and before."""
    return [(1, ours[0], scene.a), (2, ours[1], scene.b)]


def _heavy(scene: Scene, a: Bodies, b: Bodies, u: np.ndarray, form: BodiesForm, progress: Progress) -> Finding:
    """A body b with large but finite mass and inertia, in place of an immovable one."""
    held, moving = np.flatnonzero(scene.b.m == 0), np.flatnonzero(scene.b.m > 0)
    K, other = share(a)[held], share(b)[moving[: len(held)]]
    given = (u[held], scene.friction[held], scene.restitution[held])
    fixed = solve_many(K, *given, progress=progress).impulse
    heavy = solve_many(K + other / np.array(form.heavy)[:, None, None, None], *given, progress=progress).impulse
    gaps = (np.linalg.norm(heavy - fixed, axis=-1) / np.linalg.norm(fixed, axis=-1)).max(-1)
    listed = ", ".join(f"{gap:.0e} at {factor:.0e}" for gap, factor in zip(gaps, form.heavy, strict=True))
    return claim(
        "B-heavy",
        "4",
        "very large but finite mass in place of an immovable body: impulse",
        "very large but finite values",
        f"differs by {gaps[-1]:.0e} with {form.heavy[-1]:.0e} x the mass",
        bool(gaps[-1] < form.limits.solved),
        f"Largest difference: {listed} x the mass.",
    )
