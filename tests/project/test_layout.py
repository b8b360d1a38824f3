"""The shape of the package: who imports whom, what an import costs, what the files may say."""

import ast
import os
import re
import shutil
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "jimpact"
LONGEST = 300  # lines of a module
LONGEST_FUNCTION = 45  # lines without the docstring
DEEPEST = 12  # rooms, each of which imports from the next

# A room imports from rooms before it, and from itself.
ROOMS = [
    *("types", "numerics", "roots", "control_flow", "validation", "outcome"),
    *("contact", "geometry", "slip", "laws", "impact"),
    *("planar", "impact_path", "diagnostics", "collision", "simulation", "identify"),
    *("io", "output", "plotting", "schemas", "reproduce", "interop", "cli", "__main__"),
]
RANK = {name: rank for rank, name in enumerate(ROOMS)}


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {dotted(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}


def imported(module: str, source: str, is_package: bool, known: set[str]) -> set[str]:
    """Modules of the package that a module imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                up = node.level - is_package
                base = ".".join([*parents[: len(parents) - up], *base.split(".")]).rstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                found.add(inner if inner in known else base)
    return {name for name in found if name.split(".")[0] == PACKAGE} - {module}


def graph() -> dict[str, set[str]]:
    return {
        module: imported(module, path.read_text(encoding="utf-8"), path.name == "__init__.py", set(FILES))
        for module, path in FILES.items()
    }


def room(module: str) -> str:
    """The part of the package that a module belongs to."""
    return module.split(".")[1]


def test_imports_are_resolved() -> None:
    known = {"jimpact", "jimpact.a", "jimpact.laws", "jimpact.laws.b", "jimpact.laws.c"}
    source = "import jimpact.a\nfrom jimpact.laws import b, thing\nfrom . import c\nfrom ..a import x\nimport jax"
    assert imported("jimpact.laws.d", source, False, known) == {
        "jimpact.a",
        "jimpact.laws",
        "jimpact.laws.b",
        "jimpact.laws.c",
    }
    assert imported("jimpact.laws", "from .b import x", True, known) == {"jimpact.laws.b"}
    assert imported("jimpact.d", "def f():\n    from jimpact import __version__", False, known) == {"jimpact"}


def test_every_module_has_a_room() -> None:
    assert FILES
    assert not [module for module in FILES if module != PACKAGE and room(module) not in RANK]


def test_rooms_import_from_rooms_before_them() -> None:
    upward = [
        f"{module} imports {target}"
        for module, targets in graph().items()
        for target in sorted(targets)
        if PACKAGE not in (module, target) and RANK.get(room(module), -1) < RANK.get(room(target), len(ROOMS))
    ]
    assert not upward


def test_imports_have_no_cycle() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


def test_chains_of_rooms_are_short() -> None:
    rooms: dict[str, set[str]] = {}
    for module, targets in graph().items():
        if module != PACKAGE:
            rooms.setdefault(room(module), set()).update(room(t) for t in targets if t != PACKAGE)
    depth: dict[str, int] = {}
    for name in ROOMS:  # a room imports from rooms before it only
        depth[name] = 1 + max((depth[other] for other in rooms.get(name, set()) - {name}), default=0)
    del depth["__main__"]  # it calls the command line
    assert max(depth.values()) <= DEEPEST, depth


def test_functions_are_short() -> None:
    long = []
    for module, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                text = ast.get_docstring(node, clean=False)
                lines = node.end_lineno - node.lineno + 1 - (text.count("\n") + 1 if text else 0)
                if lines > LONGEST_FUNCTION:
                    long.append(f"{module}.{node.name}: {lines} lines")
    assert not long


@pytest.mark.parametrize("wide", ["0", "1"])
def test_import_is_light_and_leaves_precision_alone(wide: str) -> None:
    code = (
        "import sys, jax\n"
        "before = jax.config.jax_enable_x64\n"
        f"import {PACKAGE}\n"
        "assert jax.config.jax_enable_x64 == before, 'jax_enable_x64 changed'\n"
        "heavy = {'matplotlib', 'pydantic', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    env = {**os.environ, "JAX_ENABLE_X64": wide}
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def tracked() -> list[Path]:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not available")
    patterns = ["*.py", "*.md", "*.toml"]
    run = subprocess.run([git, "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, text=True)
    names = [name for name in run.stdout.split("\0") if name]
    if run.returncode or not names:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_no_file_names_a_place_on_one_machine() -> None:
    places = ("work", "workspace", "tmp", "home", "root", "opt", "mnt", "Users")
    # A slash that starts a path: not a quotient, a relative path or the middle of an address.
    absolute = re.compile(r"(?<![\w.*)\]}])" + "/" + "(?:" + "|".join(places) + r")(?!\w)")
    assert absolute.search("see " + "/" + "tmp/x") and not absolute.search("energy" + "/" + "work")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if absolute.search(line)
    ]
    assert not found


def test_modules_are_short() -> None:
    lengths = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in FILES.items()}
    assert not {module: length for module, length in lengths.items() if length > LONGEST}


def test_everything_public_is_listed() -> None:
    """Also what is loaded when it is first asked for."""
    import jimpact

    assert set(jimpact.__all__) <= set(dir(jimpact))


def test_no_module_hides_a_public_name_of_its_package() -> None:
    """A name that is loaded at its first use is lost where a module of that name was imported before."""
    import jimpact
    import jimpact.plotting

    for package in (jimpact, jimpact.plotting):
        lazy = set(package.__all__) - set(vars(package))
        assert not {name for name in lazy if f"{package.__name__}.{name}" in FILES}
