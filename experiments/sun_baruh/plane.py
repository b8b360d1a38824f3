"""Figures 3 to 5: modes, normal velocity and energy of the planar rod, by Poisson's and the energetic rule.

Source: section 2. Planar impacts are solved in space, where the exact solution of a plane is a closed form.
"""

import numpy as np

from jimpact.reproduce import Finding, Picture, Progress, Result, claim, unchecked

from .figures import Frame, Panel, maps
from .plane_claims import claims
from .plane_form import PlaneForm
from .plane_map import Maps, ends, line_of, solve_at, solve_plane
from .plane_others import others
from .plane_trends import trends
from .rod import RULES, counted, percent

__all__ = ["run_plane"]

ROUND_OFF = 1e-12
MODE = "mode (bottom line: starts at rest)"


def run_plane(form: PlaneForm, progress: Progress) -> Result:
    coarse, fine = solve_plane(form, form.coarse, progress), solve_plane(form, form.fine, progress)
    findings = [*_figures(form, coarse), *_quotient(form, coarse, fine), *_largest(form, coarse, fine, progress)]
    findings += [*_overall(form, fine), *trends(form, fine), *claims(form, coarse, fine, progress)]
    return Result([*findings, *others(form, coarse, progress)], _pictures(form, fine))


def _figures(form: PlaneForm, m: Maps) -> list[Finding]:
    plots = "The figure is a plot without numbers; its words are checked below, its modes by SB-2D-modes."
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
        claim(
            "SB-Fig3-all",
            "sec. 2",
            "modes on the map",
            form.printed.all_modes,
            f"{kinds} of 7",
            kinds == 7,
            counted(m.mode),
            "differs",
        ),
    ]


def _quotient(form: PlaneForm, coarse: Maps, fine: Maps) -> list[Finding]:
    q, stuck = fine.quotient, fine.quotient[fine.stuck]
    through, turned = q[fine.mode == 0], q[fine.turned]
    off = float(np.abs(through - 1).max())
    back, on, answer = bool(turned.max() <= 1 + ROUND_OFF), bool(through.max() > 1 + ROUND_OFF), ("no", "yes")
    return [
        claim(
            "SB-Fig5",
            "fig 5, sec. 2",
            "normal velocity after, Poisson / energetic",
            form.printed.fig5,
            f"{ends(coarse.quotient)} in {coarse.mode.size} cells, {ends(q)} in {q.size}; slides throughout: 1 within "
            f"{off:.0e}; slides back: {ends(turned)}",
            back and on,
            f"Poisson lower when it slides back: {answer[back]}. Energetic lower when it slides throughout: "
            f"{answer[on]}; slip keeps its direction there, and both rules end at the same impulse. Where it sticks: "
            f"{ends(stuck)}.",
            "differs",
        ),
        claim(
            "SB-Fig5-stops",
            "sec. 2",
            "normal velocity and energy left, how far Poisson / energetic is from 1",
            form.printed.rules_apart,
            *_where_it_stops(fine),
            "Modes 1 to 4 against 0, 5 and 6.",
            "differs",
        ),
    ]


def _where_it_stops(m: Maps) -> tuple[str, bool]:
    stops = np.isin(m.mode, (1, 2, 3, 4))
    far = [np.abs(a - 1) for a in (m.quotient, m.energy_quotient)]
    means, rest = [float(a[stops].mean()) for a in far], [float(a[~stops].max()) for a in far]
    words = f"slip stops: mean {percent(means[0])} and {percent(means[1])}; elsewhere at most {max(rest):.0e}"
    return words, means[0] > rest[0] and means[1] > rest[1]


def _largest(form: PlaneForm, coarse: Maps, fine: Maps, progress: Progress) -> list[Finding]:
    """Between the rules; greatest where sticking turns to sliding back, an angle that a grid need not contain."""
    line = line_of(form)
    ratio = np.linspace(0, form.greatest_ratio, form.line_ratios)[None]
    sharp = solve_at(form, np.full_like(ratio, line), ratio, progress)
    few, many, most = (100 * (1 - float(m.quotient.min())) for m in (coarse, fine, sharp))
    said, concluded = float(form.printed.fig5_percent), float(form.printed.concluded_percent)
    lowest = fine.quotient.argmin()
    return [
        claim(
            "SB-Fig5-most",
            "fig 5, sec. 2",
            "largest difference of normal velocity after",
            f"up to {form.printed.fig5_percent}%",
            f"{many:.1f} % in {fine.theta.size} cells, {most:.1f} % at {line:.2f} deg",
            round(most) == said,
            f"It depends on the steps of the grid, which the text does not give: {few:.1f} % in steps of "
            f"{coarse.theta[1, 0] - coarse.theta[0, 0]:g} deg.",
            "convention" if round(few) == said else "differs",
        ),
        claim(
            "SB-Fig5-concluded",
            "sec. 7",
            "largest difference of normal velocity after, in the plane",
            f"up to a {form.printed.concluded_percent}% difference",
            f"{many:.1f} %",
            round(many) <= concluded,
            f"Section 2 has {form.printed.fig5_percent}%. {percent((fine.quotient < 1 - concluded / 100).mean())} of "
            f"the cells are beyond {form.printed.concluded_percent} %. In space: SB-3D-concluded.",
            "differs",
        ),
        claim(
            "SB-Fig5-angle",
            "fig 5, sec. 2",
            "where the ratio is lowest",
            form.printed.fig5_angle,
            fine.place(lowest),
            bool(abs(fine.theta.flat[lowest] - line) < form.limits.near_deg),
            f"Sticking turns to sliding back at {line:.2f} deg; within {form.limits.near_deg:g} deg counts.",
            "differs",
        ),
    ]


def _overall(form: PlaneForm, m: Maps) -> list[Finding]:
    q, printed, limits = m.quotient, form.printed, form.limits
    lower, higher = int((q < 1 - ROUND_OFF).sum()), int((q > 1 + ROUND_OFF).sum())
    energies = np.abs(m.energy_quotient - 1)
    typical = float(np.quantile(energies, limits.nearly_all))
    return [
        claim(
            "SB-Fig5-overall",
            "sec. 2",
            "Poisson against energetic",
            printed.fig5_overall,
            f"lower velocity in {lower} cells, higher in {higher}; mean {q.mean():.4f}, energy "
            f"{m.energy_quotient.mean():.4f}",
            lower > higher and bool(q.mean() < 1) and bool(m.energy_quotient.mean() < 1),
            "Both means of Poisson / energetic must be below 1.",
            "differs",
        ),
        claim(
            "SB-Fig5-energy",
            "sec. 2",
            "energy left, Poisson / energetic",
            printed.fig5_energy,
            f"within {percent(typical)} in {percent(limits.nearly_all)} of the cells; {ends(m.energy_quotient)}",
            typical < limits.close,
            f"The limit is {percent(limits.close)}; {percent((energies > limits.close).mean())} of the cells are "
            f"beyond. Worst {percent(energies.max())}, at {m.place(energies.argmax())}.",
            "differs",
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
