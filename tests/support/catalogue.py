"""Every law of the catalogue with the parameters that it needs, compiled once for all test files."""

import functools
from typing import NamedTuple

import cases
import jax
import jax.numpy as jnp
import numpy as np
from compilation import OPTIMISED

import jimpact

E_T, MIXING = 0.4, 0.3
LANES = 512  # size of every compiled batch of impacts
TANGENT_LANES = 32


class Entry(NamedTuple):
    """One way to call one law."""

    law: str
    rule: str = "poisson"

    def __str__(self) -> str:
        return f"{self.law}-{self.rule}" if jimpact.LAWS[self.law].rules else self.law

    def parameters(self) -> dict[str, float]:
        """Those beside friction and restitution."""
        values = {"tangential_restitution": E_T, "mixing": MIXING}
        return {name: values[name] for name in jimpact.LAWS[self.law].parameters if name in values}


# Those that follow the slip come last: their programs are those of `cases`, which another worker may have by then.
NAMES = sorted(jimpact.LAWS, key=lambda name: jimpact.LAWS[name].rule is not None)
ENTRIES = (Entry("sun_baruh", "stronge"), *map(Entry, NAMES))
ALGEBRAIC = tuple(entry for entry in ENTRIES if jimpact.LAWS[entry.law].rule is None and entry.law != "composite")


def flat_impulse(entry: Entry):
    """Impulse as a function of the eleven parameters of `cases`, and of tangential restitution and mixing."""

    def impulse(x):
        mu, e, vx, vy, vz, xx, yy, zz, xy, xz, yz, e_t, mixing = x
        W = jnp.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        values = {"tangential_restitution": e_t, "mixing": mixing}
        own = {name: values[name] for name in entry.parameters()}
        return jimpact.solve(W, jnp.array([vx, vy, vz]), mu, e, law=entry.law, rule=entry.rule, **own).impulse

    return impulse


@functools.cache
def _compiled(entry: Entry, dtype: type):
    """`solve`, compiled: as users have it in float64."""
    how = {"law": entry.law, "rule": entry.rule}
    f = lambda W, v, mu, e, s, own: jimpact.solve(W, v, mu, e, static_friction=s, **how, **own)  # noqa: E731
    return jax.jit(f, compiler_options=OPTIMISED if dtype is np.float64 else None)


@functools.cache
def derivatives(entry: Entry):
    """`flat_impulse` under `vmap`, its derivative along dx, and that of weights times it by x: one program."""
    f = jax.vmap(flat_impulse(entry))

    def all_of_it(x, dx, weights):
        value, pull = jax.vjp(f, x)
        return value, jax.jvp(f, (x,), (dx,))[1], pull(weights)[0]

    return jax.jit(all_of_it)


def derived(x: np.ndarray, entry: Entry, dx: object = 0.0, weights: object = 0.0) -> tuple[np.ndarray, ...]:
    """`derivatives` on up to TANGENT_LANES impacts; numpy arrays out."""
    n = len(x)
    assert 0 < n <= TANGENT_LANES
    given = x, np.broadcast_to(dx, x.shape), np.broadcast_to(weights, (n, 3))
    return tuple(
        np.asarray(a)[:n] for a in derivatives(entry)(*(jnp.asarray(cases.padded(a, TANGENT_LANES)) for a in given))
    )


def solve(given: cases.Cases, entry: Entry, dtype: type = np.float64, **own: object) -> jimpact.Impact:
    """`jimpact.solve` on up to LANES impacts; numpy arrays out."""
    n = len(given.mu)
    assert 0 < n <= LANES
    if jimpact.LAWS[entry.law].rule:
        return cases.solve(given, entry.law, dtype)
    padded = [jnp.asarray(cases.padded(a, LANES), dtype) for a in given]
    own = {name: np.broadcast_to(own.get(name, value), n) for name, value in entry.parameters().items()}
    own = {name: jnp.asarray(cases.padded(a, LANES), dtype) for name, a in own.items()}
    return jax.tree.map(lambda a: np.asarray(a)[:n], _compiled(entry, dtype)(*padded, own))


def flat(given: cases.Cases, e_t: float = E_T, mixing: float = MIXING) -> np.ndarray:
    extra = np.broadcast_to([e_t, mixing], (len(given.mu), 2))
    return np.concatenate([cases.flat(given), extra], 1)


def jacobian(x: np.ndarray, entry: Entry) -> np.ndarray:
    """d impulse / d the thirteen parameters, shape (n, 3, 13)."""
    return np.stack([derived(x, entry, dx=column)[1] for column in np.eye(x.shape[1])], -1)


def spheres(n: int, seed: int = 7) -> cases.Cases:
    """Inverse inertia of spheres: isotropic in the plane, no coupling."""
    given = cases.two_body(n, seed)
    tangential, normal = given.W[:, 0, 0], given.W[:, 2, 2]
    W = np.einsum("n,ij->nij", tangential, np.diag([1.0, 1, 0])) + np.einsum("n,ij->nij", normal, np.diag([0, 0, 1.0]))
    return given._replace(W=W)


def population(entry: Entry, n: int = 250, seed: int = 11) -> cases.Cases:
    """Random impacts in the domain of a law."""
    if entry.law == "bilinear":
        return spheres(n, seed)
    half = n // 2
    return cases.join(cases.two_body(half, seed), cases.spd(n - half, seed + 1))


def inside(impact: jimpact.Impact) -> np.ndarray:
    """Lanes in which the law has an answer."""
    return np.asarray(impact.outcome) != jimpact.Outcome.OUTSIDE


def contact_energy(given: cases.Cases, v: np.ndarray | None = None) -> np.ndarray:
    v = given.v if v is None else v
    return 0.5 * np.einsum("ni,ni->n", v, np.linalg.solve(given.W, v[..., None])[..., 0])


@functools.cache
def golden() -> dict[str, np.ndarray]:
    """300 reference impacts of every algebraic law, 100 of the bilinear one, 300 planar ones."""
    with np.load(cases.DATA / "laws.npz") as data:
        return dict(data)


def golden_cases() -> cases.Cases:
    data = golden()
    return cases.Cases(*(data[k] for k in ("W", "v", "mu", "e", "mu_s")))
