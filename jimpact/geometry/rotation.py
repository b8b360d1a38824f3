"""Orientation of a body, and its free rotation.

Quaternions are (w, x, y, z), of unit length, and rotate body axes to world axes. A free body keeps its angular
momentum; in body axes the spin obeys Euler's equations, I s' = (I s) x s, and the orientation q' = q (0, s) / 2.
`free_rotation` solves both by Gauss collocation with steps so short that its error is round-off, for every body, spin
and time, also if principal moments agree or the rotation is nearly unstable. Energy, the square of the angular momentum
and the length of the quaternion are quadratic invariants, which this collocation conserves.

| letter | meaning                                                  | shape  | unit   |
|--------|----------------------------------------------------------|--------|--------|
| I, J   | inertia about the centre of mass, its inverse; body axes | (3, 3) | kg m^2 |
| s      | angular velocity in body axes                            | (3,)   | rad/s  |
| q      | orientation relative to that at time 0                   | (4,)   | 1      |
| A, b   | weights of the integrals from 0 to each node, and to 1   | (n, n), (n,) | 1 |
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from jimpact.contact.body import definite_inverse, transform
from jimpact.numerics import gauss
from jimpact.types import Array, Matrix3, Scalar, Vector3

__all__ = [
    "Motion",
    "free_rotation",
    "greatest_spin",
    "quaternion_product",
    "rotated",
    "rotation_matrix",
    "steady_rotation",
]

NODES = 8
ANGLE = 0.5  # rad per step: no pole of the solution is nearer than sqrt(3)
ITERATIONS = 18  # fixed-point iterations, whose error falls like 1 / n!
MOST = 10_000  # steps: 5,000 rad in one flight
ROUGH = 1e-6  # relative difference above round-off of principal moments that nearly agree


_, B, A = gauss(NODES)

# Directions of the Jacobian: the six entries of a symmetric inertia, then the three of the spin.
ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
DIRECTIONS = (
    np.stack(
        [[[float({i, j} == {k, l} and (k == l) == (i == j)) for l in range(3)] for k in range(3)] for i, j in ENTRIES]
        + [np.zeros((3, 3))] * 3
    ),
    np.concatenate([np.zeros((6, 3)), np.eye(3)]),
)

Rotation = tuple[Array, Vector3]


class Motion(NamedTuple):
    """Position, orientation, velocity and spin of a body."""

    position: Vector3  # of the centre of mass, m
    orientation: Float[Array, "... 4"]  # unit quaternion w, x, y, z: body axes to world axes
    velocity: Vector3  # of the centre of mass, m/s
    angular_velocity: Vector3  # world axes, rad/s


def quaternion_product(a: Array, b: Array) -> Array:
    """a b, which is the rotation b followed by the rotation a."""
    w = a[..., :1] * b[..., :1] - jnp.sum(a[..., 1:] * b[..., 1:], -1, keepdims=True)
    return jnp.concatenate(
        [w, a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + jnp.cross(a[..., 1:], b[..., 1:])], -1
    )


def rotation_matrix(q: Array) -> Matrix3:
    """The matrix that maps components in body axes to world axes."""
    w, x, y, z = jnp.moveaxis(q, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


def rotated(q: Array, vector: Vector3) -> Vector3:
    """Components in world axes of a vector in body axes."""
    return transform(rotation_matrix(q), vector)


def steady_rotation(spin: Vector3, time: Scalar) -> Array:
    """The quaternion of a constant spin over a time; its derivative is finite also at zero spin."""
    half = 0.5 * spin * time[..., None]
    square = jnp.sum(half * half, -1, keepdims=True)
    small = square < 1e-6  # three terms of the series are exact
    angle = jnp.sqrt(jnp.where(small, 1, square))
    cosine = jnp.where(small, 1 - square / 2 * (1 - square / 12 * (1 - square / 30)), jnp.cos(angle))
    sine = jnp.where(small, 1 - square / 6 * (1 - square / 20 * (1 - square / 42)), jnp.sin(angle) / angle)
    return jnp.concatenate([cosine, sine * half], -1)


@jax.custom_jvp
def free_rotation(inertia: Matrix3, spin: Vector3, time: Scalar) -> Rotation:
    """Rotation of a free body during `time`: the quaternion in the body axes at the start, and the spin after.

    Arguments have one batch shape. The result is nan for a body that would turn by more than 5,000 rad.
    """
    return _turned(inertia, spin, time)


@free_rotation.defjvp
def _free_rotation_jvp(primals: tuple, tangents: tuple) -> tuple[Rotation, Rotation]:
    """The Jacobian is computed along with the steps; the rest is linear in the tangents, and so has a transpose."""
    inertia, spin, time = primals

    def along(direction: tuple[Array, Array]) -> tuple[Rotation, Rotation]:
        directions = jax.tree.map(lambda d, a: jnp.broadcast_to(d, a.shape), direction, (inertia, spin))
        return jax.jvp(lambda inertia, spin: _turned(inertia, spin, time), (inertia, spin), directions)

    directions = (jnp.asarray(DIRECTIONS[0], spin.dtype), jnp.asarray(DIRECTIONS[1], spin.dtype))
    values, columns = jax.vmap(along, out_axes=(None, 0))(directions)
    change, turn, later = tangents
    change = 0.5 * (change + jnp.swapaxes(change, -1, -2))
    amounts = [change[..., i, j] for i, j in ENTRIES] + [turn[..., i] for i in range(3)]
    outs = tuple(
        sum((amount[..., None] * column[k] for k, amount in enumerate(amounts)), later[..., None] * rate)
        for column, rate in zip(columns, _rates(inertia, *values), strict=True)
    )
    return values, outs


def _rates(inertia: Matrix3, q: Array, s: Vector3) -> Rotation:
    """Time derivatives of orientation and spin."""
    inverse, _ = definite_inverse(inertia)
    moving = jnp.concatenate([jnp.zeros_like(s[..., :1]), s], -1)
    return 0.5 * quaternion_product(q, moving), transform(inverse, jnp.cross(transform(inertia, s), s))


def greatest_spin(inertia: Matrix3, spin: Vector3) -> Scalar:
    """Bound of |s| while the body is free; no derivative.

    The squares x of the components of the angular momentum along principal axes have constant sum x = L^2 and
    sum x / I = 2 E. So x moves on a segment, and |s|^2 = sum x / I^2 is greatest at one of its ends, where a component
    is zero.
    """
    inertia, spin = lax.stop_gradient((inertia, spin))
    momentum = transform(inertia, spin)
    square, twice = jnp.sum(momentum**2, -1), jnp.sum(momentum * spin, -1)
    moments = _principal_moments(inertia)
    greatest = jnp.sum(spin * spin, -1)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        i, j = 1 / moments[one], 1 / moments[other]
        apart = jnp.where(i > j, i - j, 1)
        x = (twice - square * j) / apart
        there = (i > j) & (x >= -ROUGH * square) & (x <= (1 + ROUGH) * square)
        x = jnp.clip(x, 0, square)
        greatest = jnp.where(there, jnp.maximum(greatest, x * i * i + (square - x) * j * j), greatest)
    return jnp.sqrt((1 + ROUGH) * greatest)


def _principal_moments(inertia: Matrix3) -> tuple[Scalar, Scalar, Scalar]:
    """Eigenvalues, least first, by the cosines of a third of an angle."""
    mean = jnp.trace(inertia, axis1=-2, axis2=-1) / 3
    apart = inertia - mean[..., None, None] * jnp.eye(3, dtype=inertia.dtype)
    size = jnp.sqrt(jnp.sum(apart * apart, (-1, -2)) / 6)
    a, b, c = jnp.moveaxis(apart / jnp.where(size > 0, size, 1)[..., None, None], -1, 0)
    angle = jnp.arccos(jnp.clip(jnp.sum(a * jnp.cross(b, c), -1) / 2, -1, 1)) / 3
    high, low = mean + 2 * size * jnp.cos(angle), mean + 2 * size * jnp.cos(angle + 2 * jnp.pi / 3)
    return low, 3 * mean - high - low, high


def _turned(inertia: Matrix3, spin: Vector3, time: Scalar) -> Rotation:
    inverse, _ = definite_inverse(inertia)
    angle = greatest_spin(inertia, spin) * jnp.abs(lax.stop_gradient(time))
    good = angle < ANGLE * MOST
    steps = jnp.clip(jnp.ceil(jnp.max(jnp.where(good, angle, 0), initial=0.0) / ANGLE), 1, MOST)
    h = time / steps
    still = jnp.zeros((*spin.shape[:-1], 4), spin.dtype).at[..., 0].set(1)

    def step(_: Array, turn: Rotation) -> Rotation:
        return _step(inertia, inverse, *turn, h)

    q, s = lax.fori_loop(0, steps.astype(jnp.int32), step, (still, spin))
    return jnp.where(good[..., None], q, jnp.nan), jnp.where(good[..., None], s, jnp.nan)


def _step(inertia: Matrix3, inverse: Matrix3, q: Array, s: Vector3, h: Scalar) -> Rotation:
    """One step; the quaternion is normalised against round-off."""
    entries = lambda m: [[m[..., i, j] for j in range(3)] for i in range(3)]  # noqa: E731
    I, J = entries(inertia), entries(inverse)
    start = [a[..., i] for a, n in ((q, 4), (s, 3)) for i in range(n)]

    def rates(state: list[Array]) -> list[Array]:
        (w, *v), spin = state[:4], state[4:]
        momentum = _times(I, spin)
        turn = [w * a + b for a, b in zip(spin, _cross(v, spin), strict=True)]
        turn = [-(v[0] * spin[0] + v[1] * spin[1] + v[2] * spin[2]), *turn]
        return [0.5 * a for a in turn] + _times(J, _cross(momentum, spin))

    def integral(weights: np.ndarray, rate: Array) -> Array:
        return h * jnp.tensordot(jnp.asarray(weights, rate.dtype), rate, 1, precision="highest")

    def iterate(_: Array, state: list[Array]) -> list[Array]:
        return [a + integral(A, rate) for a, rate in zip(start, rates(state), strict=True)]

    at_nodes = [jnp.broadcast_to(a, (NODES, *a.shape)) for a in start]
    at_nodes = lax.fori_loop(0, ITERATIONS, iterate, at_nodes)
    end = [a + integral(B, rate) for a, rate in zip(start, rates(at_nodes), strict=True)]
    q = jnp.stack(end[:4], -1)
    return q / jnp.sqrt(jnp.sum(q * q, -1, keepdims=True)), jnp.stack(end[4:], -1)


def _times(m: list[list[Array]], v: Sequence[Array]) -> list[Array]:
    return [row[0] * v[0] + row[1] * v[1] + row[2] * v[2] for row in m]


def _cross(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
