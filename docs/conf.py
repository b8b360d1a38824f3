"""How the site is made: `make docs`. Nothing in it needs a network.

Two hooks make the reference read like the source. Signatures are printed as they are written there, so that shapes stay
in sight. Fields of a NamedTuple, a dataclass or an enumeration are listed with the comment behind each of them.
"""

import ast
import inspect
import re
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from sphinx.application import Sphinx

import jimpact

project = "jimpact"
author = copyright = "The jimpact developers"
version = release = jimpact.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
highlight_language = "none"  # blocks name their language
html_theme = "furo"
html_title = f"jimpact {release}"
html_copy_source = False
html_extra_path = ["images/bouncing_box.html"]  # shown inside the gallery
default_role = "code"
smartquotes = False
html_static_path = ["_static"]
html_css_files = ["custom.css"]
myst_heading_anchors = 3
python_maximum_signature_line_length = 88
autodoc_mock_imports = [name for name in ("mujoco", "optax") if find_spec(name) is None]
toc_object_entries_show_parents = "hide"

if find_spec("torch") is None:  # jaxtyping wants a class, which a mock is not
    stand_in: Any = ModuleType("torch")
    stand_in.Tensor, stand_in.dtype, stand_in.device = (type(name, (), {}) for name in ("Tensor", "dtype", "device"))
    stand_in.autograd = SimpleNamespace(Function=object)
    sys.modules["torch"] = stand_in


def source(app: Sphinx, page: str, content: list[str]) -> None:
    """Files beside the documentation are not part of the site: their path stands for the link.

    CONTRIBUTING.md is a page of the site, too; its links start at the root of the repository.
    """
    if page == "contributing":
        text = (Path(app.srcdir).parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
        content[0] = text.replace("](docs/", "](").replace("](CHANGELOG", "](../CHANGELOG")
    outside = r"experiments[^)]*|CHANGELOG\.md|CONTRIBUTING\.md"
    content[0] = re.sub(rf"\[[^\]]*\]\((?:\.\./)+({outside})\)", r"`\1`", content[0])


def signature(app: Sphinx, what: str, name: str, thing: Any, *_: Any) -> tuple[str | None, str | None] | None:
    """As in the source; a class with fields has none, because they are listed."""
    if what == "class":
        return None if not fields(thing) else ("", None)
    node = parsed(thing)
    if not isinstance(node, ast.FunctionDef):
        return None
    for arguments in (node.args.posonlyargs, node.args.args):
        if arguments and arguments[0].arg in ("self", "cls"):
            del arguments[0]
    return f"({ast.unparse(node.args)})", ast.unparse(node.returns) if node.returns else None


def docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Bars and stars are no markup in a docstring, and a colon in that of a property ends no type; fields follow."""
    literal = False
    for i, line in enumerate(lines):
        if literal and (not line or line.startswith(" ")):
            continue
        literal = line.endswith("::")
        parts = line.split("`")  # what is between backticks stays
        parts[::2] = [re.sub(r"(?<!^)(?<!^ )([|*])|^\|", lambda m: "\\" + m[0], part) for part in parts[::2]]
        lines[i] = "`".join(parts)
    if what in ("property", "attribute"):
        lines.insert(0, "\\ ")
    if what == "class" and fields(thing):
        lines += ["", *(f"* **{field}** {text}".rstrip() for field, text in fields(thing))]


def fields(thing: Any) -> list[tuple[str, str]]:
    """Name, and type or value with comment, of each field that a class declares."""
    node = parsed(thing)
    kinds = ("_fields", "__dataclass_fields__", "__members__")
    if not isinstance(node, ast.ClassDef) or not any(hasattr(thing, kind) for kind in kinds):
        return []
    source = textwrap.dedent(inspect.getsource(thing)).splitlines()
    found = []
    for child in node.body:
        if isinstance(child, ast.AnnAssign):
            name, text = ast.unparse(child.target), f"``{ast.unparse(child.annotation)}``"
            text += f" = ``{ast.unparse(child.value)}``" if child.value else ""
        elif isinstance(child, ast.Assign):
            name, text = ast.unparse(child.targets[0]), f"= {ast.unparse(child.value)}"
        else:
            continue
        comment = source[child.end_lineno - 1][child.end_col_offset :].strip().lstrip("# ")
        comment = re.sub(r"([|*])", r"\\\1", comment.split("type: ignore")[0])
        found.append((name, f"{text}: {comment}" if comment else text))
    return found


def parsed(thing: Any) -> ast.AST | None:
    """The definition of a class or function, if it has a source."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))).body[0]
    except (TypeError, OSError, SyntaxError):
        return None


def setup(app: Sphinx) -> None:
    app.connect("source-read", source)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", docstring, priority=100)  # before Args and Returns are read
