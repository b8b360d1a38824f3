"""What section 2 says in words of where the planar rod turns back, sticks, and loses energy, on the fine grid."""

import numpy as np

from jimpact.reproduce import Finding, claim

from .plane_form import PlaneForm
from .plane_map import Maps, by_mode, ends
from .rod import STUCK, percent

__all__ = ["beside", "trends"]

ROUND_OFF = 1e-12


def trends(form: PlaneForm, m: Maps) -> list[Finding]:
    return [_normal(form, m), _varies(form, m), _back(form, m), _sticking(form, m), _edge(form, m), _speed(form, m)]


def beside(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cells of one kind that have a neighbour of the other kind, and those neighbours."""
    found = np.zeros_like(one)
    for a, b in ((one, other), (other, one)):
        found[:-1] |= a[:-1] & b[1:]
        found[1:] |= a[1:] & b[:-1]
        found[:, :-1] |= a[:, :-1] & b[:, 1:]
        found[:, 1:] |= a[:, 1:] & b[:, :-1]
    return found


def _normal(form: PlaneForm, m: Maps) -> Finding:
    normal, limits = m.normal["poisson"], form.limits
    near = np.abs(normal - 1) < limits.around
    fixed = np.abs(normal - 1) < ROUND_OFF
    return claim(
        "SB-Fig3-normal",
        "fig 3, sec. 2",
        f"normal velocity after / (e x before), Poisson: within {limits.around:g} of 1",
        form.printed.normal,
        f"{percent(near.mean())} of the cells; all are {ends(normal)}",
        bool(near.mean() > limits.most),
        f"More than {percent(limits.most)} counts as most. It is 1 within round-off in {percent(fixed.mean())}, "
        f"most of them of mode {_commonest(m.mode[fixed])}; of the other cells {percent(near[~fixed].mean())} are so.",
        "differs",
    )


def _varies(form: PlaneForm, m: Maps) -> Finding:
    far = np.abs(m.normal["poisson"] - 1)
    stuck, turned = float(far[m.stuck].mean()), float(far[m.turned].mean())
    return claim(
        "SB-Fig3-varies",
        "sec. 2",
        "normal velocity after / (e x before), Poisson: mean distance from 1 when it sticks, when it slides back",
        form.printed.normal_varies,
        f"{stuck:.3f}, {turned:.3f}",
        stuck > turned,
        f"By mode: {_listed(by_mode(far, m.mode), 3)}.",
        "differs",
    )


def _back(form: PlaneForm, m: Maps) -> Finding:
    slow = m.ratio < 0.5 * form.greatest_ratio
    shares = [float(m.turned[cells].mean()) for cells in (slow, ~slow, m.theta > 0, m.theta < 0)]
    words = [percent(share) for share in shares]
    return claim(
        "SB-Fig3-back",
        "fig 3, sec. 2",
        "cells that slide back",
        form.printed.back_often,
        f"ratio below {0.5 * form.greatest_ratio:g}: {words[0]}, above: {words[1]}; theta > 0: {words[2]}, below 0: "
        f"{words[3]}",
        shares[0] > shares[1] and shares[2] > shares[3],
        "Modes 2, 4 and 6.",
        "differs",
    )


def _sticking(form: PlaneForm, m: Maps) -> Finding:
    energy = m.energy["poisson"]
    together = ", more than those that stick: so read, it holds"
    means, stuck, rest = by_mode(energy, m.mode), float(energy[m.stuck].mean()), float(energy[~m.stuck].mean())
    least = min(means, key=means.__getitem__)
    others = [float(energy[cells].mean()) for cells in (m.mode == 0, m.turned)]
    return claim(
        "SB-Fig3-sticking",
        "sec. 2",
        "mean energy after / before: when it sticks, slides throughout, slides back",
        form.printed.sticking_loses,
        f"{stuck:.3f}, {others[0]:.3f}, {others[1]:.3f}",
        stuck < min(others),
        f"By mode: {_listed(means, 4)}: mode {least}, which {'sticks' if least in STUCK else 'does not stick'}, keeps "
        f"least. All cells that do not stick keep {rest:.3f} together{together if stuck < rest else ''}. The least of "
        f"all, {energy.min():.4f}, is at "
        f"{m.place(energy.argmin())}.",
        "convention" if stuck < rest else "differs",
    )


def _edge(form: PlaneForm, m: Maps) -> Finding:
    energy, part = m.energy["poisson"], form.limits.substantial
    edge = energy[beside(m.stuck, m.mode == 0)]
    limit = float(np.quantile(energy, part))
    return claim(
        "SB-Fig3-edge",
        "sec. 2",
        "mean energy after / before in cells at the edge between sliding throughout and sticking",
        form.printed.edge_loses,
        f"{edge.mean():.3f}, least {edge.min():.3f}; all cells {energy.mean():.3f}",
        bool(edge.mean() < limit),
        f"{percent(part)} of all cells have less than {limit:.3f}, which counts as substantial.",
        "differs",
    )


def _speed(form: PlaneForm, m: Maps) -> Finding:
    energy, limit = m.energy["poisson"], form.limits.nearly_all
    rises = np.diff(energy, axis=1)[:, 1:] > 0  # the first column starts at rest
    shares = by_mode(rises.astype(float), m.mode[:, 2:])
    lowest = m.ratio[0, energy.mean(0).argmin()]
    ahead = float((energy[:, -1] > energy[:, 1]).mean())
    return claim(
        "SB-Fig3-faster",
        "sec. 2",
        "energy after / before rises with slip before",
        form.printed.faster_keeps,
        f"in {percent(rises.mean())} of the steps in the ratio",
        bool(rises.mean() > limit),
        f"Less than {percent(limit)}. By mode {_listed(shares, 2)}. The mean over lean falls up to a ratio of "
        f"{lowest:.2f} and rises from there; at {form.greatest_ratio:g} more is left than at "
        f"{m.ratio[0, 1]:g} for {percent(ahead)} of the angles.",
        "differs",
    )


def _commonest(mode: np.ndarray) -> int:
    return int(np.bincount(mode).argmax())


def _listed(values: dict[int, float], digits: int) -> str:
    return ", ".join(f"{k}: {value:.{digits}f}" for k, value in values.items())
