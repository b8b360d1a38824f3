"""Part "bundles": figures 6 and 8, hodographs from unit slip in many directions.

The directions of the starts are not printed. Here they are spread evenly between the invariant directions, which are
among them as in the paper.
"""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from jimpact import reproduce
from jimpact.reproduce import Computed, Grid, LabelledProgress, Result, claimed, cross, heading, only, unit

from .drawing import bundle, tracks
from .flow import flow_of
from .forms import TEXTS, Bundle, Case, ImpactsForm, said
from .hodographs import kinds

ANGLES, DRAWN = (0.001, 0.01, 0.03, 0.1), 0.03  # rad, between the last slip and the centrifugal direction; drawn
DIRECTION = 1e-9  # rad: a direction that is reached
STOPPING, REACHING = 11 / 15, 6 / 13  # printed shares, of fig. 6 at the origin and of fig. 8 on a direction


class Seen(NamedTuple):
    """One figure: invariant directions and their rates, starts of the figure and then from all around, and ends."""

    given: Bundle
    rays: np.ndarray
    rates: np.ndarray
    velocity: np.ndarray
    stops: np.ndarray  # whether slip reached zero
    slip: np.ndarray  # after the impact

    def near(self, slip: np.ndarray) -> np.ndarray:
        """Angle between slip and the centrifugal direction, rad."""
        out = self.rays[self.rates > 0][0]
        return np.abs(np.arctan2(cross(out, slip), slip @ out))


def run(config: ImpactsForm, progress: LabelledProgress) -> Result:
    case = config.icosahedron
    six, eight = _seen(case, config.fig6, progress), _seen(case, config.fig8, progress)
    near, around = np.split(eight.near(eight.slip), [config.fig8.count])
    rows = [(a, int((near <= a).sum()), f"{(around <= a).mean():.4f}") for a in ANGLES]
    columns = "angle (rad)", f"of {len(near)}", f"share of {len(around)} directions"
    grid = Grid("Fig. 8: how many of the starts end within an angle of the centrifugal direction", columns, rows)
    stops, limit = six.stops[: config.fig6.count], DRAWN
    six_figure = _figure(case, six, ~stops, ("ends before slip stops", "slip stops"))
    labels = f"ends within {limit:g} rad of the centrifugal direction", "ends farther from it"
    eight_figure = _figure(case, eight, near <= limit, labels)
    pictures = [TEXTS.picture("fig6", six_figure, stops=stops.sum(), count=len(stops))]
    pictures.append(TEXTS.picture("fig8", eight_figure))
    return Result(_fig6(case, six) | _fig8(case, eight, near, around), pictures, [grid])


def _seen(case: Case, given: Bundle, progress: LabelledProgress) -> Seen:
    directions, rates = (a[0] for a in reproduce.directions_many(case.W[None], np.array([given.friction])))
    around = np.arange(given.all_around) * 2 * np.pi / given.all_around
    slip = np.concatenate([spread(directions, given.count), unit(around)])
    velocity = np.insert(slip, 2, given.normal_velocity, axis=1)
    impact = reproduce.solve_many(case.W, velocity, given.friction, case.restitution, progress=progress)
    rays, stops = np.isfinite(rates), np.isfinite(impact.info.slip_end)
    return Seen(given, directions[rays], rates[rays], velocity, stops, np.asarray(impact.velocity)[:, :2])


def spread(directions: np.ndarray, count: int) -> np.ndarray:
    """Unit vectors: the invariant directions, and others evenly between each two that follow each other."""
    known = directions[np.isfinite(directions[:, 0])]
    known = known[np.argsort(heading(known))]
    angles = heading(known)
    gaps = np.diff(np.append(angles, angles[0] + 2 * np.pi))
    parts = np.maximum(np.round(count * gaps / (2 * np.pi)).astype(int), 1)
    parts[gaps.argmax()] += count - parts.sum()
    between = [a + gap * np.arange(1, n) / n for a, gap, n in zip(angles, gaps, parts, strict=True)]
    return np.concatenate([np.concatenate([s[None], unit(more)]) for s, more in zip(known, between, strict=True)])


def _fig6(case: Case, seen: Seen) -> dict[str, Computed]:
    """How many hodographs reach the origin."""
    stops, around = np.split(seen.stops, [seen.given.count])
    angles = heading(seen.velocity[seen.given.count :]) % (2 * np.pi)
    fastest = flow_of(case.W, seen.given.friction).rates(angles)[0].max()
    degrees, on = np.degrees(angles[~around]), np.sort(np.degrees(heading(seen.rays)) % 360)
    pieces = [f"{int(stops.sum())} of {len(stops)}", *kinds(seen.rates)]
    words: dict[str, Any] = {"reaching": pieces[0], "directions": ", ".join(pieces[1:])}
    words |= {"around": len(around), "share": around.mean()}
    holds, digits = said("bundles", "JW-Fig6") == set(pieces), reproduce.digits_of(STOPPING, around.mean())
    return {
        "JW-Fig6": claimed(holds, digits, degrees=(degrees.min(), degrees.max()), **words),
        "JW-Fig6-inward": claimed(fastest < 0, fastest=fastest, around=len(around)),
        "JW-Fig6-rays": only(", ".join(f"{angle:.4f}" for angle in on)),
    }


def _fig8(case: Case, seen: Seen, near: np.ndarray, around: np.ndarray) -> dict[str, Computed]:
    """How many hodographs reach the centrifugal direction, and which the origin."""
    before, after = seen.near(seen.velocity[:, :2]), np.concatenate([near, around])
    nearer = (after < before) | (after <= DIRECTION)
    turning = flow_of(case.W, seen.given.friction).turning(heading(seen.rays[seen.rates <= 0])).min()
    exactly, counts = int((near <= DIRECTION).sum()), kinds(seen.rates)
    words: dict[str, Any] = {
        "near": ", ".join(f"{int((near <= a).sum())} within {a:g}" for a in ANGLES),
        "shares": ", ".join(f"{(around <= a).mean():.4f} within {a:g}" for a in ANGLES),
        "directions": ", ".join(counts),
    }
    stops, others = (int(part.sum()) for part in np.split(seen.stops, [len(near)]))
    sizes = {"count": len(near), "around": len(around)}
    holds = said("bundles", "JW-Fig8") == {f"{exactly} of {len(near)}", *counts}
    return {
        "JW-Fig8": claimed(holds, exactly=exactly, limit=np.quantile(around, REACHING), **words),
        "JW-Fig8-origin": claimed(stops >= 2, stops=stops, others=others, turning=turning, **sizes),
        "JW-Fig8-drift": claimed(nearer.all(), nearer=int(nearer.sum()), count=len(nearer)),
    }


def _figure(case: Case, seen: Seen, chosen: np.ndarray, labels: tuple[str, str]) -> Figure:
    friction, velocity = seen.given.friction, seen.velocity[: seen.given.count]
    lanes = tracks(reproduce.trace_many(case.W, velocity, friction, case.restitution))
    title = f"Friction {friction:g}, approach {-seen.given.normal_velocity:g} m/s"
    return bundle(lanes, chosen, labels, case.W, friction, title)
