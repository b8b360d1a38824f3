"""`jimpact.slip`: its steps against an independent integration, whole impacts against references."""

import functools

import cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jimpact
from jimpact.impact import ACCURACIES, Case, prepare
from jimpact.laws.darboux_keller import given_lane
from jimpact.slip import batch_scan
from jimpact.slip.advance import advance, impulse_to_zero
from jimpact.slip.flow import Constants, axes_along, view
from jimpact.slip.invariant_directions import invariant_directions
from jimpact.slip.restitution import change_phase, open_ledger
from jimpact.slip.step import small_impulse
from jimpact.slip.stick import diverging_ray

STEP = 1e-11  # relative: a step of order 10 and of a fifth of the unit of the clock, and the oracle at 1e-12
EXACT = 1e-13  # a linear step is a formula
LINE_ANGLE = 1e-7  # of the angle: the error of a step, and of the reference
SERIES = 1e-7  # relative: 15 x the fourth power of a turn of 0.02, by a change of 0.06
SAME = 1e-12  # the same steps, compiled in another shape
SAME_SLOPE = 1e-8  # with round-off of grazing lanes amplified


def a_contact() -> tuple[Constants, jax.Array]:
    """With two converging directions and a diverging one, and a bound of its rates."""
    numbers = (2.1, 0.4, 0.9, 0.7, -0.5, 1.0, 0.3)
    return Constants(*map(jnp.float64, numbers)), jnp.float64(2.0)


def flow(contact: Constants, x: float, y: float, v: float, p: float | None = None) -> np.ndarray:
    """Slip, normal velocity, impulses and normal work after a normal impulse p, or where slip is as good as zero."""
    bxx, bxy, byy, dx, dy, w, mu = map(float, contact)

    def slopes(_: float, z: np.ndarray) -> list[float]:
        r = np.hypot(z[0], z[1])
        along = [r * dx - mu * (bxx * z[0] + bxy * z[1]), r * dy - mu * (bxy * z[0] + byy * z[1])]
        return [*along, w * r - mu * (dx * z[0] + dy * z[1]), r, -mu * z[0], -mu * z[1], r * z[2]]

    def there(_: float, z: np.ndarray) -> float:
        return z[3] - p

    there.terminal = True
    start, span = [x, y, v, 0, 0, 0, 0], (0, 80 if p is None or p > 0 else -80)
    path = solve_ivp(slopes, span, start, "DOP853", rtol=1e-13, atol=1e-15, events=None if p is None else there)
    return path.y[:, -1] if p is None else path.y_events[0][0]


def whole(contact: Constants, rate: jax.Array, x: float, y: float, v: float, length: float) -> np.ndarray:
    """A step, told as `flow` tells it."""
    at = view(contact, rate, jnp.float64(x), jnp.float64(y))
    move = advance(contact, at, jnp.float64(length), jnp.bool_(False))
    k = contact.w - contact.mu * rate * at.axes.a
    work = v * move.p + 0.5 * k * move.p**2 + move.work
    return np.array([move.x, move.y, v + k * move.p + move.v, move.p, move.ix, move.iy, work])


@pytest.mark.parametrize("angle", [0.3, 1.4, 2.9, -2.0])
@pytest.mark.parametrize("length", [0.2, -0.2])
def test_step_follows_the_flow(angle: float, length: float) -> None:
    contact, rate = a_contact()
    x, y, v = 0.8 * np.cos(angle), 0.8 * np.sin(angle), -1.0
    found = whole(contact, rate, x, y, v, length)
    np.testing.assert_allclose(found, flow(contact, x, y, v, found[3]), atol=STEP)


@pytest.mark.parametrize("converging", [True, False])
@pytest.mark.parametrize("off", [0.1, -0.03])
def test_step_beside_an_invariant_direction_follows_the_flow(converging: bool, off: float) -> None:
    contact, rate, x, y = on_a_ray(converging)
    x, y = float(x - off * y), float(y + off * x)
    assert view(contact, rate, jnp.float64(x), jnp.float64(y)).near
    found = whole(contact, rate, x, y, -1.0, 0.4)
    np.testing.assert_allclose(found, flow(contact, x, y, -1.0, found[3]), atol=STEP)


def on_a_ray(converging: bool) -> tuple[Constants, jax.Array, jax.Array, jax.Array]:
    contact, rate = a_contact()
    B = [
        [contact.bxx, contact.bxy, contact.dx],
        [contact.bxy, contact.byy, contact.dy],
        [contact.dx, contact.dy, contact.w],
    ]
    directions, growth = invariant_directions(jnp.asarray(B), contact.mu)
    index = int(np.nanargmin(growth) if converging else np.nanargmax(growth))
    return contact, rate, directions[index, 0], directions[index, 1]


LINE = ([[2.1, 0.4, 0.7], [0.4, 0.9, -0.5], [0.7, -0.5, 1.0]], 0.3)  # the contact above: W and friction


def line_start(x: float, y: float, tolerance: float) -> float:
    return float(jimpact.solve(LINE[0], [x, y, -40.0], LINE[1], 0.9, line_tolerance=tolerance).info.line_start)


@pytest.mark.parametrize("tolerance", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("angle", [0.5, -0.45])
def test_line_starts_where_the_angle_falls_to_the_tolerance(angle: float, tolerance: float) -> None:
    contact, _, rx, ry = on_a_ray(False)  # it attracts
    x, y = (8 * float(a) for a in (rx * np.cos(angle) - ry * np.sin(angle), ry * np.cos(angle) + rx * np.sin(angle)))
    p = line_start(x, y, tolerance)
    slip = flow(contact, x, y, -40.0, p)[:2]
    off = np.arctan2(rx * slip[1] - ry * slip[0], rx * slip[0] + ry * slip[1])
    np.testing.assert_allclose(off, np.sign(angle) * tolerance, rtol=LINE_ANGLE)


@pytest.mark.parametrize("converging", [True, False])
def test_line_starts_at_once_on_an_invariant_direction(converging: bool) -> None:
    _, _, x, y = on_a_ray(converging)
    assert line_start(8 * float(x), 8 * float(y), 0.01) == 0


def test_no_line_without_slip() -> None:
    assert np.isnan(line_start(0.0, 0.0, 0.01))


@pytest.mark.parametrize("length", [0.5, 30.0])
def test_linear_step_is_exact_on_an_invariant_direction(length: float) -> None:
    contact, rate, x, y = on_a_ray(converging=True)
    at = view(contact, rate, x, y)
    g = axes_along(contact, x, y).g
    move = advance(contact, at, jnp.float64(length) * rate, jnp.bool_(True))
    np.testing.assert_allclose(move.p, np.expm1(g * length) / g, rtol=EXACT)


def test_way_to_zero_is_the_limit_of_long_steps() -> None:
    """Value and derivative, also across the direction."""
    contact, rate, x, y = on_a_ray(converging=True)

    def far(x: jax.Array, y: jax.Array) -> jax.Array:
        at = view(contact, rate, x, y)
        move = advance(contact, at, jnp.float64(300.0), jnp.bool_(True))
        k = contact.w - contact.mu * rate * at.axes.a
        return jnp.stack([move.p, 0.5 * k * move.p**2 + move.work])

    def there(x: jax.Array, y: jax.Array) -> jax.Array:
        at = view(contact, rate, x, y)
        return jnp.stack(impulse_to_zero(contact, at, jnp.sqrt(x * x + y * y), jnp.bool_(True)))

    np.testing.assert_allclose(there(x, y), far(x, y), atol=1e-12)
    np.testing.assert_allclose(jax.jacfwd(there, (0, 1))(x, y), jax.jacfwd(far, (0, 1))(x, y), atol=1e-12)


@pytest.mark.parametrize("turn", [0.02, -0.01])
def test_way_to_zero_of_slip_that_hardly_turns(turn: float) -> None:
    """Nearly isotropic: the series against the flow."""
    contact = Constants(*map(jnp.float64, (1.0, turn, 1.0 + turn, 0.0, 0.0, 1.0, 0.7)))
    at = view(contact, jnp.float64(0.7), jnp.float64(1.0), jnp.float64(0.0))
    expected = flow(contact, 1.0, 0.0, -1.0)[3]
    np.testing.assert_allclose(impulse_to_zero(contact, at, jnp.float64(1), jnp.bool_(True))[0], expected, rtol=SERIES)


def test_work_of_slip_that_hardly_turns() -> None:
    """To first order in the turn: the work beyond a straight line, against the flow."""
    turn = 1e-4
    contact = Constants(*map(jnp.float64, (1.0, 0.3, 1.3, -0.21, 0.21 + turn, 1.0, 0.7)))
    at = view(contact, jnp.float64(2.0), jnp.float64(1.0), jnp.float64(0.0))
    p, work = impulse_to_zero(contact, at, jnp.float64(1), jnp.bool_(True))
    k, end = contact.w - contact.mu * contact.dx, flow(contact, 1.0, 0.0, -1.0)
    np.testing.assert_allclose(work - 0.5 * k * p * p, end[6] - (-1 + 0.5 * k * end[3]) * end[3], rtol=1e-2)


def test_small_impulse_is_the_flow_to_second_order() -> None:
    contact, _ = a_contact()
    x, y, v, p = 0.5, -0.3, -1.0, 1e-4
    found = small_impulse(contact, jnp.float64(x), jnp.float64(y), jnp.float64(v), jnp.float64(p))
    bxx, bxy, byy, dx, dy, w, mu = map(float, contact)

    def slopes(_: float, z: np.ndarray) -> list[float]:
        r = np.hypot(z[0], z[1])
        tx, ty = -mu * z[0] / r, -mu * z[1] / r
        slip = [dx + bxx * tx + bxy * ty, dy + bxy * tx + byy * ty]
        return [*slip, w + dx * tx + dy * ty, tx, ty, 1, z[2]]

    expected = solve_ivp(slopes, (0, p), [x, y, v, 0, 0, 0, 0], "DOP853", rtol=1e-13, atol=1e-16).y[:, -1]
    np.testing.assert_allclose(found, expected - [x, y, v, 0, 0, 0, 0], atol=10 * p**3)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_diverging_ray_has_derivatives_of_any_order(order: int) -> None:
    """By friction, against differences of the derivative below."""
    contact = Constants(*map(jnp.float64, (2.1, 0.4, 0.9, 0.7, -0.5, 1.0, 0.2)))
    f = lambda mu: diverging_ray(contact._replace(mu=mu), jnp.bool_(True))[0]  # noqa: E731
    for _ in range(order - 1):
        f = jax.grad(f)
    step = 1e-4
    differences = (f(contact.mu + step) - f(contact.mu - step)) / (2 * step)
    np.testing.assert_allclose(jax.grad(f)(contact.mu), differences, rtol=1e-5)


def test_no_invariant_direction_is_made_up() -> None:
    """h has a small minimum, which is not zero: Newton's method finds no root there, and must not say so."""
    W = [
        [2.55299176, 0.89186001, 0.76905547],
        [0.89186001, 1.59605489, 0.50825806],
        [0.76905547, 0.50825806, 0.98774501],
    ]
    xx, xy, yy, xz, yz, zz = (W[i][j] / W[2][2] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)))
    contact = Constants(*map(jnp.float64, (xx, xy, yy, xz, yz, zz, 0.53617691)))
    angles = np.linspace(-np.pi, np.pi, 4001)
    at = jax.vmap(lambda a: view(contact, jnp.float64(2.6), jnp.cos(a), jnp.sin(a)))(jnp.asarray(angles))
    assert at.near.any()
    assert np.abs(at.axes.h[at.near]).max() <= 1e-12


def test_landing_error_moves_to_the_phase_that_it_belongs_to() -> None:
    """v = 0 is 0.01 behind: as if the lane had landed there."""
    k, k2, over = 2.0, 3.0, 0.01
    v = k * over + 0.5 * k2 * over**2  # with k and k2 at the exact landing
    work = 0.5 * k * over**2 + k2 * over**3 / 6
    ledger = open_ledger(jnp.float64(0))._replace(impulse=jnp.float64(1.0), compression_impulse=jnp.float64(1.0))
    changed = change_phase(ledger, jnp.bool_(True), jnp.float64(v), jnp.float64(k + k2 * over), jnp.float64(k2))
    assert not changed.compressing
    third_order = (k2 / k) ** 2 * over**3
    np.testing.assert_allclose(changed.compression_impulse, 1 - over, atol=third_order)
    np.testing.assert_allclose(changed.restitution_work, work, atol=k * over * third_order)


def in_rounds(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """As on a machine with one device, in small blocks."""
    monkeypatch.setattr(batch_scan, "BLOCK", block)
    monkeypatch.setattr(jax, "device_count", lambda: 1)


@functools.cache
def mixed() -> cases.Cases:
    return cases.join(*(cases.POPULATIONS[name](50, seed=40) for name in cases.POPULATIONS))


def prepared(given: cases.Cases) -> Case:
    W, v, mu, e, static = map(jnp.asarray, given)
    return prepare(law="stronge", inverse_inertia=W, velocity=v, friction=mu, restitution=e, static_friction=static)


def followed(given: cases.Cases) -> tuple[np.ndarray, np.ndarray]:
    """Tangential impulse, and the derivative of a sum of impulses by slip before."""
    case = prepared(given)
    lane, options = given_lane(case.given), case.options

    def value(x0: jax.Array) -> tuple[jax.Array, jax.Array]:
        end = batch_scan.follow(lane._replace(x0=x0), options.rule, options.accuracy)
        return (end.ix - 2 * end.iy + 3 * end.ledger.impulse).sum(), end.ix

    (_, ix), slope = jax.jit(jax.value_and_grad(value, has_aux=True))(lane.x0)
    return np.asarray(ix), np.asarray(slope)


@pytest.mark.parametrize("block", [64, pytest.param(77, marks=pytest.mark.slow)])
def test_rounds_of_blocks_give_what_one_scan_gives(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = followed(mixed())
    in_rounds(monkeypatch, block)
    cut = followed(mixed())
    np.testing.assert_allclose(cut[0], whole[0], rtol=SAME, atol=SAME)
    np.testing.assert_allclose(cut[1], whole[1], rtol=SAME_SLOPE, atol=SAME_SLOPE)


def test_batch_is_cut_only_where_it_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With several devices, to sort lanes they would have to talk."""
    given = mixed()
    case = prepared(given)
    lane, options = given_lane(case.given), case.options
    text = lambda: jax.jit(lambda x: batch_scan.follow(x, options.rule, options.accuracy)).lower(lane).as_text()  # noqa: E731
    monkeypatch.setattr(batch_scan, "BLOCK", 64)
    assert "gather" not in text()
    in_rounds(monkeypatch, 64)
    assert "gather" in text()


def test_compression_does_not_end_where_its_second_order_says_so_by_chance() -> None:
    """dv/dp is so small at the second step that the terms of first and second order to v = 0 cancel."""
    W = [
        [16.21237961311188, -1.5347210894880696, 0.5319238971960696],
        [-1.5347210894880696, 7.813472983588042, -9.128281019752286],
        [0.5319238971960696, -9.128281019752286, 10.771349974188247],
    ]
    v, mu, e = [-0.0461769100636402, 0.06136239117293179, -0.8043615806184494], 3.298225512168878, 0.6654687216235281
    ends = [jimpact.solve(W, v, mu, e, law="newton", accuracy=a).info.compression_end for a in ("standard", "high")]
    np.testing.assert_allclose(*ends, rtol=1e-9)


NEAR_REST = {  # slip stops in restitution, where the normal velocity has come back to 1e-5 of what it was
    "released most": (
        [3.45881, 2.85782, 0.375374, 1.31529, 1.01482, 0.576777],
        [-0.219947, -1.89973, -0.33523],
        0.546822,
        0.822514,
    ),
    "released little": ([4.652, 5.7532, 4.8506, 2.0321, -4.2354, -3.594], [0.6887, 0.4662, -0.71455], 1.2914, 0.3513),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", NEAR_REST)
def test_work_released_before_slip_stops_counts(case: str, dtype: str) -> None:
    (xx, yy, zz, xy, xz, yz), v, mu, e = NEAR_REST[case]
    W = jnp.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype)
    info = jimpact.solve(W, jnp.array(v, dtype), mu, e).info
    rtol = 100 * float(jnp.finfo(dtype).eps)  # round-off of works that are sums
    np.testing.assert_allclose(info.restitution_work, -(e**2) * info.compression_work, rtol=rtol)


FURTHER, GRAZING = 1855, 1324  # golden cases


@pytest.mark.parametrize("case,most", [(FURTHER, 1e-4), (GRAZING, 1e-6)], ids=["further compression", "grazing"])
def test_single_precision_keeps_what_long_steps_put_at_risk(case: int, most: float) -> None:
    """A further compression within one step; the work of a step of 1e-9 of the clock. Errors are within condition."""
    data = cases.golden()
    W, v, mu, e = (jnp.asarray(data[name][case], jnp.float32) for name in ("W", "v", "mu", "e"))
    law = ("stronge", "poisson", "newton")[int(data["hyp"][case])]
    impulse = jimpact.solve(W, v, mu, e, law=law).impulse
    np.testing.assert_allclose(impulse, data["impulse"][case], atol=most * np.linalg.norm(data["impulse"][case]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("accuracy", ["low", "standard", "high"])
def test_steps_are_whole_rounds(dtype: str, accuracy: str) -> None:
    """Otherwise a batch that is cut would take more steps than one that is not."""
    assert ACCURACIES[dtype][accuracy].steps % batch_scan.STEPS_PER_ROUND == 0


@pytest.mark.parametrize(("across", "mode"), [(0.0, 1), (1e-10, 2)])
def test_mode_tells_held_slip_from_slip_that_goes_on(across: float, mode: int) -> None:
    """Slip falls towards zero on a direction that repels, or beside it; only static friction could hold it."""
    W = [
        [0.8941544810866431, 0, -0.35611946645145953],
        [0, 1.8125023524832058, 0],
        [-0.35611946645145953, 0, 0.8112522904],
    ]
    found = jimpact.solve(W, [0.04828689943601718, across, -1.0], 0.0573082472, 0.001, static_friction=17.0)
    slips = np.hypot(*found.velocity[:2]) > 0.1
    assert int(found.info.mode) == mode
    assert slips == (mode == 2)
