"""Reproduction of papers: parts with configurations, findings with verdicts, and the page that collects them.

The parts are in `experiments/<paper>/` of a checkout, and use only the names below and the public names of jimpact.
"""

from jimpact.reproduce.batch import LabelledProgress, directions_many, silent, solve_many, trace_many
from jimpact.reproduce.bodies import UP, body_at, cross, heading, touching, unit
from jimpact.reproduce.findings import (
    Computed,
    Finding,
    Grid,
    Picture,
    Result,
    Row,
    Rows,
    claimed,
    digits_of,
    judged,
    last_digit,
    load_rows,
    numbers,
    only,
)
from jimpact.reproduce.parts import Paper, Part
from jimpact.reproduce.texts import Texts, load_paper

__all__ = [
    "UP",
    "Computed",
    "Finding",
    "Grid",
    "LabelledProgress",
    "Paper",
    "Part",
    "Picture",
    "Result",
    "Row",
    "Rows",
    "Texts",
    "body_at",
    "claimed",
    "cross",
    "digits_of",
    "directions_many",
    "heading",
    "judged",
    "last_digit",
    "load_paper",
    "load_rows",
    "numbers",
    "only",
    "silent",
    "solve_many",
    "touching",
    "trace_many",
    "unit",
]
