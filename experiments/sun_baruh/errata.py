"""Misprints: the equations as printed, and as they must read, on impacts that were solved.

Source: (16), (24), (28), (60) to (65); (30) and Table 2 are in the part on Table 2. Symbols as in `equations`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import Finding, Progress, Result, claim, solve_many

from .equations import Motion, Signs, friction_rows, momentum, paper_axes, slip_rows, vertical_speed
from .errata_form import ErrataForm
from .plane_form import spatial
from .ratios import ratios_of
from .rod import arm, body_of, inverse_inertia

__all__ = ["run_errata"]


class Stage(NamedTuple):
    """Restitution of an impact that slides throughout, in the axes of the paper."""

    L: np.ndarray
    inertia: np.ndarray
    before: Motion
    after: Motion
    impulse: np.ndarray  # of the stage
    contact_after: np.ndarray  # velocity of the contact point

    @property
    def direction(self) -> np.ndarray:
        """Of the slip that friction opposes."""
        along = -self.impulse[[0, 2]]
        return along / np.linalg.norm(along)

    @property
    def signs(self) -> Signs:
        x, z = -np.sign(self.direction)
        return float(x), float(z)


def run_errata(form: ErrataForm, progress: Progress) -> Result:
    stage = _stage(form, progress)
    found = [
        *_planar(form, progress),
        _work(form, progress),
        *_systems(form, stage),
        _singular(form, progress),
        _speed(form, stage),
    ]
    return Result([*found, _slips(form), _summary(found)])


def _summary(found: Sequence[Finding]) -> Finding:
    wrong = [finding for finding in found if finding.verdict == "misprint"]
    return claim(
        "SB-errata",
        "secs 2-4",
        "summary: equations of the rows above that the solved impact does not meet as printed",
        "",
        f"{len(wrong)} of {len(found)} rows",
        not wrong,
        f"{'; '.join(finding.where for finding in wrong)}. Further, with their own rows: (30) and Table 2 (SB-R2, "
        "SB-R2-limit), and slips of the text (SB-slips).",
        "misprint",
    )


def _slips(form: ErrataForm) -> Finding:
    """Symbols of the text, each with what it would mean if it were meant."""
    rod, scene = form.rod, form.space
    alpha = rod.across / (rod.mass * rod.radius**2)
    L = paper_axes(arm(rod, scene.theta1_deg, scene.theta2_deg))
    off = float(np.linalg.norm(L - np.array([0, rod.half_length, 0])))
    return claim(
        "SB-slips",
        "after (5), after (66), sec. 3",
        "symbols of the text: a radius for L; xyz for XYZ; Table 2 for Table 1",
        f"{form.printed.radius}; {form.printed.position}; Table 2 and Figure 2",
        f"alpha would be {alpha:.3f} instead of {rod.alpha:.3f}; the contact point would be {off:.3f} m off",
        abs(alpha - rod.alpha) < form.limits.residual and off < form.limits.residual,
        f"R is the radius of section 5 here; (27) has alpha m L^2. The second at theta1 = {scene.theta1_deg:g}, theta2 "
        f"= {scene.theta2_deg:g} deg: (68) has XYZ. The cases stand in Table 1.",
        "misprint",
    )


def _planar(form: ErrataForm, progress: Progress) -> list[Finding]:
    scene, theta = form.plane, np.array(form.plane.angles_deg)
    W, first = inverse_inertia(form.rod, theta, 0.0), ratios_of(form.rod, theta, scene.friction, 0.0)[0]
    at_limit = solve_many(W, spatial(first), scene.friction, 0.0, law="poisson", progress=progress)
    slip = float(np.abs(at_limit.velocity[:, 0]).max())
    later = spatial(first * (1 + scene.restitution * scene.stops_at))
    back = jimpact.require(solve_many(W, later, scene.friction, scene.restitution, law="poisson", progress=progress))
    early, late = back.info.slip_end - back.info.compression_end, back.impulse[:, 2] - back.info.slip_end
    tangential = back.impulse[:, 0] + scene.friction * back.info.slip_end
    right, printed = tangential / late, tangential / early
    limit = form.limits.residual
    changed = np.abs(at_limit.velocity[:, 0] - first)
    return [
        claim(
            "SB-28",
            "before (28)",
            "what makes R1: slip at the end of compression",
            form.printed.end_of_slip,
            f"at ratio R1 slip is {slip:.0e} m/s then, and has changed by {changed.min():.3f} to {changed.max():.3f}",
            bool((changed < limit).all()),
            "The condition is that slip is zero, not that it has not changed; R1 itself: SB-R1.",
            "misprint",
        ),
        claim(
            "SB-16",
            "after (16)",
            "sliding back in restitution: friction of its second period",
            form.printed.reverse,
            f"{_same(right):.6f} x the normal impulse of that period, {_same(printed):.6f} x that of the first",
            bool((np.abs(printed - scene.friction) < limit).all()),
            f"Must be mu = {scene.friction} times the normal impulse of the second period "
            f"(mode {_same(back.info.mode):.0f} at all {len(theta)} angles).",
            "misprint",
        ),
    ]


def _work(form: ErrataForm, progress: Progress) -> Finding:
    scene = form.space
    impact = _solved(form, scene.sliding_friction, [scene.restitution], "stronge", progress)
    compression, total = impact.info.compression_impulse[0], impact.impulse[0, 2]
    down_before, down_after = -scene.velocity[2], -impact.velocity[0, 2]
    ratio = float((total - compression) * down_after / (compression * down_before))
    return claim(
        "SB-24",
        "(20)-(24)",
        "W^r / (-W^c) by (23) and (24), which (20) takes the root of",
        form.printed.work,
        f"{ratio:.6f}",
        abs(ratio - scene.restitution**2) < form.limits.residual,
        f"e^2 = {scene.restitution**2:.6f}: with y down the velocity is negative in restitution, and (24) needs a "
        "minus sign.",
        "misprint",
    )


def _solved(form: ErrataForm, friction: float, restitution: list[float], rule: str, progress: Progress) -> Any:
    """The impact in space by the paper's law, for each restitution."""
    scene = form.space
    W, e = inverse_inertia(form.rod, scene.theta1_deg, scene.theta2_deg), np.array(restitution)
    return jimpact.require(solve_many(W, scene.velocity, friction, e, law="sun_baruh", rule=rule, progress=progress))


def _motion(form: ErrataForm, impulse: Any) -> tuple[np.ndarray, np.ndarray, Motion]:
    """Lever arm, inertia and motion after an impulse, in the axes of the paper."""
    scene = form.space
    L = paper_axes(arm(form.rod, scene.theta1_deg, scene.theta2_deg))
    body = body_of(form.rod, scene.theta1_deg, scene.theta2_deg, scene.velocity)
    turn = np.stack([paper_axes(row) for row in np.eye(3)], -1)
    inertia, force = turn @ np.asarray(body.inertia) @ turn.T, paper_axes(impulse)
    velocity = paper_axes(np.array(scene.velocity)) + force / form.rod.mass
    return L, inertia, Motion(velocity, np.linalg.solve(inertia, np.cross(L, force)))


def _stage(form: ErrataForm, progress: Progress) -> Stage:
    scene = form.space
    # Without restitution the impact ends with compression.
    both = _solved(form, scene.sliding_friction, [0.0, scene.restitution], "poisson", progress)
    if (both.info.mode != 0).any():
        raise ValueError("space.sliding_friction: the rod must slide throughout")
    L, inertia, before = _motion(form, both.impulse[0])
    after, impulse = _motion(form, both.impulse[1])[2], paper_axes(both.impulse[1] - both.impulse[0])
    return Stage(L, inertia, before, after, impulse, paper_axes(both.velocity[1]))


def _solution(form: ErrataForm, stage: Stage, moments: bool, signs: bool) -> np.ndarray:
    """Velocity of the contact point after restitution, from (63) with rows as printed or corrected."""
    normal = np.zeros(9)
    normal[7] = 1
    friction = friction_rows(form.space.sliding_friction, stage.direction, stage.signs, signs)
    matrix = np.vstack([momentum(form.rod.mass, stage.inertia, stage.L, stage.signs, moments), friction, normal])
    right = np.concatenate([form.rod.mass * stage.before.velocity, stage.inertia @ stage.before.spin, np.zeros(3)])
    right[8] = -stage.impulse[1]  # e F_y^c
    u = np.linalg.solve(matrix, right)
    return u[:3] + np.cross(u[3:6], stage.L)


def _systems(form: ErrataForm, stage: Stage) -> list[Finding]:
    off = {
        key: float(np.abs(_solution(form, stage, *flags) - stage.contact_after).max())
        for key, flags in {"right": (False, False), "moments": (True, False), "signs": (False, True)}.items()
    }
    start = f"Corrected, (63) gives the contact velocity of the solved impact within {off['right']:.0e} m/s."
    return [
        claim(
            "SB-63-moments",
            "(60), (61), (63) rows 4-6",
            "contact velocity after, from (63) with these rows as printed",
            form.printed.moments,
            f"off by {off['moments']:.3f} m/s",
            off["moments"] < form.limits.residual,
            f"{start} By (46)-(48) the rows are [0, -L_z, -S_z L_y], [-S_x L_z, 0, S_z L_x], [S_x L_y, L_x, 0].",
            "misprint",
        ),
        claim(
            "SB-63-signs",
            "(60), (63) last rows",
            "contact velocity after, from (63) with these rows as printed",
            form.printed.signs,
            f"off by {off['signs']:.3f} m/s",
            off["signs"] < form.limits.residual,
            "By (51) S_x F_x + mu cos(phi) F_y = 0 and S_z F_z + mu sin(phi) F_y = 0: as printed friction pushes along "
            "the slip.",
            "misprint",
        ),
    ]


def _singular(form: ErrataForm, progress: Progress) -> Finding:
    scene, mu = form.space, form.space.stopping_friction
    W = inverse_inertia(form.rod, scene.theta1_deg, scene.theta2_deg)
    p = float(_solved(form, mu, [scene.restitution], "poisson", progress).info.slip_end[0])
    tangential = -np.linalg.solve(W[:2, :2], np.array(scene.velocity[:2]) + W[:2, 2] * p)
    L, inertia, _ = _motion(form, np.append(tangential, p))
    direction = -tangential / np.linalg.norm(tangential)
    signs = (float(-np.sign(direction[0])), float(-np.sign(direction[1])))
    rows = momentum(form.rod.mass, inertia, L, signs)
    ninth = np.zeros(9)  # derivative of (56)
    ninth[6:] = abs(direction[0]), -mu, abs(direction[1])
    ranks = [
        int(np.linalg.matrix_rank(np.vstack([rows, two, ninth])))
        for two in (friction_rows(mu, direction, signs), slip_rows(L))
    ]
    return claim(
        "SB-60",
        "(60) with (56)",
        "rank of the nine equations where sliding ends",
        form.printed.singular,
        f"{ranks[0]} of 9",
        ranks[0] == 9,
        f"The last two rows of (60) imply (56), and that slip is zero is missing. With (54) in their place the rank is "
        f"{ranks[1]}.",
        "misprint",
    )


def _speed(form: ErrataForm, stage: Stage) -> Finding:
    printed, right = (vertical_speed(stage.after, stage.L, stage.signs, flag) for flag in (True, False))
    return claim(
        "SB-64",
        "(64), (65)",
        "vertical velocity of the contact point after (m/s)",
        form.printed.speed,
        f"{printed:.6f} as printed, {right:.6f} with spin",
        abs(printed - float(stage.contact_after[1])) < form.limits.residual,
        f"v_x and v_z stand where omega_z and omega_x belong (units do not fit either); the solved impact has "
        f"{stage.contact_after[1]:.6f}.",
        "misprint",
    )


def _same(values: Any) -> float:
    """The one value of an array that is constant but for round-off."""
    if np.ptp(values) > 1e-9 * np.abs(values).max():
        raise ValueError(f"not constant: {values}")
    return float(np.mean(values))
