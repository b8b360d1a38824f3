"""Lanes that need more steps than most: gathered in a large batch, or all together when they are too many."""

import functools

import cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact import rounds
from jimpact.impact import ACCURACIES, prepare
from jimpact.laws.hodograph_law import follow
from jimpact.numerics import anywhere

LARGE = 1024  # lanes that count as a crowd here, so that they can be compared with the programs of `cases`
SAME = 1e-12  # the same steps, compiled in another shape
LAW, LEVEL = "stronge", "standard"
WEIGHTS = np.array([1.0, -2.0, 3.0])


@functools.cache
def batch():
    return cases.join(*(cases.POPULATIONS[n](LARGE // 4, seed=40) for n in cases.POPULATIONS))


@functools.cache
def slow_lanes():
    """Lanes that take so many steps that they are gathered twice."""

    def count(W, v, mu, e, s):
        case = prepare(W, v, mu, e, s, LAW, LEVEL, 0.01)
        lane = follow(case.given, case.options).lane
        return (~rounds.recorded(lane, case.options.rule, case.options.accuracy).before.resting).sum(0)

    return np.flatnonzero(jax.jit(count)(*batch()) > ACCURACIES["float64"][LEVEL].eighth)


@functools.cache
def compiled():
    """Impulse, outcome, and derivative of the impulse times `weights`, in reverse mode."""

    def impulse(x, static, same):
        impact = cases.flat_impact(LAW)(x, static, same)
        return impact.impulse, impact.outcome

    def all_of_it(x, static, same, weights):
        value, pull, outcome = jax.vjp(lambda x: impulse(x, static, same), x, has_aux=True)
        return value, outcome, pull(weights)[0]

    return jax.jit(all_of_it)


def gathered(given):
    """The same of LARGE impacts as a crowd."""
    weights = np.broadcast_to(WEIGHTS, (LARGE, 3))
    arrays = map(jnp.asarray, (cases.flat(given), given.static, given.static == given.mu, weights))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "CROWD", LARGE)
        return tuple(map(np.asarray, compiled()(*arrays)))


def check_value(given):
    impulse, outcome, _ = gathered(given)
    expected = cases.solve(given, LAW)
    cases.check(~(cases.relative_error(impulse, expected.impulse) <= SAME), LAW, given, "impulse depends on the batch")
    cases.check(outcome != expected.outcome, LAW, given, "outcome depends on the batch")


def test_some_lanes_are_gathered_twice():
    """Else the tests below say nothing."""
    assert 3 <= len(slow_lanes()) < LARGE // 8


@pytest.mark.slow
def test_gathered_lanes_are_as_in_a_small_batch():
    check_value(batch())


@pytest.mark.slow
def test_more_slow_lanes_than_room():
    check_value(batch().take(np.resize(slow_lanes(), LARGE)))


@pytest.mark.slow
def test_derivative_of_gathered_lanes():
    given, step = batch(), cases.TANGENT_LANES
    parts = [given.take(slice(i, i + step)) for i in range(0, LARGE, step)]
    expected = np.concatenate([cases.pullback(part, LAW, WEIGHTS) for part in parts])
    # chaotic round-off of grazing lanes amplified
    np.testing.assert_allclose(gathered(given)[2], expected, rtol=1e-8, atol=1e-10)


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
    f = lambda *a: jimpact.solve(*a[:4], law=LAW, static_friction=a[4], accuracy="low").impulse  # noqa: E731
    plain = count(jax.make_jaxpr(f)(*one).jaxpr)
    assert count(jax.make_jaxpr(jax.vmap(f))(*many).jaxpr) == plain > 3
