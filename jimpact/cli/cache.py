"""Compiled programs are kept in the user's cache folder, so that a command compiles once."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
from platformdirs import user_cache_path

__all__ = ["kept_programs"]

FOLDER, LEAST = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"  # options of JAX
OFF = "off"
WORTH = 0.5  # s: programs that compile faster are not kept


@contextmanager
def kept_programs() -> Iterator[None]:
    """A context in which JAX keeps compiled programs in a folder.

    The folder is JIMPACT_CACHE, or the cache folder of the system; JIMPACT_CACHE=off keeps nothing. A cache that JAX
    already uses (JAX_COMPILATION_CACHE_DIR) is not changed.
    """
    folder = _folder()
    if folder is None:
        yield
        return
    names = (FOLDER, LEAST)
    before = [getattr(jax.config, name) for name in names]
    for name, value in zip(names, (str(folder), WORTH), strict=True):
        jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            jax.config.update(name, value)


def _folder() -> Path | None:
    given = os.environ.get("JIMPACT_CACHE", "")
    if given == OFF or getattr(jax.config, FOLDER):
        return None
    folder = Path(given) if given else user_cache_path("jimpact")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
