"""Impulse space of planar impacts: draw the permissible region and the reach of each law, one figure per config."""

import argparse
import tomllib
from pathlib import Path

import jax
import numpy as np

from jimpact.plot import save
from jimpact.plot_space import impulse_space, permissible_region, reached

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "impulse_space"
SLACK = 1e-6  # of the energy before: more than the error of the standard accuracy


def gains(K: np.ndarray, v: np.ndarray, mu: float, law: str) -> bool:
    """Whether a law has an impulse outside the energy ellipse."""
    impulse = reached(K, v, mu, law)
    change = impulse @ v + 0.5 * np.einsum("ni,ij,nj->n", impulse, K, impulse)
    return bool((change > SLACK * 0.5 * v @ np.linalg.solve(K, v)).any())


def summary(K: np.ndarray, v: np.ndarray, mu: float, laws: list[str]) -> str:
    """The greatest normal restitution that is permissible, and the laws that gain energy."""
    after = permissible_region(K, v, mu) @ K[1] + v[1]
    gaining = [law for law in laws if gains(K, v, mu, law)]
    return f"permissible up to e = {-after.max() / v[1]:.3g}; energy gained by: {', '.join(gaining) or 'none'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", type=Path, default=CONFIGS)
    parser.add_argument("--out", type=Path, default=Path("out/impulse_space"))
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(arguments.configs.glob("*.toml")):
        config = tomllib.loads(path.read_text(encoding="utf-8"))
        K, v, mu = (np.asarray(config[name], float) for name in ("inverse_inertia", "velocity", "friction"))
        file = arguments.out / f"{path.stem}.png"
        save(impulse_space(K, v, mu, laws=config["laws"], title=config["name"]), file)
        print(f"{file}: {summary(K, v, float(mu), config['laws'])}")


if __name__ == "__main__":
    main()
