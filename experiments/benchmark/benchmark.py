"""Cost per impact of solve and of its gradient, by dtype and accuracy, with the error reached."""

import argparse
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import jimpact


def draw(n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Random two-body impacts: sums of two one-body inverse inertias, friction 0.05 to 1."""
    rng = np.random.default_rng(seed)
    W = np.zeros((n, 3, 3))
    for _ in range(2):
        r, inverse = rng.normal(size=(n, 3)), 10 ** rng.uniform(-0.5, 1, size=(n, 3))
        axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
        cross = np.zeros((n, 3, 3))
        cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -r[:, 2], r[:, 1], -r[:, 0]
        cross -= np.swapaxes(cross, 1, 2).copy()
        tensor = np.einsum("nij,nj,nkj->nik", axes, inverse, axes)
        W += rng.uniform(0.2, 2, (n, 1, 1)) * np.eye(3) + np.einsum("nji,njk,nkl->nil", cross, tensor, cross)
    v = rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2])
    return W, v, rng.uniform(0.05, 1, n), rng.uniform(0, 1, n)


def timed(function: Callable, *arguments: jax.Array) -> tuple[float, float, jax.Array]:
    """Compile time, best of five run times, and the result."""
    start = time.perf_counter()
    compiled = jax.jit(function).lower(*arguments).compile()
    compile_time, best, result = time.perf_counter() - start, np.inf, None
    for _ in range(5):
        start = time.perf_counter()
        result = jax.block_until_ready(compiled(*arguments))
        best = min(best, time.perf_counter() - start)
    return compile_time, best, result


def compare(inputs: tuple[np.ndarray, ...]) -> None:
    """Every law on the same impacts; for `bilinear` without their coupling."""
    n, values = len(inputs[2]), {"tangential_restitution": 0.3, "mixing": 0.5}
    print(f"{n} impacts, float64, accuracy standard")
    print("law               forward us  compile s    OK %")
    for name, law in jimpact.LAWS.items():
        own = {key: value for key, value in values.items() if key in law.parameters}
        W = inputs[0] * np.eye(3) if name == "bilinear" else inputs[0]
        v = inputs[1] * [1, 0, 1] if name == "bilinear" else inputs[1]
        given = tuple(jnp.asarray(a) for a in (W, v, *inputs[2:]))
        solve = lambda *a, name=name, own=own: jimpact.solve(*a, law=name, **own)  # noqa: E731
        compiled, forward, _ = timed(lambda *a, solve=solve: solve(*a).impulse, *given)
        good = np.asarray(jax.jit(lambda *a, solve=solve: solve(*a).outcome)(*given)) == jimpact.Outcome.OK
        print(f"{name:16s}  {forward / n * 1e6:10.2f}  {compiled:9.1f}  {100 * good.mean():6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=262_144)
    parser.add_argument("--law", default="stronge")
    parser.add_argument("--laws", action="store_true", help="every law in float64, instead of every accuracy of one")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    n, device = arguments.batch, jax.devices()[0]
    inputs = draw(n)
    if arguments.laws:
        compare(inputs)
        return
    exact = jax.jit(lambda *a: jimpact.solve(*a, law=arguments.law, accuracy="high").impulse)(*inputs)
    print(f"{n} impacts, law {arguments.law}, {device.platform} ({device.device_kind})")
    print("dtype    accuracy  forward us  gradient us  ratio  compile s    error 50 %   99 %     max")
    for dtype in ("float64", "float32"):
        given = tuple(jnp.asarray(a, dtype) for a in inputs)
        for accuracy in ("low", "standard", "high"):

            def impulse(*a: jax.Array, accuracy: str = accuracy) -> jax.Array:
                return jimpact.solve(*a, law=arguments.law, accuracy=accuracy).impulse

            compiled, forward, result = timed(impulse, *given)
            _, reverse, _ = timed(jax.grad(lambda *a: impulse(*a).sum(), (0, 1, 2, 3)), *given)
            error = np.abs(np.asarray(result) - exact).max(-1) / np.linalg.norm(exact, axis=-1)
            q = np.percentile(error, [50, 99, 100])
            print(
                f"{dtype}  {accuracy:8s}  {forward / n * 1e6:10.2f}  {reverse / n * 1e6:11.2f}"
                f"  {reverse / forward:5.1f}  {compiled:9.1f}    {q[0]:.0e}      {q[1]:.0e}   {q[2]:.0e}"
            )


if __name__ == "__main__":
    main()
