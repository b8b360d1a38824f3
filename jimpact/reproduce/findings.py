"""What a paper says beside what was computed: one `Finding` per number, table, figure or claim.

| verdict    | meaning                                                                                   |
|------------|-------------------------------------------------------------------------------------------|
| agrees     | the paper is right: to a unit of its last printed digit, or in the words of its claim     |
| convention | the same answer under another reading, tolerance or definition, which `why` names         |
| misprint   | the paper prints something else; `why` gives the evidence                                 |
| differs    | the paper prints something else and no misprint explains it; `why` says what is known     |
| unchecked  | the text gives nothing to compare with, such as a figure without numbers                  |
| new        | the paper does not say it                                                                 |
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jimpact.page import number as shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "VERDICTS",
    "Finding",
    "Grid",
    "Picture",
    "Result",
    "claim",
    "digits_of",
    "last_digit",
    "new",
    "number",
    "unchecked",
]

VERDICTS = ("agrees", "convention", "misprint", "differs", "unchecked", "new")
EXPLAINED = ("convention", "misprint", "differs")
MOST_DIGITS = 16.0

Printed = str | Sequence[Any]  # decimals as printed, "0.3157", in nested lists


class Finding(NamedTuple):
    """One row of the table of agreement."""

    id: str
    where: str  # section, equation, table or figure of the paper
    what: str
    printed: str
    computed: str
    verdict: str
    digits: float | None = None  # that agree, of the largest number printed
    why: str = ""


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
    """What a part of a reproduction gives."""

    findings: Sequence[Finding]
    pictures: Sequence[Picture] = ()
    grids: Sequence[Grid] = ()


def number(
    id: str, where: str, what: str, printed: Printed, computed: Any, why: str = "", verdict: str = ""
) -> Finding:
    """A number, or an array of them, against its print.

    It agrees to one unit of each last printed digit, a whole number if it rounds to the print. `verdict` (convention,
    misprint or differs) and `why` say what it is if it does not.
    """
    words, values = _flat(printed), np.asarray(computed, float).ravel()
    if len(words) != len(values):
        raise ValueError(f"{id}: {len(words)} numbers printed, {len(values)} computed")
    said, units = np.array([float(word) for word in words]), np.array([_unit(word) for word in words])
    agrees = bool((np.abs(values - said) <= units * (1 + 1e-9)).all())
    text = _numbers([f"{x:.7g}" for x in values])
    found = _verdict(id, agrees, verdict, why)
    return Finding(id, where, what, _numbers(words), text, found, digits_of(said, values), why)


def claim(
    id: str,
    where: str,
    what: str,
    printed: str,
    computed: Any,
    holds: bool,
    why: str = "",
    verdict: str = "",
    digits: float | None = None,
) -> Finding:
    """A statement in words; if it does not hold, `verdict` (convention, misprint, differs) and `why` say what it is."""
    return Finding(id, where, what, printed, shown(computed), _verdict(id, holds, verdict, why), digits, why)


def unchecked(id: str, where: str, what: str, computed: Any, why: str) -> Finding:
    """Something recomputed to which the text gives no number; `why` says what there is, such as a plot only."""
    return Finding(id, where, what, "", shown(computed), "unchecked", None, why)


def new(id: str, where: str, what: str, computed: Any, why: str = "", digits: float | None = None) -> Finding:
    """Something that the paper does not say; `digits` are those of a check by other means."""
    return Finding(id, where, what, "", shown(computed), "new", digits, why)


def last_digit(word: str) -> float:
    """A unit of the last digit of a printed number."""
    return float(Decimal(1).scaleb(int(Decimal(word).as_tuple().exponent)))


def digits_of(reference: Any, value: Any) -> float:
    """Agreeing digits, -log10 of the largest difference over the largest number; 16 at most."""
    a, b = np.asarray(reference, float), np.asarray(value, float)
    scale, gap = np.abs(a).max(), np.abs(a - b).max()
    if gap == 0:
        return MOST_DIGITS
    return float(min(MOST_DIGITS, -np.log10(gap / scale))) if scale > 0 else 0.0


def _verdict(id: str, holds: bool, otherwise: str, why: str) -> str:
    if holds:
        return "agrees"
    if otherwise not in EXPLAINED or not why:
        raise ValueError(f"{id}: does not agree; pass a verdict of {', '.join(EXPLAINED)} and why")
    return otherwise


def _unit(word: str) -> float:
    """How far from a printed number another may be: a unit of its last digit, or half of one for whole numbers."""
    return last_digit(word) if "." in word else 0.5 * last_digit(word)


def _flat(printed: Printed) -> list[str]:
    return [printed] if isinstance(printed, str) else [word for inner in printed for word in _flat(inner)]


def _numbers(words: Iterable[str]) -> str:
    listed = list(words)
    return listed[0] if len(listed) == 1 else f"({', '.join(listed)})"
