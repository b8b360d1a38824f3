"""Part "inertia": the inverse inertia W of the balls of fig. 2 and of the impact of fig. 3, from shapes and masses."""

import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Progress, Result, claim, digits_of, new, number, unchecked

from .bodies import UPPER, Fitted, fitted_rotation, fitted_within_rounding, inverse_inertia, spin_change, upper
from .forms import Icosahedron, ImpactsForm, Rigid, values
from .solids import polyhedron, truncated_icosahedron

__all__ = ["run"]

UP = np.array([0.0, 0.0, 1.0])


def run(config: ImpactsForm, progress: Progress) -> Result:
    scene, fitted = config.icosahedron, fitted_rotation(config)
    return Result(
        [
            *_balls(config),
            *_solids(scene),
            _from_shapes(scene),
            *_fit(config, fitted),
            *_digits(scene),
            _condition(config),
            unchecked(
                "JW-drawings",
                "figs. 1, 2, 3, 11-17",
                "scenes, and drawings of the proofs",
                "",
                "Drawings without numbers to compare; the numbers in the captions of figs. 3 and 11 have rows.",
            ),
        ]
    )


def _balls(config: ImpactsForm) -> list[Finding]:
    """Two balls, and a ball on a half-space, of random sizes."""
    given, exact = config.spheres, config.limits.exact
    rng = np.random.default_rng(given.seed)
    m = rng.uniform(*given.mass, (2, given.count))
    r = rng.uniform(*given.radius, (2, given.count))
    balls = [_ball(m[0], r[0], 1.0), _ball(m[1], r[1], -1.0)]
    both = np.asarray(jimpact.inverse_inertia(balls[0], balls[1], jnp.zeros(3), jnp.asarray(UP)))
    one = np.asarray(jimpact.inverse_inertia(balls[0], jimpact.immovable(), jnp.zeros(3), jnp.asarray(UP)))
    said_both = (1 / m).sum(0)[:, None, None] * np.diag([3.5, 3.5, 1.0])
    said_one = np.diag([7.0, 7.0, 2.0]) / (2 * m[0])[:, None, None]
    findings = []
    for id, what, text, W, said in (
        ("JW-spheres", "two balls", "(1/m1 + 1/m2) diag(7/2, 7/2, 1)", both, said_both),
        ("JW-halfspace", "ball on a half-space", "diag(7, 7, 2)/(2 m1)", one, said_one),
    ):
        gap = np.abs(W - said).max() / said.max()
        where, words = "2, after (5)", f"{given.count} random pairs: off by {gap:.0e}"
        why, digits = "Uniform balls, relative to the largest entry.", digits_of(said, W)
        findings.append(claim(id, where, f"W of {what}", text, words, gap < exact, why, "differs", digits))
    return findings


def _ball(mass: np.ndarray, radius: np.ndarray, side: float) -> jimpact.Body:
    inertia = 0.4 * (mass * radius**2)[:, None, None] * np.eye(3)
    position = side * radius[:, None] * UP
    return jimpact.Body(*map(jnp.asarray, (mass, inertia, position, np.zeros(3), np.zeros(3))))


def _solids(scene: Icosahedron) -> list[Finding]:
    """Centres of mass and moments of both bodies."""
    ball, height = truncated_icosahedron(scene.edge)
    tetrahedron = polyhedron(np.asarray(scene.vertices))
    moment = ball.inertia(scene.body_1.mass)[0, 0]
    moments = np.linalg.eigvalsh(tetrahedron.inertia(scene.body_2.mass))
    said, said_2 = scene.printed, values(scene.printed.moments_2)
    name = "Truncated icosahedron (pentagons and hexagons), which the paper calls an icosahedron."
    trace = (
        "Of the uniform tetrahedron with the printed vertices; the print is off by up to "
        f"{np.abs(said_2 / moments - 1).max():.1%}, its sum, {said_2.sum():.6f}, by "
        f"{abs(said_2.sum() - moments.sum()):.0e}."
    )
    where = "fig. 3"
    return [
        number("JW-Fig3-o1", where, "height of centre 1 (m)", said.height_1, height, name, "differs"),
        number("JW-Fig3-Q1", where, "moment of body 1 (kg m2)", said.moment_1, moment, name, "differs"),
        number(
            "JW-Fig3-o2",
            where,
            "centre 2 (m)",
            said.position_2,
            tetrahedron.centre,
            "Of the printed vertices.",
            "differs",
        ),
        number("JW-Fig3-Q2", where, "moments of body 2 (kg m2)", said.moments_2, moments, trace, "misprint"),
    ]


def _from_shapes(scene: Icosahedron) -> Finding:
    """W with inertias computed from the printed shapes."""
    ball, height = truncated_icosahedron(scene.edge)
    solid = polyhedron(np.asarray(scene.vertices))
    moments, axes = np.linalg.eigh(solid.inertia(scene.body_2.mass))
    axes = axes * np.linalg.det(axes)
    one = _with(scene.body_1, np.full(3, ball.inertia(scene.body_1.mass)[0, 0]), np.array([0.0, 0.0, height]))
    two = _with(scene.body_2, moments, solid.centre)
    W = inverse_inertia(scene.model_copy(update={"body_1": one, "body_2": two}), np.eye(3), axes)
    printed = scene.printed.inverse_inertia
    words = [printed[i][j] for i, j in zip(*UPPER, strict=True)]
    why = (
        f"The printed tetrahedron looks the same after x <-> y, which forces W_xx = W_yy ({W[0, 0]:.4f}) and W_xz = "
        f"W_yz ({W[0, 2]:.4f}); printed are {words[0]}, {words[3]} and {words[2]}, {words[4]}."
    )
    return number("JW-W-geom", "(13)", "W from shapes (xx, xy, xz, yy, yz, zz; 1/kg)", words, W[UPPER], why, "misprint")


def _with(body: Rigid, moments: np.ndarray, position: np.ndarray) -> Rigid:
    return body.model_copy(update={"moments": tuple(moments), "position": tuple(position)})


def _fit(config: ImpactsForm, fitted: Fitted) -> list[Finding]:
    """One rotation of body 2 explains the printed W and the printed angular velocity after the impact."""
    scene, R = config.icosahedron, fitted.rotation
    printed, W = upper(scene.printed.inverse_inertia), inverse_inertia(scene, np.eye(3), R)
    spin = scene.body_2.angular_velocity + spin_change(scene.body_2, R, -values(scene.printed.impulse))
    off_spin = np.abs(spin - values(scene.printed.angular_velocity_2)).max()
    moments, units = fitted_within_rounding(config, R)
    words = [scene.printed.inverse_inertia[i][j] for i, j in zip(*UPPER, strict=True)]
    why = (
        "The three angles of R2 are fitted to these six numbers and to the three of w2 after the impact, so w2 is an "
        f"input: W is then off by {np.abs(W - printed).max():.1e}, w2 by {off_spin:.1e}. With moments "
        f"({', '.join(f'{x:.8f}' for x in moments)}), which round to the print, all nine are within "
        f"{np.abs(units).max():.2f} units of their last digit."
    )
    rows = "; ".join(" ".join(f"{x:.6f}" for x in row) for row in R)
    return [
        claim(
            "JW-W-fit",
            "(13), fig. 3",
            "W from printed Q2, o2 and a fitted R2",
            f"W = {', '.join(words)}",
            "W = " + ", ".join(f"{x:.7g}" for x in W[UPPER]),
            bool(np.abs(units).max() <= 1),
            why,
            "differs",
            digits_of(printed, W),
        ),
        new(
            "JW-R2",
            "fig. 3",
            "rotation R2",
            rows,
            f"By least squares: {fitted.same} of {config.fit.starts} random starts end in it, the best other end "
            f"leaves {fitted.next_best:.1g}.",
        ),
    ]


def _digits(scene: Icosahedron) -> list[Finding]:
    """Last digits of (13) and (23), and two ratios."""
    said = scene.printed
    W, B, d = values(said.inverse_inertia), values(said.tangential), values(said.coupling)
    uneven, apart = int((W != W.T).sum() // 2), int((W[:2, :2] != B).sum())
    typo = claim(
        "JW-(13)/(23)",
        "(13), (23)",
        "W symmetric, B its block",
        f"{said.inverse_inertia[0][0]} / {said.tangential[0][0]}, {said.inverse_inertia[0][1]} / "
        f"{said.tangential[0][1]}",
        f"{uneven} pairs of W and {apart} entries of B differ in the last digit",
        uneven == apart == 0,
        f"W - W^T reaches {np.abs(W - W.T).max():.0e}, B - W {np.abs(W[:2, :2] - B).max():.0e}; the upper triangle of "
        "(13) is used here.",
        "misprint",
    )
    symmetric = upper(said.inverse_inertia)
    ratio, other = (float(np.linalg.norm(np.linalg.solve(M, d))) for M in (symmetric[:2, :2], B))
    return [
        typo,
        number(
            "JW-stickratio",
            "after Theorem 5",
            "|B^-1 d|",
            said.stick_ratio,
            ratio,
            f"By (13); {other:.7f} by (23).",
            "differs",
        ),
    ]


def _condition(config: ImpactsForm) -> Finding:
    """(18) for every direction of slip, against the friction of the figures."""
    W = upper(config.icosahedron.printed.inverse_inertia)
    most = W[2, 2] / np.hypot(*W[:2, 2])
    used = {f"fig. {one.figure}": one.friction for one in config.hodographs.instances}
    used |= {"fig. 6": config.bundles.fig6.friction, "fig. 8": config.bundles.fig8.friction}
    broken = [f"{name} (friction {friction:g})" for name, friction in used.items() if friction >= most]
    return claim(
        "JW-(18)",
        "2.3, footnote 4",
        "condition (18) never violated",
        '"no violations" in "dozens of impact instances"',
        f"holds for friction below {most:.4f}; violated in {len(broken)} of {len(used)} figures",
        not broken,
        f"W_zz/|d| is {most:.4f}. Violated: {', '.join(broken) or 'none'}. The largest friction is "
        f"{max(used.values()):g}.",
        "differs",
    )
