"""Maps in words: counts, shares, ranges and means, as the rows of `findings.toml` take them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimpact.reproduce import Computed

Words = dict[str, Any]  # fill the fields of a row


def filled(findings: Mapping[str, Computed], form: Any, **common: Any) -> dict[str, Computed]:
    """The same findings, each with words that all rows of a part may use: its form, and its limits as percentages."""
    common |= {"form": form, "limits": {name: percent(limit) for name, limit in getattr(form, "limits", {}).items()}}
    return {id: found._replace(words={**common, **found.words}) for id, found in findings.items()}


def percent(part: Any) -> str:
    return f"{100 * float(part):.3g} %"


def spread(values: np.ndarray) -> str:
    """Median and largest."""
    return f"median {np.median(values):.7g}, worst {np.max(values):.7g}"


def ends(values: np.ndarray) -> str:
    """Least and greatest."""
    both = (np.min(values), np.max(values)) if values.size else ()
    return " to ".join(dict.fromkeys(f"{x:.4g}" for x in both)) or "nowhere"


def listed(values: Any, form: str = "") -> str:
    return ", ".join(format(value, form) for value in np.asarray(values).tolist())


def counted(mode: Any) -> str:
    """How many cells each mode has."""
    keys, counts = np.unique(mode, return_counts=True)
    return ", ".join(f"mode {key}: {count}" for key, count in zip(keys, counts, strict=True))


def by_mode(values: np.ndarray, mode: np.ndarray) -> dict[int, float]:
    """The mean of each mode that occurs."""
    return {k: float(values[mode == k].mean()) for k in np.unique(mode).tolist()}


def each(means: Mapping[int, float], form: str) -> str:
    return ", ".join(f"{k}: {value:{form}}" for k, value in means.items())


def becomes(one: np.ndarray, other: np.ndarray) -> str:
    """Which modes turn into which: "3 become 0, 4 become 0"."""
    pairs = {(int(a), int(b)) for a, b in zip(one.ravel(), other.ravel(), strict=True) if a != b}
    return ", ".join(f"{a} become {b}" for a, b in sorted(pairs))


def runs(friction: np.ndarray, mode: np.ndarray) -> str:
    """Modes as friction grows: "0 up to 0.15, then 1"."""
    last = np.append(np.flatnonzero(np.diff(mode)), len(mode) - 1)
    parts = [f"{mode[i]} up to {friction[i]:.4g}" for i in last[:-1]]
    return ", ".join([*parts, f"then {mode[-1]}" if parts else f"{mode[-1]} everywhere"])
