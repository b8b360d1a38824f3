"""Two bodies that touch at one point: the contact frame, the relative velocity, and the effect of an impulse.

World quantities are in one right-handed inertial frame. Contact quantities are along the rows t1, t2, n of
`contact_frame`, where n is the unit normal from body b into body a. All units are SI. Fields and arguments broadcast
over leading axes, so that one ground serves a whole batch.

| symbol | meaning | shape | unit |
|---|---|---|---|
| m, I | mass; inertia about the centre of mass, world axes | (), (3,3) | kg, kg m^2 |
| r | from the centre of mass to the contact point, world axes | (3,) | m |
| R | rotation from world to contact axes, rows t1, t2, n | (3,3) | 1 |
| p | impulse on body a, contact frame; body b receives -p | (3,) | N s |
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jimpact.types import Array, Flag, Matrix3, Scalar, Vector3
from jimpact.validation import check_batch, floating

__all__ = ["Body", "apply_impulse", "contact_frame", "immovable", "mobility", "point_velocity", "relative_velocity"]
__all__ += [
    "axes_of",
    "checked_bodies",
    "checked_contact",
    "definite_inverse",
    "symmetric_part",
    "transform",
    "transform_back",
]  # includes helpers that other packages import


class Body(NamedTuple):
    """A rigid body. With infinite mass it does not translate; with an infinite inertia diagonal it does not rotate."""

    mass: Scalar  # kg
    inertia: Matrix3  # about the centre of mass, world axes, kg m^2
    position: Vector3  # of the centre of mass, m
    velocity: Vector3  # of the centre of mass, m/s
    angular_velocity: Vector3  # rad/s


# Shapes of the fields after the batch axes.
BODY_TAILS: tuple[tuple[int, ...], ...] = ((), (3, 3), (3,), (3,), (3,))


def immovable(batch: tuple[int, ...] = (), dtype: DTypeLike | None = None) -> Body:
    """A body that no impulse moves, such as the ground: infinite mass and inertia, at rest at the origin.

    Without `dtype` its numbers are weakly typed and take the precision of the other body. A wall or racket
    with a prescribed motion is `immovable()._replace(velocity=..., angular_velocity=..., position=...)`.
    """
    infinite, zero = (jnp.asarray(value, dtype) for value in (jnp.inf, 0.0))
    inertia = jnp.where(jnp.eye(3, dtype=bool), infinite, zero)
    fields = Body(infinite, inertia, zero, zero, zero)
    return Body(*(jnp.broadcast_to(field, batch + tail) for field, tail in zip(fields, BODY_TAILS, strict=True)))


def contact_frame(normal: Vector3) -> Matrix3:
    """Rotation from world to contact axes: rows t1, t2, n, orthonormal with t1 x t2 = n.

    The construction is that of Duff et al. (2017), "Building an Orthonormal Basis, Revisited": no normal is singular
    and the derivative is finite everywhere. Since no continuous choice of tangents exists on the sphere, t1 and t2 jump
    where n_z changes sign; n_z = 0 and n_z = -0 both belong to the upper side. The jump does not affect results in
    world axes, because friction is isotropic. A normal of another length is scaled to unit length; if it is zero the
    frame is nan, with zero derivative.
    """
    frame, usable = axes_of(floating("normal", normal, (3,)))
    return jnp.where(usable[..., None, None], frame, jnp.nan)


def axes_of(normal: Vector3) -> tuple[Matrix3, Flag]:
    """`contact_frame`, and whether the normal is valid; if not, a harmless frame."""
    size = lax.stop_gradient(
        jnp.max(jnp.abs(normal), -1, keepdims=True)
    )  # the squares of the others neither underflow nor overflow
    usable = (size > 0) & (size < jnp.inf)
    upright = jnp.asarray([0, 0, 1], normal.dtype)
    scaled = jnp.where(usable, normal / jnp.where(usable, size, 1), upright)
    x, y, z = jnp.moveaxis(scaled / jnp.sqrt(jnp.sum(scaled * scaled, -1, keepdims=True)), -1, 0)
    s = jnp.where(z < 0, -1, 1).astype(z.dtype)
    a = -1 / (s + z)  # |s + z| >= 1
    b = x * y * a
    t1 = jnp.stack([1 + s * x * x * a, s * b, -s * x], -1)
    t2 = jnp.stack([b, s + y * y * a, -y], -1)
    return jnp.stack([t1, t2, jnp.stack([x, y, z], -1)], -2), usable[..., 0]


def relative_velocity(body_a: Body, body_b: Body, point: Vector3, normal: Vector3) -> Vector3:
    """Velocity of body a's contact point relative to body b's, contact frame, m/s. Approaching: component 2 < 0.

    `point` is the contact point in world axes (m), `normal` the unit normal in world axes from b into a.
    """
    a, b, point, normal = checked_contact(body_a, body_b, point, normal)
    frame, usable = axes_of(normal)
    relative = transform(frame, point_velocity(a, point) - point_velocity(b, point))
    return jnp.where(usable[..., None], relative, jnp.nan)


def apply_impulse(body_a: Body, body_b: Body, point: Vector3, normal: Vector3, impulse: Vector3) -> tuple[Body, Body]:
    """The two bodies just after `impulse` acts on body a at `point`, and its opposite on body b.

    `impulse` is in the contact frame of `normal`, N s. Positions, masses and inertias are unchanged; the velocities
    take the common batch shape. Immovable bodies keep their velocity exactly.
    """
    a, b, point, normal, impulse = checked_contact(body_a, body_b, point, normal, impulse=impulse)
    frame, usable = axes_of(normal)
    world = jnp.where(usable[..., None], transform(jnp.swapaxes(frame, -1, -2), impulse), jnp.nan)
    return _pushed(a, point, world), _pushed(b, point, -world)


@jax.jit
def mobility(body: Body) -> tuple[Scalar, Matrix3]:
    """1/m and the inverse of I (world axes), exactly zero with zero derivative if m or I is infinite.

    If the mass is not positive, or I is not symmetric positive definite, or only part of its diagonal is
    infinite, the value is nan, with zero derivative.
    """
    m, held = body.mass, jnp.all(jnp.isposinf(jnp.diagonal(body.inertia, axis1=-2, axis2=-1)), -1)[..., None, None]
    light = (m > 0) & (m < jnp.inf)
    inverse_mass = jnp.where(light, 1 / jnp.where(light, m, 1), jnp.where(m == jnp.inf, 0, jnp.nan))
    inverse, definite = definite_inverse(jnp.where(held, jnp.eye(3, dtype=body.inertia.dtype), body.inertia))
    return inverse_mass, jnp.where(held, 0, jnp.where(definite[..., None, None], inverse, jnp.nan))


def symmetric_part(matrix: Array) -> tuple[Array, Flag]:
    """(M + M^T) / 2, and whether M is symmetric to rounding; if not, the identity as a harmless input.

    The tolerance, sqrt(eps) times sqrt(M_ii M_jj), does not depend on the units of the coordinates.
    """
    transpose = jnp.swapaxes(matrix, -1, -2)
    diagonal = lax.stop_gradient(jnp.sqrt(jnp.diagonal(matrix, axis1=-2, axis2=-1)))
    bound = jnp.finfo(matrix.dtype).eps ** 0.5 * diagonal[..., :, None] * diagonal[..., None, :]
    symmetric = jnp.all(jnp.abs(matrix - transpose) <= bound, (-1, -2))
    identity = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
    return jnp.where(symmetric[..., None, None], 0.5 * (matrix + transpose), identity), symmetric


def transform(matrix: Array, vector: Array) -> Array:
    """Matrix times vector by sums, in full precision on every device; a dot product may round to bfloat16."""
    return jnp.sum(matrix * vector[..., None, :], -1)


def transform_back(axes: Matrix3, vector: Vector3) -> Vector3:
    """The transpose of the matrix times vector: a vector of the world in the axes of a body."""
    return jnp.sum(axes * vector[..., :, None], -2)


def checked_contact(body_a: Body, body_b: Body, point: Vector3, normal: Vector3, **vectors: Vector3) -> tuple:
    """The arguments, in order, as arrays of one float dtype and the right shapes; an error says what to pass."""
    a, batch_a = _checked_body("body_a", body_a)
    b, batch_b = _checked_body("body_b", body_b)
    vectors = {name: floating(name, v, (3,)) for name, v in {"point": point, "normal": normal, **vectors}.items()}
    check_batch(body_a=batch_a, body_b=batch_b, **{name: v.shape[:-1] for name, v in vectors.items()})
    arguments = (a, b, *vectors.values())
    dtype = jnp.result_type(*jax.tree.leaves(arguments))
    return jax.tree.map(lambda x: x.astype(dtype), arguments)


def checked_bodies(bodies: Body) -> Body:
    """A batch of bodies with fields of one batch shape; an error says what to pass."""
    batch = _checked_body("bodies", bodies)[1] if isinstance(bodies, Body) else ()
    if not batch:
        raise TypeError("bodies is not a batch of bodies; pass one Body whose fields have all bodies along an axis")
    fields = zip(_checked_body("bodies", bodies)[0], BODY_TAILS, strict=True)
    return Body(*(jnp.broadcast_to(field, batch + tail) for field, tail in fields))


def _checked_body(name: str, body: Body) -> tuple[Body, tuple[int, ...]]:
    """`body` as arrays of floats, and its batch shape."""
    if not isinstance(body, Body):
        raise TypeError(f"{name} must be a Body, got {type(body).__name__}")
    tails = dict(zip(Body._fields, BODY_TAILS, strict=True))
    fields = {key: floating(f"{name}.{key}", value, tails[key]) for key, value in body._asdict().items()}
    leading = {key: value.shape[: value.ndim - len(tails[key])] for key, value in fields.items()}
    check_batch(**{f"{name}.{key}": shape for key, shape in leading.items()})
    return Body(**fields), jnp.broadcast_shapes(*leading.values())


@jax.jit
def point_velocity(body: Body, point: Vector3) -> Vector3:
    """Velocity of the body's material point at `point`, world axes."""
    return body.velocity + jnp.cross(body.angular_velocity, point - body.position)


@jax.jit
def _pushed(body: Body, point: Vector3, impulse: Vector3) -> Body:
    """The body after a world-axes impulse at `point`."""
    inverse_mass, inverse = mobility(body)
    turn = transform(inverse, jnp.cross(point - body.position, impulse))
    velocity = body.velocity + inverse_mass[..., None] * impulse
    return body._replace(velocity=velocity, angular_velocity=body.angular_velocity + turn)


def definite_inverse(inertia: Matrix3) -> tuple[Matrix3, Flag]:
    """The inverse, and whether the matrix is symmetric positive definite; if not, a harmless inverse."""
    sym, symmetric = symmetric_part(inertia)
    # The result does not depend on the scale, which keeps the determinant of a millimetre bead in the range of float32.
    scale = lax.stop_gradient(jnp.max(jnp.diagonal(sym, axis1=-2, axis2=-1), -1))[..., None, None]
    scale = jnp.where(scale > 0, scale, 1)
    c0, c1, c2 = jnp.moveaxis(sym / scale, -1, 0)
    adjugate = jnp.stack([jnp.cross(c1, c2), jnp.cross(c2, c0), jnp.cross(c0, c1)], -2)
    determinant = jnp.sum(c0 * adjugate[..., 0, :], -1)
    definite = symmetric & (c0[..., 0] > 0) & (adjugate[..., 2, 2] > 0) & (determinant > 0)
    return adjugate / jnp.where(definite, determinant, 1)[..., None, None] / scale, definite
