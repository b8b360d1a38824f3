"""Comparison of a paper with computed results: one `Finding` per number, table, figure or claim.

| verdict    | meaning                                                                                   |
|------------|-------------------------------------------------------------------------------------------|
| agrees     | the paper is right: to a unit of its last printed digit, or in the words of its claim     |
| convention | the same answer under another reading, tolerance or definition, which `why` names         |
| misprint   | the paper prints something else; `why` gives the evidence                                 |
| differs    | the paper prints something else and no misprint explains it; `why` says what is known     |
| unchecked  | the text gives nothing to compare with, such as a figure without numbers                  |
| new        | the paper does not say it                                                                 |
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from jimpact.output.html import number as in_words
from jimpact.schemas.config import ConfigError, Table, check, read_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "VERDICTS",
    "Computed",
    "Finding",
    "Grid",
    "Picture",
    "Result",
    "Row",
    "Rows",
    "claimed",
    "digits_of",
    "judged",
    "last_digit",
    "load_rows",
    "numbers",
    "only",
]

VERDICTS = ("agrees", "convention", "misprint", "differs", "unchecked", "new")
EXPLAINED = ("convention", "misprint", "differs")
UNCOMPARED = ("unchecked", "new")
MOST_DIGITS = 16.0

PrintedNumbers = str | Sequence[Any]  # decimals as printed, "0.3157", in nested lists


class Finding(NamedTuple):
    """One row of the table of agreement."""

    id: str
    where: str  # section, equation, table or figure of the paper
    what: str
    printed: str
    computed: str
    verdict: str
    digits: float | None = None  # number of digits that agree, relative to the largest number printed
    why: str = ""


class Row(Table):
    """One row of `findings.toml`: the statement of the paper. Code makes the other half, `Computed`.

    `what`, `printed`, `computed` and `why` may have fields in braces, which the words of `Computed` replace.
    """

    id: str
    where: str
    what: str
    printed: str | list[Any] = ""  # words; or decimals as printed, "0.3157", in nested lists
    computed: str = ""  # if empty, the numbers are shown as they are
    verdict: Literal["", "convention", "misprint", "differs", "unchecked", "new"] = ""  # used if they do not agree
    why: str = ""

    @property
    def numbers(self) -> np.ndarray:
        """The printed decimals as numbers."""
        return np.asarray(self.printed, float)


class Computed(NamedTuple):
    """The computed half of one row."""

    value: Any = None  # numbers
    holds: bool | None = None  # whether the claim holds; None: compare the numbers with the print, digit by digit
    digits: float | None = None
    words: Mapping[str, Any] = {}  # fill the fields in braces of the row


def numbers(value: Any, **words: Any) -> Computed:
    """Numbers to compare with the printed ones, to one unit of each last printed digit."""
    return Computed(value, words=words)


def claimed(holds: Any, digits: float | None = None, **words: Any) -> Computed:
    """A statement in words, and whether it holds."""
    return Computed(None, bool(holds), digits, words)


def only(value: Any = "", digits: float | None = None, **words: Any) -> Computed:
    """A result that has no printed value to compare with, for rows that are `new` or `unchecked`."""
    return Computed(value, True, digits, words)


Rows = dict[str, dict[str, Row]]  # by part, then by id


def load_rows(path: Path) -> Rows:
    """The rows of a paper: an array of tables for each of its parts."""
    rows = {
        part: [check(row, Row, f"{path.name}: {part}") for row in listed] for part, listed in read_text(path).items()
    }
    ids = [row.id for listed in rows.values() for row in listed]
    if len(set(ids)) < len(ids):
        raise ConfigError(f"{path.name}: the same id twice: {', '.join(sorted({i for i in ids if ids.count(i) > 1}))}")
    return {part: {row.id: row for row in listed} for part, listed in rows.items()}


def judged(rows: Mapping[str, Row], computed: Mapping[str, Computed]) -> list[Finding]:
    """The findings of a part, in the order of its rows. Raises ValueError if a row or its computation is missing."""
    if rows.keys() != computed.keys():
        apart = sorted(rows.keys() ^ computed.keys())
        raise ValueError(f"rows and computed values differ: {', '.join(apart)}")
    return [_judged(row, computed[id]) for id, row in rows.items()]


def _judged(row: Row, computed: Computed) -> Finding:
    words = {name: text.format_map(computed.words) for name, text in _texts(row).items()}
    holds, digits, shown = computed.holds, computed.digits, words["computed"]
    if holds is None:
        holds, digits, compared = _compared(row, computed.value)
        shown = shown or compared
    verdict = row.verdict if row.verdict in UNCOMPARED or not holds else "agrees"
    if verdict not in ("agrees", *UNCOMPARED) and not (verdict and words["why"]):
        raise ValueError(f"{row.id}: does not agree; pass a verdict of {', '.join(EXPLAINED)} and why")
    shown = shown or in_words(computed.value)
    return Finding(row.id, row.where, words["what"], words["printed"], shown, verdict, digits, words["why"])


def _compared(row: Row, computed: Any) -> tuple[bool, float, str]:
    """Whether numbers agree with the print, how many digits do, and the numbers in words.

    They agree to one unit of each last printed digit; a whole number agrees if it rounds to the print.
    """
    words, values = _flat(row.printed), np.asarray(computed, float).ravel()
    if len(words) != len(values):
        raise ValueError(f"{row.id}: {len(words)} numbers printed, {len(values)} computed")
    said, units = np.array([float(word) for word in words]), np.array([_unit(word) for word in words])
    agrees = bool((np.abs(values - said) <= units * (1 + 1e-9)).all())
    return agrees, digits_of(said, values), _numbers([f"{x:.7g}" for x in values])


def _texts(row: Row) -> dict[str, str]:
    printed = row.printed if isinstance(row.printed, str) else _numbers(_flat(row.printed))
    return {"what": row.what, "printed": printed, "computed": row.computed, "why": row.why}


class Picture(NamedTuple):
    """A figure, saved as <name>.png."""

    name: str
    figure: "Figure"
    caption: str


class Grid(NamedTuple):
    """A table of numbers and words."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Result(NamedTuple):
    """Result of a part of a reproduction: by id, the computed halves of the rows of `findings.toml`."""

    findings: Mapping[str, Computed]
    pictures: Sequence[Picture] = ()
    grids: Sequence[Grid] = ()


def last_digit(word: str) -> float:
    """The unit of the last digit of a printed number."""
    return float(Decimal(1).scaleb(int(Decimal(word).as_tuple().exponent)))


def digits_of(reference: Any, value: Any) -> float:
    """Number of agreeing digits: -log10 of the largest difference over the largest number, at most 16."""
    a, b = np.asarray(reference, float), np.asarray(value, float)
    scale, gap = np.abs(a).max(), np.abs(a - b).max()
    if gap == 0:
        return MOST_DIGITS
    return float(min(MOST_DIGITS, -np.log10(gap / scale))) if scale > 0 else 0.0


def _unit(word: str) -> float:
    """Tolerance of a printed number: a unit of its last digit, or half of one for whole numbers."""
    return last_digit(word) if "." in word else 0.5 * last_digit(word)


def _flat(printed: PrintedNumbers) -> list[str]:
    return [printed] if isinstance(printed, str) else [word for inner in printed for word in _flat(inner)]


def _numbers(words: Iterable[str]) -> str:
    listed = list(words)
    return listed[0] if len(listed) == 1 else f"({', '.join(listed)})"
