"""The sampled path against the solved impact."""

import cases
import jax
import numpy as np
import pytest

import jimpact
from jimpact.impact_path import Events

ROUND = 1e-9  # round-off of a path read off the same steps
TRAPEZOID = 1e-3  # of the work scale, with SAMPLES points
SAMPLES = 400
CONE = 2e-5  # the error of a step, 5e-9 of the impulse, over the 1/400 of it between two samples, with room
LAW = "stronge"
BATCH = cases.join(
    *(cases.POPULATIONS[n](4, seed=70) for n in cases.POPULATIONS), cases.make(cases.BABER_W, cases.BABER_V, 0.5, 0.9)
)


@pytest.fixture(scope="module")
def path():
    f = jax.jit(lambda W, v, mu, e, s: jimpact.trace(W, v, mu, e, law=LAW, static_friction=s, samples=SAMPLES))
    return jax.tree.map(np.asarray, f(*BATCH))


@pytest.fixture(scope="module")
def impact():
    return cases.solve(BATCH, LAW)


def test_shapes(path):
    n = len(BATCH.mu)
    assert path.normal_impulse.shape == path.normal_velocity.shape == path.work.shape == (n, SAMPLES)
    assert path.sliding_velocity.shape == (n, SAMPLES, 2) and path.impulse.shape == (n, SAMPLES, 3)
    assert path.events.end.shape == (n,)


def test_ends_at_the_solved_impulse(path, impact):
    error = cases.relative_error(path.impulse[:, -1], impact.impulse)
    cases.check(~(error <= ROUND), LAW, BATCH, "path ends elsewhere", error)


def test_starts_at_the_velocity_before(path):
    v = np.concatenate([path.sliding_velocity[:, 0], path.normal_velocity[:, :1]], -1)
    np.testing.assert_allclose(v, BATCH.v, rtol=1e-14)
    assert not path.impulse[:, 0].any() and not path.work[:, 0].any()


def test_velocity_is_before_plus_inertia_times_impulse(path):
    expected = BATCH.v[:, None] + np.einsum("nij,nkj->nki", BATCH.W, path.impulse)
    v = np.concatenate([path.sliding_velocity, path.normal_velocity[..., None]], -1)
    error = np.abs(v - expected).max((1, 2)) / np.abs(expected).max((1, 2))
    cases.check(~(error <= ROUND), LAW, BATCH, "velocity and impulse disagree", error)


def test_work_is_the_integral_of_normal_velocity(path):
    steps = 0.5 * (path.normal_velocity[:, 1:] + path.normal_velocity[:, :-1]) * np.diff(path.normal_impulse, axis=1)
    error = np.abs(np.cumsum(steps, 1) - path.work[:, 1:]).max(1) / np.abs(path.work).max(1)
    cases.check(~(error <= TRAPEZOID), LAW, BATCH, "work is not the integral", error)


def test_final_work_is_the_sum_of_both_phases(path, impact):
    total = impact.info.compression_work + impact.info.restitution_work
    error = np.abs(path.work[:, -1] - total) / np.abs(impact.info.compression_work)
    cases.check(~(error <= ROUND), LAW, BATCH, "work at the end", error)


def test_friction_stays_in_the_cone_between_samples(path):
    change = np.diff(path.impulse, axis=1)
    even = path.normal_impulse[:, -1:] / SAMPLES  # an event may be close to its neighbour
    out = (np.hypot(change[..., 0], change[..., 1]) - BATCH.mu[:, None] * change[..., 2]) / (BATCH.mu[:, None] * even)
    cases.check(~(out.max(1) <= CONE), LAW, BATCH, "friction beyond the cone", out.max(1))


@pytest.mark.parametrize("name", Events._fields)
def test_events_are_among_the_samples(path, name):
    at = getattr(path.events, name)
    there = ~np.isnan(at)
    assert there.any() and (path.normal_impulse == at[:, None]).any(1)[there].all()


def test_few_samples_are_evenly_spaced():
    p = jax.jit(lambda v: jimpact.trace(np.eye(3), v, 0.2, 0.5, samples=5).normal_impulse)(np.array([0.3, 0.0, -1.0]))
    np.testing.assert_allclose(np.diff(p), p[-1] / 4, rtol=1e-14)


def test_compression_ends_where_normal_velocity_changes_sign(path):
    for i, at in enumerate(path.events.compression_end):
        before, after = path.normal_impulse[i] < at * (1 - 1e-9), path.normal_impulse[i] > at * (1 + 1e-9)
        first = np.argmax(after)
        assert (path.normal_velocity[i][before] < 0).all(), f"{LAW}: {BATCH.describe(i)}"
        assert not after.any() or path.normal_velocity[i, first] > 0, f"{LAW}: {BATCH.describe(i)}"


def test_slip_is_zero_where_it_ends(path):
    """The sample before is still slipping, and a straight line from it reaches zero at the event."""
    seen = 0
    for i, at in enumerate(path.events.slip_end):
        slip = np.hypot(*path.sliding_velocity[i].T)
        if np.isnan(at):
            assert slip.min() > 0, f"{LAW}: {BATCH.describe(i)}"
            continue
        seen += 1
        before = slip[path.normal_impulse[i] < at]
        assert np.all(before > 0) and before[-1] <= 0.1 * slip.max(), f"{LAW}: {BATCH.describe(i)}"
    assert seen


def test_events_are_those_of_the_impact(path, impact):
    for name in path.events._fields[:-1]:
        np.testing.assert_allclose(getattr(path.events, name), getattr(impact.info, name), rtol=ROUND, err_msg=name)
    np.testing.assert_allclose(path.events.end, impact.impulse[:, 2], rtol=ROUND)


def test_a_second_compression_is_seen(path):
    """The last lane is Baber's: normal velocity is negative between the two events, and only there."""
    events = path.events
    p, v = path.normal_impulse[-1], path.normal_velocity[-1]
    start, end = events.recompression_start[-1], events.recompression_end[-1]
    inside, around = (p > start) & (p < end), (p > events.compression_end[-1]) & ((p < start) | (p > end))
    assert inside.any() and (v[inside] < 0).all() and (v[around] > 0).all()


def test_margins_of_permissible_impulses(impact):
    margins = jax.jit(jimpact.permissible)(BATCH.W, BATCH.v, impact.impulse, BATCH.mu)
    scale = np.linalg.norm(BATCH.v, axis=-1) + np.linalg.norm(impact.impulse, axis=-1)
    for name, margin in zip(margins._fields, margins, strict=True):
        cases.check(~(np.asarray(margin) >= -1e-8 * scale**2 - 1e-8 * scale), LAW, BATCH, f"{name} below zero", margin)


def test_margins_tell_a_forbidden_impulse():
    margins = jimpact.permissible(np.eye(3), [0.0, 0.0, -1.0], [0.9, 0.0, 0.5], 0.5)
    assert margins.friction < 0 and margins.separation < 0 and margins.compression > 0


@pytest.mark.parametrize("samples", [1, 2.5, "many"])
def test_bad_samples_raise(samples):
    with pytest.raises(ValueError, match="samples"):
        jimpact.trace(np.eye(3), np.array([0.0, 0.0, -1.0]), 0.5, 0.5, samples=samples)


def test_samples_of_a_long_fall_to_zero_are_in_the_cone():
    """The last step to zero slip is long: its samples must still be found to round-off."""
    W = [[0.028907, -0.011651, 0.004657], [-0.011651, 0.073503, 0.024366], [0.004657, 0.024366, 0.060502]]
    mu = 0.450926
    path = jimpact.trace(W, [0.029857, 0.078908, -0.262892], mu, 0.773994, samples=100)
    change = np.diff(np.asarray(path.impulse), axis=0)
    assert (np.hypot(change[:, 0], change[:, 1]) <= mu * change[:, 2] + 1e-8 * path.impulse[-1, 2]).all()
