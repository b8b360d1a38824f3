"""What every law of the catalogue promises, one property per test, over all entries of `LAWS`."""

import cases
import catalogue
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from catalogue import ALGEBRAIC, ENTRIES, Entry

import jimpact
from jimpact import LAWS, Outcome

EACH = pytest.mark.parametrize("entry", ENTRIES, ids=str)
EACH_DERIVATIVE = pytest.mark.parametrize("entry", [e for e in ALGEBRAIC if e.rule == "poisson"], ids=str)
EACH_ALGEBRAIC = pytest.mark.parametrize("entry", ALGEBRAIC, ids=str)
ROUND = 1e-11  # relative: round-off of an impact in float64, with inertias of condition up to 1000
SAME = 1e-9  # two computations of one impact whose round-off differs, also where slip passes close to zero
GOLDEN = 1e-9
FOLLOWED = 2e-8  # laws that follow the slip, at the accuracy "standard"
SINGLE = 1e-3  # the same in float32, on 99 % of the lanes
SLOPE = 2e-5  # relative to the largest derivative: central differences with a step of 1e-6
FINITE = 1e9


def scaled(entry: Entry) -> float:
    """Accuracy that the entry is computed to."""
    return FOLLOWED if LAWS[entry.law].rule or entry.law == "composite" else ROUND


def check(bad, entry, given, what, values=None):
    cases.check(bad, str(entry), given, what, values)


def close(impact, other, entry, given, what, tolerance=SAME):
    """The same impulses, where both have an answer, and both have one in the same lanes."""
    check(catalogue.inside(impact) != catalogue.inside(other), entry, given, f"{what}: answer or no answer")
    good = catalogue.inside(impact)
    error = cases.relative_error(impact.impulse[good], other.impulse[good])
    check(~(error <= tolerance), entry, given.take(good), what, error)


# --- references -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", [e for e in ENTRIES if f"impulse_{e.law}" in catalogue.golden()], ids=str)
def test_golden(entry):
    data, given = catalogue.golden(), catalogue.golden_cases()
    impact = catalogue.solve(given, entry, tangential_restitution=data["e_t"])
    error = cases.relative_error(impact.impulse, data[f"impulse_{entry.law}"])
    check(~(error <= GOLDEN), entry, given, "impulse", error)


@pytest.mark.parametrize("rule", ["poisson", "stronge"])
def test_golden_sun_baruh(rule):
    data, given, entry = catalogue.golden(), catalogue.golden_cases(), Entry("sun_baruh", rule)
    impact = catalogue.solve(given, entry)
    expected = data[f"impulse_sun_baruh_{rule}"]
    there = ~np.isnan(expected).any(-1)
    check(catalogue.inside(impact) != there, entry, given, "domain")
    error = cases.relative_error(impact.impulse[there], expected[there])
    check(~(error <= GOLDEN), entry, given.take(there), "impulse", error)
    check(impact.info.mode != data[f"mode_sun_baruh_{rule}"], entry, given, "mode", impact.info.mode)


def test_golden_composite():
    data, given = catalogue.golden(), catalogue.golden_cases()
    given, own = given._replace(static=given.mu), {"tangential_restitution": data["e_t"], "mixing": data["sigma"]}
    impact = catalogue.solve(given, Entry("composite"), **own)
    error = cases.relative_error(impact.impulse, data["impulse_composite_poisson"])
    check(~(error <= GOLDEN), Entry("composite"), given, "impulse", error)


def test_golden_bilinear():
    data = catalogue.golden()
    t, z, vx, vy, vz, mu, e, e_t = data["bilinear_inputs"].T
    W = np.einsum("n,ij->nij", t, np.diag([1.0, 1, 0])) + np.einsum("n,ij->nij", z, np.diag([0, 0, 1.0]))
    given = cases.make(W, np.stack([vx, vy, vz], -1), mu, e)
    impact = catalogue.solve(given, Entry("bilinear"), tangential_restitution=e_t)
    error = cases.relative_error(impact.impulse, data["bilinear_impulse"])
    check(~(error <= GOLDEN), Entry("bilinear"), given, "impulse", error)


def test_the_table_says_what_each_law_is():
    for name, law in LAWS.items():
        assert law.name == name
        assert law.reference and law.domain
        assert {"friction", "restitution"} <= set(law.parameters)


# --- promises -------------------------------------------------------------------------------------------------


@EACH
def test_random_impacts_are_answered(entry):
    """OK everywhere, or outside a domain that the law declares."""
    given = catalogue.population(entry)
    outcome = catalogue.solve(given, entry).outcome
    allowed = [Outcome.OK] if LAWS[entry.law].domain == "every impact" else [Outcome.OK, Outcome.OUTSIDE]
    check(~np.isin(outcome, allowed), entry, given, "outcome", outcome)
    assert (outcome == Outcome.OK).mean() > 0.9


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not LAWS[e.law].may_gain_energy], ids=str)
def test_energy_is_not_gained(entry):
    given = catalogue.population(entry)
    change = catalogue.solve(given, entry).info.kinetic_energy_change
    check(~(change <= scaled(entry) * catalogue.contact_energy(given)), entry, given, "energy gained", change)


# Found by search, rounded; the first two are planar.
LEANING = cases.make([[3.8, 0, -3.0], [0, 3.8, 0], [-3.0, 0, 2.7]], [0.9, 0, -1.0], 0.9, 0.7)
GAIN = {
    "newton": LEANING,
    "whittaker": LEANING,
    "sun_baruh": cases.make(
        [[3.83, -0.22, -1.28], [-0.22, 0.81, -0.09], [-1.28, -0.09, 1.09]], [-1.2, -1, -0.4], 0.9, 0.9
    ),
}


@pytest.mark.parametrize("law", GAIN)
def test_declared_gain_of_energy_is_real(law):
    given = GAIN[law]
    impact = catalogue.solve(given, Entry(law))
    assert impact.outcome[0] == Outcome.OK
    after = catalogue.contact_energy(given, impact.velocity)
    assert after[0] > 1.01 * catalogue.contact_energy(given)[0]
    assert LAWS[law].may_gain_energy


@EACH
def test_reported_energy_is_that_of_the_velocities(entry):
    given = catalogue.population(entry)
    impact = catalogue.solve(given, entry)
    good = catalogue.inside(impact)
    before, after = catalogue.contact_energy(given), catalogue.contact_energy(given, impact.velocity)
    wrong = np.abs(after - before - impact.info.kinetic_energy_change) / np.maximum(before, after)
    check(~(wrong[good] <= 1e-10), entry, given.take(good), "energy", wrong[good])


@EACH
def test_impulse_is_in_the_cone(entry):
    given = catalogue.population(entry)
    impulse = catalogue.solve(given, entry).impulse
    slack = scaled(entry) * np.linalg.norm(impulse, axis=-1)
    check(np.hypot(impulse[:, 0], impulse[:, 1]) > given.mu * impulse[:, 2] + slack, entry, given, "cone", impulse)


@EACH
def test_bodies_do_not_approach_after(entry):
    given = catalogue.population(entry)
    impact = catalogue.solve(given, entry)
    size = np.abs(given.v).max(-1) + np.abs(given.W).max((-1, -2)) * np.abs(impact.impulse).max(-1)
    check(impact.velocity[:, 2] < -scaled(entry) * size, entry, given, "approaching", impact.velocity)


@EACH
def test_velocity_follows_from_impulse(entry):
    given = catalogue.population(entry)
    impact = catalogue.solve(given, entry)
    expected = given.v + np.einsum("nij,nj->ni", given.W, impact.impulse)
    size = np.abs(given.v).max(-1) + np.abs(given.W).max((-1, -2)) * np.abs(impact.impulse).max(-1)
    wrong = np.abs(impact.velocity - expected).max(-1) / size
    check(wrong > 1e-12, entry, given, "velocity", wrong)


# --- invariance -----------------------------------------------------------------------------------------------


def turned(given: cases.Cases, matrix: np.ndarray) -> cases.Cases:
    return given._replace(W=matrix @ given.W @ matrix.T, v=given.v @ matrix.T)


ROTATION = np.array([[np.cos(1.1), -np.sin(1.1), 0], [np.sin(1.1), np.cos(1.1), 0], [0, 0, 1]])
MIRROR = np.diag([1.0, -1, 1])


@EACH
@pytest.mark.parametrize("matrix", [ROTATION, MIRROR], ids=["rotation", "mirror"])
def test_frame_does_not_matter(entry, matrix):
    given = catalogue.population(entry)
    impact, other = catalogue.solve(given, entry), catalogue.solve(turned(given, matrix), entry)
    close(impact, other._replace(impulse=other.impulse @ matrix), entry, given, "frame")


@EACH
@pytest.mark.parametrize("speed,mass", [(1e3, 1.0), (1.0, 1e-4), (1e-5, 1e6)])
def test_impulse_scales_with_speed_and_mass(entry, speed, mass):
    given = catalogue.population(entry)
    other = catalogue.solve(given._replace(W=given.W / mass, v=given.v * speed), entry)
    close(catalogue.solve(given, entry), other._replace(impulse=other.impulse / (speed * mass)), entry, given, "scale")


# --- special cases --------------------------------------------------------------------------------------------


@EACH
def test_without_friction_all_laws_agree(entry):
    given = catalogue.population(entry)
    given = given._replace(mu=0 * given.mu, static=0 * given.static)
    impulse = catalogue.solve(given, entry).impulse
    expected = np.zeros_like(given.v)
    expected[:, 2] = -(1 + given.e) * given.v[:, 2] / given.W[:, 2, 2]
    check(~(cases.relative_error(impulse, expected) <= 1e-12), entry, given, "frictionless impulse", impulse)


@pytest.mark.parametrize("law", ["chatterjee_ruina", "bilinear"])
def test_spheres_obey_the_bilinear_law(law):
    given = catalogue.spheres(250)
    impulse = catalogue.solve(given, Entry(law)).impulse
    slip, tangential, normal = given.v[:, :2], given.W[:, 0, 0], given.W[:, 2, 2]
    speed = np.linalg.norm(slip, axis=-1)
    p = -(1 + given.e) * given.v[:, 2] / normal
    friction = np.minimum(given.mu * p, (1 + catalogue.E_T) * speed / tangential)
    expected = np.concatenate([-slip / speed[:, None] * friction[:, None], p[:, None]], 1)
    check(~(cases.relative_error(impulse, expected) <= ROUND), Entry(law), given, "bilinear law")


NOT_THAT_OF_SPHERES = ("chatterjee_ruina", "bilinear", "composite", "smith")  # they may reverse the slip


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.law not in NOT_THAT_OF_SPHERES], ids=str)
def test_spheres_stop_slipping_or_slide(entry):
    """Without coupling, laws without tangential restitution are the bilinear law with none."""
    given = catalogue.spheres(250)
    expected = catalogue.solve(given, Entry("bilinear"), tangential_restitution=0.0)
    close(catalogue.solve(given, entry), expected, entry, given, "sphere", max(scaled(entry), SAME))


# --- batches, derivatives, dtypes -----------------------------------------------------------------------------


@EACH_DERIVATIVE
@pytest.mark.slow
def test_vmap_is_batch(entry):
    given = catalogue.population(entry, catalogue.TANGENT_LANES)
    mapped = catalogue.derived(catalogue.flat(given), entry)[0]
    np.testing.assert_allclose(mapped, catalogue.solve(given, entry).impulse, rtol=1e-10, atol=1e-12)


@EACH_ALGEBRAIC
def test_a_lane_does_not_depend_on_its_neighbours(entry):
    """A batch is the loop over its lanes."""
    given = catalogue.population(entry, 40)
    alone = [catalogue.solve(given.take([i] * 3), entry).impulse[0] for i in range(0, 40, 13)]
    np.testing.assert_array_equal(catalogue.solve(given, entry).impulse[::13], alone)


def smooth(entry: Entry, n: int) -> np.ndarray:
    """Parameters of impacts away from branch boundaries: where one-sided differences agree."""
    given = catalogue.population(entry, 4 * n, seed=23)
    x = catalogue.flat(given)
    if entry.law == "bilinear":
        x[:, 8:11] = 0
    good = catalogue.inside(catalogue.solve(given, entry))
    return x[good][:n]


DIRECTIONS = {"bilinear": (0, 1, 2, 3, 4, 7, 11)}  # the others would leave its domain


@EACH_DERIVATIVE
@pytest.mark.slow
def test_derivatives_are_those_of_differences(entry):
    x = smooth(entry, catalogue.TANGENT_LANES)
    J = catalogue.jacobian(x, entry)
    columns = DIRECTIONS.get(entry.law, range(13))
    error = np.zeros((len(x), 13))
    for j in columns:
        h = 1e-6
        step = h * np.eye(13)[j]
        right, middle, left = (catalogue.derived(x + s * step, entry)[0] for s in (1, 0, -1))
        kinked = np.abs((right - middle) - (middle - left)).max(-1) > 1e-3 * h * (1 + np.abs(J).max((1, 2)))
        difference = (right - left) / (2 * h)
        error[:, j] = np.where(kinked, 0, np.abs(J[:, :, j] - difference).max(-1) / (1e-3 + np.abs(J).max((1, 2))))
    given = cases.unflat(x[:, :11])
    check(~(error.max(1) <= SLOPE), entry, given, "derivative", error)


@EACH_DERIVATIVE
@pytest.mark.slow
def test_forward_is_reverse(entry):
    x = smooth(entry, catalogue.TANGENT_LANES)
    weights = np.array([0.3, -0.7, 1.1])
    reverse = catalogue.derived(x, entry, weights=weights)[2]
    forward = np.einsum("i,nij->nj", weights, catalogue.jacobian(x, entry))
    size = np.abs(forward).max(1)
    check(np.abs(forward - reverse).max(1) > 1e-10 * size, entry, cases.unflat(x[:, :11]), "reverse mode")


def boundaries(entry: Entry) -> np.ndarray:
    """Parameters on the boundaries that laws have: no slip, no friction, e = 0 and 1, grazing, the stick limit."""
    base = catalogue.flat(catalogue.spheres(1) if entry.law == "bilinear" else cases.two_body(1, seed=5))[0]
    rows = []
    for change in (
        {2: 0, 3: 0},
        {0: 0},
        {1: 0},
        {1: 1},
        {4: -1e-9},
        {0: 0, 2: 0, 3: 0},
        {1: 0, 2: 0, 3: 0},
        {11: -1},
        {11: 1},
        {12: 0},
        {12: 1},
        {0: 50},
        {9: 0, 10: 0, 8: 0},
        {9: 0, 10: 0, 8: 0, 2: 0, 3: 0},
    ):
        row = base.copy()
        for column, value in change.items():
            row[column] = value
        rows.append(row)
    return np.stack(rows)


@EACH_DERIVATIVE
@pytest.mark.slow
def test_derivatives_are_finite_on_boundaries(entry):
    x = boundaries(entry)
    J = catalogue.jacobian(x, entry)
    check(~(np.abs(J) < FINITE).all((1, 2)), entry, cases.unflat(x[:, :11]), "derivative", np.abs(J).max((1, 2)))


@pytest.mark.parametrize("law", ["whittaker", "anitescu_potra"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_impulse_on_the_cone_to_round_off(law, dtype):
    """Friction that just stops the slip: stick or slide, but an answer."""
    given = cases.spd(500, 61)._replace(e=np.zeros(500))
    dead = -np.linalg.solve(given.W, given.v[..., None])[..., 0]
    mu = np.hypot(dead[:, 0], dead[:, 1]) / np.abs(dead[:, 2])
    given = given._replace(mu=mu, static=mu).take(dead[:, 2] > 0)
    outcome = catalogue.solve(given, Entry(law), dtype).outcome
    check(outcome != Outcome.OK, Entry(law), given, "outcome", outcome)


@pytest.mark.parametrize("law", ["chatterjee_ruina", "bilinear", "whittaker", "anitescu_potra", "sun_baruh"])
@pytest.mark.slow
def test_derivative_by_slip_at_zero_slip(law):
    """A sphere that sticks: (1 + e_t) times the slip is taken away, over the inverse mass."""
    x = catalogue.flat(cases.make(np.diag([3.5, 3.5, 1.0]), [0.0, 0, -1], 0.5, 0.5))
    J = catalogue.jacobian(x, Entry(law))[0]
    reversal = 1 + catalogue.E_T if law in ("chatterjee_ruina", "bilinear") else 1
    np.testing.assert_allclose(J[:2, 2:4], -reversal / 3.5 * np.eye(2), atol=1e-12)


@EACH_ALGEBRAIC
def test_bad_lanes_harm_no_other(entry):
    given = catalogue.population(entry, 6)
    bad = given._replace(W=given.W.copy(), v=given.v.copy())
    bad.W[1], bad.v[2], bad.v[3, 2] = -np.eye(3), np.nan, 1.0
    impact, expected = catalogue.solve(bad, entry), catalogue.solve(given, entry)
    assert impact.outcome[1:4].tolist() == [Outcome.INVALID, Outcome.INVALID, Outcome.SEPARATING]
    np.testing.assert_array_equal(impact.impulse[[0, 4, 5]], expected.impulse[[0, 4, 5]])
    assert np.isnan(impact.impulse[1:3]).all() and (impact.impulse[3] == 0).all()


@EACH_DERIVATIVE
@pytest.mark.slow
def test_bad_lanes_have_no_derivative(entry):
    x = catalogue.flat(catalogue.population(entry, 4))
    x[0, 5], x[1, 4], x[2, 1] = -1, 1.0, 2.0
    J = catalogue.jacobian(x, entry)
    assert (J[:3] == 0).all()
    assert np.isfinite(J[3]).all()


@EACH_ALGEBRAIC
def test_float32(entry):
    given = catalogue.population(entry)
    single, double = catalogue.solve(given, entry, np.float32), catalogue.solve(given, entry)
    assert single.impulse.dtype == np.float32
    good = catalogue.inside(double) & catalogue.inside(single)
    assert good.sum() >= 0.99 * catalogue.inside(double).sum()
    error = cases.relative_error(single.impulse[good], double.impulse[good])
    assert np.percentile(error, 99) < SINGLE
    check(single.outcome[good] != Outcome.OK, entry, given.take(good), "outcome", single.outcome[good])


# --- extremes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_smith_at_high_friction_restores_or_says_that_it_cannot(dtype):
    """Friction 1e8: the tangential impulse is a small difference of large numbers, unless taken from the slip."""
    rng, n = np.random.default_rng(11), 512
    A = rng.normal(size=(n, 3, 3))
    W, v = A @ np.swapaxes(A, 1, 2) + 0.3 * np.eye(3), rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2]) - 0.01
    e = rng.uniform(0, 1, n)
    impact = catalogue.solve(cases.make(W, v, 1e8, e), Entry("smith"), dtype)
    good = impact.outcome == Outcome.OK
    assert good.mean() > (0.4 if dtype == np.float32 else 0.99)
    size = np.abs(W[:, 2] * impact.impulse).sum(-1)
    missed = np.abs(impact.velocity[:, 2] + e * v[:, 2]) / size
    assert (missed[good] <= 5000 * np.finfo(dtype).eps).all()


@pytest.mark.parametrize("law", ["anitescu_potra", "sun_baruh", "whittaker"])
def test_gradients_of_tiny_numbers_are_finite(law):
    """Friction, coupling and slip whose squares vanish in float32."""
    rng, n = np.random.default_rng(12), 2048
    W = np.tile(np.diag([3.5, 2.86, 1.0]), (n, 1, 1))
    for i in (0, 1):
        W[:, i, 2] = W[:, 2, i] = 10 ** rng.uniform(-12, -5, n) * rng.choice([-1, 0, 1], n)
    v = np.stack([*(rng.choice([0, 1e-9, 1e-5, 1], (2, n)) * rng.normal(size=(2, n))), -rng.uniform(0.1, 1, n)], -1)
    mu = np.where(rng.random(n) < 0.5, 10 ** rng.uniform(-9, -5, n), 10 ** rng.uniform(-30, 8, n))
    given = [jnp.asarray(a, np.float32) for a in (W, v, mu, rng.choice([0, 1e-8, 0.5, 1], n))]
    slopes = jax.jit(jax.grad(lambda *a: jimpact.solve(*a, law=law).impulse.sum(), (0, 1, 2, 3)))(*given)
    assert all(np.isfinite(np.asarray(slope)).all() for slope in slopes)
