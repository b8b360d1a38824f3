"""Special bodies and surfaces: diagonal M, spheres, infinite friction. Sections 3.4, 3.5, 4.2 and 5.2.

Source: Chatterjee & Ruina 1998. "Along the slip" means the component along the tangential velocity before.
"""

import numpy as np

from jimpact.reproduce import Finding, Grid, Progress, Result, claim, solve_many

from .forms import Case, Laws
from .baselines import NORMAL, plastic, slips
from .populations import Impacts, answer, drawn, energy, joined, planar, spheres

__all__ = ["run"]

ROUND = 1e-9  # relative
SLACK = 1e-6  # relative: more than the error of laws that follow the slip
WITHOUT_TANGENTIAL = ("poisson", "stronge", "newton", "whittaker", "anitescu_potra")


def run(config: Laws, progress: Progress) -> Result:
    everything = joined(drawn(config.population)).take(slice(None, None, config.population.every))
    balls = spheres(everything)
    findings = [*_diagonal(balls, progress), _in_cone(balls, config.population.seed), _unequal(config.diagonal)]
    findings += _balls(balls, progress)
    found, grid = _infinite(config, everything, progress)
    return Result([*findings, *found], grids=[grid])


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    return float((np.abs(a - b).max(-1) / np.linalg.norm(a, axis=-1)).max())


def _diagonal(balls: Impacts, progress: Progress) -> list[Finding]:
    along = _along_first(balls)
    new_law, bilinear = (answer(balls, law, progress).impulse for law in ("chatterjee_ruina", "bilinear"))
    again, unequal = (answer(along, law, progress).impulse for law in ("chatterjee_ruina", "bilinear"))
    routh = answer(balls, "poisson", progress).impulse
    others = {law: _gap(routh, answer(balls, law, progress).impulse) for law in WITHOUT_TANGENTIAL[1:]}
    same = max(_gap(new_law, bilinear), _gap(again, unequal))
    worst = max(others, key=lambda law: others[law])
    return [
        claim(
            "CR-diag",
            "4.2.2, 4.2.5, 5.2",
            f"diagonal M, slip along a principal axis, {len(balls.mu)} spheres",
            "bilinear law = new law; Whittaker = Routh",
            f"largest differences {same:.1e} and {others['whittaker']:.1e} of the impulse",
            holds=same < ROUND and others["whittaker"] < SLACK,
            why="The first also for unequal tangential entries, with slip along an axis.",
        ),
        claim(
            "CR-diag-e",
            "3.5",
            "kinetic, kinematic and energetic restitution for diagonal M",
            "the same coefficient",
            f"poisson against {', '.join(others)}: {others[worst]:.0e} of the impulse at most",
            holds=others[worst] < SLACK,
        ),
    ]


def _in_cone(balls: Impacts, seed: int) -> Finding:
    """Impulses anywhere in the cone, with restitution below 1."""
    rng = np.random.default_rng(seed)
    p = -(1 + balls.e) * balls.v[:, 2] / balls.W[:, 2, 2]
    angle, share = rng.uniform(0, 2 * np.pi, len(p)), rng.uniform(0, 1, len(p))
    t = balls.mu * p * share
    after = balls.v + np.einsum("nij,nj->ni", balls.W, np.stack([t * np.cos(angle), t * np.sin(angle), p], -1))
    gained = energy(balls.W, after) > energy(balls.W, balls.v)
    return claim(
        "CR-3.5-diag",
        "3.5",
        "random impulses in the cone with e < 1, diagonal M",
        "some gain energy, though no usual law picks them",
        f"{gained.sum()} of {len(gained)} gain energy",
        holds=bool(gained.any()),
    )


def _along_first(balls: Impacts) -> Impacts:
    """Slip along the first tangent, and another mobility along the second."""
    W, v = balls.W.copy(), balls.v.copy()
    W[:, 1, 1] *= 2
    v[:, 1] = 0
    return balls._replace(W=W, v=v)


def _unequal(case: Case) -> Finding:
    W, v = np.array(case.inverse_inertia)[None], np.array(case.velocity)[None]
    routh, other = (
        solve_many(W, v, case.friction, case.restitution, law=law).impulse[0] for law in ("poisson", "whittaker")
    )
    gap = float(np.linalg.norm(other - routh))
    return claim(
        "CR-diag-aniso",
        "4.2.2",
        "diagonal M with unequal tangential entries and oblique slip: Whittaker against Routh",
        "the same for diagonal M",
        f"impulses differ by {gap:.10f} N s",
        holds=gap < ROUND,
        why="True in the paper's frame, whose second axis is along the slip, if M is diagonal there; "
        "false for an M that is diagonal in other axes.",
        verdict="convention",
    )


def _balls(balls: Impacts, progress: Progress) -> list[Finding]:
    """Does the slip of a sphere come back?"""
    start = balls.v[:, :2] / np.linalg.norm(balls.v[:, :2], axis=-1, keepdims=True)
    slip = np.linalg.norm(balls.v[:, :2], axis=-1)
    stops = balls.mu * (1 + balls.e) * -balls.v[:, 2] / balls.W[:, 2, 2] * balls.W[:, 0, 0] > slip * (1 + SLACK)
    after, across = {}, {}
    for law in (*WITHOUT_TANGENTIAL, "smith", "chatterjee_ruina", "bilinear"):
        found = answer(balls, law, progress)
        after[law] = (found.velocity[:, :2] * start).sum(-1) / slip
        across[law] = float(
            (np.abs(np.cross(found.impulse[:, :2], start)) / np.linalg.norm(found.impulse, axis=-1)).max()
        )
    counts = {law: int((x < -SLACK).sum()) for law, x in after.items()}
    none = [counts[law] for law in WITHOUT_TANGENTIAL]
    smith = after["smith"] < -SLACK
    return [
        claim(
            "CR-spin-none",
            "4.2.1, 4.2.2",
            f"spheres whose slip is reversed by {', '.join(WITHOUT_TANGENTIAL)}",
            "Routh's and Whittaker's laws cannot predict it",
            f"{sum(none)} of {len(slip)} each",
            holds=not any(none),
        ),
        claim(
            "CR-spin-some",
            "4.2.3, 5",
            "spheres whose slip is reversed by Smith's law and the new one",
            "both can predict it",
            f"{counts['smith']} and {counts['chatterjee_ruina']} of {len(slip)}",
            holds=counts["smith"] > 0 and counts["chatterjee_ruina"] > 0,
        ),
        claim(
            "CR-spin-smith",
            "4.2.3",
            "Smith's law on spheres that friction can stop, and on the others",
            "cannot capture non-reversal for positive friction",
            f"reversed: {smith[stops].sum()} of {stops.sum()}, and {smith[~stops].sum()} of {(~stops).sum()}",
            holds=bool(smith[stops].all()) and not smith.any(),
            why="It holds where friction can stop the slip, which is never left at zero. Elsewhere slip goes "
            "on forward in every law.",
            verdict="convention",
        ),
        _bilinear(balls, after["bilinear"], stops),
        claim(
            "CR-symmetry",
            "footnote 4",
            "impulse out of the plane of normal and slip, spheres, eight laws",
            "none",
            f"{max(across.values()):.0e} of the impulse at most",
            holds=max(across.values()) < ROUND,
        ),
    ]


def _bilinear(balls: Impacts, after: np.ndarray, stops: np.ndarray) -> Finding:
    """Slip after over that before, by the bilinear law; `stops` where friction can stop it."""
    partial = (after < 0)[stops & (balls.e_t > SLACK)]
    slides = ~stops & ~np.isclose(after, 0, atol=SLACK)
    return claim(
        "CR-spin-bilinear",
        "4.2.5",
        "bilinear law with e_t > 0: nearly normal impacts, and those nearer to grazing",
        "slip reversed at least in part; not reversed",
        f"reversed in {partial.sum()} of {partial.size} that stick; "
        f"in {(after[slides] < -SLACK).sum()} of {slides.sum()} that slide throughout",
        holds=_bilinear_holds(balls, after),
    )


def _bilinear_holds(balls: Impacts, after: np.ndarray) -> bool:
    """Slip after over that before: -e_t where (9) takes the second of its two entries, or what friction leaves."""
    p = (1 + balls.e) * -balls.v[:, 2] / balls.W[:, 2, 2]
    slip = np.linalg.norm(balls.v[:, :2], axis=-1)
    sticks = (1 + balls.e_t) * slip / balls.W[:, 0, 0] <= balls.mu * p
    exact = np.where(sticks, -balls.e_t, 1 - balls.W[:, 0, 0] * balls.mu * p / slip)
    return bool(np.abs(after - exact).max() < ROUND)


def _infinite(config: Laws, everything: Impacts, progress: Progress) -> tuple[list[Finding], Grid]:
    """Friction that nothing overcomes, in a plane."""
    impacts = planar(everything).having(mu=config.infinite.friction)
    one, two = plastic(np.linalg.inv(impacts.W), impacts.v, NORMAL)
    pulls, speed = two[:, 2] < 0, np.linalg.norm(impacts.v, axis=-1)
    outside = slips(two, NORMAL, impacts.mu)
    rows, wrong = [], 0
    for e in config.infinite.restitution:
        for law in (*WITHOUT_TANGENTIAL, "smith"):
            found = answer(impacts.having(e=e), law, progress)
            covered = _covered(impacts, one, two, found.impulse)
            still = np.linalg.norm(found.velocity, axis=-1) < SLACK * speed
            wrong += int((still == outside).sum()) if e == 0 and law != "smith" else 0
            rows.append(
                [e, law, 100 * covered.mean(), 100 * covered[pulls].mean(), 100 * (found.energy > 1 + SLACK).mean()]
            )
    lowest = min(row[2] for row in rows)
    columns = ("e", "law", "covered by the new law (%)", "of those where P_II pulls (%)", "gain energy (%)")
    findings = [
        claim(
            "CR-infinite-dead",
            "3.4",
            f"e = 0, friction {config.infinite.friction:g}, {len(speed)} planar impacts, P_II pulls in {pulls.sum()}",
            "a dead impact only where P_II does not pull",
            f"{wrong} exceptions in five laws",
            holds=not wrong,
        ),
        claim(
            "CR-infinite-cover",
            "5.2",
            "planar impacts in which the new law reaches what another law gives",
            "it covers the other laws",
            f"{lowest:.0f} to 100 %, by law and restitution",
            holds=lowest >= 100,
            why="So it is in figure 7, not in general. Beyond are impulses with kinematic e above 1 (Poisson's "
            "rule), or with a tangential part against that of P_II or more than twice it (all laws).",
            verdict="differs",
        ),
    ]
    return findings, Grid("Infinite friction: shares of planar impacts", columns, rows)


def _covered(impacts: Impacts, one: np.ndarray, two: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Whether the new law reaches a planar impulse with some e in [0, 1] and e_t in [-1, 1]: (11)-(14)."""
    e = -(impacts.v[:, 2] + np.einsum("nj,nj->n", impacts.W[:, 2], P)) / impacts.v[:, 2]
    kappa = P[:, 0] / two[:, 0]
    within = (e > -SLACK) & (e < 1 + SLACK) & (kappa > -1e-4) & (kappa < 2 + 1e-4)
    return within & (np.abs(P[:, 0]) <= impacts.mu * P[:, 2] * (1 + SLACK))
