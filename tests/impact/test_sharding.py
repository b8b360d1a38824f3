"""Batches spread over devices: results spread alike, the same numbers, and no word between the devices."""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest

SAME = 1e-12  # relative: round-off of another program
CHILD = Path(__file__).parents[1] / "support" / "sharded.py"
ALL = (
    "forward",
    "eager",
    "jvp",
    "gradient",
    "numbers",
    "grid",
    "shard_map",
    "set_mesh",
    "explicit",
    "explicit_gradient",
    "collide",
)
SOME = ("forward", "gradient", "shard_map", "explicit", "explicit_gradient")
# The laws that follow the slip differ in the stop rule only, and the algebraic ones in whether they iterate.
CHECKS = {"chatterjee_ruina": ALL, "stronge": ALL, "smith": SOME}
FAST = ("chatterjee_ruina",)
PAIRS = [
    pytest.param(law, check, marks=() if law in FAST else pytest.mark.slow, id=f"{law}-{check}")
    for law, checks in CHECKS.items()
    for check in checks
]


@functools.cache
def found(law: str) -> dict:
    """What the program finds about a law: one process for all its checks."""
    flags = re.sub(r"--xla_force_host_platform_device_count=\d+", "", os.environ.get("XLA_FLAGS", ""))
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    if jax.config.jax_compilation_cache_dir:
        env |= {"JAX_COMPILATION_CACHE_DIR": jax.config.jax_compilation_cache_dir}
    run = subprocess.run([sys.executable, CHILD, law, *CHECKS[law]], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


@pytest.mark.parametrize(("law", "check"), PAIRS)
def test_devices_work_on_their_own(law: str, check: str) -> None:
    finding = found(law)[check]
    assert not finding["raised"]
    assert not finding["collectives"]
    assert not finding["misplaced"], "not spread like the arguments"
    assert finding["error"] < SAME
