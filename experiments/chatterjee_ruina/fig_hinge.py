"""Figure 8: a pendulum strikes a wall, as the limit of ever less mobility along its rod.

Source: Chatterjee & Ruina 1998, sections 3.4, 4.2.1, 4.2.2 and 5.2.
"""

import numpy as np

from jimpact.reproduce import Finding, Grid, Progress, claim, new, solve_many

from .forms import Hinge
from .space import Flat, in_space

__all__ = ["findings_of_the_limit"]

LAWS = ("whittaker", "poisson", "stronge", "anitescu_potra", "smith", "chatterjee_ruina")


def findings_of_the_limit(config: Hinge, progress: Progress) -> tuple[list[Finding], Grid]:
    """Energy, and velocity along and across the rod, as the mobility along it goes to zero."""
    flat, limit = Flat.of(config), config.limit
    values, axes = np.linalg.eigh(flat.K)
    mobility = np.array(limit.mobility)
    K = np.einsum("ij,nj,kj->nik", axes, np.stack([mobility, np.full_like(mobility, values[1])], -1), axes)
    W, v = in_space(K, np.broadcast_to(flat.v, (len(K), 2)))
    after, energy, impulse = {}, {}, {}
    for law in LAWS:
        own = {"tangential_restitution": limit.tangential_restitution} if law == "chatterjee_ruina" else {}
        impact = solve_many(W, v, flat.mu, limit.restitution, law=law, progress=progress, **own)
        after[law] = np.einsum("ni,ij->nj", impact.velocity[:, ::2], axes) / np.linalg.norm(flat.v)  # along, across
        work = (impact.velocity[:, ::2] * np.linalg.solve(K, impact.velocity[:, ::2, None])[..., 0]).sum(-1)
        energy[law] = work / (v[:, ::2] * np.linalg.solve(K, v[:, ::2, None])[..., 0]).sum(-1)
        impulse[law] = np.asarray(impact.impulse[:, ::2])
    rows = [[law, *energy[law], *after[law][-1]] for law in LAWS]
    columns = ("law", *(f"energy, {m:g}/kg" for m in mobility), "along the rod after", "across the rod after")
    findings = [*_whittaker_and_new(config, after, energy), *_routh(config, K, after, energy, impulse["poisson"])]
    return findings, Grid("Figure 8: after / before", columns, rows)


def _whittaker_and_new(config: Hinge, after: dict[str, np.ndarray], energy: dict[str, np.ndarray]) -> list[Finding]:
    mobility, held, gain = config.limit.mobility, config.limit.held, energy["whittaker"]
    rate = np.log(gain[-1] / gain[-2]) / np.log(mobility[-2] / mobility[-1])
    along, left = (float(abs(after[law][-1, 0])) for law in ("whittaker", "chatterjee_ruina"))
    moved = np.abs(np.diff(after["chatterjee_ruina"][-2:], axis=0)).max()
    return [
        claim(
            "CR-fig8-whittaker",
            "4.2.2, Fig. 8",
            "energy after / before by Whittaker's law",
            '"unbounded increase of kinetic energy"; "does not respect the hinge constraint"',
            f"{gain[0]:.3g}, {gain[-2]:.3g}, {gain[-1]:.3g} at {mobility[0]:g}, {mobility[-2]:g}, {mobility[-1]:g}/kg; "
            f"{along:.2f} of the speed is left along the rod",
            holds=bool((np.diff(gain) > 0).all() and 0.9 < rate < 1.1 and along > held),
            why=f"It grows as mobility^-{rate:.2f}.",
        ),
        claim(
            "CR-fig8-new",
            "5.2, Fig. 8",
            "velocity after by the new law: it has a limit, and the hinge holds",
            '"reasonable predictions"',
            f"last step changes it by {moved:.0e}, along the rod {left:.0e} of the speed",
            holds=bool(moved < held and left < held),
        ),
    ]


def _routh(
    config: Hinge, K: np.ndarray, after: dict[str, np.ndarray], energy: dict[str, np.ndarray], impulse: np.ndarray
) -> list[Finding]:
    """The motion stops, and the impulse goes on along the line of sticking, which becomes the rod."""
    least, limit = config.limit.mobility[-1], config.limit
    speed = {law: float(np.linalg.norm(after[law][-1])) for law in ("poisson", "stronge")}
    dead = -np.linalg.solve(K[-1], Flat.of(config).v)
    further = dead + limit.restitution * dead[1] * np.array([-K[-1, 0, 1] / K[-1, 0, 0], 1.0])
    off, gap = (float(np.linalg.norm(impulse[-1] - P) / np.linalg.norm(dead)) for P in (dead, further))
    return [
        claim(
            "CR-fig8-routh",
            "4.2.1, Fig. 8",
            "motion after by Routh's law with Poisson's restitution",
            '"no-slip, no-bounce"',
            f"{speed['poisson']:.0e} of the speed before is left at {least:g}/kg",
            holds=speed["poisson"] < limit.held,
        ),
        claim(
            "CR-fig8-routh-impulse",
            "4.2.1, Fig. 8",
            "impulse of that impact",
            "P = P_II",
            f"{off:.3f} of |P_II| away from it at {least:g}/kg",
            holds=off < limit.held,
            why="It goes on where it moves nothing, along the line of sticking, until the normal impulse is 1 + e "
            f"times that of P_II: met to {gap:.0e}.",
            verdict="differs",
        ),
        new(
            "CR-fig8-stronge",
            "4.2.1, Fig. 8",
            "the same with Stronge's restitution",
            f"energy after / before {energy['stronge'][-1]:.3f}, speed {speed['stronge']:.0e}",
            "The rule of restitution matters: this energy stays in the growing mass along the rod.",
        ),
    ]
