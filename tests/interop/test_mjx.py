"""MuJoCo MJX: restitution that is the one requested, the mechanics of MuJoCo, and contacts that rest."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact import Outcome

mujoco = pytest.importorskip("mujoco")
mjx = pytest.importorskip("mujoco.mjx")
interop = pytest.importorskip("jimpact.interop.mjx")

ASKED = 1e-6  # between the restitution requested and the one measured
ROUND_OFF = 1e-12
RESTITUTION = np.array([0.0, 0.3, 0.6, 1.0])
FRICTION = 0.3
GRAVITY, STEP, STEPS = 9.81, 0.002, 40
# Everything hits the ground, and nothing else: one model, and so one program, for a cube, a ball and an arm.
SCENE = f"""<mujoco>
<option timestep="{STEP}"/>
<default><geom contype="0" conaffinity="1"/></default>
<worldbody>
  <geom type="plane" size="1 1 1" contype="1"/>
  <body><freejoint/><geom type="box" size=".05 .05 .05" mass="0.37"/></body>
  <body pos="1 0 0">
    <joint type="slide" axis="1 0 0"/>
    <joint type="slide" axis="0 0 1"/>
    <geom type="sphere" size=".05" mass="0.2"/>
  </body>
  <body pos="2 0 0.5">
    <joint type="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".02" mass="1" conaffinity="0"/>
    <body pos=".4 0 0">
      <joint type="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="0.5" conaffinity="0"/>
      <geom type="sphere" pos=".3 0 0" size=".03" mass=".1"/>
    </body>
  </body>
</worldbody></mujoco>"""
SLOTS = {"cube": slice(0, 4), "ball": slice(4, 5), "arm": slice(5, 6)}  # found by `test_slots`
DOF = {"cube": slice(0, 6), "ball": slice(6, 8), "arm": slice(8, 10)}
BALL = 8  # its height in qpos


@functools.cache
def scene() -> tuple[Any, Any, Any]:
    host = mujoco.MjModel.from_xml_string(SCENE)
    model = mjx.put_model(host)
    return host, model, mjx.make_data(model)


def start(height: float = 0.1, fall: float = -0.5, drop: float = 0.07, angles: tuple = (0.35, 0.9)) -> Any:
    """A cube that spins and falls on a corner, a ball that is dropped, an arm that swings down."""
    turn = np.array([0.9, 0.2, 0.3, 0.1])
    cube = [0, 0, height, *(turn / np.linalg.norm(turn))]
    qpos = np.array([*cube, 0, drop, *angles])
    qvel = np.array([0.4, 0, fall, 3, 2, 1, 0, 0, 1, 1.5])
    return scene()[2].replace(qpos=jnp.asarray(qpos), qvel=jnp.asarray(qvel))


@functools.cache
def batched() -> Any:
    one = lambda data, friction, restitution: interop.step(  # noqa: E731
        scene()[1], data, friction, restitution, law="smith"
    )
    return jax.jit(jax.vmap(one, (0, None, 0)))


def touching() -> Any:
    """Cube and ball have just reached the ground."""
    data = start(height=0.07, drop=0.0499, angles=(-1.0, 0.0))
    return data.replace(qvel=data.qvel.at[DOF["ball"]].set(jnp.asarray([0.3, -1.0])))


def states(data: Any) -> Any:
    return jax.tree.map(lambda a: jnp.broadcast_to(a, (len(RESTITUTION), *jnp.shape(a))), data)


def energy(data: Any, lane: int) -> float:
    host = scene()[0]
    other = mujoco.MjData(host)
    other.qpos[:], other.qvel[:] = data.qpos[lane], data.qvel[lane]
    mujoco.mj_forward(host, other)
    mujoco.mj_energyPos(host, other)
    mujoco.mj_energyVel(host, other)
    return float(other.energy.sum())


def steps(data: Any, count: int = STEPS) -> list[Any]:
    found = []
    for _ in range(count):
        found.append(batched()(data, FRICTION, RESTITUTION))
        data = found[-1].data
    return found


@functools.cache
def run() -> list[Any]:
    """All steps of four lanes that differ in restitution."""
    return steps(states(start()))


def test_slots() -> None:
    geoms = np.asarray(jax.jit(mjx.collision)(scene()[1], start())._impl.contact.geom)
    assert {name: set(geoms[slots, 1].tolist()) for name, slots in SLOTS.items()} == {
        "cube": {1},
        "ball": {2},
        "arm": {5},
    }


@pytest.mark.parametrize(
    "body", [pytest.param(body, marks=pytest.mark.slow if body in ("cube", "ball", "arm") else ()) for body in SLOTS]
)
def test_measured_restitution_is_the_requested_one(body: str) -> None:
    for lane, requested in enumerate(RESTITUTION):
        measured = []
        for one in run():
            before, after = (
                np.asarray(v)[lane, :, SLOTS[body], 2] for v in (one.space.velocity, one.contacts.velocity)
            )
            own = np.arange(6)[SLOTS[body]]
            collided = (np.asarray(one.contacts.order)[lane, :, None] == own[:, None]).sum(-1)
            once = (collided == 1) & (collided.sum(-1, keepdims=True) == 1) & (before < -0.1)
            measured += (-after[once] / before[once]).tolist()
        assert measured, (body, requested)
        np.testing.assert_allclose(measured, requested, rtol=0, atol=ASKED, err_msg=f"{body} {requested}")


def test_velocities_after_are_those_of_the_mechanism() -> None:
    """What the joints do after the impact is what the impact says of the contact point, by MuJoCo's own Jacobian."""
    host, model, _ = scene()
    low = touching()
    impact = interop.apply_impacts(model, low, FRICTION, 0.6, law="newton")
    other = mujoco.MjData(host)
    other.qpos[:], other.qvel[:] = low.qpos, low.qvel
    mujoco.mj_forward(host, other)
    np.testing.assert_allclose(mjx.full_m(model, impact.data), dense_mass_matrix(host, other), atol=ROUND_OFF)
    active = np.asarray(impact.space.active)
    assert active[SLOTS["ball"]].all() and active.sum() == other.ncon > 1
    for slot in np.flatnonzero(active):
        velocities = [point_velocity(host, other, impact, slot, q) for q in (low.qvel, impact.data.qvel)]
        np.testing.assert_allclose(velocities[0], impact.space.velocity[slot], atol=ROUND_OFF)
        np.testing.assert_allclose(velocities[1], impact.contacts.velocity[slot], atol=1e-9)


def dense_mass_matrix(host: Any, data: Any) -> np.ndarray:
    """By columns: forces that accelerate one coordinate alone, without bias forces."""
    columns = []
    for row in np.eye(host.nv):
        column = np.zeros(host.nv)
        mujoco.mj_mulM(host, data, column, row)
        columns.append(column)
    return np.stack(columns, -1)


def point_velocity(host: Any, other: Any, impact: Any, slot: int, qvel: Any) -> np.ndarray:
    """Of body 2 relative to body 1 at the contact, along t1, t2, n of its frame."""
    contact = impact.data._impl.contact
    total = np.zeros(3)
    for geom, sign in zip(np.asarray(contact.geom[slot]), (-1, 1), strict=True):
        jacobian = np.zeros((3, host.nv))
        mujoco.mj_jac(host, other, jacobian, None, np.asarray(contact.pos[slot], float), host.geom_bodyid[geom])
        total += sign * jacobian @ np.asarray(qvel)
    return (np.asarray(contact.frame[slot]) @ total)[[1, 2, 0]]


def ball_by_hand(restitution: float) -> float:
    """Height of the ball after all steps: semi-implicit Euler, each step cut where the ball meets the ground."""
    z, v = 0.02, 0.0
    for _ in range(STEPS):
        left = STEP
        while left > 0 and (v or z):
            duration = min(left, (v + np.sqrt(v * v + 4 * GRAVITY * z)) / (2 * GRAVITY))
            v -= GRAVITY * duration
            z, left, met = z + v * duration, left - duration, duration < left
            v = -restitution * v if met else v
            left = 0 if met and v < 2 * GRAVITY * STEP else left  # it stays
    return z


def test_a_ball_bounces_as_on_paper() -> None:
    """Height and time of flight of a dropped ball, to the end: so the instant of the impact is right, too."""
    alone = steps(states(start(height=1, fall=0, angles=(-1.0, 0.0))))
    found = np.asarray(alone[-1].data.qpos[:, BALL]) - 0.05
    np.testing.assert_allclose(found, [ball_by_hand(e) for e in RESTITUTION], atol=1e-8)


def test_energy_is_not_gained() -> None:
    history = np.array([[energy(one.data, lane) for one in run()] for lane in range(len(RESTITUTION))])
    sunk = GRAVITY**2 * STEP**2  # per mass: what sinks in a step in which another body hits is lifted out in the next
    assert np.diff(history, axis=1).max() < 0.37 * sunk
    assert (history[:, 0] - history[:, -1] > 0.01).all()  # friction, and restitution below 1


@pytest.mark.slow
def test_a_batch_is_its_lanes() -> None:
    one = lambda data, restitution: interop.apply_impacts(scene()[1], data, FRICTION, restitution, law="newton")  # noqa: E731
    low = touching()
    many = jax.jit(jax.vmap(one))(states(low), RESTITUTION)
    for lane, restitution in enumerate(RESTITUTION):
        alone = one(low, restitution)
        np.testing.assert_allclose(many.data.qvel[lane], alone.data.qvel, atol=ROUND_OFF)
        assert alone.contacts.impacts > 1 and alone.contacts.impacts == many.contacts.impacts[lane]


def test_lanes_of_a_step_do_not_see_each_other() -> None:
    data = states(start())
    others = data.replace(qpos=data.qpos.at[0, 2].set(5.0).at[1, BALL].set(0.051), qvel=data.qvel.at[3].multiply(3))
    for ours, theirs in zip(run()[:20], steps(others, 20), strict=True):
        np.testing.assert_allclose(ours.data.qpos[2], theirs.data.qpos[2], atol=ROUND_OFF)


def test_inactive_contacts_are_inert() -> None:
    model = scene()[1]
    high = start(height=1, drop=1)
    impact = interop.apply_impacts(model, high, FRICTION, 0.6, law="newton")
    assert impact.contacts.outcome == Outcome.SEPARATING and not impact.space.active.any()
    np.testing.assert_array_equal(impact.data.qvel, high.qvel)
    ball = start(height=1, drop=0.0499)
    ball = ball.replace(qvel=ball.qvel.at[7].set(-1.0))
    after = interop.apply_impacts(model, ball, FRICTION, 0.6, law="newton").data.qvel
    np.testing.assert_array_equal(after[DOF["cube"]], ball.qvel[DOF["cube"]])
    np.testing.assert_array_equal(after[DOF["arm"]], ball.qvel[DOF["arm"]])
    np.testing.assert_allclose(after[7], 0.6, atol=ROUND_OFF)


def test_bodies_rest_and_slide() -> None:
    data = start(height=0.05, fall=0, drop=0.05, angles=(-1.0, 0.0))
    flat = data.qpos.at[3:7].set(jnp.asarray([1.0, 0, 0, 0]))
    data = states(data.replace(qpos=flat, qvel=jnp.zeros(10).at[0].set(0.5)))
    data = steps(data, 20)[-1].data
    assert (np.abs(data.qpos[:, [2, BALL]] - 0.05) < 1e-5).all()
    np.testing.assert_allclose(data.qvel[:, 0], 0.5 - FRICTION * GRAVITY * 20 * STEP, atol=0.02)


def test_an_arm_that_cannot_leave_its_plane_collides_in_the_plane() -> None:
    model = scene()[1]
    low = start(height=1, drop=1, angles=(0.6, 0.95))
    impact = interop.apply_impacts(model, low, FRICTION, 0.6, law="newton")
    slot = SLOTS["arm"].start
    J = impact.space.jacobian[slot]
    assert impact.space.active[slot] and np.linalg.matrix_rank(J) == 2
    W, plane = J @ impact.space.effect[slot].T, np.array([1, 2])
    assert not J[0].any()  # t1 is the direction it cannot move in
    planar = jimpact.solve_planar(W[plane][:, plane], impact.space.velocity[slot, plane], FRICTION, 0.6, law="newton")
    assert planar.outcome == impact.contacts.outcome == Outcome.OK
    np.testing.assert_allclose(impact.contacts.velocity[slot, plane], planar.velocity, atol=1e-8)
    np.testing.assert_allclose(impact.contacts.impulse[slot], [0, *planar.impulse], atol=1e-8)


HAMMER = """<mujoco><worldbody>
  <body euler="20 10 0"><geom type="plane" size="9 9 1" pos="5 0 0" contype="2"/>
    <body pos="5 0 0.0499"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="hinge" axis="0 0 1"/>
      <geom type="sphere" pos=".3 .1 0" size=".05" mass="1" contype="0" conaffinity="2"/></body></body>
  <geom type="plane" size="5 5 1" pos="0 0 -1.02"/>
  <body><joint type="hinge" axis="0 1 0"/><geom type="sphere" size=".02" pos="1 0 0" mass="1" contype="0"/></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def hammers() -> tuple[np.ndarray, Any]:
    """A hammer on one hinge that hits a floor at many angles, beside a robot that slides in a tilted floor."""
    model = mjx.put_model(mujoco.MjModel.from_xml_string(HAMMER))
    data = mjx.make_data(model)
    rng = np.random.default_rng(0)
    angle, slide = rng.uniform(-0.6, 0.6, 50), rng.normal(size=(50, 3))

    def hit(angle: jax.Array, slide: jax.Array) -> Any:
        floor = model.replace(geom_pos=model.geom_pos.at[0, 2].set(-jnp.sin(angle) - 0.0199))
        state = data.replace(qpos=jnp.append(0.3 * slide, angle), qvel=jnp.append(slide, 1.0))
        return interop.apply_impacts(floor, state, FRICTION, 0.6, most=2)

    return slide, jax.jit(jax.vmap(hit))(angle, slide)


def test_a_hammer_on_one_hinge_rebounds_as_on_paper(hammers: tuple) -> None:
    impact = hammers[1]
    # Its tip moves along one line, at v_t = s v_n: friction, 0.3 of the normal impulse, acts through s, with the
    # approach and then against it; the work of rebound is 0.6^2 of that of compression.
    tip = np.asarray(impact.space.velocity)[np.asarray(impact.space.active)]
    s = np.hypot(tip[:, 0], tip[:, 1]) / -tip[:, 2]
    rebound = 0.6 * np.sqrt((1 - FRICTION * s) / (1 + FRICTION * s))
    assert (impact.contacts.outcome == Outcome.OK).all() and s.max() > 0.5
    np.testing.assert_allclose(impact.data.qvel[:, 3], -rebound, atol=1e-10)


def test_a_contact_that_no_impulse_can_open_is_inert(hammers: tuple) -> None:
    slide, impact = hammers
    assert (impact.space.distance < 0).all()
    np.testing.assert_array_equal(np.sum(impact.space.active, -1), 1)  # that of the hammer
    np.testing.assert_array_equal(impact.data.qvel[:, :3], slide)


def test_a_lane_that_is_not_finite_is_invalid() -> None:
    data = start(height=1, drop=0.0499)
    data = data.replace(qpos=data.qpos.at[BALL].set(jnp.nan))
    impact = interop.apply_impacts(scene()[1], data, FRICTION, 0.6, law="newton")
    assert impact.contacts.outcome == Outcome.INVALID and np.isnan(impact.data.qvel).any()


@pytest.mark.parametrize("angle", [0.0, 0.3, 2.0])
def test_unreachable_directions_are_filled(angle: float) -> None:
    s = np.array([np.cos(angle), np.sin(angle), 0])
    along = np.stack([s, [0, 0, 1]], -1)
    singular = along @ np.array([[2.0, 0.5], [0.5, 3.0]]) @ along.T
    filled = np.asarray(interop.reachable(jnp.asarray(singular)))
    across = np.array([-np.sin(angle), np.cos(angle), 0])
    np.testing.assert_allclose(filled, singular + 3 * np.outer(across, across), atol=ROUND_OFF)
    np.testing.assert_allclose(interop.reachable(jnp.asarray(filled)), filled, atol=ROUND_OFF)


def test_the_impact_is_differentiable() -> None:
    model = scene()[1]
    low = start(height=1, drop=0.0499)
    low = low.replace(qvel=low.qvel.at[6:8].set(jnp.asarray([1.0, -1.0])))
    law = {"law": "chatterjee_ruina", "tangential_restitution": 0.0, "most": 2}

    @jax.jit
    def speeds(restitution: Any) -> Any:
        return interop.apply_impacts(model, low, 0.05, restitution, **law).data.qvel[6:8]

    slope = jax.jit(jax.jacrev(speeds))(0.6)
    np.testing.assert_allclose(slope, [-0.05, 1], atol=1e-9)  # the ball slips throughout


def test_a_step_refuses_to_be_differentiated() -> None:
    with pytest.raises(TypeError, match="differentiate apply_impacts"):
        jax.jvp(lambda e: interop.step(scene()[1], start(), 0.3, e).data.qvel, (0.5,), (1.0,))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"model": lambda: scene()[0]}, TypeError, "pass mjx.put_model"),
        ({"rough": lambda: 1}, TypeError, "rough is not an option; pass one of law"),
        ({"impacts": lambda: 0}, ValueError, "impacts=0; pass a whole number"),
        ({"restitution": lambda: None}, TypeError, "restitution is None; pass a number from 0 to 1"),
        ({"restitution": lambda: "high"}, TypeError, "pass numbers, or arrays with one for each slot"),
        ({"law": lambda: {}}, TypeError, "law is a dict; pass a name"),
        ({"data": lambda: states(start())}, ValueError, "map over batches with jax.vmap"),
        ({"data": lambda: start().replace(qvel=np.zeros(10, np.float32))}, TypeError, "the same in qpos and qvel"),
    ],
)
def test_bad_input_gets_a_sentence(change: dict, error: type[Exception], words: str) -> None:
    given = {"model": scene()[1], "data": start(), "friction": 0.3, "restitution": 0.5}
    with pytest.raises(error, match=words):
        interop.step(**(given | {name: make() for name, make in change.items()}))
