"""Contact frame, relative velocity, impulses and inverse inertia, each against a case worked out another way."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact.contact import body as contact
from jimpact.contact import inertia
from jimpact.contact.body import Body, immovable, mobility

jax.config.update("jax_enable_x64", True)

# Compiled whole: outside jit, every operation would be compiled by itself.
contact_frame, relative_velocity, apply_impulse = map(
    jax.jit, (contact.contact_frame, contact.relative_velocity, contact.apply_impulse)
)
inverse_inertia, inverse_inertia_generalized = map(
    jax.jit, (inertia.inverse_inertia, inertia.inverse_inertia_generalized)
)

ROUNDING = 1e-12  # float64: a few dozen operations on numbers of order one to a hundred
ROUNDING_F32 = 2e-5
QUICK = {"law": "chatterjee_ruina", "tangential_restitution": 0}  # compiles fast
MANY = 50  # size of most batches, so that they share a program

AXES = np.concatenate([np.eye(3), -np.eye(3)])
TINY = 1e-9  # normals this near n_z = 0, on both sides, and the two zeros themselves
EQUATOR = np.array([[np.cos(t), np.sin(t), z] for t in (0.0, 0.7, 2.0, 4.5) for z in (TINY, -TINY, 0.0, -0.0)])
RANDOM = np.random.default_rng(0).normal(size=(200, 3))
NORMALS = np.concatenate([AXES, EQUATOR, RANDOM / np.linalg.norm(RANDOM, axis=-1, keepdims=True)])

BABER_INVERSE = np.array([[9.0, 6.0, -6.0], [6.0, 6.0, -2.0], [-6.0, -2.0, 9.0]])
BABER_W = np.array([[20.0, -23.0, 4.0], [-23.0, 31.0, -7.0], [4.0, -7.0, 4.0]])


def sphere(mass: float, radius: float, position: object) -> Body:
    """A solid sphere at rest."""
    return Body(mass, 0.4 * mass * radius**2 * np.eye(3), np.asarray(position, float), np.zeros(3), np.zeros(3))


def random_bodies(seed: int, count: int) -> tuple[Body, Body, np.ndarray, np.ndarray, np.ndarray]:
    """Two batches of bodies with full inertia, contact points, unit normals and impulses."""
    rng = np.random.default_rng(seed)

    def one() -> Body:
        root = rng.normal(size=(count, 3, 3))
        inertia = root @ np.swapaxes(root, -1, -2) + np.eye(3)
        return Body(rng.uniform(0.5, 3, count), inertia, *rng.normal(size=(3, count, 3)))

    normal = rng.normal(size=(count, 3))
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    return one(), one(), rng.normal(size=(count, 3)), normal, rng.normal(size=(count, 3))


def total_momentum(*bodies: Body) -> np.ndarray:
    """Linear momentum and angular momentum about the origin, (..., 6)."""
    linear = [np.asarray(b.mass)[..., None] * b.velocity for b in bodies]
    spin = [np.einsum("...ij,...j->...i", b.inertia, b.angular_velocity) for b in bodies]
    angular = [s + np.cross(b.position, p) for b, p, s in zip(bodies, linear, spin, strict=True)]
    return np.concatenate([sum(linear), sum(angular)], -1)


def leaves_finite(tree: object) -> bool:
    return all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree.leaves(tree))


# --- the contact frame


def test_frame_is_orthonormal():
    frame = contact_frame(NORMALS)
    gram = frame @ jnp.swapaxes(frame, -1, -2)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(3), gram.shape), atol=ROUNDING)


def test_frame_is_right_handed():
    frame = contact_frame(NORMALS)
    np.testing.assert_allclose(np.cross(frame[:, 0], frame[:, 1]), frame[:, 2], atol=ROUNDING)


def test_last_row_of_frame_is_the_normal():
    np.testing.assert_allclose(contact_frame(NORMALS)[:, 2], NORMALS, atol=ROUNDING)


def test_frame_of_upward_normal_is_identity():
    np.testing.assert_array_equal(contact_frame(np.array([0.0, 0.0, 1.0])), np.eye(3))


def test_frame_of_both_zeros_is_the_limit_from_above():
    zero, minus, above = (contact_frame(np.array([0.6, 0.8, z])) for z in (0.0, -0.0, 1e-15))
    np.testing.assert_array_equal(zero, minus)
    np.testing.assert_allclose(zero, above, atol=ROUNDING)


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_derivative_of_frame_is_finite_for_every_normal(jacobian):
    assert leaves_finite(jax.jit(jax.vmap(jacobian(contact_frame)))(NORMALS))


def test_derivative_of_frame_matches_central_differences():
    step = 1e-6
    shifted = [(contact_frame(NORMALS[22:] + step * e) - contact_frame(NORMALS[22:] - step * e)) for e in np.eye(3)]
    expected = np.stack(shifted, -1) / (2 * step)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.jacfwd(contact_frame)))(NORMALS[22:]), expected, atol=1e-7)


def test_frame_is_orthonormal_in_float32():
    frame = contact_frame(NORMALS.astype(np.float32))
    assert frame.dtype == jnp.float32
    gram = frame @ jnp.swapaxes(frame, -1, -2)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(3), gram.shape), atol=1e-6)


def test_zero_normal_gives_nan_with_zero_derivative():
    assert np.isnan(contact_frame(np.zeros(3))).all()
    weights = jax.jit(jax.grad(lambda n: jnp.sum(contact_frame(n))))(np.zeros(3))
    np.testing.assert_array_equal(weights, 0)


# --- inverse inertia of two bodies


def test_two_solid_spheres():
    m1, m2, r1, r2 = 2.0, 0.7, 0.3, 0.5
    for normal in NORMALS[:40]:
        w = inverse_inertia(sphere(m1, r1, r1 * normal), sphere(m2, r2, -r2 * normal), np.zeros(3), normal)
        np.testing.assert_allclose(w, (1 / m1 + 1 / m2) * np.diag([3.5, 3.5, 1.0]), atol=ROUNDING)


def test_ball_on_ground():
    mass, radius = 0.15, 0.04
    w = inverse_inertia(sphere(mass, radius, [0, 0, radius]), immovable(), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(w, np.diag([7.0, 7.0, 2.0]) / (2 * mass), rtol=ROUNDING, atol=ROUNDING)


def test_baber_body():
    body = Body(1.0, np.linalg.inv(BABER_INVERSE), *np.zeros((3, 3)))
    w = inverse_inertia(body, immovable(), np.ones(3), np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(w, BABER_W, atol=1e-10)  # the condition number of the inertia is 36


def test_w_matches_matrix_formula():
    a, b, point, normal, _ = random_bodies(1, MANY)
    rotation = np.asarray(contact_frame(normal))
    expected = np.zeros((MANY, 3, 3))
    for body in (a, b):
        rx = np.cross(np.eye(3), (point - body.position)[:, None, :])  # rows e_k x r: the matrix [r]x
        core = np.eye(3) / body.mass[:, None, None] + np.swapaxes(rx, 1, 2) @ np.linalg.inv(body.inertia) @ rx
        expected += rotation @ core @ np.swapaxes(rotation, 1, 2)
    np.testing.assert_allclose(inverse_inertia(a, b, point, normal), expected, rtol=1e-10, atol=1e-10)


def test_w_is_exactly_symmetric():
    w = inverse_inertia(*random_bodies(2, MANY)[:4])
    np.testing.assert_array_equal(w, jnp.swapaxes(w, -1, -2))


def test_swapping_bodies_and_flipping_normal_keeps_eigenvalues():
    a, b, point, normal, _ = random_bodies(3, MANY)
    w, swapped = inverse_inertia(a, b, point, normal), inverse_inertia(b, a, point, -normal)
    np.testing.assert_allclose(np.linalg.eigvalsh(w), np.linalg.eigvalsh(swapped), rtol=1e-10)


def test_swapping_bodies_and_flipping_normal_keeps_world_matrix():
    a, b, point, normal, _ = random_bodies(4, MANY)
    there, back = contact_frame(normal), contact_frame(-normal)
    world = jnp.swapaxes(there, 1, 2) @ inverse_inertia(a, b, point, normal) @ there
    swapped = jnp.swapaxes(back, 1, 2) @ inverse_inertia(b, a, point, -normal) @ back
    np.testing.assert_allclose(world, swapped, rtol=1e-10, atol=1e-10)


def test_w_of_millimetre_bead_in_float32():
    mass, radius = np.float32(4e-6), np.float32(5e-4)
    bead = jax.tree.map(np.float32, sphere(mass, radius, [0, 0, radius]))
    w = inverse_inertia(bead, immovable(), np.zeros(3, np.float32), np.array([0, 0, 1], np.float32))
    np.testing.assert_allclose(w * mass, np.diag([3.5, 3.5, 1.0]), rtol=ROUNDING_F32, atol=ROUNDING_F32)


# --- velocity and impulse


def test_impulse_conserves_linear_and_angular_momentum():
    a, b, point, normal, impulse = random_bodies(5, MANY)
    after = apply_impulse(a, b, point, normal, impulse)
    np.testing.assert_allclose(total_momentum(*after), total_momentum(a, b), rtol=1e-10, atol=1e-10)


def test_impulse_acts_on_body_a_in_contact_axes():
    a, b, point, normal, impulse = random_bodies(6, MANY)
    after, _ = apply_impulse(a, b, point, normal, impulse)
    gained = np.einsum("bij,bj->bi", contact_frame(normal), a.mass[:, None] * (after.velocity - a.velocity))
    np.testing.assert_allclose(gained, impulse, atol=ROUNDING)


def test_relative_velocity_changes_by_w_times_impulse():
    a, b, point, normal, impulse = random_bodies(7, MANY)
    expected = relative_velocity(a, b, point, normal) + jnp.einsum(
        "bij,bj->bi", inverse_inertia(a, b, point, normal), impulse
    )
    after = relative_velocity(*apply_impulse(a, b, point, normal, impulse), point, normal)
    np.testing.assert_allclose(after, expected, rtol=1e-10, atol=1e-10)


def test_rolling_ball_has_no_contact_velocity():
    motion = {"velocity": np.array([2.0, 0, 0]), "angular_velocity": np.array([0, 4.0, 0])}
    ball = sphere(1.0, 0.5, [0, 0, 0.5])._replace(**motion)
    u = relative_velocity(ball, immovable(), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(u, 0, atol=ROUNDING)


def test_falling_ball_approaches():
    ball = sphere(1.0, 0.5, [0, 0, 0.5])._replace(velocity=np.array([0.0, 0.0, -3.0]))
    assert relative_velocity(ball, immovable(), np.zeros(3), np.array([0.0, 0.0, 1.0]))[2] == -3.0


# --- the immovable body


def test_immovable_adds_nothing_to_w():
    a, _, point, normal, _ = random_bodies(8, MANY)
    heavy = Body(1e300, 1e300 * np.eye(3), *np.zeros((3, 3)))  # its share underflows against that of body a
    w = inverse_inertia(a, immovable(), point, normal)
    np.testing.assert_array_equal(w, inverse_inertia(a, heavy, point, normal))


def test_immovable_has_exactly_zero_mobility():
    for part in mobility(immovable((2,))):
        np.testing.assert_array_equal(part, 0)


def test_impulse_leaves_moving_wall_unchanged():
    a, _, point, normal, impulse = random_bodies(9, 5)
    wall = immovable((5,))._replace(velocity=np.ones((5, 3)), angular_velocity=np.full((5, 3), 2.0))
    after = apply_impulse(a, wall, point, normal, impulse)[1]
    for before, now in zip(wall, after, strict=True):
        np.testing.assert_array_equal(before, now)


@pytest.mark.parametrize("first", [True, False])
def test_gradient_beside_immovable_is_finite(first):
    a, _, point, normal, impulse = jax.tree.map(lambda x: jnp.asarray(x[0]), random_bodies(10, 1))

    def total(body, ground, point, normal):
        pair = (body, ground) if first else (ground, body)
        after = apply_impulse(*pair, point, normal, impulse)
        w = inverse_inertia(*pair, point, normal)
        return jnp.sum(w**2) + jnp.sum(relative_velocity(*after, point, normal) ** 2)

    assert leaves_finite(jax.jit(jax.grad(total, argnums=(0, 1, 2, 3)))(a, immovable(), point, normal))


def test_immovable_takes_the_precision_of_the_other_body():
    a, _, point, normal, _ = jax.tree.map(np.float32, random_bodies(11, 3))
    assert inverse_inertia(a, immovable(), point, normal).dtype == jnp.float32


# --- generalised coordinates


def two_bodies_in_coordinates(seed: int):
    """Two free bodies, and their 12 speeds (v_a, w_a, v_b, w_b) with mass matrix and contact Jacobian."""
    bodies = random_bodies(seed, 4)
    a, b, point, normal, _ = bodies
    matrix, jacobian, frame = np.zeros((4, 12, 12)), np.zeros((4, 3, 12)), np.asarray(contact_frame(normal))
    for k, (body, sign) in enumerate(((a, 1), (b, -1))):
        i = 6 * k
        matrix[:, i : i + 3, i : i + 3] = body.mass[:, None, None] * np.eye(3)
        matrix[:, i + 3 : i + 6, i + 3 : i + 6] = body.inertia
        jacobian[:, :, i : i + 3] = sign * frame
        jacobian[:, :, i + 3 : i + 6] = sign * np.cross((point - body.position)[:, None, :], frame)
    speeds = np.concatenate([a.velocity, a.angular_velocity, b.velocity, b.angular_velocity], -1)
    return bodies, matrix, jacobian, speeds


@jax.jit
def w_and_speeds_after(matrix, jacobian, speeds, impulse):
    """Both in one program, since they share the factors of the mass matrix."""
    w = inertia.inverse_inertia_generalized(matrix, jacobian)
    return w, inertia.generalized_velocity_after(matrix, jacobian, speeds, impulse)


def test_generalised_w_of_two_free_bodies_is_w():
    bodies, *coordinates = two_bodies_in_coordinates(12)
    w, _ = w_and_speeds_after(*coordinates, bodies[-1])
    np.testing.assert_allclose(w, inverse_inertia(*bodies[:4]), rtol=1e-10, atol=1e-10)


def test_generalised_speeds_of_two_free_bodies_are_their_velocities_after():
    bodies, *coordinates = two_bodies_in_coordinates(13)
    a, b = apply_impulse(*bodies)
    expected = np.concatenate([a.velocity, a.angular_velocity, b.velocity, b.angular_velocity], -1)
    _, after = w_and_speeds_after(*coordinates, bodies[-1])
    np.testing.assert_allclose(after, expected, rtol=1e-10, atol=1e-10)


def test_generalised_w_matches_numpy_for_full_mass_matrix():
    rng = np.random.default_rng(14)
    root, jacobian = rng.normal(size=(5, 7, 7)), rng.normal(size=(3, 7))
    matrix = root @ np.swapaxes(root, 1, 2) + np.eye(7)
    expected = jacobian @ np.linalg.solve(matrix, np.broadcast_to(jacobian.T, (5, 7, 3)))
    np.testing.assert_allclose(inverse_inertia_generalized(matrix, jacobian), expected, rtol=1e-10, atol=1e-10)


def test_generalised_w_is_exactly_symmetric():
    bodies, *coordinates = two_bodies_in_coordinates(15)
    w, _ = w_and_speeds_after(*coordinates, bodies[-1])
    np.testing.assert_array_equal(w, jnp.swapaxes(w, -1, -2))


# --- lanes that cannot be used


@pytest.mark.parametrize("change", [-np.eye(3), np.zeros((3, 3)), np.full((3, 3), np.nan), np.tri(3), np.ones((3, 3))])
def test_inertia_not_definite_gives_nan_in_its_lane_only(change):
    a, b, point, normal, _ = random_bodies(16, 2)
    a.inertia[1] = change
    w = inverse_inertia(a, b, point, normal)
    assert np.isfinite(w[0]).all() and np.isnan(w[1]).all()


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan])
def test_mass_not_positive_gives_nan_diagonal(mass):
    a, b, point, normal, _ = jax.tree.map(lambda x: x[0], random_bodies(17, 1))
    assert np.isnan(np.diag(inverse_inertia(a._replace(mass=mass), b, point, normal))).all()


@jax.jit
@jax.grad
def gradient_by_jacobian(jacobian, matrix):
    return jnp.nansum(inverse_inertia_generalized(matrix, jacobian))


@pytest.mark.parametrize("change", [-np.eye(4), np.ones((4, 4)), np.full((4, 4), np.nan), np.tri(4)])
def test_mass_matrix_not_definite_gives_nan_in_its_lane_only(change):
    matrix, jacobian = np.stack([np.eye(4), change]), np.random.default_rng(18).normal(size=(3, 4))
    w = inverse_inertia_generalized(matrix, jacobian)
    assert np.isfinite(w[0]).all() and np.isnan(w[1]).all()
    assert leaves_finite(gradient_by_jacobian(jacobian, matrix))


# --- transformations and devices


def test_batch_outside_jit_equals_jit_of_vmap_of_single():
    batch = random_bodies(19, 6)
    single = jax.jit(jax.vmap(inertia.inverse_inertia))(*batch[:4])
    np.testing.assert_allclose(inertia.inverse_inertia(*batch[:4]), single, rtol=ROUNDING)


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
def test_lowering_needs_no_custom_call(platform):
    bodies, matrix, jacobian, speeds = two_bodies_in_coordinates(20)

    def everything(bodies, matrix, jacobian, speeds):
        return (
            inverse_inertia(*bodies[:4]),
            apply_impulse(*bodies),
            w_and_speeds_after(matrix, jacobian, speeds, bodies[-1]),
        )

    exported = jax.export.export(jax.jit(everything), platforms=[platform])(bodies, matrix, jacobian, speeds)
    module = exported.mlir_module()
    assert "stablehlo.custom_call" not in module and "stablehlo.dot_general" not in module


# --- refusals


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("body_a.mass", {"body_a": immovable()._replace(mass=np.ones(2), position=np.ones((3, 3)))}),
        ("body_a.inertia", {"body_a": immovable()._replace(inertia=np.ones(3))}),
        ("body_b.velocity", {"body_b": immovable()._replace(velocity=np.zeros(2))}),
        ("point", {"point": np.zeros(2)}),
        ("normal", {"normal": np.zeros(())}),
        ("impulse", {"impulse": np.zeros((3, 1))}),
        ("impulse", {"impulse": np.zeros((4, 3)), "point": np.zeros((5, 3))}),
    ],
)
def test_wrong_shape_of_contact_raises_naming_the_argument(argument, value):
    good = {"body_a": sphere(1.0, 1.0, np.zeros(3)), "body_b": immovable(), "point": np.zeros(3)}
    good |= {"normal": np.array([0.0, 0.0, 1.0]), "impulse": np.zeros(3)}
    with pytest.raises(ValueError, match=argument.replace(".", r"\.")):
        contact.apply_impulse(**(good | value))


@pytest.mark.parametrize(
    ("argument", "shapes"),
    [
        ("mass_matrix", [(4, 3), (3, 4), (4,), (3,)]),
        ("jacobian", [(4, 4), (4, 3), (4,), (3,)]),
        ("jacobian", [(4, 4), (), (4,), (3,)]),
        ("velocity", [(4, 4), (3, 4), (3,), (3,)]),
        ("impulse", [(4, 4), (3, 4), (4,), (2,)]),
        ("velocity", [(2, 4, 4), (3, 4), (3, 4), (3,)]),
    ],
)
def test_wrong_shape_of_coordinates_raises_naming_the_argument(argument, shapes):
    with pytest.raises(ValueError, match=argument):
        inertia.generalized_velocity_after(*(np.ones(shape) for shape in shapes))


@pytest.mark.parametrize("normal", [np.array([0, 0, 1]), np.array([0, 0, 1j]), None, "up"])
def test_normal_that_is_not_real_floating_raises_type_error(normal):
    with pytest.raises(TypeError, match="normal"):
        contact.contact_frame(normal)


def test_body_of_another_type_raises_type_error():
    with pytest.raises(TypeError, match="body_b must be a Body"):
        inertia.inverse_inertia(immovable(), (1.0, np.eye(3)), np.zeros(3), np.ones(3))


def test_whole_python_numbers_are_numbers():
    whole = jimpact.Body(2, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 1], [0, 0, -1], [0, 0, 0])
    after = jax.jit(lambda: jimpact.collide(whole, jimpact.immovable(), [0, 0, 0], [0, 0, 1], 0, 1, **QUICK))()
    np.testing.assert_allclose(after.body_a.velocity, [0, 0, 1], atol=1e-15)


def test_infinite_mass_with_finite_inertia_turns():
    ball = jimpact.Body(1.0, 0.4 * jnp.eye(3), jnp.array([0.0, 0.0, 1.0]), jnp.array([0.0, 0.0, -1.0]), jnp.zeros(3))
    wheel = jimpact.Body(jnp.inf, 0.4 * jnp.eye(3), jnp.array([1.0, 0.0, 0.0]), jnp.zeros(3), jnp.zeros(3))
    collide = jax.jit(partial(jimpact.collide, **QUICK))
    after = collide(ball, wheel, jnp.zeros(3), jnp.array([0.0, 0.0, 1.0]), 0.0, 0.5)
    # torque of -p z at (-1, 0, 0) from the centre
    expected = np.cross([-1.0, 0.0, 0.0], [0.0, 0.0, -after.impact.impulse[2]]) / 0.4
    np.testing.assert_allclose(after.body_b.angular_velocity, expected, rtol=1e-14)
    assert not after.body_b.velocity.any()


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e170, 1e300])
def test_length_of_the_normal_does_not_matter(size):
    direction = np.array([0.6, -0.48, 0.64])
    np.testing.assert_allclose(contact_frame(size * direction), contact_frame(direction), atol=1e-15)


def test_a_lane_without_normal_does_not_touch_a_shared_derivative():
    """Such a lane is made harmless before any law sees it."""

    @jax.jit
    @jax.grad
    def derivative(position, normal):
        ball = jimpact.Body(1.0, 0.4 * jnp.eye(3), position, jnp.array([0.3, 0.0, -1.0]), jnp.zeros(3))
        after = jimpact.collide(ball, jimpact.immovable(), jnp.zeros(3), normal, 0.3, 0.5, **QUICK)
        return jnp.where(after.impact.outcome == 0, after.body_a.velocity[..., 0], 0).sum()

    up, none = jnp.array([0.0, 0.0, 1.0]), jnp.zeros(3)
    at = jnp.array([0.1, 0.0, 1.0])
    alone, beside = (derivative(at, jnp.stack(normals)) for normals in ([up, up], [up, none]))
    np.testing.assert_allclose(beside, 0.5 * alone, rtol=1e-13)
    assert alone.any()
