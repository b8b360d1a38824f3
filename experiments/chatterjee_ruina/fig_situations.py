"""Figures 4 to 9: special situations in impulse space, and what the laws do there.

Source: Chatterjee & Ruina 1998, sections 3.4, 3.5, 4.2 and 5.2. The paper prints no numbers for these figures but one
(figure 9); inertia, velocity and friction are chosen to have the geometry that it describes.
"""

import numpy as np
from matplotlib.figure import Figure

from jimpact.plot_space import REGION, permissible_region, reached
from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, claim, solve_many, unchecked

from .fig_hinge import findings_of_the_limit
from .forms import Hinge, InfiniteFriction, NearGrazing, Scene
from .space import SAMPLES, Flat, canvas, curve, draw_curve, in_space, legend, mark, share_of_energy

__all__ = ["figure_4", "figure_5", "figure_6", "figure_7", "figure_8", "figure_9"]

SLACK = 1e-6  # relative: more than the error of laws that follow the slip
SHRUNK = 1e-4  # of the impulse: a limit that is approached, with grazing and friction as the scene has them
SKETCH = "A figure without numbers: the impact is ours, with the geometry that the text describes."


def figure_4(scene: Scene, progress: Progress) -> Result:
    """A generic impact: which laws leave the energy ellipse."""
    flat, curves = _curves(scene, progress)
    share = {law: share_of_energy(flat, points) for law, points in curves.items()}
    steps = len(share["whittaker"]) - 1
    gaining = {law: int(np.argmax(x > 1 + SLACK)) / steps for law, x in share.items() if (x > 1 + SLACK).any()}
    listed = "; ".join(f"{law} from e = {e:.2f}, {share[law][-1]:.3f} at e = 1" for law, e in gaining.items())
    kink = {law: _kink(curves[law]) for law in ("poisson", "smith")}
    findings = [
        claim(
            "CR-fig4-gain",
            "4.2.2, Fig. 4",
            "energy after / before of laws that leave the energy ellipse",
            'Whittaker\'s at e = 1 "can easily be outside"; it "persists for e < 1"',
            listed or "none",
            holds=bool(share["whittaker"][-1] > 1 + SLACK) and gaining.get("whittaker", 1.0) < 1,
            why="`newton` ends Routh's slip by kinematic restitution; what the paper says of energy is for e_k."
            * ("newton" in gaining),
        ),
        claim(
            "CR-fig4-kink",
            "4.2.1, 4.2.3",
            "sharpest turn of the curve at the line of sticking",
            '"the path has a kink" (Routh); "no kink" (Smith)',
            f"{kink['poisson']:.1f} deg and {kink['smith']:.2f} deg from one of {steps} steps to the next",
            holds=kink["poisson"] > 10 and kink["smith"] < 2,
        ),
        unchecked("CR-fig4", "Fig. 4", "the figure itself", "redrawn", SKETCH),
    ]
    return Result(findings, [_picture("fig4", scene, curves, "A generic impact.")])


def figure_5(scene: Scene, progress: Progress) -> Result:
    """Diagonal inertia: Whittaker's law is Routh's."""
    flat, curves = _curves(scene, progress)
    gap = float(np.abs(curves["whittaker"] - curves["poisson"]).max())
    beyond = (flat.v[0] + curves["smith"] @ flat.K[0]) * np.sign(flat.v[0])
    findings = [
        claim(
            "CR-fig5",
            "4.2.2, Fig. 5",
            "Whittaker's and Routh's curve",
            '"the same as Routh\'s law"',
            f"differ by {gap:.0e} N s at most",
            holds=gap < SLACK,
        ),
        claim(
            "CR-fig5-smith",
            "4.2.3, Fig. 5",
            "slip after by Smith's law",
            '"can capture spin reversal of spheres"',
            f"from {beyond[0]:+.3f} (e = 0) to {beyond[-1]:+.3f} m/s (e = 1) along the slip before",
            holds=beyond[-1] < 0,
        ),
        unchecked("CR-fig5-shape", "Fig. 5", "the figure itself", "redrawn", SKETCH),
    ]
    return Result(findings, [_picture("fig5", scene, curves, "A disk: lines of sticking and compression are upright.")])


def figure_6(scene: Scene, progress: Progress) -> Result:
    """Grazing: who rebounds along the normal, who along the tangent."""
    flat, curves = _curves(scene, progress)
    region = reached(*flat, REGION)
    after = {law: flat.v + points @ flat.K for law, points in (curves | {REGION: region}).items()}
    speed = float(np.linalg.norm(flat.v))
    up = {law: float(np.nanmax(v[:, 1])) / speed for law, v in after.items()}
    back = {law: float(np.nanmin(v[:, 0] * np.sign(flat.v[0]))) / speed for law, v in after.items()}
    rows = [[law, up[law], min(back[law], 0.0) + 0.0] for law in up]
    risers = {law for law in up if up[law] > SHRUNK}
    others = sorted(risers - {"poisson", "stronge"})
    two = flat.plastic()[1]
    wide = np.abs(np.cross(region, two) / np.linalg.norm(two)).max() / np.linalg.norm(two)
    findings = [
        claim(
            "CR-fig6-rebound",
            "4.2.1, Fig. 6",
            "laws with normal rebound from grazing",
            '"Routh\'s law is the only one discussed in this paper"',
            ", ".join(sorted(risers)),
            holds=not others,
            why=f"poisson and stronge are Routh's law; {', '.join(others)} rebounds too. Anitescu & Potra's law is "
            "discussed in 4.2.4.",
            verdict="differs",
        ),
        claim(
            "CR-fig6-tangential",
            "5.2, Fig. 6",
            "greatest tangential rebound from grazing, new law and Routh's",
            '"can predict tangential rebound, which Routh\'s law cannot"',
            f"{-back[REGION]:.3f} and {max(0.0, -back['poisson']):.0e} of the speed before",
            holds=back[REGION] < -0.1 and back["poisson"] > -SHRUNK,
        ),
        claim(
            "CR-fig6-line",
            "5.2, Fig. 6",
            "reach of the new law",
            '"shrinks to a line"',
            f"at most {wide:.0e} of |P_II| from the line through O and P_II",
            holds=bool(wide < SHRUNK),
        ),
        unchecked("CR-fig6", "Fig. 6", "the figure itself", "redrawn", SKETCH),
    ]
    grid = Grid(
        "Figure 6: velocity after, over the speed before", ("law", "normal, greatest", "tangential, reversed"), rows
    )
    return Result(findings, [_picture("fig6", scene, curves, "Grazing, with friction that can jam.")], [grid])


def figure_7(config: InfiniteFriction, progress: Progress) -> Result:
    """Infinite friction: no dead stop where P_II pulls."""
    flat, curves = _curves(config, progress)
    two = flat.plastic()[1]
    dead = {law: points[:1] for law, points in curves.items()} | {
        "stronge": curve(flat, "stronge", progress, np.zeros(1)),
        REGION: _without_restitution(flat, progress),
    }
    still = {law: np.linalg.norm(flat.v + points @ flat.K, axis=-1).min() for law, points in dead.items()}
    slowest = min(float(x) for x in still.values()) / float(np.linalg.norm(flat.v))
    missed = [law for law, points in curves.items() if not _covered(flat, points).all()]
    centred = Flat(flat.K, np.array(config.centred.velocity), flat.mu)
    routh = curve(centred, "poisson", progress)
    spread = float(np.abs(routh - centred.plastic()[1]).max() / np.linalg.norm(centred.plastic()[1]))
    findings = [
        claim(
            "CR-fig7-dead",
            "3.4, Fig. 7",
            "e = 0 and infinite friction where P_II pulls",
            '"a perfectly dead, no-slip, no-bounce collision cannot occur"',
            f"P_II has normal component {two[1]:.3f} N s; speed after / before at least {slowest:.3f} in {len(still)} "
            "laws (the new one for any e_t)",
            holds=bool(two[1] < 0 and slowest > SHRUNK),
        ),
        claim(
            "CR-fig7-cover",
            "5.2, Fig. 7",
            "laws that go beyond the reach of the new one",
            '"covers the other laws considered"',
            ", ".join(missed) or "none",
            holds=not missed,
            why=_uncovered(flat, curves, missed),
            verdict="differs" if missed else "",
        ),
        claim(
            "CR-fig7-point",
            "4.2.1, Fig. 7",
            "P_II on the tangential axis: reach of Routh's law",
            '"shrinks to a point"',
            f"within {spread:.0e} of |P_II| for e from 0 to 1, friction {flat.mu:g}",
            holds=spread < 10 / flat.mu,
        ),
        unchecked(
            "CR-fig7", "Fig. 7", "the figure itself", "redrawn", f"{SKETCH} Friction {flat.mu:g} stands for infinite."
        ),
    ]
    return Result(findings, [_picture("fig7", config, curves, "Friction that nothing overcomes.")])


def figure_8(config: Hinge, progress: Progress) -> Result:
    """A pendulum as the limit of an immobile direction."""
    findings, grid = findings_of_the_limit(config, progress)
    _, curves = _curves(config, progress)
    findings.append(unchecked("CR-fig8", "Fig. 8", "the figure itself", "redrawn", SKETCH))
    caption = "A pendulum that leans: nearly immobile along its rod. What Whittaker's law predicts is far outside."
    return Result(findings, [_picture("fig8", config, curves, caption)], [grid])


def figure_9(config: NearGrazing, progress: Progress) -> Result:
    """A disk near grazing: permissible impulses with restitution far above 1."""
    flat, curves = _curves(config, progress)
    most = _greatest_restitution(flat)
    rows = [
        [v, _greatest_restitution(flat._replace(v=np.array([flat.v[0], v])))] for v in config.closer.normal_velocity
    ]
    findings: list[Finding] = [
        claim(
            "CR-fig9",
            "3.5, Fig. 9",
            "greatest restitution of a permissible impulse: there is a disk near grazing with as much",
            f'"the maximum possible value for e is about {config.printed.restitution}"',
            f"{most:.2f} with a normal velocity of {flat.v[1]:g} m/s",
            holds=round(most) == int(config.printed.restitution),
            why="The paper does not give the impact: the normal velocity was chosen for this value.",
        ),
        claim(
            "CR-fig9-more",
            "3.5",
            f"the same with a normal velocity of {rows[-1][0]:g} m/s",
            '"it could be made larger"',
            f"{rows[-1][1]:.0f}",
            holds=rows[-1][1] > most,
        ),
    ]
    whole = "A disk that nearly grazes: most permissible impulses have restitution above 1."
    pictures = [
        Picture("fig9", _near_grazing(config, flat, curves, close=False), whole),
        Picture("fig9_close", _near_grazing(config, flat, curves, close=True), "The same near the origin."),
    ]
    grid = Grid("Figure 9: the nearer to grazing, the more", ("normal velocity (m/s)", "greatest permissible e"), rows)
    return Result(findings, pictures, [grid])


def _curves(scene: Scene, progress: Progress) -> tuple[Flat, dict[str, np.ndarray]]:
    flat = Flat.of(scene)
    return flat, {law: curve(flat, law, progress) for law in scene.laws if law != REGION}


def _picture(name: str, scene: Scene, curves: dict[str, np.ndarray], caption: str) -> Picture:
    figure, ax = canvas(scene, region=REGION in scene.laws)
    for order, (law, points) in enumerate(curves.items()):
        draw_curve(ax, law, points, order, len(curves))
    legend(ax)
    return Picture(name, figure, caption)


def _near_grazing(config: NearGrazing, flat: Flat, curves: dict[str, np.ndarray], close: bool) -> Figure:
    figure, ax = canvas(config, region=False, title=f"{config.name}, close to the origin" if close else None)
    inside = _cut(permissible_region(*flat), -flat.K[1], -2 * flat.v[1])
    ax.fill(*inside.T, color="0.3", lw=0, label="permissible, and $e \\leq 1$", zorder=1.2)
    for order, (law, points) in enumerate(curves.items()):
        draw_curve(ax, law, points, order, len(curves))
    if close:
        low, high = inside.min(0), inside.max(0)
        room = 0.3 * (high - low)
        ax.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(-0.2 * room[1], high[1] + room[1]))
        for text in ax.texts:
            text.set_visible(False)
        for name, at in (("$P_I$", flat.plastic()[0]), ("$2P_I$", 2 * flat.plastic()[0]), ("O", 0 * low)):
            mark(ax, name, at, (-16, 8))
    legend(ax)
    return figure


def _without_restitution(flat: Flat, progress: Progress) -> np.ndarray:
    """Impulses of the new law with e = 0 and every e_t."""
    e_t = np.linspace(-1, 1, SAMPLES)
    W, v = in_space(flat.K, flat.v)
    impact = solve_many(W, v, flat.mu, 0.0, law=REGION, progress=progress, tangential_restitution=e_t)
    return np.asarray(impact.impulse[:, ::2])


def _kink(points: np.ndarray) -> float:
    """Greatest turn between steps (deg)."""
    step = np.diff(points, axis=0)
    turn = np.diff(np.unwrap(np.arctan2(step[:, 1], step[:, 0])))
    return float(np.degrees(np.abs(turn).max()))


def _covered(flat: Flat, points: np.ndarray) -> np.ndarray:
    """Whether the new law reaches an impulse: by its e in [0, 1] and its kappa, up to 2 and to the cone (11), (13)."""
    one, two = flat.plastic()
    e = -(flat.v[1] + points @ flat.K[1]) / flat.v[1]
    kappa = points[:, 0] / two[0]
    inside = np.abs(points[:, 0]) <= flat.mu * points[:, 1] * (1 + SHRUNK)
    fits = (e >= -SLACK) & (e <= 1 + SLACK) & (kappa >= -SLACK) & (kappa <= 2 + SLACK)
    return fits & inside & (one[1] > 0)


def _uncovered(flat: Flat, curves: dict[str, np.ndarray], laws: list[str]) -> str:
    words = []
    for law in laws:
        points = curves[law]
        first = int(np.argmin(_covered(flat, points)))
        e = -(flat.v[1] + points @ flat.K[1]) / flat.v[1]
        share = share_of_energy(flat, points)
        words.append(
            f"{law} from e = {first / (len(points) - 1):.2f} (kinematic e {e.max():.2f}, energy {share.max():.2f})"
        )
    return f"Beyond it in this scene: {'; '.join(words)}." if words else ""


def _greatest_restitution(flat: Flat) -> float:
    after = permissible_region(*flat) @ flat.K[1] + flat.v[1]
    return float(-after.max() / flat.v[1])


def _cut(polygon: np.ndarray, normal: np.ndarray, offset: float) -> np.ndarray:
    """The part of a convex polygon with normal.x + offset >= 0."""
    side = polygon @ normal + offset
    kept = []
    for a, b, da, db in zip(polygon, np.roll(polygon, -1, 0), side, np.roll(side, -1), strict=True):
        kept += [a] if da >= 0 else []
        kept += [a + (b - a) * da / (da - db)] if da * db < 0 else []
    return np.array(kept)
