"""How tests compile: fast and plain, unless a test asks for the program that users get.

Most of the time of a first run is compilation, and most of that is optimisation of programs that run for milliseconds.
Imported before JAX, which reads the flags once. Workers and other processes find them in their environment.
"""

import os
import subprocess
import sys

PLAIN = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"


def known(flags: str) -> bool:
    """Whether this version of XLA takes the flags: one that it does not know ends the process."""
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    run = subprocess.run([sys.executable, "-c", "import jax; jax.devices()"], env=env, capture_output=True)
    return run.returncode == 0


given = os.environ.get("XLA_FLAGS", "")
if PLAIN not in given and known(PLAIN):
    os.environ["XLA_FLAGS"] = f"{given} {PLAIN}"

# For `jax.jit(compiler_options=...)`: the defaults of XLA.
OPTIMISED: dict[str, int | bool] = {}
if PLAIN in os.environ.get("XLA_FLAGS", ""):
    OPTIMISED = {"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True}
