"""The documentation: the Python blocks of every page run, its files are there, and no public name is missing.

The blocks of a page run one after another in one namespace, as a reader would run them, in single precision unless the
page asks for double. Blocks of other languages are left alone.
"""

import ast
import importlib
import re
from pathlib import Path

import jax
import numpy as np
import pytest

import jimpact
import jimpact.identify

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {str(path.relative_to(ROOT)): path for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))}
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def blocks(page: str) -> list[ast.Module]:
    """Python blocks, with the lines that they have on the page."""
    text = PAGES[page].read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        if match[1] == "python":
            above = text.count("\n", 0, match.start(2))
            found.append(ast.parse("\n" * above + match[2], page))
    return found


def modules(block: ast.Module) -> set[str]:
    """Modules that a block imports."""
    names = {alias.name for node in ast.walk(block) if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module for node in ast.walk(block) if isinstance(node, ast.ImportFrom) and node.module}


@pytest.fixture
def as_it_comes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Single precision, and a directory where a page may write."""
    monkeypatch.chdir(tmp_path)
    laws = dict(jimpact.LAWS)
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)
    jimpact.LAWS.clear()
    jimpact.LAWS.update(laws)


def run(page: str) -> dict[str, object]:
    names: dict[str, object] = {"__name__": "page"}
    code = blocks(page)
    for name in sorted(set().union(*map(modules, code))):
        pytest.importorskip(name, exc_type=ImportError)
    if "export_solve" in PAGES[page].read_text(encoding="utf-8"):
        pytest.importorskip("flatbuffers")
    for block in code:
        exec(compile(block, PAGES[page], "exec"), names)
    return names


def test_blocks_are_found() -> None:
    assert len(blocks("README.md")) >= 4
    assert sum(bool(blocks(page)) for page in PAGES) >= 10
    assert modules(ast.parse("import a.b\nfrom c import d")) == {"a.b", "c"}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page != "README.md" and blocks(page)])
def test_blocks_run(page: str, as_it_comes: None) -> None:
    run(page)


@pytest.mark.slow
def test_readme_runs(capsys: pytest.CaptureFixture, as_it_comes: None) -> None:
    names = run("README.md")
    assert "lcr" in capsys.readouterr().out
    assert np.asarray(names["row"].bodies.velocity)[2, 0] > 0.8
    assert set(names["results"]) <= set(jimpact.LAWS)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    for target in LINK.findall(FENCE.sub("", PAGES[page].read_text(encoding="utf-8"))):
        assert (PAGES[page].parent / target).exists(), f"{page}: {target}"


@pytest.mark.parametrize("module", ["jimpact", "jimpact.identify", "jimpact.interop.torch", "jimpact.interop.mjx"])
def test_every_public_name_is_in_the_reference(module: str) -> None:
    named = "\n".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").glob("*.md")))
    known = set(re.findall(r"^\.\. (?:auto|py:)\w+:: (?:[\w.]+\.)?(\w+)$", named, re.MULTILINE))
    try:
        public = set(importlib.import_module(module).__all__)
    except ImportError as error:
        pytest.skip(str(error))
    assert public <= known, sorted(public - known)


def test_every_page_is_in_the_site() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"index"}
    assert pages == {line for line in index.splitlines() if line in pages}
