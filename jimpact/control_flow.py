"""Control flow for a whole batch of lanes."""

import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jimpact.types import Flag

__all__ = ["anywhere"]


@custom_vmap
def anywhere(flag: Flag) -> Flag:
    """Whether any lane of all is flagged, those of a surrounding `vmap` included: a scalar that stays one.

    So a conditional or a loop on it stays one under `vmap`, where it would otherwise compute all branches.
    """
    return jnp.any(flag)


@anywhere.def_vmap
def _anywhere_vmap(axis_size: int, in_batched: list[bool], flag: Flag) -> tuple[Flag, bool]:
    return anywhere(flag), False
