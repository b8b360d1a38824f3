"""The three parts of the experiment: each trains, compares with the constant model, and says what came out."""

from pathlib import Path
from typing import Any

import numpy as np

from jimpact import Rebounds
from jimpact.identify import Fit, cross_validate, fit
from jimpact.output.terminal import bar

from . import simulated
from .judgement import far_away, interval, log_likelihood, predict, promises, rms, spread, worst
from .measured import SETS, folds, metric
from .network import Network
from .settings import Settings
from .training import LAW, train

__all__ = ["on_measured", "on_simulated"]

FAR = 20_000  # impacts


def on_simulated(settings: Settings, out: Path) -> tuple[dict[str, Any], Network, Fit]:
    """Train on the first half, judge on the second, in units of the noise that is known."""
    rebounds = simulated.rebounds(settings.simulated)
    chosen = np.arange(len(rebounds)) < len(rebounds) // 2
    state = train(rebounds, chosen, settings.training, out / "simulated.npz", bar("simulated"))
    constant = fit(rebounds[chosen], law=LAW, progress=bar("constant model"))
    held, sigma = rebounds[~chosen], np.asarray(rebounds.noise)[~chosen]
    seen = np.asarray(held.observation)
    left = {"network": seen - predict(state.network, held), "constant": seen - constant.predict(held)}
    left["truth"] = seen - predict(simulated.truth, held)
    likely = {name: log_likelihood(r, sigma) for name, r in left.items()}
    result: dict[str, Any] = {"trained on": int(chosen.sum()), "held out": len(held), "constant": constant.estimate}
    result["rms in units of noise"] = {name: rms(r, sigma) for name, r in left.items()}
    result["log-likelihood per impact"] = {name: float(values.mean()) for name, values in likely.items()}
    result["network minus constant"] = interval(likely["network"] - likely["constant"], np.asarray(held.group))
    return result | _kept([state.network], held), state.network, constant


def on_measured(name: str, settings: Settings, out: Path) -> dict[str, Any]:
    """Predict each fold from the others, both models."""
    rebounds = SETS[name]()
    count, seed = settings.measured.folds, settings.measured.seed
    fold = folds(rebounds, count, seed)
    whole = fit(rebounds, law=LAW, progress=bar(f"{name}, constant model"))
    seen, left, networks = np.asarray(rebounds.observation), {}, []
    left["constant"], left["network"] = cross_validate(whole, count, seed), np.empty_like(seen)
    for i in range(count):
        path = out / f"{name}-fold-{i}.npz"
        state = train(rebounds, fold != i, settings.training, path, bar(f"{name}, fold {i + 1} of {count}"))
        networks.append(state.network)
        left["network"][fold == i] = (seen - predict(state.network, rebounds))[fold == i]
    group = np.asarray(rebounds.group)
    likely = {model: log_likelihood(r, spread(r, fold)) for model, r in left.items()}
    square = {model: np.sum((r * metric(name)) ** 2, -1) for model, r in left.items()}
    result: dict[str, Any] = {"impacts": len(rebounds), "groups": len(np.unique(group)), "folds": count}
    result |= {"constant": whole.estimate, "rms (m/s)": {m: float(np.sqrt(s.mean())) for m, s in square.items()}}
    result["log-likelihood per impact"] = {model: float(values.mean()) for model, values in likely.items()}
    result["network minus constant"] = interval(likely["network"] - likely["constant"], group)
    result["mean square, constant minus network (m/s)^2"] = interval(square["constant"] - square["network"], group)
    return result | _kept(networks, rebounds)


def _kept(networks: list[Network], rebounds: Rebounds) -> dict[str, Any]:
    """Bounds and energy on the rebounds and far away, the worst of all networks."""
    places = {"on the rebounds": (rebounds.inverse_inertia, rebounds.velocity), "far away": far_away(FAR)}
    return {
        where: worst([promises(network, *given) for network in networks])._asdict() for where, given in places.items()
    }
