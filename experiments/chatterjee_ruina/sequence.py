"""Simultaneous contacts as a sequence of single ones: sections 6, 6.1, 6.4 and 6.5.

All scenes are resolved by jimpact in one program; speeds before are 1 m/s.
"""

from functools import partial
from typing import Any

import jax
import numpy as np

from jimpact import Contacts, Outcome, collide_mechanism
from jimpact.reproduce import Computed, Grid, LabelledProgress, Picture, Result, claimed, only, solve_many

from .baselines import collrule, length
from .forms import TEXTS, Material, Sequence
from .populations import ROUND, SLACK
from .scenes import ACROSS, CONTACTS, DRAWS, GREATEST, NUDGE, ROD, UP, Lane, frame, resolve, scenes

VAST = 0.1  # of the speed: more is a vastly different result
SENSITIVE = 1e6  # change of the result over that of the start: more is an ill-posed problem
HEAVY = 1e8  # mass of the hinge of the intact mechanism, over that of the rod


class Solved:
    """Lanes of one kind, and arrays of what became of them."""

    def __init__(self, lanes: list[Lane], contacts: list[Contacts]) -> None:
        self.lanes = lanes
        self.end = np.array([lane.after(one.impulse) for lane, one in zip(lanes, contacts, strict=True)])  # U
        fields = Contacts(*map(np.array, zip(*contacts, strict=True)))
        self.impulse, self.velocity, self.outcome, self.impacts, self.order, change = fields
        self.lost = -change
        self.ok = self.outcome == Outcome.OK


def run(config: Sequence, progress: LabelledProgress) -> Result:
    lanes = scenes(config)
    answers = iter(resolve([lane for few in lanes.values() for lane in few], config.cut))
    solved = {name: Solved(few, [next(answers) for _ in few]) for name, few in lanes.items()}
    (lane,), (impacts,), crowd = solved["single"].lanes, solved["single"].impacts, solved["crowd"]
    own = {"tangential_restitution": lane.tangential, "progress": progress}
    one = solve_many(lane.W[0], lane.v, lane.friction, lane.restitution, law="chatterjee_ruina", **own).impulse
    off = np.abs(solved["single"].impulse[0] - one).max() / length(one)[0]

    done = crowd.ok | (crowd.outcome == Outcome.SEPARATING)
    before, after = np.array([lane.v[:, 2].min() for lane in crowd.lanes]), crowd.velocity[..., 2].min(-1)
    ended = done & (np.minimum(after, 0) / before < config.cut.ended)
    words = {"ended": ended.sum(), "count": len(done), "cut": (done & ~ended).sum(), "open": (~done).sum()}
    words |= {"contacts": CONTACTS, "e": GREATEST, "longest": crowd.impacts[done].max(initial=0), "limit": config.cut}
    broken, rack_grid, decays = _rack(config, solved["rack"])
    hinged, hinged_grid = _hinged_rod(config, solved["hinged"])
    found = {
        "CR-6.4-single": claimed(off < ROUND and impacts == 1, impacts=impacts, off=off),
        **_order(config, solved["three"], solved["rod"]),
        **_squeezed(config, lanes["rack"][-1], solved["squeezed"]),
        "CR-6.4-exist": claimed(done.all(), **words),
    }
    return Result(found | broken | hinged, [_picture(config, decays)], [rack_grid, hinged_grid])


def _order(config: Sequence, three: Solved, rod: Solved) -> dict[str, Computed]:
    """What depends on the contact that is first."""
    end, first = three.end.reshape(-1, 3, 6)[..., :3], three.order[:, 0]
    off = np.abs(end - end[first]).max((-1, -2))  # lane 0 begins with contact 0, lane 1 with contact 1
    change, left, both = np.abs(end[0] - end[1]).max(), (first[5:] == 0).mean(), set(first[2:4]) == {0, 1}
    nudged, worst, side = off[2:4].max(), off[2:].max(), ("left", "right")[first[4]]
    decided = worst < SLACK and both and 0 < left < 1

    up = rod.velocity[..., 2].reshape(-1, 2, 2)
    apart, mirror = np.abs(up[:, 0] - up[:, 1]).max(-1), np.abs(up[:, 0] - up[:, 1, ::-1]).max()
    listed = zip(config.rod, up[:, 0], strict=True)
    ends = "; ".join(f"({a:.3f}, {b:.3f}) or the reverse with e = {e:g}" for e, (a, b) in listed)
    words = {"ends": ends, "mirror": mirror, "least": apart.min(), "most": apart.max(), "vastly": (apart > VAST).sum()}
    sensitive = (apart > SENSITIVE * NUDGE).all()
    return {
        "CR-6.1-order": claimed(change > VAST and nudged < SLACK and both, change=change, nudge=NUDGE, off=nudged),
        "CR-6.4-ties": claimed(decided, off=worst, side=side, left=100 * left, draws=DRAWS),
        "CR-6.1-rod": claimed(sensitive, **words, tilt=NUDGE, vast=VAST, count=len(apart)),
    }


def _squeezed(config: Sequence, rack: Lane, solved: Solved) -> dict[str, Computed]:
    """W of the rack, and two walls: impulses that cancel, and sequences without end."""
    W, ball = np.swapaxes(rack.W, 1, 2).reshape(3 * rack.contacts, -1), solved.lanes[0].W
    values = np.linalg.eigvalsh(W)
    skew, share = np.abs(W - W.T).max() / values[-1], values / values[-1]
    zero, moved = (np.abs(share) < ROUND).sum(), np.abs((ball @ UP).sum(1)).max() / np.abs(ball).max()
    words = {"contacts": rack.contacts, "balls": len(rack.U) // 6, "zero": zero, "size": len(values)}
    singular = skew < ROUND and share[0] > -ROUND and zero and moved < ROUND

    e, decay, count = config.material.restitution, config.cut.decay, int(solved.impacts[0])
    expected = int(np.ceil(np.log(decay) / (2 * np.log(e)))) if e > 0 else 1
    left, lost = length(solved.end[0, :3]), abs(solved.lost[1]) / (0.5 * config.mass)
    decays, outcome = abs(count - expected) <= 1 and abs(left / e**count - 1) < SLACK, Outcome(solved.outcome[1])
    endless = outcome == Outcome.UNFINISHED and lost < ROUND
    return {
        "CR-6-singular": claimed(singular, **words, skew=skew, least=share[0], moved=moved),
        "CR-6.4-decay": claimed(decays, e=e, count=count, decay=decay, left=left, power=e**count),
        "CR-6.4-endless": claimed(endless, outcome=outcome.name, impacts=solved.impacts[1], lost=lost),
    }


def in_sequence(W: np.ndarray, v: np.ndarray, material: Material, decay: float, most: int) -> tuple[np.ndarray, list]:
    """Velocities after at all contacts, and the energy of approach before each impact, by the paper's listing."""
    normal = np.einsum("iijj->ij", W)[:, 2]
    approach = lambda v: 0.5 * float((np.minimum(v[:, 2], 0) ** 2 / normal).sum())  # noqa: E731
    M = np.linalg.inv(np.einsum("iijk->ijk", W))
    numbers = [np.asarray(x) for x in (material.friction, material.restitution, material.tangential_restitution)]
    energy = [approach(v)]
    while energy[-1] > decay * energy[0] and len(energy) <= most:
        first = int(v[:, 2].argmin())
        v = v + W[:, first] @ collrule(M[first], v[first], *numbers)
        energy.append(approach(v))
    return v, energy


def _rack(config: Sequence, solved: Solved) -> tuple[dict[str, Computed], Grid, list[np.ndarray]]:
    cut, lanes = config.cut, solved.lanes
    listed = [in_sequence(lane.W, lane.v, config.material, cut.decay, cut.most) for lane in lanes]
    off = np.abs(solved.velocity - np.array([v for v, _ in listed])).max()
    lost = solved.lost / (0.5 * config.mass)
    words = {"contacts": lanes[0].contacts, "balls": sum(config.rows) + 1, "aims": len(lanes), "done": solved.ok.sum()}
    words |= {"first": solved.impacts.min(), "last": solved.impacts.max(), "least": lost.min(), "most": lost.max()}
    digits = float(min(16.0, -np.log10(max(off, 1e-16))))
    rows = list(zip(config.angle_deg, solved.impacts.tolist(), lost.tolist(), strict=True))
    found = {"CR-6.4-rack": only(**words), "CR-6.4-listing": only(digits=digits, off=off)}
    return found, TEXTS.grid("rack", rows), [np.array(energy) / energy[0] for _, energy in listed]


def _hinged_rod(config: Sequence, solved: Solved) -> tuple[dict[str, Computed], Grid]:
    """A hinged rod as an intact mechanism, and as a free rod with two contacts."""
    e, mu = (np.array([getattr(lane, name) for lane in solved.lanes]) for name in ("restitution", "friction"))
    # An intact mechanism: hinge at the origin, heavy, and an upright wall with the normal -x. Speeds: of the hinge
    # along x, y and z, and rotation (rad/s).
    tip = np.cross(UP, ROD)
    M = np.diag([HEAVY + 1, HEAVY + 1, HEAVY + 1, 1 / 3])
    M[:3, 3] = M[3, :3] = 0.5 * tip
    J = frame(-ACROSS) @ np.column_stack([np.eye(3), tip])
    own: dict[str, Any] = {"tangential_restitution": config.material.tangential_restitution}
    collide = jax.jit(partial(collide_mechanism, law="chatterjee_ruina"))
    whole = np.asarray(collide(M, J, np.array([0.0, 0, 0, 1]), mu, e, **own).speeds)[:, 3]
    split, impacts = solved.end[:, 5], solved.impacts
    left = np.maximum(length(solved.velocity[:, 1]), -solved.velocity[:, 0, 2])
    short, off = left < config.cut.ended, np.abs(whole - split)
    words = {"short": short.sum(), "long": (~short).sum(), "count": len(e), "decay": config.cut.decay}
    words |= {"most": left[short].max(initial=0), "least": left[~short].min(initial=np.inf)}
    words |= {"after": _range(impacts[short]), "later": _range(impacts[~short])}
    less = (split**2 < whole**2 - config.cut.ended).sum()
    found = {
        "CR-6.5": claimed(solved.ok.all() and short.any() and not short.all(), **words),
        "CR-6.5-choice": only(least=off.min(), most=off.max(), less=less, count=len(e)),
    }
    rows = [list(row) for row in zip(e, mu, whole, split, impacts, left, strict=True)]
    return found, TEXTS.grid("hinged", rows)


def _range(counts: np.ndarray) -> str:
    return " to ".join(str(x) for x in sorted({counts.min(), counts.max()})) if counts.size else "no"


def _picture(config: Sequence, decays: list[np.ndarray]) -> Picture:
    picture, (ax,) = TEXTS.page("decay")
    for angle, share in zip(config.angle_deg, decays, strict=True):
        ax.semilogy(np.flatnonzero(share > 0), share[share > 0], lw=1.4, label=f"rack of nine, {angle:g} deg")
    e, decay = config.material.restitution, config.cut.decay
    last = int(np.log(decay) / (2 * np.log(e))) if e > 0 else 1
    ax.semilogy([0, last], [1, e ** (2 * last)], "k--", lw=1.2, label="ball between two walls, $e^{2n}$")
    ax.set_ylim(bottom=0.1 * decay)
    ax.legend(frameon=False, fontsize=9)
    return picture
