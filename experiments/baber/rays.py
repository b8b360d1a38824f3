"""Sections 3.8 to 3.10 on random collision matrices: the quartic, and the diverging ray that exists alone.

| symbol | meaning                                                              | unit |
|--------|----------------------------------------------------------------------|------|
| M, d   | tangential block of K, and its coupling to the normal                | 1/kg |
| l      | growth of slip along a ray: d = (l + mu M) s; positive if diverging  | 1/kg |
"""

import numpy as np

from jimpact.config import Matrix, Name, NotNegative, Positive, Small, Table
from jimpact.reproduce import Finding, Progress, Result, claim, directions_many, new

from .crowd import matrices, stick_ratio
from .forms import Count, Crowd
from .quartic import coefficients, growth_quartic, ray_angles, real_roots

__all__ = ["RaysForm", "run", "sides"]


class OppositeForm(Table):
    inverse_inertia: Matrix
    friction: NotNegative


class LimitsForm(Table):
    residual: Small
    same_rad: Small
    apart_rad: Small
    opposite_deg: Positive


class RaysForm(Table):
    """configs/baber/rays.toml"""

    name: Name
    quartics: Count
    crowd: Crowd
    opposite: OppositeForm
    limits: LimitsForm


def run(form: RaysForm, progress: Progress) -> Result:
    """Existence, uniqueness and formulas of the rays."""
    impacts = matrices(form.crowd)
    K, mu = impacts.inverse_inertia, impacts.friction
    directions, rates = directions_many(K, mu)
    diverging = (rates > 0).sum(-1)
    unstable = stick_ratio(K) > mu
    findings = [
        *_existence(directions, diverging, unstable),
        _separating(K, mu, directions, rates),
        *_quartic(K, mu, directions, form),
        _opposite(form),
        _growth(K[unstable], mu[unstable], rates[unstable], form.quartics),
    ]
    return Result(findings)


def _existence(directions: np.ndarray, diverging: np.ndarray, unstable: np.ndarray) -> list[Finding]:
    count = np.isfinite(directions[..., 0]).sum(-1)
    n, right = len(count), int((diverging == unstable).sum())
    numbers = ", ".join(f"{i} rays: {int((count == i).sum())}" for i in range(5) if (count == i).any())
    return [
        claim(
            "B-ray-unique",
            "3.10",
            "sticking is unstable exactly where one diverging ray exists",
            "always a diverging ray and it is unique",
            f"in {right} of {n} random K and friction, {int(unstable.sum())} of them unstable",
            right == n,
        ),
        claim(
            "B-ray-exists",
            "3.11",
            "there is always a ray of constant sliding",
            "there always exists a ray of constant sliding",
            f"at least {count.min()} in {n}",
            bool(count.min() >= 1),
            numbers,
        ),
    ]


def _separating(K: np.ndarray, mu: np.ndarray, directions: np.ndarray, rates: np.ndarray) -> Finding:
    k = K[:, None, 2, 2] - mu[:, None] * np.einsum("ni,nri->nr", K[:, 2, :2], directions)
    least = np.where(rates > 0, k, np.inf) / K[:, None, 2, 2]
    fall = int((np.where(rates < 0, k, 1) < 0).any(-1).sum())
    return claim(
        "B-ray-separates",
        "3.9",
        "du_z/dp_z on the diverging ray",
        "positive",
        f"at least {least.min():.4f} of K_33",
        bool(least.min() > 0),
        f"On converging rays it is not: {fall} of {len(K)} have one on which friction pulls the bodies together.",
    )


def _quartic(K: np.ndarray, mu: np.ndarray, directions: np.ndarray, form: RaysForm) -> list[Finding]:
    limits, some = form.limits, slice(form.quartics)
    K, mu, s = K[some], mu[some], directions[some]
    powers = np.arange(4, -1, -1)
    angle = np.arctan2(s[..., 1], s[..., 0])
    sine, cosine = np.sin(angle / 2)[..., None], np.cos(angle / 2)[..., None]
    terms = coefficients(K, mu)[:, None] * sine**powers * cosine ** (4 - powers)
    residual = np.nanmax(np.abs(terms.sum(-1)) / np.abs(terms).sum(-1))
    ours, theirs = np.sort(angle % (2 * np.pi), -1), ray_angles(K, mu)
    gaps = [_turn(ours[:, i] - ours[:, j]) for i in range(4) for j in range(i)]
    apart = np.nanmin(np.stack(gaps), 0) > limits.apart_rad
    same = np.isfinite(ours).sum(-1) == np.isfinite(theirs).sum(-1)
    worst = np.nanmax(_turn(ours - theirs)[apart & same])
    return [
        claim(
            "B-quartic",
            "3.8",
            "quartic in tan(angle/2), coefficients a_0 to a_4",
            "a_4 p^4 + a_3 p^3 + a_2 p^2 + a_1 p + a_0 = 0",
            f"residual at the rays at most {residual:.0e} of its terms",
            bool(residual < limits.residual),
        ),
        claim(
            "B-quartic-roots",
            "3.8",
            "real roots against invariant_directions",
            "rays of constant sliding have angles which are the solutions",
            f"same number in {int(same.sum())} of {len(K)}, angles to {worst:.0e} rad",
            bool(worst < limits.same_rad and same[apart].all()),
            f"{int((~apart).sum())} have two rays within {limits.apart_rad:g} rad, nearly a double root, and are not "
            "compared.",
        ),
    ]


def _turn(angle: np.ndarray) -> np.ndarray:
    return np.abs((angle + np.pi) % (2 * np.pi) - np.pi)


def _opposite(form: RaysForm) -> Finding:
    K, mu = np.asarray(form.opposite.inverse_inertia, float), np.asarray(form.opposite.friction)
    directions = directions_many(K[None], mu[None])[0][0]
    angles = np.degrees(np.arctan2(directions[:, 1], directions[:, 0])) % 360
    nearest = angles[np.nanargmin(np.abs(angles - 180))]
    leading = coefficients(K, mu)[0]
    words = "If a_4 = 0 then theta = pi is also a solution"
    computed = f"a_4 = {leading:g}, ray at {nearest:.10f} degrees"
    holds = bool(leading == 0 and abs(nearest - 180) < form.limits.opposite_deg)
    return claim("B-quartic-pi", "3.8", "ray at 180 degrees", words, computed, holds)


def _growth(K: np.ndarray, mu: np.ndarray, rates: np.ndarray, count: int) -> Finding:
    roots = real_roots(growth_quartic(K[:count], mu[:count]))
    positive = np.where(roots > 0, roots, np.nan)
    alone = (np.isfinite(positive).sum(-1) == 1).mean()
    worst = np.nanmax(np.abs(np.nanmax(positive, -1) / np.nanmax(rates[:count], -1) - 1))
    return new(
        "B-quartic-growth",
        "3.10",
        "the other quartic, |(l + mu M)^-1 d| = 1",
        f"one positive root in {alone:.2%} of {len(roots)}, equal to the growth of slip to {worst:.0e}",
        "the paper names it and leaves it; it needs no test of the roots",
    )


def sides(K: np.ndarray, mu: np.ndarray, growths: np.ndarray, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left and right side of the last equation of section 3.10, for two growths (n, 2) and two angles (n, 2)."""
    s = np.stack([np.cos(angles), np.sin(angles)], -1)
    apart = s[:, 0] - s[:, 1]
    left = mu * np.einsum("ni,nij,nj->n", apart, K[:, :2, :2], apart)
    right = -0.5 * growths.sum(-1) * np.sum(apart * apart, -1)
    return left, right
