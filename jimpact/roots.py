"""Bracketed roots, and polynomials: lists of coefficients, lowest power first, each one number per lane."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from jimpact.numerics import where
from jimpact.types import Flag, Scalar

__all__ = ["bracketed_root", "horner_slope"]


def horner_slope(c: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar]:
    """Value and slope of the polynomial c at t."""
    value, slope = c[-1], jnp.zeros_like(c[-1])
    for coefficient in c[-2::-1]:
        slope = slope * t + value
        value = value * t + coefficient
    return value, slope


def bracketed_root(
    function: Callable[[Scalar], tuple[Scalar, Scalar]], low: Scalar, high: Scalar, steps: int, *, loop: bool = False
) -> tuple[Scalar, Flag]:
    """The root in [low, high] of a function that returns value and slope, and whether its sign changes there.

    Without a change of sign the result is the end with the smaller magnitude. The method is Newton's within the
    bracket, as a `loop` or unrolled. Do not differentiate it: callers take derivatives from the equation.
    """
    at_low, at_high = function(low)[0], function(high)[0]
    there = (at_low <= 0) != (at_high <= 0)
    sign = where(at_high > 0, 1, -1)

    def step(_: Any, at: tuple[Scalar, Scalar, Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        t, below, above = at
        value, slope = function(t)
        short = sign * value < 0
        below, above = where(short, t, below), where(short, above, t)
        newton = t - value / where(slope == 0, 1, slope)
        return where((newton >= below) & (newton <= above), newton, 0.5 * (below + above)), below, above

    at = 0.5 * (low + high), low, high
    if loop:
        at = lax.fori_loop(0, steps, step, at)
    else:
        for _ in range(steps):
            at = step(None, at)
    end = where(jnp.abs(at_low) <= jnp.abs(at_high), low, high)
    return where(there, at[0], end), there
