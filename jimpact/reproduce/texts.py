"""A paper from the files in its folder: `findings.toml` has what it says, `texts.toml` all other words."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from jimpact.reproduce.findings import Grid, Picture, load_rows
from jimpact.reproduce.parts import Paper, Part
from jimpact.schemas.config import read_text

__all__ = ["Texts", "load_paper"]


def load_paper(package: str) -> Paper:
    """The paper of a package in `experiments/`; a part is a function, whose first argument is its configuration."""
    module = import_module(package)
    folder = Path(str(module.__file__)).parent
    texts, parts = read_text(folder / "texts.toml"), []
    for key, (name, config, title) in texts["parts"].items():
        home, function = name.split(".")
        run = getattr(import_module(f"{package}.{home}"), function)
        form = next(iter(run.__annotations__.values()))
        parts.append(Part(key, title, f"{folder.name}/{config}.toml", form, run))
    rows = load_rows(folder / "findings.toml")
    return Paper(folder.name, texts["title"], texts["citation"], parts, texts["notes"], rows)


class Texts:
    """Captions, titles and labels of figures, and heads of tables, by the name of the file of a module beside them."""

    def __init__(self, module: str) -> None:
        self.all = read_text(Path(module).with_name("texts.toml"))

    def page(self, name: str, **words: Any) -> tuple[Picture, list[Any]]:
        """An empty picture and its panels; the words fill fields of caption and titles."""
        from matplotlib.figure import Figure

        look = self.all["pictures"][name]
        figure = Figure(figsize=look["size"], layout="constrained")
        axes = list(figure.subplots(1, len(look["panels"]), squeeze=False)[0])
        for ax, panel in zip(axes, look["panels"], strict=True):
            ax.set(xlabel=panel["xlabel"], ylabel=panel["ylabel"])
            ax.set_title(panel["title"].format(**words), fontsize=11)
        return self.picture(name, figure, **words), axes

    def picture(self, name: str, figure: Any, **words: Any) -> Picture:
        """A figure with its caption."""
        return Picture(name, figure, self.all["pictures"][name]["caption"].format(**words))

    def grid(self, name: str, rows: Sequence[Sequence[Any]], **words: Any) -> Grid:
        """A table with its title and head."""
        given = self.all["grids"][name]
        return Grid(given["title"].format(**words), given["columns"], rows)
