"""The gallery: every picture of the page has its function and its file, and every axis says what it shows."""

import re
import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

matplotlib.use("Agg")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from experiments.gallery.__main__ import write  # noqa: E402
from experiments.gallery.table import PICTURES  # noqa: E402

IMAGES = ROOT / "docs" / "images"
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
LARGEST, ALL = 150_000, 2_000_000  # bytes
UNIT = re.compile(r"\((1|m|mm|s|m/s|rad/s|degrees|N s|J)\)$")  # (1): a number without a unit
NAMES = [pytest.param(name, marks=pytest.mark.slow if of.slow else ()) for name, of in PICTURES.items()]


def test_the_page_shows_all_pictures_and_no_other() -> None:
    assert set(re.findall(r"\(images/([\w.]+)\)", PAGE)) == set(PICTURES)


@pytest.mark.parametrize("name", PICTURES)
def test_the_page_names_the_function(name: str) -> None:
    draw = PICTURES[name].draw
    shown = PAGE[PAGE.index(f"(images/{name})") :]
    assert (
        re.search(r"`((?:impacts|bodies|fits)\.\w+)`", shown)[1] == f"{draw.__module__.split('.')[-1]}.{draw.__name__}"
    )


def test_files_are_there_and_small() -> None:
    sizes = {name: (IMAGES / name).stat().st_size for name in PICTURES}
    assert max(sizes.values()) < LARGEST and sum(sizes.values()) < ALL, sizes


@pytest.mark.parametrize("name", NAMES)
def test_every_axis_has_a_label_with_a_unit(name: str, tmp_path: Path) -> None:
    drawn = PICTURES[name].draw()
    if drawn is None:
        pytest.skip("its data are not here")
    if isinstance(drawn, Figure):
        drawn.draw_without_rendering()
        assert drawn.axes
        for ax in filter(lambda ax: ax.axison, drawn.axes):
            axes = [axis for axis in (ax.xaxis, ax.yaxis, getattr(ax, "zaxis", None)) if axis is not None]
            for axis in axes:
                if any(tick.get_visible() and tick.get_text() for tick in axis.get_ticklabels()):
                    assert UNIT.search(axis.get_label_text()), (ax.get_title(), axis.get_label_text())
    write(drawn, tmp_path / name)
    assert (tmp_path / name).stat().st_size < LARGEST


def test_missing_data_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    from experiments.cube_tosses import data
    from experiments.gallery import fits

    load = data.load
    monkeypatch.setattr(data, "load", lambda: load(tmp_path))
    assert fits.cube_tosses() is None
    assert "JIMPACT_DATA" in capsys.readouterr().out
