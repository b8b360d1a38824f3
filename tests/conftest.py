"""Settings shared by all tests: double precision, two host devices, fast compilation, and a cache of programs."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
# Before the first use of JAX: two devices, so that sharded batches can be tested on any machine.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import compilation  # noqa: F401 first: it chooses how JAX compiles
import jax
import pytest

LONG = {
    "test_bad_input",
    "test_boundaries",
    "test_bounce_gradients",
    "test_catalogue",
    "test_cli_simulate",
    "test_fit",
    "test_golden",
    "test_learned",
    "test_mjx",
    "test_pairs",
    "test_promises",
    "test_rotation",
    "test_sequence",
    "test_simulate",
    "test_simulate_edges",
    "test_slip",
    "test_statements",
    "test_torch",
    "test_trace",
}

jax.config.update("jax_enable_x64", True)
gc.set_threshold(100_000, 20, 20)  # tracing makes many objects and drops few: rare collections save a tenth of it


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs between runs; most of the time of a first run is compilation."""
    if getattr(config, "cache", None) is not None:
        jax.config.update("jax_compilation_cache_dir", str(config.cache.mkdir("jax")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


@pytest.fixture(scope="module", autouse=True)
def released_programs() -> Iterator[None]:
    """Compiled programs of one file are dropped before the next: a worker would grow to 14 GB."""
    yield
    jax.clear_caches()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files come first, so that workers end together."""
    items.sort(key=lambda item: item.path.stem not in LONG)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Time by test file."""
    times: Counter[str] = Counter()
    for report in [r for reports in terminalreporter.stats.values() for r in reports if hasattr(r, "duration")]:
        times[report.nodeid.split("::")[0]] += report.duration
    terminalreporter.section("time by file")
    for name, seconds in times.most_common():
        terminalreporter.line(f"{seconds:7.1f} s  {name}")
