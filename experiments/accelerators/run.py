"""Compile `solve` and its gradient for an H100 and a TPU v5e without them, and write a page: see README.md.

python experiments/accelerators/run.py [--impacts 1048576] [--out out/accelerators]
"""

import argparse
import os
from pathlib import Path

# Before JAX is imported: nothing here runs on an accelerator.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
from programs import LAUNCH, WAIT, compiled, count, device, registers

HEAD = """# Compiled for an H100 and a TPU v5e, without them

{n:,} impacts, law `stronge`, accuracy `standard`. Operations and waits are counted in the compiled program. The time is
an **estimate** from them ({launch:g} us an operation, {wait:g} us a wait), not a measurement, and leaves out what the
kernels themselves take.

"""
COLUMNS = (
    "device", "program", "dtype", "kernels", "operations", "waits", "registers", "spilled, B", "bytes an impact",
    "ns an impact (estimate)", "compile, s",
)  # fmt: skip


def row(name: str, kind: str, dtype: str, n: int) -> str:
    try:
        place = device(name)
        program, seconds = compiled(kind, place, n, dtype)
    except Exception as error:  # a compiler that refuses, or is not there, is a finding
        return (
            f"| {name} | {kind} | {dtype} | {type(error).__name__}: {str(error).splitlines()[0][:120]} | | | | | | | |"
        )
    memory = program.memory_analysis()
    size = f"{memory.temp_size_in_bytes / n:.0f}" if memory else ""
    if name != "h100":
        return f"| {name} | {kind} | {dtype} | | | | | | {size} | | {seconds:.0f} |"
    found, used = count(program.as_text()), registers(kind, place, n, dtype)
    taken = f"{used.most} | {used.spilled}" if used else " | "
    time = (found.operations * LAUNCH + found.waits * WAIT) / n * 1e9
    return (
        f"| {name} | {kind} | {dtype} | {found.kernels} | {found.operations} | {found.waits} | {taken} | {size} | "
        f"{time:.1f} | {seconds:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--impacts", type=int, default=1 << 20)
    parser.add_argument("--out", type=Path, default=Path("out/accelerators"))
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    page = HEAD.format(n=options.impacts, launch=LAUNCH * 1e6, wait=WAIT * 1e6)
    page += "| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|\n"
    for name in ("h100", "tpu v5e"):
        for kind in ("forward", "gradient"):
            for dtype in ("float32", "float64"):
                page += row(name, kind, dtype, options.impacts) + "\n"
                print(page.splitlines()[-1], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "accelerators.md").write_text(page)


if __name__ == "__main__":
    main()
