"""The input of a run: checked, brought to one batch shape, and made harmless in the lanes where it cannot be used."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.contact import check_batch, definite_inverse, floating
from jimpact.flight import Solid
from jimpact.rotation import Motion
from jimpact.shapes import Ellipsoid, Hull, Planes, Shape, Sphere, reach
from jimpact.types import Array, ArrayLike, Flag, Scalar, Vector3

__all__ = ["EXTRA", "Launch", "harmless", "launch"]

REST = 1e-3  # default `rest_speed`, in units of the speed that a fall by the size of the body gives
MOTION_TAILS = ((3,), (4,), (3,), (3,))
EXTRA = ("static_friction", "tangential_restitution", "mixing")


class Launch(NamedTuple):
    """Everything a run needs, of one batch shape and dtype."""

    solid: Solid
    motion: Motion
    planes: Planes
    gravity: Vector3
    duration: Scalar
    rest: Scalar
    extra: dict[str, Scalar]  # coefficients that only some laws have


def launch(
    solid: Solid,
    motion: Motion,
    planes: Planes,
    gravity: ArrayLike,
    duration: ArrayLike,
    rest_speed: ArrayLike | None,
    extra: dict[str, ArrayLike],
) -> Launch:
    """Check and broadcast, or raise with a sentence that says what to pass."""
    for name, value, kind in (("solid", solid, Solid), ("motion", motion, Motion), ("planes", planes, Planes)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} is a {type(value).__name__}; pass a jimpact.{kind.__name__}")
    arrays: dict[str, tuple[ArrayLike, tuple[int, ...]]] = {
        "solid.mass": (solid.mass, ()),
        "solid.inertia": (solid.inertia, (3, 3)),
        **{f"motion.{n}": (a, t) for (n, a), t in zip(motion._asdict().items(), MOTION_TAILS, strict=True)},
        **_plane_arrays(planes),
        **_shape_arrays(solid.shape),
        "gravity": (gravity, (3,)),
        "duration": (duration, ()),
        "rest_speed": (-1.0 if rest_speed is None else rest_speed, ()),
        **{name: (value, ()) for name, value in extra.items()},
    }
    found = _broadcast(arrays)
    take = lambda prefix: [a for name, a in found.items() if name.startswith(prefix + ".")]  # noqa: E731
    return Launch(
        Solid(found["solid.mass"], found["solid.inertia"], type(solid.shape)(*take("shape"))),
        Motion(*take("motion")),
        Planes(*take("planes")),
        found["gravity"],
        found["duration"],
        found["rest_speed"],
        {name: found[name] for name in extra},
    )


def harmless(given: Launch, default_rest: bool) -> tuple[Launch, Flag]:
    """Units made unit, and a ball at rest in the lanes that cannot be used; and which can."""
    given = given._replace(planes=_unit_planes(given.planes))
    if default_rest:
        given = given._replace(rest=REST * _fall(given))
    valid = _valid(given)
    given = jax.tree.map(lambda a, b: _where(valid, a, b), given, _ball(given))
    q = given.motion.orientation
    q = q / jnp.sqrt(jnp.sum(q * q, -1, keepdims=True))
    return given._replace(motion=given.motion._replace(orientation=q)), valid


def _shape_arrays(shape: Shape) -> dict[str, tuple[ArrayLike, tuple[int, ...]]]:
    if isinstance(shape, Sphere):
        return {"shape.radius": (shape.radius, ())}
    if isinstance(shape, Ellipsoid):
        return {"shape.semi_axes": (shape.semi_axes, (3,))}
    if not isinstance(shape, Hull):
        raise TypeError(f"solid.shape is a {type(shape).__name__}; pass a Sphere, an Ellipsoid, a Hull or box(...)")
    size = jnp.shape(shape.points)
    if len(size) < 2 or size[-1] != 3 or not size[-2]:
        raise ValueError(f"shape.points has shape {size}; pass (..., k, 3) with at least one point")
    return {"shape.points": (shape.points, size[-2:]), "shape.radius": (shape.radius, ())}


def _plane_arrays(planes: Planes) -> dict[str, tuple[ArrayLike, tuple[int, ...]]]:
    size = jnp.shape(planes.normal)
    if len(size) < 2 or size[-1] != 3 or not size[-2]:
        raise ValueError(f"planes.normal has shape {size}; pass (..., p, 3) with at least one plane")
    arrays: dict[str, tuple[ArrayLike, tuple[int, ...]]] = {"planes.normal": (planes.normal, size[-2:])}
    for name in Planes._fields[1:]:
        value = getattr(planes, name)
        if jnp.ndim(value) == 0 or jnp.shape(value)[-1] == 1:
            value = floating(f"planes.{name}", value, () if jnp.ndim(value) == 0 else (1,))
            value = jnp.broadcast_to(value, (*jnp.shape(value)[:-1], size[-2]))
        arrays[f"planes.{name}"] = (value, (size[-2],))
    return arrays


def _broadcast(arrays: dict[str, tuple[ArrayLike, tuple[int, ...]]]) -> dict[str, Array]:
    """Arrays of one floating dtype and one batch shape."""
    checked = {name: floating(name, value, tail) for name, (value, tail) in arrays.items()}
    tails = {name: tail for name, (_, tail) in arrays.items()}
    dtype = jnp.result_type(*checked.values())
    if dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"inputs have dtype {dtype}; pass float32 or float64")
    batches = {name: a.shape[: a.ndim - len(tails[name])] for name, a in checked.items()}
    check_batch(**batches)
    batch = jnp.broadcast_shapes(*batches.values())
    return {name: jnp.broadcast_to(a.astype(dtype), batch + tails[name]) for name, a in checked.items()}


def _unit_planes(planes: Planes) -> Planes:
    length = jnp.sqrt(jnp.sum(planes.normal**2, -1))
    usable = (length > 0) & (length < jnp.inf)
    safe = jnp.where(usable, length, 1)
    offset = jnp.where(usable, planes.offset / safe, jnp.nan)
    return planes._replace(normal=planes.normal / safe[..., None], offset=offset)


def _valid(given: Launch) -> Flag:
    """Finite numbers, of a body that can exist."""
    given = lax.stop_gradient(given)
    solid, planes, q = given.solid, given.planes, given.motion.orientation
    batch = given.duration.ndim
    finite = jnp.ones(given.duration.shape, bool)
    for a in jax.tree.leaves((solid, given.motion, planes, given.gravity, given.rest, given.extra)):
        finite &= jnp.isfinite(a).reshape((*a.shape[:batch], -1)).all(-1)
    eps = jnp.finfo(q.dtype).eps
    unit = jnp.abs(jnp.sum(q * q, -1) - 1) < eps**0.5
    inertia, trace = solid.inertia, jnp.trace(solid.inertia, axis1=-2, axis2=-1)
    _, definite = definite_inverse(inertia)
    # A moment is no more than the sum of the other two: trace / 2 - I is positive semidefinite, but for a flat body.
    spread = 0.5 * (1 + 1e3 * eps) * trace[..., None, None] * jnp.eye(3, dtype=q.dtype) - inertia
    _, possible = definite_inverse(spread)
    if isinstance(solid.shape, Sphere):
        even = trace[..., None, None] / 3 * jnp.eye(3, dtype=q.dtype)
        possible &= (jnp.abs(inertia - even) <= 1e3 * eps * trace[..., None, None]).all((-1, -2))
    shape = solid.shape
    sizes = shape.semi_axes if isinstance(shape, Ellipsoid) else shape.radius[..., None]
    large = (sizes >= 0 if isinstance(shape, Hull) else sizes > 0).all(-1)
    material = (planes.friction >= 0) & (planes.restitution >= 0) & (planes.restitution <= 1)
    times = (given.duration >= 0) & (given.rest >= 0)
    return finite & unit & (solid.mass > 0) & definite & possible & large & material.all(-1) & times


def _ball(given: Launch) -> Launch:
    """A harmless stand-in: at rest beside its planes, without gravity."""
    zero = jax.tree.map(jnp.zeros_like, given)
    one = jnp.ones_like(given.duration)
    shape = jax.tree.map(jnp.ones_like, given.solid.shape)
    eye = jnp.broadcast_to(jnp.eye(3, dtype=one.dtype), given.solid.inertia.shape)
    upright = jnp.zeros_like(given.planes.normal).at[..., 2].set(1)
    still = zero.motion._replace(orientation=zero.motion.orientation.at[..., 0].set(1))
    planes = zero.planes._replace(normal=upright, offset=jnp.full_like(given.planes.offset, -9.0))
    return zero._replace(solid=Solid(one, eye, shape), motion=still, planes=planes, duration=one)


def _where(flag: Flag, a: Array, b: Array) -> Array:
    return jnp.where(flag.reshape(flag.shape + (1,) * (a.ndim - flag.ndim)), a, b)


def _fall(given: Launch) -> Scalar:
    """Speed after a fall by the size of the body."""
    gravity, shape = lax.stop_gradient((given.gravity, given.solid.shape))
    return jnp.sqrt(2 * jnp.sqrt(jnp.sum(gravity**2, -1)) * reach(shape))
