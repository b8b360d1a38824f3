"""A fit as one self-contained HTML page, and as JSON. Text from the data is escaped."""

from typing import Any

import numpy as np

from jimpact.identify.audit import Audit
from jimpact.identify.compare import Comparison
from jimpact.identify.fit import Fit
from jimpact.laws import LAWS
from jimpact.output.html import figure, number, page, plain, table, text
from jimpact.plotting import fit_figures as plot_fit

__all__ = ["audit_record", "comparison_page", "comparison_record", "fit_page", "fit_record"]


def fit_page(fit: Fit, audit: Audit, intervals: dict[str, dict[str, tuple[float, float]]], source: str) -> str:
    """The report of a fit, as HTML; `intervals` by method, then by number."""
    known = [name for name, verdict in fit.identifiable.items() if verdict]
    lead = f"{audit.count} impacts from {source}, law {fit.choice.law} ({LAWS[fit.choice.law].reference})."
    parts = [f"<h1>Friction and restitution</h1><p class=lead>{text(lead)}</p>"]
    parts += [_estimates(fit, intervals)]
    for name, verdict in fit.identifiable.items():
        if not verdict:
            parts.append(f"<p class=warn>{text(name)} is not identifiable: {text(verdict.reason)}.</p>")
    parts += [figure(plot_fit.contour(fit), "Likelihood, maximised over the other parameters.")]
    parts += ["<h2>How well is each parameter known?</h2>"]
    parts += [figure(plot_fit.profiles(fit), "Profile likelihood; if it is a parabola, curvature suffices.")]
    parts += ["<h2>The data</h2>", _data(audit, False), _audit(audit)]
    parts += ["<h2>Does the law explain the data?</h2>", _goodness(fit)]
    parts += [figure(plot_fit.measured(fit), "Predicted against measured, in the units of each channel.")]
    parts += [figure(plot_fit.residuals(fit), "Residuals; red: those of the best impulse without any law.")]
    parts += ["<h2>The worst impacts</h2><p>Impact 0 is the first row of the data.</p>", _worst(fit)]
    caption = "Slip during the impact by the law (letters are events: c, d compression ends, starts again; l direction "
    caption += "invariant; s slip zero; r end), and the measured slip after the impact."
    parts += [figure(plot_fit.worst(fit), caption) if known else ""]
    return page("Friction and restitution", parts)


def comparison_page(compared: Comparison, audit: Audit, source: str) -> str:
    """The report of a comparison of laws, as HTML."""
    lead = f"{audit.count} impacts from {source}; every group predicted from the others, in {compared.folds} folds."
    channels = compared.best.fit.rebounds.channels
    head = ["law", "error", *(f"rms {name}" for name in channels), "AIC", "BIC"]
    rows, numbers = [], []
    for row in compared.rows:
        values = ", ".join(
            f"{n.replace('_', ' ')} {x:.3g}" for n, x in zip(row.fit.names, row.fit.numbers, strict=True)
        )
        note = f"{values}; no answer for {row.outside} impacts" if row.outside else values
        rows.append([row.law, row.score, *row.rms.tolist(), f"{row.fit.aic:.1f}", f"{row.fit.bic:.1f}"])
        numbers.append([row.law, note])
    parts = [f"<h1>Which law?</h1><p class=lead>{text(lead)}</p>", table(head, rows)]
    parts += ["<p>Error: held-out error in units of the noise; rms: the same in the units of each channel.</p>"]
    parts += [table(["law", "parameters, fitted to all"], numbers)]
    parts += [
        figure(plot_fit.comparison(compared), "Shorter is better."),
        figure(plot_fit.held_out(compared), "Residuals of held-out impacts: median, quartiles, and 5 to 95 %."),
        "<h2>The data</h2>",
        _data(audit),
        _audit(audit),
    ]
    return page("Which law?", parts)


def fit_record(fit: Fit, audit: Audit, intervals: dict[str, dict[str, tuple[float, float]]], source: str) -> dict:
    """A fit in plain Python; None for numbers that are not finite."""
    return plain(
        {
            "source": source,
            "law": fit.choice.law,
            "fixed": dict(fit.choice.fixed),
            "estimate": fit.estimate,
            "standard_error": fit.standard_error,
            "covariance": fit.covariance,
            "names": fit.names,
            "intervals": intervals,
            "identifiable": {
                name: {"identifiable": v.identifiable, "reason": v.reason, "low": v.low, "high": v.high}
                for name, v in fit.identifiable.items()
            },
            "log_likelihood": fit.log_likelihood,
            "aic": fit.aic,
            "bic": fit.bic,
            "rms": dict(zip(fit.rebounds.channels, fit.rms, strict=True)),
            "noise": dict(zip(fit.rebounds.channels, np.median(fit.sigma, 0), strict=True)),
            "excess": fit.excess,
            "no_answer": fit.no_answer,
            "starts": fit.starts,
            "agreed": fit.agreed,
            "converged": fit.converged,
            "audit": audit_record(audit),
        }
    )


def audit_record(audit: Audit) -> dict:
    """An audit in plain Python."""
    return plain(
        {
            "count": audit.count,
            "floor_rms": dict(zip(audit.channels, audit.floor.rms, strict=True)),
            "floor_freedom": audit.freedom,
            "floor_reduced_chi2": audit.reduced,
            **{name: getattr(audit, name) for name in ("separating", "pulling", "gaining", "outside", "outliers")},
            **{name: getattr(audit, name) for name in ("sticking", "reversing", "slipping", "speeds")},
            "suspicions": [suspicion._asdict() for suspicion in audit.suspicions],
            "sentences": audit.sentences,
        }
    )


def comparison_record(compared: Comparison, source: str) -> dict:
    """A comparison in plain Python."""
    rows = [
        {
            "law": row.law,
            "score": row.score,
            "rms": dict(zip(row.fit.rebounds.channels, row.rms, strict=True)),
            "aic": row.fit.aic,
            "bic": row.fit.bic,
            "estimate": row.fit.estimate,
            "no_answer": row.outside,
        }
        for row in compared.rows
    ]
    return plain({"source": source, "folds": compared.folds, "laws": rows})


def _estimates(fit: Fit, intervals: dict[str, dict[str, tuple[float, float]]]) -> str:
    head = ["parameter", "estimate", "standard error", *(f"95 % by {method}" for method in intervals), "known?"]
    rows = [
        [
            name.replace("_", " "),
            float(estimate),
            fit.standard_error[name],
            *(f"{number(ends[name][0])} to {number(ends[name][1])}" for ends in intervals.values()),
            "yes" if fit.identifiable[name] else "no",
        ]
        for name, estimate in zip(fit.names, fit.numbers, strict=True)
    ]
    return table(head, rows)


def _data(audit: Audit, floor: bool = True) -> str:
    low, middle, high = audit.speeds
    rows: list[list[Any]] = [
        ["impacts", audit.count],
        ["speed of approach (m/s)", f"{low:.3g} to {high:.3g}, median {middle:.3g}"],
        ["slip ends / is reversed / continues", " / ".join(f"{100 * x:.0f} %" for x in _shares(audit))],
    ]
    if floor and audit.noise_known:
        rows += [[f"momentum floor, {c}", float(rms)] for c, rms in zip(audit.channels, audit.floor.rms, strict=True)]
    return table(["", "value"], rows)


def _shares(audit: Audit) -> tuple[float, float, float]:
    return audit.sticking, audit.reversing, audit.slipping


def _audit(audit: Audit) -> str:
    kind = "warn" if audit.suspicions else "note" if audit.sentences else "ok"
    sentences = audit.sentences or [
        "nothing suspicious: momentum balances, no energy is gained, impulses are in a cone"
    ]
    return "".join(f"<p class={kind}>{text(sentence[0].upper() + sentence[1:])}.</p>" for sentence in sentences)


def _goodness(fit: Fit) -> str:
    rows: list[list[Any]] = [
        [plot_fit.with_unit(name), float(fit.rms[c]), float(fit.floor.rms[c]), float(np.median(fit.sigma[:, c]))]
        for c, name in enumerate(fit.rebounds.channels)
    ]
    estimated = " (estimated)" if fit.estimated.any() else ""
    channels = table(["channel", "rms of the law", "rms of any impulse", f"noise{estimated}"], rows)
    words = (
        f"The residual beyond the momentum floor is {fit.excess:.3g} times the noise. Log-likelihood "
        f"{fit.log_likelihood:.1f}, AIC {fit.aic:.1f}, BIC {fit.bic:.1f}; {fit.agreed} of {fit.starts} starts agree."
    )
    cautions = "".join(f"<p class=warn>{text(words[0].upper() + words[1:])}.</p>" for words in fit.cautions)
    return channels + cautions + f"<p>{text(words)}</p>"


def _worst(fit: Fit) -> str:
    square = np.nansum((fit.residuals / fit.sigma) ** 2, -1) / np.maximum(np.isfinite(fit.sigma).sum(-1), 1)
    head = ["impact", "residual / noise", *map(plot_fit.with_unit, fit.rebounds.channels)]
    left = fit.residuals
    return table(head, [[i, float(np.sqrt(square[i])), *left[i].tolist()] for i in plot_fit.worst_impacts(fit)])
