"""Misprints: the equations as printed, and as they must read, on impacts that were solved. Symbols: texts.toml.

Source: (16), (24), (28), (60) to (65); (30) and Table 2 are in the part on Table 2. Rows of (60) to (65) are those as
printed, and as (36), (46)-(48), (50) and (51) demand. Unknowns are (v_x, v_y, v_z, w_x, w_y, w_z, F_x, F_y, F_z):
velocities after a stage, and impulses as amounts. Axes of the paper: x along the slip before, y down, z to the side.
"""

from typing import Any

import numpy as np

from jimpact.reproduce import Computed, LabelledProgress, Result, claimed

from .forms import ErrataForm
from .rod import arm, body_of, inverse_inertia, solved, spatial
from .table2 import ratios_of
from .words import Words, filled, listed

RESIDUAL = 1e-9  # up to which an equation meets the solved impact


def run_errata(form: ErrataForm, progress: LabelledProgress) -> Result:
    found, scene, rod = {**_planar(form, progress), **_systems(form, progress)}, form.space, form.rod
    # (60) with (56): the rank of the nine equations where sliding ends.
    W, mu = inverse_inertia(rod, scene.theta1_deg, scene.theta2_deg), scene.stopping_friction
    p = _solved(form, mu, [scene.restitution], "poisson", progress).info.slip_end[0]
    tangential = -np.linalg.solve(W[:2, :2], np.array(scene.velocity[:2]) + W[:2, 2] * p)
    L, inertia, _, _ = _motion(form, np.append(tangential, p))
    direction, signs = opposed(tangential)
    ninth = np.array([0, 0, 0, 0, 0, 0, abs(direction[0]), -mu, abs(direction[1])])  # derivative of (56)
    pairs, rows = (friction_rows(mu, direction, signs), slip_rows(L)), momentum(rod.mass, inertia, L, signs)
    rank, with_slip = (np.linalg.matrix_rank(np.vstack([rows, two, ninth])) for two in pairs)
    found["SB-60"] = claimed(rank == 9, rank=rank, with_slip=with_slip)

    impact = _solved(form, scene.sliding_friction, [scene.restitution], "stronge", progress)
    compression, total = impact.info.compression_impulse[0], impact.impulse[0, 2]
    down_before, down_after = -scene.velocity[2], -impact.velocity[0, 2]
    ratio, square = (total - compression) * down_after / (compression * down_before), scene.restitution**2
    found["SB-24"] = claimed(abs(ratio - square) < RESIDUAL, ratio=ratio, square=square)
    wrong = [id for id, one in found.items() if not one.holds]
    found["SB-errata"] = claimed(not wrong, wrong=len(wrong), rows=len(found))
    # Symbols of the text, each with what it would mean if it were meant.
    alpha = rod.across / (rod.mass * rod.radius**2)
    off = np.linalg.norm(paper_axes(arm(rod, scene.theta1_deg, scene.theta2_deg)) - np.array([0, rod.half_length, 0]))
    holds = abs(alpha - rod.alpha) < RESIDUAL and off < RESIDUAL
    found["SB-slips"] = claimed(holds, wrong=alpha, alpha=rod.alpha, off=off)
    return Result(filled(found, form))


def _planar(form: ErrataForm, progress: LabelledProgress) -> dict[str, Computed]:
    scene, theta = form.plane, np.array(form.plane.angles_deg)
    W, first = inverse_inertia(form.rod, theta), ratios_of(form.rod, theta, scene.friction, 0.0)[0]
    at_limit = solved(form.rod, W, spatial(first), scene.friction, 0.0, "poisson", progress).impact.velocity[:, 0]
    changed = np.abs(at_limit - first)
    later = spatial(first * (1 + scene.restitution * scene.stops_at))
    back = solved(form.rod, W, later, scene.friction, scene.restitution, "poisson", progress).impact
    early, late = back.info.slip_end - back.info.compression_end, back.impulse[:, 2] - back.info.slip_end
    tangential = back.impulse[:, 0] + scene.friction * back.info.slip_end
    right, printed = (tangential / normal for normal in (late, early))
    alike = lambda values: listed(np.unique(values.round(6)), ".6f")  # noqa: E731
    words: Words = {"right": alike(right), "printed": alike(printed), "mode": listed(np.unique(back.info.mode))}
    slip = {"slip": np.abs(at_limit).max(), "least": changed.min(), "most": changed.max()}
    return {
        "SB-28": claimed((changed < RESIDUAL).all(), **slip),
        "SB-16": claimed((np.abs(printed - scene.friction) < RESIDUAL).all(), angles=len(theta), **words),
    }


def _solved(form: ErrataForm, friction: float, restitution: list[float], rule: str, progress: LabelledProgress) -> Any:
    """The impact in space by the paper's law, for each restitution."""
    scene = form.space
    W = inverse_inertia(form.rod, scene.theta1_deg, scene.theta2_deg)
    return solved(form.rod, W, scene.velocity, friction, np.array(restitution), "sun_baruh", progress, rule=rule).impact


def _motion(form: ErrataForm, impulse: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lever arm, inertia, and velocity and spin after an impulse, in the axes of the paper."""
    scene = form.space
    L = paper_axes(arm(form.rod, scene.theta1_deg, scene.theta2_deg))
    body = body_of(form.rod, scene.theta1_deg, scene.theta2_deg)
    turn = paper_axes(np.eye(3)).T
    inertia, force = turn @ np.asarray(body.inertia) @ turn.T, paper_axes(impulse)
    velocity = paper_axes(np.array(scene.velocity)) + force / form.rod.mass
    return L, inertia, velocity, np.linalg.solve(inertia, np.cross(L, force))


def _systems(form: ErrataForm, progress: LabelledProgress) -> dict[str, Computed]:
    """(63) and (64) in restitution of an impact that slides throughout, with rows as printed or corrected."""
    mass, friction, restitution = form.rod.mass, form.space.sliding_friction, form.space.restitution
    # Without restitution the impact ends with compression.
    both = _solved(form, friction, [0.0, restitution], "poisson", progress)
    if (both.info.mode != 0).any():
        raise ValueError("space.sliding_friction: the rod must slide throughout")
    L, inertia, v, w = _motion(form, both.impulse[0])
    impulse, after = paper_axes(both.impulse[1] - both.impulse[0]), paper_axes(both.velocity[1])
    direction, S = opposed(impulse[[0, 2]])
    right = np.concatenate([mass * v, inertia @ w, [0, 0, -impulse[1]]])  # the last is e F_y^c
    off = []
    for moments, signs in ((False, False), (True, False), (False, True)):
        rows = momentum(mass, inertia, L, S, moments), friction_rows(friction, direction, S, signs), np.eye(9)[7]
        u = np.linalg.solve(np.vstack(rows), right)
        off.append(np.abs(u[:3] + np.cross(u[3:6], L) - after).max())
    _, _, v, w = _motion(form, both.impulse[1])
    printed = v[1] + S[0] * L[2] * v[0] - S[1] * L[0] * v[2]  # the bracket of (64)
    spun = v[1] + w[2] * L[0] - w[0] * L[2]  # (53)
    return {
        "SB-63-moments": claimed(off[1] < RESIDUAL, off=off[1], right=off[0]),
        "SB-63-signs": claimed(off[2] < RESIDUAL, off=off[2]),
        "SB-64": claimed(abs(printed - after[1]) < RESIDUAL, printed=printed, right=spun, solved=after[1]),
    }


def paper_axes(contact: Any) -> np.ndarray:
    """A vector of the contact frame (x, z, up) along (x, y down, z)."""
    return np.stack([contact[..., 0], -contact[..., 2], contact[..., 1]], -1)


def opposed(tangential: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The direction of slip that a tangential impulse opposes, and the signs of friction."""
    return -tangential / np.linalg.norm(tangential), np.sign(tangential)


def moment_rows(L: np.ndarray, S: Any, printed: bool) -> np.ndarray:
    """Rows 4 to 6, the columns of F_x, F_y, F_z; the second row is printed right."""
    (x, y, z), (sx, sz) = L, S
    if printed:
        return np.array([[0, sx * z, y], [-sx * z, 0, sz * x], [-y, -sz * x, 0]])
    return np.array([[0, -z, -sz * y], [-sx * z, 0, sz * x], [sx * y, x, 0]])


def momentum(mass: float, inertia: np.ndarray, L: np.ndarray, S: Any, printed: bool = False) -> np.ndarray:
    """Rows 1 to 6: linear and angular momentum."""
    rows = np.zeros((6, 9))
    rows[:3, :3], rows[3:, 3:6] = mass * np.eye(3), inertia
    rows[:3, 6:] = np.diag([-S[0], 1.0, -S[1]])
    rows[3:, 6:] = moment_rows(L, S, printed)
    return rows


def friction_rows(friction: float, direction: np.ndarray, S: Any, printed: bool = False) -> np.ndarray:
    """S_x F_x + mu cos(phi) F_y = 0 and likewise along z; the print has minus."""
    x, z = (-friction if printed else friction) * direction
    return np.array([[0, 0, 0, 0, 0, 0, S[0], x, 0], [0, 0, 0, 0, 0, 0, 0, z, S[1]]])


def slip_rows(L: np.ndarray) -> np.ndarray:
    """(54): no slip along x and z."""
    x, y, z = L
    return np.array([[1, 0, 0, 0, z, -y, 0, 0, 0], [0, 0, 1, y, -x, 0, 0, 0, 0]], float)
