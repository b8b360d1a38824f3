"""The nearest points of two convex hulls, by the method of Gilbert, Johnson and Keerthi (1988).

The distance of the hulls is that of the origin from the hull of all differences y of their points. The method keeps a
simplex of at most three differences. In each iteration it adds the difference that is furthest towards the origin, and
reduces the simplex to the face nearest to the origin, with weights of at least zero. The method ends when no difference
is further towards the origin.

`nearest` finds the simplex, which has no derivative. For a given simplex `witnesses` are smooth functions of the
points.
"""

from itertools import combinations
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float, Int

from jimpact.contact.body import transform
from jimpact.control_flow import anywhere
from jimpact.numerics import divide
from jimpact.types import Array, Flag, Matrix3, Vector3

__all__ = ["Simplex", "first_corners", "nearest", "witnesses"]

SLOTS = 4  # three corners, and a new one
_FACES = [face for size in (1, 2, 3) for face in combinations(range(SLOTS), size)]
SIZES = np.array([len(face) for face in _FACES])
FACES = np.array([face + face[:1] * (3 - len(face)) for face in _FACES])  # padded with a corner that does not count
PLACES = np.array(
    [[[float(i < len(face) and face[i] == j) for j in range(SLOTS)] for i in range(3)] for face in _FACES]
)
ITERATIONS = 64
TOLERANCE = 16  # x epsilon: less progress is round-off
FLAT = 64  # x epsilon: a triangle with less area, relative to its sides, counts as a line


class Simplex(NamedTuple):
    """Up to three pairs of points, one point of each hull, and flags of the pairs that are used."""

    a: Int[Array, "... 4"]
    b: Int[Array, "... 4"]
    used: Flag


def nearest(a: Float[Array, "... k 3"], b: Float[Array, "... l 3"], guess: Simplex | None = None) -> Simplex:
    """The simplex in which two hulls that do not overlap are nearest; a good guess shortens the search."""
    a, b = lax.stop_gradient((a, b))
    y = (a[..., :, None, :] - b[..., None, :, :]).reshape((*a.shape[:-2], a.shape[-2] * b.shape[-2], 3))
    size = jnp.max(jnp.sum(y * y, -1), -1)

    def step(state: _State) -> _State:
        corners = jnp.take_along_axis(y, state.corner[..., None], -2)
        weights = _weights(corners, state.used)
        v = jnp.sum(weights[..., None] * corners, -2)
        towards = jnp.sum(y * v[..., None, :], -1)
        furthest = jnp.argmin(towards, -1).astype(jnp.int32)
        progress = jnp.sum(v * v, -1) - jnp.min(towards, -1)
        kept = weights > 0
        known = (kept & (state.corner == furthest[..., None])).any(-1)
        open_ = state.open & ~known & (progress > TOLERANCE * jnp.finfo(y.dtype).eps * size)
        slot = jnp.argmin(kept, -1)[..., None] == jnp.arange(SLOTS)
        added = slot & open_[..., None]
        choose = state.open[..., None]
        used = jnp.where(choose, kept | added, state.used)
        corner = jnp.where(added, furthest[..., None], state.corner)
        return _State(state.steps + 1, corner, used, open_)

    def more(state: _State) -> Flag:
        return anywhere(state.open) & (state.steps < ITERATIONS)

    guess = first_corners(size.shape) if guess is None else guess
    if y.shape[-2] == 1:
        return guess
    corner = guess.a * b.shape[-2] + guess.b
    last = lax.while_loop(more, step, _State(jnp.zeros((), jnp.int32), corner, guess.used, jnp.ones(size.shape, bool)))
    return Simplex(last.corner // b.shape[-2], last.corner % b.shape[-2], last.used)


def first_corners(batch: tuple[int, ...]) -> Simplex:
    """The first point of each hull."""
    none = jnp.zeros((*batch, SLOTS), jnp.int32)
    return Simplex(none, none, none == jnp.arange(SLOTS))


class _State(NamedTuple):
    steps: Array
    corner: Array
    used: Flag
    open: Flag


def witnesses(
    a: Float[Array, "... k 3"], b: Float[Array, "... l 3"], simplex: Simplex, stretch: Matrix3 | None = None
) -> tuple[Vector3, Vector3]:
    """The nearest points of both hulls; with `stretch`, nearest after that linear map."""
    if a.shape[-2] == b.shape[-2] == 1:
        return a[..., 0, :], b[..., 0, :]
    of_a = jnp.take_along_axis(a, simplex.a[..., None], -2)
    of_b = jnp.take_along_axis(b, simplex.b[..., None], -2)
    corners = of_a - of_b if stretch is None else transform(stretch[..., None, :, :], of_a - of_b)
    weights = _weights(corners, simplex.used)[..., None]
    return jnp.sum(weights * of_a, -2), jnp.sum(weights * of_b, -2)


def _weights(corners: Float[Array, "... 4 3"], used: Flag) -> Float[Array, "... 4"]:
    """Weights of the corners at the point of their hull that is nearest to the origin."""
    y = corners[..., FACES, :]
    weights = _on_faces(y)
    inside = (weights >= 0).all(-1) & used[..., FACES].all(-1)
    v = jnp.sum(weights[..., None] * y, -2)
    square = lax.stop_gradient(jnp.where(inside, jnp.sum(v * v, -1), jnp.inf))
    full = jnp.sum(weights[..., None] * jnp.asarray(PLACES, y.dtype), -2)
    return jnp.take_along_axis(full, jnp.argmin(square, -1)[..., None, None], -2)[..., 0, :]


def _on_faces(y: Float[Array, "... f 3 3"]) -> Float[Array, "... f 3"]:
    """Weights at the point nearest to the origin in the plane, line or point through the corners of each face."""
    dot = lambda a, b: jnp.sum(a * b, -1)  # noqa: E731
    first, e, f = y[..., 0, :], y[..., 1, :] - y[..., 0, :], y[..., 2, :] - y[..., 0, :]
    ee, ef, ff, ey, fy = dot(e, e), dot(e, f), dot(f, f), dot(e, first), dot(f, first)
    area = ee * ff - ef * ef
    area = jnp.where(area > FLAT * jnp.finfo(area.dtype).eps * ee * ff, area, 0)  # else its sides suffice
    s = jnp.where(SIZES == 3, divide(ef * fy - ff * ey, area, -1.0), divide(-ey, ee, -1.0))
    s = jnp.where(SIZES == 1, 0, s)
    t = jnp.where(SIZES == 3, divide(ef * ey - ee * fy, area, -1.0), 0)
    return jnp.stack([1 - s - t, s, t], -1)
