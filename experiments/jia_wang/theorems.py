"""Part "theorems": what the paper proves, on random impacts of two bodies; and what it leaves open."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import jimpact
from jimpact.reproduce import Finding, Grid, Progress, Result, claim, directions_many, new, solve_many, trace_many

from .closed_form import flow_of, impulse_between, speed_ratio
from .forms import Case, RandomBodies, Theorem8, TheoremsForm

__all__ = ["Crowd", "draw", "run"]

EXACT = 1e-9  # relative: far above round-off, far below any effect
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


def run(config: TheoremsForm, progress: Progress) -> Result:
    crowd = draw(config.bodies)
    impact = solve_many(crowd.W, crowd.v, crowd.mu, crowd.e, progress=progress)
    directions, rates = directions_many(crowd.W, crowd.mu)
    seen = np.asarray(jimpact.event_sequence(impact), str)
    findings = [
        *_matrices(crowd),
        *_endings(crowd, impact),
        *_theorem_5(crowd, directions, rates, config),
        _corollary_6(crowd, impact, directions, rates),
        _theorem_8(config.theorem_8),
        _figure_9(crowd, seen, config),
        _identity(crowd),
        _integrable(config.path),
    ]
    names, counts = np.unique(seen[crowd.surely_ends], return_counts=True)
    grid = Grid("Sequences of events where (18) holds", ("sequence", "impacts"), np.stack([names, counts], -1).tolist())
    return Result(findings, (), [grid])


def draw(given: RandomBodies) -> Crowd:
    """Pairs of bodies with random masses, ellipsoids of inertia, contact points and velocities."""
    rng, n = np.random.default_rng(given.seed), given.count
    bodies = []
    for _ in range(2):
        mass = rng.uniform(*given.mass, n)
        squares = rng.uniform(*given.gyration, (n, 3)) ** 2  # second moments along the principal axes
        moments = mass[:, None] * (squares.sum(-1, keepdims=True) - squares)
        axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
        inertia = np.einsum("nij,nj,nkj->nik", axes, moments, axes)
        fields = (mass, (inertia + np.swapaxes(inertia, 1, 2)) / 2, given.arm * rng.normal(size=(n, 3)))
        bodies.append(jimpact.Body(*map(jnp.asarray, (*fields, np.zeros((n, 3)), np.zeros((n, 3))))))
    W = np.asarray(jimpact.inverse_inertia(bodies[0], bodies[1], jnp.zeros(3), jnp.asarray(UP)))
    v = rng.normal(size=(n, 3))
    v[:, 2] = -np.abs(v[:, 2])
    inverse_masses = np.asarray(1 / bodies[0].mass + 1 / bodies[1].mass)
    return Crowd(W, inverse_masses, v, rng.uniform(*given.friction, n), rng.uniform(*given.restitution, n))


def _matrices(crowd: Crowd) -> list[Finding]:
    """Lemma 1 and Propositions 2 and 4."""
    n = len(crowd.mu)
    S = crowd.inverse_masses[:, None, None] * np.eye(3) - crowd.W
    findings = []
    for id, where, what, values, sign in (
        ("JW-Lemma1", "Lemma 1", "S is negative definite", np.linalg.eigvalsh(S).max(-1), -1),
        ("JW-Prop2", "Proposition 2", "W is positive definite", np.linalg.eigvalsh(crowd.W).min(-1), 1),
        ("JW-Prop4", "Proposition 4", "B is positive definite", np.linalg.eigvalsh(crowd.W[:, :2, :2]).min(-1), 1),
    ):
        good = int((sign * values > 0).sum())
        findings.append(claim(id, where, what, "always", f"{good} of {n}", good == n))
    return findings


def _endings(crowd: Crowd, impact: jimpact.Impact) -> list[Finding]:
    """Theorem 3, and the question whether every impact ends."""
    ended, sure = impact.outcome == jimpact.Outcome.OK, crowd.surely_ends
    both = int(ended[sure].sum()), int(sure.sum())
    rest = int(ended[~sure].sum()), int((~sure).sum())
    again = int((impact.info.compressions[~sure] > 1).sum())
    return [
        claim("JW-Thm3", "Theorem 3", "impacts with (18) end", "always", f"{both[0]} of {both[1]}", both[0] == both[1]),
        claim(
            "JW-termination",
            "abstract, 2.3, 7",
            "impacts without (18) end",
            "open",
            f"{rest[0]} of {rest[1]} end",
            False,
            "Baber (2011) proves it: the direction of slip tends to an invariant one, and along it, or in stick, the "
            f"normal velocity grows. {again} of these have a second compression, which the paper does not know.",
            "differs",
        ),
    ]


def _theorem_5(crowd: Crowd, directions: np.ndarray, rates: np.ndarray, config: TheoremsForm) -> list[Finding]:
    """Numbers and kinds of invariant directions."""
    there = np.isfinite(directions[..., 0])
    count, outward = there.sum(-1), (there & (rates > 0)).sum(-1)
    slides = crowd.stick_ratio > crowd.mu
    wrong = ~np.isin(count, config.printed.directions) | (outward != slides) | (count - outward < 1)
    alike = directions_many(np.array([config.isotropic.inverse_inertia]), np.array([config.isotropic.friction]))
    every = bool(np.isnan(alike[0]).all() and np.ptp(alike[1]) == 0)
    pull = crowd.W[:, None, :2, 2] - crowd.mu[:, None, None] * np.einsum("nij,nkj->nki", crowd.W[:, :2, :2], directions)
    cross = np.abs(directions[..., 0] * pull[..., 1] - directions[..., 1] * pull[..., 0])
    size = np.nanmax(cross / np.linalg.norm(crowd.W, axis=(1, 2))[:, None])
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
            "Three only where two coincide, which does not happen at random.",
        ),
        claim(
            "JW-Thm5i", "Theorem 5 (i)", "B isotropic, d = 0", "every direction is invariant", "every direction", every
        ),
        claim(
            "JW-errata-dot",
            "after Theorem 5",
            "the centrifugal direction is told by",
            "the sign of the cross product",
            f"cross products are 0 ({size:.0e} of W), dot products above 0 for {int(outward.sum())} of "
            f"{int(slides.sum())}",
            False,
            "The cross product vanishes on every invariant direction, by (33): the dot product is meant.",
            "misprint",
        ),
    ]


def _corollary_6(crowd: Crowd, impact: jimpact.Impact, directions: np.ndarray, rates: np.ndarray) -> Finding:
    """Where slip stopped and cannot stick, it leaves along the centrifugal direction."""
    resumed = np.isfinite(impact.info.slip_end) & (crowd.stick_ratio > crowd.mu)
    out = np.where((rates > 0)[..., None], directions, 0).sum(-2)[resumed]
    slip = impact.velocity[resumed, :2]
    off = np.abs(np.arctan2(slip[:, 0] * out[:, 1] - slip[:, 1] * out[:, 0], (slip * out).sum(-1)))
    worst = off.max() if len(off) else 0.0
    text = f"{len(off)} impacts, at most {worst:.0e} rad off"
    return claim("JW-Cor6", "Corollary 6", "slip resumes along the centrifugal direction", "always", text, worst < 1e-6)


def _theorem_8(given: Theorem8) -> Finding:
    """(iii): the direction across p = (p_x, 0), with the printed and with the other sign."""
    (l1, l2), p = given.eigenvalues, np.array([given.along, 0.0])
    residual = {}
    for name, x in (("printed", p[0] / (l1 - l2)), ("corrected", p[0] / (l2 - l1))):
        u = np.array([x, np.sqrt(1 - x * x)])
        w = np.array([l1, l2]) * u + p
        residual[name] = u[0] * w[1] - u[1] * w[0]
    return claim(
        "JW-Thm8iii",
        "Theorem 8 (iii)",
        "u x (Sigma u + p) for u_x of (iii)",
        "u_x = p_x/(lambda_1 - lambda_2) solves it",
        f"{residual['printed']:.4f} as printed, {residual['corrected']:.0e} with lambda_2 - lambda_1",
        False,
        "A sign; (ii) is right.",
        "misprint",
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
        found <= set(config.printed.sequences),
        f"l within 0.01 rad. Where (18) fails also {', '.join(sorted(others)) or 'none'}: d is a second compression.",
    )


def _identity(crowd: Crowd) -> Finding:
    """dh/da + g = -mu t.B t for every direction of slip."""
    angle = np.linspace(0, 2 * np.pi, len(crowd.mu), endpoint=False)
    s, t = np.stack([np.cos(angle), np.sin(angle)], -1), np.stack([-np.sin(angle), np.cos(angle)], -1)
    B, d, mu = crowd.W[:, :2, :2], crowd.W[:, :2, 2], crowd.mu
    form = lambda a, b: np.einsum("ni,nij,nj->n", a, B, b)  # noqa: E731
    g = (s * d).sum(-1) - mu * form(s, s)
    dh = -(s * d).sum(-1) - mu * (form(t, t) - form(s, s))
    gap = np.abs(dh + g + mu * form(t, t)) / (mu * np.linalg.norm(B, axis=(1, 2)) + np.linalg.norm(d, axis=-1))
    return new(
        "JW-identity",
        "4",
        "dh/da + g + mu t.B t, with slip r' = g, r a' = h",
        f"at most {gap.max():.0e}, relative",
        "So dh/da + g < 0: the centrifugal direction always attracts, and a centripetal one that repels has |g| > "
        "dh/da.",
    )


def _integrable(case: Case) -> Finding:
    """Slip speed in closed form along a traced path, and the normal impulse by one quadrature."""
    W = np.asarray(case.inverse_inertia)
    path = trace_many(W, np.asarray(case.velocity)[None], case.friction, case.restitution)
    slip, p = path.sliding_velocity[0], path.normal_impulse[0]
    flow = flow_of(W, case.friction)
    angles, speed = np.unwrap(np.arctan2(slip[:, 1], slip[:, 0])), np.linalg.norm(slip, axis=-1)
    gap = np.abs(speed[0] * speed_ratio(flow, angles) / speed - 1).max()
    half = len(p) // 2
    between = impulse_between(flow, speed[0], angles[0], angles[half])
    return claim(
        "JW-integrable",
        "abstract, 1",
        "the hodograph",
        "generally non-integrable",
        f"closed form r(a) within {gap:.0e} of the path of fig. 4c",
        gap > 1e-5,
        "ln r is a rational integral in exp(i a): r is a product of powers. Only the normal impulse is a quadrature, "
        f"{between:.9f} at the middle sample, {p[half]:.9f} traced.",
        "differs",
    )
