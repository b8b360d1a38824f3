"""Measured impacts: the state before, the observation after, and its noise.

Every measurement has the form observation = baseline + effect @ impulse + noise. Contact velocities, twists of one or
two bodies, planar data and generalised speeds differ only in baseline and effect, which the constructors compute.

| field | meaning | shape |
|---|---|---|
| inverse_inertia, velocity | arguments of `solve` | (n, 3, 3), (n, 3) |
| baseline | the observation if there were no impulse | (n, k) |
| effect | change of the observation per impulse (contact frame) | (n, k, 3) |
| observation | the measured values after | (n, k) |
| noise | standard deviation of each value; nan: to be estimated, inf: not measured | (n, k) |
| group | an integer per impact: material pair, toss, day; a bootstrap draws whole groups | (n,) |
| channels | names of the channels, for tables and messages | k words |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from jimpact.contact.body import Body, apply_impulse, relative_velocity, transform
from jimpact.contact.inertia import generalized_velocity_after, in_space, inverse_inertia, inverse_inertia_generalized
from jimpact.types import Array, ArrayLike, Vector3
from jimpact.validation import broadcast, floating

__all__ = ["Rebounds"]

TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
ARRAYS = ("inverse_inertia", "velocity", "baseline", "effect", "observation", "noise", "group")


@partial(jax.tree_util.register_dataclass, data_fields=ARRAYS, meta_fields=("channels", "group_names"))
@dataclass(frozen=True)
class Rebounds:
    """n measured impacts with k channels each; index with `rebounds[mask]` or `rebounds[:10]`."""

    inverse_inertia: Float[Array, "n 3 3"]
    velocity: Float[Array, "n 3"]
    baseline: Float[Array, "n k"]
    effect: Float[Array, "n k 3"]
    observation: Float[Array, "n k"]
    noise: Float[Array, "n k"]
    group: Int[Array, " n"]
    channels: tuple[str, ...] = ()
    group_names: tuple[str, ...] = ()  # of group 0, 1, ..; empty if every impact is its own group

    def __len__(self) -> int:
        return self.velocity.shape[0]

    def __getitem__(self, index: Any) -> "Rebounds":
        chosen = np.arange(len(self))[index]
        if chosen.ndim != 1:
            raise IndexError("pass a slice, a mask or an array of indices: the result is again many rebounds")
        return jax.tree.map(lambda a: a[chosen], self)

    def __str__(self) -> str:
        return f"{len(self)} rebounds, {self.groups} groups, channels {', '.join(self.channels)}"

    @property
    def groups(self) -> int:
        """Number of groups, including those that have no impact left after indexing."""
        return len(self.group_names) or int(np.asarray(self.group).max(initial=-1)) + 1

    @staticmethod
    def of(
        inverse_inertia: Float[ArrayLike, "... 3 3"],
        velocity: Float[ArrayLike, "... 3"],
        baseline: Float[ArrayLike, "... k"],
        effect: Float[ArrayLike, "... k 3"],
        observation: Float[ArrayLike, "... k"],
        noise: Float[ArrayLike, "... k"] | None = None,
        group: Int[ArrayLike, "..."] | None = None,
        channels: Sequence[str] = (),
    ) -> "Rebounds":
        """Check, broadcast and flatten; all other constructors call this one. If `noise` is None it is estimated."""
        k = jnp.shape(observation)[-1] if jnp.ndim(observation) else 0
        if not k:
            raise ValueError(f"observation has shape {jnp.shape(observation)}; pass (..., k) with k channels")
        tails: dict[str, tuple[int, ...]] = {"inverse_inertia": (3, 3), "velocity": (3,), "baseline": (k,)}
        tails |= {"effect": (k, 3), "observation": (k,), "noise": (k,)}
        noise = jnp.full(k, jnp.nan) if noise is None else noise
        if jnp.ndim(noise) == 0:
            noise = jnp.broadcast_to(jnp.asarray(noise, float), (k,))
        values = dict(zip(tails, (inverse_inertia, velocity, baseline, effect, observation, noise), strict=True))
        arrays = broadcast({name: (values[name], tail) for name, tail in tails.items()})
        batch = arrays["velocity"].shape[:-1] or (1,)
        flat = {name: a.reshape(-1, *tails[name]) for name, a in arrays.items()}
        names = tuple(channels) or tuple(f"channel {i}" for i in range(k))
        if len(names) != k:
            raise ValueError(f"channels names {len(names)} channels; pass {k}, one for each of observation")
        groups, words = _groups(group, batch)
        return Rebounds(**flat, group=groups, channels=names, group_names=words)

    @staticmethod
    def from_contact(
        inverse_inertia: Float[ArrayLike, "... 3 3"],
        velocity: Float[ArrayLike, "... 3"],
        velocity_after: Float[ArrayLike, "... 3"],
        noise: Float[ArrayLike, "... 3"] | None = None,
        group: Int[ArrayLike, "..."] | None = None,
    ) -> "Rebounds":
        """From relative velocities of the contact points, contact frame, before and after."""
        channels = ("t1", "t2", "n")
        return Rebounds.of(inverse_inertia, velocity, velocity, inverse_inertia, velocity_after, noise, group, channels)

    @staticmethod
    def from_bodies(
        body_a: Body,
        body_b: Body,
        point: Vector3,
        normal: Vector3,
        after_a: Body | None = None,
        after_b: Body | None = None,
        noise: Float[ArrayLike, "... k"] | None = None,
        group: Int[ArrayLike, "..."] | None = None,
    ) -> "Rebounds":
        """From bodies before and after: velocity and angular velocity of a, of b, or of both (world axes).

        Channels are the six components of the twist of a, then those of b. Only the velocities of `after_*` are used.
        """
        if after_a is None and after_b is None:
            raise ValueError("nothing was observed; pass after_a= or after_b=, the body after the impact")
        W = inverse_inertia(body_a, body_b, point, normal)
        velocity = relative_velocity(body_a, body_b, point, normal)
        axis = (1,) * (W.ndim - 2)
        units = jnp.eye(3, dtype=W.dtype).reshape(3, *axis, 3)
        rest = jnp.zeros(3, W.dtype)
        still = [body._replace(velocity=rest, angular_velocity=rest) for body in (body_a, body_b)]
        pushed = apply_impulse(still[0], still[1], point, normal, units)
        parts: list[tuple[Array, Array, Array]] = []
        names: list[str] = []
        for name, before, after, unit in zip("ab", (body_a, body_b), (after_a, after_b), pushed, strict=True):
            if after is None:
                continue
            twists = [_twist(f"{kind}_{name}", body) for kind, body in (("body", before), ("after", after))]
            parts.append((twists[0], twists[1], jnp.moveaxis(_twist("", unit), 0, -1)))
            names += [channel if after_b is None else f"{channel} {name}" for channel in TWIST]
        batch = jnp.broadcast_shapes(W.shape[:-2], *(a.shape[:-1] for part in parts for a in part[:2]))
        wide = [
            [jnp.broadcast_to(a, batch + a.shape[a.ndim - tail :]) for a, tail in zip(part, (1, 1, 2), strict=True)]
            for part in parts
        ]
        baseline, observation = (jnp.concatenate([part[i] for part in wide], -1) for i in (0, 1))
        effect = jnp.concatenate([part[2] for part in wide], -2)
        return Rebounds.of(W, velocity, baseline, effect, observation, noise, group, names)

    @staticmethod
    def from_planar(
        mass: Float[ArrayLike, "..."],
        inertia: Float[ArrayLike, "..."],
        arm: Float[ArrayLike, "... 2"],
        before: Float[ArrayLike, "... 3"],
        after: Float[ArrayLike, "... 3"],
        noise: Float[ArrayLike, "... 3"] | None = None,
        group: Int[ArrayLike, "..."] | None = None,
    ) -> "Rebounds":
        """From (vx, vy, w) of a body in the plane that hits the ground from above; the normal is +y.

        `inertia` is about the centre of mass (kg m^2), `arm` the contact point minus the centre of mass (m).
        """
        m, I = floating("mass", mass, ()), floating("inertia", inertia, ())
        arm = floating("arm", arm, (2,))
        one, zero = jnp.ones_like(arm[..., 0]), jnp.zeros_like(arm[..., 0])
        rows = ((one, zero, -arm[..., 1]), (zero, one, arm[..., 0]))
        jacobian = jnp.stack([jnp.stack(row, -1) for row in rows], -2)
        m, I = jnp.broadcast_arrays(m, I)
        mass_matrix = jnp.stack([m, m, I], -1)[..., None] * jnp.eye(3, dtype=m.dtype)
        return Rebounds.from_generalized(mass_matrix, jacobian, before, after, noise, group, ("vx", "vy", "w"))

    @staticmethod
    def from_generalized(
        mass_matrix: Float[ArrayLike, "... q q"],
        jacobian: Float[ArrayLike, "... d q"],
        before: Float[ArrayLike, "... q"],
        after: Float[ArrayLike, "... q"],
        noise: Float[ArrayLike, "... q"] | None = None,
        group: Int[ArrayLike, "..."] | None = None,
        channels: Sequence[str] = (),
    ) -> "Rebounds":
        """From generalised speeds; `jacobian` has the rows t1, t2, n in space, or t, n in the plane."""
        M, J = jnp.asarray(mass_matrix, float), jnp.asarray(jacobian, float)
        W = inverse_inertia_generalized(M, J)
        before, after = (floating(name, a, (J.shape[-1],)) for name, a in (("before", before), ("after", after)))
        velocity = transform(J, before)
        units = jnp.eye(J.shape[-2], dtype=W.dtype).reshape(-1, *(1,) * (W.ndim - 2), J.shape[-2])
        effect = jnp.moveaxis(generalized_velocity_after(M, J, jnp.zeros(J.shape[-1], W.dtype), units), 0, -1)
        if J.shape[-2] == 2:
            W, velocity = in_space(W, velocity)
            effect = jnp.stack([effect[..., 0], jnp.zeros_like(effect[..., 0]), effect[..., 1]], -1)
        names = tuple(channels) or tuple(f"speed {i}" for i in range(J.shape[-1]))
        return Rebounds.of(W, velocity, before, effect, after, noise, group, names)


def _twist(name: str, body: Body) -> Array:
    """Velocity and angular velocity as one array."""
    if not isinstance(body, Body):
        raise TypeError(f"{name} is a {type(body).__name__}; pass a Body")
    parts = [floating(f"{name}.{key}", getattr(body, key), (3,)) for key in ("velocity", "angular_velocity")]
    return jnp.concatenate(jnp.broadcast_arrays(*parts), -1)


def _groups(group: ArrayLike | None, batch: tuple[int, ...]) -> tuple[Array, tuple[str, ...]]:
    """Group numbers 0, 1, .. in the order of the names, and the names; by default every impact is its own group."""
    if group is None:
        return jnp.arange(int(np.prod(batch)), dtype=jnp.int32), ()
    values = np.asarray(group)
    if not (np.issubdtype(values.dtype, np.integer) or values.dtype.kind in "US"):
        raise TypeError(f"group has dtype {values.dtype}; pass whole numbers, or names")
    try:
        values = np.broadcast_to(values, batch)
    except ValueError:
        raise ValueError(f"group has shape {values.shape}; pass one of shape {batch}, a number per impact") from None
    names, index = np.unique(values.ravel(), return_inverse=True)
    return jnp.asarray(index.reshape(-1), jnp.int32), tuple(map(str, names))
