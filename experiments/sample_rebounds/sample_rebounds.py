"""Makes the rebounds that the package carries: a block that lands on a corner, with noise and a known truth."""

import argparse
import csv
import tomllib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jimpact

HERE = Path(__file__).resolve().parent
CONFIG = HERE.parents[1] / "configs" / "sample_rebounds" / "block.toml"
OUT = HERE.parents[1] / "jimpact" / "data" / "rebounds.csv"
CHANNELS = ("vx", "vy", "vz", "wx", "wy", "wz")


def rotations(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random unit quaternions (w, x, y, z), and their matrices from body to world."""
    q = rng.normal(size=(count, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    w, x, y, z = q.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return q, np.moveaxis(np.array(rows), -1, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    config = tomllib.loads(arguments.config.read_text(encoding="utf-8"))
    block, drop, truth, noise = (config[name] for name in ("block", "drop", "truth", "noise"))
    rng, n = np.random.default_rng(config["seed"]), drop["count"]
    sides = np.array(block["sides"])
    moments = block["mass"] / 12 * (np.sum(sides**2) - sides**2)
    q, R = rotations(rng, n)
    corners = R @ (0.5 * sides * np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T).T[None]  # (n, 3, 8)
    arm = np.take_along_axis(corners, corners[:, 2].argmin(-1)[:, None, None], 2)[..., 0]
    speed = np.sqrt(2 * 9.81 * rng.uniform(*drop["height"], n))
    velocity = np.stack([*(rng.normal(0, drop["drift"], (2, n))), -speed], -1)
    spin = rng.normal(0, drop["spin"], (n, 3))
    inertia = R @ (moments[:, None] * np.swapaxes(R, 1, 2))
    body = jimpact.Body(block["mass"] * jnp.ones(n), *map(jnp.asarray, (inertia, 0 * arm, velocity, spin)))
    up = jnp.array([0.0, 0.0, 1.0])
    result = jimpact.collide(body, jimpact.immovable(), jnp.asarray(arm), up, truth["friction"], truth["restitution"])
    kept = np.asarray(result.impact.outcome) == jimpact.Outcome.OK
    after = np.concatenate([result.body_a.velocity, result.body_a.angular_velocity], -1)
    sigma = np.repeat([noise["velocity"], noise["angular_velocity"]], 3)
    after = after + sigma * rng.normal(size=after.shape)
    lines = [
        f"# A block of {block['mass']} kg with sides {block['sides']} m lands on a corner.",
        f"# Made by experiments/sample_rebounds, seed {config['seed']}.",
        f"# Truth: law stronge, friction {truth['friction']}, restitution {truth['restitution']}.",
    ]
    header = ["group", "mass", "Ixx", "Iyy", "Izz", "qw", "qx", "qy", "qz", "rx", "ry", "rz"]
    header += [*CHANNELS, *(f"{c}_after" for c in CHANNELS), *(f"noise_{c}" for c in CHANNELS)]
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for i in np.flatnonzero(kept):
            numbers = [block["mass"], *moments, *q[i], *arm[i], *velocity[i], *spin[i], *after[i], *sigma]
            writer.writerow([f"day {i % drop['days'] + 1}", *(f"{x:.7g}" for x in numbers)])
    print(f"wrote {int(kept.sum())} rebounds")


if __name__ == "__main__":
    main()
