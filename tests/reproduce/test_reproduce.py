"""The frame of `jimpact reproduce`: findings that must explain themselves, parts that are kept whole, or not at all."""

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from jimpact.cli import reproduce as cli_reproduce
from jimpact.cli.main import main
from jimpact.reproduce import (
    Computed,
    Finding,
    Grid,
    Paper,
    Part,
    Picture,
    Result,
    Row,
    claimed,
    digits_of,
    judged,
    load_rows,
    numbers,
    only,
    silent,
)
from jimpact.reproduce.pages import html_page, markdown_page
from jimpact.reproduce.parts import chosen, kept, run_part
from jimpact.schemas.config import ConfigError, Inertia, Positive, Table

ROWS = {
    "X-1": Row(id="X-1", where="(1)", what="twice the mass", printed="4.00"),
    "X-2": Row(id="X-2", where="(2)", what="a <b> | c", verdict="new"),
}
CONFIG = "mass = 2.0\ninertia = [1.0, 1.0, 1.5]\n"


class Scene(Table):
    """What the part of the paper below may say."""

    mass: Positive
    inertia: Inertia


class Counted:
    """A part that counts how often it is computed."""

    def __init__(self) -> None:
        self.runs = 0
        self.fails = False

    def __call__(self, config: Scene, progress: object) -> Result:
        self.runs += 1
        if self.fails:
            raise RuntimeError("the part failed")
        figure = Figure()
        figure.add_subplot().plot([0, 1])
        findings = {"X-1": numbers(2 * config.mass), "X-2": only(1.5)}
        return Result(findings, [Picture("plot", figure, "a plot")], [Grid("table", ("a", "b"), [[1, "x|y"]])])


class Checkout:
    """A checkout with one paper of one part."""

    def __init__(self, root: Path) -> None:
        self.root, self.out = root, root / "out" / "reproduce"
        (root / "experiments" / "paper").mkdir(parents=True)
        (root / "configs").mkdir()
        self.config = root / "configs" / "scene.toml"
        self.config.write_text(CONFIG)
        self.run = Counted()
        self.part = Part("fig1", "Figure 1", "scene.toml", Scene, self.run)
        self.paper = Paper("paper", "A paper", "Somebody, somewhere", [self.part], rows={"fig1": ROWS})

    def computed(self) -> None:
        run_part(self.paper, self.part, self.root, self.root / "configs", self.out, silent)

    def kept(self) -> object:
        return kept(self.paper, self.part, self.root, self.root / "configs", self.out)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    made = Checkout(tmp_path)
    monkeypatch.setattr(cli_reproduce, "checkout", lambda: made.root)
    monkeypatch.setattr(cli_reproduce, "load_papers", lambda root: [made.paper])
    return made


def found(computed: Computed, printed: str | list[str] = "always", verdict: str = "", why: str = "") -> Finding:
    """The finding of one row."""
    row = Row(id="X", where="", what="", printed=printed, verdict=verdict, why=why)
    return judged({"X": row}, {"X": computed})[0]


@pytest.mark.parametrize(
    ("printed", "computed"), [("0.3157", 0.31565), ("1.50", 1.509), (["12", "-3.0"], [12.4, -3.05])]
)
def test_a_number_agrees_to_its_last_printed_digit(printed: str | list[str], computed: object) -> None:
    assert found(numbers(computed), printed).verdict == "agrees"


@pytest.mark.parametrize(
    ("printed", "computed"), [("0.3157", 0.3159), ("1.50", 1.52), (["12", "-3.0"], [12, -3.2]), ("12", 13)]
)
def test_a_number_that_does_not_agree_must_be_explained(printed: str | list[str], computed: object) -> None:
    with pytest.raises(ValueError, match="does not agree; pass a verdict"):
        found(numbers(computed), printed)


def test_a_claim_that_does_not_hold_must_be_explained() -> None:
    with pytest.raises(ValueError, match="does not agree"):
        found(claimed(False))


@pytest.mark.parametrize("verdict", ["misprint", "differs", "convention"])
def test_what_agrees_is_not_called_wrong(verdict: str) -> None:
    """The verdict of a row is for the case that it does not agree."""
    assert found(numbers(1.04), "1.0", verdict, "reason").verdict == "agrees"
    assert found(claimed(True), "always", verdict, "reason").verdict == "agrees"


@pytest.mark.parametrize("verdict", ["misprint", "differs", "convention"])
def test_what_does_not_agree_has_the_verdict_of_its_row(verdict: str) -> None:
    assert found(numbers(2.0), "1.0", verdict, "reason").verdict == verdict
    assert found(claimed(False), "always", verdict, "reason").verdict == verdict


def test_an_explanation_needs_words() -> None:
    with pytest.raises(ValueError, match="and why"):
        found(numbers(2.0), "1.0", "misprint")


def test_digits_are_those_of_the_largest_number() -> None:
    assert digits_of([100.0, 0.0], [100.0, 0.01]) == pytest.approx(4)


def test_as_many_numbers_must_be_computed_as_were_printed() -> None:
    with pytest.raises(ValueError, match="2 numbers printed, 1 computed"):
        found(numbers(np.array([1.0])), ["1", "2"])


@pytest.mark.parametrize("verdict", ["unchecked", "new"])
def test_what_the_text_does_not_say_is_called_so(verdict: str) -> None:
    assert found(only(1.0), "", verdict, "only a plot").verdict == verdict


def test_words_fill_the_braces_of_a_row() -> None:
    row = Row(id="X", where="", what="{count} spheres", computed="off by {off:.1e}", verdict="new")
    assert judged({"X": row}, {"X": only(count=3, off=0.25)})[0][2:5] == ("3 spheres", "", "off by 2.5e-01")


def test_every_row_is_computed_and_every_computation_has_a_row() -> None:
    with pytest.raises(ValueError, match="rows and computed values differ: X-2"):
        judged(ROWS, {"X-1": numbers(4.0)})


def test_an_id_appears_once(tmp_path: Path) -> None:
    path = tmp_path / "findings.toml"
    path.write_text('[[a]]\nid = "X"\nwhere = ""\nwhat = ""\n[[b]]\nid = "X"\nwhere = ""\nwhat = ""\n')
    with pytest.raises(ConfigError, match="the same id twice: X"):
        load_rows(path)


def test_a_finished_part_is_not_computed_again(checkout: Checkout) -> None:
    assert [main(["reproduce"]) for _ in range(2)] == [0, 0]
    assert checkout.run.runs == 1


def test_a_finished_part_is_computed_again_when_asked(checkout: Checkout) -> None:
    assert [main(["reproduce", *more]) for more in ([], ["--again"])] == [0, 0]
    assert checkout.run.runs == 2


@pytest.mark.parametrize("change", ["config", "code", "picture"])
def test_a_part_whose_source_changed_is_not_kept(checkout: Checkout, change: str) -> None:
    checkout.computed()
    assert checkout.kept() is not None
    if change == "config":
        checkout.config.write_text(CONFIG + "# a word\n")
    elif change == "code":
        (checkout.root / "experiments" / "paper" / "part.py").write_text("x = 1\n")
    else:
        (checkout.out / "paper" / "plot.png").unlink()
    assert checkout.kept() is None


def test_a_damaged_record_is_not_kept(checkout: Checkout) -> None:
    checkout.computed()
    path = checkout.out / "paper" / "fig1.json"
    path.write_text(path.read_text()[:-20])
    assert checkout.kept() is None


def test_a_part_that_fails_leaves_what_was_there(checkout: Checkout) -> None:
    checkout.computed()
    checkout.run.fails = True
    with pytest.raises(RuntimeError):
        checkout.computed()
    assert checkout.kept() is not None


BAD = {
    "mass = 2.0\ninertia = [1.0, 1.0, 1.5]\nmas = 1": "scene.toml: mas: unknown key; allowed: mass, inertia",
    "mass = '2 kg'\ninertia = [1.0, 1.0, 1.5]": "scene.toml: mass: pass a number",
    "mass = 2.0\ninertia = [1.0, -1.0, 1.5]": "scene.toml: inertia: the matrix must be symmetric and positive definite",
    "mass = 2.0\ninertia = [1.0, 1.0, 2.5]": "scene.toml: inertia: no body has this inertia",
    "mass = 2.0": "scene.toml: inertia: missing",
    "mass = ": "scene.toml: not valid TOML",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_configuration_is_one_sentence_and_nothing_is_written(
    checkout: Checkout, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    checkout.config.write_text(text)
    assert main(["reproduce"]) == 2
    said = capsys.readouterr().err
    assert BAD[text] in said and said.count("\n") == 1
    assert not checkout.out.exists() and checkout.run.runs == 0


def test_an_unknown_part_is_refused_with_those_that_exist(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "paper/fig9"]) == 2
    assert "pass one of paper/fig1" in capsys.readouterr().err


def test_parts_are_chosen_in_the_order_of_the_papers(checkout: Checkout) -> None:
    parts = [Part(key, key, "scene.toml", Scene, checkout.run) for key in ("a", "b")]
    papers = [Paper(key, key, "", parts) for key in ("one", "two")]
    found = [f"{paper.key}/{part.key}" for paper, part in chosen(papers, ["two", "one/b"])]
    assert found == ["one/b", "two/a", "two/b"]


def test_the_page_of_the_experiments_is_written_when_all_is_finished(checkout: Checkout) -> None:
    assert main(["reproduce"]) == 0
    assert "X-1" in (checkout.root / "experiments" / "RESULTS.md").read_text()


def test_a_table_cell_cannot_break_its_row(checkout: Checkout) -> None:
    checkout.computed()
    text = markdown_page([checkout.paper], [checkout.kept()])
    rows = [line for line in text.splitlines() if line.startswith("| X-2")]
    assert rows[0].replace("\\|", "").count("|") == 9 and "<b>" not in rows[0]


def test_words_are_escaped_in_html(checkout: Checkout) -> None:
    checkout.computed()
    text = html_page([checkout.paper], [checkout.kept()], checkout.out)
    assert "a &lt;b&gt; | c" in text and "data:image/png" in text


def test_json_lists_the_findings(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["findings"][0]["id"] == "X-1"
