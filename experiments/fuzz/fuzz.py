"""Random valid impacts in both precisions, values and gradients: count broken promises."""

import argparse
import sys

import jax
import jax.numpy as jnp
import numpy as np
from rich.progress import Progress

import jimpact

SLACK = {"float64": 1e-7, "float32": 1e-3}  # relative: errors that the standard accuracy admits, with a margin
MAY_GAIN = {name for name, law in jimpact.LAWS.items() if law.may_gain_energy}


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Valid impacts far and wide; one in fifty each at a corner of the domain."""
    axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    W = np.einsum("nij,nj,nkj->nik", axes, 10 ** rng.uniform(-3, 0, size=(n, 3)), axes)
    v = rng.normal(size=(n, 3)) * 10 ** rng.uniform(-2, 2, size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2])
    mu, e = 10 ** rng.uniform(-3, 1, n), rng.uniform(0, 1, n)
    corner = n // 50
    mu[:corner], e[corner : 2 * corner], e[2 * corner : 3 * corner] = 0, 0, 1
    v[3 * corner : 4 * corner, :2] = 0
    return W, v, mu, e


def checker(law: str, dtype: str):
    """A jitted function: inputs -> counts of broken promises, by name."""
    slack = SLACK[dtype]

    def value(W, v, mu, e):
        impact = jimpact.solve(W, v, mu, e, law=law)
        return impact.impulse.sum(), impact

    def counts(W, v, mu, e):
        gradient, impact = jax.grad(value, (0, 1, 2, 3), has_aux=True)(W, v, mu, e)
        margins = jimpact.permissible(W, v, impact.impulse, mu)
        size = jnp.abs(impact.impulse).sum(-1)
        energy = size * jnp.abs(v).max(-1)
        info, reached = impact.info, jnp.abs(W).max((-1, -2)) * size
        off, scale = {  # of what the law's stop rule wants
            "stronge": (info.restitution_work + e * e * info.compression_work, energy),
            "poisson": (impact.impulse[..., 2] - (1 + e) * info.compression_impulse, size),
            "newton": (impact.velocity[..., 2] + e * v[..., 2], reached),
        }[law]
        broken_gradient = sum(~jnp.isfinite(g.reshape(len(mu), -1)).all(-1) for g in gradient) > 0
        return {
            "nan value": ~jnp.isfinite(impact.impulse).all(-1),
            "nan gradient": broken_gradient,
            "energy gain": (margins.dissipation < -slack * energy) & (law not in MAY_GAIN),
            "outside the cone": margins.friction < -slack * size * (1 + mu),
            "approaching": margins.separation < -slack * jnp.abs(v).max(-1),
            "stop rule": jnp.abs(off) > slack * scale,
            "not OK": impact.outcome != jimpact.Outcome.OK,
        }

    return jax.jit(lambda *a: jax.tree.map(jnp.sum, counts(*a)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--impacts", type=int, default=10_000_000)
    parser.add_argument("--chunk", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    runs = [(law, dtype) for law in ("stronge", "poisson", "newton") for dtype in ("float64", "float32")]
    check = {run: checker(*run) for run in runs}
    total = {run: {} for run in runs}
    chunks = -(-arguments.impacts // (arguments.chunk * len(runs)))
    rng = np.random.default_rng(arguments.seed)
    with Progress(disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("impacts", total=chunks * len(runs))
        for _ in range(chunks):
            inputs = draw(rng, arguments.chunk)
            for run in runs:
                found = check[run](*(a.astype(run[1]) for a in inputs))
                for name, count in found.items():
                    total[run][name] = total[run].get(name, 0) + int(count)
                progress.advance(task)
    for (law, dtype), counted in total.items():
        print(f"{law:8s} {dtype}  {chunks * arguments.chunk:9d} impacts  {counted}")
    return int(any(any(counted.values()) for counted in total.values()))


if __name__ == "__main__":
    sys.exit(main())
