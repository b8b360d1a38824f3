"""Part "inertia": the inverse inertia W of the balls of fig. 2 and of the impact of fig. 3, from shapes and masses."""

import numpy as np

from jimpact.reproduce import (
    UP,
    Computed,
    LabelledProgress,
    Result,
    body_at,
    claimed,
    digits_of,
    numbers,
    only,
    touching,
)

from . import bodies
from .forms import Icosahedron, ImpactsForm
from .solids import polyhedron, truncated_icosahedron

EXACT = 1e-12  # relative: formulas against formulas
COUNT, SEED = 200, 2  # of pairs of balls
MASS, RADIUS = (0.1, 10.0), (0.02, 0.5)  # kg, m
B_23, D_23 = np.array([[11.5985, -0.910369], [-0.910369, 9.90134]]), np.array([2.44236, 1.95747])  # printed in (23)


def run(config: ImpactsForm, progress: LabelledProgress) -> Result:
    """First two balls, and a ball on a half-space, of random sizes."""
    rng, scene = np.random.default_rng(SEED), config.icosahedron
    m, r = (rng.uniform(*limits, (2, COUNT)) for limits in (MASS, RADIUS))
    one, two = (
        body_at(m[i], inertia, -side * r[i, :, None] * UP)
        for i, side, inertia in zip((0, 1), (1.0, -1.0), 0.4 * (m * r**2)[..., None, None] * np.eye(3), strict=True)
    )
    pairs = {
        "JW-spheres": (two, (1 / m).sum(0)[:, None, None] * np.diag([3.5, 3.5, 1.0])),
        "JW-halfspace": (None, np.diag([7.0, 7.0, 2.0]) / (2 * m[0])[:, None, None]),
    }
    found = {"JW-drawings": only(), **_shapes(scene), **_digits(config, scene)}
    for id, (other, formula) in pairs.items():
        W = touching(one, other)
        gap = np.abs(W - formula).max() / formula.max()
        found[id] = claimed(gap < EXACT, digits_of(formula, W), count=COUNT, gap=gap)

    # One rotation of body 2 explains the printed W and the printed angular velocity after the impact.
    R, fit = bodies.fitted_rotation(scene)
    W, spin = bodies.inverse_inertia(scene, np.eye(3), R), bodies.spin_2(scene, R, np.asarray(scene.impulse))
    moments, units = bodies.fitted_within_rounding(scene, R)
    words = {
        "off": np.abs(W - scene.W).max(),
        "spin": np.abs(spin - scene.angular_velocity_2).max(),
        "moments": moments,
    }
    words |= {"units": np.abs(units).max(), "W": W[bodies.UPPER]}
    found["JW-W-fit"] = claimed(words["units"] <= 1, digits_of(scene.W, W), **words)
    found["JW-R2"] = only("; ".join(" ".join(f"{x:.6f}" for x in row) for row in R), **fit)
    return Result(found)


def _shapes(scene: Icosahedron) -> dict[str, Computed]:
    """Centres of mass and moments of both bodies, and W by them."""
    ball, height = truncated_icosahedron(scene.edge)
    solid = polyhedron(np.asarray(scene.vertices))
    moment = ball.inertia(scene.body_1.mass)[0, 0]
    moments, axes = np.linalg.eigh(solid.inertia(scene.body_2.mass))
    one = scene.body_1.model_copy(update={"moments": (moment,) * 3, "position": (0.0, 0.0, height)})
    two = scene.body_2.model_copy(update={"moments": tuple(moments), "position": tuple(solid.centre)})
    changed = scene.model_copy(update={"body_1": one, "body_2": two})
    W = bodies.inverse_inertia(changed, np.eye(3), axes * np.linalg.det(axes))
    printed = np.asarray(scene.body_2.moments)
    off, total = np.abs(printed / moments - 1).max(), printed.sum()
    return {
        "JW-Fig3-o1": numbers(height),
        "JW-Fig3-Q1": numbers(moment),
        "JW-Fig3-o2": numbers(solid.centre),
        "JW-Fig3-Q2": numbers(moments, off=off, total=total, gap=abs(total - moments.sum())),
        "JW-W-geom": numbers(W[bodies.UPPER], W=W),
    }


def _digits(config: ImpactsForm, scene: Icosahedron) -> dict[str, Computed]:
    """Last digits of (13) and (23), and two ratios; (18) for every direction of slip, with the friction of figures."""
    W = np.asarray(scene.inverse_inertia)
    uneven, apart = int((W != W.T).sum() // 2), int((W[:2, :2] != B_23).sum())
    gaps = np.abs(W - W.T).max(), np.abs(W[:2, :2] - B_23).max()
    ratio, other = (float(np.linalg.norm(np.linalg.solve(B, D_23))) for B in (scene.W[:2, :2], B_23))
    most = scene.W[2, 2] / np.hypot(*scene.W[:2, 2])
    used = {f"fig. {one.figure}": one.friction for one in config.hodographs.instances}
    used |= {"fig. 6": config.fig6.friction, "fig. 8": config.fig8.friction}
    broken = [f"{name} (friction {friction:g})" for name, friction in used.items() if friction >= most]
    counts = {"broken": len(broken), "figures": len(used), "largest": max(used.values())}
    return {
        "JW-(13)/(23)": claimed(uneven == apart == 0, uneven=uneven, apart=apart, gaps=gaps),
        "JW-stickratio": numbers(ratio, other=other),
        "JW-(18)": claimed(not broken, most=most, names=", ".join(broken), **counts),
    }
