"""Derivatives of hard impacts against differences: count those that are wrong with outcome OK.

Differences of fourth order of the impulse at `high` accuracy, with two steps. Where these two disagree, a kink or a
jump is near, or round-off is: the impact is not compared. Errors are relative to the largest derivative of an impact,
each parameter in units of its size.
"""

import argparse
import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import jimpact

LAWS = ("stronge", "poisson", "newton")
WRONG = 1e-5
STEPS = (3e-4, 1e-4)  # of the size of a parameter: a high accuracy of 1e-12 leaves 1e-8 of a difference
AGREE = 1e-6  # of the two differences


def inertia(rng: np.random.Generator, n: int, condition: float = 1e2) -> np.ndarray:
    axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    return np.einsum("nij,nj,nkj->nik", axes, condition ** rng.uniform(-1, 0, size=(n, 3)), axes)


def plain(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """W, v, friction and restitution that are nothing special."""
    v = rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2]) - 0.1
    return [inertia(rng, n), v, rng.uniform(0.05, 1, n), rng.uniform(0.05, 0.95, n)]


def friction_needed(W: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.linalg.solve(W[:, :2, :2], W[:, :2, 2:])[..., 0], axis=-1)


def stick_boundary(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    W, v, _, e = plain(rng, n)
    v[:, :2] *= 0.1
    return [W, v, friction_needed(W) * (1 + rng.choice([-1, 1], n) * 10 ** rng.uniform(-3, -1, n)), e]


def recompression(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    W, v, _, e = plain(rng, n)
    reach = np.linalg.norm(W[:, :2, 2], axis=-1) / W[:, 2, 2]
    v[:, :2] *= 3
    return [W, v, rng.uniform(1, 4, n) / reach, e]


def grazing(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    W, v, mu, e = plain(rng, n)
    v[:, 2] *= 10 ** rng.uniform(-4, -1, n)
    return [W, v, mu, e]


def invariant(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """Slip 1e-2 to 1e-1 rad from an invariant direction."""
    W, v, mu, e = plain(rng, n)
    directions = np.asarray(jimpact.invariant_directions(W, mu)[0])
    s = directions[np.arange(n), rng.integers(0, 2, n)]
    angle = np.arctan2(s[:, 1], s[:, 0]) + rng.choice([-1, 1], n) * 10 ** rng.uniform(-2, -1, n)
    r = np.linalg.norm(v[:, :2], axis=-1)
    v[:, 0], v[:, 1] = r * np.cos(angle), r * np.sin(angle)
    return [W, v, mu, e]


def planar(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    W, v, mu, e = plain(rng, n)
    small = 10 ** rng.uniform(-2, -1, n)
    W[:, 1, [0, 2]] *= small[:, None]
    W[:, [0, 2], 1] *= small[:, None]
    v[:, 1] *= small
    return [W, v, mu, e]


def isotropic(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    W, v, mu, e = plain(rng, n)
    return [np.eye(3) + 10 ** rng.uniform(-4, -1, n)[:, None, None] * W, v, mu, e]


def conditioned(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    _, v, mu, e = plain(rng, n)
    return [inertia(rng, n, 1e8), v, mu, e]


def with_friction(low: float, high: float) -> Callable[[np.random.Generator, int], list[np.ndarray]]:
    def kind(rng: np.random.Generator, n: int) -> list[np.ndarray]:
        W, v, _, e = plain(rng, n)
        return [W, v, 10 ** rng.uniform(low, high, n), e]

    return kind


def with_restitution(near: float) -> Callable[[np.random.Generator, int], list[np.ndarray]]:
    def kind(rng: np.random.Generator, n: int) -> list[np.ndarray]:
        W, v, mu, _ = plain(rng, n)
        return [W, v, mu, np.abs(near - 10 ** rng.uniform(-4, -2, n))]

    return kind


def tiny_slip(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    W, v, mu, e = plain(rng, n)
    v[:, :2] *= 10 ** rng.uniform(-6, -2, n)[:, None]
    return [W, v, mu, e]


KINDS = {
    "stick boundary": stick_boundary,
    "re-compression": recompression,
    "grazing": grazing,
    "near-invariant": invariant,
    "nearly planar": planar,
    "near-isotropic": isotropic,
    "ill-conditioned": conditioned,
    "friction 1e-4 to 1e-1": with_friction(-4, -1),
    "friction 1 to 1e3": with_friction(0, 3),
    "restitution near 0": with_restitution(0.0),
    "restitution near 1": with_restitution(1.0),
    "tiny slip": tiny_slip,
}


def numbers(W: np.ndarray, v: np.ndarray, mu: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eleven parameters of each impact, and their sizes."""
    root = np.sqrt(np.diagonal(W, axis1=1, axis2=2))
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    slip = np.linalg.norm(v[:, :2], axis=-1)
    x = np.stack([mu, e, *v.T, *(W[:, i, j] for i, j in pairs)], 1)
    size = np.stack([mu, np.minimum(e, 1 - e), slip, slip, -v[:, 2], *(root[:, i] * root[:, j] for i, j in pairs)], 1)
    least = np.linalg.eigvalsh(W / root[:, :, None] / root[:, None, :])[:, 0]  # so that a step keeps W definite
    size[:, 5:] *= least[:, None]
    return x, size


def solved(x: jax.Array, law: str, accuracy: str) -> jimpact.Impact:
    mu, e, vx, vy, vz, xx, yy, zz, xy, xz, yz = jnp.moveaxis(x, -1, 0)
    W = jnp.stack([jnp.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    return jimpact.solve(W, jnp.stack([vx, vy, vz], -1), mu, e, law=law, accuracy=accuracy)


def errors(x: np.ndarray, size: np.ndarray, law: str) -> tuple[np.ndarray, np.ndarray]:
    """Largest error of a derivative of each impact, nan where it is not compared; and the outcomes."""
    value = jax.jit(lambda x: solved(x, law, "high").impulse)
    along = jax.jit(lambda x, dx: jax.jvp(lambda x: solved(x, law, "standard").impulse, (x,), (dx,))[1])
    found, references = [], []
    for j in range(x.shape[1]):
        unit = np.where(np.arange(x.shape[1]) == j, size, 0)
        found.append(along(x, unit))
        near = []
        for h in STEPS:
            at = {k: value(x + k * h * unit) for k in (-2, -1, 1, 2)}
            near.append((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h))
        references.append(near)
    J, (far, close) = np.stack(found), np.moveaxis(np.array(references), 1, 0)
    largest = np.abs(close).max((0, 2))
    error = np.abs(J - close).max((0, 2)) / largest
    error = np.where(np.isfinite(J).all((0, 2)), error, np.inf)
    apart = np.abs(far - close).max((0, 2)) / largest
    return np.where(apart <= AGREE, error, np.nan), np.asarray(solved(x, law, "standard").outcome)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--impacts", type=int, default=20_000, help="of all kinds together")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    rng, each = np.random.default_rng(options.seed), options.impacts // len(KINDS)
    batches = [numbers(*kind(rng, each)) for kind in KINDS.values()]
    x, size = (np.concatenate(part) for part in zip(*batches, strict=True))
    wrong = 0
    print("| law | kind | impacts | not OK | compared | median | largest | wrong |")
    print("|---|---|---|---|---|---|---|---|")
    for law in LAWS:
        error, outcome = errors(x, size, law)
        for name, e, o in zip(KINDS, error.reshape(len(KINDS), -1), outcome.reshape(len(KINDS), -1), strict=True):
            e = e[o == jimpact.Outcome.OK]
            good = e[~np.isnan(e)]
            wrong += (bad := int((good > WRONG).sum()))
            row = f"{np.median(good):.0e} | {good.max():.0e} | {bad}" if len(good) else "| |"
            print(f"| {law} | {name} | {each} | {each - len(e)} | {len(good)} | {row} |", flush=True)
    print(f"{wrong} derivatives are off by more than {WRONG:g} with outcome OK")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
