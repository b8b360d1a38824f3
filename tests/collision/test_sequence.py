"""Several contacts as a sequence of single impacts; and mechanisms, as one impact."""

import functools

import cases
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact import Body, Outcome
from jimpact.contact import body

QUICK = {"law": "chatterjee_ruina", "tangential_restitution": 0.2}
TOLERANCE = 1e-10

# Compiled whole: outside jit, every operation would be compiled by itself.
resolve_contacts = jax.jit(jimpact.resolve_contacts, static_argnames=("law", "hinge", "most"))
collide_bodies = jax.jit(jimpact.collide_bodies, static_argnames=("pairs", "law", "hinge", "most"))
inverse_inertia_contacts = jax.jit(jimpact.inverse_inertia_contacts, static_argnames="pairs")
solve, collide, collide_mechanism = (
    jax.jit(f, static_argnames="law") for f in (jimpact.solve, jimpact.collide, jimpact.collide_mechanism)
)
inverse_inertia, relative_velocity, apply_impulse = map(
    jax.jit, (jimpact.inverse_inertia, body.relative_velocity, body.apply_impulse)
)


def bodies_of(*bodies: Body) -> Body:
    return jax.tree.map(lambda *fields: jnp.stack([jnp.asarray(f, float) for f in fields]), *bodies)


def random_bodies(seed: int = 0, count: int = 3) -> Body:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(count, 3, 3))
    return Body(
        jnp.asarray(rng.uniform(0.5, 2, count)),
        jnp.asarray(root @ np.swapaxes(root, -1, -2) + 0.3 * np.eye(3)),
        jnp.asarray(rng.normal(size=(count, 3))),
        jnp.asarray(rng.normal(size=(count, 3))),
        jnp.asarray(rng.normal(size=(count, 3))),
    )


def random_contacts(seed: int = 1, k: int = 3):
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(k, 3))
    return jnp.asarray(rng.normal(size=(k, 3))), jnp.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


PAIRS = ((0, 1), (1, 2), (0, 2))


@functools.cache
def system(seed: int = 0):
    """Inverse inertia and velocities of three bodies with three contacts."""
    bodies, (points, normals) = random_bodies(seed), random_contacts(seed + 1)
    W = inverse_inertia_contacts(bodies, PAIRS, points, normals)
    a, b = (jax.tree.map(lambda f, s=s: f[jnp.array([p[s] for p in PAIRS])], bodies) for s in (0, 1))
    return W, relative_velocity(a, b, points, normals)


# --- inverse inertia across contacts --------------------------------------------------------------------------


def test_diagonal_blocks_are_those_of_two_bodies():
    bodies, (points, normals) = random_bodies(), random_contacts()
    W = inverse_inertia_contacts(bodies, PAIRS, points, normals)
    for i, (a, b) in enumerate(PAIRS):
        one, other = (jax.tree.map(lambda f, j=j: f[j], bodies) for j in (a, b))
        np.testing.assert_allclose(W[i, i], inverse_inertia(one, other, points[i], normals[i]), rtol=1e-12)


def test_blocks_are_the_velocity_change_at_other_contacts():
    bodies, (points, normals) = random_bodies(), random_contacts()
    W = inverse_inertia_contacts(bodies, PAIRS, points, normals)
    take = lambda bodies, s: jax.tree.map(lambda f: f[jnp.array([p[s] for p in PAIRS])], bodies)  # noqa: E731
    speed = lambda bodies: relative_velocity(take(bodies, 0), take(bodies, 1), points, normals)  # noqa: E731
    impulse = jnp.array([0.3, -0.7, 1.1])
    for j, (a, b) in enumerate(PAIRS):
        one, other = (jax.tree.map(lambda f, i=i: f[i], bodies) for i in (a, b))
        pushed = apply_impulse(one, other, points[j], normals[j], impulse)
        velocity = bodies.velocity.at[a].set(pushed[0].velocity).at[b].set(pushed[1].velocity)
        turning = bodies.angular_velocity.at[a].set(pushed[0].angular_velocity).at[b].set(pushed[1].angular_velocity)
        after = bodies._replace(velocity=velocity, angular_velocity=turning)
        np.testing.assert_allclose(speed(after) - speed(bodies), W[:, j] @ impulse, rtol=1e-10, atol=1e-12)


def test_coupled_inverse_inertia_is_symmetric():
    W = np.asarray(system()[0])
    np.testing.assert_allclose(W, np.transpose(W, (1, 0, 3, 2)), rtol=1e-12, atol=1e-14)


# --- the sequence ---------------------------------------------------------------------------------------------


def one_by_one(W, v, mu, e, most, **options):
    """The same in plain Python: the slowest possible oracle."""
    v, impulse, order = np.array(v), np.zeros_like(v), []
    start = sum(0.5 * min(u[2], 0) ** 2 / W[i, i, 2, 2] for i, u in enumerate(v))
    while len(order) < most:
        if sum(0.5 * min(u[2], 0) ** 2 / W[i, i, 2, 2] for i, u in enumerate(v)) <= 1e-12 * start:
            break
        i = int(np.argmin(v[:, 2]))
        p = np.asarray(solve(W[i, i], v[i], mu, e, **options).impulse)
        impulse[i] += p
        v = v + np.asarray(W)[:, i] @ p
        order.append(i)
    return impulse, v, order


@pytest.mark.parametrize("seed", range(4))
def test_sequence_is_that_of_a_loop(seed):
    W, v = system(seed)
    contacts = resolve_contacts(W, v, 0.3, 0.6, **QUICK)
    impulse, after, order = one_by_one(W, v, 0.3, 0.6, 64, **QUICK)
    np.testing.assert_allclose(contacts.impulse, impulse, rtol=1e-8, atol=TOLERANCE)
    np.testing.assert_allclose(contacts.velocity, after, rtol=1e-8, atol=TOLERANCE)
    assert contacts.order[: len(order)].tolist() == order
    assert int(contacts.impacts) == len(order)


@pytest.mark.slow
def test_one_contact_is_one_impact():
    W, v = system(3)
    v = v.at[0, 2].set(-1.0)
    contacts = resolve_contacts(W[:1, :1], v[:1], 0.3, 0.6, law="poisson")
    impact = cases.solve(cases.make(W[0, 0], v[0], 0.3, 0.6), "poisson")
    np.testing.assert_allclose(contacts.impulse[:1], impact.impulse, rtol=1e-12)
    np.testing.assert_allclose(contacts.kinetic_energy_change, impact.info.kinetic_energy_change[0], rtol=1e-9)
    assert int(contacts.impacts) == 1


def test_energy_and_momentum_of_bodies():
    bodies, (points, normals) = random_bodies(5), random_contacts(6)
    after, contacts = collide_bodies(bodies, PAIRS, points, normals, 0.4, 0.7, **QUICK)

    def energy(b):
        turning = jnp.einsum("bi,bij,bj->", b.angular_velocity, b.inertia, b.angular_velocity)
        return 0.5 * ((b.mass * (b.velocity**2).sum(-1)).sum() + turning)

    momentum = lambda b: (b.mass[:, None] * b.velocity).sum(0)  # noqa: E731
    assert int(contacts.impacts) > 0
    np.testing.assert_allclose(energy(after) - energy(bodies), contacts.kinetic_energy_change, rtol=1e-9)
    np.testing.assert_allclose(momentum(after), momentum(bodies), atol=1e-12)
    assert contacts.kinetic_energy_change < 0


def test_each_contact_has_its_own_law_and_parameters():
    W, v = system(0)
    given = ([0.1, 0.5, 0.9], [0.2, 0.5, 0.8])
    mixed = resolve_contacts(W, v, *map(jnp.array, given), law=("sun_baruh", "anitescu_potra", "whittaker"), most=1)
    first = int(mixed.order[0])
    law = ("sun_baruh", "anitescu_potra", "whittaker")[first]
    alone = solve(W[first, first], v[first], given[0][first], given[1][first], law=law)
    np.testing.assert_allclose(mixed.impulse[first], alone.impulse, rtol=1e-10)


# --- ties -----------------------------------------------------------------------------------------------------

ROD = bodies_of(
    Body(1.0, jnp.diag(jnp.array([0.001, 1 / 3, 1 / 3])), jnp.zeros(3), jnp.array([0, 0, -1.0]), jnp.zeros(3)),
    jimpact.immovable(),
)
ENDS = jnp.array([[-1.0, 0, 0], [1.0, 0, 0]]), jnp.array([[0.0, 0, 1], [0, 0, 1]])


def landed(**options):
    return collide_bodies(ROD, ((0, 1), (0, 1)), *ENDS, 0.3, 0.5, **QUICK, **options).contacts


def test_ties_go_by_index():
    assert int(landed().order[0]) == 0


def test_ties_go_by_priority():
    points = ENDS[0]
    assert int(landed(priority=points @ jnp.array([1.0, 0.3, 0.2])).order[0]) == 1
    assert int(landed(priority=points @ jnp.array([-1.0, 0.3, 0.2])).order[0]) == 0


def test_ties_go_at_random_with_a_key():
    first = jax.jit(jax.vmap(lambda key: landed(key=key).order[0]))(jax.random.split(jax.random.key(0), 200))
    assert 70 < int((first == 0).sum()) < 130


def test_the_faster_contact_wins_whatever_the_priority():
    tilted = ROD._replace(angular_velocity=ROD.angular_velocity.at[0, 1].set(0.1))
    contacts = collide_bodies(
        tilted, ((0, 1), (0, 1)), *ENDS, 0.3, 0.5, priority=jnp.array([1.0, 0.0]), **QUICK
    ).contacts
    speeds = [float(-(-1.0 + s)) for s in (0.1, -0.1)]  # of the ends
    assert int(contacts.order[0]) == int(np.argmax(speeds))


# --- ends -----------------------------------------------------------------------------------------------------


def test_infinite_sequence_is_cut():
    """The rod with a heavy middle: each end pushes the other down, less each time."""
    rod = ROD._replace(inertia=ROD.inertia.at[0].multiply(jnp.array(0.2)))
    contacts = collide_bodies(rod, ((0, 1), (0, 1)), *ENDS, 0.0, 0.3, **QUICK).contacts
    assert int(contacts.outcome) == Outcome.OK
    assert int(contacts.impacts) > 5
    assert float(contacts.velocity[:, 2].min()) > -1e-5


def test_bound_is_an_outcome():
    contacts = landed(most=2)
    assert int(contacts.outcome) == Outcome.UNFINISHED
    assert int(contacts.impacts) == 2
    assert np.isfinite(contacts.impulse).all()


def test_nothing_approaches():
    W, v = system(0)
    contacts = resolve_contacts(W, v.at[:, 2].set(1.0), 0.3, 0.5, **QUICK)
    assert int(contacts.outcome) == Outcome.SEPARATING
    assert (np.asarray(contacts.impulse) == 0).all()


def test_bad_lanes_harm_no_other():
    W, v = system(0)
    batch = jnp.stack([v, v.at[1, 0].set(jnp.nan), v])
    friction = jnp.array([[0.3] * 3, [0.3] * 3, [-1.0] * 3])
    contacts = resolve_contacts(W, batch, friction, 0.5, **QUICK)
    assert contacts.outcome.tolist() == [Outcome.OK, Outcome.INVALID, Outcome.INVALID]
    alone = resolve_contacts(W, v, 0.3, 0.5, **QUICK).impulse
    np.testing.assert_allclose(contacts.impulse[0], alone, rtol=1e-15)  # another shape, other rounding
    assert np.isnan(contacts.velocity[1:]).all()


@jax.jit
@jax.value_and_grad
def weighted(given, W):
    """A number that depends on every velocity after, and its derivatives."""
    return (jimpact.resolve_contacts(W, **given, **QUICK).velocity * jnp.arange(9).reshape(3, 3)).sum()


@pytest.mark.parametrize("argument", ["velocity", "friction", "restitution"])
def test_derivatives(argument):
    """Of a sequence of five impacts, in which every contact takes part."""
    W, v = system(1)
    given = {"velocity": v, "friction": jnp.array([0.2, 0.3, 0.4]), "restitution": jnp.array([0.5, 0.6, 0.7])}
    x, h = given[argument], 1e-6
    step = np.random.default_rng(0).normal(size=x.shape)
    gradient = weighted(given, W)[1][argument]
    right, left = (weighted({**given, argument: x + s * h * step}, W)[0] for s in (1, -1))
    np.testing.assert_allclose((gradient * step).sum(), (right - left) / (2 * h), rtol=1e-6)
    assert np.asarray(gradient).reshape(3, -1).any(1).all()


def test_gradient_of_bad_lanes_is_zero():
    W, v = system(0)
    batch = jnp.stack([v, v.at[1, 0].set(jnp.nan)])
    gradient = jax.jit(jax.grad(lambda v: jnp.nansum(resolve_contacts(W, v, 0.3, 0.5, **QUICK).impulse)))(batch)
    assert np.isfinite(gradient).all() and (np.asarray(gradient[1]) == 0).all()


@pytest.mark.parametrize(
    "options,words",
    [
        ({"law": ("smith", "smith")}, "law"),
        ({"law": "swiss"}, "law"),
        ({"hinge": (True,)}, "hinge"),
        ({"most": 0}, "most"),
        ({"decay": 1.0}, "decay"),
        ({"priority": jnp.zeros(2)}, "priority"),
        ({"priority": jnp.zeros(3), "key": jax.random.key(0)}, "priority and key"),
        ({"law": "composite"}, "needs"),
        ({"friction": jnp.zeros(4)}, "friction"),
    ],
)
def test_bad_arguments_are_named(options, words):
    W, v = system(0)
    with pytest.raises((ValueError, TypeError), match=words):
        jimpact.resolve_contacts(W, v, **{"friction": 0.3, "restitution": 0.5, **options})


def test_bodies_must_be_a_batch():
    with pytest.raises(TypeError, match="bodies"):
        jimpact.collide_bodies([jimpact.immovable()], ((0, 1),), ENDS[0][:1], ENDS[1][:1], 0.1, 0.5)
    with pytest.raises(ValueError, match="pairs"):
        jimpact.collide_bodies(ROD, ((0, 5), (0, 1)), *ENDS, 0.1, 0.5)


def test_fields_of_bodies_broadcast():
    """Masses for all lanes, velocities for each."""
    bodies, (points, normals) = random_bodies(3), random_contacts(4)
    velocity = jnp.stack([bodies.velocity, -bodies.velocity, 2 * bodies.velocity])
    many = collide_bodies(bodies._replace(velocity=velocity), PAIRS, points, normals, 0.3, 0.5, **QUICK)
    for i in range(3):
        one = collide_bodies(bodies._replace(velocity=velocity[i]), PAIRS, points, normals, 0.3, 0.5, **QUICK)
        np.testing.assert_allclose(many.bodies.velocity[i], one.bodies.velocity, rtol=1e-9, atol=1e-12)


def test_restitutions_of_a_batch():
    after = collide_bodies(ROD, ((0, 1), (0, 1)), *ENDS, 0.3, jnp.array([[0.2], [0.5], [0.8]]), **QUICK)
    assert after.bodies.velocity.shape == (3, 2, 3)
    assert (np.diff(np.asarray(after.bodies.velocity[:, 0, 2])) > 0).all()


# --- mechanisms -----------------------------------------------------------------------------------------------


def double_pendulum(q1, q2, m=1.3, r=0.7):
    """Mass matrix and Jacobian (t, n) of the tip: Morgan's example, with its corrections."""
    c = jnp.cos(q2)
    M = m * r * r * jnp.array([[c + 5 / 3, c / 2 + 1 / 3], [c / 2 + 1 / 3, 1 / 3]])
    tip = lambda q: r * jnp.array([jnp.cos(q[0]) + jnp.cos(q[0] + q[1]), jnp.sin(q[0]) + jnp.sin(q[0] + q[1])])  # noqa: E731
    return M, jax.jacfwd(tip)(jnp.array([q1, q2]))


def test_planar_mechanism_is_a_planar_impact():
    M, J = double_pendulum(-1.2, 0.5)
    speeds = jnp.array([-2.0, 0.7])
    after, impact = collide_mechanism(M, J, speeds, 0.3, 0.6)
    expected = jax.jit(jimpact.solve_planar)(J @ jnp.linalg.inv(M) @ J.T, J @ speeds, 0.3, 0.6)
    np.testing.assert_allclose(impact.impulse, expected.impulse, rtol=1e-10)
    np.testing.assert_allclose(J @ after, impact.velocity, rtol=1e-10)
    np.testing.assert_allclose(M @ (after - speeds), J.T @ impact.impulse, rtol=1e-10)


def test_energy_of_a_mechanism():
    M, J = double_pendulum(-1.2, 0.5)
    speeds = jnp.array([-2.0, 0.7])
    after, impact = collide_mechanism(M, J, speeds, 0.3, 0.6)
    change = 0.5 * (after @ M @ after - speeds @ M @ speeds)
    np.testing.assert_allclose(change, impact.info.kinetic_energy_change, rtol=1e-10)


def test_free_body_as_a_mechanism():
    """A rigid body with its six speeds as coordinates is `collide` with the ground."""
    body = jax.tree.map(lambda f: f[0], random_bodies(7))._replace(velocity=jnp.array([0.3, -0.2, -2.0]))
    point, normal = jnp.array([0.2, -0.4, 0.1]), jnp.array([0.0, 0, 1])
    frame = jimpact.contact_frame(normal)
    x, y, z = point - body.position
    cross = jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    J = frame @ jnp.concatenate([jnp.eye(3), -cross], 1)
    M = jax.scipy.linalg.block_diag(body.mass * jnp.eye(3), body.inertia)
    speeds = jnp.concatenate([body.velocity, body.angular_velocity])
    after, _ = collide_mechanism(M, J, speeds, 0.3, 0.6, **QUICK)
    expected = collide(body, jimpact.immovable(), point, normal, 0.3, 0.6, **QUICK).body_a
    np.testing.assert_allclose(after, jnp.concatenate([expected.velocity, expected.angular_velocity]), rtol=1e-9)


def test_singular_mechanism_is_invalid():
    """A hinged rod in the plane has one freedom, and its tip two directions."""
    angle = jnp.linspace(0.1, 1.4, 50)
    J = jnp.stack([jnp.cos(angle), -jnp.sin(angle)], -1)[..., None]
    assert (collide_mechanism(jnp.eye(1), J, jnp.ones(1), 0.5, 0.5).impact.outcome == Outcome.INVALID).all()


def test_hinge_holds():
    """A rod hinged at one end strikes the floor with the other."""
    rod = ROD._replace(
        velocity=ROD.velocity.at[0].set(jnp.array([0, 0, -1.0])),
        angular_velocity=ROD.angular_velocity.at[0, 1].set(1.0),
    )
    contacts = collide_bodies(rod, ((0, 1), (0, 1)), *ENDS, 0.3, 0.5, hinge=(True, False), **QUICK).contacts
    assert int(contacts.outcome) == Outcome.OK
    assert float(jnp.abs(contacts.velocity[0]).max()) < 1e-5
    assert float(contacts.velocity[1, 2]) > -1e-5


def test_a_singular_block_harms_no_shared_derivative():
    W = np.zeros((2, 1, 1, 3, 3))
    W[0], W[1, ..., 2, 2] = np.eye(3), 1

    def total(scale):
        v = jnp.array([[[1.0, 0.0, -1.0]]])
        found = resolve_contacts(jnp.asarray(W) * scale, v, 0.3, 0.5, law="bilinear", tangential_restitution=0.0)
        return jnp.where((found.outcome == Outcome.OK)[:, None, None], found.impulse, 0).sum()

    assert abs(jax.grad(total)(1.0) + total(1.0)) < 1e-12  # impulses go as 1 / scale


@pytest.mark.parametrize(
    ("pairs", "words"), [((), "at least one"), ((0, 1), "pass \\(a, b\\)"), (((1, 1),), "cannot touch itself")]
)
def test_bad_pairs_are_named(pairs, words):
    bodies = jimpact.immovable((2,), jnp.float64)
    with pytest.raises(ValueError, match=words):
        jimpact.collide_bodies(bodies, pairs, jnp.zeros((len(pairs), 3)), jnp.ones((len(pairs), 3)), 0.3, 0.5)


@pytest.mark.parametrize(("hinge", "error"), [(True, TypeError), ("no", TypeError), ([0], TypeError)])
def test_hinges_are_flags(hinge, error):
    with pytest.raises(error, match="hinge"):
        jimpact.resolve_contacts(jnp.eye(3)[None, None], -jnp.ones((1, 3)), 0.3, 0.5, hinge=hinge)


def test_no_contact_is_named():
    with pytest.raises(ValueError, match="at least one contact"):
        jimpact.resolve_contacts(jnp.zeros((0, 0, 3, 3)), jnp.zeros((0, 3)), 0.3, 0.5)
