"""Part "theorems": what the paper proves, on random impacts of two bodies; and what it leaves open."""

from typing import Any, NamedTuple

import numpy as np

import jimpact
from jimpact import reproduce
from jimpact.impact_path import Path
from jimpact.reproduce import (
    UP,
    Computed,
    LabelledProgress,
    Result,
    body_at,
    claimed,
    cross,
    heading,
    only,
    touching,
    unit,
)

from .drawing import tracks
from .forms import TEXTS, TheoremsForm, said

EXACT = 1e-9  # relative: far above round-off, far below any effect
DIRECTION = 1e-6  # rad
DIFFERENCE = 1e-5  # rad: step of differences
AROUND = 360  # directions of slip for case (i) of Theorem 5
REAL = 1e-7  # imaginary part below which a root of the quartic counts as real
PAIR, ALONG = np.array([3.0, 1.0]), 0.9  # lambda_1 and lambda_2, and the entry of p that is not zero, in (i) to (iii)
COUNT, SEED, LARGEST = 2000, 8, 3.0  # random Sigma and p, uniform up to the largest


class Crowd(NamedTuple):
    """Random impacts."""

    W: np.ndarray
    inverse_masses: np.ndarray  # 1/m_1 + 1/m_2
    v: np.ndarray
    mu: np.ndarray
    e: np.ndarray

    @property
    def slides(self) -> np.ndarray:
        """Whether a contact without slip cannot stick: |B^-1 d| > mu."""
        return np.linalg.norm(np.linalg.solve(self.W[:, :2, :2], self.W[:, :2, 2:]), axis=(1, 2)) > self.mu

    @property
    def surely_ends(self) -> np.ndarray:
        """Condition (18), for every direction of slip."""
        return self.W[:, 2, 2] > self.mu * np.linalg.norm(self.W[:, :2, 2], axis=-1)

    def pull(self, directions: np.ndarray) -> np.ndarray:
        """(31): derivative of the slip, for directions (n, k, 2)."""
        along = np.einsum("nij,nkj->nki", self.W[:, :2, :2], directions)
        return self.W[:, None, :2, 2] - self.mu[:, None, None] * along

    def traced(self, chosen: Any) -> Path:
        """Paths of some of them."""
        return reproduce.trace_many(self.W[chosen], self.v[chosen], self.mu[chosen], self.e[chosen])


def run(config: TheoremsForm, progress: LabelledProgress) -> Result:
    crowd, line, central = (draw(config, kind) for kind in ("any", "collinear", "central"))
    impact, stopped = (reproduce.solve_many(one.W, one.v, one.mu, one.e, progress=progress) for one in (crowd, central))
    directions, rates = reproduce.directions_many(crowd.W, crowd.mu)
    seen = np.asarray(jimpact.event_sequence(impact), str)
    found = _matrices(crowd, line) | _theorem_5(crowd, impact, directions, rates) | _theorem_8()
    ended, sure = impact.outcome == jimpact.Outcome.OK, crowd.surely_ends
    again = int((impact.info.compressions[~sure] > 1).sum())
    # Central impacts: d = 0, slip decreases, and sticks once it is zero.
    d = (np.linalg.norm(central.W[:, :2, 2], axis=-1) / central.W[:, 2, 2]).max()
    stops = np.isfinite(stopped.info.slip_end)
    sticks = np.linalg.norm(stopped.velocity[:, :2], axis=-1)[stops] == 0
    speed = np.linalg.norm(central.traced(slice(config.traced)).sliding_velocity, axis=-1)
    falls = (np.diff(speed, axis=-1) <= EXACT * speed[:, :1]).all(-1)
    words = {"falls": int(falls.sum()), "paths": len(falls), "sticks": int(sticks.sum()), "stops": len(sticks)}
    holds = d < EXACT and falls.all() and sticks.all() and len(sticks) > 0
    found |= {
        "JW-Thm3": claimed(sure.any() and ended[sure].all(), ended=int(ended[sure].sum()), count=int(sure.sum())),
        "JW-termination": only(ended=int(ended[~sure].sum()), count=int((~sure).sum()), again=again),
        "JW-central": claimed(holds, d=d, count=len(stops), **words),
        "JW-sectors": _sectors(crowd, directions, config.traced),
        "JW-Thm7": only(),
    }
    names, counts = np.unique(seen[sure], return_counts=True)
    printed = said("theorems", "JW-Fig9") - {"eight"}
    others = ", ".join(sorted(set(seen[~sure].tolist()) - printed))
    found["JW-Fig9"] = claimed(set(names) == printed, count=len(names), found=", ".join(names), others=others)
    return Result(found, (), [TEXTS.grid("theorems", np.stack([names, counts], -1).tolist())])


def draw(given: TheoremsForm, kind: str = "any") -> Crowd:
    """Pairs of bodies with random masses, ellipsoids of inertia, contact points and velocities.

    kind: "any"; "collinear", both centres in line with the contact point; "central", and that line is the normal.
    """
    rng, n = np.random.default_rng(given.seed), given.count if kind == "any" else given.special
    bodies, arm = [], np.zeros((n, 3))
    for side in (1, -1):
        mass = rng.uniform(*given.mass, n)
        squares = rng.uniform(*given.gyration, (n, 3)) ** 2  # second moments along the principal axes
        moments = mass[:, None] * (squares.sum(-1, keepdims=True) - squares)
        axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
        inertia = np.einsum("nij,nj,nkj->nik", axes, moments, axes)
        own = given.arm * rng.normal(size=(n, 3))
        if kind != "any":
            own = (own if side == 1 else -rng.uniform(size=(n, 1)) * arm) * (UP if kind == "central" else 1.0)
        arm = own
        bodies.append(body_at(mass, (inertia + np.swapaxes(inertia, 1, 2)) / 2, -own))
    W = touching(*bodies)
    v = rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2])
    inverse_masses = np.asarray(1 / bodies[0].mass + 1 / bodies[1].mass)
    return Crowd(W, inverse_masses, v, rng.uniform(*given.friction, n), rng.uniform(*given.restitution, n))


def _matrices(crowd: Crowd, line: Crowd) -> dict[str, Computed]:
    """Lemma 1, on centres in any position and in line with the contact point, Propositions 2 and 4, and an identity.

    The identity: dh/da + g = -mu t.B t for every direction of slip, with dh/da by differences.
    """
    high, low = (np.linalg.eigvalsh(one.inverse_masses[:, None, None] * np.eye(3) - one.W) for one in (crowd, line))
    definite, n = int((high[:, 2] < 0).sum()), len(high)  # eigenvalues ascend
    semi = int(((np.abs(low[:, 2]) < -EXACT * low[:, 0]) & (low[:, 1] < 0)).sum())
    words: dict[str, Any] = {"definite": definite, "count": n, "semi": semi, "line": len(low)}
    ratio = np.abs(low[:, 2] / low[:, 0]).max()
    found = {"JW-Lemma1": claimed(definite == n and semi == len(low), ratio=ratio, **words)}
    for id, matrices in (("JW-Prop2", crowd.W), ("JW-Prop4", crowd.W[:, :2, :2])):
        good = int((np.linalg.eigvalsh(matrices).min(-1) > 0).sum())
        found[id] = claimed(good == n, good=good, count=n)
    angle = np.linspace(0, 2 * np.pi, len(crowd.mu), endpoint=False)
    steps = angle[:, None] + DIFFERENCE * np.array([-1, 0, 1])
    s, t = (unit(a) for a in (steps, steps + np.pi / 2))
    pull, across = crowd.pull(s), t[:, 1]
    h, g = (t * pull).sum(-1), (s * pull).sum(-1)[:, 1]
    dh = (h[:, 2] - h[:, 0]) / (2 * DIFFERENCE)
    tangential = crowd.mu * np.einsum("ni,nij,nj->n", across, crowd.W[:, :2, :2], across)
    size = crowd.mu * np.linalg.norm(crowd.W[:, :2, :2], axis=(1, 2)) + np.linalg.norm(crowd.W[:, :2, 2], axis=-1)
    found["JW-identity"] = only(gap=(np.abs(dh + g + tangential) / size).max(), count=len(angle), most=(dh + g).max())
    return found


def _theorem_5(crowd: Crowd, impact: Any, directions: np.ndarray, rates: np.ndarray) -> dict[str, Computed]:
    """Numbers and kinds of invariant directions; case (i); and corollary 6: slip that resumes is centrifugal."""
    there = np.isfinite(directions[..., 0])
    count, outward = there.sum(-1), (there & (rates > 0)).sum(-1)
    wrong = (count < 2) | (count > 4) | (outward != crowd.slides) | (count - outward < 1)
    across = np.abs(cross(directions, crowd.pull(directions)))
    size = np.nanmax(across / np.linalg.norm(crowd.W, axis=(1, 2))[:, None])
    slides, kinds = int(crowd.slides.sum()), ", ".join(f"{k}: {int((count == k).sum())}" for k in np.unique(count))
    W, friction, s = np.diag([2.0, 2.0, 1.0]), 0.5, unit(np.arange(AROUND) * 2 * np.pi / AROUND)
    resumed = np.isfinite(impact.info.slip_end) & crowd.slides
    out, slip = np.where((rates > 0)[..., None], directions, 0).sum(-2)[resumed], impact.velocity[resumed, :2]
    worst = np.abs(np.arctan2(cross(slip, out), (slip * out).sum(-1))).max(initial=0.0)
    turns = np.abs(cross(s, -friction * s @ W[:2, :2])).max()
    listed = int(np.isfinite(reproduce.directions_many(W[None], np.array([friction]))[0][..., 0]).sum())
    return {
        "JW-Cor6": claimed(len(out) > 0 and worst < DIRECTION, resumed=len(out), worst=worst, count=len(count)),
        "JW-Thm5i": claimed(turns < EXACT and listed == 0, across=turns, count=AROUND, listed=listed),
        "JW-Thm5": claimed(not wrong.any(), wrong=int(wrong.sum()), count=len(count), numbers=kinds, slides=slides),
        "JW-errata-dot": claimed(size > EXACT, size=size, outward=int(outward.sum()), slides=slides),
    }


def _sectors(crowd: Crowd, directions: np.ndarray, traced: int) -> Computed:
    """Whether slip crosses an invariant direction on its way."""
    chosen = np.flatnonzero(crowd.surely_ends)[:traced]
    beyond, turned = [], []  # slip past a ray over slip at the start, and angle
    for track, rays in zip(tracks(crowd.traced(chosen)), directions[chosen], strict=True):
        sliding = track.normal_impulse < dict(track.events).get("s", np.inf)
        slip = track.sliding_velocity[sliding]
        angles, speed = heading(slip), np.linalg.norm(slip, axis=-1)
        known = heading(rays[np.isfinite(rays[:, 0])])
        ahead, behind = ((known - angles[0]) % (2 * np.pi)).min(), ((angles[0] - known) % (2 * np.pi)).min()
        turn = (angles - angles[0] + behind) % (2 * np.pi)  # from the ray behind
        past = np.clip(np.minimum(turn - ahead - behind, 2 * np.pi - turn), 0, None)
        beyond.append(float((past * speed).max() / speed[0]))
        turned.append(float(np.where(past > 0, 0, np.abs(turn - behind)).max()))
    crossed = int((np.array(beyond) > EXACT).sum())
    return claimed(crossed == 0, crossed=crossed, count=len(chosen), beyond=max(beyond), turned=max(turned))


def _residual(eigenvalues: np.ndarray, p: np.ndarray, u: np.ndarray) -> float:
    """The largest of (48) over unit vectors (k, 2)."""
    return float(np.abs(cross(u, eigenvalues * u + p)).max())


def _theorem_8() -> dict[str, Computed]:
    """(i), (ii), and (iii): the directions beside p = (p_x, 0), with the printed and with the other sign."""
    p, gap = np.array([ALONG, 0.5 * ALONG]), PAIR[0] - PAIR[1]
    x, y = np.sqrt(1 - (ALONG / gap) ** 2), ALONG / gap
    first = _residual(np.full(2, PAIR[0]), p, np.stack([p, -p]) / np.linalg.norm(p))
    second = _residual(PAIR, np.array([0.0, ALONG]), np.array([[0, 1], [0, -1], [x, y], [-x, y]]))
    printed, other = (_residual(PAIR, np.array([ALONG, 0]), np.array([[u, x], [u, -x]])) for u in (y, -y))

    # (iv) to (vi), and Theorem 12, by the real roots of the quartic in the proof of (iv).
    rng = np.random.default_rng(SEED)
    pairs, shifts = rng.uniform(0, LARGEST, (COUNT, 2)), rng.uniform(-1, 1, (COUNT, 2)) * LARGEST
    wrong, worst, outside = 0, 0.0, 0
    for pair, p in zip(pairs, shifts, strict=True):
        gap = pair[0] - pair[1]
        eta = np.roots([-p[1], 2 * (gap - p[0]), 0, -2 * (gap + p[0]), p[1]])
        eta = eta[np.abs(eta.imag) < REAL].real
        u = np.stack([1 - eta**2, 2 * eta], -1) / (1 + eta**2)[:, None]
        opposite = int(((u * (pair * u + p)).sum(-1) < 0).sum())
        beyond = bool(np.linalg.norm(p / pair) > 1)
        outside += int(beyond)
        wrong += not (2 <= len(u) <= 4 and opposite == int(beyond) and len(u) > opposite)
        worst = max(worst, _residual(pair, p, u) / float(np.linalg.norm(p)))
    holds = wrong == 0 and worst < np.sqrt(EXACT)
    return {
        "JW-Thm8": claimed(max(first, second) < EXACT, first=first, second=second, pair=PAIR),
        "JW-Thm8iii": claimed(printed < EXACT, printed=printed, other=other),
        "JW-Thm8iv-vi": claimed(holds, wrong=wrong, count=COUNT, outside=outside, worst=worst),
    }
