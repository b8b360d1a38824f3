"""Bad arguments raise at once with a sentence; bad values stay in their lane."""

import cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact import Outcome

SAME = 1e-13  # the other lanes run the same program on the same numbers

W, V = np.eye(3), np.array([1.0, 0.5, -1.0])
GOOD = dict(inverse_inertia=W, velocity=V, friction=0.5, restitution=0.5)
ARGUMENTS = [
    (ValueError, "inverse_inertia", dict(inverse_inertia=np.eye(2))),
    (ValueError, "velocity", dict(velocity=np.ones(2))),
    (ValueError, "velocity", dict(velocity=-1.0)),
    (ValueError, "friction", dict(inverse_inertia=np.stack([W] * 3), friction=np.ones(2) * 0.1)),
    (TypeError, "velocity", dict(velocity=np.array([1, 0, -1]))),
    (TypeError, "friction", dict(friction="rough")),
    (TypeError, "friction", dict(friction=None)),
    (TypeError, "restitution", dict(restitution=True)),
    (TypeError, "inverse_inertia", dict(inverse_inertia=W.astype(complex))),
    (TypeError, "float16", {k: np.asarray(a, np.float16) for k, a in GOOD.items()}),
    (ValueError, "law", dict(law="hertz")),
    (ValueError, "law", dict(law=None)),
    (ValueError, "accuracy", dict(accuracy="best")),
    (ValueError, "accuracy", dict(accuracy=3)),
    (ValueError, "tangential_restitution", dict(tangential_restitution=0.5)),
]


@pytest.mark.parametrize("error,word,change", ARGUMENTS, ids=[f"{w}-{i}" for i, (_, w, _) in enumerate(ARGUMENTS)])
def test_bad_argument_raises(error, word, change):
    with pytest.raises(error, match=word) as caught:
        jimpact.solve(**GOOD | change)
    assert "pass" in str(caught.value) or "leave" in str(caught.value), f"says not what to do: {caught.value}"


def test_bad_argument_raises_under_jit():
    with pytest.raises(ValueError, match="velocity"):
        jax.jit(lambda v: jimpact.solve(W, v, 0.5, 0.5))(jnp.ones(4))


def changed(**change):
    """One good impact, with some numbers changed."""
    one = cases.make(cases.JIA_WANG_W, [-0.26, 0.39, -0.08], 0.4, 0.9)
    for name, value in change.items():
        one = one._replace(**{name: np.asarray(value, float)[None]})
    return one


def with_entry(i, j, value):
    M = cases.JIA_WANG_W.copy()
    M[i, j] = value
    return M


BAD = {
    "nan velocity": (changed(v=[np.nan, 0, -1]), Outcome.INVALID),
    "infinite velocity": (changed(v=[np.inf, 0, -1]), Outcome.INVALID),
    "nan normal velocity": (changed(v=[0, 0, np.nan]), Outcome.INVALID),
    "nan inertia": (changed(W=with_entry(0, 0, np.nan)), Outcome.INVALID),
    "infinite inertia": (changed(W=with_entry(2, 2, np.inf)), Outcome.INVALID),
    "nan friction": (changed(mu=np.nan, static=np.nan), Outcome.INVALID),
    "nan static friction": (changed(static=np.nan), Outcome.INVALID),
    "infinite friction": (changed(mu=np.inf, static=np.inf), Outcome.INVALID),
    "nan restitution": (changed(e=np.nan), Outcome.INVALID),
    "negative friction": (changed(mu=-0.1), Outcome.INVALID),
    "restitution 2": (changed(e=2.0), Outcome.INVALID),
    "restitution below zero": (changed(e=-0.1), Outcome.INVALID),
    "inertia not definite": (changed(W=with_entry(2, 2, -1.0)), Outcome.INVALID),
    "inertia zero": (changed(W=np.zeros((3, 3))), Outcome.INVALID),
    "tangential inertia not definite": (changed(W=np.diag([1.0, -1.0, 1.0])), Outcome.INVALID),
    "asymmetric inertia": (changed(W=with_entry(0, 1, 3.0)), Outcome.INVALID),
    "static below kinetic": (changed(static=0.3), Outcome.INVALID),
    "separating": (changed(v=[1.0, 0.0, 0.5]), Outcome.SEPARATING),
    "at rest": (changed(v=[0.0, 0.0, 0.0]), Outcome.SEPARATING),
    "negative zero": (changed(v=[1.0, 0.0, -0.0]), Outcome.SEPARATING),
}


def mixed():
    """Bad lanes between good ones: index of the bad ones, and the batch."""
    good = cases.everything().take(slice(0, 800, 20)).take(slice(0, len(BAD)))
    bad = cases.join(*(c for c, _ in BAD.values()))
    both = cases.Cases(*(np.stack(p, 1).reshape(-1, *p[0].shape[1:]) for p in zip(good, bad, strict=True)))
    return np.arange(1, 2 * len(BAD), 2), both


@pytest.mark.parametrize("law", cases.SOME)
@pytest.mark.parametrize("name", BAD)
def test_outcome_of_bad_lane(name, law):
    one, outcome = BAD[name]
    assert cases.solve(one, law).outcome[0] == outcome, f"{law}: {one.describe(0)}"


@pytest.mark.parametrize("name", BAD)
def test_values_of_bad_lane(name):
    one, outcome = BAD[name]
    impact = cases.solve(one, "stronge")
    if outcome == Outcome.SEPARATING:
        assert np.array_equal(impact.impulse, np.zeros((1, 3))) and np.array_equal(impact.velocity, one.v)
        assert impact.info.kinetic_energy_change[0] == 0 and impact.info.compressions[0] == 0
    else:
        assert np.isnan(impact.impulse).all() and np.isnan(impact.velocity).all()
        assert np.isnan(impact.info.friction_work).all() and impact.info.compressions[0] == -1
    assert impact.info.mode[0] == -1 and jimpact.event_sequence(impact)[0] == ""


def test_rounded_print_is_not_asymmetric():
    """The printed W of Jia & Wang differs from its transpose in the last digit."""
    one = changed(W=with_entry(2, 0, 2.44235))
    assert cases.solve(one, "stronge").outcome[0] == Outcome.OK


@pytest.mark.parametrize("law", cases.SOME)
def test_bad_lanes_change_no_other_value(law):
    index, both = mixed()
    good = both.take(index - 1)
    error = cases.relative_error(cases.solve(both, law).impulse[index - 1], cases.solve(good, law).impulse)
    cases.check(~(error <= SAME), law, good, "changed by a bad neighbour", error)


@pytest.mark.parametrize("law", cases.ONE)
def test_bad_lanes_change_no_other_derivative(law):
    index, both = mixed()
    good = both.take(index - 1)
    alone, beside = cases.jacobian(good, law), cases.jacobian(both, law)[index - 1]
    error = np.abs(alone - beside).max((1, 2)) / np.abs(alone).max((1, 2))
    cases.check(~(error <= SAME), law, good, "derivative changed by a bad neighbour", error)


def flat_bad():
    """Bad lanes as the Jacobian sees them: it writes each pair of off-diagonal entries once, so W is symmetric."""
    index, both = mixed()
    return index[[name != "asymmetric inertia" for name in BAD]], both


@pytest.mark.parametrize("law", cases.SOME)
def test_derivative_in_bad_lane_is_zero(law):
    index, both = flat_bad()
    J = cases.jacobian(both, law)[index]
    cases.check((J != 0).any((1, 2)), law, both.take(index), "derivative is not zero", np.abs(J).max((1, 2)))


@pytest.mark.slow
def test_reverse_derivative_in_bad_lane_is_zero():
    index, both = flat_bad()
    J = cases.jacobian(both, "stronge", "reverse")[index]
    cases.check((J != 0).any((1, 2)), "stronge", both.take(index), "derivative is not zero", np.abs(J).max((1, 2)))


def test_require_returns_good_impacts():
    impact = cases.solve(changed(), "stronge")
    assert jimpact.require(impact) is impact


def test_require_names_count_reason_and_first_lanes():
    _, both = mixed()
    with pytest.raises(jimpact.ImpactError) as caught:
        jimpact.require(cases.solve(both, "stronge"))
    text = str(caught.value)
    invalid = sum(o == Outcome.INVALID for _, o in BAD.values())
    assert f"{invalid} of {2 * len(BAD)} impacts failed" in text
    assert f"{invalid} INVALID, first at (1,), (3,), (5,)" in text and "symmetric positive definite" in text


def test_require_accepts_separating_unless_told():
    impact = cases.solve(BAD["separating"][0], "stronge")
    assert jimpact.require(impact) is impact
    with pytest.raises(jimpact.ImpactError, match=r"1 of 1 impacts failed: 1 SEPARATING"):
        jimpact.require(impact, separating=False)


@pytest.mark.parametrize("tolerance", [-1.0, 0.0, 0.11, float("nan"), "a", None, True, 1j, np.ones(2)])
def test_bad_line_tolerance_raises(tolerance):
    with pytest.raises(ValueError, match="line_tolerance"):
        jimpact.solve(**GOOD, line_tolerance=tolerance)


@pytest.mark.parametrize("dtype,far", [(np.float64, 110), pytest.param(np.float32, 14, marks=pytest.mark.slow)])
def test_validity_does_not_depend_on_units(dtype, far):
    scales = np.array([10.0**-far, 1, 10.0**far])
    batch = cases.make(scales[:, None, None] * cases.JIA_WANG_W, [0.3, 0.1, -1], 0.3, 0.5)
    outcome = cases.solve(batch, "stronge", dtype).outcome
    assert not outcome.any(), outcome


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_derivatives_stay_finite_at_the_edge_of_the_numbers(dtype):
    """Restitution and approach whose squares underflow, beside a good lane; only the lanes with an answer count."""
    small = float(np.finfo(dtype).tiny) ** 0.55
    v = [[0.3, 0.1, -1.0], [1.0, 0.0, -small], [0.3, 0.1, -1.0]]
    batch = cases.make(cases.JIA_WANG_W, v, 0.3, [0.5, 0.5, small])
    outcome = cases.solve(batch, "stronge", dtype).outcome
    gradient = cases.pullback(batch, "stronge", np.ones((3, 3)) * (outcome == 0)[:, None], dtype)
    assert np.isfinite(gradient).all() and outcome.tolist() == [0, jimpact.Outcome.INVALID, 0], (gradient, outcome)
    assert gradient[[0, 2], 0].all(), gradient


@pytest.mark.parametrize(
    "W,mu", [(-np.eye(3), 0.3), (np.eye(3), -0.3), (np.full((3, 3), np.nan), 0.3), (np.eye(3), np.inf)]
)
def test_no_invariant_directions_of_bad_input(W, mu):
    directions, rates = jimpact.invariant_directions(W, mu)
    assert np.isnan(directions).all() and np.isnan(rates).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: jimpact.invariant_directions(np.eye(2), 0.3),
        lambda: jimpact.invariant_directions(np.ones((2, 3, 3)), np.ones(3)),
        lambda: jimpact.permissible(np.ones((2, 3, 3)), np.ones((3, 3)), np.ones(3), 0.3),
        lambda: jimpact.permissible(np.eye(3), "v", np.ones(3), 0.3),
        lambda: jimpact.permissible(np.eye(3), np.ones(3), np.ones(3), 0.3j),
    ],
)
def test_helpers_say_what_to_pass(call):
    with pytest.raises((ValueError, TypeError), match="; pass "):
        call()


@pytest.mark.parametrize("reader", [jimpact.require, jimpact.event_sequence])
def test_what_reads_values_says_where_to_call_it(reader):
    with pytest.raises(TypeError, match=f"{reader.__name__} looks at values.*outside jit"):
        jax.jit(lambda v: reader(jimpact.solve(np.eye(3), v, 0.3, 0.5)))(jnp.array([0.0, 0.0, -1.0]))
