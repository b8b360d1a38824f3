"""`python -m experiments.cube_tosses`: errors of predictions of measured impacts, as a table and a figure."""

import argparse
from pathlib import Path

import jax
import numpy as np
from matplotlib.figure import Figure
from scipy import optimize

import jimpact
from experiments.cube_tosses import mjx_peer
from experiments.cube_tosses.data import MASS, ROOT, Tosses, halves, load, rebounds, score
from jimpact.identify import fit, momentum_floor

STATED = {"inertia": 0.00081, "friction": 0.18, "restitution": 0.125}  # process_dynamics.py of DAIRLab/contact-nets
DURATIONS = (0.001, 0.004)  # s, of MJX's contact


def inertia_of(train: Tosses) -> float:
    """The inertia with which some impulse explains the velocities best, whatever the law."""

    def floor(inertia: float) -> float:
        weights = np.repeat([1, np.sqrt(inertia / MASS)], 3)
        left = momentum_floor(rebounds(train, inertia), np.ones((len(train.toss), 6)) / weights).residual
        return float(np.mean(np.sum((left * np.repeat([1, 0.05], 3)) ** 2, -1)))

    return float(optimize.minimize_scalar(floor, bounds=(5e-4, 1.5e-3), method="bounded").x)


def by_law(tosses: Tosses, inertia: float, friction: float, restitution: float, law: str) -> np.ndarray:
    given = rebounds(tosses, inertia)
    impact = jimpact.require(jimpact.solve(given.inverse_inertia, given.velocity, friction, restitution, law=law))
    return np.asarray(given.baseline + (given.effect @ impact.impulse[..., None])[..., 0])


def predictions(train: Tosses, test: Tosses) -> dict[str, np.ndarray]:
    inertia = inertia_of(train)
    gyration = np.sqrt(inertia / MASS)
    found = fit(rebounds(train, inertia), law="stronge")
    numbers = dict(zip(found.names, found.numbers, strict=True))
    print(
        f"inertia {inertia:.6f} kg m^2 from momentum; jimpact: " + ", ".join(f"{n} {v:.4f}" for n, v in numbers.items())
    )
    guesses = {
        "no impact": test.before,
        "jimpact (stronge), fitted": np.asarray(found.predict(rebounds(test, inertia))),
    }
    model = mjx_peer.build(inertia)
    for duration in DURATIONS:
        ratio, friction = mjx_peer.tune(model, train, duration, gyration)
        guess, left = mjx_peer.predict(model, test, duration, ratio, friction)
        print(
            f"MJX, contact of {duration * 1e3:g} ms: damping ratio {ratio:.4f}, friction {friction:.4f}; "
            f"{int((~left).sum())} of {len(left)} have not left"
        )
        guesses[f"MJX, contact of {duration * 1e3:g} ms, tuned"] = guess
    for title, own in (("stated", STATED["inertia"]), ("ours", inertia)):
        for law in ("anitescu_potra", "stronge"):
            guess = by_law(test, own, STATED["friction"], STATED["restitution"], law)
            guesses[f"authors' parameters ({law}), inertia {title}"] = guess
    return guesses


def draw(test: Tosses, guesses: dict[str, np.ndarray], gyration: float, path: Path) -> None:
    fig = Figure(figsize=(8, 4.6), layout="constrained")
    ax = fig.add_subplot()
    metric = np.repeat([1, gyration], 3)
    for name, guess in guesses.items():
        if name != "no impact":
            size = np.sort(np.linalg.norm((guess - test.after) * metric, axis=-1))
            ax.plot(size, (np.arange(len(size)) + 1) / len(size), label=name)
    ax.set(xlabel="error of the velocity after (m/s)", ylabel="share of held-out impacts", xscale="log", ylim=(0, 1))
    ax.legend(fontsize=8)
    fig.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "cube_tosses")
    out = parser.parse_args().out
    jax.config.update("jax_enable_x64", True)
    tosses = load()
    if tosses is None:
        return
    train, test = halves(tosses)
    print(f"{len(tosses.toss)} impacts; fitted to {len(train.toss)}, tested on {len(test.toss)}")
    guesses = predictions(train, test)
    gyration = float(np.sqrt(0.00097 / MASS))
    print("| prediction | error (m/s) | linear (m/s) | angular (rad/s) | error / noise |\n|---|---|---|---|---|")
    for name, guess in guesses.items():
        s = score(test, guess, gyration)
        print(f"| {name} | {s.speed:.4f} | {s.linear:.4f} | {s.angular:.3f} | {s.sigmas:.1f} |")
    out.mkdir(parents=True, exist_ok=True)
    draw(test, guesses, gyration, out / "errors.png")
    print(f"wrote {out / 'errors.png'}")


if __name__ == "__main__":
    main()
