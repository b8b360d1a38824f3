"""Special bodies and surfaces: diagonal M, spheres, infinite friction. Sections 3.4, 3.5, 4.2 and 5.2.

Source: Chatterjee & Ruina 1998. "Along the slip" means the component along the tangential velocity before.
"""

import numpy as np

from jimpact.reproduce import Finding, Grid, Progress, Result, claim, solve_many

from .baselines import NORMAL, plastic, slips
from .forms import Case, Laws
from .populations import Impacts, answer, drawn, energy, joined, planar, spheres, times

__all__ = ["run"]

ROUND = 1e-9  # relative
SLACK = 1e-6  # relative: more than the error of laws that follow the slip
WIDE = 1e-4  # of kappa: what friction that stands for infinite leaves
WITHOUT_TANGENTIAL = ("poisson", "stronge", "newton", "whittaker", "anitescu_potra")


def run(config: Laws, progress: Progress) -> Result:
    everything = joined(drawn(config.population)).take(slice(None, None, config.population.every))
    balls = spheres(everything)
    findings = [*_diagonal(config, balls, progress), _in_cone(balls, config.population.seed), _unequal(config.diagonal)]
    findings += _balls(balls, progress)
    found, grid = _infinite(config, everything, progress)
    return Result([*findings, *found], grids=[grid])


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    return float((np.abs(a - b).max(-1) / np.linalg.norm(a, axis=-1)).max())


def _diagonal(config: Laws, balls: Impacts, progress: Progress) -> list[Finding]:
    along = _along_first(balls, config.second_mobility)
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
            '"identical to the new law"; "the same as Routh\'s law"',
            f"largest differences {same:.1e} and {others['whittaker']:.1e} of the impulse",
            holds=same < ROUND and others["whittaker"] < SLACK,
            why="The first also for unequal tangential entries, with slip along an axis.",
        ),
        claim(
            "CR-diag-e",
            "3.5",
            "kinetic, kinematic and energetic restitution for diagonal M",
            'e_k "is the same as the kinematic coefficient"',
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
    after = balls.v + times(balls.W, np.stack([t * np.cos(angle), t * np.sin(angle), p], -1))
    gained = energy(balls.W, after) > energy(balls.W, balls.v)
    return claim(
        "CR-3.5-diag",
        "3.5",
        "random impulses in the cone with e < 1, diagonal M",
        '"inside the friction cone, and yet outside the maximum E_c ellipsoid"',
        f"{gained.sum()} of {len(gained)} gain energy",
        holds=bool(gained.any()),
    )


def _along_first(balls: Impacts, second: float) -> Impacts:
    """Slip along the first tangent, and another mobility along the second."""
    W, v = balls.W.copy(), balls.v.copy()
    W[:, 1, 1] *= second
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
        '"For diagonal M [...] the same as Routh\'s law"',
        f"impulses differ by {gap:.10f} N s",
        holds=gap < ROUND,
        why="Slip before is not along a principal axis of M here; where it is, as in the paper's frame, whose second "
        "axis is along the slip, the laws are the same (CR-diag).",
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
    onward = sum(int((x[~stops] > 0).sum()) for x in after.values())
    return [
        claim(
            "CR-spin-none",
            "4.2.1, 4.2.2",
            f"spheres whose slip is reversed by {', '.join(WITHOUT_TANGENTIAL)}",
            '"cannot predict spin reversal of spheres" (Whittaker)',
            f"{sum(none)} of {len(slip)} in all of them together",
            holds=not any(none),
        ),
        claim(
            "CR-spin-some",
            "4.2.3, 5",
            "spheres whose slip is reversed by Smith's law and the new one",
            '"can capture spin reversal of spheres" (Smith)',
            f"{counts['smith']} and {counts['chatterjee_ruina']} of {len(slip)}",
            holds=counts["smith"] > 0 and counts["chatterjee_ruina"] > 0,
        ),
        claim(
            "CR-spin-smith",
            "4.2.3",
            "Smith's law on spheres that friction can stop, and on the others",
            '"cannot capture non-reversal of spin for positive mu"',
            f"reversed: {smith[stops].sum()} of {stops.sum()}, and {smith[~stops].sum()} of {(~stops).sum()}",
            holds=bool(smith.all()),
            why="It holds where friction can stop the slip. Elsewhere slip goes on forward, by any law: in "
            f"{onward} of {len(after) * int((~stops).sum())} answers of {len(after)} laws.",
            verdict="convention",
        ),
        _bilinear(balls, after["bilinear"], stops),
        claim(
            "CR-symmetry",
            "footnote 4",
            f"impulse out of the plane of normal and slip, spheres, {len(across)} laws",
            '"automatically respect this symmetry"',
            f"{max(across.values()):.0e} of the impulse at most",
            holds=max(across.values()) < ROUND,
        ),
    ]


def _bilinear(balls: Impacts, after: np.ndarray, stops: np.ndarray) -> Finding:
    """Slip after over that before, by the bilinear law; `stops` where friction can stop it."""
    partial = (after < 0)[stops & (balls.e_t > SLACK)]
    slides = after[~stops]
    return claim(
        "CR-spin-bilinear",
        "4.2.5",
        "slip by the bilinear law, spheres: so near to normal that friction can stop it (e_t > 0), and the others",
        '"reversed (at least in part)"; "not reversed"',
        f"reversed in {partial.sum()} of {partial.size}; in {(slides < -SLACK).sum()} of {slides.size}",
        holds=bool(partial.all()) and not (slides < -SLACK).any(),
    )


def _infinite(config: Laws, everything: Impacts, progress: Progress) -> tuple[list[Finding], Grid]:
    """Friction that nothing overcomes, in a plane."""
    impacts = planar(everything).having(mu=config.infinite.friction)
    two = plastic(np.linalg.inv(impacts.W), impacts.v, NORMAL)[1]
    pulls, speed = slips(two, NORMAL, impacts.mu), np.linalg.norm(impacts.v, axis=-1)
    laws = (*WITHOUT_TANGENTIAL, "smith")
    rows, dead, beyond = [], {}, dict.fromkeys(("e", "kappa", "both"), 0)
    for e in config.infinite.restitution:
        for law in laws:
            found = answer(impacts.having(e=e), law, progress)
            high, wide = _beyond(impacts, two, found.impulse)
            for name, flag in (("e", high & ~wide), ("kappa", wide & ~high), ("both", high & wide)):
                beyond[name] += int(flag.sum())
            covered = ~(high | wide)
            if e == 0:
                dead[law] = np.linalg.norm(found.velocity, axis=-1) < SLACK * speed
            rows.append(
                [e, law, 100 * covered.mean(), 100 * covered[pulls].mean(), 100 * (found.energy > 1 + SLACK).mean()]
            )
    columns = ("e", "law", "covered by the new law (%)", "of those where P_II pulls (%)", "gain energy (%)")
    grid = Grid("Infinite friction: shares of planar impacts", columns, rows)
    return [_dead(config, dead, pulls), _cover(rows, beyond)], grid


def _dead(config: Laws, dead: dict[str, np.ndarray], pulls: np.ndarray) -> Finding:
    wrong = sum(int(still[pulls].sum()) for still in dead.values())
    rest = ", ".join(f"{law} {100 * still[~pulls].mean():.0f} %" for law, still in dead.items())
    return claim(
        "CR-infinite-dead",
        "3.4",
        f"dead impacts with e = 0 and friction {config.infinite.friction:g}, in a plane, {len(dead)} laws",
        '"e = 0, mu = infinity does not necessarily mean a dead collision"',
        f"{wrong} of the {pulls.sum()} where P_II pulls; of the other {(~pulls).sum()}: {rest}",
        holds=not wrong and bool(pulls.any()),
    )


def _cover(rows: list[list], beyond: dict[str, int]) -> Finding:
    shares = [row[2] for row in rows]
    count = sum(beyond.values())
    return claim(
        "CR-infinite-cover",
        "5.2",
        "planar impacts in which the new law reaches what another law gives",
        '"the new law covers the other laws considered"',
        f"{min(shares):.0f} to {max(shares):.0f} %, by law and restitution",
        holds=min(shares) == 100,
        why=f"True in figure 7 (CR-fig7-cover), not in general. Of {count} impulses beyond its reach {beyond['e']} "
        f"have kinematic e above 1, {beyond['kappa']} a kappa outside 0 to 2 (tangential impulse against that of "
        f"P_II, or more than twice it), {beyond['both']} both.",
        verdict="differs",
    )


def _beyond(impacts: Impacts, two: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether the new law fails to reach a planar impulse: its e is not in [0, 1], its kappa not in [0, 2]."""
    e = -(impacts.v[:, 2] + times(impacts.W, P)[:, 2]) / impacts.v[:, 2]
    kappa = P[:, 0] / two[:, 0]
    return (e < -SLACK) | (e > 1 + SLACK), (kappa < -WIDE) | (kappa > 2 + WIDE)
