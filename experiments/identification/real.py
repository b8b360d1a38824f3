"""Friction and restitution of three measured sets of impacts, and how well they predict impacts that were held out.

Looks for the data in the folder JIMPACT_DATA, else in `shared/data` beside the project; skips what is not there.

* cube: 3D tosses on a board (Pfrommer, Halm & Posa 2020); inertia from momentum alone, then friction and restitution;
* ellipse: planar drops (Fazeli & Rodriguez, MIT), against the predictions of six models released with them;
* sphere: aluminium oxide on glass at 3.9 m/s (Kharaz, Gorham & Salman 2001).
"""

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from scipy import optimize

import jimpact
from jimpact.identify import (
    Fit,
    Material,
    Parameter,
    Rebounds,
    audit,
    constant,
    fit,
    momentum_floor,
    speed_dependent,
)

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("JIMPACT_DATA", ROOT.parent / "shared" / "data"))
CUBE_MASS, CUBE_RADIUS = 0.37, np.sqrt(0.00097 / 0.37)  # kg; m, to compare angular with linear velocities
ELLIPSE_MASS, GYRATION = 0.0364, 0.0192  # kg, m
SPHERE = 0.0025  # m, radius
SPEED = 3.9  # m/s
LAWS = {
    "stronge": ("friction", "restitution"),
    "poisson": ("friction", "restitution"),
    "newton": ("friction", "restitution"),
    "smith": ("friction", "restitution"),
    "whittaker": ("friction", "restitution"),
    "anitescu_potra": ("friction", "restitution"),
    "chatterjee_ruina": ("friction", "restitution", "tangential_restitution"),
    "composite": ("friction", "restitution", "tangential_restitution", "mixing"),
}


def with_the_angle(values: dict[str, jax.Array], rebounds: Rebounds) -> dict[str, jax.Array]:
    """Tangential restitution that grows with the logarithm of slip / approach, within [-1, 1]."""
    ratio = jnp.hypot(rebounds.velocity[:, 0], rebounds.velocity[:, 1]) / -rebounds.velocity[:, 2]
    tangential = values["at_45_degrees"] + values["growth"] * jnp.log(ratio)
    return {"friction": values["friction"], "tangential_restitution": jnp.clip(tangential, -1, 1)}


def with_the_speed(values: dict[str, jax.Array], rebounds: Rebounds) -> dict[str, jax.Array]:
    """Restitution that falls with the speed of the contact point, slip included: a power of it, at most 1."""
    speed = jnp.linalg.norm(rebounds.velocity, axis=-1)
    rest = {name: values[name] for name in ("friction", "tangential_restitution")}
    return rest | {"restitution": jnp.minimum(values["restitution_at_3"] * (speed / 3) ** -values["decay"], 1)}


FALLING = Material(
    with_the_speed,
    {
        "friction": Parameter(0, np.inf, (0.01, 1)),
        "restitution_at_3": Parameter(0, 1, (0.05, 0.95)),  # at 3 m/s
        "tangential_restitution": Parameter(-1, 1, (-0.8, 0.8)),
        "decay": Parameter(0, 3, (0.01, 1)),
    },
)
ANGLE = Material(
    with_the_angle,
    {
        "friction": Parameter(0, np.inf, (0.01, 1)),
        "at_45_degrees": Parameter(-3, 3, (-1, 1)),
        "growth": Parameter(-3, 3, (-1, 1)),
    },
)


def table(path: Path) -> np.ndarray | None:
    if not path.is_file():
        print(f"no {path.parent.name}/{path.name}: set JIMPACT_DATA to the folder of the data; skipped")
        return None
    return np.genfromtxt(path, delimiter=",", names=True, encoding="utf-8", dtype=None)


def length(left: np.ndarray, metric: np.ndarray) -> float:
    """Root mean square length of residuals in m/s, angular velocities times a radius."""
    return float(np.sqrt(np.mean(np.sum((left * metric) ** 2, -1))))


def halves(group: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two random halves of the groups, as masks."""
    names = np.random.default_rng(seed).permutation(np.unique(group))
    first = np.isin(group, names[: len(names) // 2])
    return first, ~first


def held_out(found: Fit, test: Rebounds, metric: np.ndarray) -> float:
    return length(np.asarray(test.observation) - found.predict(test), metric)


def cube_rebounds(d: np.ndarray, inertia: float) -> Rebounds:
    vector = lambda name: jnp.asarray(np.stack([d[f"{name}_{axis}"] for axis in "xyz"], -1))  # noqa: E731
    tensor = jnp.broadcast_to(inertia * jnp.eye(3), (len(d), 3, 3))
    body = jimpact.Body(jnp.full(len(d), CUBE_MASS), tensor, jnp.zeros((len(d), 3)), vector("v_pre"), vector("w_pre"))
    after = body._replace(velocity=vector("v_post"), angular_velocity=vector("w_post"))
    up = jnp.array([0.0, 0.0, 1.0])
    return Rebounds.from_bodies(body, jimpact.immovable(), vector("r"), up, after, group=d["toss"].astype(int))


def cube(out: Path) -> Iterator[str]:
    d = table(DATA / "contactnets_cube" / "events.csv")
    if d is None:
        return
    d = d[-(d["v_pre_z"] + d["w_pre_x"] * d["r_y"] - d["w_pre_y"] * d["r_x"]) > 0.5]  # approach of the corner
    metric = np.repeat([1, CUBE_RADIUS], 3)
    train, test = halves(d["toss"], 0)

    def floor(inertia: float) -> float:
        return length(
            momentum_floor(cube_rebounds(d[train], inertia), np.ones((train.sum(), 6)) / metric).residual, metric
        )

    best = optimize.minimize_scalar(floor, bounds=(0.0005, 0.0015), method="bounded", options={"xatol": 1e-7}).x
    yield f"cube: {len(d)} impacts above 0.5 m/s, trained on {train.sum()}, tested on {test.sum()}"
    yield f"  inertia from momentum: {best:.6f} kg m^2 (stated 0.00081); floor {floor(best):.4f} m/s"
    given, other = cube_rebounds(d[train], best), cube_rebounds(d[test], best)
    for law in ("stronge", "poisson", "newton"):
        found = fit(given, law=law)
        yield f"  {law:10s} {_numbers(found)}  held-out rms {held_out(found, other, metric):.4f} m/s"
    found = fit(given, law="stronge", material=speed_dependent())
    yield f"  {'with speed':10s} {_numbers(found)}  held-out rms {held_out(found, other, metric):.4f} m/s"


def ellipse(out: Path) -> Iterator[str]:
    d = table(DATA / "mit_ellipse" / "impacts.csv")
    models = table(DATA / "mit_ellipse" / "published_models.csv")
    if d is None or models is None:
        return
    d = d[: 2 * (len(d) // 2)]  # halves of one size need one compilation
    metric = np.array([1, 1, GYRATION])
    before, after = (np.stack([d[f"{c}_{s}"] for c in ("vx", "vy", "w")], -1) for s in ("pre", "post"))
    arm = np.stack([d["r_x"], d["r_y"]], -1)
    inertia = ELLIPSE_MASS * GYRATION**2
    noise = 0.1 / metric  # weights the channels as the error that is reported
    rebounds = Rebounds.from_planar(ELLIPSE_MASS, inertia, arm, before, after, noise)
    flip = np.array([-1, 1, 1])
    flipped = Rebounds.from_planar(ELLIPSE_MASS, inertia, arm, before * flip, after * flip)
    train, test = halves(d["trial"], 0)
    yield f"ellipse: {len(d)} impacts; each random half is predicted from the other"
    yield f"  audit of the data as released: {audit(flipped).sentences[0]}"
    yield f"  momentum floor {length(momentum_floor(rebounds).residual, metric):.3f} m/s"
    scores: dict[str, float] = {}
    squares: dict[str, np.ndarray] = {}
    variants: dict[str, dict] = {law: {"law": law, "parameters": names} for law, names in LAWS.items()}
    variants["with the speed"] = {"law": "composite", "material": FALLING, "fixed": {"mixing": 0.5}}
    for title, options in variants.items():
        left = np.empty_like(after)
        for half, other in ((test, train), (train, test)):
            found = fit(rebounds[half], **options)
            left[other] = (after - found.predict(rebounds))[other] * metric
        squares[title] = np.sum(left**2, -1)
        scores[title] = float(np.sqrt(squares[title].mean()))
        one, two = (np.sqrt(squares[title][half].mean()) for half in (test, train))
        yield f"  {title:16s} {_numbers(found)}"
        yield f"  {'':16s} held-out rms {scores[title]:.4f} m/s ({one:.4f}, {two:.4f}), {_against(squares, title)}"
    whole = fit(rebounds, law="stronge")
    best = length(after - whole.predict(rebounds), metric)
    yield f"  stronge fitted to all {len(d)}: {_numbers(whole)}  rms of these {best:.4f} m/s"
    order = np.searchsorted(models["trial"], d["trial"])
    for name in sorted({column.rsplit("_", 1)[0] for column in models.dtype.names} - {"trial"}):
        guess = np.stack([models[f"{name}_{c}"][order] for c in ("vx", "vy", "w")], -1)
        scores[f"{name} (released)"] = length(after - guess, metric)
        yield f"  {name:16s} as released: rms {scores[f'{name} (released)']:.3f} m/s"
    _bars(scores, "held-out rms (m/s)", out / "ellipse.png")


def sphere(out: Path) -> Iterator[str]:
    d = table(DATA / "kharaz2001" / "points.csv")
    if d is None:
        return
    kinds = np.unique(d["quantity"])
    counts = ", ".join(f"{kind} {int((d['quantity'] == kind).sum())}" for kind in kinds)
    yield f"sphere: {len(d)} points ({counts})"
    slip = d[d["quantity"] == "e_t"]
    angle = np.deg2rad(slip["theta_in_deg"].astype(float))
    vt, vn = SPEED * np.sin(angle), SPEED * np.cos(angle)
    W = jnp.diag(jnp.array([3.5, 3.5, 1.0]))  # 1/m (1 + 5/2) across, 1/m along, per unit mass
    v = jnp.asarray(np.stack([vt, 0 * vt, -vn], -1))
    # The ratio of tangential velocities of the centre: 1 + impulse / vt, per unit mass.
    effect = jnp.asarray(np.stack([np.stack([1 / vt, 0 * vt, 0 * vt], -1)], -2))
    seen = jnp.asarray(slip["value"].astype(float))[:, None]
    rebounds = Rebounds.of(W, v, jnp.ones_like(seen), effect, seen, jnp.asarray([0.01]), channels=("e_t",))
    curves = {}
    models: dict[str, tuple[str, Material]] = {
        "stronge": ("stronge", constant(("friction",))),
        "chatterjee_ruina": ("chatterjee_ruina", constant(("friction", "tangential_restitution"))),
        "with the angle": ("chatterjee_ruina", ANGLE),
    }
    steep = np.rad2deg(angle) < 38
    for title, (law, material) in models.items():
        found = fit(rebounds, law=law, material=material, fixed={"restitution": 0.98})
        left = found.residuals[:, 0] ** 2
        below, above = np.sqrt(left[steep].mean()), np.sqrt(left[~steep].mean())
        yield f"  {title:16s} {_numbers(found)}  rms below 38 deg {below:.4f}, above {above:.4f}; AIC {found.aic:.1f}"
        curves[title] = found.predict()[:, 0]
    _curves(np.rad2deg(angle), np.asarray(seen)[:, 0], curves, out / "sphere.png")


def _against(squares: dict[str, np.ndarray], title: str, first: str = "stronge") -> str:
    """How much lower the error is than that of another law, with a 95 % interval by resampling of impacts."""
    draws = np.random.default_rng(0).integers(len(squares[first]), size=(4000, len(squares[first])))
    gaps = np.sqrt(squares[first][draws].mean(1)) - np.sqrt(squares[title][draws].mean(1))
    low, high = np.quantile(gaps, (0.025, 0.975))
    return f"{low:+.4f} to {high:+.4f} m/s lower than {first}"


def _numbers(found: Fit) -> str:
    ends = found.interval(0.95)
    parts = []
    for name, number in zip(found.names, found.numbers, strict=True):
        known = f"{number:.4f} +- {0.5 * (ends[name][1] - ends[name][0]):.4f}"
        parts.append(f"{name} {known if found.identifiable[name] else '(not identifiable)'}")
    return ", ".join(parts)


def _bars(scores: dict[str, float], label: str, path: Path) -> None:
    fig = Figure(figsize=(7, 0.34 * len(scores) + 1), layout="constrained")
    ax = fig.add_subplot()
    names = sorted(scores, key=scores.__getitem__, reverse=True)
    ax.barh(names, [scores[name] for name in names], color=["#b0a08a" if "(" in n else "#1f4e9c" for n in names])
    ax.set_xlabel(label)
    fig.savefig(path, dpi=130)


def _curves(angle: np.ndarray, seen: np.ndarray, curves: dict[str, np.ndarray], path: Path) -> None:
    fig = Figure(figsize=(6.4, 4.4), layout="constrained")
    ax = fig.add_subplot()
    order = np.argsort(angle)
    ax.plot(angle, seen, "o", color="#d1495b", label="measured")
    for name, curve in curves.items():
        ax.plot(angle[order], curve[order], label=name)
    ax.set(xlabel="angle from the normal (degrees)", ylabel="tangential velocity after / before")
    ax.legend()
    fig.savefig(path, dpi=130)


def main() -> None:
    parts: dict[str, Callable[[Path], Iterator[str]]] = {"cube": cube, "ellipse": ellipse, "sphere": sphere}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", choices=[[], *parts], default=[])
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "identification")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.which or parts:
        for line in parts[name](arguments.out):
            print(line, flush=True)


if __name__ == "__main__":
    main()
