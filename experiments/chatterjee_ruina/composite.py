"""Mixtures of the new law with Routh's: section 5.3.

Source: Chatterjee & Ruina 1998. sigma (jimpact's `mixing`) is the weight of the new law.
"""

from typing import Any

import numpy as np

from jimpact.reproduce import Progress, Result, claim, solve_many

from .definitions import permitted
from .forms import Laws, Rebound, Spread
from .populations import answer, drawn, joined

__all__ = ["run"]

ROUND = 1e-6  # relative: the error of a law that follows the slip


def run(config: Laws, progress: Progress) -> Result:
    impacts = joined(drawn(config.population)).take(slice(None, None, config.population.every))
    routh, new_law = (answer(impacts, law, progress).impulse for law in ("poisson", "chatterjee_ruina"))
    size = np.maximum(*(np.linalg.norm(P, axis=-1) for P in (routh, new_law)))
    weights, n = config.composite.mixing, len(size)
    sigma = np.repeat(weights, n)
    every = impacts.take(np.tile(np.arange(n), len(weights)))
    found = answer(every, "composite", progress, mixing=sigma).impulse
    outside = int((~permitted(every, found, slack=ROUND)).sum())
    mixed = sigma[:, None] * np.tile(new_law, (len(weights), 1)) + (1 - sigma)[:, None] * np.tile(
        routh, (len(weights), 1)
    )
    gap = float((np.abs(found - mixed).max(-1) / np.tile(size, len(weights))).max())
    both = _rebound(config.composite.rebound)
    spread = _volume(config.composite.spread)
    findings = [
        claim(
            "CR-composite",
            "5.3",
            f"mixtures outside the permissible region, {len(weights)} weights on {n} impacts",
            '"would also be in the permissible region"',
            f"{outside} of {len(sigma)}",
            holds=not outside,
        ),
        claim(
            "CR-composite-ends",
            "5.3",
            "law `composite` against sigma P_new + (1 - sigma) P_R",
            '"sigma = 0 returns Routh\'s law"',
            f"differ by {gap:.0e} of the impulse at most",
            holds=gap < ROUND,
        ),
        claim(
            "CR-composite-grazing",
            "5.3",
            f"velocity after grazing, sigma = {config.composite.rebound.mixing:g}: normal, and along the slip before",
            '"simultaneous normal and tangential rebound"',
            f"{both[0]:+.4f} and {both[1]:+.4f} of the speed",
            holds=both[0] > 0.01 and both[1] < -0.01,
        ),
        claim(
            "CR-composite-volume",
            "5.3",
            "singular values of the impulses reached, over the largest",
            '"a three dimensional subset"',
            ", ".join(f"{x:.3f}" for x in spread),
            holds=bool(spread[2] > config.composite.spread.least),
        ),
    ]
    return Result(findings)


def _rebound(case: Rebound) -> tuple[float, float]:
    """Normal velocity after, and slip along that before, over the speed."""
    W, v = np.array(case.inverse_inertia)[None], np.array(case.velocity)[None]
    own: dict[str, Any] = {"mixing": case.mixing, "tangential_restitution": case.tangential_restitution}
    after = solve_many(W, v, case.friction, case.restitution, law="composite", **own).velocity[0] / np.linalg.norm(v)
    slip = v[0, :2] / np.linalg.norm(v[0, :2])
    return float(after[2]), float(after[:2] @ slip)


def _volume(case: Spread) -> np.ndarray:
    """How far the impulses of one impact spread in three directions."""
    e, e_t, sigma = np.meshgrid(*(np.linspace(low, 1, case.grid) for low in (0, -1, 0)), indexing="ij")
    W, v = np.array(case.inverse_inertia), np.array(case.velocity)
    own: dict[str, Any] = {"mixing": sigma, "tangential_restitution": e_t}
    P = solve_many(W, v, case.friction, e, law="composite", **own).impulse.reshape(-1, 3)
    values = np.linalg.svd(P - P.mean(0), compute_uv=False)
    return values / values[0]
