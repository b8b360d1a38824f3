"""Checks of data, material and coefficients before a fit; errors say what to pass."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimpact.identify.likelihood import Choice
from jimpact.identify.material import COEFFICIENTS, Material
from jimpact.identify.rebounds import Rebounds
from jimpact.laws import LAWS
from jimpact.validation import check_name

__all__ = ["check_data", "check_fit", "check_values"]


def check_fit(rebounds: Rebounds, choice: Choice, material: Material) -> None:
    """Raise an error if this cannot be fitted."""
    if not isinstance(rebounds, Rebounds):
        raise TypeError(
            f"rebounds is a {type(rebounds).__name__}; pass Rebounds, from load_rebounds or Rebounds.from_*"
        )
    check_name(choice.law, LAWS, "law")
    check_data(rebounds)
    if not (np.asarray(rebounds.velocity)[:, 2] < 0).any():
        raise ValueError("no rebound approaches (velocity[:, 2] < 0): nothing to fit; check the sign of the normal")
    if not isinstance(material, Material):
        raise TypeError(f"material is a {type(material).__name__}; pass a Material, such as per_group(rebounds.groups)")
    if not material.size():
        raise ValueError("nothing to fit: all coefficients are fixed; pass at least one in parameters")
    if material.groups not in (None, rebounds.groups):
        raise ValueError(
            f"the material has {material.groups} groups and the data {rebounds.groups}; pass per_group(rebounds.groups)"
        )
    _check_coefficients(choice, _modelled(material, rebounds))


def _check_coefficients(choice: Choice, model: Mapping[str, Any]) -> None:
    """Raise an error unless the fitted and fixed coefficients are those that the law needs."""
    record, fixed = LAWS[choice.law], dict(choice.fixed)
    given = set(model) | set(fixed)
    taken = set(record.parameters) | ({"static_friction"} if record.tells_stick else set())
    for name in given - taken:
        if name not in COEFFICIENTS:
            raise ValueError(f"parameter {name!r} is unknown; pass some of {', '.join(map(repr, COEFFICIENTS))}")
        raise ValueError(f"law={choice.law!r} has no {name}; pass some of {', '.join(sorted(taken))}")
    for name in record.parameters:
        if name not in given:
            raise ValueError(
                f"law={choice.law!r} needs {name}; add it to parameters, or pass fixed={{{name!r}: a number}}"
            )
    check_values(fixed, "fixed")
    both = set(model) & set(fixed)
    if both:
        raise ValueError(f"{sorted(both)[0]} is both fitted and fixed; pass it in one of parameters and fixed")


def _modelled(material: Material, rebounds: Rebounds) -> dict[str, Any]:
    """Shapes of the coefficients that a material gives; an error says what the material does wrong."""
    for name, p in material.parameters.items():
        if not p.low <= p.starts[0] <= p.starts[1] <= p.high:
            raise ValueError(f"starts of {name} are {p.starts}; pass (lowest, highest) within {p.low:g} to {p.high:g}")
    try:
        model = jax.eval_shape(lambda x: material.function(material.values(x), rebounds), jnp.zeros(material.size()))
    except KeyError as error:
        known = ", ".join(material.parameters)
        raise ValueError(f"the material asks for {error}, which is none of its parameters: {known}") from error
    for name, value in model.items():
        if value.shape not in ((), (len(rebounds),)):
            raise ValueError(
                f"the material gives {name} of shape {value.shape}; pass one number, or {len(rebounds)}, one per impact"
            )
    return model


def check_values(values: Mapping[str, Any], argument: str) -> None:
    """Raise ValueError if a coefficient is not a number within its range."""
    for name, value in values.items():
        known = COEFFICIENTS.get(name)
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or (known is not None and not known.low <= value <= min(known.high, np.finfo(float).max)):
            span = f" from {known.low:g} to {known.high:g}" if known is not None else ""
            raise ValueError(f"{argument} has {name}={value!r}; pass a number{span}")


def check_data(rebounds: Rebounds) -> None:
    """Raise ValueError, which names the first bad rebounds, if a number cannot be used."""
    if not len(rebounds):
        raise ValueError("there are no rebounds; pass at least one")
    W, noise = np.asarray(rebounds.inverse_inertia), np.asarray(rebounds.noise)
    seen = ~np.isposinf(noise)
    bad = {
        "inverse_inertia is not symmetric positive definite": ~_definite(W),
        "velocity is not finite": ~np.isfinite(np.asarray(rebounds.velocity)).all(-1),
        "baseline or effect is not finite": ~(
            np.isfinite(np.asarray(rebounds.baseline)).all(-1) & np.isfinite(np.asarray(rebounds.effect)).all((-1, -2))
        ),
        "observation is not finite (pass noise=inf where a channel was not measured)": (
            seen & ~np.isfinite(np.asarray(rebounds.observation))
        ).any(-1),
        "noise is not above 0 (pass nan to have it estimated)": (noise <= 0).any(-1),
        "no channel was measured (noise is inf)": ~seen.any(-1),
    }
    for reason, rows in bad.items():
        if rows.any():
            first = ", ".join(map(str, np.flatnonzero(rows)[:5]))
            raise ValueError(f"{int(rows.sum())} of {len(rows)} rebounds: {reason}; first at {first}")


def _definite(W: np.ndarray) -> np.ndarray:
    finite = np.isfinite(W).all((-1, -2))
    safe = np.where(finite[:, None, None], W, np.eye(3))
    symmetric = np.abs(safe - np.swapaxes(safe, 1, 2)).max((1, 2)) <= 1e-4 * np.abs(safe).max((1, 2))
    return finite & symmetric & (np.linalg.eigvalsh(safe)[:, 0] > 0)
