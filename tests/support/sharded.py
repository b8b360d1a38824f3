"""A program of its own, because the number of devices is fixed once: impacts on eight devices, findings as JSON.

    python tests/support/sharded.py LAW CHECK ..

Every check runs a program on arrays that are spread over the devices, and reports which collectives it has, which
results are not spread like the arguments, and how far they are from those of one device.
"""

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import cases
import jax
import jax.numpy as jnp
import numpy as np
from catalogue import Entry
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import jimpact

DEVICES, LANES = 8, 64
GRID = (16, 4)  # of the same lanes
COLLECTIVE = re.compile(
    r"\b(all-gather|all-reduce|all-to-all|reduce-scatter|collective-permute|collective-broadcast)(?:-start)?\("
)

Function = Callable[..., Any]
Finding = dict[str, Any]


def solver(law: str) -> Function:
    return partial(jimpact.solve, law=law, **Entry(law).parameters())


def mesh_of(*shape: int, kind: AxisType = AxisType.Auto) -> Mesh:
    names = ("rows", "columns")[: len(shape)]
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(shape))


def spread(mesh: Mesh, arrays: Any) -> Any:
    """The leading axes of the arrays over the axes of the mesh."""
    return jax.device_put(arrays, NamedSharding(mesh, PartitionSpec(*mesh.axis_names)))


def run(function: Function, mesh: Mesh, arguments: tuple, expected: Any) -> Finding:
    """The program of `function` for these arguments: its collectives, and its results."""
    compiled = jax.jit(function).lower(*arguments).compile()
    collectives = sorted(set(COLLECTIVE.findall(compiled.as_text())))
    return compared(compiled(*arguments), mesh, expected) | {"collectives": collectives}


def compared(results: Any, mesh: Mesh, expected: Any) -> Finding:
    wanted = NamedSharding(mesh, PartitionSpec(*mesh.axis_names))
    named = jax.tree_util.tree_leaves_with_path(results)
    misplaced = [jax.tree_util.keystr(k) for k, a in named if not a.sharding.is_equivalent_to(wanted, a.ndim)]
    errors = jax.tree.map(error, results, expected)
    return {"collectives": [], "misplaced": misplaced, "error": max(jax.tree.leaves(errors))}


def error(found: Any, expected: Any) -> float:
    """Largest difference, relative to the size of the expected array; nan only where expected."""
    found, expected = np.asarray(found), np.asarray(expected).reshape(found.shape)
    if not np.array_equal(np.isnan(found), np.isnan(expected)):
        return float("inf")
    size = np.nanmax(np.abs(expected), initial=1.0)
    return float(np.nanmax(np.abs(found - expected), initial=0.0) / size)


def forward_derivative(solve: Function) -> Function:
    """Along tangents that are like the arguments, and so spread like them."""
    return lambda *a: jax.jvp(lambda *a: solve(*a).impulse, a, a)[1]


def gradient(solve: Function) -> Function:
    return jax.grad(lambda *a: (solve(*a).impulse * jnp.array([1.0, 2.0, 3.0])).sum(), (0, 1, 2, 3))


def checks(law: str) -> dict[str, Callable[[], Finding]]:
    """By name, each as a function without arguments."""
    solve, given = solver(law), tuple(map(jnp.asarray, cases.two_body(LANES)[:4]))
    W, v, mu, e = given
    line, grid, explicit = mesh_of(DEVICES), mesh_of(4, 2), mesh_of(DEVICES, kind=AxisType.Explicit)
    one = jax.jit(solve)  # one program for all the expected impacts
    folded = tuple(a.reshape(*GRID, *a.shape[1:]) for a in given)
    split = PartitionSpec("rows")
    mapped = jax.shard_map(solve, mesh=line, in_specs=split, out_specs=split)

    def numbers() -> Finding:
        expected = one(W, v, jnp.full_like(mu, 0.3), jnp.full_like(e, 0.7))
        return run(lambda W, v: solve(W, v, 0.3, 0.7), line, spread(line, (W, v)), expected)

    def differentiated(f: Function) -> Finding:
        return run(f, line, spread(line, given), jax.jit(f)(*given))

    def inside(mesh: Mesh) -> Finding:
        expected = one(*given)
        with jax.set_mesh(mesh):
            return run(solve, mesh, spread(mesh, given), expected)

    def inside_explicit() -> Finding:
        """A gradient on a mesh with explicit axes."""
        expected = jax.jit(gradient(solve))(*given)
        with jax.set_mesh(explicit):
            return run(gradient(solve), explicit, spread(explicit, given), expected)

    def eager() -> Finding:
        """Without jit, with an odd number of lanes in all."""
        mesh = jax.make_mesh((3,), ("rows",), axis_types=(AxisType.Explicit,), devices=jax.devices()[:3])
        few = tuple(a[:9] for a in given)
        with jax.set_mesh(mesh):
            return compared(solve(*spread(mesh, few)), mesh, one(*few))

    return {
        "forward": lambda: run(solve, line, spread(line, given), one(*given)),
        "eager": eager,
        "jvp": lambda: differentiated(forward_derivative(solve)),
        "gradient": lambda: differentiated(gradient(solve)),
        "numbers": numbers,
        "grid": lambda: run(solve, grid, spread(grid, folded), one(*given)),
        "shard_map": lambda: run(mapped, line, spread(line, given), one(*given)),
        "set_mesh": lambda: inside(line),
        "explicit": lambda: inside(explicit),
        "explicit_gradient": inside_explicit,
        "collide": lambda: collided(law, line, mu, e),
    }


def finding(check: Callable[[], Finding]) -> Finding:
    """What was found, or the first line of what was raised."""
    try:
        return {"raised": "", **check()}
    except Exception as error:
        first = str(error).strip().splitlines()[:1]
        return {"raised": f"{type(error).__name__}: {' '.join(first)}", "collectives": [], "misplaced": [], "error": 0}


def collided(law: str, mesh: Mesh, mu: Any, e: Any) -> Finding:
    rng = np.random.default_rng(0)
    ball = jimpact.Body(
        mass=jnp.asarray(rng.uniform(1, 2, LANES)),
        inertia=jnp.asarray(rng.uniform(0.1, 0.2, (LANES, 1, 1)) * np.eye(3)),
        position=jnp.asarray(rng.normal(size=(LANES, 3)) * 0.1),
        velocity=jnp.asarray(rng.normal(size=(LANES, 3)) - np.array([0.0, 0.0, 5.0])),
        angular_velocity=jnp.asarray(rng.normal(size=(LANES, 3))),
    )
    up, floor = jnp.array([0.0, 0.0, 1.0]), jimpact.immovable()

    def f(ball: jimpact.Body, mu: Any, e: Any) -> tuple:
        after = jimpact.collide(ball, floor, jnp.zeros(3), up, mu, e, law=law, **Entry(law).parameters())
        return after.body_a.velocity, after.body_a.angular_velocity, after.impact

    return run(f, mesh, spread(mesh, (ball, mu, e)), jax.jit(f)(ball, mu, e))


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_num_cpu_devices", DEVICES)
    by_name = checks(sys.argv[1])
    print(json.dumps({name: finding(by_name[name]) for name in sys.argv[2:] or by_name}))
