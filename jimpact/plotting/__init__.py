"""Figures of impacts and fits, and animations of runs. Each name is loaded at its first use."""

from importlib import import_module
from typing import Any

HOMES = {
    "animated_page": ("animation",),
    "impact": ("history", "hodograph", "impulse_path", "save", "single_impact"),
    "impulse_figures": ("impulse_space",),
}
__all__ = sorted(name for names in HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"jimpact.plotting.{module}"), name)
    raise AttributeError(f"module 'jimpact.plotting' has no attribute {name!r}")
