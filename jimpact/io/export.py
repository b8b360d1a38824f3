"""Exported programs: `solve` for any number of impacts, lowered once, stored in a file and called elsewhere.

    program = export_solve(law="stronge", dtype="float32")
    Path("stronge.bin").write_bytes(program.serialize())

and, in another process, on any of the platforms for which it was lowered, with jax but without jimpact,

    program = jax.export.deserialize(Path("stronge.bin").read_bytes())
    impulse, velocity, outcome = program.call(W, v, friction, restitution)

The batch size n is symbolic: one file serves all n >= 1. The arrays are (n, 3, 3), (n, 3), (n,), (n,), then (n,) for
each further parameter of the law, in the order of `LAWS[law].parameters`.
"""

from collections.abc import Iterable
from typing import Any

import jax
import jax.export
import jax.numpy as jnp

from jimpact.impact import EXTRA, solve
from jimpact.io.stream_target import FIELDS
from jimpact.laws import LAWS
from jimpact.types import Array
from jimpact.validation import check_name

__all__ = ["PLATFORMS", "export_solve"]

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
DTYPES = ("float32", "float64")
ARGUMENTS = ("inverse_inertia", "velocity", "friction", "restitution")
TAILS = {"inverse_inertia": (3, 3), "velocity": (3,), "impulse": (3,)}  # all others have one number per impact
WITHOUT_DERIVATIVE = ("outcome", "compressions", "mode")  # integers


def export_solve(
    *,
    law: str = "stronge",
    dtype: str = "float32",
    accuracy: str = "standard",
    rule: str = "poisson",
    platforms: Iterable[str] = PLATFORMS,
    gradient: bool = False,
    fields: Iterable[str] = ("impulse", "velocity", "outcome"),
) -> jax.export.Exported:
    """Lower `solve`, or `solve` with its gradient, for a batch of any size.

    Args:
        law, accuracy, rule: as in `solve`.
        dtype: "float32" or "float64" of all arrays; float64 needs `jax_enable_x64`, for the export and for calls.
        platforms: where the program will run: any of "cpu", "cuda", "rocm", "tpu". They need not be present.
        gradient: also return the gradient of sum(weights * field), summed over the fields that have derivatives.
        fields: the results: any of impulse, velocity, outcome, and the fields of `ImpactInfo`.

    Returns:
        Exported: its `call` takes the arrays and returns a tuple, in the order of `fields`. With `gradient`, `call`
        also takes weights after the arrays, one array for each field that is not an integer, and returns this tuple and
        the tuple of gradients, in the order of the arrays.
    """
    names, targets = _listed(fields, FIELDS, "fields"), _listed(platforms, PLATFORMS, "platforms")
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r}; pass 'float32' or 'float64'")
    if dtype == "float64" and jnp.result_type(float) != jnp.float64:
        raise ValueError("dtype='float64'; call jax.config.update(\"jax_enable_x64\", True) first")
    check_name(law, LAWS, "law")
    arguments = (*ARGUMENTS, *(name for name in LAWS[law].parameters if name in EXTRA))
    weighted = tuple(name for name in names if name not in WITHOUT_DERIVATIVE) if gradient else ()
    if gradient and not weighted:
        raise ValueError(f"fields={', '.join(names)} have no gradient; add impulse, or pass gradient=False")

    def program(*arrays: Array) -> tuple[Array, ...]:
        given: dict[str, Any] = dict(zip(arguments, arrays, strict=True))
        impact = solve(**given, law=law, accuracy=accuracy, rule=rule)
        values: dict[str, Any] = {**impact._asdict(), **impact.info._asdict()}
        return tuple(values[name] for name in names)

    def with_gradient(*arrays: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        primals, weights = arrays[: len(arguments)], arrays[len(arguments) :]

        def split(*arrays: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
            values = dict(zip(names, program(*arrays), strict=True))
            return tuple(values[name] for name in weighted), tuple(values.values())

        _, pull, values = jax.vjp(split, *primals, has_aux=True)
        return values, pull(weights)

    (n,) = jax.export.symbolic_shape("n")
    shapes = [jax.ShapeDtypeStruct((n, *TAILS.get(name, ())), dtype) for name in (*arguments, *weighted)]
    return jax.export.export(jax.jit(with_gradient if gradient else program), platforms=targets)(*shapes)


def _listed(given: Iterable[str], known: tuple[str, ...], argument: str) -> tuple[str, ...]:
    """A tuple of known names, each once; an error says what to pass."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or len(set(names)) < len(names) or not set(names) <= set(known):
        raise ValueError(f"{argument}={', '.join(map(str, names)) or None}; pass some of {', '.join(known)}, each once")
    return names
