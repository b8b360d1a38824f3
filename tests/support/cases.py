"""Named populations of random impacts, and `solve` and its Jacobian compiled once for all test files.

Compilation takes far longer than running, so every batch is padded to one size. These are the programs that users
get, with all optimisation.
"""

import functools
import json
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilation import OPTIMISED

import jimpact

LAWS = ("stronge", "poisson", "newton")
SOME = ("stronge", "poisson", pytest.param("newton", marks=pytest.mark.slow))  # they differ in the stop rule only
ONE = ("stronge", *(pytest.param(law, marks=pytest.mark.slow) for law in LAWS[1:]))
LANES = 2048  # size of every compiled batch of impacts
TANGENT_LANES = 256  # size of every compiled batch of Jacobians
PARAMETERS = ("mu", "e", "vx", "vy", "vz", "Wxx", "Wyy", "Wzz", "Wxy", "Wxz", "Wyz")
DATA = Path(__file__).parents[1] / "data"

# Jia & Wang (13), upper triangle, and Baber's example of two compressions.
JIA_WANG_W = np.array([[11.5984, -0.910367, 2.44236], [-0.910367, 9.90134, 1.95747], [2.44236, 1.95747, 2.59042]])
BABER_W = np.array([[20.0, -23.0, 4.0], [-23.0, 31.0, -7.0], [4.0, -7.0, 4.0]])
BABER_V = np.array([630.0, -780.0, -0.22])


class Cases(NamedTuple):
    """A batch of impacts."""

    W: np.ndarray
    v: np.ndarray
    mu: np.ndarray
    e: np.ndarray
    static: np.ndarray

    def take(self, index: object) -> "Cases":
        return Cases(*(a[index] for a in self))

    def describe(self, lane: int) -> str:
        """One impact as text that can be pasted into Python."""
        return ", ".join(f"{name}={value[lane].tolist()!r}" for name, value in zip(self._fields, self, strict=True))


def make(W: object, v: object, mu: object, e: object, static: object = None) -> Cases:
    """Cases from anything that broadcasts; static friction as kinetic if left out."""
    static = mu if static is None else static
    W, v, mu, e, static = (np.asarray(a, float) for a in (W, v, mu, e, static))
    batch = np.broadcast_shapes(W.shape[:-2], v.shape[:-1], mu.shape, e.shape, static.shape, (1,))
    tails = ((3, 3), (3,), (), (), ())
    arrays = [np.broadcast_to(a, batch + t) for a, t in zip((W, v, mu, e, static), tails, strict=True)]
    return Cases(*(np.array(a) for a in arrays))


def join(*parts: Cases) -> Cases:
    return Cases(*(np.concatenate(a) for a in zip(*parts, strict=True)))


# --- compiled functions ---------------------------------------------------------------------------------------


@functools.cache
def compiled(law: str):
    """`solve`, compiled (once more for each dtype)."""
    f = lambda W, v, mu, e, s: jimpact.solve(W, v, mu, e, law=law, static_friction=s)  # noqa: E731
    return jax.jit(f, compiler_options=OPTIMISED)


@functools.cache
def compiled_impulse(law: str, accuracy: str):
    """The impulse of `solve` at some accuracy, compiled."""
    f = lambda W, v, mu, e, s: jimpact.solve(W, v, mu, e, law=law, static_friction=s, accuracy=accuracy)  # noqa: E731
    return jax.jit(lambda *a: f(*a).impulse, compiler_options=OPTIMISED)


def padded(a: np.ndarray, lanes: int) -> np.ndarray:
    return np.concatenate([a, np.broadcast_to(a[-1:], (lanes - len(a), *a.shape[1:]))])


def solve(cases: Cases, law: str, dtype: type = np.float64) -> jimpact.Impact:
    """`jimpact.solve` on any number of impacts up to LANES; numpy arrays out."""
    n = len(cases.mu)
    assert 0 < n <= LANES
    impact = compiled(law)(*(jnp.asarray(padded(a, LANES), dtype) for a in cases))
    return jax.tree.map(lambda a: np.asarray(a)[:n], impact)


def impulse(cases: Cases, law: str, accuracy: str) -> np.ndarray:
    """The impulse alone, at some accuracy."""
    given = (jnp.asarray(padded(a, LANES)) for a in cases)
    return np.asarray(compiled_impulse(law, accuracy)(*given))[: len(cases.mu)]


def flat_impact(law: str):
    """`solve` as a function of the eleven PARAMETERS; static friction follows friction where `same`."""

    def impact(x, static, same):
        mu, e, vx, vy, vz, xx, yy, zz, xy, xz, yz = jnp.moveaxis(x, -1, 0)
        W = jnp.stack([jnp.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
        static = jnp.where(same, mu, static)
        return jimpact.solve(W, jnp.stack([vx, vy, vz], -1), mu, e, law=law, static_friction=static)

    return impact


def options(law: str) -> dict[str, int | bool] | None:
    """Derivatives of one law are compiled as users have them; those of the others differ in the stop rule only."""
    return OPTIMISED if law == LAWS[0] else None


@functools.cache
def _forward(law: str):
    """Derivative of the impulse along `dx`, compiled (once more for each dtype)."""
    f = flat_impact(law)
    along = lambda x, static, same, dx: jax.jvp(lambda x: f(x, static, same).impulse, (x,), (dx,))[1]  # noqa: E731
    return jax.jit(along, compiler_options=options(law))


@functools.cache
def _reverse(law: str):
    """Derivative of `weights` times the impulse by the PARAMETERS, compiled (once more for each dtype)."""
    f = flat_impact(law)
    back = lambda x, static, same, weights: jax.vjp(lambda x: f(x, static, same).impulse, x)[1](weights)[0]  # noqa: E731
    return jax.jit(back, compiler_options=options(law))


def flat(cases: Cases) -> np.ndarray:
    W, v = cases.W, cases.v
    entries = [W[:, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return np.stack([cases.mu, cases.e, v[:, 0], v[:, 1], v[:, 2], *entries], 1)


def unflat(x: np.ndarray, static: np.ndarray | None = None) -> Cases:
    """Inverse of `flat`."""
    mu, e, vx, vy, vz, xx, yy, zz, xy, xz, yz = np.moveaxis(x, -1, 0)
    W = np.stack([np.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    return make(W, np.stack([vx, vy, vz], -1), mu, e, static)


def _differentiated(f, cases: Cases, along: np.ndarray, dtype: type) -> np.ndarray:
    """f on up to TANGENT_LANES impacts, with one row of `along` for each."""
    n = len(cases.mu)
    assert 0 < n <= TANGENT_LANES
    x, static, along = (
        jnp.asarray(padded(a, TANGENT_LANES), dtype)
        for a in (flat(cases), cases.static, np.broadcast_to(along, (n, along.shape[-1])))
    )
    same = jnp.asarray(padded(cases.static == cases.mu, TANGENT_LANES))
    return np.asarray(f(x, static, same, along))[:n]


def pullback(cases: Cases, law: str, weights: np.ndarray, dtype: type = np.float64) -> np.ndarray:
    """d (weights . impulse) / d PARAMETERS in reverse mode, shape (n, 11)."""
    return _differentiated(_reverse(law), cases, weights, dtype)


def jacobian(cases: Cases, law: str, mode: str = "forward") -> np.ndarray:
    """d impulse / d PARAMETERS, shape (n, 3, 11)."""
    if mode == "reverse":
        return np.stack([pullback(cases, law, row) for row in np.eye(3)], 1)
    columns = [_differentiated(_forward(law), cases, column, np.float64) for column in np.eye(len(PARAMETERS))]
    return np.stack(columns, -1)


def relative_error(impulse: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Largest component of the difference, over the norm of the reference."""
    return np.abs(np.asarray(impulse, float) - reference).max(-1) / np.linalg.norm(reference, axis=-1)


def check(bad: np.ndarray, law: str, cases: Cases, what: str, values: np.ndarray | None = None) -> None:
    """Assert that no lane is bad; the message names law and case."""
    bad = np.asarray(bad)
    if bad.any():
        lane = int(np.argmax(bad))
        seen = "" if values is None else f" ({np.asarray(values)[lane]!r})"
        raise AssertionError(f"{law}: {what}{seen}, in {bad.sum()} of {bad.size} lanes; first: {cases.describe(lane)}")


# --- populations ----------------------------------------------------------------------------------------------


def _velocities(rng: np.random.Generator, n: int) -> np.ndarray:
    v = rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2]) - 0.01
    return v


def _skew(r: np.ndarray) -> np.ndarray:
    x, y, z = np.moveaxis(r, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack(row, -1) for row in ((o, -z, y), (z, o, -x), (-y, x, o))], -2)


def two_body(n: int, seed: int = 1) -> Cases:
    """Two random bodies with full inertia, contact point anywhere near."""
    rng = np.random.default_rng(seed)
    W = np.zeros((n, 3, 3))
    for _ in range(2):
        mass = rng.uniform(0.5, 4, n)
        q, _ = np.linalg.qr(rng.normal(size=(n, 3, 3)))
        half = rng.uniform(0.2, 1, (n, 3)) ** 2
        moments = mass[:, None] / 3 * (half.sum(1, keepdims=True) - half)
        inverse = np.einsum("nij,nj,nkj->nik", q, 1 / moments, q)
        arm = _skew(rng.normal(size=(n, 3)) * 0.5)
        W += np.eye(3) / mass[:, None, None] + arm @ inverse @ np.swapaxes(arm, -1, -2)
    W = 0.5 * (W + np.swapaxes(W, -1, -2))
    return make(W, _velocities(rng, n), rng.uniform(0.05, 1, n), rng.uniform(0, 1, n))


def spd(n: int, seed: int = 2) -> Cases:
    """Random symmetric positive definite inverse inertia, with no bodies behind it."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, 3, 3))
    W = root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(3)
    return make(W, _velocities(rng, n), rng.uniform(0.05, 1.5, n), rng.uniform(0, 1, n))


def wild(n: int, seed: int = 3) -> Cases:
    """friction x |d| > w: friction can drive the bodies together, and compression can come back."""
    cases = spd(n, seed)
    rng = np.random.default_rng(seed + 100)
    d, w = np.linalg.norm(cases.W[:, :2, 2], axis=1), cases.W[:, 2, 2]
    mu = rng.uniform(1.05, 3, n) * w / d
    return cases._replace(mu=mu, static=mu.copy())


def central(n: int, seed: int = 4) -> Cases:
    """No coupling of tangential and normal directions."""
    cases = spd(n, seed)
    W = cases.W.copy()
    W[:, :2, 2] = W[:, 2, :2] = 0
    return cases._replace(W=W)


POPULATIONS = {"two_body": two_body, "spd": spd, "wild": wild, "central": central}


@functools.cache
def everything(n: int = 200) -> Cases:
    """`n` impacts of each population."""
    return join(*(population(n) for population in POPULATIONS.values()))


# --- stored references ----------------------------------------------------------------------------------------


@functools.cache
def golden() -> dict[str, np.ndarray]:
    """2000 reference impacts, relative error of a few 1e-16."""
    with np.load(DATA / "golden.npz") as data:
        return dict(data)


def golden_cases(index: object) -> Cases:
    data = golden()
    return Cases(*(data[k][index] for k in ("W", "v", "mu", "e", "mu_s")))


@functools.cache
def papers() -> dict[str, dict]:
    """What papers print, and what a reference solver gets, by name."""
    return {c["id"]: c for c in json.loads((DATA / "paper_cases.json").read_text())["cases"]}


def paper_case(name: str) -> Cases:
    given = papers()[name]["inputs"]
    return make(given["W"], given["v"], given["mu"], given["e"])
