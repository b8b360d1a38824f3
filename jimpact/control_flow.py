"""Control flow for a whole batch of lanes."""

import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jimpact.types import Flag

__all__ = ["anywhere"]


@custom_vmap
def anywhere(flag: Flag) -> Flag:
    """Whether any lane is flagged, including those of a surrounding `vmap`. The result is a scalar, also under `vmap`.

    So a conditional or a loop on it remains one under `vmap`, which otherwise computes all branches.
    """
    return jnp.any(flag)


@anywhere.def_vmap
def _anywhere_vmap(axis_size: int, in_batched: list[bool], flag: Flag) -> tuple[Flag, bool]:
    return anywhere(flag), False
