"""Parts of papers, and running them: each reads one configuration, and keeps what it found as JSON and figures.

A part that is finished is not computed again while its configuration, its code and the version stay the same.
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
from jimpact.config import ConfigError, Table, read
from jimpact.page import plain, png, to_json, write_files
from jimpact.reproduce.batch import Progress
from jimpact.reproduce.findings import Result

__all__ = ["PAPERS", "Paper", "Part", "Record", "checkout", "chosen", "kept", "load_papers", "run_part"]

PAPERS = ("jia_wang", "baber", "sun_baruh", "chatterjee_ruina", "morgan")


@dataclass(frozen=True)
class Part:
    """One number, table or figure of a paper, or a few that belong together."""

    key: str  # "fig6"
    title: str
    config: str  # below configs/, "jia_wang/fig6.toml"
    form: type[Table]  # what the configuration may say
    run: Callable[[Any, Progress], Result]


@dataclass(frozen=True)
class Paper:
    """A paper and its parts, in the paper's order."""

    key: str
    title: str
    citation: str
    parts: Sequence[Part]
    notes: str = ""  # symbols and words that the rows use


@dataclass(frozen=True)
class Record:
    """What is kept of a finished part; pictures are files beside it."""

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
    """The folder with `experiments/` and `configs/`: where the package is installed from, or the current one."""
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
    every = [(paper, part) for paper in papers for part in paper.parts]
    names = {f"{paper.key}/{part.key}": {(paper.key, part.key)} for paper, part in every}
    for paper, part in every:
        names.setdefault(paper.key, set()).add((paper.key, part.key))
        names.setdefault("all", set()).add((paper.key, part.key))
    for name in wanted:
        if name not in names:
            key = name.split("/")[0]
            allowed = [n for n in names if n.startswith(f"{key}/")] or ["all", *(paper.key for paper in papers)]
            raise ConfigError(f"{name}: nothing of that name to reproduce; pass one of {', '.join(allowed)}")
    keys = set().union(*(names[name] for name in wanted or ["all"]))
    return [(paper, part) for paper, part in every if (paper.key, part.key) in keys]


def kept(paper: Paper, part: Part, root: Path, configs: Path, out: Path) -> Record | None:
    """The finished part, if nothing changed since."""
    path = out / paper.key / f"{part.key}.json"
    try:
        record = Record(**json.loads(path.read_text(encoding="utf-8")))
        there = all((path.parent / f"{picture['name']}.png").is_file() for picture in record.pictures)
    except (OSError, ValueError, TypeError):
        return None
    return record if there and record.stamp == _stamp(paper, part, root, configs) else None


def run_part(paper: Paper, part: Part, root: Path, configs: Path, out: Path, progress: Progress) -> Record:
    """Compute a part and keep it; the record is written last, so what has one is whole."""
    begin = time.perf_counter()
    result = part.run(read(configs / part.config, part.form), progress)
    folder = out / paper.key
    write_files(folder, {f"{picture.name}.png": png(picture.figure) for picture in result.pictures})
    record = Record(
        paper.key,
        part.key,
        part.title,
        f"configs/{part.config}",
        _stamp(paper, part, root, configs),
        time.perf_counter() - begin,
        [plain(finding._asdict()) for finding in result.findings],
        [{"name": picture.name, "caption": picture.caption} for picture in result.pictures],
        [plain(grid._asdict()) for grid in result.grids],
    )
    write_files(folder, {f"{part.key}.json": to_json(asdict(record))})
    return record


def _stamp(paper: Paper, part: Part, root: Path, configs: Path) -> str:
    """Changes with the configuration, the code of the paper, and the version."""
    code = sorted((root / "experiments" / paper.key).glob("*.py"))
    digest = hashlib.sha256(jimpact.__version__.encode())
    for path in (configs / part.config, *code):
        digest.update(path.read_bytes())
    return digest.hexdigest()
