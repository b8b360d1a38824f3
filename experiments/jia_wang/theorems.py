"""Part "theorems": what the paper proves, on random impacts of two bodies; and what it leaves open."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.reproduce import (
    Finding,
    Grid,
    Progress,
    Result,
    claim,
    directions_many,
    new,
    solve_many,
    trace_many,
    unchecked,
)

from .appendix import theorem_8
from .drawing import tracks
from .forms import RandomBodies, TheoremsForm

__all__ = ["Crowd", "draw", "run"]

UP = np.array([0.0, 0.0, 1.0])


class Crowd(NamedTuple):
    """Random impacts."""

    W: np.ndarray
    inverse_masses: np.ndarray  # 1/m_1 + 1/m_2
    v: np.ndarray
    mu: np.ndarray
    e: np.ndarray

    @property
    def stick_ratio(self) -> np.ndarray:
        """|B^-1 d|."""
        return np.linalg.norm(np.linalg.solve(self.W[:, :2, :2], self.W[:, :2, 2:]), axis=(1, 2))

    @property
    def surely_ends(self) -> np.ndarray:
        """Condition (18), for every direction of slip."""
        return self.W[:, 2, 2] > self.mu * np.linalg.norm(self.W[:, :2, 2], axis=-1)

    def first(self, chosen: np.ndarray) -> "Crowd":
        """Some of them."""
        return Crowd(*(field[chosen] for field in self))


def run(config: TheoremsForm, progress: Progress) -> Result:
    crowd = draw(config.bodies)
    impact = solve_many(crowd.W, crowd.v, crowd.mu, crowd.e, progress=progress)
    directions, rates = directions_many(crowd.W, crowd.mu)
    seen = np.asarray(jimpact.event_sequence(impact), str)
    findings = [
        *_matrices(crowd, config),
        *_endings(crowd, impact),
        _central(config, progress),
        *_theorem_5(crowd, directions, rates, config),
        _sectors(crowd, directions, config),
        _corollary_6(crowd, impact, directions, rates, config),
        unchecked(
            "JW-Thm7",
            "Theorem 7",
            "the impulse depends on the velocities of the bodies only through that of the contact",
            "",
            "Built into the programs here: they take W and the contact velocity only.",
        ),
        *theorem_8(config.theorem_8, config.limits.exact),
        _figure_9(crowd, seen, config),
        _identity(crowd, config.limits.difference),
    ]
    names, counts = np.unique(seen[crowd.surely_ends], return_counts=True)
    grid = Grid("Sequences of events where (18) holds", ("sequence", "impacts"), np.stack([names, counts], -1).tolist())
    return Result(findings, (), [grid])


def draw(given: RandomBodies, kind: str = "any") -> Crowd:
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
        fields = (mass, (inertia + np.swapaxes(inertia, 1, 2)) / 2, own)
        bodies.append(jimpact.Body(*map(jnp.asarray, (*fields, np.zeros((n, 3)), np.zeros((n, 3))))))
    W = np.asarray(jimpact.inverse_inertia(bodies[0], bodies[1], jnp.zeros(3), jnp.asarray(UP)))
    v = rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2])
    inverse_masses = np.asarray(1 / bodies[0].mass + 1 / bodies[1].mass)
    return Crowd(W, inverse_masses, v, rng.uniform(*given.friction, n), rng.uniform(*given.restitution, n))


def _matrices(crowd: Crowd, config: TheoremsForm) -> list[Finding]:
    """Lemma 1 and Propositions 2 and 4."""
    findings = [_lemma_1(crowd, draw(config.bodies, "collinear"), config.limits.exact)]
    for id, where, name, M in (
        ("JW-Prop2", "Proposition 2", "W", crowd.W),
        ("JW-Prop4", "Proposition 4", "B", crowd.W[:, :2, :2]),
    ):
        good = int((np.linalg.eigvalsh(M).min(-1) > 0).sum())
        what, text = f"{name} is positive definite", f"{good} of {len(M)}"
        why = "Random bodies, by eigenvalues."
        findings.append(claim(id, where, what, "positive definite", text, good == len(M), why, "differs"))
    return findings


def _lemma_1(crowd: Crowd, line: Crowd, exact: float) -> Finding:
    """S of centres in any position, and in line with the contact point."""
    high, low = (
        np.linalg.eigvalsh(one.inverse_masses[:, None, None] * np.eye(3) - one.W) for one in (crowd, line)
    )  # ascending
    definite = int((high[:, 2] < 0).sum())
    semi = int(((np.abs(low[:, 2]) < -exact * low[:, 0]) & (low[:, 1] < 0)).sum())
    return claim(
        "JW-Lemma1",
        "Lemma 1",
        "S is negative definite",
        "definite if o1, o2, c are not collinear, semidefinite otherwise",
        f"definite in {definite} of {len(high)}; collinear: semidefinite in {semi} of {len(low)}",
        definite == len(high) and semi == len(low),
        f"Collinear: the largest eigenvalue is at most {np.abs(low[:, 2] / low[:, 0]).max():.0e} of the least.",
        "differs",
    )


def _central(config: TheoremsForm, progress: Progress) -> Finding:
    """Central impacts: d = 0, slip decreases, and sticks once it is zero."""
    crowd = draw(config.bodies, "central")
    d = (np.linalg.norm(crowd.W[:, :2, 2], axis=-1) / crowd.W[:, 2, 2]).max()
    impact = solve_many(crowd.W, crowd.v, crowd.mu, crowd.e, progress=progress)
    stops = np.isfinite(impact.info.slip_end)
    sticks = np.linalg.norm(impact.velocity[:, :2], axis=-1)[stops] == 0
    some = crowd.first(np.arange(min(config.bodies.traced, len(stops))))
    speed = np.linalg.norm(trace_many(some.W, some.v, some.mu, some.e).sliding_velocity, axis=-1)
    falls = (np.diff(speed, axis=-1) <= config.limits.exact * speed[:, :1]).all(-1)
    return claim(
        "JW-central",
        "3, 4, 5.1",
        "central impacts",
        "d = 0; slip decreases monotonically; sticking starts at once",
        f"|d| at most {d:.0e} of W_zz; slip decreases along {int(falls.sum())} of {len(falls)} paths; "
        f"{int(sticks.sum())} of {len(sticks)} that stop stick",
        bool(d < config.limits.exact and falls.all() and sticks.all() and len(sticks) > 0),
        f"{len(stops)} random pairs with both centres on the normal.",
        "differs",
    )


def _endings(crowd: Crowd, impact: jimpact.Impact) -> list[Finding]:
    """Theorem 3, and the question whether every impact ends."""
    ended, sure = impact.outcome == jimpact.Outcome.OK, crowd.surely_ends
    both = int(ended[sure].sum()), int(sure.sum())
    rest = int(ended[~sure].sum()), int((~sure).sum())
    again = int((impact.info.compressions[~sure] > 1).sum())
    return [
        claim(
            "JW-Thm3",
            "Theorem 3",
            "impacts with (18) end",
            "will end",
            f"{both[0]} of {both[1]}",
            both[0] == both[1] > 0,
            "Random bodies.",
            "differs",
        ),
        new(
            "JW-termination",
            "abstract, 2.3, 7",
            "impacts without (18) end",
            f"{rest[0]} of {rest[1]}",
            "The paper leaves it open; Baber (2011) proves it: slip stops, or its direction tends to a diverging or "
            "stationary ray; there and in stick the normal velocity grows. "
            f"{again} of these compress twice, which fig. 9 does not have.",
        ),
    ]


def _theorem_5(crowd: Crowd, directions: np.ndarray, rates: np.ndarray, config: TheoremsForm) -> list[Finding]:
    """Numbers and kinds of invariant directions."""
    there = np.isfinite(directions[..., 0])
    count, outward = there.sum(-1), (there & (rates > 0)).sum(-1)
    slides = crowd.stick_ratio > crowd.mu
    wrong = ~np.isin(count, config.printed.directions) | (outward != slides) | (count - outward < 1)
    alike = directions_many(np.array([config.isotropic.inverse_inertia]), np.array([config.isotropic.friction]))
    listed = int(np.isfinite(alike[0][..., 0]).sum())
    angle = np.arange(config.isotropic.directions) * 2 * np.pi / config.isotropic.directions
    s, B = np.stack([np.cos(angle), np.sin(angle)], -1), np.asarray(config.isotropic.inverse_inertia)[:2, :2]
    across = np.abs(_cross(s, -config.isotropic.friction * s @ B)).max()
    pull = crowd.W[:, None, :2, 2] - crowd.mu[:, None, None] * np.einsum("nij,nkj->nki", crowd.W[:, :2, :2], directions)
    size = np.nanmax(np.abs(_cross(directions, pull)) / np.linalg.norm(crowd.W, axis=(1, 2))[:, None])
    numbers = ", ".join(f"{k}: {int((count == k).sum())}" for k in np.unique(count))
    return [
        claim(
            "JW-Thm5",
            "Theorem 5",
            "numbers and kinds of invariant directions",
            "2 to 4; all centripetal, or exactly one centrifugal iff |B^-1 d| > mu",
            f"{int(wrong.sum())} violations in {len(count)}; directions {numbers}; {int(slides.sum())} with a "
            "centrifugal one",
            not wrong.any(),
            "Three need two that coincide.",
            "differs",
        ),
        claim(
            "JW-Thm5i",
            "Theorem 5 (i)",
            "B isotropic, d = 0",
            "every direction is invariant",
            f"(33) at most {across:.0e} in {len(angle)} directions",
            bool(across < config.limits.exact and listed == 0),
            f"jimpact lists {listed} single directions there.",
            "differs",
        ),
        claim(
            "JW-errata-dot",
            "after Theorem 5",
            "the centrifugal direction is told by",
            "the sign of the cross product",
            f"cross products are 0 ({size:.0e} of W), dot products above 0 for {int(outward.sum())} of "
            f"{int(slides.sum())}",
            bool(size > config.limits.exact),
            "The cross product vanishes on every invariant direction, by (33): the dot product is meant.",
            "misprint",
        ),
    ]


def _sectors(crowd: Crowd, directions: np.ndarray, config: TheoremsForm) -> Finding:
    """Whether slip crosses an invariant direction on its way."""
    chosen = np.flatnonzero(crowd.surely_ends)[: config.bodies.traced]
    some = crowd.first(chosen)
    beyond, turned = [], []  # slip past a ray over slip at the start, and angle
    for track, rays in zip(tracks(trace_many(some.W, some.v, some.mu, some.e)), directions[chosen], strict=True):
        sliding = track.normal_impulse < dict(track.events).get("s", np.inf)
        slip = track.sliding_velocity[sliding]
        angles, speed = np.arctan2(slip[:, 1], slip[:, 0]), np.linalg.norm(slip, axis=-1)
        known = np.arctan2(rays[:, 1], rays[:, 0])[np.isfinite(rays[:, 0])]
        ahead, behind = ((known - angles[0]) % (2 * np.pi)).min(), ((angles[0] - known) % (2 * np.pi)).min()
        turn = (angles - angles[0] + behind) % (2 * np.pi)  # from the ray behind
        past = np.clip(np.minimum(turn - ahead - behind, 2 * np.pi - turn), 0, None)
        beyond.append(float((past * speed).max() / speed[0]))
        turned.append(float(np.where(past > 0, 0, np.abs(turn - behind)).max()))
    crossed = int((np.array(beyond) > config.limits.exact).sum())
    return claim(
        "JW-sectors",
        "4, after Theorem 5",
        "hodographs stay in their sector",
        "not cross either of its two bounding rays",
        f"{crossed} of {len(chosen)} paths cross one",
        crossed == 0,
        f"Traced: slip is at most {max(beyond):.0e} of its start past a ray, and turns by up to {max(turned):.2f} rad.",
        "differs",
    )


def _corollary_6(
    crowd: Crowd, impact: jimpact.Impact, directions: np.ndarray, rates: np.ndarray, config: TheoremsForm
) -> Finding:
    """Where slip stopped and cannot stick, it leaves along the centrifugal direction."""
    resumed = np.isfinite(impact.info.slip_end) & (crowd.stick_ratio > crowd.mu)
    out = np.where((rates > 0)[..., None], directions, 0).sum(-2)[resumed]
    slip = np.asarray(impact.velocity)[resumed, :2]
    off = np.abs(np.arctan2(_cross(slip, out), (slip * out).sum(-1)))
    worst = float(off.max()) if len(off) else np.nan
    return claim(
        "JW-Cor6",
        "Corollary 6",
        "slip resumes along the centrifugal direction",
        "in the unique centrifugal direction",
        f"{len(off)} impacts, at most {worst:.0e} rad off",
        len(off) > 0 and worst < config.limits.direction,
        f"Those of the {len(crowd.mu)} whose slip stops and cannot stick.",
        "differs",
    )


def _figure_9(crowd: Crowd, seen: np.ndarray, config: TheoremsForm) -> Finding:
    """Which sequences of events there are."""
    found = set(seen[crowd.surely_ends].tolist())
    others = set(seen[~crowd.surely_ends].tolist()) - set(config.printed.sequences)
    return claim(
        "JW-Fig9",
        "fig. 9",
        "sequences of events",
        f"eight: {', '.join(config.printed.sequences)}",
        f"where (18) holds {len(found)}: {', '.join(sorted(found))}",
        found == set(config.printed.sequences),
        f"l within 0.01 rad, jimpact's own. Where (18) fails also {', '.join(sorted(others)) or 'none'}: d is a second "
        "compression.",
        "differs",
    )


def _identity(crowd: Crowd, step: float) -> Finding:
    """dh/da + g = -mu t.B t for every direction of slip, dh/da by differences."""
    angle = np.linspace(0, 2 * np.pi, len(crowd.mu), endpoint=False)
    g, tangential = _rates(crowd, angle)[0], _rates(crowd, angle)[2]
    dh = (_rates(crowd, angle + step)[1] - _rates(crowd, angle - step)[1]) / (2 * step)
    size = crowd.mu * np.linalg.norm(crowd.W[:, :2, :2], axis=(1, 2)) + np.linalg.norm(crowd.W[:, :2, 2], axis=-1)
    gap, most = np.abs(dh + g + tangential) / size, (dh + g).max()
    return new(
        "JW-identity",
        "4",
        "dh/da + g + mu t.B t, t across slip",
        f"at most {gap.max():.0e}, relative",
        f"dh/da by differences in {len(angle)} impacts. dh/da + g is at most {most:.2g}, below zero: a centrifugal "
        "direction, g > 0, attracts, and a centripetal one that repels has |g| > dh/da.",
    )


def _rates(crowd: Crowd, angle: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g, h and mu t.B t of slip at an angle."""
    s, t = np.stack([np.cos(angle), np.sin(angle)], -1), np.stack([-np.sin(angle), np.cos(angle)], -1)
    pull = crowd.W[:, :2, 2] - crowd.mu[:, None] * np.einsum("nij,nj->ni", crowd.W[:, :2, :2], s)
    return (s * pull).sum(-1), (t * pull).sum(-1), crowd.mu * np.einsum("ni,nij,nj->n", t, crowd.W[:, :2, :2], t)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
