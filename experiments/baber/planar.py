"""Section 5: the planar algorithm against `solve_planar`, and against `solve` on the same impact in space.

A body is one of `Bodies` in the plane: m, L and w are numbers, r and v have two components.
"""

import jax
import numpy as np

import jimpact
from jimpact.planar import in_space
from jimpact.reproduce import LabelledProgress, Result, claimed, only, solve_many
from jimpact.schemas.config import NotNegative, PositiveRange, Share

from .bodies import Bodies
from .crowd import Bordered, along_ray, log_uniform, relative
from .texts import TEXTS, grid, spread

CLOSED_FORM = 1e-12  # relative: largest difference of two formulas for the same
_solve_planar = jax.jit(jimpact.solve_planar)


class Form(Bordered):
    """configs/baber/planar.toml"""

    mass: PositiveRange  # kg
    inertia: PositiveRange  # kg m^2, log-uniform
    arm: NotNegative  # m; this and the next two are standard deviations of each component
    speed: NotNegative  # m/s
    spin: NotNegative  # rad/s
    immovable: Share  # share of impacts with one immovable body


def run(form: Form, progress: LabelledProgress) -> Result:
    """The three ways to one impulse."""
    rng = np.random.default_rng(form.seed)
    drawn = zip(*(_pair(form, rng) for _ in range(form.count)), strict=True)
    K, u, mu, e, held = (np.array(values) for values in drawn)
    ends, steps = zip(*map(end_velocity, K, u, mu, e), strict=True)
    impulse = np.linalg.solve(K, (np.array(ends) - u)[..., None])[..., 0]
    closed = jax.tree.map(np.asarray, _solve_planar(K, u, mu, e))
    space = solve_many(*in_space(K, u), mu, e, progress=progress)
    gaps, solid = relative(closed.impulse, impulse), relative(space.impulse[:, [0, 2]], impulse)
    aside, most, n = np.abs(space.impulse[:, 1]).max(), gaps.max(), len(gaps)
    # Change of kinetic energy, beside the most that an impulse at this contact could take.
    change = np.einsum("ni,ni->n", impulse, u + 0.5 * np.einsum("nij,nj->ni", K, impulse))
    gain = spread(change / (0.5 * np.einsum("ni,ni->n", u, np.linalg.solve(K, u[..., None])[..., 0])))
    words = {"least": max(-gain.most, 0), "most": -gain.least, "gain": max(gain.most, 0)}
    computed = {
        "B-2D": claimed(most < CLOSED_FORM, -np.log10(most), gap=most, n=n),
        "B-2D-space": claimed(solid.max() < CLOSED_FORM and aside == 0, gap=spread(solid), aside=aside),
        "B-2D-energy": claimed(gain.most < CLOSED_FORM, **words, held=held.sum(), n=n),
        "B-2D-once": only(most=closed.info.compressions.max(), n=n),
    }
    mine = {key: gaps[np.array(steps) == key] for key in TEXTS.all["steps"]}
    rows = [[key, what, len(mine[key]), f"{mine[key].max(initial=0):.0e}"] for key, what in TEXTS.all["steps"].items()]
    return Result(computed, [], [grid("planar", rows)])


def _pair(form: Form, rng: np.random.Generator) -> tuple:
    """One impact; if the bodies would separate their velocities are reversed."""
    held = rng.integers(2) if rng.random() < form.immovable else -1
    bodies = []
    for i in range(2):
        mass, inertia = rng.uniform(*form.mass), log_uniform(rng, form.inertia, 1)[0]
        r, v, w = form.arm * rng.normal(size=2), form.speed * rng.normal(size=2), form.spin * rng.normal()
        bodies.append(Bodies(*(0.0 if held == i else 1 / x for x in (mass, inertia)), r, v, w))
    a, b = bodies
    angle = rng.uniform(0, 2 * np.pi)
    mu = 0.0 if rng.random() < form.frictionless else rng.uniform(*form.friction)
    e = rng.uniform(*form.restitution)
    chance = rng.random()
    e = 0.0 if chance < form.plastic else 1.0 if chance > 1 - form.elastic else e
    K, u = contact(a, b, np.array([np.cos(angle), np.sin(angle)]))
    u = -np.sign(u[1]) * u
    if rng.random() < form.still:  # no spin and no slip, exactly: the normal is along y, body a comes down
        still = {"v": np.zeros(2), "w": 0.0}
        K, u = contact(a._replace(v=np.array([0.0, u[1]]), w=0.0), b._replace(**still), np.array([0.0, 1.0]))
    return K, u, mu, e, held >= 0


def contact(a: Bodies, b: Bodies, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps 1 and 2: K and u in axes in which the normal force acts along (0, 1)."""
    R = np.array([[f[1], -f[0]], [f[0], f[1]]])
    K, u = (a.m + b.m) * np.eye(2), np.zeros(2)
    for body, sign in ((a, 1), (b, -1)):
        x, y = R @ body.r
        lever = np.array([-y, x])
        K = K + body.L * np.outer(lever, lever)
        u = u + sign * (R @ body.v + body.w * lever)
    return K, u


def end_velocity(K: np.ndarray, u: np.ndarray, mu: float, e: float) -> tuple[np.ndarray, str]:
    """Steps 3 to 8: the velocity at the end, and the steps taken, such as "4b 6"; kx, ky are du/dp_y."""
    ux, uy = u
    if ux == 0:
        return _from_zero_slip(K, uy, mu, e, "3a")
    k = K @ np.array([-mu if ux > 0 else mu, 1.0])
    kx, ky = k
    if kx * ux >= 0:
        return along_ray(u, k, e), "3 8"
    origin = uy - ky / kx * ux
    if origin <= 0:
        Wc = -ux * uy / kx + ky * ux**2 / (2 * kx**2)
        return _from_zero_slip(K, origin, mu, e, "4b", Wc)
    if origin < -e * uy:
        return _from_zero_slip(K, origin, mu, e, "4c", -(uy**2) / (2 * ky), origin**2 / (2 * ky))
    return np.array([ux - (1 + e) * kx / ky * uy, -e * uy]), "4d"


def _from_zero_slip(K: np.ndarray, uy: float, mu: float, e: float, way: str, Wc=0.0, Wd=0.0) -> tuple[np.ndarray, str]:
    """Steps 5 to 7: stable sticking, or the one diverging ray; and step 8."""
    stable = abs(K[0, 1]) <= mu * K[0, 0]
    k = np.array([0.0, 1 / np.linalg.inv(K)[1, 1]]) if stable else K @ np.array([-mu, 1.0])
    if not stable and k[0] <= 0:
        k = K @ np.array([mu, 1.0])
    return along_ray(np.array([0.0, uy]), k, e, Wc, Wd), f"{way} {6 if stable else 7}"
