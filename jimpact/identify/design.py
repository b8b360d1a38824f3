"""Design of experiments: the information in planned drops, and the most informative ones.

The observations of planned drops are ignored: build `Rebounds` whose velocities after the impact are those before it,
with the noise of the instrument.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from jimpact.identify.input_checks import check_fit, check_values
from jimpact.identify.least_squares import inverse_information
from jimpact.identify.likelihood import Choice, predict
from jimpact.identify.material import COEFFICIENTS, Material, constant
from jimpact.identify.rebounds import Rebounds
from jimpact.types import Array

__all__ = ["Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """Information in planned drops, if the parameters are close to the assumed values."""

    names: tuple[str, ...]
    each: np.ndarray  # (n, p, p) Fisher information of each drop

    @property
    def information(self) -> np.ndarray:
        return self.each.sum(0)

    @property
    def standard_error(self) -> dict[str, float]:
        """Expected standard errors from all drops together; infinite for parameters that they do not determine."""
        return dict(zip(self.names, np.sqrt(np.diag(inverse_information(self.information))).tolist(), strict=True))

    def width(self, level: float = 0.95) -> dict[str, float]:
        """Expected width of the confidence interval of each parameter."""
        if isinstance(level, str) or not 0 < level < 1:
            raise ValueError(f"level={level!r}; pass a number between 0 and 1, such as 0.95")
        z = stats.norm.ppf(0.5 + level / 2)
        return {name: 2 * z * error for name, error in self.standard_error.items()}

    def best(self, count: int) -> list[int]:
        """Indices of the drops that are most informative together, the best first; each drop may be taken once.

        Each drop in turn is the one that increases the determinant of the information most (greedy D-optimal design).
        """
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= len(self.each):
            raise ValueError(f"count={count!r}; pass a whole number from 1 to the number of drops, {len(self.each)}")
        unit = np.sqrt(np.maximum(np.diagonal(self.each, axis1=1, axis2=2).max(0), np.finfo(float).tiny))
        each = self.each / np.outer(unit, unit)
        chosen: list[int] = []
        total = 1e-6 * np.eye(len(unit))
        for _ in range(count):
            gain = np.linalg.slogdet(total + each)[1]
            gain[chosen] = -np.inf
            chosen.append(int(gain.argmax()))
            total = total + each[chosen[-1]]
        return chosen


def plan(
    rebounds: Rebounds,
    values: Mapping[str, float],
    *,
    law: str = "stronge",
    material: Material | None = None,
    fixed: Mapping[str, float] | None = None,
    rule: str = "poisson",
) -> Plan:
    """Fisher information of planned drops at assumed `values` of the parameters."""
    material = constant(tuple(values)) if material is None else material
    choice = Choice(law, rule, "standard", tuple(sorted((fixed or {}).items())))
    check_fit(rebounds, choice, material)
    if np.isnan(np.asarray(rebounds.noise)).any():
        raise ValueError(
            "the noise of the planned drops is not known; build these rebounds with noise= of each channel"
        )
    missing = [name for name in material.parameters if name not in values]
    if missing:
        raise ValueError(f"values has no {missing[0]}; pass a value for each of {', '.join(material.parameters)}")
    if material.parameters.keys() <= COEFFICIENTS.keys():
        check_values(values, "values")
    rows = [
        np.broadcast_to(np.asarray(values[name], float), p.shape).ravel() for name, p in material.parameters.items()
    ]
    J = np.asarray(_slopes(choice, material, rebounds, jnp.asarray(np.concatenate(rows))), float)
    noise = np.asarray(rebounds.noise, float)[None]
    J = np.where(np.isfinite(noise), J / noise, 0)
    return Plan(tuple(material.names(rebounds.group_names)), np.einsum("pnk,qnk->npq", J, J))


@partial(jax.jit, static_argnames=("choice", "material"))
def _slopes(choice: Choice, material: Material, rebounds: Rebounds, numbers: Array) -> Array:
    """Derivative of the predicted channels with respect to each number, (p, n, k)."""
    run = lambda x: predict(choice, rebounds, material.function(material.values(x), rebounds))  # noqa: E731
    return jax.vmap(lambda unit: jax.jvp(run, (numbers,), (unit,))[1])(jnp.eye(len(numbers), dtype=numbers.dtype))
