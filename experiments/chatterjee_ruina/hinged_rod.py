"""A hinged rod as an intact mechanism, and as a free rod with two contacts: section 6.5.

Source: Chatterjee & Ruina 1998. The hinge is at the origin, the wall upright on the right, normal -x.
"""

import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Grid, claim, new, solve_many

from .contacts import Lane, jacobian
from .sequence_forms import Cut, Hinged, Material

__all__ = ["hinged_lanes", "hinged_rod"]

ACROSS, TURN = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def hinged_lanes(given: Hinged, material: Material) -> list[Lane]:
    """A free rod that touches the wall with its tip and the hinge with its other end, for every e and friction."""
    arm, spin = 0.5 * given.length * _along(given.angle_deg), given.speed * TURN
    J = jacobian(arm[None], [(0, None, 2 * arm, -ACROSS), (0, None, 0 * arm, -ACROSS)])
    mobile = 1 / np.repeat([given.mass, given.mass * given.length**2 / 12], 3)
    U = np.concatenate([np.cross(spin, arm), spin])
    return [
        Lane(J, mobile, U, mu, e, material.tangential_restitution, hinged=True)
        for e in given.restitution
        for mu in given.friction
    ]


def hinged_rod(
    given: Hinged, material: Material, cut: Cut, lanes: list[Lane], found: list[jimpact.Contacts]
) -> tuple[list[Finding], Grid]:
    e, mu = (np.array([getattr(lane, name) for lane in lanes]) for name in ("restitution", "friction"))
    whole = _intact(given, material, e, mu) / given.speed
    split = np.array([lane.after(c.impulse)[5] for lane, c in zip(lanes, found, strict=True)]) / given.speed
    impacts = np.array([int(c.impacts) for c in found])
    ended = all(c.outcome == jimpact.Outcome.OK for c in found)
    speed = given.speed * given.length
    left = np.array([max(-c.velocity[0, 2], np.linalg.norm(c.velocity[1]), 0) for c in found]) / speed
    short = left < cut.ended
    rows = [list(row) for row in zip(e, mu, whole, split, impacts, left, strict=True)]
    columns = ("e", "friction", "intact: rotation after / before", "two contacts: after / before", "impacts")
    less = int((split**2 < whole**2 - cut.ended).sum())
    findings = [
        claim(
            "CR-6.5",
            "6.5",
            "impacts of a rod treated as free, with a hinge that always stops",
            '"may or may not lead to an infinite sequence"',
            f"{short.sum()} of {len(short)} end after {_range(impacts[short])} impacts; {(~short).sum()} are "
            f"cut at {cut.decay:g} of the energy, after {_range(impacts[~short])}",
            holds=bool(ended and short.any() and not short.all()),
            why=f"By the approach that is left: at most {left[short].max(initial=0):.0e} of the speed, and at least "
            f"{left[~short].min(initial=np.inf):.0e}.",
        ),
        new(
            "CR-6.5-choice",
            "6.5",
            "rotation after / before: intact mechanism, and two contacts",
            f"differ by {np.abs(whole - split).min():.3f} to {np.abs(whole - split).max():.3f}",
            f"The choice of model matters: two contacts keep less energy than the mechanism in {less} of {len(e)}.",
        ),
    ]
    return findings, Grid("A hinged rod that strikes a wall, by the new law", (*columns, "approach left"), rows)


def _range(counts: np.ndarray) -> str:
    return " to ".join(str(x) for x in sorted({counts.min(), counts.max()})) if counts.size else "no"


def _along(angle_deg: float) -> np.ndarray:
    angle = np.radians(angle_deg)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _intact(given: Hinged, material: Material, e: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Rotation after (rad/s). Speeds: hinge along x, y and z, and rotation; the hinge is heavy, the rod body a."""
    tip = np.cross(TURN, given.length * _along(given.angle_deg))
    M = np.diag([(given.heavy + 1) * given.mass] * 3 + [given.mass * given.length**2 / 3])
    M[:3, 3] = M[3, :3] = 0.5 * given.mass * tip
    J = np.asarray(jimpact.contact_frame(jnp.asarray(-ACROSS))) @ np.concatenate([np.eye(3), tip[:, None]], 1)
    speeds, e_t = given.speed * np.array([0.0, 0, 0, 1]), material.tangential_restitution
    W = J @ np.linalg.solve(M, J.T)
    impact = solve_many(W, J @ speeds, mu, e, law="chatterjee_ruina", tangential_restitution=e_t)
    return speeds[3] + np.linalg.solve(M, J.T @ impact.impulse.T)[3]
