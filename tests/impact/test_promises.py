"""What every impact promises, over random populations: laws of mechanics, symmetries, and how batches behave."""

import functools

import cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jimpact

ROUND = 1e-10  # identities that hold to round-off, with room for conditioning
SYMMETRY = 1e-10  # same steps on turned or scaled input: round-off, amplified by the conditioning of the case
SEPARATION = 1e-8  # standard accuracy, relative to the velocities of the case
CONE = 1e-8
SAME = 1e-12  # the same program in another shape
ENERGY = 1e-9  # relative to the work of the case
LAWS = pytest.mark.parametrize("law", cases.LAWS)


@functools.cache
def solved(law):
    return cases.solve(cases.everything(), law)


def size(batch, impact):
    """Velocity scale of each lane."""
    return np.linalg.norm(batch.v, axis=-1) + np.linalg.norm(impact.velocity, axis=-1)


def work_scale(impact):
    info = impact.info
    return np.abs(info.compression_work) + np.abs(info.restitution_work) + np.abs(info.friction_work)


def turned(batch, Q):
    """The same impacts in another tangential frame."""
    return batch._replace(W=Q @ batch.W @ Q.T, v=batch.v @ Q.T)


@LAWS
def test_every_lane_is_ok(law):
    cases.check(solved(law).outcome != 0, law, cases.everything(), "outcome is not OK", solved(law).outcome)


@pytest.mark.parametrize("law", ["stronge", "poisson"])
def test_energy_is_not_gained(law):
    impact = solved(law)
    gain = impact.info.kinetic_energy_change / work_scale(impact)
    cases.check(~(gain <= ENERGY), law, cases.everything(), "energy gained", gain)


@LAWS
def test_friction_takes_energy(law):
    impact = solved(law)
    gain = impact.info.friction_work / work_scale(impact)
    cases.check(~(gain <= ENERGY), law, cases.everything(), "friction gives energy", gain)


def test_stronge_releases_its_share():
    batch, impact = cases.everything(), solved("stronge")
    error = impact.info.restitution_work + batch.e**2 * impact.info.compression_work
    error = np.abs(error / impact.info.compression_work)
    cases.check(~(error <= CONE), "stronge", batch, "work of restitution is not e^2 x work of compression", error)


def test_poisson_releases_its_share():
    batch, impact = cases.everything(), solved("poisson")
    total = (1 + batch.e) * impact.info.compression_impulse
    error = np.abs(impact.impulse[:, 2] / total - 1)
    cases.check(~(error <= CONE), "poisson", batch, "impulse is not (1 + e) x that of compression", error)


def test_newton_reverses_its_share():
    batch, impact = cases.everything(), solved("newton")
    error = np.abs(impact.velocity[:, 2] + batch.e * batch.v[:, 2]) / size(batch, impact)
    cases.check(~(error <= SEPARATION), "newton", batch, "normal velocity after is not -e x before", error)


@LAWS
def test_impulse_is_in_the_friction_cone(law):
    batch, I = cases.everything(), solved(law).impulse
    out = np.hypot(I[:, 0], I[:, 1]) / (batch.mu * I[:, 2]) - 1
    cases.check(~(out <= CONE), law, batch, "impulse outside the cone", out)


@LAWS
def test_bodies_do_not_approach_after(law):
    batch, impact = cases.everything(), solved(law)
    v = impact.velocity[:, 2] / size(batch, impact)
    cases.check(~(v >= -SEPARATION), law, batch, "still approaching", v)


@LAWS
def test_ledger_closes(law):
    impact = solved(law)
    info = impact.info
    rest = info.compression_work + info.restitution_work + info.friction_work - info.kinetic_energy_change
    error = np.abs(rest) / work_scale(impact)
    cases.check(~(error <= ROUND), law, cases.everything(), "works do not add up", error)


@LAWS
def test_velocity_is_before_plus_inertia_times_impulse(law):
    batch, impact = cases.everything(), solved(law)
    after = batch.v + np.einsum("nij,nj->ni", batch.W, impact.impulse)
    error = np.abs(after - impact.velocity).max(-1) / size(batch, impact)
    cases.check(~(error <= ROUND), law, batch, "velocity and impulse disagree", error)


@LAWS
def test_slip_that_sticks_is_zero_to_the_last_digit(law):
    impact = solved(law)
    stuck = np.isin(impact.info.mode, [1, 3, 5])
    assert stuck.sum() > 100
    cases.check(stuck & (impact.velocity[:, :2] != 0).any(-1), law, cases.everything(), "sticks, and yet slips")


@LAWS
@pytest.mark.parametrize("angle", [0.3, 1.7, np.pi / 2, 4.0])
def test_rotation_about_the_normal(law, angle):
    batch = cases.everything()
    c, s = np.cos(angle), np.sin(angle)
    Q = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    error = cases.relative_error(cases.solve(turned(batch, Q), law).impulse, solved(law).impulse @ Q.T)
    cases.check(~(error <= SYMMETRY), law, batch, f"impulse does not turn with the frame by {angle}", error)


@LAWS
def test_mirror(law):
    batch, Q = cases.everything(), np.diag([1.0, -1.0, 1.0])
    error = cases.relative_error(cases.solve(turned(batch, Q), law).impulse, solved(law).impulse @ Q)
    cases.check(~(error <= ROUND), law, batch, "impulse is not mirrored", error)


@LAWS
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_velocity_scaling(law, scale):
    batch = cases.everything()
    error = cases.relative_error(
        cases.solve(batch._replace(v=batch.v * scale), law).impulse, solved(law).impulse * scale
    )
    cases.check(~(error <= SYMMETRY), law, batch, f"impulse is not homogeneous in velocity ({scale})", error)


@LAWS
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_mass_scaling(law, scale):
    batch = cases.everything()
    error = cases.relative_error(
        cases.solve(batch._replace(W=batch.W / scale), law).impulse, solved(law).impulse * scale
    )
    cases.check(~(error <= SYMMETRY), law, batch, f"impulse is not proportional to mass ({scale})", error)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(lane=st.integers(0, 799), mass=st.integers(-20, 20), speed=st.integers(-20, 20))
def test_powers_of_two_scale_exactly(lane, mass, speed):
    batch = cases.everything().take(slice(lane, lane + 1))
    m, v = 2.0**mass, 2.0**speed
    impulse = cases.solve(batch._replace(W=batch.W / m, v=batch.v * v), "stronge").impulse[0]
    wanted = solved("stronge").impulse[lane] * m * v
    assert np.array_equal(impulse, wanted), f"stronge, mass x {m}, speed x {v}: {batch.describe(0)}"


@pytest.mark.parametrize("law", ["poisson", "newton"])
def test_laws_coincide_without_friction(law):
    batch = cases.everything()
    batch = batch._replace(mu=batch.mu * 0, static=batch.mu * 0)
    error = cases.relative_error(cases.solve(batch, law).impulse, cases.solve(batch, "stronge").impulse)
    cases.check(~(error <= ROUND), law, batch, "differs from stronge without friction", error)


@pytest.mark.parametrize("law", ["poisson", "newton"])
def test_laws_coincide_without_restitution(law):
    batch = cases.everything()
    batch = batch._replace(e=batch.e * 0)
    error = cases.relative_error(cases.solve(batch, law).impulse, cases.solve(batch, "stronge").impulse)
    cases.check(~(error <= SYMMETRY), law, batch, "differs from stronge with e = 0", error)


def test_order_of_lanes_does_not_matter():
    batch = cases.everything()
    order = np.random.default_rng(0).permutation(len(batch.mu))
    impulse = cases.solve(batch.take(order), "stronge").impulse
    error = cases.relative_error(impulse, solved("stronge").impulse[order])
    cases.check(~(error <= SAME), "stronge", batch.take(order), "depends on its neighbours", error)


def test_two_axes_and_broadcasting():
    """A (5, 3) batch, friction over one axis only, against the flat batch."""
    batch = cases.spd(15)
    W, v = batch.W.reshape(5, 3, 3, 3), batch.v.reshape(5, 3, 3)
    mu = np.array([0.2, 0.5, 0.9])
    impact = lambda W, v: jimpact.solve(W, v, mu, 0.6)  # noqa: E731
    shapes = jax.eval_shape(impact, W, v)
    assert shapes.outcome.shape == shapes.info.mode.shape == (5, 3)
    impulse = jax.jit(lambda W, v: impact(W, v).impulse)(W, v)
    expected = cases.solve(batch._replace(mu=np.tile(mu, 5), static=np.tile(mu, 5), e=np.full(15, 0.6)), "stronge")
    np.testing.assert_allclose(impulse.reshape(15, 3), expected.impulse, rtol=SAME, atol=SAME)


def test_vmap_is_batch():
    batch = cases.spd(16)
    f = lambda *a: jimpact.solve(*a[:4], static_friction=a[4]).impulse  # noqa: E731
    mapped = jax.jit(jax.vmap(f))(*batch)
    np.testing.assert_allclose(mapped, cases.solve(batch, "stronge").impulse, rtol=SAME, atol=SAME)


def test_single_impact_eager_loop():
    """No batch axis, not compiled, lane by lane, against the compiled batch."""
    batch = cases.join(cases.two_body(2), cases.wild(1))
    expected = cases.solve(batch, "stronge")
    for i in range(3):
        impact = jimpact.solve(batch.W[i], batch.v[i], batch.mu[i], batch.e[i])
        assert impact.impulse.shape == (3,) and impact.outcome.shape == ()
        np.testing.assert_allclose(
            impact.impulse, expected.impulse[i], rtol=ROUND, atol=SAME, err_msg=batch.describe(i)
        )


@pytest.mark.slow
def test_sharded_batch():
    batch = cases.everything().take(slice(0, 64))
    mesh = jax.make_mesh((len(jax.devices()),), ("lanes",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("lanes"))
    given = [jax.device_put(jnp.asarray(a), sharding) for a in batch]
    impulse = jax.jit(lambda *a: jimpact.solve(*a[:4], static_friction=a[4]).impulse)(*given)
    assert impulse.sharding.is_equivalent_to(sharding, 2)
    np.testing.assert_allclose(impulse, solved("stronge").impulse[:64], rtol=SAME, atol=SAME)
