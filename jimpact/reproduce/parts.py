"""Parts of papers, and their computation: each reads one configuration, and stores its findings as JSON and figures.

A finished part is computed again only if its configuration, its code or the version has changed.
"""

import hashlib
import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jimpact
from jimpact.output.html import plain, png, to_json, write_files
from jimpact.reproduce.batch import LabelledProgress
from jimpact.reproduce.findings import Result, Rows, judged
from jimpact.schemas.config import ConfigError, Table, read

__all__ = ["PAPERS", "Paper", "Part", "PartRecord", "checkout", "chosen", "kept", "load_papers", "run_part"]

PAPERS = ("jia_wang", "baber", "sun_baruh", "chatterjee_ruina", "morgan")


@dataclass(frozen=True)
class Part:
    """One number, table or figure of a paper, or a few that belong together."""

    key: str  # "fig6"
    title: str
    config: str  # path in configs/, "jia_wang/fig6.toml"
    form: type[Table]  # schema of the configuration
    run: Callable[[Any, LabelledProgress], Result]


@dataclass(frozen=True)
class Paper:
    """A paper and its parts, in the paper's order."""

    key: str
    title: str
    citation: str
    parts: Sequence[Part]
    notes: str = ""  # symbols and words in the rows
    rows: Rows = field(default_factory=dict)


@dataclass(frozen=True)
class PartRecord:
    """The stored record of a finished part; pictures are files in the same folder."""

    paper: str
    part: str
    title: str
    config: str
    stamp: str
    seconds: float
    findings: list[dict]
    pictures: list[dict] = field(default_factory=list)
    grids: list[dict] = field(default_factory=list)


def checkout() -> Path:
    """The folder with `experiments/` and `configs/`: that from which the package is installed, or the current one."""
    for root in (Path(jimpact.__file__).resolve().parents[1], Path.cwd()):
        if (root / "experiments" / PAPERS[0]).is_dir() and (root / "configs").is_dir():
            return root
    raise ConfigError("no experiments/ and configs/ here: run it in a checkout of the project")


def load_papers(root: Path) -> list[Paper]:
    """The papers of a checkout."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return [importlib.import_module(f"experiments.{key}").PAPER for key in PAPERS]


def chosen(papers: Sequence[Paper], wanted: Sequence[str]) -> list[tuple[Paper, Part]]:
    """Parts by name: all, paper, or paper/part; without names, all."""
    every = {(paper.key, f"{paper.key}/{part.key}"): (paper, part) for paper in papers for part in paper.parts}
    names = {name for pair in every for name in pair} | {"all"}
    for name in wanted:
        if name not in names:
            own = [part for paper, part in every if paper == name.split("/")[0]]
            allowed = own or ["all", *(paper.key for paper in papers)]
            raise ConfigError(f"{name}: no paper or part has this name; pass one of {', '.join(allowed)}")
    return [one for pair, one in every.items() if {"all", *pair} & set(wanted or ["all"])]


def kept(paper: Paper, part: Part, root: Path, configs: Path, out: Path) -> PartRecord | None:
    """The record of the finished part, if nothing has changed since."""
    path = out / paper.key / f"{part.key}.json"
    try:
        record = PartRecord(**json.loads(path.read_text(encoding="utf-8")))
        there = all((path.parent / f"{picture['name']}.png").is_file() for picture in record.pictures)
    except (OSError, ValueError, TypeError):
        return None
    return record if there and record.stamp == _stamp(paper, part, root, configs) else None


def run_part(paper: Paper, part: Part, root: Path, configs: Path, out: Path, progress: LabelledProgress) -> PartRecord:
    """Compute a part and store it; the record is written last, so a part with a record is complete."""
    begin = time.perf_counter()
    result = part.run(read(configs / part.config, part.form), progress)
    findings = judged(paper.rows.get(part.key, {}), result.findings)
    folder = out / paper.key
    write_files(folder, {f"{picture.name}.png": png(picture.figure) for picture in result.pictures})
    record = PartRecord(
        paper.key,
        part.key,
        part.title,
        f"configs/{part.config}",
        _stamp(paper, part, root, configs),
        time.perf_counter() - begin,
        [plain(finding._asdict()) for finding in findings],
        [{"name": picture.name, "caption": picture.caption} for picture in result.pictures],
        [plain(grid._asdict()) for grid in result.grids],
    )
    write_files(folder, {f"{part.key}.json": to_json(asdict(record))})
    return record


def _stamp(paper: Paper, part: Part, root: Path, configs: Path) -> str:
    """A stamp that changes with the configuration, the code of the paper, and the version."""
    folder = root / "experiments" / paper.key
    code = sorted([*folder.glob("*.py"), *folder.glob("*.toml")])
    digest = hashlib.sha256(jimpact.__version__.encode())
    for path in (configs / part.config, *code):
        digest.update(path.read_bytes())
    return digest.hexdigest()
