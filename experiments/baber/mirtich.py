"""Sections 1.1 and 3.4: how often impacts compress twice, and by how much the readings of the rule then differ.

The readings `all` (Baber), `first` and `stopped` (Mirtich) are those of `readings`.
"""

from typing import Annotated

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from pydantic import Field
from scipy.spatial import transform

import jimpact
from jimpact.config import ConfigError, Name, Positive, Share, Table
from jimpact.reproduce import Finding, Grid, Picture, Progress, Result, new

from .crowd import FAMILIES, Impacts, box_inverse_inertia, solved
from .forms import Crowd, Rotation, Sides
from .readings import Readings, readings, turns_negative

__all__ = ["MirtichForm", "run"]

COLORS = {"matrices": "#1f4e9c", "boxes": "#d1495b"}


class BoxForm(Table):
    """A box of mass 1 kg that strikes the ground with its lowest corner."""

    sides: Sides
    rotation_deg: Rotation
    slip_angle_deg: Annotated[float, Field(ge=0, lt=360)]
    slip: Positive
    approach: Positive
    friction: Positive
    restitution: Share


class MirtichForm(Table):
    """configs/baber/mirtich.toml"""

    name: Name
    matrices: Crowd
    boxes: Crowd
    box: BoxForm


def run(form: MirtichForm, progress: Progress) -> Result:
    """How often, and by how much, the readings differ."""
    findings: list[Finding] = []
    rows: list[list[str]] = []
    found = {}
    for name, family in FAMILIES.items():
        impacts = family(getattr(form, name))
        impact = solved(impacts, progress)
        twice = np.asarray(impact.info.compressions) > 1
        if not twice.any():
            raise ConfigError(f"{name}: none of these impacts compresses twice; pass a greater count")
        found[name] = readings(impacts.some(twice), progress)
        findings += [_share(name, impacts, impact, twice), *_differences(name, found[name])]
        rows += _rows(name, found[name])
    findings += _box(form.box, progress)
    columns = ("family", "quantity", "least", "median", "largest")
    caption = "Random impacts that compress twice: where they are, and the normal impulse of one compression over all."
    grid = Grid("Impacts that compress twice: one compression beside all.", columns, rows)
    return Result(findings, [Picture("mirtich", _draw(found), caption)], [grid])


def _share(name: str, impacts: Impacts, impact: jimpact.Impact, twice: np.ndarray) -> Finding:
    turned = turns_negative(impacts, impact)
    ratio = np.linalg.norm(impacts.velocity[twice, :2], axis=-1)
    return new(
        f"B-mirtich-{name}",
        "1.1, 1.2",
        f"du_z/dp_z turns negative; and a second compression follows: random {name}",
        f"{int(turned.sum())}; {int(twice.sum())} of {len(twice)}",
        "The paper says that examples are not hard to find. Those that compress twice have friction of at least "
        f"{impacts.friction[twice].min():.2f} and slip of {ratio.min():.1f} to {ratio.max():.0f} x the approach; "
        f"{int(turned[twice].sum())} of them turn negative.",
    )


def _differences(name: str, r: Readings) -> list[Finding]:
    whole = r.all.impulse[:, 2]
    first, stopped = r.first.impulse[:, 2] / whole, r.stopped[:, 2] / whole
    gap = _distance(r.first.impulse, r.all.impulse)
    more = r.restitution - r.impacts.restitution
    balance = r.first.info.compression_work + r.first.info.restitution_work
    fit = np.abs(balance / ((1 - r.impacts.restitution**2) * r.first_work) - 1).max()
    return [
        new(
            f"B-mirtich-{name}-first",
            "3.4",
            "first compression decides, beside all: impulse",
            f"differs by {np.median(gap):.2%} (median), {gap.max():.1%} (most)",
            f"Normal impulse {first.min():.3f} to {first.max():.3f} of that of all; acts as a restitution greater by "
            f"{np.median(more):.3f} (median) to {more.max():.3f}; works fit to {fit:.0e}.",
        ),
        new(
            f"B-mirtich-{name}-stopped",
            "3.4",
            "stopped at the second zero, beside all: normal impulse",
            f"{np.median(stopped):.2f} (median), {stopped.min():.3f} (least) of it",
            f"The first restitution does {r.released.min():.1%} to {r.released.max():.1%} of the work that e^2 asks "
            "for, so following an impact by that work does not end it.",
        ),
    ]


def _distance(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    return np.linalg.norm(np.asarray(a) - np.asarray(b), axis=-1) / np.linalg.norm(b, axis=-1)


def _rows(name: str, r: Readings) -> list[list[str]]:
    whole = r.all.impulse
    quantities = {
        "friction": r.impacts.friction,
        "restitution": r.impacts.restitution,
        "slip / approach": np.linalg.norm(r.impacts.velocity[:, :2], axis=-1),
        "work of first restitution / (e^2 |W_1|)": r.released,
        "first: e' - e": r.restitution - r.impacts.restitution,
        "first: normal impulse / that of all": r.first.impulse[:, 2] / whole[:, 2],
        "first: |impulse - that of all| / |that of all|": _distance(r.first.impulse, whole),
        "stopped: normal impulse / that of all": r.stopped[:, 2] / whole[:, 2],
    }
    three = lambda a: (a.min(), np.median(a), a.max())  # noqa: E731
    return [[name, key, *(f"{x:.4g}" for x in three(values))] for key, values in quantities.items()]


def _box(box: BoxForm, progress: Progress) -> list[Finding]:
    """One plain box; as a crowd of one."""
    turn = transform.Rotation.from_euler("xyz", box.rotation_deg, degrees=True).as_matrix()[None]
    K, angle = box_inverse_inertia(np.asarray(box.sides)[None], turn), np.radians(box.slip_angle_deg)
    v = np.array([[box.slip * np.cos(angle), box.slip * np.sin(angle), -box.approach]])
    impacts = Impacts(K, v, np.array([box.friction]), np.array([box.restitution]))
    impact = solved(impacts, progress)
    count = int(impact.info.compressions[0])
    if count < 2:
        raise ConfigError("box: it compresses once; pass one that compresses twice")
    r = readings(impacts, progress)
    second = float(1 - r.first_work[0] / impact.info.compression_work[0])
    p = [f"{x[0, 2]:.5f}" for x in (r.all.impulse, r.first.impulse, r.stopped)]
    sides, tilt = (join.join(f"{x:g}" for x in a) for join, a in ((" x ", box.sides), (", ", box.rotation_deg)))
    return [
        new(
            "B-box",
            "1.2",
            f"a box of {sides} m, turned by {tilt} degrees, on the ground",
            f"{count} compressions, {second:.0%} of their work in the second",
            "The paper expects that a more reasonable example than its own can be found; this one was chosen. "
            f"Friction {box.friction:g}, restitution {box.restitution:g}, slip {box.slip:g} and approach "
            f"{box.approach:g} m/s; normal impulse {p[0]} N s by all, {p[1]} by the first, {p[2]} if stopped.",
        )
    ]


def _draw(found: dict[str, Readings]) -> Figure:
    fig = Figure(figsize=(11, 4.9), layout="constrained")
    left, right = fig.subplots(1, 2)
    for name, r in found.items():
        ratio = np.linalg.norm(r.impacts.velocity[:, :2], axis=-1)
        label = f"random {name}: {len(ratio)}"
        left.plot(ratio, r.impacts.friction, "o", ms=4, mec="none", alpha=0.7, color=COLORS[name], label=label)
        whole, e = r.all.impulse[:, 2], r.impacts.restitution
        dots = {"ls": "", "ms": 4, "mec": COLORS[name], "color": COLORS[name], "alpha": 0.7}
        right.plot(e, r.first.impulse[:, 2] / whole, marker="o", label=f"{name}: first compression decides", **dots)
        dots["mfc"] = "none"
        right.plot(e, r.stopped[:, 2] / whole, marker="s", label=f"{name}: stopped at second zero", **dots)
    left.set(xscale="log", xlabel="slip / approach speed before", ylabel="coefficient of friction")
    left.set_title("Impacts that compress twice", fontsize=11)
    left.set_ylim(0, None)
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=9, frameon=False)
    right.axhline(1, color="0.4", lw=0.9)
    right.set(xlim=(0, 1), ylim=(0, None), xlabel="coefficient of restitution")
    right.set_ylabel("normal impulse / that of all compressions")
    right.set_title("One compression beside all of them", fontsize=11)
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=9, frameon=False)
    return fig
