"""Figure 8: a pendulum strikes a wall, as the limit of ever less mobility along its rod.

Source: Chatterjee & Ruina 1998, sections 3.4, 4.2.1, 4.2.2 and 5.2.
"""

import numpy as np

from jimpact.reproduce import Finding, Grid, Progress, claim, new, solve_many

from .forms import Hinge
from .space import Flat, in_space

__all__ = ["findings_of_the_limit"]

LAWS = ("whittaker", "poisson", "stronge", "anitescu_potra", "smith", "chatterjee_ruina")
HELD = 1e-2  # of the speed before: what is left along the rod at the least mobility


def findings_of_the_limit(config: Hinge, progress: Progress) -> tuple[list[Finding], Grid]:
    """Energy, and velocity along and across the rod, as the mobility along it goes to zero."""
    flat, limit = Flat.of(config), config.limit
    values, axes = np.linalg.eigh(flat.K)
    mobility = np.array(limit.mobility)
    K = np.einsum("ij,nj,kj->nik", axes, np.stack([mobility, np.full_like(mobility, values[1])], -1), axes)
    W, v = in_space(K, np.broadcast_to(flat.v, (len(K), 2)))
    after, energy, off = {}, {}, {}
    for law in LAWS:
        own = {"tangential_restitution": limit.tangential_restitution} if law == "chatterjee_ruina" else {}
        impact = solve_many(W, v, flat.mu, limit.restitution, law=law, progress=progress, **own)
        after[law] = np.einsum("ni,ij->nj", impact.velocity[:, ::2], axes) / np.linalg.norm(flat.v)  # along, across
        work = (impact.velocity[:, ::2] * np.linalg.solve(K, impact.velocity[:, ::2, None])[..., 0]).sum(-1)
        energy[law] = work / (v[:, ::2] * np.linalg.solve(K, v[:, ::2, None])[..., 0]).sum(-1)
        dead = -np.linalg.solve(K, v[:, ::2, None])[..., 0]
        off[law] = np.linalg.norm(impact.impulse[:, ::2] - dead, axis=-1) / np.linalg.norm(dead, axis=-1)
    rows = [[law, *energy[law], *after[law][-1]] for law in LAWS]
    columns = ("law", *(f"energy, {m:g}/kg" for m in mobility), "along the rod after", "across the rod after")
    return _findings(mobility, after, energy, off), Grid("Figure 8: after / before", columns, rows)


def _findings(
    mobility: np.ndarray, after: dict[str, np.ndarray], energy: dict[str, np.ndarray], off: dict[str, np.ndarray]
) -> list[Finding]:
    gain = energy["whittaker"]
    rate = np.log(gain[-1] / gain[-2]) / np.log(mobility[-2] / mobility[-1])
    moved = np.abs(np.diff(after["chatterjee_ruina"][-2:], axis=0)).max()
    left = abs(after["chatterjee_ruina"][-1, 0])
    return [
        claim(
            "CR-fig8-whittaker",
            "4.2.2, Fig. 8",
            "energy after / before by Whittaker's law",
            "grows without bound",
            f"{gain[0]:.3g}, {gain[-2]:.3g}, {gain[-1]:.3g} at {mobility[0]:g}, {mobility[-2]:g}, {mobility[-1]:g}/kg",
            holds=bool((np.diff(gain) > 0).all() and 0.9 < rate < 1.1),
            why=f"It grows as mobility^-{rate:.2f}, and the velocity along the rod does not vanish "
            f"({abs(after['whittaker'][-1, 0]):.2f} of the speed): the hinge is not respected.",
        ),
        claim(
            "CR-fig8-routh",
            "4.2.1, Fig. 8",
            "motion after by Routh's law with Poisson's restitution, much friction",
            "no slip and no bounce",
            f"{np.linalg.norm(after['poisson'][-1]):.0e} of the speed before is left at {mobility[-1]:g}/kg",
            holds=bool(np.linalg.norm(after["poisson"][-1]) < HELD),
        ),
        claim(
            "CR-fig8-routh-impulse",
            "4.2.1, Fig. 8",
            "impulse of that impact",
            "P = P_II",
            f"{off['poisson'][-1]:.3f} of |P_II| away from it at {mobility[-1]:g}/kg",
            holds=bool(off["poisson"][-1] < HELD),
            why="The motion is dead, but the impulse of restitution goes on along the rod, where it moves nothing: "
            "P tends to P_II plus e times the normal part of P_II along the line of sticking.",
            verdict="differs",
        ),
        new(
            "CR-fig8-stronge",
            "4.2.1, Fig. 8",
            "the same with Stronge's restitution",
            f"energy after / before {energy['stronge'][-1]:.3f}, speed {np.linalg.norm(after['stronge'][-1]):.0e}",
            "The rule of restitution matters: the energy that Stronge's returns stays in motion along the rod, whose "
            "velocity vanishes as its mass grows.",
        ),
        claim(
            "CR-fig8-new",
            "5.2, Fig. 8",
            "velocity after by the new law",
            "reasonable: it has a limit, and the hinge holds",
            f"last step changes it by {moved:.0e}, along the rod {left:.0e} of the speed",
            holds=bool(moved < HELD and left < HELD),
        ),
    ]
