"""What sections 5 to 7 say of energy, sliding and the two rules in space, by the approximation on fine grids."""

from collections.abc import Sequence

import numpy as np

from jimpact.reproduce import Finding, claim, new, unchecked

from .plane_map import by_mode
from .rod import RULES, energy_ratio, gap, percent
from .space_form import Orientation, SpaceForm
from .space_map import Leaning

__all__ = ["trends"]

ENDED = (1, 2, 3, 4)  # modes in which slip comes to an end


def trends(form: SpaceForm, fine: Sequence[Leaning]) -> list[Finding]:
    return [
        *(_ending(form, case, m) for case, m in zip(form.maps, fine, strict=True)),
        _lower(form, fine),
        *_more(form, fine),
        _flat(form, fine),
        _apart(form, fine),
        _concluded(form, fine),
        unchecked(
            "SB-3D-static",
            "sec. 6",
            "static friction above kinetic friction in space",
            "not computed",
            "The text says without a number that it changes little; the approximation was run with one friction only. "
            "In the plane: SB-2D-static.",
        ),
    ]


def _energy(form: SpaceForm, m: Leaning, rule: str = "") -> np.ndarray:
    return energy_ratio(m.pairs[rule or m.rule].approximate, form.rod.mass, form.velocity)


def _ending(form: SpaceForm, case: Orientation, m: Leaning) -> Finding:
    energy, mode = _energy(form, m), np.asarray(m.pair.approximate.info.mode)
    means, cell = by_mode(energy, mode), energy.argmin()
    least, single = min(means, key=means.__getitem__), int(mode.flat[cell])
    ends = [f"mode {k}, in which slip {'ends' if k in ENDED else 'does not end'}" for k in (least, single)]
    what = "mean energy after / before by mode, and the cell that keeps least"
    found = ", ".join(f"mode {k}: {value:.3f}" for k, value in means.items())
    found += f"; {energy.min():.3f} in mode {single} at ({m.theta1.flat[cell]:.3g}, {m.theta2.flat[cell]:.3g}) deg"
    why = f"On average {ends[0]}, loses most; the single cell is of {ends[1]}."
    if case.figure != 8:
        return new(f"SB-3D-ending-{case.figure}", f"fig {case.figure}", what, found, f"{why} See SB-3D-ending.")
    holds = least in ENDED and single in ENDED
    return claim("SB-3D-ending", "fig 8, sec. 5", what, form.printed.ending_loses, found, holds, why, "differs")


def _lower(form: SpaceForm, fine: Sequence[Leaning]) -> Finding:
    before, after = fine[2], fine[3]
    energies = [_energy(form, m) for m in (before, after)]
    normal = [m.pair.approximate.velocity[..., 2] / case.restitution for case, m in zip(form.maps, fine, strict=True)]
    apart = gap(normal[2], normal[3])
    less = float((energies[1] < energies[0]).mean())
    return claim(
        "SB-3D-lower",
        "figs 10-11, sec. 5",
        f"from e = {form.maps[2].restitution} to {form.maps[3].restitution}: energy after / before, and normal "
        "velocity after / (e x before)",
        form.printed.lower_restitution,
        f"energy less in {percent(less)} of the cells, mean {energies[0].mean():.3f} and {energies[1].mean():.3f}; "
        f"velocity changes by up to {percent(apart.max())}",
        less == 1.0 and bool(apart.max() < form.limits.close),
        f"Every cell has to lose more; below {percent(form.limits.close)} counts as slightly.",
        "differs",
    )


def _more(form: SpaceForm, fine: Sequence[Leaning]) -> list[Finding]:
    """Rows theta2 = 0 against all others, figures 8 and 10."""
    findings = []
    for key, name, mode, words in (
        ("sliding", "slide throughout (mode 0)", 0, form.printed.more_sliding),
        ("back", "slide back (mode 2)", 2, form.printed.more_back),
    ):
        parts, more, exactly = [], [], []
        for i in (0, 2):
            near, exact = (impact.info.mode == mode for impact in fine[i].pair)
            plane, space = float(near[:, 0].mean()), float(near[:, 1:].mean())
            parts.append(f"{percent(plane)} and {percent(space)} in figure {form.maps[i].figure}")
            more.append(space > plane)
            exactly.append(f"{percent(exact[:, 0].mean())} and {percent(exact[:, 1:].mean())}")
        findings.append(
            claim(
                f"SB-3D-more-{key}",
                "sec. 6",
                f"cells that {name}: theta2 = 0 and theta2 > 0",
                words,
                "; ".join(parts),
                all(more),
                f"Exactly {'; '.join(exactly)}.",
                "differs",
            )
        )
    return findings


def _flat(form: SpaceForm, fine: Sequence[Leaning]) -> Finding:
    parts, lost = [], []
    for case, m in zip(form.maps, fine, strict=True):
        energy = _energy(form, m)
        upright = float(energy[(m.theta1 == 0) & (m.theta2 == 0)][0])
        sides = [float(side.mean()) for side in (energy[0], energy[-1], energy[:, -1])]
        lost += [side < upright for side in sides]
        parts.append(f"figure {case.figure}: {upright:.3f}, {', '.join(f'{side:.3f}' for side in sides)}")
    return claim(
        "SB-3D-flat",
        "sec. 6",
        "energy after / before: upright, and means at the least theta1, the greatest theta1, the greatest theta2",
        form.printed.flat_loses,
        "; ".join(parts),
        all(lost),
        f"{sum(lost)} of {len(lost)} means are below upright. In the plane: SB-Fig3-flat-discussed.",
        "differs",
    )


def _apart(form: SpaceForm, fine: Sequence[Leaning]) -> Finding:
    parts, more = [], []
    for case, m in zip(form.maps, fine, strict=True):
        if case.figure == 9:  # the map of figure 8
            continue
        ended = np.isin(m.pair.approximate.info.mode, ENDED)
        gaps = m.between_rules("approximate"), gap(*(_energy(form, m, rule) for rule in RULES))
        means = [float(a[cells].mean()) for a in gaps for cells in (ended, ~ended)]
        more += [means[0] > means[1], means[2] > means[3]]
        words = [percent(x) for x in means]
        parts.append(f"figure {case.figure}: velocity {words[0]} and {words[1]}, energy {words[2]} and {words[3]}")
    return claim(
        "SB-3D-apart",
        "sec. 6",
        "Poisson against energetic, mean difference where slip ends and where it does not",
        form.printed.rules_apart,
        "; ".join(parts),
        all(more),
        "By the approximation, modes 1 to 4 against 0.",
        "differs",
    )


def _concluded(form: SpaceForm, fine: Sequence[Leaning]) -> Finding:
    worst = [max(float(m.between_rules(kind).max()) for m in fine) for kind in ("approximate", "exact")]
    limit = float(form.printed.concluded_percent)
    return claim(
        "SB-3D-concluded",
        "sec. 7",
        "largest difference of normal velocity after, Poisson against energetic, in space",
        f"up to a {form.printed.concluded_percent}% difference",
        f"{percent(worst[0])}, exactly {percent(worst[1])}",
        round(100 * worst[0]) <= limit,
        "Figures 8 to 11; read as a bound. In the plane: SB-Fig5-concluded.",
        "differs",
    )
