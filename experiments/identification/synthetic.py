"""Does the fit keep its promises? Repeated synthetic experiments with a known truth.

* efficiency: root mean square error against the Cramer-Rao bound, and coverage of the 95 % intervals;
* recovery: from how many single random starts the search finds the best point;
* stick: how often friction is called not identifiable where every impact sticks.
"""

import argparse
import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.progress import track

import jimpact
from jimpact.identify import Rebounds, constant, fit, plan
from jimpact.identify.least_squares import Problem, draw_starts, minimise

TRUTH = {"friction": 0.25, "restitution": 0.6}
NAMES = tuple(TRUTH)


def block(rng: np.random.Generator, count: int, slip: float = 1.0) -> tuple[jax.Array, jax.Array]:
    """Inverse inertia and velocity before, of a block that lands on a corner; `slip` scales its tangential velocity."""
    sides, mass = np.array([0.1, 0.07, 0.05]), 0.2
    R = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    moments = mass / 12 * (np.sum(sides**2) - sides**2)
    arm = np.einsum("nij,nj->ni", R, 0.5 * sides * rng.choice([-1, 1], (count, 3)))
    arm[:, 2] = -np.abs(arm[:, 2])
    inertia = np.einsum("nij,j,nkj->nik", R, moments, R)
    velocity = np.stack([*(rng.normal(0, 0.8, (2, count))), -rng.uniform(1, 3, count)], -1)
    body = jimpact.Body(mass * jnp.ones(count), *map(jnp.asarray, (inertia, 0 * arm, velocity, 0 * arm)))
    point, up = jnp.asarray(arm), jnp.array([0.0, 0.0, 1.0])
    ground = jimpact.immovable()
    W = jimpact.inverse_inertia(body, ground, point, up)
    return W, jnp.asarray(velocity * [slip, slip, 1])


def noisy(
    W: jax.Array, v: jax.Array, truth: dict[str, float], noise: float, rng: np.random.Generator, **law: Any
) -> Rebounds:
    """Contact velocities after, measured with noise."""
    after = _after(W, v, **truth, **law)
    return Rebounds.from_contact(W, v, after + noise * rng.normal(size=after.shape), noise)


@partial(jax.jit, static_argnames="law")
def _after(W: jax.Array, v: jax.Array, friction: Any, restitution: Any, **law: Any) -> jax.Array:
    return jimpact.solve(W, v, friction, restitution, **law).velocity


def efficiency(
    repeats: int, count: int, noise: float, seed: int, law: str = "stronge", **fixed: float
) -> dict[str, float]:
    """Error over bound, and coverage, of each parameter; `fixed` are coefficients of the law that are known."""
    rng = np.random.default_rng(seed)
    W, v = block(rng, count)
    bound = plan(Rebounds.from_contact(W, v, v, noise), TRUTH, law=law, fixed=fixed).standard_error
    errors, inside = [], []
    for _ in track(range(repeats), "efficiency", disable=not sys.stderr.isatty()):
        found = fit(noisy(W, v, TRUTH, noise, rng, law=law, **fixed), law=law, fixed=fixed, starts=8)
        ends = found.interval(0.95)
        errors.append([found.estimate[name] - TRUTH[name] for name in NAMES])
        inside.append([ends[name][0] <= TRUTH[name] <= ends[name][1] for name in NAMES])
    rms, share = np.sqrt(np.mean(np.square(errors), 0)), np.mean(inside, 0)
    result = {f"{name}: error / bound": float(rms[i] / bound[name]) for i, name in enumerate(NAMES)}
    return result | {f"{name}: coverage": float(share[i]) for i, name in enumerate(NAMES)}


def recovery(problems: int, starts: int, count: int, noise: float, seed: int) -> dict[str, float]:
    """Share of single starts, and of problems, that end at the best point found from any start."""
    rng, material = np.random.default_rng(seed), constant(NAMES)
    found, lost = [], 0
    for i in track(range(problems), "recovery", disable=not sys.stderr.isatty()):
        truth = {"friction": rng.uniform(0.05, 0.6), "restitution": rng.uniform(0.1, 0.9)}
        rebounds = noisy(*block(rng, count), truth, noise, rng)
        whole = fit(rebounds, starts=32, seed=i)
        if not all(whole.identifiable.values()):
            lost += 1
            continue
        problem = Problem(rebounds, rebounds.noise, jnp.zeros(()), jnp.ones(count))
        cost = minimise(whole.choice, material, problem, draw_starts(material, starts, 1000 + i)).cost
        found.append([np.mean(cost <= min(cost.min(), whole.solved.cost) + 0.1), whole.solved.cost <= cost.min() + 0.1])
    single, whole_ = np.mean(found, 0)
    return {"single starts that recover": float(single), "fits that recover": float(whole_), "not well posed": lost}


def stick(repeats: int, count: int, noise: float, seed: int, law: str = "stronge", **fixed: float) -> dict[str, float]:
    """Share of data sets, in which every impact sticks, whose friction is called not identifiable."""
    rng, told, sets = np.random.default_rng(seed), 0, 0
    for _ in track(range(repeats), "stick", disable=not sys.stderr.isatty()):
        W, v = block(rng, count, slip=0.1)
        rebounds = noisy(W, v, {"friction": 3.0, "restitution": 0.5}, noise, rng, law=law, **fixed)
        told += not fit(rebounds, law=law, fixed=fixed, starts=8).identifiable["friction"]
        sets += 1
    return {"not identifiable": told / sets}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000, help="of the experiment on efficiency")
    parser.add_argument("--problems", type=int, default=200, help="of the experiments on recovery and stick")
    parser.add_argument("--impacts", type=int, default=60)
    parser.add_argument("--noise", type=float, default=0.03, help="m/s")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    n, noise, seed = arguments.impacts, arguments.noise, arguments.seed
    parts = {
        f"efficiency, {arguments.repeats} experiments of {n} impacts": efficiency(arguments.repeats, n, noise, seed),
        f"recovery, {arguments.problems} problems, 64 starts each": recovery(arguments.problems, 64, n, noise, seed),
        f"stick, {arguments.problems} data sets": stick(arguments.problems, n, noise, seed),
    }
    for title, result in parts.items():
        print(title)
        for name, value in result.items():
            print(f"  {name:32s} {value:.4f}")


if __name__ == "__main__":
    main()
