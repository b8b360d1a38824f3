"""When does an impact end? The three stop rules, and the books they read.

The normal impulse p is the clock and v the normal relative velocity. v < 0 is compression, v > 0
restitution; there may be several of each, and all sums run over all phases (Baber 2011).

| rule    | restitution ends when                                                    | source       |
|---------|--------------------------------------------------------------------------|--------------|
| stronge | work of restitution = e^2 x |work of compression|                        | Stronge 1990 |
| poisson | impulse of restitution = e x impulse of compression                      | Poisson 1817 |
| newton  | normal velocity = e x |normal velocity before|                           | Newton 1687  |

With e = 0 every rule ends at the first end of compression.

| letter | meaning                                              | unit  |
|--------|------------------------------------------------------|-------|
| e      | coefficient of restitution                           | 1     |
| v, v0  | normal relative velocity now, and before the impact  | m/s   |
| k      | dv/dp                                                | 1/kg  |
| x      | normal impulse still to come                         | N s   |
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.numerics import divide, sqrt, where
from jimpact.types import Flag, Scalar

__all__ = [
    "RULES",
    "Books",
    "StopRule",
    "book",
    "end_of_compression",
    "open_books",
    "overrun",
    "start_of_compression",
    "switch",
]


LARGEST_EXTRA = 1e-2  # of the impulse: what a landing error may move from one phase to the next


class Books(NamedTuple):
    """What has been received so far, in all and by phase."""

    compressing: Flag
    impulse: Scalar
    compression_impulse: Scalar
    compression_work: Scalar  # <= 0
    restitution_work: Scalar  # >= 0
    first_end: Scalar  # normal impulse at the end of the first compression
    last_start: Scalar  # and at the start and the end of the last one
    last_end: Scalar
    compressions: Scalar


class StopRule(NamedTuple):
    """One hypothesis of restitution: it watches a quantity that must reach a target.

    target(books, v0, e) and current(books, v): the two values that must become equal.
    watched(P, V, A, scale): which series (normal impulse / scale, normal velocity, work) the quantity follows.
    distance(missing, v, k, books, e): normal impulse to the end if k stays; inf if never reached.
    noise(books, near): error of the quantity when v has the error `near`.
    """

    target: Callable[[Books, Scalar, Scalar], Scalar]
    current: Callable[[Books, Scalar], Scalar]
    watched: Callable[[Sequence[Scalar], Sequence[Scalar], Sequence[Scalar], Scalar], Sequence[Scalar]]
    distance: Callable[[Scalar, Scalar, Scalar, Books, Scalar], Scalar]
    noise: Callable[[Books, Scalar], Scalar]


def open_books(v0: Scalar) -> Books:
    zero = jnp.zeros_like(v0)
    return Books(jnp.ones_like(v0, bool), zero, zero, zero, zero, zero, zero, zero, jnp.ones_like(v0))


def book(books: Books, impulse: Scalar, work: Scalar) -> Books:
    """Add a normal impulse and its work to the phase that is open."""
    c = books.compressing
    return books._replace(
        impulse=books.impulse + impulse,
        compression_impulse=books.compression_impulse + where(c, impulse, 0),
        compression_work=books.compression_work + where(c, work, 0),
        restitution_work=books.restitution_work + where(c, 0, work),
    )


def end_of_compression(books: Books, now: Flag) -> Books:
    """Close the compression of the lanes `now`."""
    first = now & (books.compressions == 1)
    return books._replace(
        compressing=books.compressing & ~now,
        first_end=where(first, books.impulse, books.first_end),
        last_end=where(now, books.impulse, books.last_end),
    )


def start_of_compression(books: Books, now: Flag) -> Books:
    """Open a further compression in the lanes `now`."""
    return books._replace(
        compressing=books.compressing | now,
        last_start=where(now, books.impulse, books.last_start),
        compressions=books.compressions + where(now, 1, 0),
    )


def overrun(p: Scalar, v: Scalar, k: Scalar) -> Scalar:
    """Normal impulse v/k between the exact zero of v and here, at p, where v = 0 up to a landing error."""
    near = jnp.abs(v) <= LARGEST_EXTRA * jnp.abs(k) * p  # else v is noise about a flat place
    return where(near, divide(v, k), 0)


def switch(books: Books, now: Flag, extra: Scalar, work: Scalar) -> Books:
    """Change the phase of the lanes `now`; an overrun (elsewhere zero) moves to the new phase.

    Its value is round-off; its derivative is that of the moment at which v = 0, hence exact books.
    """
    sign = where(books.compressing, -1, 1)
    moved = books._replace(
        impulse=books.impulse - extra,
        compression_impulse=books.compression_impulse + sign * extra,
        compression_work=books.compression_work + sign * work,
        restitution_work=books.restitution_work - sign * work,
    )
    changed = end_of_compression(moved, now & books.compressing)
    return start_of_compression(changed, now & ~books.compressing)._replace(impulse=books.impulse)


def _stronge_distance(missing: Scalar, v: Scalar, k: Scalar, books: Books, e: Scalar) -> Scalar:
    # From rest with nothing released yet: e linear, so that d/de is finite at e = 0.
    fresh = (v == 0) & (books.restitution_work == 0) & (k > 0)
    from_rest = e * sqrt(where(fresh, divide(-2 * books.compression_work, k), 0))
    reachable = v * v + 2 * k * missing
    both = v + sqrt(where(fresh, 0, reachable))
    x = where(both > 0, divide(2 * missing, both), 0)
    return where(fresh, from_rest, where(reachable < 0, jnp.inf, x))


def _newton_distance(missing: Scalar, v: Scalar, k: Scalar, books: Books, e: Scalar) -> Scalar:
    rising = k > 0
    return where(rising, divide(missing, k), where(missing <= 0, 0, jnp.inf))


RULES = {
    "stronge": StopRule(
        target=lambda books, v0, e: e * e * -books.compression_work,
        current=lambda books, v: books.restitution_work,
        watched=lambda P, V, A, scale: A,
        distance=_stronge_distance,
        noise=lambda books, near: near * (books.impulse - books.compression_impulse),
    ),
    "poisson": StopRule(
        target=lambda books, v0, e: e * books.compression_impulse,
        current=lambda books, v: books.impulse - books.compression_impulse,
        watched=lambda P, V, A, scale: [scale * c for c in P],
        distance=lambda missing, v, k, books, e: missing,
        noise=lambda books, near: near,
    ),
    "newton": StopRule(
        target=lambda books, v0, e: -e * v0,
        current=lambda books, v: v,
        watched=lambda P, V, A, scale: V,
        distance=_newton_distance,
        noise=lambda books, near: near,
    ),
}
