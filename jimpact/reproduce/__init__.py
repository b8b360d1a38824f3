"""Reproducing papers: parts with configurations, findings with verdicts, and the page that collects them.

The parts themselves are in `experiments/<paper>/` of a checkout, written with the public names of jimpact and these.
"""

from jimpact.reproduce.batch import Progress, directions_many, silent, solve_many, trace_many
from jimpact.reproduce.findings import (
    Finding,
    Grid,
    Picture,
    Result,
    claim,
    digits_of,
    last_digit,
    new,
    number,
    unchecked,
)
from jimpact.reproduce.parts import Paper, Part

__all__ = [
    "Finding",
    "Grid",
    "Paper",
    "Part",
    "Picture",
    "Progress",
    "Result",
    "claim",
    "digits_of",
    "directions_many",
    "last_digit",
    "new",
    "number",
    "silent",
    "solve_many",
    "trace_many",
    "unchecked",
]
