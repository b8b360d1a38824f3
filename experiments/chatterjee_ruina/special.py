"""Special situations: diagonal M, spheres, infinite friction, and grazing. Sections 3.4, 3.5, 4.2, 5.2 and figure 6.

Source: Chatterjee & Ruina 1998. Impacts that graze have a slip of 1 m/s in random directions, and friction above
w / |d|, so that slip in some of them presses the bodies together.
"""

from typing import NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, only

from .baselines import Impacts, gap, length, slips
from .forms import TEXTS, Case, Laws
from .populations import LAWS, ROUND, SLACK, Answer, answer, drawn, joined, one, planar, spheres

SECOND = 2.0  # mobility over the first, of a diagonal M with slip along the first tangent
WIDE = 1e-4  # of kappa: what friction that stands for infinite leaves
NORMAL = (-0.01, -0.0001, -1e-6, -1e-8)  # m/s, normal velocities of one impact that grazes ever more
NEARNESS = 1e-9  # approach / slip of a population that grazes
SOME = 1e-4  # of the speed, or of |P_II|: more than what nearness leaves
KINEMATIC = ("newton", "whittaker", "smith", "chatterjee_ruina")
WITHOUT_TANGENTIAL = ("poisson", "stronge", "newton", "whittaker", "anitescu_potra")


def run(config: Laws, progress: LabelledProgress) -> Result:
    everything = joined(config.population).every(config.population.every)
    balls = spheres(everything)
    laws = (*WITHOUT_TANGENTIAL, "smith", "chatterjee_ruina", "bilinear")
    answers = {law: answer(balls, law, progress) for law in laws}
    found = {**_diagonal(config, balls, answers, progress), **_balls(balls, answers)}

    # Friction that nothing overcomes, in a plane. The new law reaches impulses with e in [0, 1] and kappa in [0, 2].
    flat = planar(everything).having(mu=config.infinite)
    two = flat.plastic()[1]
    pulls, rows, dead, beyond = slips(two, flat.mu), [], {}, {"e": 0, "kappa": 0, "both": 0}
    for e in (0.0, 0.5, 1.0):
        for law in (*WITHOUT_TANGENTIAL, "smith"):
            one = answer(flat.having(e=e), law, progress)
            reached, kappa = -one.velocity[:, 2] / flat.v[:, 2], one.impulse[:, 0] / two[:, 0]
            high, wide = (reached < -SLACK) | (reached > 1 + SLACK), (kappa < -WIDE) | (kappa > 2 + WIDE)
            for name, flag in (("e", high & ~wide), ("kappa", wide & ~high), ("both", high & wide)):
                beyond[name] += flag.sum()
            shares = ~(high | wide), ~(high | wide)[pulls], one.energy > 1 + SLACK
            rows.append([e, law, *(100 * share.mean() for share in shares)])
            if e == 0:
                dead[law] = length(one.velocity) < SLACK * length(flat.v)
    wrong, n = sum(still[pulls].sum() for still in dead.values()), pulls.sum()
    rest = ", ".join(f"{law} {100 * still[~pulls].mean():.0f} %" for law, still in dead.items())
    words = {"friction": flat.mu[0], "laws": len(dead), "wrong": wrong, "pulls": n, "others": len(pulls) - n}
    least, most = (bound(row[2] for row in rows) for bound in (min, max))
    cover = claimed(least == 100, least=least, most=most, count=sum(beyond.values()), beyond=beyond)
    found |= {"CR-infinite-dead": claimed(not wrong and n, **words, rest=rest), "CR-infinite-cover": cover}
    return Result(found, grids=[TEXTS.grid("infinite", rows)])


def _diagonal(
    config: Laws, balls: Impacts, answers: dict[str, Answer], progress: LabelledProgress
) -> dict[str, Computed]:
    along = spheres(balls, SECOND)._replace(v=balls.v * [1, 0, 1])
    again, unequal = (answer(along, law, progress).impulse for law in ("chatterjee_ruina", "bilinear"))
    same = max(gap(answers["bilinear"].impulse, answers["chatterjee_ruina"].impulse), gap(unequal, again))
    off = {law: gap(answers[law].impulse, answers["poisson"].impulse) for law in WITHOUT_TANGENTIAL[1:]}
    holds, worst, n = same < ROUND and off["whittaker"] < SLACK, max(off.values()), len(balls.mu)

    # Impulses anywhere in the cone, with restitution below 1.
    rng, p = np.random.default_rng(config.population.seed), -(1 + balls.e) * balls.v[:, 2] / balls.W[:, 2, 2]
    angle, t = rng.uniform(0, 2 * np.pi, n), balls.mu * p * rng.uniform(0, 1, n)
    gained = (balls.gain(np.stack([t * np.cos(angle), t * np.sin(angle), p], -1)) > 1).sum()

    routh, other = (answer(one(config.diagonal), law, progress).impulse for law in ("poisson", "whittaker"))
    apart = length(other - routh)[0]
    return {
        "CR-diag": claimed(holds, count=n, same=same, whittaker=off["whittaker"]),
        "CR-diag-e": claimed(worst < SLACK, laws=", ".join(off), worst=worst),
        "CR-3.5-diag": claimed(gained, gained=gained, count=n),
        "CR-diag-aniso": claimed(apart < ROUND, off=apart),
    }


def _balls(balls: Impacts, answers: dict[str, Answer]) -> dict[str, Computed]:
    """Does the slip of a sphere come back?"""
    slip, n = length(balls.v[:, :2]), len(balls.mu)
    start = balls.v[:, :2] / slip[:, None]
    stops = balls.mu * (1 + balls.e) * -balls.v[:, 2] / balls.W[:, 2, 2] * balls.W[:, 0, 0] > slip * (1 + SLACK)
    after = {law: (found.velocity[:, :2] * start).sum(-1) / slip for law, found in answers.items()}
    back = {law: x < -SLACK for law, x in after.items()}
    counts = {law: x.sum() for law, x in back.items()}
    none = sum(counts[law] for law in WITHOUT_TANGENTIAL)

    goes, smith = ~stops, back["smith"]
    onward = sum((x[goes] > 0).sum() for x in after.values())
    words = {"stopped": smith[stops].sum(), "of": stops.sum(), "others": smith[goes].sum(), "rest": goes.sum()}
    words |= {"onward": onward, "answers": len(after) * goes.sum(), "laws": len(after)}
    partial, slides = (after["bilinear"] < 0)[stops & (balls.e_t > SLACK)], back["bilinear"][goes]
    bilinear = {"back": partial.sum(), "near": len(partial), "slides": slides.sum(), "far": len(slides)}

    aside, impulses = start[:, ::-1] * [1, -1], [found.impulse for found in answers.values()]
    across = max((np.abs((P[:, :2] * aside).sum(-1)) / length(P)).max() for P in impulses)
    return {
        "CR-spin-none": claimed(not none, laws=", ".join(WITHOUT_TANGENTIAL), none=none, count=n),
        "CR-spin-some": claimed(counts["smith"] and counts["chatterjee_ruina"], counts=counts, count=n),
        "CR-spin-smith": claimed(smith.all(), **words),
        "CR-spin-bilinear": claimed(partial.all() and not slides.any(), **bilinear),
        "CR-symmetry": claimed(across < ROUND, laws=len(answers), across=across),
    }


class Seen(NamedTuple):
    """What each law does on impacts that graze."""

    impacts: Impacts
    two: np.ndarray  # P_II
    inside: np.ndarray  # P_II is inside the friction cone
    found: dict[str, Answer]
    flags: dict[str, dict[str, np.ndarray]]  # of each law, by column of the grid

    @classmethod
    def of(cls, given: Impacts, progress: LabelledProgress) -> "Seen":
        """Impacts, with a slip of 1 m/s and nearly no approach."""
        slip = given.v[:, :2] / length(given.v[:, :2])[:, None]
        impacts = given._replace(v=np.column_stack([slip, np.full(len(slip), -NEARNESS)]))
        two, found, flags = impacts.plastic()[1], {}, {}
        for law in LAWS:
            found[law] = own = answer(impacts, law, progress)
            low, high = (answer(impacts.having(e=e), law, progress).impulse for e in (0, 1))
            flags[law] = {
                "no answer": ~own.good,
                "some impulse": length(own.impulse) > SOME * length(two),
                "normal rebound": own.velocity[:, 2] > SOME,
                "slip reversed": (own.velocity[:, :2] * slip).sum(-1) < -SOME,
                "depends on e": np.abs(high - low).max(-1) > SOME * length(two),
            }
        return cls(impacts, two, ~slips(two, impacts.mu), found, flags)

    def counts(self, flag: str) -> dict[str, int]:
        return {law: int(own[flag].sum()) for law, own in self.flags.items()}


def grazing(config: Laws, progress: LabelledProgress) -> Result:
    space = drawn(config.population)["gripping"].every(config.population.every)
    grip = space.mu * length(space.W[:, :2, 2]) / np.abs(space.W[:, 0, 2])  # the friction that grips in a plane
    seen = {"plane": Seen.of(planar(space)._replace(mu=grip), progress), "space": Seen.of(space, progress)}
    columns = list(seen["space"].flags[LAWS[0]])
    rows = [[name, law, *(own.counts(x)[law] for x in columns)] for name, own in seen.items() for law in LAWS]
    n, both = 2 * len(grip), ("normal rebound", "slip reversed")
    up, back = ({law: sum(own.counts(x)[law] for own in seen.values()) for law in LAWS} for x in both)
    rising = ", ".join(f"{law} {count}" for law, count in up.items() if count)
    others = [law for law, count in up.items() if count and law not in ("poisson", "stronge")]
    kinematic, tangential = sum(up[law] for law in KINEMATIC), not back["poisson"] and back["chatterjee_ruina"]
    found = {
        "CR-grazing": _case(config.grazing, progress),
        "CR-grazing-kinematic": claimed(not kinematic, count=n, laws=", ".join(KINEMATIC), rising=kinematic),
        "CR-grazing-routh": claimed(not others, rising=rising, count=n, others=", ".join(others)),
        "CR-grazing-tangential": claimed(tangential, back=back, count=n),
        **_planar(seen["plane"]),
        **_spatial(seen["space"]),
    }
    return Result(found, grids=[TEXTS.grid("grazing", rows, count=len(grip))])


def _case(case: Case, progress: LabelledProgress) -> Computed:
    """One impact that grazes ever more."""
    impacts = one(case).take(np.zeros(len(NORMAL), int))
    impacts.v[:, 2] = NORMAL
    routh, new_law = (answer(impacts, law, progress) for law in ("poisson", "chatterjee_ruina"))
    shown, vanishing = ([f"({', '.join(f'{x:.9g}' for x in P)})" for P in law.impulse] for law in (routh, new_law))
    words = {
        "shown": "; ".join(f"{x:g}: {P}" for x, P in zip(NORMAL, shown, strict=True)),
        "rebound": ", ".join(f"{x:.9f}" for x in routh.velocity[:, 2]),
        "events": "/".join(sorted({events.replace("l", "") for events in jimpact.event_sequence(routh.impact)})),
        "jam": impacts.W[0, 2, 2] - case.friction * length(impacts.W[0, :2, 2]),
        "first": f"{vanishing[0]} at {NORMAL[0]:g}",
        "later": f"{vanishing[-2]} at {NORMAL[-2]:g}",
    }
    return claimed(routh.velocity[-1, 2] > SOME > new_law.velocity[-1, 2], **words)


def _planar(seen: Seen) -> dict[str, Computed]:
    inside, two, size = seen.inside, seen.two, length(seen.two)
    whittaker, smith = (seen.found[law].impulse for law in ("whittaker", "smith"))
    off, line = gap(whittaker[inside], two[inside]), (length(np.cross(smith, two)) / size**2).max()
    along = ((smith * two).sum(-1) / size**2)[inside]
    some = {law: seen.flags[law]["some impulse"] for law in ("whittaker", "smith")}
    zero, by_e = {law: (flag & ~inside).sum() for law, flag in some.items()}, seen.counts("depends on e")["smith"]
    only_one = not by_e and not zero["smith"] and some["smith"][inside].all()
    words, bounds = {"inside": inside.sum(), "count": len(two), "zero": zero}, {"low": along.min(), "high": along.max()}
    on = max(line, off) < SOME and bounds["low"] > 0 and bounds["high"] <= 2
    return {
        "CR-grazing-whittaker": claimed(off < SOME and not zero["whittaker"], **words, off=off),
        "CR-grazing-smith": claimed(only_one, **words, by_e=by_e),
        "CR-grazing-line": claimed(on, off=off, **bounds, line=line),
    }


def _spatial(seen: Seen) -> dict[str, Computed]:
    inside, impacts, n = seen.inside, seen.impacts, len(seen.two)
    whittaker, smith, has = seen.found["whittaker"], seen.found["smith"], seen.flags["smith"]["some impulse"]
    extra = (seen.flags["whittaker"]["some impulse"] & ~inside).sum()
    missing, surplus = (inside & ~has).sum(), (~inside & has).sum()
    jams = (impacts.W[:, :2, 2] * impacts.v[:, :2]).sum(-1) * impacts.mu > impacts.W[:, 2, 2]
    sine = (length(np.cross(smith.impulse, seen.two)) / length(smith.impulse) / length(seen.two))[has]
    words = {"outside": (~inside).sum(), "inside": inside.sum(), "extra": extra, "missing": missing, "surplus": surplus}
    words |= {"same": (has == jams).sum(), "count": n, "off": np.median(np.degrees(np.arcsin(np.clip(sine, 0, 1))))}
    gains, most = (whittaker.energy > 1 + SOME).sum(), np.nanmax(whittaker.energy)
    none = seen.counts("no answer")["whittaker"]
    return {
        "CR-grazing-space": claimed(not (extra or missing or surplus), **words),
        "CR-grazing-whittaker-gain": only(gains=gains, none=none, count=n, most=most),
    }
