"""Pictures of materials that were fitted, or learned, from rebounds."""

from functools import cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import jimpact
from experiments.cube_tosses import data
from jimpact.identify import Fit
from jimpact.plotting import fit_figures as plot_fit

BLUE, RED, GREY = "#1f4e9c", "#d1495b", "#7a7a7a"
TRUTH = (0.22, 0.55)  # friction and restitution of configs/sample_rebounds
INERTIA = 0.00097  # kg m^2, of the cube: what the momentum of its impacts says (README.md of experiments/cube_tosses)


@cache
def _fitted() -> Fit:
    with as_file(files("jimpact") / "data" / "rebounds.csv") as path:
        return jimpact.fit(jimpact.load_rebounds(path), law="stronge")


def fit_contour() -> Figure:
    fig = plot_fit.contour(_fitted())
    assert fig is not None  # both numbers are known
    ax = fig.axes[0]
    ax.plot(*TRUTH, "*", color="black", markersize=9, label="truth")
    ax.legend(fontsize=8)
    return fig


def fit_profiles() -> Figure:
    return plot_fit.profiles(_fitted())


def fit_measured() -> Figure:
    fig = plot_fit.measured(_fitted())
    fig.set_size_inches(9, 5.4)
    return fig


def learned_material() -> Figure:
    """Restitution against the speed of approach: a network trained on simulated rebounds, and the truth."""
    from jimpact.identify.network import fit_network

    rng, n, noise = np.random.default_rng(0), 256, 0.03
    fixed: dict[str, Any] = {"tangential_restitution": 0.0}
    speed = np.exp(rng.uniform(np.log(0.3), np.log(5.0), n))
    v = np.stack([*(rng.normal(size=(2, n)) * speed), -speed], -1)
    W = np.array([[3.0, 0.0, 0.6], [0.0, 2.0, 0.3], [0.6, 0.3, 1.0]])
    after = jimpact.solve(W, v, 0.2, 0.3 + 0.55 * np.exp(-speed / 1.5), law="chatterjee_ruina", **fixed).velocity
    noisy = after + noise * rng.normal(size=v.shape)
    rebounds = jimpact.Rebounds.from_contact(W, v, noisy, noise=noise, group=np.arange(n) // 8)
    network = fit_network(rebounds, law="chatterjee_ruina", hidden=(8,), steps=600, fixed=fixed)
    at = np.geomspace(0.2, 8.0, 200)
    look = np.stack([0 * at, 0 * at, -at], -1) + at[:, None] * [0.5, 0.0, 0.0]
    given = network.coefficients(jimpact.Rebounds.from_contact(W, look, look, noise=noise))
    fig = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = fig.add_subplot()
    ax.axvspan(0.3, 5.0, color="#f2efe8", zorder=0, label="speeds trained on")
    ax.plot(speed, np.asarray(noisy)[:, 2] / speed, ".", ms=3, color=GREY, label="simulated rebounds, with noise")
    ax.plot(at, 0.3 + 0.55 * np.exp(-at / 1.5), "--", color=RED, label="truth")
    ax.plot(at, np.asarray(given["restitution"]), color=BLUE, label="learned")
    ax.set(
        xlabel="speed of approach (m/s)",
        ylabel="coefficient of restitution (1)",
        xscale="log",
        xlim=(0.2, 8),
        ylim=(0, 1.1),
    )
    ax.set_xticks([0.2, 0.5, 1, 2, 5], labels=["0.2", "0.5", "1", "2", "5"])
    ax.minorticks_off()
    ax.set_title("Restitution that falls with speed, learned through the law")
    ax.legend(loc="lower left")
    return fig


def cube_tosses() -> Figure | None:
    """Measured impacts of a cube, predicted by a fit to other tosses; None, with a message, without the data."""
    tosses = data.load()
    if tosses is None:
        return None
    train, test = data.halves(tosses)
    found = jimpact.fit(data.rebounds(train, INERTIA), law="stronge")
    guess = np.asarray(found.predict(data.rebounds(test, INERTIA)))
    score = data.score(test, guess, float(np.sqrt(INERTIA / data.MASS)))
    fig = Figure(figsize=(9, 4.6), layout="constrained")
    parts = ((slice(0, 3), "velocity", "m/s", score.linear), (slice(3, 6), "angular velocity", "rad/s", score.angular))
    for ax, (part, name, unit, rms) in zip(fig.subplots(1, 2), parts, strict=True):
        for axis, color in zip(range(3), (BLUE, RED, "#2a9d8f"), strict=True):
            ax.plot(test.after[:, part][:, axis], guess[:, part][:, axis], ".", ms=4, color=color, label="xyz"[axis])
        ends = np.array([test.after[:, part].min(), test.after[:, part].max()])
        ax.plot(ends, ends, color=GREY, lw=1)
        ax.set(xlabel=f"measured {name} after ({unit})", ylabel=f"predicted {name} after ({unit})")
        ax.set_title(f"{name}: rms error {rms:.3g} {unit}")
        ax.legend(title="axis")
    numbers = ", ".join(f"{name} {number:.3f}" for name, number in zip(found.names, found.numbers, strict=True))
    fig.suptitle(f"{len(test.toss)} impacts of a cube, fitted on {len(train.toss)} of other tosses: {numbers}")
    return fig
