"""M(q) and J(q) of the double pendulum, below (2.1), against a derivation from geometry, bar by bar."""

from functools import partial

import jax
import numpy as np

from jimpact.reproduce import Progress, Result, claimed, only

from .crowd import largest_gap, with_speeds
from .drawing import posture
from .forms import MechanismForm
from .pendulum import matrices
from .swivel import by_geometry

ROUND_OFF = 1e-14  # of the energy, and of the velocity of the tip
SEED, COUNT, SPEED = 11, 1000, 3.0  # of random states; rad/s


def run(form: MechanismForm, progress: Progress) -> Result:
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
