"""Ten thousand random boxes in a room, twenty bounces each: energy, and a dense look for what was missed.

python -m experiments.bounces.crowd [--boxes 10000] [--looked-at 200]
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.geometry.rotation import rotation_matrix

SIZE = np.array([0.1, 0.08, 0.06])
BOX = jimpact.Solid(0.37, np.diag([8e-4, 1e-3, 1.4e-3]), jimpact.box(SIZE))
ROOM = jimpact.Planes(
    np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]),
    np.array([0.0, -1.0, -1.0, -1.0, -1.0]),
    0.3,
    0.8,
)
SAMPLES, PARTS = 2000, 10


def thrown(count: int, seed: int = 1) -> jimpact.Motion:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    return jimpact.Motion(
        rng.uniform([-0.5, -0.5, 0.3], [0.5, 0.5, 1.0], (count, 3)),
        q / np.linalg.norm(q, axis=-1, keepdims=True),
        rng.normal(size=(count, 3)) * [2, 2, 1],
        rng.normal(size=(count, 3)) * 12,
    )


def ledger(run: jimpact.Run) -> tuple[float, float]:
    """Greatest error of the energy over a bounce, and over a flight, of the energy before."""
    of = lambda motion: jimpact.energy(BOX, motion)  # noqa: E731
    bounces = run.bounces
    starts = jax.tree.map(lambda a, b: jnp.concatenate([a[:, None], b[:, :-1]], 1), run.start, bounces.after)
    before, after = of(bounces.before), of(bounces.after)
    bounce = np.abs(after - before - bounces.energy_change) / np.abs(before)
    return float(np.nanmax(bounce)), float(np.nanmax(np.abs(of(starts) - before) / np.abs(before)))


def deepest(run: jimpact.Run) -> float:
    """The least distance of any corner from any wall, at many times, in units of the size."""
    least = np.inf
    for part in range(PARTS):
        times = run.time[:, None] * np.linspace(part / PARTS, (part + 1) / PARTS, SAMPLES // PARTS)
        motion = jimpact.motion_at(run, times)
        arms = jnp.einsum("ntij,kj->ntki", rotation_matrix(motion.orientation), BOX.shape.points)
        gaps = jnp.einsum("ntki,pi->ntkp", motion.position[:, :, None] + arms, ROOM.normal) - ROOM.offset
        least = min(least, float(jnp.nanmin(gaps)))
    return least / float(np.linalg.norm(SIZE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boxes", type=int, default=10_000)
    parser.add_argument("--looked-at", type=int, default=200)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    begin = time.perf_counter()
    run = jax.block_until_ready(jimpact.simulate(BOX, thrown(arguments.boxes), ROOM, impacts=20))
    seconds = time.perf_counter() - begin
    endings = {e.name: int((run.ending == e).sum()) for e in jimpact.Ending if (run.ending == e).any()}
    print(f"{arguments.boxes} boxes, {int(run.impacts.sum())} impacts in {seconds:.0f} s with compilation: {endings}")
    print("energy, greatest relative error of a bounce and of a flight: {:.1e} {:.1e}".format(*ledger(run)))
    few = jax.tree.map(lambda a: a[: arguments.looked_at], run)
    print(f"deepest at {arguments.looked_at} x {SAMPLES} times: {deepest(few):.1e} of the size")


if __name__ == "__main__":
    main()
