"""The figure: friction and restitution by speed and by angle, learned, constant and true."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .network import Network, features
from .simulated import APPROACH, STEEPEST, friction_and_restitution

__all__ = ["draw"]

ANGLES, APPROACHES = (15.0, 45.0, 70.0), (0.5, 1.5, 4.0)  # degrees, m/s: one line each
COLOURS = ("#1f4e9c", "#d1495b", "#2e8b57")
TICKS = (0.2, 0.5, 1, 2, 5, 10)  # m/s
OUTSIDE = 2.0  # speeds are drawn to this factor beyond those trained on


def draw(network: Network, constant: dict[str, float], path: Path) -> None:
    """Both coefficients over the speed of approach (left) and over the angle (right)."""
    fig = Figure(figsize=(10, 7), layout="constrained")
    axes = fig.subplots(2, 2, sharey="row", sharex="col")
    approach = np.geomspace(APPROACH[0] / OUTSIDE, APPROACH[1] * OUTSIDE, 200)
    angle = np.linspace(0, 89, 200)
    for colour, degrees, speed in zip(COLOURS, ANGLES, APPROACHES, strict=True):
        _lines(axes[:, 0], network, approach, np.full(200, degrees), approach, f"{degrees:g} degrees", colour)
        _lines(axes[:, 1], network, np.full(200, speed), angle, angle, f"{speed:g} m/s", colour)
    for row, name in zip(axes, ("friction", "restitution"), strict=True):
        for ax, (low, high) in zip(row, (APPROACH, (0, STEEPEST)), strict=True):
            ax.axhline(constant[name], color="#7a7a7a", ls=":", label="constant model")
            ax.axvspan(low, high, color="#f2efe8", zorder=0, label="trained on")
            ax.set_ylabel(name)
            ax.set_ylim(0, 0.6 if name == "friction" else 1)
    axes[1, 0].set(xscale="log", xlim=(approach[0], approach[-1]))
    axes[1, 0].set_xticks(TICKS, labels=[f"{x:g}" for x in TICKS])
    axes[1, 1].set_xlim(0, angle[-1])
    axes[1, 0].set_xlabel("speed of approach (m/s)")
    axes[1, 1].set_xlabel("angle from the normal (degrees)")
    for ax in axes[0]:
        ax.legend(fontsize=8, title="line: learned, dashes: true", title_fontsize=8, ncols=2, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=130)


def _lines(
    axes: np.ndarray,
    network: Network,
    approach: np.ndarray,
    degrees: np.ndarray,
    x: np.ndarray,
    label: str,
    colour: str,
) -> None:
    """Learned and true, of both coefficients."""
    slip = approach * np.tan(np.deg2rad(degrees))
    velocity = jnp.asarray(np.stack([slip, 0 * slip, -approach], -1))
    ax: Axes
    for ax, learned, true in zip(
        axes, network(features(velocity)), friction_and_restitution(approach, degrees), strict=True
    ):
        ax.plot(x, learned, color=colour, label=label)
        ax.plot(x, true, color=colour, ls="--", lw=1)
