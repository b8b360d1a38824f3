"""Pictures of single impacts."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import jimpact
from jimpact import plotting

BLUE, RED, GREEN = "#1f4e9c", "#d1495b", "#2a9d8f"
# Of Jia & Wang 2017, section 7: inverse inertia (1/kg), velocity (m/s), friction, restitution.
TURNING = np.array([[11.5984, -0.910367, 2.44236], [-0.910367, 9.90134, 1.95747], [2.44236, 1.95747, 2.59042]])
JIA = (TURNING, np.array([-0.2619763355641, 0.38632872671081003, -0.07717446039236382]), 0.8, 0.95)
# Of Baber: restitution begins, and the bodies are compressed a second time.
STEEP = np.array([[20.0, -23.0, 4.0], [-23.0, 31.0, -7.0], [4.0, -7.0, 4.0]])
BABER = (STEEP, np.array([630.0, -780.0, -0.22]), 0.5, 0.9)
BLOCK = np.array([[2.6, 0.3, 0.9], [0.3, 2.2, 0.4], [0.9, 0.4, 1.7]])  # 1/kg: a block that lands on a corner
BALL = np.diag([3.5, 3.5, 1.0])  # 1/kg: a solid ball of 1 kg


def impact() -> Figure:
    return plotting.single_impact(*JIA)


def recompression() -> Figure:
    return plotting.single_impact(*BABER)


def hodographs() -> Figure:
    angle = np.deg2rad(np.arange(20, 380, 45))
    starts = np.stack([0.4 * np.cos(angle), 0.4 * np.sin(angle), np.full(8, -0.077)], -1)
    fig = plotting.hodograph(TURNING, starts, 0.8, 0.95)
    fig.axes[0].set_title("Slip from eight starts")
    return fig


def impulse_path() -> Figure:
    return plotting.impulse_path(*JIA)


def history() -> Figure:
    return plotting.history(*BABER)


def impulse_space() -> Figure:
    K = np.array([[2.0, 1.1], [1.1, 1.2]])  # slip reverses: the laws disagree
    return plotting.impulse_space(K, np.array([-1.4, -1.0]), 0.45, title="A planar impact: what each law reaches")


def invariant_directions() -> Figure:
    friction = np.linspace(0.01, 1.5, 600)
    directions, rates = (np.asarray(a) for a in jax.vmap(partial(jimpact.invariant_directions, STEEP))(friction))
    angle = np.rad2deg(np.arctan2(directions[..., 1], directions[..., 0]))
    mu = np.broadcast_to(friction[:, None], angle.shape)
    fig = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = fig.add_subplot()
    for grows, color, label in ((False, BLUE, "slip stops"), (True, RED, "slip grows")):
        chosen = np.isfinite(angle) & ((rates > 0) == grows)
        ax.plot(mu[chosen], angle[chosen], ".", ms=3, color=color, label=f"{label} along it")
    ax.set(xlabel="coefficient of friction (1)", ylabel="invariant direction of slip (degrees)", xlim=(0, 1.5))
    ax.set(ylim=(-180, 180), yticks=range(-180, 181, 60), title="Invariant directions")
    ax.grid(color="0.92")
    ax.legend(markerscale=3, loc="center right", bbox_to_anchor=(1.0, 0.46))
    return fig


def laws() -> Figure:
    """Velocity of the contact point after the impact, by every law, against the angle of approach."""
    angle = np.linspace(0, 80, 161)
    v = np.stack([-np.sin(np.deg2rad(angle)), 0 * angle, -np.cos(np.deg2rad(angle))], -1)
    W = np.array([[2.0, 0.0, 1.1], [0.0, 2.0, 0.0], [1.1, 0.0, 1.2]])
    fig = Figure(figsize=(8.4, 6.8), layout="constrained")
    corner = fig.add_subplot(2, 2, 2)
    corner.axis("off")
    axes = [fig.add_subplot(2, 2, place) for place in (1, 3, 4)]
    markers = "osD^vP*Xhd"
    extra = {"tangential_restitution": 0.3, "mixing": 0.5}
    for i, (name, law) in enumerate(jimpact.LAWS.items()):
        own = {key: value for key, value in extra.items() if key in law.parameters}
        style: dict[str, Any] = {"color": f"C{i}", "marker": markers[i], "ms": 5, "lw": 1.4, "markevery": (2 * i, 20)}
        solve = jax.jit(lambda W, name=name, own=own: jimpact.solve(W, v, 0.45, 0.7, law=name, **own).velocity)
        ball, block = np.asarray(solve(BALL)), np.asarray(solve(W))
        for ax, after in zip(axes, (ball[:, 0], block[:, 0], block[:, 2]), strict=True):
            if np.isfinite(after).any():
                ax.plot(angle, after, label=name, **style)
    titles = ("a ball, tangential", "a block, tangential", "a block, normal")
    for ax, title, of in zip(axes, titles, ("tangential", "tangential", "normal"), strict=True):
        ax.set(xlabel="approach, from the normal (degrees)", ylabel=f"{of} velocity after (m/s)", title=title)
        ax.grid(color="0.92")
    handles, names = axes[0].get_legend_handles_labels()
    corner.legend(handles, names, loc="center", title="law", frameon=False)
    return fig


def gradient() -> Figure:
    """Impulse against friction across the boundary of stick, its derivative by JAX and by differences."""
    v, e = jnp.array([-0.9, 0.5, -1.0]), 0.7
    friction = np.linspace(0.01, 1.0, 298)
    impulse = jax.jit(jax.vmap(lambda mu: jimpact.solve(BLOCK, v, mu, e).impulse))
    slope = jax.jit(jax.vmap(jax.jacfwd(lambda mu: jimpact.solve(BLOCK, v, mu, e).impulse)))
    I, dI = np.asarray(impulse(friction)), np.asarray(slope(friction))
    some, step = friction[4::12], 1e-5
    near = np.asarray(impulse(some + step) - impulse(some - step)) / (2 * step)
    fig = Figure(figsize=(6.4, 5.6), layout="constrained")
    upper, lower = fig.subplots(2, 1, sharex=True)
    for i, (name, color) in enumerate(zip(("$I_1$", "$I_2$", "$I_n$"), (BLUE, RED, GREEN), strict=True)):
        upper.plot(friction, I[:, i], color=color, label=name)
        lower.plot(friction, dI[:, i], color=color)
        lower.plot(some, near[:, i], "o", color=color, mfc="white", ms=4)
    lower.plot([], [], color="0.4", label="derivative by JAX")
    lower.plot([], [], "o", color="0.4", mfc="white", ms=4, label="central differences")
    upper.set(ylabel="impulse (N s)", title="Impulse, and its derivative with respect to friction")
    lower.set(xlabel="coefficient of friction (1)", ylabel="d impulse / d friction (N s)")
    for ax in (upper, lower):
        ax.grid(color="0.92")
        ax.legend()
    return fig


def accuracy() -> Figure:
    """Share of random impacts against the error of the impulse, by the option `accuracy`."""
    rng, n = np.random.default_rng(0), 4096
    root = rng.normal(size=(n, 3, 3))
    W = root @ root.swapaxes(1, 2) + 0.1 * np.eye(3)
    v = rng.normal(size=(n, 3)) * [1, 1, 0] - [0, 0, 1] * rng.uniform(0.1, 2, (n, 1))
    friction, restitution = 10 ** rng.uniform(-1.5, 0.5, n), rng.uniform(size=n)

    def solved(accuracy: str, dtype: Any) -> np.ndarray:
        given: list[Any] = [a.astype(dtype) for a in (W, v, friction, restitution)]
        return np.asarray(jax.jit(partial(jimpact.solve, accuracy=accuracy))(*given).impulse, float)

    reference = solved("high", np.float64)
    size = np.abs(reference).max(-1)
    fig = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = fig.add_subplot()
    cases = [("low", np.float64, BLUE, "-"), ("standard", np.float64, BLUE, "--"), ("standard", np.float32, RED, "-")]
    for option, dtype, color, line in cases:
        error = np.abs(solved(option, dtype) - reference).max(-1) / size
        ax.plot(np.sort(error), np.arange(1, n + 1) / n, line, color=color, label=f"{option}, {dtype.__name__}")
    ax.set(xscale="log", xlim=(1e-16, 1e-2), ylim=(0, 1.01), title="Error against accuracy high, float64")
    ax.set(xlabel="relative error of the impulse (1)", ylabel="share of impacts (1)")
    ax.grid(color="0.92")
    ax.legend(loc="center right")
    return fig
