"""The machine that measures: processor, memory, versions; and the memory that a function takes."""

import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax

import jimpact

from . import kernel

__all__ = ["available", "cores", "describe", "growth"]

PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "diffrax", "optimistix", "numba")
STATUS, PEAK, MEMORY, CPU = (Path(f"/proc/{name}") for name in ("self/status", "self/clear_refs", "meminfo", "cpuinfo"))
LEAST = 1 << 20  # bytes: less growth than this is that of the allocator


def describe() -> dict[str, Any]:
    """Everything that a figure of speed depends on, in plain Python."""
    device = jax.devices()[0]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _found(CPU, r"model name\s*:\s*(.+)") or platform.processor() or platform.machine(),
        "cores": cores(),
        "memory_bytes": _kilobytes(MEMORY, "MemTotal"),
        "system": f"{platform.system()} {platform.machine()}",
        "device": f"{device.platform} ({device.device_kind})",
        "compilation_cache": bool(getattr(jax.config, "jax_compilation_cache_dir", None)),
        "versions": {"jimpact": jimpact.__version__, "python": platform.python_version()}
        | {name: _version(name) for name in PACKAGES}
        | {"compiler": _compiler()},
    }


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available() -> int | None:
    """Bytes of memory that are free, where the system tells."""
    return _kilobytes(MEMORY, "MemAvailable")


def growth(function: Callable[[], Any]) -> tuple[Any, int | None]:
    """The result of a function, and the bytes by which the process grew meanwhile, where the system tells."""
    try:
        PEAK.write_text("5")  # forget the peak
    except OSError:
        return function(), None
    before = _kilobytes(STATUS, "VmRSS")
    result = function()
    peak = _kilobytes(STATUS, "VmHWM")
    grown = None if before is None or peak is None else peak - before
    return result, grown if grown is not None and grown >= LEAST else None


def _kilobytes(path: Path, name: str) -> int | None:
    words = _found(path, rf"{name}:\s*(\d+) kB")
    return None if words is None else 1024 * int(words)


def _found(path: Path, pattern: str) -> str | None:
    try:
        match = re.search(pattern, path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return match[1].strip() if match else None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _compiler() -> str | None:
    found = kernel.compiler()
    if found is None:
        return None
    run = subprocess.run([found, "--version"], capture_output=True, text=True)
    return run.stdout.splitlines()[0] if run.stdout else found
