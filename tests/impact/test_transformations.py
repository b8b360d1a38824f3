"""`solve` under every transformation of JAX: the same as one call for each impact."""

import functools
from collections.abc import Callable

import cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import checkify
from jax.sharding import AxisType, PartitionSpec

import jimpact

SAME = 1e-12  # the same steps, compiled in another shape
SAME_SLOPE = 1e-9  # with round-off of grazing lanes amplified
SAME_SECOND = 1e-7  # likewise
LANES = 6
LAW = "stronge"


@functools.cache
def given() -> tuple[jax.Array, ...]:
    """Impacts in which slip goes on, stops, and stops for good."""
    return tuple(jnp.asarray(a) for a in cases.spd(LANES, seed=3)[:4])


def impulse(W: jax.Array, v: jax.Array, mu: jax.Array, e: jax.Array) -> jax.Array:
    return jimpact.solve(W, v, mu, e, law=LAW).impulse


def one(v: jax.Array) -> jax.Array:
    """Normal impulse of the first impact, by its velocity."""
    W, _, mu, e = (a[0] for a in given())
    return impulse(W, v, mu, e)[2]


def total(*arrays: jax.Array) -> jax.Array:
    return (impulse(*arrays) * jnp.array([1.0, -2.0, 3.0])).sum()


@functools.cache
def expected() -> np.ndarray:
    return np.asarray(jax.jit(impulse)(*given()))


@functools.cache
def slopes() -> tuple[np.ndarray, ...]:
    return tuple(map(np.asarray, jax.jit(jax.grad(total, (0, 1, 2, 3)))(*given())))


@functools.cache
def second() -> np.ndarray:
    """By differences of the gradient."""
    v, step, first = np.asarray(given()[1][0]), 1e-5, jax.jit(jax.vmap(jax.grad(one)))
    moved = np.concatenate([v + step * np.eye(3), v - step * np.eye(3)])
    up, down = np.split(np.asarray(first(jnp.asarray(moved))), 2)
    return (up - down) / (2 * step)


def same(found: jax.Array) -> None:
    np.testing.assert_allclose(found, expected(), rtol=SAME, atol=SAME)


def test_vmap() -> None:
    same(jax.jit(jax.vmap(impulse))(*given()))


def test_vmap_with_other_axes() -> None:
    W, v, mu, e = given()
    found = jax.jit(jax.vmap(impulse, in_axes=(2, 1, 0, None), out_axes=1))(jnp.moveaxis(W, 0, 2), v.T, mu, e[0])
    same_e = jax.jit(impulse)(W, v, mu, jnp.full_like(mu, e[0]))
    np.testing.assert_allclose(found.T, same_e, rtol=SAME, atol=SAME)


def test_nested_vmap() -> None:
    square = [a.reshape(2, 3, *a.shape[1:]) for a in given()]
    same(jax.jit(jax.vmap(jax.vmap(impulse)))(*square).reshape(LANES, 3))


def test_a_batch_of_two_axes() -> None:
    square = [a.reshape(2, 3, *a.shape[1:]) for a in given()]
    same(jax.jit(impulse)(*square).reshape(LANES, 3))


@pytest.mark.slow
@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_jacobians(jacobian: Callable) -> None:
    found = jax.jit(jax.vmap(jacobian(impulse, (0, 1, 2, 3))))(*given())
    weighted = [jnp.tensordot(jnp.array([1.0, -2.0, 3.0]), jnp.moveaxis(a, 1, 0), 1) for a in found]
    for a, b in zip(weighted, slopes(), strict=True):
        np.testing.assert_allclose(a, b, rtol=SAME_SLOPE, atol=SAME_SLOPE)


@pytest.mark.slow
def test_jvp_is_the_product_with_the_gradient() -> None:
    changes = [jnp.ones_like(a) for a in given()]
    _, found = jax.jit(lambda *a: jax.jvp(total, a, tuple(changes)))(*given())
    np.testing.assert_allclose(found, sum(a.sum() for a in slopes()), rtol=SAME_SLOPE)


@pytest.mark.slow
def test_linearize() -> None:
    _, linear = jax.linearize(jax.jit(total), *given())
    changes = [jnp.ones_like(a) for a in given()]
    np.testing.assert_allclose(linear(*changes), sum(a.sum() for a in slopes()), rtol=SAME_SLOPE)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [None, jax.checkpoint_policies.nothing_saveable])
def test_checkpoint(policy: Callable | None) -> None:
    found = jax.jit(jax.grad(jax.checkpoint(total, policy=policy), (0, 1, 2, 3)))(*given())
    for a, b in zip(found, slopes(), strict=True):
        np.testing.assert_allclose(a, b, rtol=SAME_SLOPE, atol=SAME_SLOPE)


@pytest.mark.slow
@pytest.mark.parametrize("outer", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("inner", [jax.jacfwd, jax.jacrev])
def test_second_derivatives_in_all_orders(outer: Callable, inner: Callable) -> None:
    found = jax.jit(outer(inner(one)))(given()[1][0])
    np.testing.assert_allclose(found, second(), atol=1e-6 * np.abs(second()).max())  # differences at 1e-5


@pytest.mark.slow
def test_vmap_of_hessian() -> None:
    v = given()[1][0]
    several = jnp.stack([v, v * 1.01, v])
    found = jax.jit(jax.vmap(jax.hessian(one)))(several)
    np.testing.assert_allclose(found[0], found[2], rtol=SAME_SECOND)
    np.testing.assert_allclose(found[0], second(), atol=1e-6 * np.abs(second()).max())


def test_scan() -> None:
    same(jax.jit(lambda a: lax.scan(lambda c, x: (c, impulse(*x)), 0, a)[1])(given()))


def test_map() -> None:
    same(jax.jit(lambda a: lax.map(lambda x: impulse(*x), a))(given()))


def test_while_loop() -> None:
    W, v, mu, e = (a[0] for a in given())

    def body(at: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return at[0] + 1, impulse(W, v, mu, e)

    found = jax.jit(lambda: lax.while_loop(lambda at: at[0] < 2, body, (0, jnp.zeros(3))))()[1]
    np.testing.assert_allclose(found, expected()[0], rtol=SAME)


@pytest.mark.parametrize("taken", [True, False])
def test_cond(taken: bool) -> None:
    found = jax.jit(lambda t: lax.cond(t, lambda: impulse(*given()), lambda: jnp.zeros((LANES, 3))))(taken)
    np.testing.assert_allclose(found, expected() * taken, rtol=SAME)


def on_two_devices(function: Callable, check: bool) -> Callable:
    mesh = jax.make_mesh((2,), ("rows",), axis_types=(AxisType.Auto,))
    rows = PartitionSpec("rows")
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=rows, out_specs=rows, check_vma=check))


@pytest.mark.parametrize("check", [True, False])
def test_shard_map(check: bool) -> None:
    same(on_two_devices(impulse, check)(*given()))


@pytest.mark.slow
@pytest.mark.parametrize("check", [True, False])
def test_gradient_inside_shard_map(check: bool) -> None:
    found = on_two_devices(jax.grad(total, (0, 1, 2, 3)), check)(*given())
    for a, b in zip(found, slopes(), strict=True):
        np.testing.assert_allclose(a, b, rtol=SAME_SLOPE, atol=SAME_SLOPE)


@pytest.mark.slow
@pytest.mark.parametrize("check", [True, False])
def test_gradient_outside_shard_map(check: bool) -> None:
    weights = jnp.array([1.0, -2.0, 3.0])
    found = jax.grad(lambda *a: (on_two_devices(impulse, check)(*a) * weights).sum(), (0, 1, 2, 3))(*given())
    for a, b in zip(found, slopes(), strict=True):
        np.testing.assert_allclose(a, b, rtol=SAME_SLOPE, atol=SAME_SLOPE)


def test_pmap() -> None:
    halves = [a.reshape(2, 3, *a.shape[1:]) for a in given()]
    same(np.asarray(jax.pmap(impulse)(*halves)).reshape(LANES, 3))


@pytest.mark.slow
@pytest.mark.parametrize("law", ["stronge", "sun_baruh", "whittaker"])
def test_debug_nans(law: str) -> None:
    """Inside jit. Outside, `info` comes with the impulse, and events that did not happen are nan."""
    with jax.debug_nans(True):
        jax.block_until_ready(jax.jit(jax.grad(lambda *a: jimpact.solve(*a, law=law).impulse.sum()))(*given()))


def test_checkify() -> None:
    """Checks of the user's; nan inside is how a missing event is written."""
    error, found = jax.jit(checkify.checkify(impulse, errors=checkify.user_checks))(*given())
    same(found)
    assert error.get() is None


@pytest.mark.slow
def test_without_jit() -> None:
    one_impact = [a[0] for a in given()]
    with jax.disable_jit():
        found = impulse(*one_impact)
    np.testing.assert_allclose(found, expected()[0], rtol=SAME)


def test_strict_promotion() -> None:
    with jax.numpy_dtype_promotion("strict"):
        same(jax.jit(lambda *a: impulse(*a) + 0)(*given()))


@pytest.mark.slow
def test_strict_promotion_of_the_gradient() -> None:
    with jax.numpy_dtype_promotion("strict"):
        jax.jit(jax.grad(total)).lower(*given())


def test_no_tracer_leaks() -> None:
    with jax.checking_leaks():
        same(jax.jit(lambda *a: impulse(*a) + 0)(*given()))


def test_single_precision_stays_single() -> None:
    found = jax.jit(impulse)(*(a.astype(jnp.float32) for a in given()))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, expected(), rtol=1e-3, atol=1e-4)
