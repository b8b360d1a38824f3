"""Figures 3 to 5: modes, normal velocity and energy of the planar rod, by Poisson's and the energetic rule.

Source: section 2. Planar impacts are solved in space, where the exact solution of a plane is a closed form.
"""

import numpy as np

from jimpact.reproduce import Finding, Picture, Progress, Result, claim, number, unchecked

from .figures import Frame, Panel, maps
from .plane_claims import claims
from .plane_form import PlaneForm
from .plane_map import Maps, ends, solve_plane
from .ratios import ratios_of, stick_limit
from .rod import RULES, TURNED, counted

__all__ = ["run_plane"]

ROUND_OFF = 1e-12
MODE = "mode (bottom line: starts at rest)"
CLOSE = 3.0  # deg: the next angle of the grid, or the one after


def run_plane(form: PlaneForm, progress: Progress) -> Result:
    coarse, fine = solve_plane(form, form.coarse, progress), solve_plane(form, form.fine, progress)
    findings = [*_figures(form, coarse), *_quotient(form, coarse), *_overall(form, coarse)]
    findings += claims(form, coarse, progress)
    return Result(findings, _pictures(form, fine))


def _figures(form: PlaneForm, m: Maps) -> list[Finding]:
    plots = "The figure is a plot without numbers; its words are checked below, its modes by SB-2D-modes."
    normal = m.normal["poisson"]
    near = float((np.abs(normal - 1) < 0.1).mean())
    kinds = len(np.unique(m.mode))
    return [
        unchecked("SB-Fig3", "fig 3", "map of modes, Poisson", counted(m.mode), plots),
        unchecked(
            "SB-Fig4",
            "fig 4",
            "normal velocity / e and energy ratio, energetic",
            f"{ends(m.normal['stronge'])}; {ends(m.energy['stronge'])}",
            plots,
        ),
        claim("SB-Fig3-all", "sec. 2", "modes on the map", form.printed.all_modes, f"{kinds} of 7", kinds == 7),
        claim(
            "SB-Fig3-normal",
            "fig 3, sec. 2",
            "normal velocity after / (e x before), Poisson",
            form.printed.normal,
            f"{ends(normal)}, median {np.median(normal):.4f}",
            abs(float(np.median(normal)) - 1) < 0.1,
            f"{100 * near:.0f} % of the cells are within 0.1 of 1.",
        ),
    ]


def _quotient(form: PlaneForm, m: Maps) -> list[Finding]:
    q, printed = m.quotient, form.printed
    through, turned = q[m.mode == 0], q[np.isin(m.mode, TURNED)]
    least = np.unravel_index(q.argmin(), q.shape)
    off = float(np.abs(through - 1).max())
    needed = lambda angle: float(ratios_of(form.rod, angle, form.friction, form.restitution).needed)  # noqa: E731
    line = stick_limit(needed, form.friction, 0.0, form.reach_deg)
    return [
        claim(
            "SB-Fig5",
            "fig 5, sec. 2",
            "normal velocity after, Poisson / energetic",
            printed.fig5,
            f"{ends(q, 7)}; slides throughout: 1 within {off:.0e}; slides back: {ends(turned, 7)}",
            False,
            "Right for sliding back. While slip keeps its direction all rules end at the same impulse: the ratio is 1 "
            "when the rod slides throughout, and above 1 only where it sticks.",
            "differs",
        ),
        number("SB-Fig5-most", "fig 5, sec. 2", "largest difference", printed.fig5_difference, 1 - q.min()),
        number(
            "SB-Fig5-concluded",
            "sec. 7",
            "largest difference",
            printed.fig5_difference_concluded,
            1 - q.min(),
            "Section 2 has the larger number, which is what comes out.",
            "differs",
        ),
        claim(
            "SB-Fig5-angle",
            "fig 5, sec. 2",
            "where the ratio is lowest",
            printed.fig5_angle,
            f"{m.theta[least]:g} deg, ratio {m.ratio[least]:.2f}, mode {m.mode[least]}",
            bool(abs(m.theta[least] - line) < CLOSE),
            f"Sticking turns to sliding back at {line:.2f} deg.",
        ),
    ]


def _overall(form: PlaneForm, m: Maps) -> list[Finding]:
    q, printed = m.quotient, form.printed
    lower, higher = int((q < 1 - ROUND_OFF).sum()), int((q > 1 + ROUND_OFF).sum())
    energies = np.abs(m.energy_quotient - 1)
    return [
        claim(
            "SB-Fig5-overall",
            "sec. 2",
            "Poisson against energetic",
            printed.fig5_overall,
            f"lower velocity in {lower} cells, higher in {higher}; mean {q.mean():.4f}, energy "
            f"{m.energy_quotient.mean():.4f}",
            lower > higher and bool(m.energy_quotient.mean() < 1),
        ),
        claim(
            "SB-Fig5-energy",
            "sec. 2",
            "energy left, Poisson / energetic",
            printed.fig5_energy,
            f"{ends(m.energy_quotient)}",
            float(np.median(energies)) < 0.05,
            f"Median difference {100 * np.median(energies):.1f} %, worst {100 * energies.max():.1f} %.",
        ),
    ]


def _pictures(form: PlaneForm, m: Maps) -> list[Picture]:
    frame = Frame(m.theta[:, 0], m.ratio[0], "lean θ (deg)", "slip / approach speed before")
    case = f"planar rod, μ = {form.friction}, e = {form.restitution}"
    both = lambda arrays: (float(min(map(np.min, arrays))), float(max(map(np.max, arrays))))  # noqa: E731
    limits = {"normal": both(m.normal.values()), "energy": both(m.energy.values())}
    pictures = []
    for name, rule in (("fig3", "poisson"), ("fig4", "stronge")):
        row = [
            Panel(MODE, m.mode),
            Panel("normal velocity after / (e × before)", m.normal[rule], limits=limits["normal"]),
            Panel("energy after / before", m.energy[rule], limits=limits["energy"], colours="magma"),
        ]
        caption = f"Figure {name[3:]}: {case}, {RULES[rule]} restitution."
        pictures.append(Picture(name, maps(frame, [row], f"{RULES[rule]} restitution: {case}"), caption))
    row = []
    for title, values in (("normal velocity after", m.quotient), ("energy after", m.energy_quotient)):
        far = float(np.abs(values - 1).max())
        row.append(Panel(f"{title}, Poisson / energetic", values, colours="RdBu", limits=(1 - far, 1 + far)))
    row.append(Panel(MODE, m.mode))
    caption = f"Figure 5: {case}, Poisson's results over energetic ones; 1 where slip keeps its direction."
    return [*pictures, Picture("fig5", maps(frame, [row], f"Poisson over energetic: {case}"), caption)]
