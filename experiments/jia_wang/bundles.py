"""Part "bundles": figures 6 and 8, hodographs from unit slip in many directions."""

from typing import NamedTuple

import numpy as np

from jimpact.reproduce import (
    Finding,
    Grid,
    Picture,
    Progress,
    Result,
    claim,
    digits_of,
    directions_many,
    new,
    solve_many,
    trace_many,
)

from .bodies import case_of
from .closed_form import Flow, flow_of
from .drawing import bundle, tracks
from .forms import Bundle, GrowingBundle, ImpactsForm

__all__ = ["run", "spread"]


Rays = tuple[np.ndarray, np.ndarray]  # invariant directions (4, 2) and rates (4,), nan where there are fewer


class Ends(NamedTuple):
    """What became of starts in some directions."""

    stops: np.ndarray  # whether slip reached zero
    slip: np.ndarray  # after the impact


def run(config: ImpactsForm, progress: Progress) -> Result:
    case, both = case_of(config.icosahedron), (config.bundles.fig6, config.bundles.fig8)
    W, e = np.asarray(case.inverse_inertia), case.restitution
    directions, rates = directions_many(W, np.array([one.friction for one in both]))
    drawn = [_velocities(spread(rays, one.printed.count), one) for rays, one in zip(directions, both, strict=True)]
    around = [_velocities(_unit(_angles(one)), one) for one in both]
    velocity, friction = _joined([*drawn, *around], [one.friction for one in (*both, *both)])
    impact = solve_many(W, velocity, friction, e, progress=progress)
    cuts = np.cumsum([len(part) for part in (*drawn, *around)])[:-1]
    ends = [
        Ends(*pair)
        for pair in zip(
            np.split(np.isfinite(impact.info.slip_end), cuts), np.split(impact.velocity[:, :2], cuts), strict=True
        )
    ]
    lanes = tracks(trace_many(W, *_joined(drawn, [one.friction for one in both]), e))
    rays = list(zip(directions, rates, strict=True))
    out = directions[1][rates[1] > 0][0]
    close = [_apart(ends[i].slip, out) for i in (1, 3)]
    before = [_apart(starts[:, :2], out) for starts in (drawn[1], around[1])]
    flows = [flow_of(W, one.friction) for one in both]
    findings = [
        *_fig6(both[0], ends[0].stops, ends[2].stops, rays[0], flows[0]),
        _fig8(both[1], close, rays[1], config.limits.direction),
        _origin(both[1], ends[1].stops, ends[3].stops, rays[1], flows[1]),
        _drift(np.concatenate(before), np.concatenate(close), config.limits.direction),
    ]
    return Result(findings, _pictures(both, lanes, ends[0].stops, close[0], rays), [_grid(both[1], close)])


def _joined(parts: list[np.ndarray], friction: list[float]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate(parts), np.repeat(friction, [len(part) for part in parts])


def _angles(one: Bundle) -> np.ndarray:
    return np.arange(one.all_around) * 2 * np.pi / one.all_around


def _grid(one: GrowingBundle, close: list[np.ndarray]) -> Grid:
    return Grid(
        "Fig. 8: how many of the starts end within an angle of the centrifugal direction",
        ("angle (rad)", f"of {one.printed.count}", f"share of {one.all_around} directions"),
        [(a, int((close[0] <= a).sum()), f"{(close[1] <= a).mean():.4f}") for a in one.angles],
    )


def spread(directions: np.ndarray, count: int) -> np.ndarray:
    """Unit vectors: the invariant directions, and others evenly between each two that follow each other."""
    known = directions[np.isfinite(directions[:, 0])]
    known = known[np.argsort(np.arctan2(known[:, 1], known[:, 0]))]
    angles = np.arctan2(known[:, 1], known[:, 0])
    gaps = np.diff(np.append(angles, angles[0] + 2 * np.pi))
    parts = np.maximum(np.round(count * gaps / (2 * np.pi)).astype(int), 1)
    parts[gaps.argmax()] += count - parts.sum()
    between = [a + gap * np.arange(1, n) / n for a, gap, n in zip(angles, gaps, parts, strict=True)]
    return np.concatenate([np.concatenate([s[None], _unit(more)]) for s, more in zip(known, between, strict=True)])


def _unit(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], -1)


def _velocities(slip: np.ndarray, one: Bundle) -> np.ndarray:
    return np.concatenate([slip, np.full((len(slip), 1), one.normal_velocity)], -1)


def _apart(slip: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Angle between slip and a direction, rad."""
    across, along = slip[:, 1] * direction[0] - slip[:, 0] * direction[1], slip @ direction
    return np.abs(np.arctan2(across, along))


def _counts(one: Bundle, rates: np.ndarray) -> tuple[str, bool]:
    inward, outward = int((rates <= 0).sum()), int((rates > 0).sum())
    said = one.printed
    return f"{inward} centripetal, {outward} centrifugal", (inward, outward) == (said.centripetal, said.centrifugal)


def _fig6(one: Bundle, stops: np.ndarray, around: np.ndarray, rays: Rays, flow: Flow) -> list[Finding]:
    """How many hodographs reach the origin."""
    fastest = flow.rates(_angles(one))[0].max()
    said, (words, counted) = one.printed, _counts(one, rays[1])
    degrees = np.degrees(_angles(one)[~around])
    on = np.degrees(np.arctan2(rays[0][:, 1], rays[0][:, 0]))[np.isfinite(rays[1])] % 360
    straight = ", ".join(f"{angle:.4f}" for angle in np.sort(on))
    return [
        claim(
            "JW-Fig6",
            "fig. 6",
            "hodographs that reach the origin",
            f"{said.reaching} of {said.count}; {said.centripetal} centripetal, {said.centrifugal} centrifugal",
            f"{int(stops.sum())} of {len(stops)}; {words}",
            bool(counted and stops.sum() == said.reaching),
            f"Starts are not printed: here even between the straight ones. Of {len(around)} directions a share of "
            f"{around.mean():.4f} reaches it ({said.reaching}/{said.count} is {said.reaching / said.count:.4f}), all "
            f"but those from {degrees.min():.1f} to {degrees.max():.1f} degrees.",
            "differs",
            digits=digits_of(said.reaching / said.count, around.mean()),
        ),
        claim(
            "JW-Fig6-inward",
            "5.1, fig. 6",
            "all hodographs evolve towards the origin",
            "towards the origin",
            f"slip speed changes by at most {fastest:.3f} per unit of I_z in {one.all_around} directions",
            bool(fastest < 0),
            "g of (31), which depends on the direction of slip only.",
            "differs",
        ),
        new(
            "JW-Fig6-rays", "fig. 6", "angles of the centripetal directions (deg)", straight, "The straight hodographs."
        ),
    ]


def _fig8(one: GrowingBundle, close: list[np.ndarray], rays: Rays, limit: float) -> Finding:
    """How many hodographs reach the centrifugal direction."""
    said, (words, counted) = one.printed, _counts(one, rays[1])
    within = {angle: int((close[0] <= angle).sum()) for angle in one.angles}
    exactly = int((close[0] <= limit).sum())
    near = ", ".join(f"{n} within {angle:g}" for angle, n in within.items())
    share = ", ".join(f"{(close[1] <= angle).mean():.4f} within {angle:g}" for angle in one.angles)
    limit_angle = np.quantile(close[1], said.reaching / said.count)
    return claim(
        "JW-Fig8",
        "fig. 8",
        "hodographs that reach the centrifugal direction",
        f"{said.reaching} of {said.count}; {said.centripetal} centripetal, {said.centrifugal} centrifugal",
        f"{exactly} exactly, {near} rad; {words}",
        counted and exactly == said.reaching,
        "A direction is reached only in the limit, unless slip starts on it or passes through zero; starts are not "
        f"printed. Shares of all directions that end within an angle: {share} rad; {said.reaching}/{said.count} end "
        f"within {limit_angle:.3f} rad.",
        "convention" if counted and said.reaching in within.values() else "differs",
    )


def _origin(one: GrowingBundle, stops: np.ndarray, around: np.ndarray, rays: Rays, flow: Flow) -> Finding:
    """Which hodographs of fig. 8 reach the origin."""
    inward = rays[0][rays[1] <= 0]
    turning = flow.turning(np.arctan2(inward[:, 1], inward[:, 0]))
    return claim(
        "JW-Fig8-origin",
        "5.2, fig. 8",
        "hodographs that reach the origin",
        "gamma_2, which starts on the centripetal direction, and gamma_3",
        f"{int(stops.sum())} of {len(stops)}; of {len(around)} all around {int(around.sum())}",
        bool(stops.sum() >= one.printed.through_origin),
        f"The start on the centripetal direction only: dh/da is {turning.min():+.3f} there, so that it repels, and no "
        "other start leads to the origin.",
        "differs",
    )


def _drift(before: np.ndarray, after: np.ndarray, limit: float) -> Finding:
    """Whether slip turns towards the centrifugal direction."""
    nearer = (after < before) | (after <= limit)
    return claim(
        "JW-Fig8-drift",
        "5.2, fig. 8",
        "all hodographs drift towards the centrifugal direction",
        "all the hodographs",
        f"{int(nearer.sum())} of {len(nearer)} end nearer to it than they start, or on it",
        bool(nearer.all()),
        "Starts of the figure and all around.",
        "differs",
    )


def _pictures(
    both: tuple[Bundle, GrowingBundle], lanes: list, stops: np.ndarray, close: np.ndarray, rays: list
) -> list[Picture]:
    first, limit = both[0].printed.count, both[1].drawn
    titles = [f"Friction {one.friction:g}, approach {-one.normal_velocity:g} m/s" for one in both]
    six = bundle(lanes[:first], ~stops, ("ends before slip stops", "slip stops"), rays[0], titles[0])
    labels = (f"ends within {limit:g} rad of the centrifugal direction", "ends farther from it")
    eight = bundle(lanes[first:], close <= limit, labels, rays[1], titles[1])
    return [
        Picture("fig6", six, f"Fig. 6: hodographs from unit slip; {int(stops.sum())} of {first} reach the origin."),
        Picture("fig8", eight, "Fig. 8: hodographs from unit slip; all turn towards the centrifugal direction."),
    ]
