"""Settings shared by all tests: double precision, two host devices, fast compilation, and a cache of programs."""

import gc
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # cases.py and oracle.py
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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seconds", type=float, help="begin no test later than this after the start")


def pytest_sessionstart(session: pytest.Session) -> None:
    # Workers start one after another; the time of the first is that of all.
    os.environ.setdefault("JIMPACT_TESTS_BEGAN", str(time.time()))


def pytest_runtest_setup(item: pytest.Item) -> None:
    limit = item.config.getoption("--seconds")
    if limit and time.time() - float(os.environ["JIMPACT_TESTS_BEGAN"]) > limit:
        pytest.skip(f"began later than {limit:g} s after the start: make test-slow runs it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long files come first, so that workers end together. Where time is short, every test has its turn: the order
    changes with the commit."""
    items.sort(key=lambda item: item.path.stem not in LONG)
    if config.getoption("--seconds"):
        git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True)
        items.sort(key=lambda item: hashlib.sha256(git.stdout + item.nodeid.encode()).digest())
