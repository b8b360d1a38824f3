"""Pictures of bodies that bounce, and of many contacts."""

import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull

import jimpact
from jimpact import plotting
from jimpact.geometry.rotation import rotation_matrix

sys.path.append(str(Path(__file__).resolve().parents[1] / "contacts"))  # its modules import each other by name

SIZE = np.array([0.12, 0.09, 0.06])  # m
MASS = 0.37  # kg
MODEL = """<mujoco><option timestep="0.002" integrator="RK4"/><worldbody>
<geom type="plane" size="1 1 1"/>
<body pos="0 0 0.3"><freejoint/><geom type="sphere" size="0.05" mass="0.2"/></body>
</worldbody></mujoco>"""


@cache
def _thrown() -> jimpact.Run:
    inertia = MASS / 12 * jnp.diag(jnp.sum(SIZE**2) - SIZE**2)
    solid = jimpact.Solid(jnp.asarray(MASS), inertia, jimpact.box(SIZE, 0.004))
    q = jnp.array([0.96, 0.1, -0.2, 0.16])
    position, velocity, spin = (jnp.array(a) for a in ([-0.7, 0.0, 0.5], [2.4, 0.0, 1.2], [2.0, 9.0, -3.0]))
    start = jimpact.Motion(position, q / jnp.linalg.norm(q), velocity, spin)
    normals, offsets = jnp.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]), jnp.array([0.0, -0.9])  # a floor, a wall
    room = jimpact.Planes(normals, offsets, jnp.full(2, 0.25), jnp.full(2, 0.8))
    return jax.jit(partial(jimpact.simulate, impacts=12, duration=1.3))(solid, start, room)


def bouncing_box() -> Figure:
    """The box every 50 ms, seen along y, with the path of its centre and the points of impact."""
    run = _thrown()
    end = float(run.time)
    times = np.arange(0, end, 0.05)
    motion = jimpact.motion_at(run, times)
    R, at = np.asarray(rotation_matrix(motion.orientation)), np.asarray(motion.position)
    corners = 0.5 * SIZE * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    seen = (at[:, None] + corners @ R.swapaxes(1, 2))[..., [0, 2]]
    outlines = [points[ConvexHull(points).vertices] for points in seen]
    fig = Figure(figsize=(9, 4.2), layout="constrained")
    ax = fig.add_subplot()
    boxes = PolyCollection(outlines, array=times, cmap="viridis", edgecolor="white", linewidth=0.8, alpha=0.85)
    ax.add_collection(boxes)
    x, _, z = np.asarray(jimpact.motion_at(run, np.linspace(0, end, 800)).position).T
    ax.plot(x, z, color="0.25", lw=0.9, label="centre of mass")
    ax.plot(*np.asarray(run.bounces.point)[:, [0, 2]].T, "o", color="#d1495b", ms=6, label="impact", zorder=4)
    ax.axhline(0, color="0.2", lw=1.5)
    ax.axvline(0.9, color="0.2", lw=1.5)
    fig.colorbar(boxes, label="time (s)", shrink=0.75)
    ax.set(xlabel="x (m)", ylabel="z (m)", aspect="equal", ylim=(-0.04, None), title="A box between a floor and a wall")
    ax.legend(loc="upper right", bbox_to_anchor=(0.93, 1.0))
    return fig


def box_page() -> str:
    return plotting.animation(_thrown(), title="A box between a floor and a wall")


def billiard_break() -> Figure:
    """A break of 15 balls, for aims that differ by 1 mm: where the balls go, and the speed of some of them."""
    import billiards
    from shared import SMOOTH

    layout = billiards.rack(5)
    ball = {"rows": 5, "speed": 8.0, "mass": 0.17, "radius": 0.028575, "restitution": 0.94, "most": 128}
    shot = partial(billiards.break_shot, friction=0.0, **ball, **SMOOTH)
    shots = jax.jit(jax.vmap(lambda offset: shot(offset).bodies.velocity))
    spread, count = 1e-3, 128
    aims = spread * jax.random.normal(jax.random.key(0), (count,))
    sweep = jnp.linspace(-1e-2, 1e-2, count)
    velocities, swept = np.asarray(shots(aims)), np.asarray(shots(sweep))
    drawn = (ball["radius"], spread, np.asarray(aims), {0.0: velocities}, np.asarray(sweep), {0.0: swept})
    fig = billiards.figure(layout, *drawn)  # type: ignore[arg-type]
    fig.set_size_inches(10, 4.4)
    fig.axes[1].legend(markerscale=3, loc="center", bbox_to_anchor=(0.5, 0.72))
    return fig


def mjx_bounce() -> Figure:
    """Height of a sphere over time: impacts by jimpact in MJX for three restitutions, and MJX's own contact."""
    import mujoco
    from mujoco import mjx

    from jimpact.interop.mjx import step

    model = mjx.put_model(mujoco.MjModel.from_xml_string(MODEL))
    law: dict[str, Any] = {"law": "chatterjee_ruina", "tangential_restitution": 0.0, "most": 2}

    def height(advance: Any) -> Any:
        def one(data: Any, _: None) -> tuple[Any, Any]:
            data = advance(data)
            return data, data.qpos[2] - 0.05

        return jax.lax.scan(one, mjx.make_data(model), None, 490)[1]

    requested = jnp.array([0.3, 0.6, 0.9])
    ours = jax.jit(jax.vmap(lambda e: height(lambda data: step(model, data, 0.3, e, impacts=2, **law).data)))(requested)
    plain = jax.jit(lambda: height(lambda data: mjx.step(model, data)))()
    fig = Figure(figsize=(6.4, 4.0), layout="constrained")
    ax = fig.add_subplot()
    for e, row, color in zip(requested.tolist(), np.asarray(ours), ("#e09f3e", "#2a9d8f", "#1f4e9c"), strict=True):
        ax.plot(0.002 * np.arange(1, 491), row, color=color, label=f"jimpact, restitution {e:.1f}")
    ax.plot(0.002 * np.arange(1, 491), np.asarray(plain), "--", color="#d1495b", label="MJX, its own contact")
    ax.set(xlabel="time (s)", ylabel="height of the lowest point (m)", title="A sphere dropped from 0.25 m in MJX")
    ax.grid(color="0.92")
    ax.legend(loc="upper right")
    return fig
