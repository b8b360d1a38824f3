"""Checks of a result: the sequence of events, and the margins of an impulse in the permissible region."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jimpact.outcome import Impact, Outcome
from jimpact.types import Array, ArrayLike
from jimpact.validation import broadcast

__all__ = ["EVENT_LETTERS", "MODES", "Margins", "event_sequence", "in_order", "permissible"]

EVENT_LETTERS = (
    ("line_start", "l"),
    ("slip_end", "s"),
    ("compression_end", "c"),
    ("recompression_start", "d"),
    ("recompression_end", "c"),
)
MODES = {  # Sun & Baruh's cases, `info.mode`
    -1: "no impact",
    0: "slips throughout",
    1: "stops in compression, sticks",
    2: "stops in compression, slips anew",
    3: "stops in restitution, sticks",
    4: "stops in restitution, slips anew",
    5: "starts without slip, sticks",
    6: "starts without slip, slips",
}


class Margins(NamedTuple):
    """Margins of an impulse: the conditions of Chatterjee & Ruina, section 3.2. Each holds if its margin is >= 0."""

    dissipation: Float[Array, "..."]  # contact kinetic energy lost (J)
    separation: Float[Array, "..."]  # normal velocity after (m/s)
    compression: Float[Array, "..."]  # normal impulse (N s)
    friction: Float[Array, "..."]  # friction x normal impulse - |tangential impulse| (N s)


def permissible(
    inverse_inertia: Float[ArrayLike, "... 3 3"],
    velocity: Float[ArrayLike, "... 3"],
    impulse: Float[ArrayLike, "... 3"],
    friction: Float[ArrayLike, "..."],
) -> Margins:
    """The four margins of an impulse: energy lost, separation, normal impulse, and friction cone."""
    given = {"inverse_inertia": (inverse_inertia, (3, 3)), "velocity": (velocity, (3,)), "impulse": (impulse, (3,))}
    W, v, I, mu = broadcast(given | {"friction": (friction, ())}).values()
    after = v + (W * I[..., None, :]).sum(-1)
    return Margins(
        dissipation=-0.5 * (I * (v + after)).sum(-1),
        separation=after[..., 2],
        compression=I[..., 2],
        friction=mu * I[..., 2] - jnp.hypot(I[..., 0], I[..., 1]),
    )


def event_sequence(impact: Impact) -> str | np.ndarray:
    """Events in order, one letter each: l direction invariant, s slip zero, c end of compression, r end of restitution.

    The letters are those of Jia & Wang, and "d" for the start of a further compression (the last, if there are
    several), whose end is another "c". A lane without an impact gives "". The function runs on the host, and returns a
    string for one impact, an array of strings for a batch.
    """
    try:
        codes = np.asarray(impact.outcome)
    except jax.errors.TracerArrayConversionError:
        raise TypeError("event_sequence looks at values; call it on the result, outside jit, grad and vmap") from None
    fields = [np.asarray(getattr(impact.info, name)) for name, _ in EVENT_LETTERS]
    out = np.empty(codes.shape, dtype=object)
    for lane in np.ndindex(codes.shape):
        there = codes[lane] in (Outcome.OK, Outcome.UNFINISHED)
        out[lane] = "".join(letter for _, letter in in_order(*(float(a[lane]) for a in fields))) + "r" if there else ""
    return out if codes.shape else str(out[()])


def in_order(line: float, slip: float, *phases: float) -> list[tuple[float, str]]:
    """The events of `EVENT_LETTERS` that happened, as (normal impulse, letter) in order."""
    line = np.nan if line >= slip else line  # from zero slip on there is no direction
    found = zip((line, slip, *phases), (letter for _, letter in EVENT_LETTERS), strict=True)
    return sorted((float(at), letter) for at, letter in found if not np.isnan(at))
