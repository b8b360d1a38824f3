"""The input of a run: checked, broadcast to one batch shape, and harmless in invalid lanes."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jimpact.contact.body import definite_inverse
from jimpact.geometry.rotation import Motion
from jimpact.geometry.shapes import Ellipsoid, Hull, Planes, Shape, Sphere, reach
from jimpact.impact import EXTRA
from jimpact.simulation.body_body import Pair, TwoBodies
from jimpact.simulation.body_planes import BodyAndPlanes
from jimpact.simulation.free_motion import Solid, chosen
from jimpact.types import Array, ArrayLike, Flag, Scalar
from jimpact.validation import broadcast, floating

__all__ = ["GRAVITY", "MOTION_TAILS", "OPTIONAL", "Inputs", "body_inputs", "harmless", "pair_inputs"]

Arrays = dict[str, tuple[ArrayLike, tuple[int, ...]]]

REST = 1e-3  # default `rest_speed`, in units of the speed after a fall by the size of the body
ROUNDED = 1e-6  # error of a squared length that is corrected, as by rounding to single precision; more is INVALID
GRAVITY = (0.0, 0.0, -9.81)  # m/s^2
MOTION_TAILS = ((3,), (4,), (3,), (3,))
PLAIN = (bool, int, float, list, tuple)  # these have no precision: they take that of the arrays
OPTIONAL = ("static_friction", *EXTRA)


class Inputs(NamedTuple):
    """The input of a run, of one batch shape and dtype."""

    world: BodyAndPlanes | TwoBodies
    motion: Any  # Motion, or a Pair of them
    duration: Scalar
    rest: Scalar
    extra: dict[str, Scalar]  # coefficients that only some laws have


def body_inputs(
    solid: Solid,
    motion: Motion,
    planes: Planes,
    gravity: ArrayLike,
    duration: ArrayLike,
    rest_speed: ArrayLike | None,
    extra: dict[str, ArrayLike],
) -> Inputs:
    """Check and broadcast, or raise with a sentence that says what to pass."""
    for name, value, kind in (("solid", solid, Solid), ("motion", motion, Motion), ("planes", planes, Planes)):
        _check_kind(name, value, kind)
    arrays = {
        **_solid_arrays("solid", solid),
        **_motion_arrays("motion", motion),
        **_plane_arrays(planes),
        **_common_arrays(gravity, duration, rest_speed, extra),
    }
    found = broadcast(arrays, PLAIN)
    world = BodyAndPlanes(_solid("solid", solid, found), Planes(*_fields("planes", found)), found["gravity"])
    return _launched(world, Motion(*_fields("motion", found)), found, extra)


def pair_inputs(
    solids: tuple[Solid, Solid],
    motions: tuple[Motion, Motion],
    friction: ArrayLike,
    restitution: ArrayLike,
    gravity: ArrayLike,
    duration: ArrayLike,
    rest_speed: ArrayLike | None,
    extra: dict[str, ArrayLike],
) -> Inputs:
    """Check and broadcast, or raise with a sentence that says what to pass."""
    arrays: Arrays = {"friction": (friction, ()), "restitution": (restitution, ())}
    for letter, solid, motion in zip("ab", solids, motions, strict=True):
        _check_kind(f"solid_{letter}", solid, Solid)
        _check_kind(f"motion_{letter}", motion, Motion)
        arrays |= _solid_arrays(f"solid_{letter}", solid) | _motion_arrays(f"motion_{letter}", motion)
    found = broadcast({**arrays, **_common_arrays(gravity, duration, rest_speed, extra)}, PLAIN)
    a, b = (_solid(f"solid_{letter}", solid, found) for letter, solid in zip("ab", solids, strict=True))
    world = TwoBodies(a, b, found["friction"], found["restitution"], found["gravity"])
    pair = Pair(*(Motion(*_fields(f"motion_{letter}", found)) for letter in "ab"))
    return _launched(world, pair, found, extra)


def harmless(given: Inputs, default_rest: bool) -> tuple[Inputs, Flag]:
    """The input with unit normals and quaternions, and with balls at rest in invalid lanes; flags of valid lanes."""
    if isinstance(given.world, BodyAndPlanes):
        given = given._replace(world=given.world._replace(planes=_unit_planes(given.world.planes)))
    else:
        given = given._replace(world=_rounded(given.world))
    if default_rest:
        given = given._replace(rest=REST * _fall(given.world))
    valid = _valid(given)
    stand_in = (_ball if isinstance(given.world, BodyAndPlanes) else _balls)(given)
    given = jax.tree.map(partial(chosen, valid), given, stand_in)
    return given._replace(motion=jax.tree.map(_unit, given.motion, is_leaf=lambda m: isinstance(m, Motion))), valid


def _rounded(world: TwoBodies) -> TwoBodies:
    """The bodies. Two sharp hulls may have no normal where they touch; so the first of them gets a small radius."""
    a, b = world.solid_a.shape, world.solid_b.shape
    if not (isinstance(a, Hull) and isinstance(b, Hull)):
        return world
    sharp = (a.radius == 0) & (b.radius == 0)
    least = jnp.finfo(a.radius.dtype).eps ** 0.5 * lax.stop_gradient(reach(a))
    shape = a._replace(radius=jnp.where(sharp, least, a.radius))
    return world._replace(solid_a=world.solid_a._replace(shape=shape))


def _unit(motion: Motion) -> Motion:
    q = motion.orientation
    return motion._replace(orientation=q / jnp.sqrt(jnp.sum(q * q, -1, keepdims=True)))


def _check_kind(name: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} is a {type(value).__name__}; pass a jimpact.{kind.__name__}")


def _launched(
    world: BodyAndPlanes | TwoBodies, motion: Motion | Pair, found: dict[str, Array], extra: dict[str, ArrayLike]
) -> Inputs:
    return Inputs(world, motion, found["duration"], found["rest_speed"], {name: found[name] for name in extra})


def _fields(prefix: str, found: dict[str, Array]) -> list[Array]:
    return [a for name, a in found.items() if name.startswith(prefix + ".")]


def _solid(prefix: str, solid: Solid, found: dict[str, Array]) -> Solid:
    shape = type(solid.shape)(*_fields(f"{prefix}.shape", found))
    return Solid(found[f"{prefix}.mass"], found[f"{prefix}.inertia"], shape)


def _solid_arrays(prefix: str, solid: Solid) -> Arrays:
    shape = {f"{prefix}.shape.{name}": value for name, value in _shape_arrays(prefix, solid.shape).items()}
    return {f"{prefix}.mass": (solid.mass, ()), f"{prefix}.inertia": (solid.inertia, (3, 3)), **shape}


def _motion_arrays(prefix: str, motion: Motion) -> Arrays:
    return {f"{prefix}.{n}": (a, t) for (n, a), t in zip(motion._asdict().items(), MOTION_TAILS, strict=True)}


def _common_arrays(
    gravity: ArrayLike, duration: ArrayLike, rest_speed: ArrayLike | None, extra: dict[str, ArrayLike]
) -> Arrays:
    rest = -1.0 if rest_speed is None else rest_speed
    common: Arrays = {"gravity": (gravity, (3,)), "duration": (duration, ()), "rest_speed": (rest, ())}
    return {**common, **{name: (value, ()) for name, value in extra.items()}}


def _shape_arrays(prefix: str, shape: Shape) -> Arrays:
    if isinstance(shape, Sphere):
        return {"radius": (shape.radius, ())}
    if isinstance(shape, Ellipsoid):
        return {"semi_axes": (shape.semi_axes, (3,))}
    if not isinstance(shape, Hull):
        raise TypeError(f"{prefix}.shape is a {type(shape).__name__}; pass a Sphere, an Ellipsoid, a Hull or box(...)")
    return {"points": (shape.points, _rows(f"{prefix}.shape.points", shape.points, "k")), "radius": (shape.radius, ())}


def _plane_arrays(planes: Planes) -> Arrays:
    tail = _rows("planes.normal", planes.normal, "p")
    arrays: Arrays = {"planes.normal": (planes.normal, tail)}
    for name in Planes._fields[1:]:
        value = getattr(planes, name)
        if jnp.ndim(value) == 0 or jnp.shape(value)[-1] == 1:
            value = floating(f"planes.{name}", value, () if jnp.ndim(value) == 0 else (1,))
            value = jnp.broadcast_to(value, (*jnp.shape(value)[:-1], tail[0]))
        arrays[f"planes.{name}"] = (value, (tail[0],))
    return arrays


def _rows(name: str, value: ArrayLike, letter: str) -> tuple[int, ...]:
    """Shape of the last two axes of an array of vectors."""
    size = floating(name, value, ()).shape
    if len(size) < 2 or size[-1] != 3 or not size[-2]:
        raise ValueError(f"{name} has shape {size}; pass (..., {letter}, 3) with at least one row")
    return size[-2:]


def _unit_planes(planes: Planes) -> Planes:
    square = jnp.sum(planes.normal**2, -1)
    usable = (square > 0) & (square < jnp.inf)
    safe = jnp.sqrt(jnp.where(usable, square, 1))
    offset = jnp.where(usable, planes.offset / safe, jnp.nan)
    return planes._replace(normal=planes.normal / safe[..., None], offset=offset)


def _valid(given: Inputs) -> Flag:
    """Whether all numbers are finite and in range, and the bodies can exist."""
    given = lax.stop_gradient(given)
    world, batch = given.world, given.duration.ndim
    valid = (given.duration >= 0) & (given.rest >= 0)
    for a in jax.tree.leaves(given._replace(duration=given.rest)):
        valid &= jnp.isfinite(a).all(tuple(range(batch, a.ndim)))
    if isinstance(world, BodyAndPlanes):
        friction, restitution = world.planes.friction, world.planes.restitution
        valid &= ((friction >= 0) & (restitution >= 0) & (restitution <= 1)).all(-1)
        return valid & _valid_body(world.solid, given.motion)
    valid &= (world.friction >= 0) & (world.restitution >= 0) & (world.restitution <= 1) & world.round()
    return valid & _valid_body(world.solid_a, given.motion.a) & _valid_body(world.solid_b, given.motion.b)


def _valid_body(solid: Solid, motion: Motion) -> Flag:
    """Whether the body can exist, and its orientation is a unit quaternion."""
    q, inertia, shape = motion.orientation, solid.inertia, solid.shape
    eps, eye = jnp.finfo(q.dtype).eps, jnp.eye(3, dtype=q.dtype)
    unit = jnp.abs(jnp.sum(q * q, -1) - 1) < jnp.maximum(ROUNDED, eps**0.5)
    trace = jnp.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    _, definite = definite_inverse(inertia)
    # Triangle inequality: trace / 2 - I is positive definite; for a flat body it is singular to round-off.
    _, possible = definite_inverse(0.5 * (1 + 1e3 * eps) * trace * eye - inertia)
    if isinstance(shape, Sphere):
        possible &= (jnp.abs(inertia - trace / 3 * eye) <= 1e3 * eps * trace).all((-1, -2))
    sizes = shape.semi_axes if isinstance(shape, Ellipsoid) else shape.radius[..., None]
    large = (sizes >= 0 if isinstance(shape, Hull) else sizes > 0).all(-1)
    return unit & (solid.mass > 0) & definite & possible & large


def _ball(given: Inputs) -> Inputs:
    """A harmless stand-in: at rest beside its planes, without gravity."""
    assert isinstance(given.world, BodyAndPlanes)
    zero, planes = jax.tree.map(jnp.zeros_like, given), given.world.planes
    upright = jnp.zeros_like(planes.normal).at[..., 2].set(1)
    planes = zero.world.planes._replace(normal=upright, offset=jnp.full_like(planes.offset, -9.0))
    world = BodyAndPlanes(_unit_solid(given.world.solid), planes, zero.world.gravity)
    return zero._replace(world=world, motion=_still(zero.motion, 0.0), duration=jnp.ones_like(given.duration))


def _balls(given: Inputs) -> Inputs:
    """A harmless stand-in for two bodies: at rest, and apart."""
    assert isinstance(given.world, TwoBodies)
    zero = jax.tree.map(jnp.zeros_like, given)
    solids = (_unit_solid(given.world.solid_a), _unit_solid(given.world.solid_b))
    world = zero.world._replace(solid_a=solids[0], solid_b=solids[1])
    pair = Pair(_still(zero.motion.a, 9.0), _still(zero.motion.b, -9.0))
    return zero._replace(world=world, motion=pair, duration=jnp.ones_like(given.duration))


def _unit_solid(solid: Solid) -> Solid:
    eye = jnp.broadcast_to(jnp.eye(3, dtype=solid.inertia.dtype), solid.inertia.shape)
    return Solid(jnp.ones_like(solid.mass), eye, jax.tree.map(jnp.ones_like, solid.shape))


def _still(zero: Motion, height: float) -> Motion:
    return zero._replace(position=zero.position.at[..., 2].set(height), orientation=zero.orientation.at[..., 0].set(1))


def _fall(world: BodyAndPlanes | TwoBodies) -> Scalar:
    """Speed after a fall by the size of the body; 0 for two bodies, since gravity does not press them together."""
    gravity = lax.stop_gradient(world.gravity)
    if isinstance(world, TwoBodies):
        return 0 * gravity[..., 0]
    return jnp.sqrt(2 * jnp.sqrt(jnp.sum(gravity**2, -1)) * reach(lax.stop_gradient(world.solid.shape)))
