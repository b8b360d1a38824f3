"""Lanes that need more steps than most: gathered in a large batch, or all together when they are too many."""

import functools

import cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact.impact import ACCURACIES, prepare
from jimpact.laws.hodograph_law import follow
from jimpact.numerics import anywhere
from jimpact.rounds import CROWD, recorded

LARGE = CROWD + 300
HALF = LARGE // 2  # a batch of this size is small
SAME = 1e-12  # the same steps, compiled in another shape
LAW = "stronge"
LEVEL = "low"  # compiles faster


def impulse_and_outcome(W, v, mu, e, s):
    impact = jimpact.solve(W, v, mu, e, law=LAW, static_friction=s, accuracy=LEVEL)
    return impact.impulse, impact.outcome


@functools.cache
def batch():
    return cases.join(*(cases.POPULATIONS[n](LARGE // 4, seed=40) for n in cases.POPULATIONS))


@functools.cache
def steps_taken():
    """Steps of each lane of the first half of the batch."""

    def count(W, v, mu, e, s):
        case = prepare(W, v, mu, e, s, LAW, LEVEL, 0.01)
        lane = follow(case.given, case.options).lane
        return (~recorded(lane, case.options.rule, case.options.accuracy).before.resting).sum(0)

    return np.asarray(jax.jit(count)(*batch().take(slice(0, HALF))))


def in_halves(f, given):
    halves = [f(*(jnp.asarray(a) for a in given.take(part))) for part in (slice(0, HALF), slice(HALF, LARGE))]
    return [np.concatenate([np.asarray(a) for a in both]) for both in zip(*halves, strict=True)]


def check_large(given):
    f = jax.jit(impulse_and_outcome)
    impulse, outcome = (np.asarray(a) for a in f(*(jnp.asarray(a) for a in given)))
    expected, outcomes = in_halves(f, given)
    cases.check(~(cases.relative_error(impulse, expected) <= SAME), LAW, given, "impulse depends on the batch")
    cases.check(outcome != outcomes, LAW, given, "outcome depends on the batch")


def slow_lanes():
    return np.flatnonzero(steps_taken() > ACCURACIES["float64"][LEVEL].eighth)


def test_some_lanes_are_gathered_twice():
    """Else the tests below say nothing."""
    assert 3 <= len(slow_lanes()) < HALF // 8


@pytest.mark.slow
def test_gathered_lanes_are_as_in_a_small_batch():
    check_large(batch())


@pytest.mark.slow
def test_more_slow_lanes_than_room():
    check_large(batch().take(np.resize(slow_lanes(), LARGE)))


@pytest.mark.slow
def test_derivative_of_gathered_lanes():
    given = batch()
    f = jax.jit(
        jax.grad(lambda *a: (impulse_and_outcome(*a)[0] * jnp.array([1.0, -2.0, 3.0])).sum(), argnums=(1, 2, 3))
    )
    whole = f(*(jnp.asarray(a) for a in given))
    for a, b in zip(whole, in_halves(f, given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)  # chaotic round-off of grazing lanes amplified


@pytest.mark.parametrize("flags,answer", [([False, False], False), ([False, True], True)])
def test_anywhere_looks_across_vmap(flags, answer):
    assert jax.vmap(anywhere, out_axes=None)(jnp.array(flags)) == answer


def test_conditionals_survive_vmap():
    """A conditional on a batched flag would compute both of its branches, in every step."""

    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            total += eqn.primitive.name == "cond"
            for value in jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
                inner = getattr(value, "jaxpr", value)
                total += count(inner) if hasattr(inner, "eqns") else 0
        return total

    one = (jnp.eye(3), jnp.array([0.3, 0.1, -1.0]), jnp.array(0.3), jnp.array(0.5), jnp.array(0.3))
    many = tuple(jnp.stack([a, a]) for a in one)
    plain = count(jax.make_jaxpr(impulse_and_outcome)(*one).jaxpr)
    assert count(jax.make_jaxpr(jax.vmap(impulse_and_outcome))(*many).jaxpr) == plain > 3
