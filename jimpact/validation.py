"""Checks of the shapes and dtypes of arguments; errors say what to pass."""

from collections.abc import Collection, Mapping

import jax.numpy as jnp

from jimpact.types import Array, ArrayLike

__all__ = ["broadcast", "check_batch", "check_name", "floating"]


def floating(name: str, value: ArrayLike, tail: tuple[int, ...]) -> Array:
    """`value` as an array of floats whose last axes are `tail`; an error says what to pass."""
    try:
        array = jnp.asarray(value)
        if jnp.issubdtype(array.dtype, jnp.integer) and isinstance(value, int | list | tuple) and value is not True:
            array = jnp.asarray(float(value) if isinstance(value, int) else array, jnp.result_type(float))
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} is a {type(value).__name__}; pass an array of floats") from None
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise TypeError(f"{name} has dtype {array.dtype}; pass float32 or float64")
    if array.shape[array.ndim - min(array.ndim, len(tail)) :] != tail:
        wanted = ", ".join(["..."] + [str(size) for size in tail])
        raise ValueError(f"{name} has shape {array.shape}; pass an array of shape ({wanted})")
    return array


def broadcast(
    arrays: Mapping[str, tuple[ArrayLike, tuple[int, ...]]], plain: tuple[type, ...] = ()
) -> dict[str, Array]:
    """Arrays of one floating dtype and one batch shape, from values and the last axes of each.

    The dtype is that to which JAX promotes the values; those of a `plain` type take the dtype of the others.
    """
    checked = {name: floating(name, value, tail) for name, (value, tail) in arrays.items()}
    precise = [a for name, a in checked.items() if not isinstance(arrays[name][0], plain)]
    dtype = jnp.result_type(*(precise or checked.values()))
    if dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"inputs have dtype {dtype}; pass float32 or float64")
    batches = {name: a.shape[: a.ndim - len(arrays[name][1])] for name, a in checked.items()}
    check_batch(**batches)
    batch = jnp.broadcast_shapes(*batches.values())
    return {name: jnp.broadcast_to(a.astype(dtype), batch + arrays[name][1]) for name, a in checked.items()}


def check_name(name: str, table: Collection[str], argument: str) -> None:
    """Raise ValueError, which lists the names of the table, unless it has this one."""
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"{argument}={name!r} is unknown; pass one of {', '.join(map(repr, table))}")


def check_batch(**leading: tuple[int, ...]) -> None:
    """Raise ValueError, which names the arguments, if these leading axes do not broadcast together."""
    try:
        jnp.broadcast_shapes(*leading.values())
    except ValueError as error:
        listed = ", ".join(f"{name} {shape}" for name, shape in leading.items() if shape)
        raise ValueError(f"leading axes do not broadcast ({listed}); pass some that match") from error
