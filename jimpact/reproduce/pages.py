"""The table of agreement as Markdown, and as one HTML page with the figures."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jimpact.output.html import embedded, number, page, table, text
from jimpact.reproduce.findings import VERDICTS
from jimpact.reproduce.parts import Paper, PartRecord

__all__ = ["html_page", "markdown_page", "tally"]

HEAD = ("id", "where", "what", "printed", "computed", "digits", "verdict", "why")
LEAD = (
    "Every number, table and figure of five papers, recomputed by `jimpact reproduce` from the configurations in "
    "`configs/`; this page is generated. Digits: how many agree, of the largest number printed. The papers were read "
    "as extracted text, so that a misprint of a symbol may be a loss of the extraction. Events are letters: c end of "
    "compression, s slip is zero, l the direction of slip is invariant, d a further compression begins, r the end."
)
MEANINGS = {
    "agrees": "right to a unit of the last printed digit, or in the words of the claim",
    "convention": "the same answer under another reading, tolerance or definition",
    "misprint": "the paper prints something else, with the evidence",
    "differs": "the paper prints something else and no misprint explains it",
    "unchecked": "the text gives nothing to compare with",
    "new": "the paper does not say it",
}
WIDE = """
body { max-width: 88rem } h1 { margin-top: 2.5rem } figure { max-width: 60rem }
.findings { font-size: 0.85rem; width: 100% } .findings th, .findings td { text-align: left; vertical-align: top }
.findings td:first-child { white-space: nowrap } .findings td:last-child { min-width: 24rem }
.agrees .verdict { color: #1f7a6d } .misprint .verdict, .differs .verdict { color: #b3273c; font-weight: 600 }
.convention .verdict { color: #9a6b00 } .unchecked .verdict, .new .verdict { color: #51606f }
.parts { columns: 3; font-size: 0.9rem } .scroll { overflow-x: auto }
"""


def tally(records: Iterable[PartRecord]) -> dict[str, int]:
    """Number of findings with each verdict."""
    counts = Counter(finding["verdict"] for record in records for finding in record.findings)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def markdown_page(papers: Sequence[Paper], records: Sequence[PartRecord]) -> str:
    lines = ["# Five papers, reproduced", "", LEAD, ""]
    lines += _markdown(("verdict", "meaning", *(paper.key for paper in papers), "all"), _summary(papers, records))
    for paper in papers:
        own = [record for record in records if record.paper == paper.key]
        lines += ["", f"## {paper.title}", "", paper.citation, ""]
        lines += [paper.notes, ""] if paper.notes else []
        for record in own:
            lines += [f"### {record.title}", "", f"`jimpact reproduce {record.paper}/{record.part}`, {record.config}"]
            if record.findings:
                lines += ["", *_markdown(HEAD, map(_row, record.findings))]
            for grid in record.grids:
                lines += ["", grid["title"], "", *_markdown(grid["columns"], grid["rows"])]
            lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def html_page(papers: Sequence[Paper], records: Sequence[PartRecord], out: Path) -> str:
    parts = [f"<h1>Five papers, reproduced</h1><p class=lead>{text(LEAD.replace('`', ''))}</p>"]
    parts += [table(("verdict", "meaning", *(paper.key for paper in papers), "all"), _summary(papers, records))]
    links = [f'<a href="#{text(_anchor(r))}">{text(_anchor(r))}</a> {text(r.title)}' for r in records]
    parts += [f"<p class=parts>{'<br>'.join(links)}</p>"]
    for paper in papers:
        parts += [f"<h1>{text(paper.title)}</h1><p class=lead>{text(paper.citation)}</p><p>{text(paper.notes)}</p>"]
        for record in (record for record in records if record.paper == paper.key):
            parts += [f'<h2 id="{text(_anchor(record))}">{text(record.title)}</h2>', _findings(record.findings)]
            for grid in record.grids:
                cells = table(grid["columns"], grid["rows"])
                parts += [f"<p>{text(grid['title'])}</p><div class=scroll>{cells}</div>"]
            for picture in record.pictures:
                image = (out / record.paper / f"{picture['name']}.png").read_bytes()
                parts += [embedded(image, picture["caption"])]
    return page("Five papers, reproduced", parts, WIDE)


def _anchor(record: PartRecord) -> str:
    return f"{record.paper}/{record.part}"


def _findings(findings: Iterable[dict]) -> str:
    """The table of findings, each row marked with its verdict."""
    top = "".join(f"<th>{name}</th>" for name in HEAD)
    rows = []
    for finding in findings:
        cells = zip(HEAD, _row(finding), strict=True)
        inner = "".join(f"<td{' class=verdict' if name == 'verdict' else ''}>{text(x)}</td>" for name, x in cells)
        rows.append(f'<tr class="{text(finding["verdict"])}">{inner}</tr>')
    return f"<table class=findings><thead><tr>{top}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _summary(papers: Sequence[Paper], records: Sequence[PartRecord]) -> list[list[Any]]:
    by_paper = [tally(record for record in records if record.paper == paper.key) for paper in papers]
    every = tally(records)
    return [[v, MEANINGS[v], *(counts[v] for counts in by_paper), every[v]] for v in VERDICTS]


def _row(finding: dict) -> list[str]:
    digits = finding["digits"]
    return [*(finding[key] for key in HEAD[:5]), "" if digits is None else f"{digits:.1f}", *map(finding.get, HEAD[6:])]


def _markdown(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = [_line(head), _line(["---"] * len(head))]
    return lines + [_line([number(x) for x in row]) for row in rows]


def _line(cells: Sequence[str]) -> str:
    clean = (cell.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(clean)} |"
