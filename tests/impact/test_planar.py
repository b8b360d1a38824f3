"""Impacts in a plane: the closed form against references, against `solve`, and against Sun & Baruh's table."""

import functools

import cases
import catalogue
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from catalogue import Entry

import jimpact
from jimpact import Outcome, planar
from jimpact.contact.inertia import in_space
from jimpact.impact import prepare
from jimpact.laws.darboux_keller import given_lane
from jimpact.slip.batch_scan import follow
from jimpact.slip.state import Stage

LAWS = pytest.mark.parametrize("law", cases.LAWS)
EXACT = 1e-12
LANES = 2000  # size of every compiled batch


def draw(n: int = 400, seed: int = 0):
    """Random planar impacts; one in four can jam, one in eight starts without slip."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, 2, 2))
    K = root @ np.swapaxes(root, -1, -2) + 0.05 * np.eye(2)
    v = np.stack([rng.normal(size=n), -np.abs(rng.normal(size=n)) - 0.01], -1)
    v[1::8, 0] = 0
    mu = rng.uniform(0, 1, n)
    mu[::4] = rng.uniform(1, 3, len(mu[::4])) * K[::4, 1, 1] / np.abs(K[::4, 0, 1])
    return K, v, mu, rng.uniform(0, 1, n), mu * rng.choice([1.0, 1.5], n)


def embedded(K, v, mu, e, static) -> cases.Cases:
    W = np.zeros((len(mu), 3, 3))
    W[:, 0, 0] = W[:, 1, 1] = K[:, 0, 0]
    W[:, 0, 2] = W[:, 2, 0] = K[:, 0, 1]
    W[:, 2, 2] = K[:, 1, 1]
    return cases.make(W, np.stack([v[:, 0], 0 * v[:, 0], v[:, 1]], -1), mu, e, static)


@functools.cache
def compiled(law):
    return jax.jit(lambda *a: jimpact.solve_planar(*a[:4], law=law, static_friction=a[4]))


def solve_planar(K, v, mu, e, static, law):
    """`jimpact.solve_planar` on up to LANES impacts; numpy arrays out."""
    n = len(mu)
    assert 0 < n <= LANES
    impact = compiled(law)(*(jnp.asarray(cases.padded(a, LANES)) for a in (K, v, mu, e, static)))
    return jax.tree.map(lambda a: np.asarray(a)[:n], impact)


@LAWS
def test_golden(law):
    data = catalogue.golden()
    k11, k12, k22, ut, un, mu, e, static = data["planar_inputs"].T
    K = np.stack([np.stack([k11, k12], -1), np.stack([k12, k22], -1)], -2)
    impact = solve_planar(K, np.stack([ut, un], -1), mu, e, static, law)
    assert cases.relative_error(impact.impulse, data[f"planar_impulse_{law}"]).max() < EXACT


@LAWS
def test_agrees_with_space(law):
    given = draw()
    impact, space = solve_planar(*given, law), cases.solve(embedded(*given), law)
    error = cases.relative_error(impact.impulse, space.impulse[:, [0, 2]])
    cases.check(~(error < EXACT), law, embedded(*given), "impulse", error)
    assert (impact.outcome == Outcome.OK).all()


@LAWS
@pytest.mark.parametrize("field", jimpact.ImpactInfo._fields)
def test_info_agrees_with_space(law, field):
    given = draw()
    got, expected = (getattr(i.info, field) for i in (solve_planar(*given, law), cases.solve(embedded(*given), law)))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11)


@LAWS
def test_derivatives_are_those_of_differences(law):
    K, v, mu, e, static = (a[2:9] for a in draw(seed=3))
    static = static + 0.1

    def plane(x):
        k11, k12, k22, vt, vn, mu, e, static = x
        K = jnp.stack([jnp.stack([k11, k12], -1), jnp.stack([k12, k22], -1)], -2)
        return jimpact.solve_planar(K, jnp.stack([vt, vn], -1), mu, e, law=law, static_friction=static).impulse

    x = np.stack([K[:, 0, 0], K[:, 0, 1], K[:, 1, 1], v[:, 0], v[:, 1], mu, e, static])
    along = jax.jit(lambda x, dx: jax.jvp(plane, (x,), (dx,))[1])
    J = np.stack([np.asarray(along(x, np.eye(8)[:, [j]] * np.ones_like(x))) for j in range(7)], -1)

    def f(k11, k12, k22, vt, vn, mu, e, static):
        K = np.stack([np.stack([k11, k12], -1), np.stack([k12, k22], -1)], -2)
        return solve_planar(K, np.stack([vt, vn], -1), mu, e, static, law).impulse

    for j in range(7):
        h = 1e-6
        right, left = (f(*(x + s * h * np.eye(8)[:, [j]])) for s in (1, -1))
        np.testing.assert_allclose(J[..., j], (right - left) / (2 * h), rtol=1e-5, atol=1e-6 * np.abs(J).max())


def test_a_few_pieces_are_the_whole_impact():
    """No accuracy to choose: one piece more or less changes nothing."""
    K, v, mu, e, static = draw()
    W, v = in_space(jnp.asarray(K), jnp.asarray(v))
    case = prepare(law="stronge", inverse_inertia=W, velocity=v, friction=mu, restitution=e, static_friction=static)
    lane, rule = given_lane(case.given), case.options.rule
    ends = [follow(lane, rule, case.options.accuracy._replace(steps=planar.PIECES + more)) for more in (-1, 0, 20)]
    assert all((end.stage != Stage.SLIP).all() for end in ends)
    for end in ends:
        np.testing.assert_array_equal(end.ledger.impulse, ends[0].ledger.impulse)


def test_bad_lanes():
    K, v, mu, e, _ = (a[1:5].copy() for a in draw())
    K[0], v[1, 1], mu[2] = [[1, 2], [2, 1]], 1.0, np.nan
    impact = solve_planar(K, v, mu, e, mu, "stronge")
    assert impact.outcome.tolist() == [Outcome.INVALID, Outcome.SEPARATING, Outcome.INVALID, Outcome.OK]


@pytest.mark.parametrize(
    "change,words",
    [
        ({"inverse_inertia": np.eye(3)}, "inverse_inertia"),
        ({"velocity": np.zeros(3)}, "velocity"),
        ({"law": "smith"}, "law"),
    ],
)
def test_bad_arguments_are_named(change, words):
    given = {"inverse_inertia": np.eye(2), "velocity": np.array([0.1, -1.0]), "friction": 0.2, "restitution": 0.5}
    with pytest.raises(ValueError, match=words):
        jimpact.solve_planar(**{**given, **change})


# --- Sun & Baruh, Table 2 -------------------------------------------------------------------------------------


planar_modes = jax.jit(jimpact.planar_modes)


def test_table_2_is_what_happens():
    K, v, mu, e, static = draw(2000, seed=5)
    modes = planar_modes(K, v, mu, e, static_friction=static)
    happened = solve_planar(K, v, mu, e, static, "poisson").info.mode
    np.testing.assert_array_equal(np.asarray(modes.mode), happened)
    assert set(happened.tolist()) == set(range(7))


def test_ratios_of_a_leaning_rod():
    """Equations (28) and (30), with the cosine that the print of (30) lacks. Slip runs against the lean."""
    alpha, theta, mu, e = 1 / 3, np.deg2rad(25), 0.4, 0.7
    s, c = np.sin(theta), np.cos(theta)
    K = np.array([[1 + c * c / alpha, -s * c / alpha], [-s * c / alpha, 1 + s * s / alpha]])
    modes = planar_modes(K, np.array([0.4, -1.0]), mu, e)
    first = (s * c + mu * (alpha + c * c)) / (alpha + s * s + mu * s * c)
    assert modes.slides_through_compression == pytest.approx(first, rel=1e-12)
    assert modes.slides_through == pytest.approx((1 + e) * first, rel=1e-12)
    assert modes.friction_needed == pytest.approx(s * c / (alpha + c * c), rel=1e-12)


def test_sun_baruh_is_exact_in_the_plane():
    given = embedded(*draw(400, seed=9))
    exact, law = cases.solve(given, "poisson"), catalogue.solve(given, Entry("sun_baruh"))
    once = (exact.info.compressions == 1) & catalogue.inside(law)
    error = cases.relative_error(law.impulse[once], exact.impulse[once])
    cases.check(~(error < 1e-7), "sun_baruh", given.take(once), "impulse", error)
    assert once.mean() > 0.8
    np.testing.assert_array_equal(law.info.mode[once], exact.info.mode[once])
