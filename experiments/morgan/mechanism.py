"""M(q) and J(q) of the double pendulum, below (2.1), against an independent derivation.

Kinetic energy bar by bar: half m |velocity of the centre|^2 + half m r^2 / 12 (rate of turning)^2, the velocities being
derivatives of positions by JAX; and the velocity of the tip likewise.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from matplotlib.figure import Figure
from matplotlib.patches import Arc

from jimpact.reproduce import Picture, Progress, Result, claim, unchecked

from .forms import MechanismForm
from .pendulum import Pendulum, matrices, tip

__all__ = ["run"]

LINE, MARK = "#1f4e9c", "#d1495b"


def run(form: MechanismForm, progress: Progress) -> Result:
    pendulum, sample = form.pendulum.pendulum(), form.sample
    rng = np.random.default_rng(sample.seed)
    q = rng.uniform(-np.pi, np.pi, (sample.count, 2))
    u = rng.normal(scale=sample.speed, size=q.shape)
    M, J = matrices(pendulum, q)
    kinetic, velocity = (np.asarray(a) for a in jax.jit(jax.vmap(partial(_derived, pendulum)))(q, u))
    wrong = {"energy": _gap(_energy(M, u), kinetic), "tip": _gap(np.einsum("nij,nj->ni", J, u), velocity)}
    half = 0.5 * form.pendulum.mass * form.pendulum.length**2 * np.cos(q[:, 1])
    misread = _gap(_energy(M, u) + half * u[:, 0] * u[:, 1], kinetic)
    largest = max(wrong.values())
    findings = [
        claim(
            "M-MJ",
            "(2.1)",
            "mass matrix and Jacobian, with the factors m r² and r",
            form.printed,
            f"kinetic energy to {wrong['energy']:.1e}, velocity of the tip to {wrong['tip']:.1e}",
            largest < form.round_off,
            f"{sample.count} random states, each relative to itself, against a derivation bar by bar. The entries of M "
            "are scattered in the text at hand; M = m r² [[cos q2 + 5/3, cos(q2)/2 + 1/3], [., 1/3]] was chosen "
            "because it gives the energy, and so were the factors, which cannot be read. With cos q2 instead of "
            f"cos(q2)/2 energy would be off by up to {misread:.0%}.",
        ),
        unchecked(
            "M-fig2.1",
            "fig 2.1",
            "the mechanism",
            f"m = {form.pendulum.mass:g} kg, r = {form.pendulum.length:g} m",
            "A drawing without numbers; masses and lengths here are ours.",
        ),
    ]
    caption = "The double pendulum touching the floor, with its angles and speeds (fig 2.1)."
    return Result(findings, [Picture("fig2_1", _figure(pendulum, form.posture_deg), caption)])


def _derived(pendulum: Pendulum, q: Array, u: Array) -> tuple[Array, Array]:
    """Kinetic energy and velocity of the tip, without M and J."""
    m, r = pendulum.mass, pendulum.length

    def centres(q: Array) -> Array:
        first, second = (r * jnp.stack([jnp.cos(a), jnp.sin(a)]) for a in (q[0], q[0] + q[1]))
        return jnp.stack([0.5 * first, first + 0.5 * second])

    velocity = jax.jvp(centres, (q,), (u,))[1]
    turning = jnp.stack([u[0], u[0] + u[1]])
    kinetic = 0.5 * m * (velocity**2).sum() + 0.5 * m * r**2 / 12 * (turning**2).sum()
    return kinetic, jax.jvp(partial(tip, pendulum._replace(floor=0.0)), (q,), (u,))[1]


def _energy(M: np.ndarray, u: np.ndarray) -> np.ndarray:
    return 0.5 * np.einsum("ni,nij,nj->n", u, M, u)


def _gap(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, each relative to its own state."""
    a, b = (x.reshape(len(expected), -1) for x in (found, expected))
    return float((np.linalg.norm(a - b, axis=-1) / np.linalg.norm(b, axis=-1)).max())


def _figure(pendulum: Pendulum, posture_deg: tuple[float, float]) -> Figure:
    first, second = np.cumsum(np.deg2rad(posture_deg))
    r = pendulum.length
    elbow = r * np.array([np.cos(first), np.sin(first)])
    end = elbow + r * np.array([np.cos(second), np.sin(second)])
    fig = Figure(figsize=(6.2, 5.6), layout="constrained")
    ax = fig.add_subplot()
    ax.axhspan(end[1] - 0.15 * r, end[1], color="0.88", lw=0)
    ax.axhline(end[1], color="0.3", lw=1.2)
    for base, along in ((np.zeros(2), np.array([0.6 * r, 0.0])), (elbow, 0.6 * elbow)):
        ax.plot(*np.stack([base, base + along]).T, "--", color="0.5", lw=1)
    ax.plot(*np.stack([np.zeros(2), elbow, end]).T, "o-", color=LINE, lw=5, ms=9, mfc="w", mew=2)
    ax.plot([0], [0.07 * r], "v", color="0.3", ms=16, zorder=0)
    turns = ((np.zeros(2), 0.0, posture_deg[0], "1"), (elbow, posture_deg[0], sum(posture_deg), "2"))
    for centre, a, b, index in turns:
        ax.add_patch(Arc(tuple(centre), 0.8 * r, 0.8 * r, theta1=min(a, b), theta2=max(a, b), color=MARK, lw=1.6))
        middle = np.deg2rad(0.5 * (a + b))
        at = centre + 0.56 * r * np.array([np.cos(middle), np.sin(middle)])
        ax.text(at[0], at[1], f"$q_{index}, u_{index}$", color=MARK, fontsize=13, ha="center", va="center")
    for at, angle in ((0.5 * elbow, first), (0.5 * (elbow + end), second)):
        side = 0.12 * r * np.array([np.sin(angle), -np.cos(angle)]) * np.sign(posture_deg[1])
        place = at - side if angle == second else at + side
        ax.text(place[0], place[1], "$m, r$", fontsize=13, ha="center", va="center")
    ax.text(end[0], end[1] - 0.08 * r, r"friction $\mu$, restitution $e$", fontsize=11, ha="center", va="center")
    wide = max(end[0], 0.7 * r)
    ax.set(xlabel="along the floor (m)", ylabel="height (m)", aspect="equal")
    ax.set(xlim=(-0.35 * r, wide + 0.5 * r), ylim=(end[1] - 0.15 * r, 0.25 * r))
    return fig
