"""A large batch queues for the slots, and is differentiated in blocks: the same as a small one, lane by lane."""

import functools

import cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact import parts, replay, rounds
from jimpact.impact import ACCURACIES, prepare
from jimpact.kernels import anywhere
from jimpact.laws.hodograph_law import follow

LANES = 500  # no multiple of the slots
SLOTS = 96
SAME = 1e-12  # the same steps, compiled in another shape
SAME_SLOPE = 1e-8  # chaotic round-off of grazing lanes amplified
LAW, LEVEL = "stronge", "standard"
WEIGHTS = np.array([1.0, -2.0, 3.0])


@functools.cache
def batch():
    return cases.join(*(cases.POPULATIONS[n](LANES // 4, seed=40) for n in cases.POPULATIONS))


def steps_taken(given):
    def count(W, v, mu, e, s):
        case = prepare(W, v, mu, e, s, LAW, LEVEL, 0.01)
        lane = follow(case.given, case.options).lane
        return (~rounds.recorded(lane, case.options.rule, case.options.accuracy).before.resting).sum(0)

    return np.asarray(jax.jit(count)(*given))


def everything(given):
    """Impact, and the derivative of its impulse."""
    same = given.static == given.mu

    def all_of_it(x, static):
        impact = lambda x: cases.flat_impact(LAW)(x, static, same)  # noqa: E731
        value, pull, whole = jax.vjp(lambda x: (impact(x).impulse, impact(x)), x, has_aux=True)
        return whole, pull(jnp.broadcast_to(WEIGHTS, value.shape))[0]

    return jax.tree.map(np.asarray, jax.jit(all_of_it)(cases.flat(given), given.static))


@pytest.fixture
def small_slots(monkeypatch):
    """Few slots and small blocks; programs of other sizes are forgotten before and after."""
    jax.clear_caches()
    monkeypatch.setattr(rounds, "SLOTS", SLOTS)
    monkeypatch.setattr(parts, "BLOCK", SLOTS)
    yield
    jax.clear_caches()


def check(found, expected, given):
    impact, back = found
    wanted, wanted_back = expected
    off = ~(cases.relative_error(impact.impulse, wanted.impulse) <= SAME)
    cases.check(off, LAW, given, "impulse depends on the batch")
    cases.check(impact.outcome != wanted.outcome, LAW, given, "outcome depends on the batch")
    for name, values in impact.info._asdict().items():
        close = 1e-7 if name == "line_start" else 1e-9  # slip hardly turns where it crosses the mark
        np.testing.assert_allclose(values, getattr(wanted.info, name), rtol=close, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(back, wanted_back, rtol=SAME_SLOPE, atol=1e-10)


def test_lanes_take_different_numbers_of_steps():
    """Else the tests below say nothing."""
    steps = steps_taken(batch())
    assert steps.min() <= 2 and np.median(steps) <= 4 and steps.max() >= 12


def test_most_lanes_need_less_than_half_of_the_steps_there_are():
    assert steps_taken(batch()).max() < ACCURACIES["float64"][LEVEL].most / 2


@pytest.mark.slow
def test_queue_and_blocks_are_as_all_together(small_slots):
    parts = [batch().take(slice(i, i + SLOTS // 2)) for i in range(0, LANES, SLOTS // 2)]
    parts[-1] = batch().take(slice(LANES - SLOTS // 2, LANES))
    together = [everything(part) for part in parts]
    left = LANES % (SLOTS // 2)
    together[-1] = jax.tree.map(lambda a: a[-left:], together[-1])
    check(everything(batch()), jax.tree.map(lambda *a: np.concatenate(a), *together), batch())


@pytest.mark.slow
def test_batch_of_slow_lanes(small_slots):
    """They fill the slots, and go on together."""
    slow = np.argsort(steps_taken(batch()))[-20:]
    given = batch().take(np.resize(slow, 5 * SLOTS))
    found, alone = everything(given), everything(batch().take(slow))
    repeated = jax.tree.map(lambda a: np.resize(a, (5 * SLOTS, *a.shape[1:])), alone)
    check(found, repeated, given)


def test_batch_of_lanes_that_rest_at_once(small_slots):
    """No slip: nothing to step through, and every look at the slots takes all of them."""
    n = 5 * SLOTS + 7
    v = jnp.broadcast_to(jnp.array([0.0, 0.0, -1.0]), (n, 3))
    impact = jax.jit(lambda v: jimpact.solve(jnp.eye(3), v, 0.5, 0.5))(v)
    np.testing.assert_allclose(impact.impulse, np.broadcast_to([0, 0, 1.5], (n, 3)), rtol=1e-15)


def test_lanes_that_slip_to_the_end_take_their_slots_last():
    given = batch()
    case = prepare(*given, LAW, LEVEL, 0.01)
    lane = follow(case.given, case.options).lane
    order = np.asarray(rounds._order(jnp.stack(rounds.operands_of(lane))))
    assert (np.sort(order) == np.arange(len(order))).all()
    last = order[-len(order) // 5 :]
    assert steps_taken(given)[last].max() <= 8 < steps_taken(given).max()  # as measured on random pairs of bodies
    impact = jimpact.solve(*given[:4], static_friction=given.static)
    assert np.isnan(impact.info.slip_end[last]).all()


@pytest.mark.parametrize("lanes", [3, 65])
def test_an_odd_batch_is_as_an_even_one(lanes):
    """An odd one is computed with a copy of its last lane, which must not be seen, nor add to a derivative."""
    given = batch().take(slice(lanes))
    whole = everything(given.take(np.r_[:lanes, 0]))
    check(everything(given), jax.tree.map(lambda a: a[:lanes], whole), given)


def test_changes_that_nothing_asks_for_are_not_computed(monkeypatch):
    asked = []
    inner = replay.TANGENT.function
    monkeypatch.setattr(
        replay.TANGENT, "function", lambda static, wanted, *a: asked.append(wanted) or inner(static, wanted, *a)
    )
    given = [jnp.asarray(a) for a in batch().take(slice(11))[:4]]
    jax.clear_caches()
    jax.jit(lambda *a: jax.jvp(lambda *a: jimpact.solve(*a).impulse, a, a)).lower(*given)
    assert asked and not {"friction_work", "first_end", "last_start", "last_end"} & set(asked[-1])


@pytest.mark.parametrize("flags,answer", [([False, False], False), ([False, True], True)])
def test_anywhere_looks_across_vmap(flags, answer):
    assert jax.vmap(anywhere, out_axes=None)(jnp.array(flags)) == answer


def test_loop_is_one_operation_under_vmap():
    """The new axis joins the batch; no loop or conditional of the program is batched by JAX."""
    one = (jnp.eye(3), jnp.array([0.3, 0.1, -1.0]), jnp.array(0.3), jnp.array(0.5))
    many = tuple(jnp.stack([a, a]) for a in one)
    f = lambda *a: jimpact.solve(*a, law=LAW, accuracy="low").impulse  # noqa: E731
    names = lambda jaxpr: [eqn.primitive.name for eqn in jaxpr.eqns if "jimpact" in eqn.primitive.name]  # noqa: E731
    assert names(jax.make_jaxpr(jax.vmap(f))(*many).jaxpr) == names(jax.make_jaxpr(f)(*one).jaxpr) != []
