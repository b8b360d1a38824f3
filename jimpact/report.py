"""A fit as one self-contained HTML page, and as JSON. Text that came with the data is escaped."""

import base64
import html
import io
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from jimpact import plot_fit
from jimpact.identify.audit import Audit
from jimpact.identify.compare import Comparison
from jimpact.identify.fit import Fit
from jimpact.laws import LAWS

__all__ = ["audit_record", "comparison_page", "comparison_record", "fit_page", "fit_record", "to_json", "write_files"]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b2430; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: 0.2rem } h2 { font-size: 1.15rem; margin-top: 2rem }
.lead { color: #51606f; margin-top: 0 }
table { border-collapse: collapse; margin: 0.5rem 0 1rem; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: 0.2rem 0.9rem 0.2rem 0; border-bottom: 1px solid #e3e8ee }
th { font-weight: 600; color: #51606f } th:first-child, td:first-child { text-align: left }
img { max-width: 100%; height: auto }
.warn { border-left: 4px solid #d1495b; padding: 0.3rem 0.8rem; background: #fdf3f4 }
.ok { border-left: 4px solid #2a9d8f; padding: 0.3rem 0.8rem; background: #f1f9f8 } figure { margin: 0.5rem 0 }
figcaption { color: #51606f; font-size: 0.9rem }
"""


def fit_page(fit: Fit, audit: Audit, intervals: dict[str, dict[str, tuple[float, float]]], source: str) -> str:
    """The report of a fit, as HTML; `intervals` by method, then by number."""
    known = [name for name, verdict in fit.identifiable.items() if verdict]
    lead = f"{audit.count} impacts from {source}, law {fit.choice.law} ({LAWS[fit.choice.law].reference})."
    parts = [f"<h1>Friction and restitution</h1><p class=lead>{_text(lead)}</p>"]
    parts += [_estimates(fit, intervals)]
    for name, verdict in fit.identifiable.items():
        if not verdict:
            parts.append(f"<p class=warn>{_text(name)} is not identifiable: {_text(verdict.reason)}.</p>")
    parts += [_figure(plot_fit.contour(fit), "Likelihood; other parameters are maximised over.")]
    parts += ["<h2>How well is each parameter known?</h2>"]
    parts += [_figure(plot_fit.profiles(fit), "Profile likelihood; a parabola means that the curvature tells all.")]
    parts += ["<h2>The data</h2>", _data(audit, False), _audit(audit)]
    parts += ["<h2>Does the law explain them?</h2>", _goodness(fit)]
    parts += [_figure(plot_fit.measured(fit), "Predicted against measured, in the units of each channel.")]
    parts += [_figure(plot_fit.residuals(fit), "Residuals; red: what is left if any impulse is allowed.")]
    parts += ["<h2>The worst impacts</h2>", _worst(fit)]
    caption = "Sliding velocity during the impact as the law has it, and where it was measured to end."
    parts += [_figure(plot_fit.worst(fit), caption) if known else ""]
    return _page("Friction and restitution", parts)


def comparison_page(table: Comparison, audit: Audit, source: str) -> str:
    """The report of a comparison of laws, as HTML."""
    lead = f"{audit.count} impacts from {source}; every group predicted from the others, in {table.folds} folds."
    channels = table.best.fit.rebounds.channels
    head = ["law", "held-out error / noise", *(f"rms {name}" for name in channels), "AIC", "BIC", "parameters"]
    rows = []
    for row in table.rows:
        values = ", ".join(
            f"{n.replace('_', ' ')} {x:.3g}" for n, x in zip(row.fit.names, row.fit.numbers, strict=True)
        )
        note = f"{values}; no answer for {row.outside} impacts" if row.outside else values
        rows.append([row.law, row.score, *row.rms.tolist(), row.fit.aic, row.fit.bic, note])
    parts = [f"<h1>Which law?</h1><p class=lead>{_text(lead)}</p>", _table(head, rows)]
    parts += [
        _figure(plot_fit.comparison(table), "Shorter is better."),
        "<h2>The data</h2>",
        _data(audit),
        _audit(audit),
    ]
    return _page("Which law?", parts)


def fit_record(fit: Fit, audit: Audit, intervals: dict[str, dict[str, tuple[float, float]]], source: str) -> dict:
    """Everything about a fit in plain Python; None for what is not finite."""
    return _plain(
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
    return _plain(
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


def comparison_record(table: Comparison, source: str) -> dict:
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
        for row in table.rows
    ]
    return _plain({"source": source, "folds": table.folds, "laws": rows})


def write_files(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write texts into a folder, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in files.items():
        path, part = folder / name, folder / f".{os.getpid()}-{name}"
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        paths.append(path)
    return paths


def to_json(record: dict) -> str:
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def _estimates(fit: Fit, intervals: dict[str, dict[str, tuple[float, float]]]) -> str:
    head = ["parameter", "estimate", "standard error", *(f"95 % by {method}" for method in intervals), "known?"]
    rows = [
        [
            name.replace("_", " "),
            float(number),
            fit.standard_error[name],
            *(f"{_number(ends[name][0])} to {_number(ends[name][1])}" for ends in intervals.values()),
            "yes" if fit.identifiable[name] else "no",
        ]
        for name, number in zip(fit.names, fit.numbers, strict=True)
    ]
    return _table(head, rows)


def _data(audit: Audit, floor: bool = True) -> str:
    low, middle, high = audit.speeds
    rows: list[list[Any]] = [
        ["impacts", audit.count],
        ["speed of approach (m/s)", f"{low:.3g} to {high:.3g}, median {middle:.3g}"],
        ["slip ends / comes back / goes on", " / ".join(f"{100 * x:.0f} %" for x in _shares(audit))],
    ]
    if floor and audit.noise_known:
        rows += [[f"momentum floor, {c}", float(rms)] for c, rms in zip(audit.channels, audit.floor.rms, strict=True)]
    return _table(["", "value"], rows)


def _shares(audit: Audit) -> tuple[float, float, float]:
    return audit.sticking, audit.reversing, audit.slipping


def _audit(audit: Audit) -> str:
    kind = "warn" if audit.suspicions else "ok"
    sentences = audit.sentences or [
        "nothing suspicious: momentum balances, no energy is gained, impulses are in a cone"
    ]
    return "".join(f"<p class={kind}>{_text(sentence[0].upper() + sentence[1:])}.</p>" for sentence in sentences)


def _goodness(fit: Fit) -> str:
    rows: list[list[Any]] = [
        [name, float(fit.rms[c]), float(fit.floor.rms[c]), float(np.median(fit.sigma[:, c]))]
        for c, name in enumerate(fit.rebounds.channels)
    ]
    estimated = " (estimated)" if fit.estimated.any() else ""
    table = _table(["channel", "rms of the law", "rms of any impulse", f"noise{estimated}"], rows)
    words = (
        f"Beyond what no impulse can explain, the law leaves {fit.excess:.3g} times the noise. Log-likelihood "
        f"{fit.log_likelihood:.1f}, AIC {fit.aic:.1f}, BIC {fit.bic:.1f}; {fit.agreed} of {fit.starts} starts agree."
    )
    lost = f"<p class=warn>The law has no answer for {fit.no_answer} impacts.</p>" if fit.no_answer else ""
    return table + lost + f"<p>{_text(words)}</p>"


def _worst(fit: Fit) -> str:
    square = np.nansum((fit.residuals / fit.sigma) ** 2, -1) / np.maximum(np.isfinite(fit.sigma).sum(-1), 1)
    head = ["impact", "residual / noise", *fit.rebounds.channels]
    left = fit.residuals
    return _table(head, [[i, float(np.sqrt(square[i])), *left[i].tolist()] for i in plot_fit.worst_impacts(fit)])


def _page(title: str, parts: Iterable[str]) -> str:
    head = '<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
    return f"{head}<title>{_text(title)}</title><style>{STYLE}</style><body>{''.join(parts)}</body></html>\n"


def _table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    top = "".join(f"<th>{_text(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{_text(_number(x))}</td>" for x in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _figure(figure: Figure | None, caption: str) -> str:
    if figure is None:
        return ""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=130)
    data = base64.b64encode(file.getvalue()).decode()
    image = f'<img alt="{_text(caption)}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{_text(caption)}</figcaption></figure>"


def _text(words: Any) -> str:
    return html.escape(str(words), quote=True)


def _number(x: Any) -> str:
    if isinstance(x, float):
        return "∞" if x == math.inf else "-" if not math.isfinite(x) else f"{x:.4g}"
    return str(x)


def _plain(x: Any) -> Any:
    """Lists, dicts and numbers for JSON."""
    if isinstance(x, dict):
        return {str(key): _plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(value) for value in x]
    if isinstance(x, np.ndarray):
        return _plain(x.tolist())
    if isinstance(x, np.generic):
        return _plain(x.item())
    return None if isinstance(x, float) and not math.isfinite(x) else x
