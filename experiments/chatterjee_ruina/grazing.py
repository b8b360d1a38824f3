"""Grazing impacts: the normal velocity before goes to zero. Sections 3.4, 4.2, 5.2 and 5.3, figure 6.

Source: Chatterjee & Ruina 1998. Slip of 1 m/s, random directions; friction above w / |d|, so that slip in some of them
presses the bodies together.
"""

from typing import Any

import numpy as np

import jimpact
from jimpact.reproduce import Finding, Grid, Progress, Result, claim, new, solve_many

from .baselines import NORMAL, plastic, slips
from .forms import Grazing, Laws
from .populations import Answer, Impacts, answer, drawn, planar

__all__ = ["run"]

LAWS = ("poisson", "stronge", "newton", "whittaker", "smith", "anitescu_potra", "chatterjee_ruina")
KINEMATIC = ("newton", "whittaker", "smith", "chatterjee_ruina")


def run(config: Laws, progress: Progress) -> Result:
    gripping = drawn(config.population)["gripping"].take(slice(None, None, config.population.every))
    flat, space = (_near(given, config.grazing.nearness) for given in (_flat(gripping), gripping))
    in_plane, in_space = (_Seen(given, config.grazing.some, progress) for given in (flat, space))
    findings = [_case(config.grazing), *_limits(in_plane, in_space), *_planar(in_plane), *_spatial(in_space)]
    rows = [[where, *row] for where, seen in (("plane", in_plane), ("space", in_space)) for row in seen.rows()]
    columns = ("where", "law", "no answer", "some impulse", "normal rebound", "slip reversed", "depends on e")
    return Result(findings, grids=[Grid(f"{len(space.mu)} grazing impacts each", columns, rows)])


def _flat(impacts: Impacts) -> Impacts:
    """In a plane, with the friction that grips there."""
    grip = impacts.mu * np.linalg.norm(impacts.W[:, :2, 2], axis=-1) / np.abs(impacts.W[:, 0, 2])
    return planar(impacts)._replace(mu=grip)


def _near(impacts: Impacts, nearness: float) -> Impacts:
    slip = impacts.v[:, :2] / np.linalg.norm(impacts.v[:, :2], axis=-1, keepdims=True)
    return impacts._replace(v=np.concatenate([slip, np.full((len(slip), 1), -nearness)], -1))


def _case(given: Grazing) -> Finding:
    """One impact that grazes ever more."""
    W = np.array(given.inverse_inertia)
    d = W[:2, 2] / np.linalg.norm(W[:2, 2])
    v = np.array([[*d, normal] for normal in given.normal_velocity])
    routh = solve_many(W, v, given.friction, given.restitution, law="poisson")
    own: dict[str, Any] = {"tangential_restitution": given.tangential_restitution}
    new_law = solve_many(W, v, given.friction, given.restitution, law="chatterjee_ruina", **own)
    shown = "; ".join(f"{n:g}: {_listed(P)}" for n, P in zip(given.normal_velocity, routh.impulse, strict=True))
    rebound = ", ".join(f"{x:.9f}" for x in routh.velocity[:, 2])
    jam = W[2, 2] - given.friction * np.linalg.norm(W[:2, 2])
    code = "/".join(sorted({events.replace("l", "") for events in jimpact.event_sequence(routh)}))
    return claim(
        "CR-grazing",
        "3.4, 4.2.1, Fig. 6",
        "Routh's impulse (N s) as the normal velocity (m/s) goes to zero",
        '"has the ability to predict finite normal rebound"',
        f"{shown}; rebound {rebound} m/s, events {code}",
        holds=bool(routh.velocity[-1, 2] > given.some > new_law.velocity[-1, 2]),
        why=f"Friction jams the contact: w - mu |d| = {jam:.4f} 1/kg. The new law's impulse vanishes with approach: "
        f"{_listed(new_law.impulse[0])} at {given.normal_velocity[0]:g} m/s, {_listed(new_law.impulse[-2])} at "
        f"{given.normal_velocity[-2]:g} m/s.",
    )


def _listed(P: Any) -> str:
    return f"({', '.join(f'{x:.9g}' for x in P)})"


class _Seen:
    """What each law does on one population."""

    def __init__(self, impacts: Impacts, limit: float, progress: Progress) -> None:
        self.impacts, self.limit = impacts, limit
        self.two = plastic(np.linalg.inv(impacts.W), impacts.v, NORMAL)[1]
        self.size = np.linalg.norm(self.two, axis=-1)
        self.inside = ~slips(self.two, NORMAL, impacts.mu)
        self.found: dict[str, Answer] = {law: answer(impacts, law, progress) for law in LAWS}
        ends = {law: [answer(impacts.having(e=e), law, progress).impulse for e in (0, 1)] for law in LAWS}
        self.by_e = {law: np.abs(b - a).max(-1) > limit * self.size for law, (a, b) in ends.items()}

    def some(self, law: str) -> np.ndarray:
        return np.linalg.norm(self.found[law].impulse, axis=-1) > self.limit * self.size

    def up(self, law: str) -> np.ndarray:
        return self.found[law].velocity[:, 2] > self.limit

    def back(self, law: str) -> np.ndarray:
        return (self.found[law].velocity[:, :2] * self.impacts.v[:, :2]).sum(-1) < -self.limit

    def rows(self) -> list[list[object]]:
        return [
            [
                law,
                *(
                    int(x.sum())
                    for x in (~self.found[law].good, self.some(law), self.up(law), self.back(law), self.by_e[law])
                ),
            ]
            for law in LAWS
        ]


def _limits(plane: _Seen, space: _Seen) -> list[Finding]:
    up = {law: int(plane.up(law).sum() + space.up(law).sum()) for law in LAWS}
    others = [law for law, count in up.items() if count and law not in ("poisson", "stronge")]
    n = 2 * len(plane.impacts.mu)
    back = {law: int(plane.back(law).sum() + space.back(law).sum()) for law in ("poisson", "chatterjee_ruina")}
    return [
        claim(
            "CR-grazing-kinematic",
            "3.4",
            f"normal rebound of {n} grazing impacts by {', '.join(KINEMATIC)}",
            '"do not predict/capture finite normal rebound"',
            f"{sum(up[law] for law in KINEMATIC)}",
            holds=not any(up[law] for law in KINEMATIC),
        ),
        claim(
            "CR-grazing-routh",
            "4.2.1",
            "normal rebound by Routh's law and by others",
            '"only Routh\'s law predicts impulses above the plane of maximum compression"',
            f"{', '.join(f'{law} {count}' for law, count in up.items() if count)} of {n}",
            holds=not others,
            why=f"Also {', '.join(others)}. Anitescu & Potra's law, discussed in 4.2.4, restores an impulse, not a "
            "velocity.",
            verdict="differs",
        ),
        claim(
            "CR-grazing-tangential",
            "4.2.1, 5.2",
            "slip reversed by Routh's law and by the new one",
            '"can predict tangential rebound, which Routh\'s law cannot"',
            f"{back['poisson']} and {back['chatterjee_ruina']} of {n}",
            holds=not back["poisson"] and back["chatterjee_ruina"] > 0,
        ),
    ]


def _planar(seen: _Seen) -> list[Finding]:
    inside, two = seen.inside, seen.two
    whittaker, smith = seen.found["whittaker"].impulse, seen.found["smith"].impulse
    gap = (np.abs(whittaker - two).max(-1) / seen.size)[inside].max()
    line = (np.abs(np.cross(smith, two)).max(-1) / seen.size**2).max()
    along = ((smith * two).sum(-1) / seen.size**2)[inside]
    zero = {law: int((seen.some(law) & ~inside).sum()) for law in ("whittaker", "smith")}
    where = f"P_II inside the cone in {int(inside.sum())} of {len(inside)}"
    return [
        claim(
            "CR-grazing-whittaker",
            "4.2.2",
            "Whittaker's law in a plane",
            '"can only predict" P_II, "unless P_II is outside the friction cone"',
            f"{where}: P_II to {gap:.0e}; some impulse in {zero['whittaker']} of the others",
            holds=bool(gap < seen.limit) and not zero["whittaker"],
        ),
        claim(
            "CR-grazing-smith",
            "4.2.3",
            "Smith's law in a plane",
            '"only one impulse independent of e [...] unless P_II is outside the friction cone"',
            f"{where}: {int(seen.by_e['smith'].sum())} depend on e; some impulse in {zero['smith']} of the others",
            holds=not seen.by_e["smith"].any() and not zero["smith"] and bool(seen.some("smith")[inside].all()),
        ),
        claim(
            "CR-grazing-line",
            "5.2, Fig. 6",
            "Whittaker's and Smith's impulses in a plane",
            'a "line that includes the coverage of the other 3D algebraic laws"',
            f"Whittaker at P_II to {gap:.0e}, Smith at {along.min():.3f} to {along.max():.3f} of it, off the line from "
            f"0 to 2 P_II by {line:.0e}",
            holds=bool(max(line, gap) < seen.limit and along.min() > 0 and along.max() <= 2),
        ),
    ]


def _spatial(seen: _Seen) -> list[Finding]:
    inside = seen.inside
    whittaker, smith = seen.found["whittaker"], seen.found["smith"]
    extra = seen.some("whittaker") & ~inside
    missing, surplus = inside & ~seen.some("smith"), ~inside & seen.some("smith")
    has = seen.some("smith")
    jams = (seen.impacts.W[:, :2, 2] * seen.impacts.v[:, :2]).sum(-1) * seen.impacts.mu > seen.impacts.W[:, 2, 2]
    same = int((has == jams).sum())
    sine = np.linalg.norm(np.cross(smith.impulse, seen.two), axis=-1) / np.linalg.norm(smith.impulse, axis=-1)
    off = np.degrees(np.arcsin(np.clip(sine[has] / seen.size[has], 0, 1)))
    return [
        claim(
            "CR-grazing-space",
            "4.2.2, 4.2.3, 5.2",
            "the statements of CR-grazing-whittaker and CR-grazing-smith in space",
            '"unless P_II is outside the friction cone" (said in 3D)',
            f"P_II outside the cone ({int((~inside).sum())}): Whittaker has an impulse in {int(extra.sum())}, Smith in "
            f"{int(surplus.sum())}; inside ({int(inside.sum())}): Smith has none in {int(missing.sum())}",
            holds=not (extra.any() or missing.any() or surplus.any()),
            why=f"The slip s decides: Smith's law has an impulse where slip jams, mu d.s > w, and not elsewhere, in "
            f"{same} of {len(jams)}; it is {np.median(off):.0f} degrees (median) off the line of the new law.",
            verdict="differs",
        ),
        new(
            "CR-grazing-whittaker-gain",
            "4.2.2",
            "Whittaker's law on grazing impacts in space",
            f"gains energy in {int((whittaker.energy > 1 + seen.limit).sum())}, has no answer in "
            f"{int((~whittaker.good).sum())} of {len(inside)}",
            f"Energy after / before up to {np.nanmax(whittaker.energy):.3g}.",
        ),
    ]
