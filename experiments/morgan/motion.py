"""Fig 3.1: the double pendulum let go over the floor, flight and impacts, until its tip rests; and fig 2.1.

For the latter M(q) and J(q), below (2.1), are compared with a derivation from geometry, bar by bar.
"""

from collections import Counter
from functools import partial

import jax
import numpy as np

import jimpact
from jimpact.reproduce import LabelledProgress, Result, claimed, digits_of, only

from .crowd import by_text, largest_gap, with_speeds
from .drawing import motion_figure, posture
from .flight import MOST, Material, broken, simulate
from .forms import TEXTS, MechanismForm, MotionForm
from .pendulum import matrices
from .swivel import by_geometry

ROUND_OFF = 1e-14  # of the energy, and of the velocity of the tip
SEED, COUNT, SPEED = 11, 1000, 3.0  # of random states; rad/s


def mechanism(form: MechanismForm, progress: LabelledProgress) -> Result:
    pendulum, rng = form.pendulum.pendulum(), np.random.default_rng(SEED)
    q = rng.uniform(-np.pi, np.pi, (COUNT, 2))
    u = rng.normal(scale=SPEED, size=q.shape)
    swivel = jax.jit(jax.vmap(partial(by_geometry, pendulum)))(np.column_stack([np.zeros(COUNT), q]))
    M, J = (np.asarray(a) for a in swivel)
    derived = with_speeds(M[:, 1:, 1:], J[:, ::2, 1:], u, 0.0, 0.0)
    printed = with_speeds(*matrices(pendulum, q), u, 0.0, 0.0)
    kinetic, found = (crowd.energy(u)[:, None] for crowd in (derived, printed))
    half = 0.5 * pendulum.mass * pendulum.length**2 * np.cos(q[:, 1:]) * u[:, :1] * u[:, 1:]
    pairs = {"energy": (found, kinetic), "tip": (printed.v, derived.v), "misread": (found + half, kinetic)}
    gaps = {name: largest_gap(*pair).max() for name, pair in pairs.items()}
    findings = {
        "M-MJ": claimed(max(gaps["energy"], gaps["tip"]) < ROUND_OFF, count=COUNT, **gaps),
        "M-fig2.1": only(mass=pendulum.mass, length=pendulum.length),
    }
    return Result(findings, [posture(pendulum, form.posture_deg)])


def run(form: MotionForm, progress: LabelledProgress) -> Result:
    pendulum, material = form.pendulum.pendulum(), Material(form.material.friction, form.material.restitution, form.law)
    y = np.array([*np.deg2rad(form.start.angles_deg), *form.start.speeds])
    fall = partial(simulate, pendulum, material, y, duration=form.duration, rest=form.rest)
    whole, finer = fall(step=form.step), fall(step=form.step / 2)
    bounces, states = whole.bounces, np.array([b.state for b in whole.bounces]).reshape(-1, 4)
    struck = with_speeds(*matrices(pendulum, states[:, :2]), states[:, 2:], material.friction, material.restitution)
    text = by_text(struck)  # the impacts once more
    gap = largest_gap([b.speeds for b in bounces], [s.u for s in text]).max() if text else 0.0
    paths = ", ".join(f"{path} {count}" for path, count in sorted(Counter(s.boxes for s in text).items()))
    promises = "; ".join(broken(pendulum, material, whole)) or "It rises at no impact, and the tip rebounds from each"
    same = "The same" if len(bounces) == len(finer.bounces) else "Another"
    lost, moved = sum(b.energy_lost for b in bounces), abs(whole.time[-1] - finer.time[-1])
    reason = "the time is over" if len(bounces) < MOST else "too many, pass a greater rest"
    if whole.rests:
        reason = f"the tip rests on the floor, with a slip of {bounces[-1].after[0]:.4f} m/s"
    findings = {
        "M-fig3.1": only(time=whole.time[-1], count=len(bounces), reason=reason),
        "M-fig3.1-impacts": only("", digits_of(np.ones(1), 1 + gap), paths=paths, count=len(bounces), gap=gap),
        "M-fig3.1-energy": only(lost=lost, drift=whole.drift, promises=promises),
        "M-fig3.1-step": only(moved=moved, same=same, count=len(finer.bounces)),
    }
    rows = []
    for b, s in zip(bounces, text, strict=True):
        shown = (f"{x:.5f}" for x in (-b.before[1], b.after[1], b.before[0], b.after[0] + 0.0))
        rows.append((f"{b.time:.6f}", *shown, f"{b.energy_lost:.2e}", jimpact.MODES[b.mode], s.boxes))
    return Result(findings, [motion_figure(pendulum, whole, form.name)], [TEXTS.grid("motion", rows)])
