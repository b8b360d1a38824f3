"""The settings of the experiment, read from TOML; a mistake gets a sentence."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

__all__ = ["Measured", "Settings", "SettingsError", "Simulated", "Training", "read"]


class SettingsError(ValueError):
    """A configuration that cannot be used, and what to write instead."""


@dataclass(frozen=True)
class Training:
    """What decides the outcome of a training; hashable, so that it chooses the compiled program."""

    hidden: tuple[int, ...] = (16, 16)
    steps: int = 2000
    batch: int = 128
    learning_rate: float = 1e-2
    weight_decay: float = 1e-2
    seed: int = 0
    checkpoint_every: int = 100

    def __post_init__(self) -> None:
        counts = {"steps": self.steps, "batch": self.batch, "checkpoint_every": self.checkpoint_every}
        counts |= {f"hidden[{i}]": size for i, size in enumerate(self.hidden)}
        for name, value in counts.items():
            _require(_whole(value) and value > 0, "training", name, value, "a whole number above 0")
        rate, decay = self.learning_rate, self.weight_decay
        _require(_number(rate) and rate > 0, "training", "learning_rate", rate)
        _require(_number(decay) and decay >= 0, "training", "weight_decay", decay, "a number of at least 0")
        _require(_whole(self.seed) and self.seed >= 0, "training", "seed", self.seed, "a whole number of at least 0")


@dataclass(frozen=True)
class Simulated:
    """The rebounds that are made up."""

    impacts: int = 1200
    noise: float = 0.03  # m/s
    seed: int = 1

    def __post_init__(self) -> None:
        many = _whole(self.impacts) and self.impacts >= 4 and self.impacts % 2 == 0
        _require(many, "simulated", "impacts", self.impacts, "an even number of at least 4")
        _require(_number(self.noise) and self.noise > 0, "simulated", "noise", self.noise)
        _require(_whole(self.seed) and self.seed >= 0, "simulated", "seed", self.seed, "a whole number of at least 0")


@dataclass(frozen=True)
class Measured:
    """How the measured rebounds are split."""

    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        _require(_whole(self.folds) and self.folds > 1, "measured", "folds", self.folds, "a whole number above 1")
        _require(_whole(self.seed) and self.seed >= 0, "measured", "seed", self.seed, "a whole number of at least 0")


@dataclass(frozen=True)
class Settings:
    training: Training
    simulated: Simulated
    measured: Measured


def read(path: Path) -> Settings:
    """The settings in a file; sections and keys that are left out have their defaults."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read; pass --config with a TOML file") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}; pass --config with a TOML file") from error
    kinds: dict[str, Any] = {"training": Training, "simulated": Simulated, "measured": Measured}
    for name, section in given.items():
        if name not in kinds or not isinstance(section, dict):
            raise SettingsError(f"{path} has {name!r}; write the sections {', '.join(kinds)}")
    return Settings(**{name: _section(name, kind, given.get(name, {})) for name, kind in kinds.items()})


def _section(name: str, kind: Any, given: dict[str, Any]) -> Any:
    known = [field.name for field in fields(kind)]
    for key in given:
        if key not in known:
            raise SettingsError(f"[{name}] has {key!r}; write some of {', '.join(known)}")
    if not isinstance(given.get("hidden", []), list):
        raise SettingsError(f"[{name}] has hidden = {given['hidden']!r}; write a list, such as [16, 16]")
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _require(good: bool, section: str, name: str, value: Any, wanted: str = "a positive number") -> None:
    if not good:
        raise SettingsError(f"[{section}] has {name} = {value!r}; write {wanted}")
