"""The generated page of results: every known instance of the papers is there, and agrees to the digits it should."""

import re
from pathlib import Path

import pytest
from cases import papers

from jimpact.reproduce.findings import VERDICTS
from jimpact.reproduce.parts import load_papers

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "experiments" / "RESULTS.md").read_text(encoding="utf-8")
CASES = papers()
SLACK = 0.5  # digits: the worst of a random sample, or how a rounded print is reconstructed
ROUND_OFF = 13.0  # digits: more of them are a matter of the order of operations
SOUND = ("agrees", "convention", "new")


def rows() -> dict[str, dict[str, str]]:
    """The rows of all tables of findings, by id."""
    found = {}
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 8 and cells[6] in VERDICTS:
            names = ("id", "where", "what", "printed", "computed", "digits", "verdict", "why")
            assert cells[0] not in found, f"{cells[0]} appears twice"
            found[cells[0]] = dict(zip(names, cells, strict=True))
    return found


ROWS = rows()


@pytest.mark.parametrize("case", CASES)
def test_every_known_instance_is_on_the_page(case: str) -> None:
    assert case in ROWS


@pytest.mark.parametrize("case", [name for name, known in CASES.items() if known["digits"] is not None])
def test_digits_are_those_that_are_known(case: str) -> None:
    assert ROWS[case]["digits"], f"{case} has no digits"
    assert float(ROWS[case]["digits"]) >= min(CASES[case]["digits"] - SLACK, ROUND_OFF)


@pytest.mark.parametrize("case", [name for name, known in CASES.items() if known["agrees"] is True])
def test_what_is_known_to_agree_agrees(case: str) -> None:
    assert ROWS[case]["verdict"] in SOUND


@pytest.mark.parametrize("case", [name for name, known in CASES.items() if known["agrees"] is False])
def test_what_is_known_to_be_wrong_is_said_to_be(case: str) -> None:
    assert ROWS[case]["verdict"] in ("misprint", "differs")


def test_every_disagreement_is_explained() -> None:
    open_ = [row["id"] for row in ROWS.values() if row["verdict"] not in ("agrees", "new") and not row["why"]]
    assert not open_


def test_the_page_has_every_part() -> None:
    wanted = [f"`jimpact reproduce {paper.key}/{part.key}`" for paper in load_papers(ROOT) for part in paper.parts]
    assert [part for part in wanted if part not in PAGE] == []
