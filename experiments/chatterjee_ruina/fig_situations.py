"""Figures 4 to 9: special situations in impulse space, and what the laws do there.

Source: Chatterjee & Ruina 1998, sections 3.4, 3.5, 4.2 and 5.2. The paper prints no numbers for these figures but one
(figure 9); inertia, velocity and friction are chosen to have the geometry that it describes.
"""

import numpy as np

from jimpact.planar import in_space
from jimpact.plotting.impulse_figures import REGION, permissible_region, reached
from jimpact.reproduce import LabelledProgress, Picture, Result, claimed, only, solve_many

from .baselines import Impacts, energy, length
from .forms import TEXTS, Scene
from .populations import SLACK
from .space import UNIT, canvas, curve, curves, draw, mark

SHRUNK = 1e-4  # of the impulse: a limit that is approached, with grazing and friction as the scene has them
HELD = 1e-2  # of the speed before: less is left at the least mobility where something vanishes
MOBILITY = np.array([1e-2, 1e-3, 1e-4, 1e-5, 1e-6])  # 1/kg, along the rod of figure 8
HALF = 0.5  # both restitutions there
CLOSER = (-0.01, -0.003, -0.001)  # m/s, normal velocities of impacts that graze more than figure 9
PRINTED = 17  # greatest restitution of figure 9
HINGE_LAWS = ("whittaker", "poisson", "stronge", "anitescu_potra", "smith", "chatterjee_ruina")


def figure_4(scene: Scene, progress: LabelledProgress) -> Result:
    """A generic impact: which laws leave the energy ellipse."""
    impact, paths = curves(scene, progress)
    share = {law: impact.gain(points) for law, points in paths.items()}
    first = {law: UNIT[np.argmax(x > 1 + SLACK)] for law, x in share.items() if (x > 1 + SLACK).any()}
    listed = "; ".join(f"{law} from e = {e:.2f}, {share[law][-1]:.3f} at e = 1" for law, e in first.items())
    holds = share["whittaker"][-1] > 1 + SLACK and first["whittaker"] < 1
    kink = {}
    for law in ("poisson", "smith"):
        step = np.diff(paths[law], axis=0)
        turn = np.diff(np.unwrap(np.arctan2(step[:, 1], step[:, 0])))  # from one step to the next
        kink[law] = np.degrees(np.abs(turn).max())
    found = {
        "CR-fig4-gain": claimed(holds, gaining=listed or "none"),
        "CR-fig4-kink": claimed(kink["poisson"] > 10 and kink["smith"] < 2, kink=kink, steps=len(UNIT) - 1),
        "CR-fig4": only(),
    }
    return Result(found, [_picture("fig4", scene, paths)])


def figure_5(scene: Scene, progress: LabelledProgress) -> Result:
    """Diagonal inertia: Whittaker's law is Routh's."""
    impact, paths = curves(scene, progress)
    off = np.abs(paths["whittaker"] - paths["poisson"]).max()
    slip = impact.after(paths["smith"][[0, -1]])[:, 0] * np.sign(impact.v[0])
    found = {
        "CR-fig5": claimed(off < SLACK, off=off),
        "CR-fig5-smith": claimed(slip[1] < 0, slip=slip),
        "CR-fig5-shape": only(),
    }
    return Result(found, [_picture("fig5", scene, paths)])


def figure_6(scene: Scene, progress: LabelledProgress) -> Result:
    """Grazing: who rebounds along the normal, who along the tangent."""
    impact, paths = curves(scene, progress)
    region = reached(*impact[:3], REGION)
    after = {law: impact.after(points) / length(impact.v) for law, points in (paths | {REGION: region}).items()}
    up = {law: float(np.nanmax(v[:, 1])) for law, v in after.items()}
    back = {law: max(0.0, -float(np.nanmin(v[:, 0] * np.sign(impact.v[0])))) for law, v in after.items()}
    risers = sorted(law for law in up if up[law] > SHRUNK)
    others = [law for law in risers if law not in ("poisson", "stronge")]
    two = impact.plastic()[1]
    wide = np.abs(region @ [-two[1], two[0]]).max() / length(two) ** 2
    found = {
        "CR-fig6-rebound": claimed(not others, risers=", ".join(risers), others=", ".join(others)),
        "CR-fig6-tangential": claimed(back[REGION] > 0.1 and back["poisson"] < SHRUNK, back=back),
        "CR-fig6-line": claimed(wide < SHRUNK, wide=wide),
        "CR-fig6": only(),
    }
    rows = [[law, up[law], 0.0 - back[law]] for law in up]
    return Result(found, [_picture("fig6", scene, paths)], [TEXTS.grid("fig6", rows)])


def figure_7(scene: Scene, progress: LabelledProgress) -> Result:
    """Infinite friction: no dead stop where P_II pulls."""
    impact, paths = curves(scene, progress)
    two = impact.plastic()[1]
    dead = {law: points[:1] for law, points in paths.items()}
    dead["stronge"] = curve(impact, "stronge", progress, [0.0])
    dead[REGION] = curve(impact, REGION, progress, 0.0, tangential_restitution=2 * UNIT - 1)
    slowest = min(length(impact.after(points)).min() for points in dead.values()) / length(impact.v)
    beyond = {}  # the reach of the new law: its e is in [0, 1] and its kappa goes up to 2, and to the cone: (11), (13)
    for law, points in paths.items():
        e, kappa = impact.restitution(points), points[:, 0] / two[0]
        covered = np.abs(points[:, 0]) <= impact.mu * points[:, 1] * (1 + SHRUNK)
        covered &= (e >= -SLACK) & (e <= 1 + SLACK) & (kappa >= -SLACK) & (kappa <= 2 + SLACK)
        most = impact.gain(points).max()
        if not covered.all():
            beyond[law] = f"{law} from e = {UNIT[covered.argmin()]:.2f} (kinematic e {e.max():.2f}, energy {most:.2f})"
    centred = impact._replace(v=impact.v[1] / impact.W[1, 0] * impact.W[:, 0])  # P_II on the tangential axis
    point = centred.plastic()[1]
    spread = np.abs(curve(centred, "poisson", progress) - point).max() / length(point)
    words = {"laws": ", ".join(beyond) or "none", "beyond": "; ".join(beyond.values()) or "none"}
    found = {
        "CR-fig7-dead": claimed(two[1] < 0 and slowest > SHRUNK, normal=two[1], slowest=slowest, laws=len(dead)),
        "CR-fig7-cover": claimed(not beyond, **words),
        "CR-fig7-point": claimed(spread < 10 / impact.mu, spread=spread, friction=impact.mu),
        "CR-fig7": only(friction=impact.mu),
    }
    return Result(found, [_picture("fig7", scene, paths)])


def figure_8(scene: Scene, progress: LabelledProgress) -> Result:
    """A pendulum: energy, and velocity along and across its rod, as the mobility along it goes to zero."""
    impact, paths = curves(scene, progress)
    values, axes = np.linalg.eigh(impact.W)
    K = np.einsum("ij,nj,kj->nik", axes, np.stack([MOBILITY, np.full_like(MOBILITY, values[1])], -1), axes)
    v = np.broadcast_to(impact.v, (len(K), 2))
    after, share, impulse = {}, {}, {}
    for law in HINGE_LAWS:
        own = {"tangential_restitution": HALF} if law == REGION else {}
        hit = solve_many(*in_space(K, v), impact.mu, HALF, law=law, progress=progress, **own)
        after[law] = hit.velocity[:, ::2] @ axes / length(impact.v)  # along the rod, across
        share[law] = energy(K, hit.velocity[:, ::2]) / energy(K, v)
        impulse[law] = hit.impulse[-1, ::2]
    # By Routh's law the motion stops, and the impulse goes on along the line of sticking, which becomes the rod.
    impact, gain, along = impact._replace(W=K[-1]), share["whittaker"], abs(after["whittaker"][-1, 0])
    rate = np.log(gain[-1] / gain[-2]) / np.log(MOBILITY[-2] / MOBILITY[-1])
    unbounded = (np.diff(gain) > 0).all() and 0.9 < rate < 1.1 and along > HELD
    few = [0, len(gain) - 2, len(gain) - 1]
    moved, left = np.abs(after[REGION][-1] - after[REGION][-2]).max(), abs(after[REGION][-1, 0])
    poisson, stronge = (length(after[law][-1]) for law in ("poisson", "stronge"))
    least, dead = MOBILITY[-1], impact.plastic()[1]
    further = dead + HALF * dead[1] * np.array([-impact.W[0, 1] / impact.W[0, 0], 1.0])
    off, met = (length(impulse["poisson"] - P) / length(dead) for P in (dead, further))
    found = {
        "CR-fig8-whittaker": claimed(unbounded, gain=gain[few], mobility=MOBILITY[few], along=along, rate=rate),
        "CR-fig8-new": claimed(moved < HELD and left < HELD, moved=moved, left=left),
        "CR-fig8-routh": claimed(poisson < HELD, speed=poisson, least=least),
        "CR-fig8-routh-impulse": claimed(off < HELD, off=off, least=least, met=met),
        "CR-fig8-stronge": only(energy=share["stronge"][-1], speed=stronge),
        "CR-fig8": only(),
    }
    grid = TEXTS.grid("fig8", [[law, *share[law], *after[law][-1]] for law in HINGE_LAWS])
    return Result(found, [_picture("fig8", scene, paths)], [grid])


def figure_9(scene: Scene, progress: LabelledProgress) -> Result:
    """A disk near grazing: permissible impulses with restitution far above 1."""
    impact, paths = curves(scene, progress)
    rows = []
    for velocity in (impact.v[1], *CLOSER):
        near = impact._replace(v=np.array([impact.v[0], velocity]))
        rows.append([velocity, near.restitution(permissible_region(*near[:3])).max()])
    most, more = rows[0][1], rows[-1][1]
    found = {
        "CR-fig9": claimed(round(most) == PRINTED, most=most, velocity=impact.v[1]),
        "CR-fig9-more": claimed(more > most, velocity=rows[-1][0], more=more),
    }
    pictures = [_near_grazing(name, scene, impact, paths) for name in ("fig9", "fig9_close")]
    return Result(found, pictures, [TEXTS.grid("fig9", rows)])


def _picture(name: str, scene: Scene, paths: dict[str, np.ndarray]) -> Picture:
    figure, ax = canvas(scene, laws=scene.laws)
    draw(ax, paths)
    return TEXTS.picture(name, figure)


def _near_grazing(name: str, scene: Scene, impact: Impacts, paths: dict[str, np.ndarray]) -> Picture:
    close, one = name == "fig9_close", impact.plastic()[0]
    figure, ax = canvas(scene, f"{scene.name}, close to the origin" if close else "")
    polygon, inside = permissible_region(*impact[:3]), []  # the part of it with restitution up to 1
    side = 1 - impact.restitution(polygon)
    for a, b, da, db in zip(polygon, np.roll(polygon, -1, 0), side, np.roll(side, -1), strict=True):
        inside += [a] if da >= 0 else []
        inside += [a + (b - a) * da / (da - db)] if da * db < 0 else []
    ax.fill(*np.transpose(inside), color="0.3", lw=0, label="permissible, and $e \\leq 1$", zorder=1.2)
    draw(ax, paths)
    if close:
        low, high = np.min(inside, 0), np.max(inside, 0)
        room = 0.3 * (high - low)
        ax.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(-0.2 * room[1], high[1] + room[1]))
        for text in ax.texts:
            text.set_visible(False)
        mark(ax, {label: (at, (-16, 8)) for label, at in (("$P_I$", one), ("$2P_I$", 2 * one), ("O", 0 * one))})
    return TEXTS.picture(name, figure)
