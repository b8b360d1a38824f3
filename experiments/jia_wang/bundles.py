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

from .drawing import bundle, tracks
from .forms import Bundle, BundlesForm, GrowingBundle

__all__ = ["run", "spread"]


class Ends(NamedTuple):
    """What became of starts in some directions."""

    stops: np.ndarray  # whether slip reached zero
    slip: np.ndarray  # after the impact


def run(config: BundlesForm, progress: Progress) -> Result:
    W, e, both = np.asarray(config.contact.inverse_inertia), config.contact.restitution, (config.fig6, config.fig8)
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
    findings = [*_fig6(config.fig6, ends[0].stops, ends[2].stops, rays[0])]
    findings += _fig8(config.fig8, ends[1].stops, ends[3].stops, close, rays[1])
    return Result(findings, _pictures(config, lanes, ends[0].stops, close[0], rays), [_grid(config.fig8, close)])


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


def _fig6(one: Bundle, stops: np.ndarray, around: np.ndarray, rays: tuple[np.ndarray, np.ndarray]) -> list[Finding]:
    """How many hodographs reach the origin."""
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
            f"{around.mean():.4f} reaches it (printed {said.reaching / said.count:.4f}), all but those from "
            f"{degrees.min():.1f} to {degrees.max():.1f} degrees.",
            digits=digits_of(said.reaching / said.count, around.mean()),
        ),
        new(
            "JW-Fig6-rays", "fig. 6", "angles of the centripetal directions (deg)", straight, "The straight hodographs."
        ),
    ]


def _fig8(
    one: GrowingBundle, stops: np.ndarray, around: np.ndarray, close: list[np.ndarray], rays: tuple
) -> list[Finding]:
    """How many hodographs reach the centrifugal direction, and which reach the origin."""
    said, (words, counted) = one.printed, _counts(one, rays[1])
    near = ", ".join(f"{int((close[0] <= angle).sum())} within {angle:g}" for angle in one.angles)
    share = ", ".join(f"{(close[1] <= angle).mean():.4f} within {angle:g}" for angle in one.angles)
    return [
        claim(
            "JW-Fig8",
            "fig. 8",
            "hodographs that reach the centrifugal direction",
            f"{said.reaching} of {said.count}; {said.centripetal} centripetal, {said.centrifugal} centrifugal",
            f"{near} rad, none exactly but the straight ones; {words}",
            counted,
            "A direction is reached only in the limit, and starts are not printed. Shares of all directions that end "
            f"within an angle: {share} rad; the printed {said.reaching / said.count:.2f} is that of about 0.03 rad.",
            "convention",
        ),
        claim(
            "JW-Fig8-origin",
            "5.2, fig. 8",
            "hodographs that reach the origin",
            "gamma_2, which starts on the centripetal direction, and gamma_3",
            f"{int(stops.sum())} of {len(stops)}, on the centripetal direction; of {len(around)} all around "
            f"{int(around.sum())}",
            False,
            "The centripetal direction repels, so that only a start on it leads to the origin: gamma_3 cannot.",
            "differs",
        ),
    ]


def _pictures(config: BundlesForm, lanes: list, stops: np.ndarray, close: np.ndarray, rays: list) -> list[Picture]:
    first = config.fig6.printed.count
    limit = config.fig8.angles[2] if len(config.fig8.angles) > 2 else config.fig8.angles[-1]
    titles = [f"Friction {one.friction:g}, approach {-one.normal_velocity:g} m/s" for one in (config.fig6, config.fig8)]
    six = bundle(lanes[:first], ~stops, ("ends before slip stops", "slip stops"), rays[0], titles[0])
    labels = (f"ends within {limit:g} rad of the centrifugal direction", "ends farther from it")
    eight = bundle(lanes[first:], close <= limit, labels, rays[1], titles[1])
    return [
        Picture("fig6", six, f"Fig. 6: hodographs from unit slip; {int(stops.sum())} of {first} reach the origin."),
        Picture("fig8", eight, "Fig. 8: hodographs from unit slip; all turn towards the centrifugal direction."),
    ]
