"""What the program would launch on a GPU. Compiled for an H100 without one, where the compiler is installed."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "experiments" / "accelerators"
sys.path.insert(0, str(FOLDER))

from programs import count  # noqa: E402

LOOP = """HloModule m

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]) parameter(0)
  %x = f32[8] get-tuple-element(%p), index=1
  %f = f32[8] fusion(%x), kind=kLoop, calls=%fused
  ROOT %t = (s32[], f32[8]) tuple(%f)
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8] parameter(0)
  %copy = f32[8] copy(%a)
  ROOT %w = (s32[], f32[8]) while(%copy), condition=%cond, body=%bodyTRIPS
}
"""


def test_a_loop_of_known_length_launches_its_body_each_time() -> None:
    found = count(LOOP.replace("TRIPS", ', backend_config={"known_trip_count":{"n":"7"}}').replace("%body,", "%body"))
    assert (found.kernels, found.operations, found.waits, found.unknown_loops) == (2, 8, 0, 0)


def test_a_loop_of_unknown_length_waits_each_time() -> None:
    found = count(LOOP.replace("TRIPS", ""), trips=5)
    assert found.waits == 6 and found.unknown_loops == 1


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax_cuda12_plugin") is None, reason="needs jimpact[accelerators]")
def test_forward_neither_waits_nor_branches() -> None:
    script = """
from programs import compiled, count, device
found = count(compiled("forward", device("h100"), 1 << 16, "float32")[0].as_text())
assert found.waits == found.conditionals == found.unknown_loops == 0, found
assert found.operations <= 300, found
"""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "XLA_FLAGS": ""}
    run = subprocess.run([sys.executable, "-c", script], cwd=FOLDER, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
