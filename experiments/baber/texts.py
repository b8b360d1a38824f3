"""The texts of this paper, and lists of numbers in words."""

from collections import namedtuple
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from jimpact.reproduce import Texts, load_rows

ROWS, TEXTS = load_rows(Path(__file__).with_name("findings.toml")), Texts(__file__)
page, grid = TEXTS.page, TEXTS.grid


Spread = namedtuple("Spread", "least median most")


def spread(values: np.ndarray) -> Spread:
    return Spread(values.min(), np.median(values), values.max())


def listed(values: Iterable[Any], spec: str = ".4f") -> str:
    """Numbers in one format, with commas."""
    return ", ".join(format(value, spec) for value in values)
