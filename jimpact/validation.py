"""Checks of the shapes and dtypes of arguments; errors say what to pass."""

import jax.numpy as jnp

from jimpact.types import Array, ArrayLike

__all__ = ["check_batch", "floating"]


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


def check_batch(**leading: tuple[int, ...]) -> None:
    """Raise ValueError, which names the arguments, if these leading axes do not broadcast together."""
    try:
        jnp.broadcast_shapes(*leading.values())
    except ValueError as error:
        listed = ", ".join(f"{name} {shape}" for name, shape in leading.items() if shape)
        raise ValueError(f"leading axes do not broadcast ({listed}); pass some that match") from error
