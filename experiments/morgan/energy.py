"""Energy exchanged during an impact, split into the parts of the normal and the frictional impulse: fig 2.6.

| symbol | meaning | unit |
|---|---|---|
| E | change of kinetic energy, (2.14) | J |
| E_n, E_f | its parts by the normal impulse, (2.18), and by friction, (2.19) | J |
"""

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from jimpact.reproduce import Finding, Picture, Progress, Result, claim, new, trace_many, unchecked

from .algorithm import Solved
from .crowd import Crowd, by_text, in_space
from .forms import ImpactsForm
from .paths import impacts_of

__all__ = ["run"]

ROUND_OFF = 1e-12  # of the energy lost
COLORS = {"E": "#1f4e9c", "E_n": "#2a9d8f", "E_f": "#d1495b"}


class Ledger(NamedTuple):
    """Along the traced impacts, (impacts, samples)."""

    p: np.ndarray  # N s
    E: np.ndarray  # J, from the speeds
    E_n: np.ndarray  # the work of the normal force, as traced
    E_f: np.ndarray  # the work of friction, trapezia (exact: slip is linear between samples)
    v_n: np.ndarray  # m/s


def run(form: ImpactsForm, progress: Progress) -> Result:
    crowd = impacts_of(form)
    text, ledger = by_text(crowd), _ledger(crowd)
    caption = "Energy exchanged in the example, total and in parts, against the normal impulse (fig 2.6)."
    return Result(_findings(crowd, text, ledger), [Picture("fig2_6", _figure(ledger, text[0]), caption)])


def _ledger(crowd: Crowd) -> Ledger:
    """Traced by jimpact with the plane embedded in space."""
    W, v = in_space(crowd)
    path = trace_many(W, v, crowd.friction, crowd.restitution)
    u = crowd.u[:, None] + np.einsum("nij,nsj->nsi", np.linalg.solve(crowd.M, crowd.J.mT), path.impulse[..., ::2])
    kinetic = 0.5 * np.einsum("nsi,nij,nsj->ns", u, crowd.M, u)
    slip, friction = path.sliding_velocity[..., 0], np.diff(path.impulse[..., 0], axis=-1)
    steps = 0.5 * (slip[:, 1:] + slip[:, :-1]) * friction
    E_f = np.concatenate([np.zeros((len(v), 1)), np.cumsum(steps, -1)], -1)
    p, work, v_n = (np.asarray(a) for a in (path.normal_impulse, path.work, path.normal_velocity))
    return Ledger(p, kinetic - kinetic[:, :1], work, E_f, v_n)


def _findings(crowd: Crowd, text: list[Solved], ledger: Ledger) -> list[Finding]:
    size = np.abs(ledger.E_n).max(-1, keepdims=True)
    gap = float((np.abs(ledger.E - ledger.E_n - ledger.E_f) / size).max())
    rise = float((np.diff(ledger.E_f, axis=-1) / size).max())
    by_formula = np.array([_by_formula(crowd, i, one, ledger.p[i]) for i, one in enumerate(text)])
    off = float((np.abs(by_formula - ledger.E_n) / size).max())
    deepest = ledger.E_n.argmin(-1)
    rows = np.arange(len(text))
    left = float((np.abs(ledger.v_n[rows, deepest]) / np.abs(ledger.v_n[:, 0])).max())
    ratio = ledger.E_n[:, -1] / ledger.E_n[rows, deepest]
    stop = float(np.abs(ratio - (1 - crowd.restitution**2)).max())
    n, samples = ledger.p.shape
    where = f"{n} impacts, {samples} samples each, traced by jimpact; relative to the work of compression."
    return [
        claim(
            "M-2.18", "section 2.2.3", "parts of the energy", "E = E_n + E_f", f"to {gap:.0e}", gap < ROUND_OFF, where
        ),
        claim(
            "M-2.19",
            "section 2.2.3",
            "friction takes energy",
            "must always extract kinetic energy",
            f"largest gain {max(rise, 0.0):.0e}",
            rise < ROUND_OFF,
            where,
        ),
        claim(
            "M-2.21",
            "(2.21)",
            "E_n along the impact",
            "E_n = u^T M L_n p_n + 1/2 (L_n + mu L_t)^T M L_n p_n^2 + E_n^0",
            f"to {off:.0e}",
            off < ROUND_OFF,
            where,
        ),
        claim(
            "M-extreme",
            "section 2.2.3",
            "where E_n is lowest",
            "the extreme point of the E_n curve: v_n = 0",
            f"|v_n| there at most {left:.0e} of that before",
            left < ROUND_OFF,
        ),
        new(
            "M-stop",
            "section 2.2.3",
            "E_n at the end / at its lowest",
            f"1 - e² to {stop:.0e}",
            "The text prints no formula; 1 - e² is that of the usual energetic coefficient, see M-cor.",
        ),
        unchecked(
            "M-fig2.6",
            "fig 2.6",
            "E_n at the pauses and at the end; E at the end",
            f"{', '.join(f'{stop.E:.6g} ({stop.event})' for stop in text[0].stops[1:])}; {ledger.E[0, -1]:.6g} J",
            "A drawing without numbers; ours is for the configured example.",
        ),
    ]


def _by_formula(crowd: Crowd, i: int, solved: Solved, p: np.ndarray) -> np.ndarray:
    """(2.21) at given normal impulses, piece by piece."""
    M, J = crowd.M[i], crowd.J[i]
    Lt, Ln = np.linalg.solve(M, J.T).T
    bend = next((stop.p for stop in solved.stops if stop.event == "v_t = 0"), np.inf)
    E = np.zeros_like(p)
    for stop, k in zip([s for s in solved.stops if s.event in ("start", "v_t = 0")], solved.frictions, strict=True):
        further = p - stop.p
        line = Ln + k * Lt
        piece = stop.E + stop.u @ M @ Ln * further + 0.5 * (line @ M @ Ln) * further**2
        E = np.where(p >= stop.p if stop.p == bend else p < bend, piece, E)
    return E


def _figure(ledger: Ledger, solved: Solved) -> Figure:
    fig = Figure(figsize=(8.4, 5.0), layout="constrained")
    ax = fig.add_subplot()
    p = ledger.p[0]
    labels = {"E": "$E$, kinetic energy", "E_n": "$E_n$, normal part", "E_f": "$E_f$, frictional part"}
    for key, label in labels.items():
        ax.plot(p, getattr(ledger, key)[0], color=COLORS[key], lw=2.2, label=label)
    ax.axhline(0, color="0.35", lw=0.8)
    low = min(ledger.E[0].min(), ledger.E_n[0].min())
    names = {"v_t = 0": "$v_t = 0$\nslip turns", "v_n = 0": "$v_n = 0$\ncompression ends", "end": "end"}
    for stop in solved.stops[1:]:
        ax.axvline(stop.p, color="0.55", lw=0.9, ls=":")
        ax.plot(stop.p, stop.E, "o", color=COLORS["E_n"], ms=6, zorder=4, clip_on=False)
        ax.text(stop.p, 0.03 * -low, names[stop.event], ha="center", va="bottom", fontsize=10)
    ax.set(
        xlabel="normal impulse $p_n$ (N s)",
        ylabel="energy exchanged (J)",
        xlim=(0, 1.04 * p[-1]),
        ylim=(1.06 * low, -0.2 * low),
    )
    ax.legend(loc="lower left", frameon=False)
    ax.grid(color="0.92", lw=0.6)
    return fig
