"""Derivatives of impacts that follow the slip, where they are delicate."""

import functools

import cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact

BESIDE, BESIDE_MOST = 1e-5, 1e-2  # beside invariant directions: for nine of ten, and for all
BESIDE_ROUND = 1e-6  # the angle is known to 1e-3 of itself, and the derivative varies with its power 0.27
SECOND = 1e-5  # of second derivatives, relative: differences of the gradient at 1e-4 are as good as 1e-7
SINGLE = 3e-3  # in float32: a derivative may lose a third of its digits in a step, and there are a few such steps
LAWS = [pytest.param("stronge"), *(pytest.param(law, marks=pytest.mark.slow) for law in ("poisson", "newton"))]


def impulse(law: str, level: str = "standard"):
    """Of numbers (friction, restitution, velocity, diagonal and other entries of W), and whether it is finished."""

    def f(x: jax.Array, static: jax.Array, same: jax.Array) -> tuple[jax.Array, jax.Array]:
        mu, e, vx, vy, vz, xx, yy, zz, xy, xz, yz = x
        W = jnp.stack([jnp.stack(row) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))])
        static = jnp.where(same, mu, static)
        found = jimpact.solve(W, jnp.stack([vx, vy, vz]), mu, e, law=law, static_friction=static, accuracy=level)
        return found.impulse, found.outcome == jimpact.Outcome.OK

    return f


@pytest.mark.parametrize("law", LAWS)
def test_derivatives_beside_invariant_directions(law: str) -> None:
    """Also of nearly planar impacts, most of them with slip that stops and starts again."""
    with np.load(cases.DATA / "near_rays.npz") as data:
        chosen = data["law"] == law
        W, v, mu, e, expected = (data[name][chosen] for name in ("W", "v", "mu", "e", "grad"))
        stratum = data["stratum"][chosen]
    given = cases.make(W, v, mu, e)
    f = jax.jit(jax.vmap(jax.jacfwd(impulse(law), has_aux=True)))
    found, finished = map(np.asarray, f(cases.flat(given), given.static, given.static == given.mu))
    error = np.abs(found - expected).max((1, 2)) / np.abs(expected).max((1, 2))
    assert finished.mean() >= 0.9
    assert error[finished].max() <= BESIDE_MOST
    for name in set(stratum):
        assert (error[finished & (stratum == name)] > BESIDE).mean() <= 0.1, name


def smooth_impacts(n: int) -> np.ndarray:
    """Whose kind of motion does not change nearby: slip that does not stop, and none of the special directions."""
    given = cases.spd(4 * n, seed=7)
    x = cases.flat(given)
    x[:, 0] *= 0.2
    return x[:n]


@pytest.mark.slow
@pytest.mark.parametrize("law", ["stronge", "poisson", "newton"])
def test_second_derivatives_are_differences_of_first_ones(law: str) -> None:
    x = jnp.asarray(smooth_impacts(200))

    def first(x: jax.Array, level: str) -> jax.Array:
        return jax.jacfwd(lambda x: impulse(law, level)(x, x[0], jnp.bool_(True))[0])(x)

    second = np.asarray(jax.jit(jax.vmap(jax.jacfwd(functools.partial(first, level="standard"))))(x))[..., :5]
    step = 1e-5 * jnp.eye(11)[:5]
    differences = jax.jit(jax.vmap(lambda x: _differences(functools.partial(first, level="high"), x, step)))(x)
    scale = np.abs(second).max((1, 2, 3), keepdims=True)
    error = (np.abs(second - np.asarray(differences)) / scale).max((1, 2, 3))
    assert np.percentile(error, 99) <= SECOND


def _differences(first, x: jax.Array, steps: jax.Array) -> jax.Array:
    both = jax.vmap(lambda step: (first(x + step) - first(x - step)) / (2 * jnp.abs(step).max()))(steps)
    return jnp.moveaxis(both, 0, -1)


@pytest.mark.parametrize("e", [1e-4, 5e-4, 3e-3])
def test_derivative_by_small_restitution(e: float) -> None:
    """The stop is so close to rest that its distance is measured from there, with the slope of v at rest."""
    W = jnp.array([[0.058, -0.0156, 0.0213], [-0.0156, 0.561, -0.689], [0.0213, -0.689, 1.0]])
    f = jax.jit(lambda e: jimpact.solve(W, jnp.array([-0.1, 0.714, -1.0]), 0.682, e, accuracy="high").impulse)
    step = 1e-2 * e
    differences = (f(e + step) - f(e - step)) / (2 * step)
    np.testing.assert_allclose(jax.jacfwd(f)(e), differences, rtol=1e-5)


@pytest.mark.parametrize("friction", [0.0, 1e-20, 1e-12, 1e-10])
def test_derivative_at_almost_no_friction_is_a_number(friction: float) -> None:
    """In float32 inverse powers of the friction overflow."""
    W, v = jnp.array([[2, 0.3, -0.4], [0.3, 1.5, 0.2], [-0.4, 0.2, 1]], jnp.float32), jnp.float32([0.7, -0.4, -1])
    f = jax.jit(jax.grad(lambda mu, v: jimpact.solve(W, v, mu, jnp.float32(0.5)).impulse.sum(), (0, 1)))
    slope, slopes = f(jnp.float32(friction), v)
    exact, exact_slopes = f(jnp.float32(0), v)
    np.testing.assert_allclose(slope, exact, rtol=1e-5)
    np.testing.assert_allclose(slopes, exact_slopes, rtol=1e-5, atol=1e-6)  # two of them are round-off of zero


def test_derivative_beside_a_repelling_direction_agrees_with_45_digits() -> None:
    """2e-13 rad beside it, so slip passes zero at 3e-19. Expected: Taylor series of order 30 with 45 digits."""
    W = jnp.array(
        [
            [2.73955986364271, -2.02914462691908, -1.102833737859482],
            [-2.02914462691908, 3.9571428962400317, -1.564548596893607],
            [-1.102833737859482, -1.564548596893607, 3.7912847679068977],
        ]
    )
    v = jnp.array([0.005212700643768303, 0.008600805995086395, -1.9877055901123353])
    mu, e = 0.08942048068522707, 0.361129541299941
    slope = jax.jacfwd(lambda v: jimpact.solve(W, v, mu, e, law="poisson").impulse[2])(v)
    np.testing.assert_allclose(slope[:2], [-0.0569375522475, -0.0379466554151], rtol=BESIDE_ROUND)


def test_single_precision_derivative_by_little_slip_that_grows() -> None:
    """From 1e-13 of the approach speed to the size of it: what cancels in a step is as large as slip grows in it."""
    rng = np.random.default_rng(5)
    n = 400
    axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    W = np.einsum("nij,nj,nkj->nik", axes, 10 ** rng.uniform(-0.5, 0.5, (n, 3)), axes).astype("float32")
    slip, angle = 10 ** rng.uniform(-13, -4, n), rng.uniform(0, 2 * np.pi, n)
    v = np.stack([slip * np.cos(angle), slip * np.sin(angle), -np.ones(n)], -1).astype("float32")
    mu, e = rng.uniform(0.03, 0.3, n).astype("float32"), rng.uniform(0, 1, n).astype("float32")

    def f(v: jax.Array, W: jax.Array, mu: jax.Array, e: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = jimpact.solve(W, v, mu, e)
        return found.impulse, found.outcome == jimpact.Outcome.OK

    slopes = jax.jit(jax.vmap(jax.jacfwd(f, has_aux=True)))
    single, finished = map(np.asarray, slopes(v, W, mu, e))
    double, _ = map(np.asarray, slopes(*(a.astype("float64") for a in (v, W, mu, e))))
    error = np.abs(single - double).max((1, 2)) / np.abs(double).max((1, 2))
    assert finished.mean() > 0.9
    assert np.percentile(error[finished], 99) <= SINGLE


def test_straight_slip_lands_where_the_normal_velocity_hardly_changes() -> None:
    """dv/dp is 2e-5 of w, so round-off in the turning of slip looked like a curved path: no landing."""
    x = [0.9510289012841396, 0.5543182014611224, 1.3056012972592674, -0.7419170575234447, -0.19888679082489774]
    x += [0.7283520994912888, 0.08708130874225463, 0.0926017331245178]
    x = jnp.array([*x, 0.25182065536669085, 0.25968989110743235, 0.0897727215222059])
    f = impulse("poisson")
    _, slope, finished = jax.jvp(lambda x: f(x, x[0], jnp.bool_(True)), (x,), (jnp.eye(11)[1],), has_aux=True)
    compression = jimpact.solve(
        jnp.array([[x[5], x[8], x[9]], [x[8], x[6], x[10]], [x[9], x[10], x[7]]]), x[2:5], x[0], x[1], law="poisson"
    ).info.compression_impulse
    assert finished
    np.testing.assert_allclose(slope[2], compression, rtol=1e-6)  # condition 1e6; p = (1 + e) x impulse of compression
