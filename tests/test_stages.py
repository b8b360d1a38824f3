"""The derivative of a formula in stages is that of the formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact.series import Integrals, Rates, integrate, integrate_back
from jimpact.stages import Stage, pulled, pushed

LANES = 7
ROUND_OFF = 1e-14  # of a few dozen operations
NAMES = ("a", "b", "c")


def first(at: dict) -> dict:
    return {"s": jnp.sin(at["a"]) * at["b"], "up": at["a"] > 0, "unused": jnp.exp(at["c"])}


def second(at: dict) -> dict:
    """Gives the name `a` to another number."""
    return {"a": where_up(at) * at["s"] + at["a"] * at["c"], "t": at["s"] ** 2}


def third(at: dict) -> dict:
    return {"end": at["a"] * at["t"] + at["b"], "other": at["c"] - at["a"]}


def where_up(at: dict) -> jax.Array:
    return jnp.where(at["up"], 2.0, -0.5)


def whole(given: dict) -> dict:
    at = dict(given)
    for stage in (first, second, third):
        at |= stage(at)
    return {name: at[name] for name in ("end", "other", "a")}


STAGES = {
    "kernels": [Stage(first), Stage(second), Stage(third)],
    "fused": [Stage(first, False), Stage(second, False), Stage(third, False)],
    "mixed": [Stage(first, False), Stage(second), Stage(third, False)],
}


def drawn(names: tuple[str, ...], seed: int) -> dict:
    rows = np.random.default_rng(seed).normal(size=(len(names), LANES))
    return {name: jnp.asarray(row) for name, row in zip(names, rows, strict=True)}


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("ends", [("end",), ("other", "a"), ("end", "other", "a")])
def test_cotangents_are_those_of_the_whole(stages: str, ends: tuple[str, ...]) -> None:
    given, bars = drawn(NAMES, 0), drawn(ends, 1)
    run = jax.jit(lambda given, bars: pulled(STAGES[stages], jnp.any(given["a"] < 9), given, bars, NAMES))
    found = run(given, bars)
    (expected,) = jax.vjp(lambda given: {name: whole(given)[name] for name in ends}, given)[1](bars)
    for name in NAMES:
        np.testing.assert_allclose(found.get(name, 0 * given["a"]), expected[name], atol=ROUND_OFF, err_msg=name)


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("moving", [("a",), ("b", "c"), NAMES])
def test_changes_are_those_of_the_whole(stages: str, moving: tuple[str, ...]) -> None:
    given, dots = drawn(NAMES, 0), drawn(moving, 1)
    ends = ("end", "other", "a")
    run = jax.jit(lambda given, dots: pushed(STAGES[stages], jnp.any(given["a"] < 9), given, dots, ends))
    found = run(given, dots)
    full = {name: dots.get(name, jnp.zeros(LANES)) for name in NAMES}
    expected = jax.jvp(whole, (given,), (full,))[1]
    for name in ends:
        np.testing.assert_allclose(found[name], expected[name], atol=ROUND_OFF, err_msg=name)


@pytest.mark.parametrize("order", [4, 5, 12])
def test_integrals_backwards_are_the_transpose_of_integrals(order: int) -> None:
    rng = np.random.default_rng(order)
    rates, bars = Rates(*rng.normal(size=(6, LANES))), Integrals(*rng.normal(size=(4, LANES)))
    t = jnp.asarray(rng.uniform(0.1, 1, LANES))
    (expected,) = jax.vjp(lambda rates: integrate(rates, t, order), rates)[1](bars)
    for name, a, b in zip(Rates._fields, integrate_back(rates, t, bars, order), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=ROUND_OFF, atol=ROUND_OFF, err_msg=name)


def impacts(count: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(count, 3, 3))
    W, v = root @ root.swapaxes(1, 2) + 0.2 * np.eye(3), rng.normal(size=(count, 3))
    v[:, 2] = -np.abs(v[:, 2])
    return W, v, rng.uniform(0.05, 1.0, count), rng.uniform(0.0, 1.0, count)


LAWS = ["stronge", *(pytest.param(law, marks=pytest.mark.slow) for law in ("poisson", "newton"))]


@pytest.mark.parametrize("law", LAWS)
def test_every_result_of_an_impact_has_one_derivative_in_both_modes(law: str) -> None:
    """Velocities, works and events go other ways through the stages than the impulse does."""
    given = tuple(map(jnp.asarray, impacts(64)))
    rng = np.random.default_rng(4)
    dots = tuple(jnp.asarray(rng.normal(size=a.shape)) for a in given)

    def smooth(*given: jax.Array) -> dict:
        impact = jimpact.solve(*given, law=law)
        found = {"impulse": impact.impulse, "velocity": impact.velocity, **impact.info._asdict()}
        del found["compressions"], found["mode"], found["line_start"]  # which have none
        return {name: jnp.where(jnp.isnan(a), 0, a) for name, a in found.items()}

    @jax.jit
    def both(given: tuple, dots: tuple, bars: dict) -> tuple:
        _, changes = jax.jvp(smooth, given, dots)
        pulled_back = jax.vjp(smooth, *given)[1](bars)
        along = lambda some, others: sum((a * b).reshape(64, -1).sum(1) for a, b in zip(some, others, strict=True))  # noqa: E731
        return along(bars.values(), [changes[name] for name in bars]), along(dots, pulled_back)

    shapes = jax.eval_shape(smooth, *given)
    for name in shapes:
        bars = {other: jnp.zeros(a.shape) for other, a in shapes.items()}
        bars[name] = jnp.asarray(rng.normal(size=shapes[name].shape))
        forward, reverse = both(given, dots, bars)
        size = 1 + np.abs(forward).max()
        np.testing.assert_allclose(reverse, forward, atol=1e-9 * size, err_msg=name)  # both truncate the same series


def test_changes_of_an_impact_without_jit_are_those_with_it() -> None:
    """Where nothing removes what is not asked for, every result is asked for its change."""
    given = tuple(map(jnp.asarray, impacts(3)))
    impulse = lambda *given: jimpact.solve(*given).impulse  # noqa: E731
    changes = jax.jvp(impulse, given, given)[1]
    np.testing.assert_allclose(changes, jax.jit(lambda *a: jax.jvp(impulse, a, a)[1])(*given), rtol=1e-11)
