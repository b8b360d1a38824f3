"""Where the command line keeps compiled programs."""

from pathlib import Path

import jax
import pytest

pytest.importorskip("platformdirs")
from jimpact.cli.cache import kept_programs


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process: JAX has no cache of its own."""
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)


def folder_inside() -> str | None:
    with kept_programs():
        return jax.config.jax_compilation_cache_dir


def test_folder_is_that_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JIMPACT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Path(folder_inside()).is_dir()
    assert "jimpact" in folder_inside()


def test_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JIMPACT_CACHE", str(tmp_path / "mine"))
    assert folder_inside() == str(tmp_path / "mine")


def test_nothing_is_kept_if_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIMPACT_CACHE", "off")
    assert folder_inside() is None


def test_cache_of_jax_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JIMPACT_CACHE", str(tmp_path / "mine"))
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "jax"))
    assert folder_inside() == str(tmp_path / "jax")
    assert not (tmp_path / "mine").exists()


def test_a_folder_that_cannot_be_made_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("JIMPACT_CACHE", str(tmp_path / "file" / "below"))
    assert folder_inside() is None


def test_settings_come_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JIMPACT_CACHE", str(tmp_path))
    before = jax.config.jax_persistent_cache_min_compile_time_secs
    with pytest.raises(RuntimeError), kept_programs():
        raise RuntimeError
    assert jax.config.jax_compilation_cache_dir is None
    assert jax.config.jax_persistent_cache_min_compile_time_secs == before
