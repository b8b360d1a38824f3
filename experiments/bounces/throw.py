"""Two inverse problems through two bounces of a spinning ball.

Throw: the velocity with which a ball of given spin lands on a target after two bounces. Material: friction and
restitution of the ground from where twenty such balls landed, with the uncertainty that the noise leaves.

python -m experiments.bounces.throw [--out DIR]
"""

import argparse
from pathlib import Path

import jax
import numpy as np

import jimpact

BALL = jimpact.Solid(0.058, 0.058 * 2 / 3 * 0.033**2 * np.eye(3), jimpact.Sphere(0.033))  # a tennis ball, hollow
TARGET = np.array([4.0, 0.5])  # m
START = np.array([0.0, 0.0, 1.5])
SPIN = np.array([20.0, -60.0, 30.0])  # rad/s: backspin, and some to the side
TRUTH = np.array([0.15, 0.72])  # friction, restitution
NOISE = 0.005  # m, of a landing point in x and in y
THROWS = 20
STEPS = 12


def landing(velocity: jax.Array, spin: jax.Array, material: jax.Array) -> jax.Array:
    """Where the ball comes down after two bounces."""
    ground = jimpact.Planes(np.array([[0.0, 0.0, 1.0]]), np.zeros(1), material[0], material[1])
    motion = jimpact.Motion(START, np.array([1.0, 0.0, 0.0, 0.0]), velocity, spin)
    return jimpact.simulate(BALL, motion, ground, impacts=3).bounces.point[..., 2, :2]


def aimed(first: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """Velocity and distance from the target, step by step: the least change of velocity that the slope asks for."""
    value = jax.jit(landing)
    slope = jax.jit(jax.jacfwd(landing))
    path, velocity = [], first
    for _ in range(STEPS):
        miss = np.asarray(value(velocity, SPIN, TRUTH)) - TARGET
        path.append((velocity, float(np.linalg.norm(miss))))
        if path[-1][1] < 1e-12:
            break
        velocity = velocity - np.linalg.pinv(slope(velocity, SPIN, TRUTH)) @ miss
    return path


def recovered(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Friction and restitution found, their standard errors, and where the search began."""
    rng = np.random.default_rng(seed)
    velocity = rng.uniform([4.0, -0.5, 0.0], [8.0, 0.5, 2.0], (THROWS, 3))
    spin = rng.normal(size=(THROWS, 3)) * 40
    seen = np.asarray(landing(velocity, spin, TRUTH)) + NOISE * rng.normal(size=(THROWS, 2))
    residual = jax.jit(lambda material: (landing(velocity, spin, material) - seen).ravel() / NOISE)
    slope = jax.jit(jax.jacfwd(residual))
    first = np.array([0.08, 0.6])
    material = first
    for _ in range(STEPS):
        material = material - np.linalg.lstsq(slope(material), residual(material), rcond=None)[0]
    covariance = np.linalg.inv(slope(material).T @ slope(material))
    return material, np.sqrt(np.diag(covariance)), first


def animated(velocity: np.ndarray) -> str:
    ground = jimpact.Planes(np.array([[0.0, 0.0, 1.0]]), np.zeros(1), *TRUTH)
    motion = jimpact.Motion(START, np.array([1.0, 0.0, 0.0, 0.0]), velocity, SPIN)
    from jimpact.plotting.animated_page import animation

    return animation(jimpact.simulate(BALL, motion, ground, impacts=3), title="Two bounces, and on the target")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write the animation of the throw into this folder")
    out = parser.parse_args().out
    jax.config.update("jax_enable_x64", True)
    path = aimed(np.array([2.0, 0.0, 1.0]))
    for velocity, miss in path:
        print(
            f"velocity {velocity[0]:8.5f} {velocity[1]:8.5f} {velocity[2]:8.5f} m/s misses the target by {miss:.1e} m"
        )
    found, error, first = recovered()
    for name, *row in zip(("friction", "restitution"), TRUTH, first, found, error, strict=True):
        print("{}: truth {:.4f}, first guess {:.2f}, found {:.4f} +- {:.4f}".format(name, *row))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "throw.html").write_text(animated(path[-1][0]), encoding="utf-8")
        print(f"wrote {out / 'throw.html'}")


if __name__ == "__main__":
    main()
