"""Sections 1.1 and 3.4: Mirtich's one compression beside all compressions, how often they differ, and by how much.

Mirtich follows an impact by u_z until it is zero, and from there by the work of the normal force until that is
(1 - e^2) W_1, with W_1 the work of the compression (as the paper tells it). If u_z falls to zero again before, no more
work is to be had, and the rule must be read on:

| reading   | the impact ends                                                                              |
|-----------|----------------------------------------------------------------------------------------------|
| all       | where W_d = -e^2 W_c, works of all phases (Baber)                                            |
| first     | where the work of all phases is (1 - e^2) W_1: the work of the first compression decides     |
| stopped   | at the second zero of u_z, with less work of restitution than e^2 asks for                   |

`first` is `all` with a greater restitution e', because 1 - e'^2 = (1 - e^2) W_1 / W_c.
"""

from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Picture, Result, heading, only, solve_many, trace_many
from jimpact.schemas.config import ConfigError, Positive, Share, Table

from .crowd import FAMILIES, Crowd, Impacts, Turning, box_inverse_inertia, relative
from .texts import TEXTS, grid, page, spread

COLORS = {"matrices": "#1f4e9c", "boxes": "#d1495b"}
Turn = Annotated[float, Field(ge=-180, le=180)]  # degrees


class BoxForm(Table):
    """A box of mass 1 kg that strikes the ground with its lowest corner."""

    sides: Annotated[list[Positive], Field(min_length=3, max_length=3)]  # m
    rotation_deg: Annotated[list[Turn], Field(min_length=3, max_length=3)]  # about x, then y, then z
    slip_angle_deg: Annotated[float, Field(ge=0, lt=360)]
    slip: Positive  # m/s
    approach: Positive  # m/s
    friction: Positive
    restitution: Share


class Form(Table):
    """configs/baber/mirtich.toml"""

    matrices: Crowd
    boxes: Crowd
    box: BoxForm


def run(form: Form, progress: LabelledProgress) -> Result:
    """How often, and by how much, the readings differ."""
    computed: dict[str, Computed] = {}
    rows: list[list[str]] = []
    found = {}
    for name, family in FAMILIES.items():
        impacts = family(getattr(form, name))
        impact = solve_many(*impacts, progress=progress)
        twice = impact.info.compressions > 1
        if not twice.any():
            raise ConfigError(f"{name}: none of these impacts compresses twice; pass a greater count")
        found[name] = readings(impacts.some(twice), progress)
        words = {key: spread(values) for key, values in found[name].items()}
        turned = turns_negative(impacts, impact)
        counts = {"turned": turned.sum(), "twice": twice.sum(), "both": turned[twice].sum(), "n": len(twice)}
        computed[f"B-mirtich-{name}"] = only(**counts, **words)
        computed |= {f"B-mirtich-{name}-{reading}": only(**words) for reading in ("first", "stopped")}
        rows += [[name, what, *(f"{x:.4g}" for x in words[key])] for key, what in TEXTS.all["readings"].items()]
    box = form.box  # as a crowd of one
    turn = Rotation.from_euler("xyz", box.rotation_deg, degrees=True).as_matrix()[None]
    K, angle = box_inverse_inertia(np.array([box.sides]), turn), np.radians(box.slip_angle_deg)
    v = np.array([[box.slip * np.cos(angle), box.slip * np.sin(angle), -box.approach]])
    impacts = Impacts(K, v, np.array([box.friction]), np.array([box.restitution]))
    count = solve_many(*impacts).info.compressions[0]
    if count < 2:
        raise ConfigError("box: it compresses once; pass one that compresses twice")
    r = {key: values[0] for key, values in readings(impacts, progress).items()}
    ends = {"first": r["first"] * r["normal"], "stopped": r["stopped"] * r["normal"]}
    computed["B-box"] = only(box=box, r=r, count=count, **ends)
    return Result(computed, [_draw(found)], [grid("mirtich", rows)])


def readings(impacts: Impacts, progress: LabelledProgress) -> dict[str, np.ndarray]:
    """The three ends of impacts that compress twice, beside one another; arrays (n,)."""
    whole = solve_many(*impacts, progress=progress)
    work = solve_many(*impacts._replace(e=0 * impacts.e), progress=progress).info.compression_work
    total, normal = whole.info.compression_work, whole.impulse[:, 2]
    other = effective(impacts.e, work, total)
    first = solve_many(*impacts._replace(e=other), progress=progress)
    path, rows = trace_many(*impacts), np.arange(len(normal))
    at = np.abs(path.normal_impulse - path.events.recompression_start[:, None]).argmin(-1)
    balance = first.info.compression_work + first.info.restitution_work
    return {
        "friction": impacts.mu,
        "restitution": impacts.e,
        "slip": np.linalg.norm(impacts.u[:, :2], axis=-1) / -impacts.u[:, 2],  # over approach speed, before
        "normal": normal,  # impulse of all, N s
        "first": first.impulse[:, 2] / normal,
        "stopped": path.impulse[rows, at, 2] / normal,
        "gap": relative(first.impulse, whole.impulse),
        "more": other - impacts.e,  # restitution that acts in `first`
        "misfit": np.abs(balance / ((1 - impacts.e**2) * work) - 1),  # of the work of `first`
        "released": (path.work[rows, at] - work) / (impacts.e**2 * -work),  # in the first restitution
        "second": 1 - work / total,  # share of the work of compression that the second one does
    }


def effective(restitution: np.ndarray, first: np.ndarray, total: np.ndarray) -> np.ndarray:
    """e' with which all compressions end where the first one alone says; works of the first, and of all (<= 0)."""
    return np.sqrt(1 - (1 - restitution**2) * first / total)


def turns_negative(impacts: Impacts, impact: jimpact.Impact) -> np.ndarray:
    """Where du_z/dp_z turns from positive to negative: on the way of slip from its first to its last direction.

    Slip turns one way only, towards a ray; if it stops it has come to it.
    """
    turn, d, normal = Turning.of(impacts), impacts.K[:, :2, 2], impacts.K[:, 2, 2]
    to_last = np.minimum(turn.to(heading(impact.velocity)), turn.to_ray)
    reach = np.where(np.isfinite(impact.info.slip_end), turn.to_ray, to_last)
    # k = K_33 - mu d.s is negative within `half` of the direction of d; slip must come from outside and get there.
    pull = impacts.mu * np.hypot(d[:, 0], d[:, 1])
    half = np.arccos(np.minimum(normal / np.maximum(pull, normal), 1))
    ahead = turn.to(heading(d))
    outside = (ahead > half) & (ahead < 2 * np.pi - half)
    return (pull > normal) & outside & (ahead - half < reach)


def _draw(found: dict[str, dict[str, np.ndarray]]) -> Picture:
    picture, (left, right) = page("mirtich")
    for name, r in found.items():
        dots = {"ls": "", "ms": 4, "color": COLORS[name], "alpha": 0.7}
        label = f"random {name}: {len(r['slip'])}"
        left.plot(r["slip"], r["friction"], marker="o", mec="none", label=label, **dots)
        right.plot(r["restitution"], r["first"], marker="o", label=f"{name}: first compression decides", **dots)
        dots["mfc"] = "none"
        right.plot(r["restitution"], r["stopped"], marker="s", label=f"{name}: stopped at second zero", **dots)
    left.set(xscale="log", ylim=(0, None))
    right.axhline(1, color="0.4", lw=0.9)
    right.set(xlim=(0, 1), ylim=(0, None))
    for ax in (left, right):
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=9, frameon=False)
    return picture
