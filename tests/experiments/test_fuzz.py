"""The script in experiments/fuzz, on a small number of impacts."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments" / "fuzz"))
import fuzz

IMPACTS = 4000  # gathering lanes is tested elsewhere, and would take three times as long to compile


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_no_promise_is_broken(dtype):
    inputs = fuzz.draw(np.random.default_rng(7), IMPACTS)
    found = fuzz.checker("stronge", dtype)(*(a.astype(dtype) for a in inputs))
    assert not {name: int(count) for name, count in found.items() if count}
