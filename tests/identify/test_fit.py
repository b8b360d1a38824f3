"""The fit: recovers what is there, says what is not, and keeps its promises about uncertainty.

Most tests use Chatterjee & Ruina's law, which compiles in a second: the machinery is the same for every law.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

import jimpact
from jimpact.identify import (
    Material,
    Parameter,
    Rebounds,
    compare_laws,
    constant,
    cross_validate,
    fit,
    per_group,
    plan,
    speed_dependent,
)
from jimpact.identify.least_squares import Problem, evaluate
from jimpact.identify.likelihood import Choice, predict

N, NOISE = 64, 0.02
CR = {"law": "chatterjee_ruina", "parameters": ("friction", "restitution", "tangential_restitution")}
TRUTH = {"friction": 0.3, "restitution": 0.6, "tangential_restitution": 0.2}
FOUR = 4  # standard errors: one fit in 16,000 is further off

solve = jax.jit(jimpact.solve, static_argnames=("law", "rule", "accuracy"))


def scenes(seed: int = 0, slip: float = 1.0, count: int = N) -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(count, 3, 3))
    W = A @ np.swapaxes(A, 1, 2) * 0.3 + np.diag([2.0, 2.0, 1.0])
    v = np.stack([*(slip * rng.normal(size=(2, count))), -rng.uniform(0.5, 3, count)], -1)
    return jnp.asarray(W), jnp.asarray(v)


def data(seed: int = 0, slip: float = 1.0, law: str = "chatterjee_ruina", **truth: object) -> Rebounds:
    """Contact velocities with noise; coefficients may be one per impact."""
    W, v = scenes(seed, slip)
    after = solve(W, v, law=law, **truth).velocity
    return Rebounds.from_contact(W, v, after + NOISE * np.random.default_rng(seed + 1).normal(size=after.shape), NOISE)


@pytest.fixture(scope="module")
def rebounds() -> Rebounds:
    return data(**TRUTH)


@pytest.fixture(scope="module")
def found(rebounds: Rebounds) -> jimpact.identify.Fit:
    return fit(rebounds, **CR)


def assert_near(found: jimpact.identify.Fit, truth: dict[str, float]) -> None:
    for name, value in truth.items():
        assert abs(found.estimate[name] - value) < FOUR * found.standard_error[name], name


def test_finds_the_truth(found: jimpact.identify.Fit) -> None:
    assert_near(found, TRUTH)
    assert all(found.identifiable.values())


def test_every_start_ends_at_the_best_point(found: jimpact.identify.Fit) -> None:
    assert found.agreed == found.starts == 32 and found.converged


def test_the_estimate_is_that_of_an_independent_optimiser(rebounds: Rebounds, found: jimpact.identify.Fit) -> None:
    """Nelder-Mead on the plain sum of squares, to a millionth."""

    def cost(x: np.ndarray) -> float:
        after = solve(
            rebounds.inverse_inertia, rebounds.velocity, x[0], x[1], law=CR["law"], tangential_restitution=x[2]
        )
        return float(np.sum(np.square(np.asarray(after.velocity - rebounds.observation) / NOISE)))

    best = optimize.minimize(cost, list(TRUTH.values()), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-9})
    np.testing.assert_allclose(found.numbers, best.x, atol=1e-6)
    np.testing.assert_allclose(found.solved.cost, best.fun, rtol=1e-9)


def test_gradient_of_the_cost_is_that_of_differences(rebounds: Rebounds) -> None:
    material, step = constant(CR["parameters"]), 1e-6
    problem = Problem(rebounds, rebounds.noise, jnp.zeros(()), jnp.ones((3, N)))
    at = jnp.broadcast_to(material.free(jnp.array([0.25, 0.5, 0.1])), (3, 3))
    run = lambda x: evaluate(Choice("chatterjee_ruina"), material, problem, x)  # noqa: E731
    _, g, _ = run(at)
    slope = (run(at + step * jnp.eye(3))[0] - run(at - step * jnp.eye(3))[0]) / (2 * step)
    np.testing.assert_allclose(2 * g[0], slope, rtol=1e-6)  # central differences of a sum of order 1e4


def test_reverse_mode_is_forward_mode(rebounds: Rebounds) -> None:
    def run(x: jax.Array) -> jax.Array:
        reading = predict(Choice("chatterjee_ruina"), rebounds, dict(zip(CR["parameters"], x, strict=True)))
        return jnp.sum(jnp.sin(reading))

    x = jnp.array([0.25, 0.5, 0.1])
    np.testing.assert_allclose(jax.jit(jax.jacfwd(run))(x), jax.jit(jax.jacrev(run))(x), rtol=1e-10)


def test_log_likelihood_is_that_of_normal_noise(found: jimpact.identify.Fit) -> None:
    r = found.residuals
    expected = np.sum(-0.5 * (r / NOISE) ** 2 - np.log(NOISE) - 0.5 * np.log(2 * np.pi))
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-9)
    np.testing.assert_allclose(found.aic, 2 * 3 - 2 * expected, rtol=1e-9)
    np.testing.assert_allclose(found.bic, 3 * np.log(3 * N) - 2 * expected, rtol=1e-9)


def test_profile_and_curvature_agree_where_noise_is_small(found: jimpact.identify.Fit) -> None:
    one, other = found.interval(0.95), found.interval(0.95, "profile")
    for name in one:
        width = one[name][1] - one[name][0]
        np.testing.assert_allclose(one[name], other[name], atol=0.05 * width)


def test_profile_end_has_fallen_by_the_level(found: jimpact.identify.Fit) -> None:
    low, high = found.interval(0.95, "profile")["friction"]
    np.testing.assert_allclose(found.profile("friction", np.array([low, high])).fall, 3.841, rtol=0.01)


def test_bootstrap_spreads_as_the_standard_error(found: jimpact.identify.Fit) -> None:
    """With 200 resamples the spread itself is known to 5 %, and 64 impacts know it to about 10 %."""
    spread = found.bootstrap(200, seed=1).std(0)
    np.testing.assert_allclose(spread, list(found.standard_error.values()), rtol=0.45)


def test_bootstrap_draws_groups(rebounds: Rebounds) -> None:
    """The same impacts twice, as pairs of one group, know no more than once."""
    twice = jax.tree.map(lambda a: jnp.concatenate([a, a]), rebounds)
    double = fit(twice, **CR)
    single = fit(rebounds, **CR)
    ratio = double.bootstrap(100).std(0) / single.bootstrap(100).std(0)
    assert (ratio > 0.75).all()  # 0.71 if pairs were drawn apart; both have the same draws, so the ratio is 1
    np.testing.assert_allclose(ratio, 1, rtol=1e-3)


def test_noise_is_estimated(rebounds: Rebounds) -> None:
    found = fit(dataclasses.replace(rebounds, noise=jnp.full((N, 3), jnp.nan)), **CR)
    assert found.estimated.all()
    np.testing.assert_allclose(found.sigma[0], NOISE, rtol=FOUR / np.sqrt(2 * N))
    assert_near(found, TRUTH)


def test_a_channel_without_weight_has_none(rebounds: Rebounds) -> None:
    spoilt = dataclasses.replace(
        rebounds, noise=rebounds.noise.at[:, 1].set(jnp.inf), observation=rebounds.observation.at[:, 1].set(jnp.nan)
    )
    found = fit(spoilt, **CR)
    assert_near(found, TRUTH)
    assert np.isnan(found.residuals[:, 1]).all() and np.isfinite(found.log_likelihood)


def test_heavy_tails_stand_outliers(rebounds: Rebounds) -> None:
    wild = rebounds.observation.at[::10].add(30 * NOISE)
    spoilt = dataclasses.replace(rebounds, observation=wild)
    assert_near(fit(spoilt, **CR, heavy_tails=3.0), TRUTH)
    gaussian = fit(spoilt, **CR)
    off = [abs(gaussian.estimate[name] - TRUTH[name]) / gaussian.standard_error[name] for name in TRUTH]
    assert max(off) > FOUR


def test_fixed_coefficients_are_not_fitted(rebounds: Rebounds) -> None:
    found = fit(rebounds, law="chatterjee_ruina", fixed={"tangential_restitution": 0.2})
    assert found.names == ("friction", "restitution")
    assert_near(found, {"friction": 0.3, "restitution": 0.6})


def test_restitution_at_its_bound_is_found() -> None:
    found = fit(data(seed=5, friction=0.3, restitution=1.0, tangential_restitution=0.2), **CR)
    low, high = found.interval(0.95, "profile")["restitution"]
    assert found.estimate["restitution"] > 0.98 and low < 1.0 == high and found.identifiable["restitution"]


def test_all_stick_bounds_friction_from_below() -> None:
    found = fit(data(seed=3, slip=0.02, law="whittaker", friction=5.0, restitution=0.5), law="whittaker", starts=8)
    verdict = found.identifiable["friction"]
    assert not verdict and f"all {N} impacts stick: friction is only bounded from below" in verdict.reason
    assert 0 < verdict.low < 5 and verdict.high == np.inf
    assert found.interval()["friction"] == found.interval(0.95, "profile")["friction"]
    assert found.identifiable["restitution"] and abs(found.estimate["restitution"] - 0.5) < 0.02


def test_tangential_restitution_is_unknown_where_all_slide() -> None:
    found = fit(data(seed=4, slip=30.0, friction=0.02, restitution=0.5, tangential_restitution=0.2), **CR)
    assert not found.identifiable["tangential_restitution"] and found.identifiable["friction"]


def test_groups_are_fitted_as_if_alone() -> None:
    group = np.arange(N) % 2
    mixed = data(friction=jnp.where(group == 0, 0.2, 0.4), restitution=0.6, tangential_restitution=0.2)
    mixed = dataclasses.replace(mixed, group=jnp.asarray(group, jnp.int32))
    names = CR["parameters"]
    both = fit(mixed, law=CR["law"], material=per_group(2, names))
    alone = fit(mixed[group == 1], **CR)
    np.testing.assert_allclose(both.numbers[1::2], alone.numbers, atol=1e-6)


def test_pooling_draws_groups_together() -> None:
    group = np.arange(N) % 2
    mixed = data(friction=jnp.where(group == 0, 0.2, 0.4), restitution=0.6, tangential_restitution=0.2)
    mixed = dataclasses.replace(mixed, group=jnp.asarray(group, jnp.int32))
    names, shared = CR["parameters"], ("restitution", "tangential_restitution")

    def gap(spread: float | None) -> float:
        material = per_group(2, names, shared, spread)
        return float(np.ptp(fit(mixed, law=CR["law"], material=material).estimate["friction"]))

    assert gap(None) > gap(1e-3) > gap(1e-5) and gap(1e-5) < 0.1 * gap(None)


@pytest.fixture(scope="module")
def pairs() -> tuple[Rebounds, jimpact.identify.Fit]:
    """Two materials, a and b, with a friction of their own."""
    group = np.array(["a", "b"])[np.arange(N) % 2]
    mixed = data(friction=jnp.where(group == "a", 0.2, 0.4), restitution=0.6, tangential_restitution=0.2)
    mixed = Rebounds.from_contact(mixed.inverse_inertia, mixed.velocity, mixed.observation, NOISE, group)
    return mixed, fit(mixed, law=CR["law"], material=per_group(2, CR["parameters"]), starts=8)


def test_bootstrap_draws_within_groups_that_have_own_numbers(pairs: tuple[Rebounds, jimpact.identify.Fit]) -> None:
    ratio = pairs[1].bootstrap(100).std(0) / list(pairs[1].standard_error.values())
    assert ((ratio > 0.4) & (ratio < 2.5)).all()  # some numbers rest on a few of 32 impacts


def test_cross_validation_hides_what_it_predicts(pairs: tuple[Rebounds, jimpact.identify.Fit]) -> None:
    left = cross_validate(pairs[1], 5)
    assert np.nansum(left**2) > np.nansum(pairs[1].residuals ** 2)


def test_other_rebounds_find_their_group_by_name(pairs: tuple[Rebounds, jimpact.identify.Fit]) -> None:
    mixed, found = pairs
    some = slice(1, None, 2)
    only = Rebounds.from_contact(
        mixed.inverse_inertia[some], mixed.velocity[some], mixed.observation[some], NOISE, np.full(N // 2, "b")
    )
    np.testing.assert_allclose(found.coefficients(only)["friction"], found.estimate["friction"][1])
    with pytest.raises(ValueError, match="group 'c' was not fitted"):
        found.predict(
            Rebounds.from_contact(only.inverse_inertia, only.velocity, only.velocity, NOISE, np.full(N // 2, "c"))
        )


def test_groups_that_an_index_left_out_are_not_drawn(pairs: tuple[Rebounds, jimpact.identify.Fit]) -> None:
    with pytest.raises(ValueError, match="all rebounds are of one group"):
        fit(pairs[0][1::2], **CR, starts=8).bootstrap(8)


def test_too_few_numbers_for_the_noise_are_refused(rebounds: Rebounds) -> None:
    with pytest.raises(ValueError, match="3 numbers measured, and 6 unknown"):
        fit(dataclasses.replace(rebounds[:1], noise=jnp.full((1, 3), jnp.nan)), **CR)


def test_impacts_without_an_answer_are_counted(rebounds: Rebounds) -> None:
    assert fit(rebounds, **(CR | {"law": "bilinear"}), starts=8).no_answer == N


def test_restitution_that_falls_with_speed_is_found() -> None:
    v = scenes()[1]
    falling = data(friction=0.3, restitution=jnp.minimum(0.5 * (-v[:, 2]) ** -0.25, 1), tangential_restitution=0.2)
    found = fit(falling, law=CR["law"], material=speed_dependent(CR["parameters"]))
    assert_near(found, {"decay": 0.25, "restitution": 0.5, "friction": 0.3})


def test_a_material_of_your_own() -> None:
    v = scenes()[1]
    model = Material(
        lambda p, data: {"friction": p["mu"], "restitution": jnp.exp(p["rate"] * data.velocity[:, 2])},
        {"mu": Parameter(0, np.inf, (0.01, 1)), "rate": Parameter(0, np.inf, (0.01, 2))},
    )
    falling = data(friction=0.3, restitution=jnp.exp(0.4 * v[:, 2]), tangential_restitution=0.2)
    found = fit(falling, law=CR["law"], material=model, fixed={"tangential_restitution": 0.2})
    assert_near(found, {"mu": 0.3, "rate": 0.4})


def test_the_law_that_made_the_data_is_found(rebounds: Rebounds) -> None:
    table = compare_laws(rebounds, ["bilinear", "chatterjee_ruina", "sun_baruh"], starts=8)
    assert [row.law for row in table.rows] == ["chatterjee_ruina", "sun_baruh", "bilinear"]
    assert table.best.score < 1.2 < table.rows[1].score
    assert table.best.fit.aic < min(row.fit.aic for row in table.rows[1:])
    assert table.rows[2].outside == N  # inertias that are not those of a sphere


def test_a_plan_foresees_the_standard_error(rebounds: Rebounds, found: jimpact.identify.Fit) -> None:
    foreseen = plan(rebounds, TRUTH, law=CR["law"]).standard_error
    for name, error in found.standard_error.items():
        np.testing.assert_allclose(error, foreseen[name], rtol=0.2)  # at the truth, not at the estimate


def test_a_plan_prefers_drops_that_tell() -> None:
    """Drops that stick tell nothing on friction, so the best two are one of each kind."""
    v = jnp.asarray([[0.0, 0.0, -1.0], [0.0, 0.0, -1.0], [9.0, 0.0, -1.0], [9.0, 0.0, -1.1]])
    drops = Rebounds.from_contact(jnp.diag(jnp.array([3.0, 3.0, 1.0])), v, v, NOISE)
    chosen = plan(drops, {"friction": 0.3, "restitution": 0.5}, law="whittaker").best(2)
    assert len({index // 2 for index in chosen}) == 2 or set(chosen) == {2, 3}
    assert 2 in chosen or 3 in chosen


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"law": "hooke"}, "law='hooke' is unknown"),
        ({"parameters": ("friction",)}, "needs restitution; add it to parameters, or pass fixed="),
        ({"parameters": ("friction", "bounce")}, "parameter 'bounce' is unknown"),
        ({"parameters": ("friction", "restitution", "mixing")}, "law='stronge' has no mixing"),
        ({"law": "smith", "parameters": ("friction", "restitution", "static_friction")}, "has no static_friction"),
        ({"fixed": {"friction": 0.1}}, "friction is both fitted and fixed"),
        ({"starts": 0}, "starts=0; pass a whole number"),
        ({"starts": 10**13}, "starts=10000000000000; pass a whole number"),
        ({"seed": -1}, "seed=-1; pass a whole number"),
        ({"parameters": (), "fixed": {"friction": 0.1, "restitution": 0.5}}, "nothing to fit"),
        (
            {"parameters": ("restitution",), "fixed": {"friction": -1.0}},
            "fixed has friction=-1.0; pass a number",
        ),
        ({"parameters": ("restitution",), "fixed": {"friction": np.nan}}, "fixed has friction=nan"),
        ({"material": per_group(2)}, f"the material has 2 groups and the data {N}"),
        ({"heavy_tails": -1.0}, "heavy_tails=-1.0; pass degrees of freedom"),
        ({"start": {"friction": 0.1}}, "pass a value for each of friction, restitution"),
    ],
)
def test_wrong_options_are_named(rebounds: Rebounds, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit(rebounds, **options)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("inverse_inertia", jnp.zeros((3, 3)), "inverse_inertia is not symmetric positive definite; first at 5"),
        ("velocity", jnp.full(3, jnp.nan), "velocity is not finite; first at 5"),
        ("observation", jnp.full(3, jnp.nan), "pass noise=inf where a channel was not measured"),
        ("noise", jnp.zeros(3), "noise is not above 0"),
        ("noise", jnp.full(3, jnp.inf), "no channel was measured"),
        ("effect", jnp.full((3, 3), jnp.nan), "baseline or effect is not finite"),
    ],
)
def test_bad_rows_are_named(rebounds: Rebounds, field: str, value: jax.Array, words: str) -> None:
    bad = dataclasses.replace(rebounds, **{field: getattr(rebounds, field).at[5].set(value)})
    with pytest.raises(ValueError, match=words):
        fit(bad)


def test_data_that_never_approach_are_refused(rebounds: Rebounds) -> None:
    with pytest.raises(ValueError, match="check the sign of the normal"):
        fit(dataclasses.replace(rebounds, velocity=-rebounds.velocity))


def test_wrong_questions_to_a_fit_are_named(found: jimpact.identify.Fit) -> None:
    with pytest.raises(ValueError, match="level=95"):
        found.interval(95)
    with pytest.raises(ValueError, match="method='exact' is unknown"):
        found.interval(0.95, "exact")
    with pytest.raises(ValueError, match="values of restitution must be from 0 to 1"):
        found.profile("restitution", np.array([1.5]))
    with pytest.raises(ValueError, match="name='mixing' was not fitted"):
        found.profile("mixing")
