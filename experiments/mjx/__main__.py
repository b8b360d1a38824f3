"""`python -m experiments.mjx`: a table of requested and measured restitution, and a figure of heights over time."""

import argparse
from pathlib import Path

import jax
import numpy as np
from matplotlib.figure import Figure

from experiments.mjx.measure import Run, with_jimpact, with_mjx
from experiments.mjx.models import CASES, tuned

ROOT = Path(__file__).resolve().parents[2]
RESTITUTION = np.array([0.0, 0.3, 0.6, 0.9])
STEPS = {"2 ms": 0.002, "0.2 ms": 0.0002}
DEFAULT = (0.02, 1.0)  # MuJoCo's solref if none is given
END = {"2 ms": 0.8, "0.2 ms": 0.4}  # s; the first impact is at 0.2 to 0.3 s
SHOWN = 2  # of RESTITUTION, in the figure


def runs(case: str) -> dict[str, Run]:
    found = {"jimpact, 2 ms": with_jimpact(case, RESTITUTION, 0.002, END["2 ms"])}
    for title, step in STEPS.items():
        pairs = np.array([*(tuned(e, step) for e in RESTITUTION), DEFAULT])
        both = with_mjx(case, pairs, step, END[title])
        found[f"MJX tuned, {title}"] = Run(both.time, both.height[:-1], both.measured[:-1])
        if title == "2 ms":
            same = np.full(len(RESTITUTION), len(pairs) - 1)
            found["MJX default, 2 ms"] = Run(both.time, both.height[same], both.measured[same])
    return found


def table(case: str, found: dict[str, Run]) -> str:
    lines = [f"| {case}: requested | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for lane, e in enumerate(RESTITUTION):
        lines.append(f"| {e:.1f} | " + " | ".join(_told(run.measured[lane]) for run in found.values()) + " |")
    worst = np.abs(found["jimpact, 2 ms"].measured - RESTITUTION).max()
    return "\n".join([*lines, f"largest error of jimpact: {worst:.1e}"])


def _told(measured: float) -> str:
    return "does not leave" if np.isnan(measured) else f"{measured:.7f}"


def draw(all_found: dict[str, dict[str, Run]], path: Path) -> None:
    fig = Figure(figsize=(9, 6.4), layout="constrained")
    for ax, (case, found) in zip(fig.subplots(2, 1), all_found.items(), strict=True):
        for (name, run), style in zip(found.items(), ("-", "--", ":", "-."), strict=True):
            ax.plot(run.time, run.height[SHOWN], style, label=name)
        ax.set(xlabel="time (s)", ylabel="height (m)", title=f"{case}, restitution {RESTITUTION[SHOWN]} requested")
        ax.legend()
    fig.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mjx")
    out = parser.parse_args().out
    jax.config.update("jax_enable_x64", True)
    out.mkdir(parents=True, exist_ok=True)
    found = {}
    for case in CASES:
        found[case] = runs(case)
        print(table(case, found[case]), flush=True)
    draw(found, out / "heights.png")
    print(f"wrote {out / 'heights.png'}")


if __name__ == "__main__":
    main()
