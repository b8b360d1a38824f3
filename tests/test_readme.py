"""The examples of the README run, one after another, as a reader would."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


@pytest.mark.slow
def test_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, object] = {}
    with jax.enable_x64(False):  # as it comes
        exec("\n".join(blocks), names)
    assert "lcr" in capsys.readouterr().out
    assert np.asarray(names["row"].bodies.velocity)[2, 0] > 0.8
    assert set(names["results"]) <= set(names["jimpact"].LAWS)
