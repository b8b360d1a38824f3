"""Part "impulse": the impact of fig. 3, from velocities before to velocities after, and the curve of fig. 5."""

import numpy as np
from scipy.spatial.transform import Rotation

import jimpact
from jimpact.config import ConfigError
from jimpact.reproduce import (
    Finding,
    Picture,
    Progress,
    Result,
    claim,
    digits_of,
    last_digit,
    new,
    number,
    solve_many,
    trace_many,
    unchecked,
)

from .bodies import Reconstructed, contact_velocity, reconstructed, spin_change
from .drawing import impulse_curve, tracks
from .forms import Icosahedron, ImpactsForm, values
from .pin import stopping_velocity

__all__ = ["run"]

ANGLES = 10_001  # of a full turn: interpolation is good to 1e-9 m/s


def run(config: ImpactsForm, progress: Progress) -> Result:
    scene, found = config.icosahedron, reconstructed(config)
    W, v = found.inverse_inertia, found.velocity
    _same(scene, v, config.limits.velocity)
    impact = solve_many(W, v, np.array([scene.friction, 0.0]), scene.restitution)
    track = tracks(trace_many(W, v[None], scene.friction, scene.restitution))[0]
    findings = [
        *_before(scene, found),
        *_totals(scene, found, impact),
        *_after(scene, found, np.asarray(impact.impulse[0])),
    ]
    seen = f"c {impact.info.compression_end[0]:.7f}, s {impact.info.slip_end[0]:.7f}, r {impact.impulse[0, 2]:.7f} N s"
    findings.append(
        unchecked("JW-Fig5", "fig. 5", "curve of the impulse", seen, "The text has no numbers of the curve.")
    )
    caption = "Impulse of the impact of fig. 3: compression ends (c), slip stops (s), then stick until the end (r)."
    return Result(findings, [Picture("fig5", impulse_curve(track, W, v), caption)])


def _same(scene: Icosahedron, velocity: np.ndarray, limit: float) -> None:
    """Refuse a configuration whose contact velocity, from which all other parts start, is another one."""
    off = np.abs(velocity - scene.contact_velocity).max()
    if off > limit:
        raise ConfigError(f"icosahedron.contact_velocity is off by {off:.1e} m/s; the reconstructed one is {velocity}")


def _before(scene: Icosahedron, found: Reconstructed) -> list[Finding]:
    """The velocity before, and an independent check of it by the angular velocity of body 1."""
    v = found.velocity
    family = _family(scene, found.rotation_2)
    crossed = np.flatnonzero(np.diff(np.sign(family[:, 0] - v[0])))
    share = ((v[0] - family[:, 0])[crossed] / np.diff(family[:, 0])[crossed])[:, None]
    points = family[crossed] + share * (family[crossed + 1] - family[crossed])
    across = points[np.abs(points[:, 1] - v[1]).argmin(), 1]
    return [
        new(
            "JW-v-",
            "(2), (14)",
            "contact velocity before (m/s)",
            _vector(v),
            "Not printed, as R1 and R2 are not. Normal part by the fitted R2; slip by the printed impulse, which "
            "ends in stick. Digits: of the slip along y, against the one by R1.",
            digits_of(v[1], across),
        ),
        new(
            "JW-R1",
            "(14), after (15)",
            "slip before along y (m/s), by R1",
            f"{across:.7f}",
            "The rotations R1 that give the printed spin of body 1 are a family of one parameter; where it has the "
            f"same slip along x, its slip along y is within {abs(across - v[1]):.0e} of the reconstructed {v[1]:.7f}.",
        ),
    ]


def _family(scene: Icosahedron, rotation_2: np.ndarray) -> np.ndarray:
    """Contact velocities by all R1 that turn the torque of the printed impulse into the printed change of spin."""
    body = scene.body_1
    arm = -np.asarray(body.position)
    torque = np.cross(arm, values(scene.printed.impulse))
    change = values(scene.printed.angular_velocity_1) - body.angular_velocity
    first = Rotation.align_vectors(torque[None] / np.linalg.norm(torque), change[None] / np.linalg.norm(change))[0]
    angles = np.linspace(0, 2 * np.pi, ANGLES)[:, None]
    turns = Rotation.from_rotvec(angles * torque / np.linalg.norm(torque)) * first
    still = contact_velocity(scene, np.zeros((3, 3)), rotation_2)
    return still + np.cross(turns.apply(body.angular_velocity), arm)


def _totals(scene: Icosahedron, found: Reconstructed, impact: jimpact.Impact) -> list[Finding]:
    """The total impulse with and without friction."""
    printed, W, info = scene.printed, found.inverse_inertia, impact.info
    said, got = values(printed.impulse), impact.impulse[0]
    exact = str(jimpact.event_sequence(impact)[0]).replace("l", "")
    other = stopping_velocity(W, said, scene.friction, scene.restitution)
    again = solve_many(W, other[None], scene.friction, scene.restitution).impulse[0]
    off, apart = np.linalg.norm(got - said), other[2] / found.velocity[2] - 1
    order = "as printed" if exact == printed.sequence else f"printed {printed.sequence}"
    left = float(scene.table1.printed.truth_steps) * scene.table1.step_truth
    return [
        number(
            "JW-base-Ir",
            "(15)",
            "total impulse (N s)",
            printed.impulse,
            got,
            f"Off by {off:.1e} ({off / np.linalg.norm(said):.2%}); the sequence is {exact}, {order}. Slip stops at "
            f"{info.slip_end[0]:.7f}, but the steps of Table 1 end at {left:.6f}. Why the print differs is not known.",
            "differs",
        ),
        new(
            "JW-base-inv",
            "(15)",
            "normal velocity before that gives the printed impulse (m/s)",
            f"{other[2]:.7f}, impulse {_vector(np.asarray(again))}",
            f"By construction; {apart:+.2%} from the reconstructed {found.velocity[2]:.7f}: the size of the "
            "inconsistency.",
            digits_of([float(word) for word in printed.impulse], again),
        ),
        number(
            "JW-frictionless",
            "end of 2.4",
            "total impulse without friction (N s)",
            printed.impulse_without_friction,
            impact.impulse[1],
            "By the reconstructed normal velocity.",
            "differs",
        ),
    ]


def _after(scene: Icosahedron, found: Reconstructed, impulse: np.ndarray) -> list[Finding]:
    """Velocities after, by the printed and by the computed impulse."""
    printed = scene.printed
    words = [printed.velocity_1, printed.velocity_2, printed.angular_velocity_2]
    by_print = _velocities(scene, found.rotation_2, values(printed.impulse))
    computed = _velocities(scene, found.rotation_2, impulse)
    change = np.linalg.norm(values(printed.angular_velocity_1) - scene.body_1.angular_velocity)
    torque = np.linalg.norm(np.cross(-np.asarray(scene.body_1.position), values(printed.impulse)))
    spin = torque / scene.body_1.moments[0]
    off = np.abs(by_print[2] - values(printed.angular_velocity_2)).max()
    return [
        number(
            "JW-post",
            "after (15)",
            "V1, V2 (m/s) after, by the printed impulse",
            words[:2],
            by_print[:2],
            f"w2 is no check: R2 is fitted to it, and to W, and gives it to {off:.0e} rad/s.",
            "differs",
        ),
        claim(
            "JW-post-w1",
            "after (15)",
            "size of the change of w1 (rad/s)",
            f"w1 = {_words(printed.angular_velocity_1)} after",
            f"{change:.6f} by the print, |r1 x I|/Q1 = {spin:.6f}",
            bool(abs(change - spin) <= max(map(last_digit, printed.angular_velocity_1))),
            "By the printed impulse. Its direction needs R1, which is not printed.",
            "differs",
            digits_of(change, spin),
        ),
        number(
            "JW-post-exact",
            "after (15)",
            "V1, V2 (m/s), w2 (rad/s) after, by the computed impulse",
            words,
            computed,
            "Follows from the difference in (15).",
            "differs",
        ),
    ]


def _velocities(scene: Icosahedron, rotation_2: np.ndarray, impulse: np.ndarray) -> np.ndarray:
    one, two = scene.body_1, scene.body_2
    spin = two.angular_velocity + spin_change(two, rotation_2, -impulse)
    return np.stack([one.velocity + impulse / one.mass, two.velocity - impulse / two.mass, spin])


def _words(words: list[str]) -> str:
    return f"({', '.join(words)})"


def _vector(x: np.ndarray) -> str:
    return f"({', '.join(f'{value:.10g}' for value in x)})"
