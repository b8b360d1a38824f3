"""Parts of a self-contained HTML page, JSON, and files that are written completely or not at all.

All text is escaped and figures are embedded, so that a page needs no other file.
"""

import base64
import html
import io
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["embedded", "figure", "number", "page", "plain", "png", "table", "text", "to_json", "write_files"]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b2430; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: 0.2rem } h2 { font-size: 1.15rem; margin-top: 2rem }
.lead { color: #51606f; margin-top: 0 }
table { display: block; max-width: 100%; overflow-x: auto; border-collapse: collapse; margin: 0.5rem 0 1rem;
  font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: 0.2rem 0.9rem 0.2rem 0; border-bottom: 1px solid #e3e8ee }
th { font-weight: 600; color: #51606f } th:first-child, td:first-child { text-align: left }
td.words { text-align: left; max-width: 26rem }
img { max-width: 100%; height: auto }
.warn { border-left: 4px solid #d1495b; padding: 0.3rem 0.8rem; background: #fdf3f4 }
.note { border-left: 4px solid #d9a441; padding: 0.3rem 0.8rem; background: #fdf8ee }
.ok { border-left: 4px solid #2a9d8f; padding: 0.3rem 0.8rem; background: #f1f9f8 } figure { margin: 0.5rem 0 }
figcaption { color: #51606f; font-size: 0.9rem }
"""


LONG = 26  # letters: longer cells are left-aligned


def page(title: str, parts: Iterable[str], style: str = "") -> str:
    """A page from parts in HTML; `style` is added to the style of all pages."""
    head = '<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
    return f"{head}<title>{text(title)}</title><style>{STYLE}{style}</style><body>{''.join(parts)}</body></html>\n"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    top = "".join(f"<th>{text(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(_cell(x) for x in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(x: Any) -> str:
    words = number(x)
    kind = " class=words" if isinstance(x, str) and len(words) > LONG else ""
    return f"<td{kind}>{text(words)}</td>"


def figure(drawing: "Figure | None", caption: str) -> str:
    return "" if drawing is None else embedded(png(drawing), caption)


def png(drawing: "Figure") -> bytes:
    file = io.BytesIO()
    drawing.savefig(file, format="png", dpi=130)
    return file.getvalue()


def embedded(image: bytes, caption: str) -> str:
    data = base64.b64encode(image).decode()
    tag = f'<img alt="{text(caption)}" src="data:image/png;base64,{data}">'
    return f"<figure>{tag}<figcaption>{text(caption)}</figcaption></figure>"


def text(words: Any) -> str:
    return html.escape(str(words), quote=True)


def number(x: Any) -> str:
    if isinstance(x, float):
        return "∞" if x == math.inf else "-" if not math.isfinite(x) else f"{x:.4g}"
    return str(x)


def plain(x: Any) -> Any:
    """Lists, dicts and numbers for JSON; None for numbers that are not finite."""
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [plain(value) for value in x]
    if hasattr(x, "tolist"):  # arrays and their scalars
        return plain(x.tolist())
    return None if isinstance(x, float) and not math.isfinite(x) else x


def to_json(record: Any) -> str:
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> list[Path]:
    """Write texts or bytes into a folder, each file completely or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in files.items():
        path, part = folder / name, folder / f".{os.getpid()}-{name}"
        try:
            part.write_bytes(content if isinstance(content, bytes) else content.encode())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        paths.append(path)
    return paths
