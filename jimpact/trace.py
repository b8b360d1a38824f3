"""The way through an impact, sampled for plots: same physics as `solve`, read off the same steps.

Inside a step every quantity is the series that the step was taken with; after the last one the path is
piecewise straight, to zero slip and from there to the end.
"""

from numbers import Integral
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float

from jimpact.hodograph import series_at, velocity_at
from jimpact.impact import check_followed, prepare
from jimpact.laws.hodograph_law import Events, Solution, events_of, follow
from jimpact.numerics import divide, horner, root_in
from jimpact.rounds import Steps, recorded
from jimpact.series import impulse_at, speed_series, work_done
from jimpact.types import Array, ArrayLike, Scalar

__all__ = ["Events", "Path", "trace"]

ROOMY = 20  # samples: with fewer, the events are not among them
NEWTON_STEPS = 12  # the clock of a given normal impulse, from a linear guess


class Path(NamedTuple):
    """Samples along an impact in the order of normal impulse: start, end and events, the others evenly spaced."""

    normal_impulse: Float[Array, "... samples"]
    sliding_velocity: Float[Array, "... samples 2"]
    normal_velocity: Float[Array, "... samples"]
    impulse: Float[Array, "... samples 3"]
    work: Float[Array, "... samples"]  # of the normal force
    events: Events


def trace(
    inverse_inertia: Float[ArrayLike, "... 3 3"],
    velocity: Float[ArrayLike, "... 3"],
    friction: Float[ArrayLike, "..."],
    restitution: Float[ArrayLike, "..."],
    *,
    law: str = "stronge",
    static_friction: Float[ArrayLike, "..."] | None = None,
    accuracy: str = "standard",
    samples: int = 200,
    line_tolerance: float = 0.01,
) -> Path:
    """Follow one impact, or a batch, and return `samples` points of its path (arguments as in `solve`).

    Lanes that are not valid, or not approaching, are nan.
    """
    if isinstance(samples, bool) or not isinstance(samples, Integral) or samples < 2:
        raise ValueError(f"samples={samples!r}; pass a whole number of at least 2")
    check_followed(law, "trace")
    case = prepare(inverse_inertia, velocity, friction, restitution, static_friction, law, accuracy, line_tolerance)
    level = case.options.accuracy
    solution = follow(case.given, case.options)
    events = events_of(solution)
    p = _spaced(events, int(samples))
    steps = recorded(solution.lane, case.options.rule, level)
    sample = lambda solution, steps, q: _at(solution, steps, q, level.order)  # noqa: E731
    ix, iy, work = jax.vmap(lambda q: sample(solution, steps, q), in_axes=-1, out_axes=-1)(p)

    lane = jax.tree.map(lambda a: a[..., None], solution.lane)
    x, y, v = velocity_at(lane, ix, iy, p)
    zero_at, stick = events.slip_end[..., None], solution.end.stick[..., None]
    still = (p == zero_at) | ((p > zero_at) & stick)
    x, y = jnp.where(still, 0, x), jnp.where(still, 0, y)

    def shown(a: Array, unit: Scalar) -> Array:
        extra = (1,) * (a.ndim - unit.ndim)
        unit, there = unit.reshape(unit.shape + extra), case.approaching.reshape(unit.shape + extra)
        return jnp.where(there, a * unit, jnp.nan)

    return Path(
        shown(p, case.impulse_unit),
        shown(jnp.stack([x, y], -1), case.velocity_unit),
        shown(v, case.velocity_unit),
        shown(jnp.stack([ix, iy, p], -1), case.impulse_unit),
        shown(work, case.work_unit),
        Events(*(shown(a, case.impulse_unit) for a in events)),
    )


def _spaced(events: Events, samples: int) -> Float[Array, "... samples"]:
    """Normal impulses from 0 to the end; if there is room for them, the events are among them."""
    inner = jnp.stack(events[:-1], -1)
    count = inner.shape[-1] if samples >= ROOMY else 0
    even = jnp.linspace(0, 1, samples - count, dtype=inner.dtype)
    spare = (jnp.arange(count) + 0.5).astype(inner.dtype) / len(events)
    end = events.end[..., None]
    inner = jnp.where(jnp.isnan(inner[..., :count]), end * spare, inner[..., :count])
    return jnp.sort(jnp.concatenate([end * even, inner], -1), axis=-1)


def _at(solution: Solution, steps: Steps, p: Scalar, order: int) -> tuple[Scalar, Scalar, Scalar]:
    """Tangential impulse and normal work (scaled) at the normal impulse p of each lane."""
    end, lane, last, _ = solution
    started = steps.before.books.impulse <= p
    index = jnp.maximum(started.sum(0) - 1, 0)
    pick = lambda a: jnp.take_along_axis(a, index[None], 0)[0] if a.ndim > index.ndim else a[0]  # noqa: E731
    at, length = jax.tree.map(pick, steps.before), pick(steps.length)
    series, V = series_at(lane, at, order)
    rising = [series.scale * (q + h) for q, h in zip(series.Q, series.H, strict=True)]
    rising[0] = at.books.impulse - p
    t = root_in(
        rising, length, divide(p - at.books.impulse, series.scale), 16 * jnp.finfo(p.dtype).eps * p, NEWTON_STEPS
    )
    t = jnp.where(horner(rising, length) > 0, t, length)  # at the end of a step up to round-off
    booked = at.books.compression_work + at.books.restitution_work
    _, ix, iy = impulse_at(series, t)
    inside = (at.ix + ix, at.iy + iy, booked + work_done(V, speed_series(series), series.scale, t))

    p1, ix1, iy1 = last.books.impulse, end.line_ix, end.line_iy
    p2 = jnp.where(end.reaches_zero, end.zero_at, end.books.impulse)
    ix2, iy2 = jnp.where(end.reaches_zero, end.zero_ix, end.ix), jnp.where(end.reaches_zero, end.zero_iy, end.iy)
    v1, v2 = velocity_at(lane, ix1, iy1, p1)[2], velocity_at(lane, ix2, iy2, p2)[2]
    done = last.books.compression_work + last.books.restitution_work
    corner = (ix1, iy1, done, p1, v1), (ix2, iy2, done + 0.5 * (v1 + v2) * (p2 - p1), p2, v2)
    final = (end.ix, end.iy, end.books.compression_work + end.books.restitution_work, end.books.impulse, end.v)
    straight = _between(*corner, p), _between(corner[1], final, p)
    tail = tuple(jnp.where(p <= p2, a, b) for a, b in zip(*straight, strict=True))
    ix, iy, work = (jnp.where(p <= p1, a, b) for a, b in zip(inside, tail, strict=True))
    return ix, iy, work


def _between(a: tuple[Scalar, ...], b: tuple[Scalar, ...], p: Scalar) -> tuple[Scalar, ...]:
    """Tangential impulse (linear) and work (quadratic) at p on the straight piece from a to b."""
    share = divide(p - a[3], b[3] - a[3])
    v = a[4] + share * (b[4] - a[4])
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + 0.5 * (a[4] + v) * (p - a[3])
