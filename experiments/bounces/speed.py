"""What a bounce costs: a hundred thousand spheres, ten bounces each, forward and with the gradient.

python -m experiments.bounces.speed [--spheres 100000]
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jimpact

from .crowd import ROOM

REPEATS = 3
BALL = jimpact.Solid(0.2, 0.4 * 0.2 * 0.03**2 * np.eye(3), jimpact.Sphere(0.03))


def thrown(count: int, seed: int = 0) -> jimpact.Motion:
    rng = np.random.default_rng(seed)
    return jimpact.Motion(
        jnp.asarray(rng.uniform([-0.5, -0.5, 0.5], [0.5, 0.5, 2.0], (count, 3))),
        jnp.zeros((count, 4)).at[:, 0].set(1),
        jnp.asarray(rng.normal(size=(count, 3)) * 2),
        jnp.asarray(rng.normal(size=(count, 3)) * 30),
    )


def total(motion: jimpact.Motion, friction: jax.Array, restitution: jax.Array) -> jax.Array:
    walls = ROOM._replace(friction=friction, restitution=restitution)
    return jimpact.simulate(BALL, motion, walls, impacts=10).end.position.sum()


def measured(f: Callable[..., Any], *arguments: Any) -> tuple[float, float]:
    """Seconds of the first call, and of the best of the others."""
    seconds = []
    for _ in range(REPEATS + 1):
        begin = time.perf_counter()
        jax.block_until_ready(f(*arguments))
        seconds.append(time.perf_counter() - begin)
    return seconds[0], min(seconds[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spheres", type=int, default=100_000)
    count = parser.parse_args().spheres
    jax.config.update("jax_enable_x64", True)
    arguments = (thrown(count), jnp.asarray(0.3), jnp.asarray(0.9))
    first, forward = measured(jax.jit(total), *arguments)
    print(f"forward: {forward:.2f} s ({forward / count / 10 * 1e6:.2f} us per bounce), first call {first:.0f} s")
    first, gradient = measured(jax.jit(jax.grad(total, (0, 1, 2))), *arguments)
    print(f"gradient: {gradient:.2f} s, {gradient / forward:.1f} x forward, first call {first:.0f} s")


if __name__ == "__main__":
    main()
