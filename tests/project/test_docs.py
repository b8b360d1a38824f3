"""The documentation: the Python blocks of every page run, its files are there, and no public name is missing.

The blocks of a page run one after another in one namespace, as a reader would run them, in single precision unless the
page asks for double. Blocks of other languages are left alone; but a tutorial prints what its text blocks show.
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

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PUBLIC = ["jimpact", "jimpact.identify", "jimpact.interop.torch", "jimpact.interop.mjx", "jimpact.plotting"]
PAGES = {str(path.relative_to(ROOT)): path for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))}
TUTORIALS = [page for page in PAGES if page.startswith("docs/tutorials/")]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
LIKE = {"rtol": 0.05, "atol": 0.02}  # of printed numbers: compilers round differently, and training amplifies that
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
    jax.clear_caches()  # what MJX traced in another precision does not fit
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


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.\d*", text)]


def test_blocks_are_found() -> None:
    assert len(blocks("README.md")) >= 4
    assert sum(bool(blocks(page)) for page in PAGES) >= 10
    assert modules(ast.parse("import a.b\nfrom c import d")) == {"a.b", "c"}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page not in ("README.md", *TUTORIALS) and blocks(page)])
def test_blocks_run(page: str, as_it_comes: None) -> None:
    run(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS)
def test_tutorials_print_what_they_show(page: str, capsys: pytest.CaptureFixture, as_it_comes: None) -> None:
    run(page)
    printed = capsys.readouterr().out
    shown = "".join(match[2] for match in FENCE.finditer(PAGES[page].read_text(encoding="utf-8")) if match[1] == "text")
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split()
    both = ([float(number) for number in NUMBER.findall(text)] for text in (printed, shown))
    np.testing.assert_allclose(*both, **LIKE)


@pytest.mark.slow
def test_readme_runs(capsys: pytest.CaptureFixture, as_it_comes: None) -> None:
    names = run("README.md")
    out = capsys.readouterr().out
    said = re.search(r"```text\n(.*?)```", PAGES["README.md"].read_text(encoding="utf-8"), re.DOTALL)[1]
    printed = "\n".join(out.splitlines()[: len(said.splitlines())])
    assert "lcr" in printed
    np.testing.assert_allclose(numbers(printed), numbers(said), rtol=1e-5)  # float32
    assert set(names["results"]) <= set(jimpact.LAWS)


@pytest.mark.slow
def test_a_row_of_beads_passes_its_speed_on(as_it_comes: None) -> None:
    assert np.asarray(run("docs/guide/planes_and_mechanisms.md")["row"].bodies.velocity)[2, 0] > 0.8


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    for target in LINK.findall(FENCE.sub("", PAGES[page].read_text(encoding="utf-8"))):
        assert (PAGES[page].parent / target).exists(), f"{page}: {target}"


@pytest.mark.parametrize("module", PUBLIC)
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
