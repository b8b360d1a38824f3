"""Sections 2, 3.1, 3.2, the end of 4, and appendix B: any normal, two bodies, immovable ones, against `collide`.

| symbol   | meaning                                                            | shape  |
|----------|--------------------------------------------------------------------|--------|
| f        | unit vector along which the normal force acts on body a            | (n, 3) |
| R        | rotation that takes f to (0, 0, 1)                                 | (n, 3, 3) |
| m, L     | inverse mass; inverse inertia tensor; 0 if the body is immovable   | (n,), (n, 3, 3) |
| r, v, w  | from centre of mass to contact; velocity; angular velocity         | (n, 3) |
"""

from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

import jimpact
from jimpact.reproduce import UP, Computed, LabelledProgress, Result, claimed, only, solve_many
from jimpact.schemas.config import NotNegative, PositiveRange, Table

from .crowd import Random, relative
from .texts import spread

ALGEBRA = 1e-13  # relative: linear algebra
SOLVED = 1e-6  # relative: two solutions at standard accuracy, in different axes
HEAVY = (1e3, 1e6, 1e9, 1e12)  # times its mass and inertia, in place of an immovable body


class Pairs(Random):
    """Random pairs of homogeneous boxes: a third each with two moving bodies, body a held, body b held."""

    count: Annotated[int, Field(ge=30, le=100_000)]
    mass: PositiveRange  # kg
    side: PositiveRange  # m
    arm: NotNegative  # m; this and the next two are standard deviations of each component
    speed: NotNegative  # m/s
    spin: NotNegative  # rad/s
    tilts: list[Annotated[float, Field(ge=0, lt=0.1)]] = Field(default_factory=list)  # rad: normals so near to +-z


class Form(Table):
    """configs/baber/bodies.toml"""

    pairs: Pairs


class Bodies(NamedTuple):
    """A batch of bodies."""

    m: np.ndarray
    L: np.ndarray
    r: np.ndarray
    v: np.ndarray
    w: np.ndarray


class Scene(NamedTuple):
    """Random approaching pairs in world axes; the contact point is the origin."""

    a: Bodies
    b: Bodies
    f: np.ndarray
    friction: np.ndarray
    restitution: np.ndarray


def run(form: Form, progress: LabelledProgress) -> Result:
    """The paper's set-up and axes against those of jimpact."""
    scene = drawn(form.pairs)
    (a, b), R, impact = resolved(scene, progress)
    p, back = impact.impulse, np.swapaxes(R, -1, -2)
    after = [rotated(pushed(a, p), back), rotated(pushed(b, -p), back)]
    computed = {**_axes(scene, R, share(a) + share(b)), **_agreement(scene, after), "B-Fig3": only()}

    # A body b with large but finite mass and inertia, in place of an immovable one.
    held, moving = np.flatnonzero(scene.b.m == 0), np.flatnonzero(scene.b.m > 0)
    given = (separation_velocity(a, b)[held], scene.friction[held], scene.restitution[held])
    fixed = solve_many(share(a)[held], *given, progress=progress).impulse
    other = share(b)[moving[: len(held)]] / np.array(HEAVY)[:, None, None, None]
    gaps = relative(solve_many(share(a)[held] + other, *given, progress=progress).impulse, fixed).max(-1)
    each = ", ".join(f"{gap:.0e} at {factor:.0e}" for gap, factor in zip(gaps, HEAVY, strict=True))
    computed["B-heavy"] = claimed(gaps[-1] < SOLVED, gap=gaps[-1], factor=HEAVY[-1], listed=each)
    return Result(computed)


def resolved(scene: Scene, progress: LabelledProgress) -> tuple[tuple[Bodies, Bodies], np.ndarray, jimpact.Impact]:
    """Steps 1 to 6: bodies in axes of the contact, the rotation to these, and the impact."""
    R = to_normal(scene.f)
    a, b = rotated(scene.a, R), rotated(scene.b, R)
    given = (share(a) + share(b), separation_velocity(a, b), scene.friction, scene.restitution)
    return (a, b), R, solve_many(*given, progress=progress)


def drawn(form: Pairs) -> Scene:
    """Boxes in any orientation; velocities are reversed where the bodies would separate."""
    rng, n, bodies = np.random.default_rng(form.seed), form.count, []
    for held in (np.arange(n) % 3 == i for i in (1, 2)):
        mass, sides = rng.uniform(*form.mass, n), rng.uniform(*form.side, (n, 3))
        moments = mass[:, None] * (np.sum(sides**2, -1, keepdims=True) - sides**2) / 12
        turn = Rotation.random(n, random_state=rng).as_matrix()
        L = np.where(held[:, None, None], 0, turn @ (np.swapaxes(turn, -1, -2) / moments[:, :, None]))
        arms = (scale * rng.normal(size=(n, 3)) for scale in (form.arm, form.speed, form.spin))
        bodies.append(Bodies(np.where(held, 0, 1 / mass), L, *arms))
    a, b = bodies
    f = rng.normal(size=(n, 3))
    f /= np.linalg.norm(f, axis=-1, keepdims=True)
    poles = np.array([[np.sin(t), 0, sign * np.cos(t)] for sign in (1, -1) for t in form.tilts]).reshape(-1, 3)[:n]
    f[: len(poles)] = poles
    away = np.sign(np.einsum("ni,ni->n", separation_velocity(a, b), f))[:, None]
    a, b = (body._replace(v=-away * body.v, w=-away * body.w) for body in (a, b))
    return Scene(a, b, f, rng.uniform(*form.friction, n), rng.uniform(*form.restitution, n))


def _body(body: Bodies) -> jimpact.Body:
    held = body.m == 0
    mass = np.where(held, np.inf, 1 / np.where(held, 1, body.m))
    inertia = np.linalg.inv(body.L + held[:, None, None] * np.eye(3))
    inertia[held] = np.diag(np.full(3, np.inf))
    return jimpact.Body(*(jnp.asarray(x) for x in (mass, inertia, -body.r, body.v, body.w)))


@jax.jit
def _collide(a: jimpact.Body, b: jimpact.Body, f: jax.Array, mu: jax.Array, e: jax.Array) -> tuple:
    """Both bodies after; what else `collide` tells is not compiled."""
    return jimpact.collide(a, b, jnp.zeros(3), f, mu, e)[:2]


def _axes(scene: Scene, R: np.ndarray, K: np.ndarray) -> dict[str, Computed]:
    f, n = scene.f, len(scene.f)
    normal = np.abs(np.einsum("nij,nj->ni", R, f) - UP).max()
    about = np.asarray(jimpact.contact_frame(jnp.asarray(f))) @ np.swapaxes(R, -1, -2)  # from their axes to ours:
    aside = max(np.abs(about[:, 2, :2]).max(), np.abs(about[:, :2, 2]).max())  # a turn about the normal
    W = np.asarray(jimpact.inverse_inertia(_body(scene.a), _body(scene.b), jnp.zeros(3), jnp.asarray(f)))
    gap = (np.abs(about @ K @ np.swapaxes(about, -1, -2) - W).max((-1, -2)) / np.abs(W).max((-1, -2))).max()
    near = np.hypot(f[:, 0], f[:, 1])
    least, inverse = (np.linalg.eigvalsh(a)[:, 0] for a in (W, np.linalg.inv(W)))
    words = {"least": least.min(), "inverse": inverse.min(), "over": spread(least / (scene.a.m + scene.b.m)), "n": n}
    holds = max(normal, aside) < ALGEBRA
    return {
        "B-rotation": claimed(holds, normal=normal, aside=aside, near=near[near > 0].min()),
        "B-K-bodies": claimed(gap < ALGEBRA, gap=gap, n=n),
        "B-definite": claimed(min(least.min(), inverse.min()) > 0, **words),
    }


def _agreement(scene: Scene, ends: list[Bodies]) -> dict[str, Computed]:
    """Velocities after by `collide`; which body is held goes round."""
    arrays = (jnp.asarray(a) for a in (scene.f, scene.friction, scene.restitution))
    ours = _collide(_body(scene.a), _body(scene.b), *arrays)
    mine = np.stack([np.hstack([body.velocity, body.angular_velocity]) for body in ours])
    theirs = np.stack([np.hstack([end.v, end.w]) for end in ends])
    gap = (np.abs(mine - theirs).max(-1) / np.abs(theirs).max(-1)).max(0)
    both, a, b = (gap[i::3].max() for i in range(3))
    held = zip(ours, (scene.a, scene.b), (1, 2), strict=True)
    change = max(np.abs(body.velocity - before.v)[i::3].max() for body, before, i in held)
    return {
        "B-collide": claimed(gap.max() < SOLVED, gap=gap.max(), n=len(gap), both=both, a=a, b=b),
        "B-immovable": claimed(change == 0, change=change),
    }


def cross_matrix(a: np.ndarray) -> np.ndarray:
    """The matrix of a x."""
    return np.cross(np.eye(3), a[..., None, :])


def to_normal(f: np.ndarray) -> np.ndarray:
    """Section 3.1 and appendix A. On the z axis the paper leaves the axis of rotation open: x serves."""
    cross, cosine = np.cross(f, UP), f @ UP
    sine = np.linalg.norm(cross, axis=-1)
    lost = sine == 0
    n = np.where(lost[:, None], np.array([1.0, 0.0, 0.0]), cross / np.where(lost, 1, sine)[:, None])
    sine, cosine = sine[:, None, None], cosine[:, None, None]
    return (1 - cosine) * n[:, :, None] * n[:, None, :] + cosine * np.eye(3) + sine * cross_matrix(n)


def rotated(body: Bodies, R: np.ndarray) -> Bodies:
    """Step 1, or step 8 with the transpose of R."""
    r, v, w = (np.einsum("nij,nj->ni", R, a) for a in (body.r, body.v, body.w))
    return Bodies(body.m, R @ body.L @ np.swapaxes(R, -1, -2), r, v, w)


def separation_velocity(a: Bodies, b: Bodies) -> np.ndarray:
    """Step 2."""
    return a.v + np.cross(a.w, a.r) - b.v - np.cross(b.w, b.r)


def share(body: Bodies) -> np.ndarray:
    """Step 2: what a body adds to K, 1/m - [r] I^-1 [r]."""
    return body.m[:, None, None] * np.eye(3) - cross_matrix(body.r) @ body.L @ cross_matrix(body.r)


def pushed(body: Bodies, p: np.ndarray, arm: np.ndarray | None = None) -> Bodies:
    """Step 7: the bodies after the impulses p (n, 3) at the contact; `arm` is r unless it is given."""
    turn = np.einsum("nij,nj->ni", body.L, np.cross(body.r if arm is None else arm, p))
    return body._replace(v=body.v + body.m[:, None] * p, w=body.w + turn)
