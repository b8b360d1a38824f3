"""Part "impulse": the impact of fig. 3, from velocities before to velocities after, and the curve of fig. 5."""

import numpy as np
from scipy.spatial.transform import Rotation

from jimpact.plotting import impulse_path
from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, digits_of, numbers, only, solve_many

from . import bodies
from .forms import TEXTS, Icosahedron, ImpactsForm

ANGLES = 10_001  # of a full turn: interpolation is good to 1e-9 m/s
SPIN = 1e-6  # rad/s: a unit of the last digit of the printed angular velocity of body 1


def run(config: ImpactsForm, progress: LabelledProgress) -> Result:
    scene = config.icosahedron
    v, rotation_2 = bodies.reconstructed(scene)
    bodies.same_velocity("icosahedron", scene, v)
    impact = solve_many(scene.W, v, np.array([scene.friction, 0.0]), scene.restitution)
    got, other = np.asarray(impact.impulse[0]), bodies.stopping_velocity(scene)
    exact, ends = bodies.events_of(impact)
    again = solve_many(scene.W, other[None], scene.friction, scene.restitution).impulse[0]
    off = np.linalg.norm(got - scene.impulse)
    words = {"off": off, "share": off / np.linalg.norm(scene.impulse), "left": scene.table1.end}
    inverse = {"normal": other[2], "again": again, "apart": other[2] / v[2] - 1, "v": v}

    # Velocities after, by the printed and by the computed impulse.
    one, two, printed = scene.body_1, scene.body_2, np.asarray(scene.impulse)
    by_print, computed = (
        np.stack([one.velocity + I / one.mass, two.velocity - I / two.mass, bodies.spin_2(scene, rotation_2, I)])
        for I in (printed, got)
    )
    change = np.linalg.norm(np.subtract(scene.angular_velocity_1, one.angular_velocity))
    spin = np.linalg.norm(one.momentum(printed)) / one.moments[0]
    found = {
        **_before(scene, v, rotation_2),
        "JW-post": numbers(by_print[:2], off=np.abs(by_print[2] - scene.angular_velocity_2).max()),
        "JW-post-w1": claimed(abs(change - spin) <= SPIN, digits_of(change, spin), change=change, spin=spin),
        "JW-post-exact": numbers(computed),
        "JW-base-Ir": numbers(got, exact=exact, ends=ends, **words),
        "JW-base-inv": only("", digits_of(scene.impulse, again), **inverse),
        "JW-frictionless": numbers(impact.impulse[1]),
        "JW-Fig5": only(ends=ends),
    }
    figure = impulse_path(scene.W, v, scene.friction, scene.restitution)
    figure.axes[0].set(xlabel="$I_x$ (N s)", ylabel="$I_y$ (N s)", zlabel="normal impulse $I_z$ (N s)", title="")  # type: ignore[arg-type]
    return Result(found, [TEXTS.picture("fig5", figure)])


def _before(scene: Icosahedron, v: np.ndarray, rotation_2: np.ndarray) -> dict[str, Computed]:
    """The velocity before, and an independent check of it by the angular velocity of body 1."""
    # Contact velocities by all R1 that turn the torque of the printed impulse into the printed change of spin.
    body, still = scene.body_1, bodies.contact_velocity(scene, np.zeros((3, 3)), rotation_2)
    torque = body.momentum(np.asarray(scene.impulse))
    change = np.subtract(scene.angular_velocity_1, body.angular_velocity)
    axis = torque / np.linalg.norm(torque)
    first = Rotation.align_vectors(axis[None], change[None] / np.linalg.norm(change))[0]
    turns = Rotation.from_rotvec(np.linspace(0, 2 * np.pi, ANGLES)[:, None] * axis) * first
    family = still + np.cross(turns.apply(body.angular_velocity), -np.asarray(body.position))
    crossed = np.flatnonzero(np.diff(np.sign(family[:, 0] - v[0])))
    share = ((v[0] - family[:, 0])[crossed] / np.diff(family[:, 0])[crossed])[:, None]
    points = family[crossed] + share * (family[crossed + 1] - family[crossed])
    across = points[np.abs(points[:, 1] - v[1]).argmin(), 1]
    return {
        "JW-v-": only("", digits_of(v[1], across), v=v),
        "JW-R1": only(across=across, gap=abs(across - v[1]), v=v),
    }
