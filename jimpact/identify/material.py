"""Material models: the coefficients of each impact as functions of the parameters of a fit.

A model is a function `model(parameters, rebounds) -> coefficients`, both dicts of arrays: the fitted parameters, and
coefficients with the names of `solve`, one number per impact (or one for all). JAX must be able to trace the model.
`Material` adds the range of each parameter, its starts, and an optional prior.

    def my_model(parameters, rebounds):
        speed = -rebounds.velocity[:, 2]
        return {"friction": parameters["friction"], "restitution": jnp.exp(-parameters["loss"] * speed)}

    Material(my_model, {"friction": FRICTION, "loss": Parameter(0.0, jnp.inf, (0.01, 2.0))})
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jimpact.identify.rebounds import Rebounds
from jimpact.types import Array

__all__ = ["COEFFICIENTS", "Material", "Parameter", "Values", "constant", "per_group", "speed_dependent"]

Values = dict[str, Array]


class Parameter(NamedTuple):
    """Range of one parameter (or of an array of them), and the range of its starts."""

    low: float
    high: float
    starts: tuple[float, float]
    shape: tuple[int, ...] = ()

    def natural(self, free: Array) -> Array:
        """The parameter from a free number; bounds are reached at finite numbers (James & Roos 1975, MINUIT)."""
        if np.isfinite(self.low) and np.isfinite(self.high):
            return self.low + (self.high - self.low) * jnp.sin(0.5 * free) ** 2
        if np.isfinite(self.low):
            return self.low - 1 + jnp.sqrt(free * free + 1)
        return free

    def free(self, natural: Array) -> Array:
        """The inverse of `natural`."""
        natural = jnp.clip(natural, self.low, self.high)
        if np.isfinite(self.low) and np.isfinite(self.high):
            return 2 * jnp.arcsin(jnp.sqrt((natural - self.low) / (self.high - self.low)))
        if np.isfinite(self.low):
            return jnp.sqrt((natural - self.low + 1) ** 2 - 1)
        return natural


COEFFICIENTS = {
    "friction": Parameter(0.0, jnp.inf, (0.01, 1.0)),
    "restitution": Parameter(0.0, 1.0, (0.05, 0.95)),
    "static_friction": Parameter(0.0, jnp.inf, (0.05, 1.5)),
    "tangential_restitution": Parameter(-1.0, 1.0, (-0.8, 0.8)),
    "mixing": Parameter(0.0, 1.0, (0.05, 0.95)),
}


@dataclass(frozen=True, eq=False)
class Material:
    """A model with the ranges of its parameters; `prior` gives further residuals of unit variance."""

    function: Callable[[Values, Rebounds], Values]
    parameters: dict[str, Parameter]
    prior: Callable[[Values], Array] | None = None
    groups: int | None = None  # number of groups with separate parameters; None if groups do not matter

    def size(self) -> int:
        return sum(int(np.prod(p.shape)) for p in self.parameters.values())

    def names(self, groups: Sequence[str] = ()) -> list[str]:
        """One name for each fitted number; `groups` are the names of the groups with separate parameters."""
        label = lambda i: groups[i] if self.groups == len(groups) else str(i)  # noqa: E731
        return [
            name + ("" if not p.shape else f"[{','.join(map(label, index))}]")
            for name, p in self.parameters.items()
            for index in np.ndindex(*p.shape)
        ]

    def values(self, numbers: Array) -> Values:
        """Parameters by name, from one array of natural numbers."""
        values, at = {}, 0
        for name, p in self.parameters.items():
            size = int(np.prod(p.shape))
            values[name] = numbers[at : at + size].reshape(p.shape)
            at += size
        return values

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest value of each number."""
        each = [p for p in self.parameters.values() for _ in range(int(np.prod(p.shape)))]
        return np.array([p.low for p in each]), np.array([p.high for p in each])

    def natural(self, free: Array) -> Array:
        return self._each(free, Parameter.natural)

    def free(self, natural: Array) -> Array:
        return self._each(natural, Parameter.free)

    def _each(self, numbers: Array, change: Callable[[Parameter, Array], Array]) -> Array:
        sizes = [int(np.prod(p.shape)) for p in self.parameters.values()]
        parts = jnp.split(numbers, np.cumsum(sizes)[:-1].tolist())
        return jnp.concatenate([change(p, part) for p, part in zip(self.parameters.values(), parts, strict=True)])


def constant(names: Sequence[str] = ("friction", "restitution")) -> Material:
    """The same coefficients for every impact."""
    return _constant(tuple(names))


@lru_cache  # the same object for the same names, so that programs are compiled once
def _constant(names: tuple[str, ...]) -> Material:
    return Material(lambda parameters, rebounds: dict(parameters), {name: _known(name) for name in names})


def per_group(
    groups: int,
    names: Sequence[str] = ("friction", "restitution"),
    shared: Sequence[str] = (),
    spread: float | None = None,
) -> Material:
    """Separate coefficients for each of `groups` groups, except those that are `shared` by all.

    With a `spread` a normal prior of that standard deviation pulls the values of the groups towards their mean (partial
    pooling), so that groups with few impacts use information from the others.
    """
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise ValueError(f"groups={groups!r}; pass how many groups there are, rebounds.groups")
    if set(shared) - set(names):
        raise ValueError(f"shared has {sorted(set(shared) - set(names))[0]!r}, which is not fitted; pass some of names")
    if spread is not None and not spread > 0:
        raise ValueError(f"spread={spread!r}; pass a standard deviation above 0, or None for groups on their own")
    return _per_group(groups, tuple(names), tuple(shared), spread)


@lru_cache
def _per_group(groups: int, names: tuple[str, ...], shared: tuple[str, ...], spread: float | None) -> Material:
    own = [name for name in names if name not in shared]
    parameters = {name: _known(name)._replace(shape=() if name in shared else (groups,)) for name in names}

    def function(values: Values, rebounds: Rebounds) -> Values:
        return {name: value[rebounds.group] if name in own else value for name, value in values.items()}

    def prior(values: Values) -> Array:
        return jnp.concatenate([(values[name] - values[name].mean()) / (spread or 1) for name in own])

    return Material(function, parameters, prior if spread is not None and own else None, groups)


def speed_dependent(names: Sequence[str] = ("friction", "restitution")) -> Material:
    """Restitution that falls with the speed of approach, e = restitution x (speed / 1 m/s)^-decay, at most 1.

    Each of the other names is one coefficient for all impacts. Elastic-plastic contact has a decay of about 1/4
    (Johnson 1985, section 11.5).
    """
    if "restitution" not in names:
        raise ValueError("a material that depends on speed needs the parameter restitution; add it to the names")
    return _speed_dependent(tuple(names))


@lru_cache
def _speed_dependent(names: tuple[str, ...]) -> Material:
    parameters = {name: _known(name) for name in names} | {"decay": Parameter(0.0, 1.0, (0.01, 0.5))}

    def function(values: Values, rebounds: Rebounds) -> Values:
        speed = jnp.maximum(-rebounds.velocity[..., 2], jnp.finfo(rebounds.velocity.dtype).tiny)
        restitution = values["restitution"] * speed ** -values["decay"]
        rest = {name: value for name, value in values.items() if name != "decay"}
        return rest | {"restitution": jnp.minimum(restitution, 1)}

    return Material(function, parameters)


def _known(name: str) -> Parameter:
    if name not in COEFFICIENTS:
        raise ValueError(f"parameter {name!r} is unknown; pass some of {', '.join(map(repr, COEFFICIENTS))}")
    return COEFFICIENTS[name]
