"""Tables 1 and 2: the mode of a planar impact from three ratios, as printed and as it must read, against simulation."""

import jax
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Picture, Progress, Result, claim, new, solve_many

from .figures import Frame, Panel, maps
from .plane_form import PlaneForm, planar_grid, spatial
from .ratios import mode_of, printed_needed, ratios_of, stick_limit
from .rod import STUCK, TURNED, inverse_inertia, planar_inertia
from .table1 import table1

__all__ = ["run_table2"]

ROUND_OFF = 1e-12


def run_table2(form: PlaneForm, progress: Progress) -> Result:
    theta, ratio = planar_grid(form.reach_deg, form.greatest_ratio, form.coarse)
    W, v = inverse_inertia(form.rod, theta, 0.0), spatial(ratio)
    exact = {}
    for law in ("poisson", "stronge"):
        impact = jimpact.require(solve_many(W, v, form.friction, form.restitution, law=law, progress=progress))
        exact[law] = np.asarray(impact.info.mode)
    return Result(
        [
            *table1(form, theta, ratio, progress),
            *_modes(form, theta, ratio, exact),
            *_r2(form, theta, ratio, exact["poisson"]),
            _line(form, theta, exact["poisson"]),
            _plane(form),
        ],
        [_picture(form)],
    )


def _modes(form: PlaneForm, theta: np.ndarray, ratio: np.ndarray, exact: dict[str, np.ndarray]) -> list[Finding]:
    velocity = np.stack([ratio, -np.ones_like(ratio)], -1)
    table = jax.jit(jimpact.planar_modes)(planar_inertia(form.rod, theta), velocity, form.friction, form.restitution)
    wrong = int((np.asarray(table.mode) != exact["poisson"]).sum())
    apart = int((exact["poisson"] != exact["stronge"]).sum())
    ours = ratios_of(form.rod, theta, form.friction, form.restitution)
    first = np.where(np.isfinite(table.slides_through_compression), table.slides_through_compression, np.nan)
    off = float(np.nanmax(np.abs(first - np.where(ours.through_compression > 0, ours.through_compression, np.nan))))
    return [
        claim(
            "SB-2D-modes",
            "figs 3-4, Table 2",
            "Table 2, with R2 corrected, against simulation",
            form.printed.modes,
            f"{wrong} of {theta.size} cells differ from simulation; {apart} between Poisson and energetic",
            wrong == apart == 0,
            "R2 corrected: see SB-R2.",
            "differs",
        ),
        claim(
            "SB-R1",
            "(28)",
            "R1 of the print against the ratio at which slip ends with compression",
            form.printed.first_ratio,
            f"largest difference {off:.1e}",
            off < ROUND_OFF,
            "The ratio is that of jimpact.planar_modes.",
            "misprint",
        ),
    ]


def _r2(form: PlaneForm, theta: np.ndarray, ratio: np.ndarray, exact: np.ndarray) -> list[Finding]:
    ratios, printed = ratios_of(form.rod, theta, form.friction, form.restitution), printed_needed(form.rod, theta)
    modes = lambda sticks: mode_of(ratio, ratios, sticks)  # noqa: E731
    changed = lambda sticks: int((modes(sticks) != exact).sum())  # noqa: E731
    literal, sized = changed(printed <= form.friction), changed(np.abs(printed) <= form.friction)
    bare, right = changed(ratios.needed <= form.friction), changed(np.abs(ratios.needed) <= form.friction)
    against_one, both = changed(ratios.needed <= form.unit_limit), changed(printed <= form.unit_limit)
    back = int(np.isin(modes(ratios.needed <= form.unit_limit), TURNED).sum())
    corner = f"of {theta.size} cells change"
    return [
        claim(
            "SB-R2",
            "(30), Table 2",
            "R2 as printed, against static friction",
            form.printed.second_ratio,
            f"{literal} {corner}",
            literal == 0,
            f"P / R = sin cos / (alpha + cos^2): (30) lacks a cosine. {sized} by the cosine alone, {literal} with the "
            f"missing bars of |R2| as well; with both put right {right}.",
            "misprint",
        ),
        claim(
            "SB-R2-limit",
            "Table 2",
            "R2 against 1 instead of static friction",
            form.printed.second_limit,
            f"{against_one} {corner}; {both} with the printed R2",
            against_one == 0,
            f"The text after (30) compares with static friction. R2, corrected, is at most {ratios.needed.max():.3f} "
            f"here: against 1, {back} cells would slide back.",
            "misprint",
        ),
        new(
            "SB-R2-size",
            "Table 2",
            "corrected R2 < 0 of a rod that starts at rest and leans back",
            f"{bare} {corner} without the bars of |R2|",
        ),
    ]


def _line(form: PlaneForm, theta: np.ndarray, exact: np.ndarray) -> Finding:
    needed = lambda theta: float(ratios_of(form.rod, theta, form.friction, form.restitution).needed)  # noqa: E731
    angle = stick_limit(needed, form.friction, 0.0, form.reach_deg)
    last, first = theta[np.isin(exact, STUCK)].max(), theta[(theta > 0) & np.isin(exact, TURNED)].min()
    printed = stick_limit(lambda theta: float(printed_needed(form.rod, theta)), form.friction, 0.0, form.reach_deg)
    return claim(
        "SB-line",
        "fig 3, sec. 2",
        "sticking turns to sliding back at one angle, whatever the velocity",
        form.printed.line,
        f"at {angle:.4f} deg: all that stick lean {last:g} deg at most, all that slide back {first:g} at least",
        bool(last < angle < first),
        f"R2 does not depend on velocity. With the printed (30) the line would be at {printed:.4f} deg.",
        "differs",
    )


def _plane(form: PlaneForm) -> Finding:
    theta = np.linspace(-form.reach_deg, form.reach_deg, form.coarse.angles)
    W = inverse_inertia(form.rod, theta, 0.0)[..., [0, 2], :][..., [0, 2]]
    off = float(np.abs(W - planar_inertia(form.rod, theta)).max())
    return claim(
        "SB-27",
        "(27)",
        "inverse inertia by P, Q, R against that of the rod in space (1/kg)",
        form.printed.plane,
        f"within {off:.1e}",
        off < ROUND_OFF,
        f"The limit is {ROUND_OFF:.0e}.",
        "misprint",
    )


def _picture(form: PlaneForm) -> Picture:
    theta, ratio = planar_grid(form.reach_deg, form.greatest_ratio, form.fine)
    ratios = ratios_of(form.rod, theta, form.friction, form.restitution)
    printed = printed_needed(form.rod, theta)
    right = mode_of(ratio, ratios, np.abs(ratios.needed) <= form.friction)
    readings = {
        "Table 2 with |sin cos / (α + cos²)| ≤ μ": np.abs(ratios.needed) <= form.friction,
        "as (30): sin / (α + cos²) ≤ μ": printed <= form.friction,
        "as (30) and Table 2: sin / (α + cos²) ≤ 1": printed <= form.unit_limit,
    }
    panels = []
    for title, sticks in readings.items():
        mode = mode_of(ratio, ratios, sticks)
        panels.append(Panel(title, mode, mode != right))
    frame = Frame(theta[:, 0], ratio[0], "lean θ (deg)", "slip / approach speed before")
    title = f"Table 2 without simulation, μ = {form.friction}, e = {form.restitution}"
    caption = "Modes of planar impacts from Table 2: corrected (equal to simulation everywhere), and as printed."
    return Picture("table2", maps(frame, [panels], title), caption)
