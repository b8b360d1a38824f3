"""Inverse inertia at the contact point: W with du = W dp, of two rigid bodies or of generalised coordinates.

W is 3x3, symmetric, in contact axes (rows t1, t2, n of `contact_frame`), 1/kg. For two bodies

    W = sum over both of  1/m + R [r]x^T I^-1 [r]x R^T,     [r]x the matrix of r x

(Mirtich 1996, section 3.2), and for generalised speeds q with contact velocity u = J q

    W = J M^-1 J^T.

| symbol | meaning | shape |
|---|---|---|
| u, p | relative velocity of the contact points (m/s); impulse on body a (N s); contact frame | (3,) |
| R, r, m, I | contact rotation, lever arm, mass, inertia, as in `contact.body` | |
| M, q | mass matrix, symmetric positive definite; generalised speeds | (n,n), (n,) |
| J | contact Jacobian, rows along t1, t2, n; in the plane t, n | (3,n), (2,n) |
| L | Cholesky factor of M = L L^T, as a list of columns from the diagonal down | n, n-1, .., 1 |

Linear algebra is unrolled into array operations, n steps for n coordinates, so that it compiles to plain
arithmetic on every device. The helpers are jitted so that a call outside `jax.jit` compiles a few functions, not
hundreds of single operations.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from jimpact.contact.body import (
    Body,
    axes_of,
    check_batch,
    checked_bodies,
    checked_contact,
    floating,
    mobility,
    symmetric_part,
    transform,
)
from jimpact.numerics import sqrt
from jimpact.types import Array, ArrayLike, Flag, Matrix3, Vector3

__all__ = [
    "checked_pairs",
    "generalized_velocity_after",
    "in_space",
    "inverse_inertia",
    "inverse_inertia_contacts",
    "inverse_inertia_generalized",
]


def inverse_inertia(body_a: Body, body_b: Body, point: Vector3, normal: Vector3) -> Matrix3:
    """W of two rigid bodies that touch at `point`, contact frame, 1/kg.

    `point` is in world axes (m), `normal` the unit normal in world axes from body b into body a. An immovable body
    adds exactly zero. If a mass is not positive, an inertia not positive definite, or the normal zero, W is nan.
    """
    a, b, point, normal = checked_contact(body_a, body_b, point, normal)
    frame, usable = axes_of(normal)
    return jnp.where(usable[..., None, None], _share(a, point, frame) + _share(b, point, frame), jnp.nan)


def inverse_inertia_generalized(
    mass_matrix: Float[Array, "... n n"], jacobian: Float[Array, "... k n"]
) -> Float[Array, "... k k"]:
    """W = J M^-1 J^T in the contact frame, exactly symmetric, 1/kg.

    `jacobian` maps generalised speeds to the relative velocity of the contact points (of body a relative to body b)
    along t1, t2, n, or in the plane (k = 2) along t, n. If `mass_matrix` is not symmetric positive definite, W is nan,
    with zero derivative. If the mechanism cannot move in all k directions, J and W are singular.
    """
    mass_matrix, jacobian = _checked_coordinates(mass_matrix, jacobian)
    factor, definite = _cholesky(mass_matrix)
    y = _forward(factor, jnp.swapaxes(jacobian, -1, -2))
    w = jnp.sum(y[..., :, :, None] * y[..., :, None, :], -3)
    return jnp.where(definite[..., None, None], w, jnp.nan)


def generalized_velocity_after(
    mass_matrix: Float[Array, "... n n"],
    jacobian: Float[Array, "... k n"],
    velocity: Float[Array, "... n"],
    impulse: Float[Array, "... k"],
) -> Float[Array, "... n"]:
    """Generalised speeds q + M^-1 J^T p after `impulse` p (contact frame, on body a, N s), in the units of `velocity`.

    If `mass_matrix` is not symmetric positive definite, the result is nan, with zero derivative.
    """
    mass_matrix, jacobian = _checked_coordinates(mass_matrix, jacobian)
    velocity = floating("velocity", velocity, (jacobian.shape[-1],))
    impulse = floating("impulse", impulse, (jacobian.shape[-2],))
    check_batch(
        mass_matrix=mass_matrix.shape[:-2],
        jacobian=jacobian.shape[:-2],
        velocity=velocity.shape[:-1],
        impulse=impulse.shape[:-1],
    )
    factor, definite = _cholesky(mass_matrix)
    push = transform(jnp.swapaxes(jacobian, -1, -2), impulse)
    change = _backward(factor, _forward(factor, push[..., None]))[..., 0]
    return jnp.where(definite[..., None], velocity + change, jnp.nan)


def inverse_inertia_contacts(
    bodies: Body, pairs: Sequence[tuple[int, int]], points: Float[Array, "... k 3"], normals: Float[Array, "... k 3"]
) -> Float[Array, "... k k 3 3"]:
    """Inverse inertia across k contacts that share bodies: block (i, j) is the velocity change at i per impulse at j.

    `bodies` holds all bodies along its last batch axis, and contact i is between the bodies pairs[i] = (a, b), with
    the normal from b into a. Each block is in the contact frames of its two contacts. Block (i, i) is
    `inverse_inertia` of the contact alone.
    """
    pairs = checked_pairs(pairs)
    points, normals = floating("points", points, (len(pairs), 3)), floating("normals", normals, (len(pairs), 3))
    bodies = checked_bodies(bodies)
    count = bodies.mass.shape[-1]
    if any(not 0 <= body < count for pair in pairs for body in pair):
        raise ValueError(f"pairs names a body that is not there; pass indices from 0 to {count - 1}")
    frame, usable = axes_of(normals)
    inverse_mass, inverse = mobility(bodies)
    total = jnp.zeros((), points.dtype)
    sides = [jnp.asarray([pair[side] for pair in pairs]) for side in (0, 1)]
    twists = [jnp.cross((points - bodies.position[..., side, :])[..., None, :], frame) for side in sides]
    inner = lambda a, b: jnp.sum(a[..., :, None, :, None, :] * b[..., None, :, None, :, :], -1)  # noqa: E731
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):  # sides of two contacts that may be the same body
        same = jnp.where(sides[i][:, None] == sides[j][None, :], 1 if i == j else -1, 0)[..., None, None]
        mass, turn = inverse_mass[..., sides[i], None, None, None], inverse[..., sides[i], None, :, :]
        total = total + same * (mass * inner(frame, frame) + inner(transform(turn, twists[i]), twists[j]))
    return jnp.where((usable[..., :, None] & usable[..., None, :])[..., None, None], total, jnp.nan)


def checked_pairs(pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """At least one pair of different whole numbers; an error says what to pass."""
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer) or not len(array):
        raise ValueError(f"pairs={pairs!r}; pass (a, b) for each contact, at least one: indices of the two bodies")
    if (array[:, 0] == array[:, 1]).any():
        raise ValueError(f"pairs={pairs!r}; a body cannot touch itself, pass two different indices")
    return tuple((int(a), int(b)) for a, b in array)


@jax.jit
def _share(body: Body, point: Vector3, frame: Matrix3) -> Matrix3:
    """The share of one body in W: 1/m + (r x t_k) . I^-1 (r x t_l), with t_k the rows of the frame."""
    inverse_mass, inverse = mobility(body)
    twist = jnp.cross((point - body.position)[..., None, :], frame)
    turn = transform(inverse[..., None, :, :], twist)
    w = jnp.sum(twist[..., :, None, :] * turn[..., None, :, :], -1)
    return inverse_mass[..., None, None] * jnp.eye(3, dtype=w.dtype) + 0.5 * (w + jnp.swapaxes(w, -1, -2))


def _checked_coordinates(mass_matrix: Array, jacobian: Array) -> tuple[Array, Array]:
    """Both as arrays of floats of matching shapes; an error says what to pass."""
    rows, n = jnp.shape(jacobian)[-2:] if jnp.ndim(jacobian) > 1 else (3, 0)
    jacobian = floating("jacobian", jacobian, (2 if rows == 2 else 3, n))
    mass_matrix = floating("mass_matrix", mass_matrix, (n, n))
    check_batch(mass_matrix=mass_matrix.shape[:-2], jacobian=jacobian.shape[:-2])
    return mass_matrix, jacobian


@jax.jit
def _cholesky(matrix: Array) -> tuple[list[Array], Flag]:
    """Columns of L, and whether the matrix is symmetric positive definite; if not, the columns are harmless.

    A pivot within n rounding errors of its diagonal entry counts as zero, in any units.
    """
    rest, definite = symmetric_part(matrix)
    n = matrix.shape[-1]
    smallest = n * jnp.finfo(matrix.dtype).eps * lax.stop_gradient(jnp.diagonal(rest, axis1=-2, axis2=-1))
    columns = []
    for j in range(n):
        pivot = rest[..., :1, 0]
        good = pivot > smallest[..., j : j + 1]
        unit = jnp.eye(1, n - j, dtype=matrix.dtype)[0]
        column = jnp.where(good, rest[..., :, 0] / sqrt(jnp.where(good, pivot, 1)), unit)
        rest = rest[..., 1:, 1:] - column[..., 1:, None] * column[..., None, 1:]
        columns.append(column)
        definite = definite & good[..., 0]
    return columns, definite


@jax.jit
def _forward(factor: list[Array], right: Array) -> Array:
    """Y with L Y = right, of shape (..., n, k)."""
    rows = []
    for column in factor:
        row = right[..., :1, :] / column[..., :1, None]
        right = right[..., 1:, :] - column[..., 1:, None] * row
        rows.append(row)
    return jnp.concatenate(jnp.broadcast_arrays(*rows), -2)


@jax.jit
def _backward(factor: list[Array], right: Array) -> Array:
    """X with L^T X = right, of shape (..., n, k)."""
    rows = right[..., :0, :]
    for j in reversed(range(len(factor))):
        column = factor[j]
        known = jnp.sum(column[..., 1:, None] * rows, -2, keepdims=True)
        row = (right[..., j : j + 1, :] - known) / column[..., :1, None]
        rows = jnp.concatenate([row, rows], -2)
    return rows


def in_space(K: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """The plane in space, with a second tangential direction that is not coupled to the others."""
    K, v = jnp.asarray(K), jnp.asarray(v)
    a, zero = K[..., 0, 0], jnp.zeros_like(K[..., 0, 0])
    rows = ((a, zero, K[..., 0, 1]), (zero, a, zero), (K[..., 1, 0], zero, K[..., 1, 1]))
    W = jnp.stack([jnp.stack(row, -1) for row in rows], -2)
    return W, jnp.stack([v[..., 0], jnp.zeros_like(v[..., 0]), v[..., 1]], -1)
