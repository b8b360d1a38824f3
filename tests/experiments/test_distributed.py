"""One batch, several processes: the same impacts as in one process, and a sentence when a process dies."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import jimpact

sys.path.append(str(Path(__file__).resolve().parents[2]))

from experiments.distributed import run, worker

pytestmark = pytest.mark.slow

IMPACTS = 101  # not a multiple of the number of devices
PROCESSES, DEVICES = 2, 2
SAME = 1e-12  # relative: round-off of another program


@pytest.mark.parametrize("law", ["smith", "stronge"])
def test_processes_solve_what_one_process_solves(tmp_path: Path, law: str) -> None:
    given, out = tmp_path / "given", tmp_path / "out"
    run.draw(given, IMPACTS)
    summary = run.solve(given, out, law=law, processes=PROCESSES, devices=DEVICES, seconds=300)
    assert (summary["impacts"], summary["devices"]) == (IMPACTS, PROCESSES * DEVICES)
    assert summary["outcomes"] == {"OK": IMPACTS}
    arrays = [np.load(given / f"{name}.npy") for name in worker.GIVEN]
    expected = jax.jit(lambda *a: jimpact.solve(*a, law=law)._replace(info=None))(*arrays)
    for name in worker.SOLVED:
        parts = [np.load(out / worker.part(name, index, PROCESSES)) for index in range(PROCESSES)]
        assert all(len(rows) for rows in parts)
        np.testing.assert_allclose(np.concatenate(parts), getattr(expected, name), rtol=SAME, atol=SAME, err_msg=name)
    assert summary["collectives"] == 0


def test_a_process_that_dies_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(run.Failure, match=r"process [01] ended with code 1: FileNotFoundError") as raised:
        run.solve(tmp_path / "none", tmp_path / "out", law="smith", processes=PROCESSES, devices=1, seconds=100)
    assert "\n" not in str(raised.value)


def test_waiting_is_bounded(tmp_path: Path) -> None:
    run.draw(tmp_path / "given", IMPACTS)
    with pytest.raises(run.Failure, match=r"did not end within 0.5 s"):
        run.solve(tmp_path / "given", tmp_path / "out", law="smith", processes=2, devices=1, seconds=0.5)
