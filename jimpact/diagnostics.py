"""Reading results: the sequence of events, and the permissible region of impulses."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jimpact.state import Impact, Outcome
from jimpact.types import Array, ArrayLike

__all__ = ["Margins", "event_sequence", "permissible"]


class Margins(NamedTuple):
    """How far an impulse is inside each condition of Chatterjee & Ruina, section 3.2; below zero: outside."""

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
    """The four margins of an impulse: it loses energy, separates, pushes, and stays in the friction cone."""
    W, v, I, mu = (jnp.asarray(a) for a in (inverse_inertia, velocity, impulse, friction))
    for a, name, tail in ((W, "inverse_inertia", (3, 3)), (v, "velocity", (3,)), (I, "impulse", (3,))):
        if a.shape[-len(tail) :] != tail:
            wanted = "(..., " + ", ".join(map(str, tail)) + ")"
            raise ValueError(f"{name} has shape {a.shape}; pass an array of shape {wanted}")
    after = v + (W * I[..., None, :]).sum(-1)
    return Margins(
        dissipation=-0.5 * (I * (v + after)).sum(-1),
        separation=after[..., 2],
        compression=I[..., 2],
        friction=mu * I[..., 2] - jnp.hypot(I[..., 0], I[..., 1]),
    )


def event_sequence(impact: Impact) -> str | np.ndarray:
    """Events in order, one letter each: l direction invariant, s slip zero, c end of compression, r end.

    After Jia & Wang; "d" is the beginning of a further compression, each closed by another "c". A lane without
    an impact gives "". Host side: a string for one impact, an array of strings for a batch.
    """
    info, codes = impact.info, np.asarray(impact.outcome)
    fields = (info.line_start, info.slip_end, info.compression_end, info.recompression_start, info.recompression_end)
    arrays = [np.asarray(a) for a in fields]
    out = np.empty(codes.shape, dtype=object)
    for lane in np.ndindex(codes.shape):
        there = codes[lane] in (Outcome.OK, Outcome.UNFINISHED)
        out[lane] = _sequence(*(float(a[lane]) for a in arrays)) if there else ""
    return out if codes.shape else str(out[()])


def _sequence(line: float, slip: float, *phases: float) -> str:
    line = np.nan if line >= slip else line  # invariant only once slip is over
    events = zip((line, slip, *phases), "lscdc", strict=True)
    return "".join(letter for _, letter in sorted((at, letter) for at, letter in events if not np.isnan(at))) + "r"
