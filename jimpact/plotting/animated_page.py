"""A run as a self-contained HTML page with an animation that can be rotated, slowed down and stopped."""

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import jax
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from jimpact.geometry.rotation import Motion
from jimpact.geometry.shapes import Ellipsoid, Planes, Sphere
from jimpact.output.html import page, plain, text
from jimpact.simulation.body_planes import BodyAndPlanes
from jimpact.simulation.free_motion import Solid
from jimpact.simulation.run import REASONS, Ending, Run, motion_at

__all__ = ["animation"]

FRAMES = 120  # per second of the run
MOST_FRAMES = 6000
LINES = np.linspace(-0.9, 0.9, 10)
BALL = 400  # points on a round shape
ROUNDED = 40  # points on each rounded corner
STYLE = """
body { max-width: none; margin: 0; padding: 0; overflow: hidden }
canvas { display: block; width: 100vw; height: 100vh; cursor: grab; touch-action: none }
header, footer { position: fixed; left: 0; right: 0; padding: 0.7rem 1.2rem }
header { top: 0 } h1 { margin: 0; font-size: 1.2rem } header p { margin: 0; color: #51606f }
footer { bottom: 0; display: flex; flex-wrap: wrap; gap: 0.3rem 0.8rem; align-items: center }
#time { flex: 1; min-width: 6rem } #clock { white-space: nowrap }
"""
CONTROLS = """<footer><button id=play>Pause</button>
<select id=pace><option value=1>real time</option><option value=0.3 selected>slow</option>
<option value=0.1>slower</option></select>
<input id=time type=range min=0 max=1 step=0.001 value=0><span id=clock></span></footer>"""


def animation(run: Run, *, title: str = "A run", lane: tuple[int, ...] | int = ()) -> str:
    """A self-contained HTML page that shows one run; of a batch, `lane` says which."""
    one = jax.tree.map(lambda a: np.asarray(a)[lane], run)
    if np.ndim(one.time):
        raise ValueError(f"the run is a batch of shape {np.shape(one.time)}; pass lane= the index of one of its runs")
    if not np.isfinite(one.time):
        raise ValueError(f"the run ended {Ending(int(one.ending)).name}: there is nothing to show")
    scene = json.dumps(plain(_scene(one)), allow_nan=False).replace("<", "\\u003c")
    script = resources.files("jimpact").joinpath("data/animation.js").read_text(encoding="utf-8")
    ending = f"{int(one.impacts)} impacts in {float(one.time):.3g} s: {REASONS[Ending(int(one.ending))]}"
    head = f"<header><h1>{text(title)}</h1><p>{text(ending)}</p></header>"
    body = [head, "<canvas id=view></canvas>", CONTROLS, f"<script>const scene = {scene};\n{script}</script>"]
    return page(title, body, STYLE)


def _scene(run: Run) -> dict[str, Any]:
    """Data of the page."""
    duration = max(float(run.time), 1e-3)
    frames = min(max(int(duration * FRAMES), 2), MOST_FRAMES)
    times = np.linspace(0, duration, frames + 1)
    motion = motion_at(run, np.minimum(times, run.time))
    solids = [run.world.solid] if isinstance(run.world, BodyAndPlanes) else [run.world.solid_a, run.world.solid_b]
    motions = [motion] if isinstance(run.world, BodyAndPlanes) else list(motion)
    places = np.concatenate([np.asarray(m.position) for m in motions])
    reach = max(np.abs(_surface(solid)).max() for solid in solids)
    low, high = places.min(0) - reach, places.max(0) + reach
    gravity = np.asarray(run.world.gravity)
    up = -gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, 1.0])
    size = max(float(np.linalg.norm(high - low)) / 2, 4 * reach)  # half size of the picture, m
    planes = _planes(run.world.planes, 0.5 * (low + high), size) if isinstance(run.world, BodyAndPlanes) else []
    there = np.isfinite(run.bounces.time)
    hits = [{"time": t, "point": p} for t, p in zip(run.bounces.time[there], run.bounces.point[there], strict=True)]
    return {
        "times": times,
        "step": duration / frames,
        "duration": duration,
        "up": up,
        "centre": 0.5 * (low + high),
        "size": size,
        "bodies": [_body(solid, m) for solid, m in zip(solids, motions, strict=True)],
        "planes": planes,
        "hits": hits,
    }


def _body(solid: Solid, motion: Motion) -> dict[str, Any]:
    points = _surface(solid)
    try:
        hull = ConvexHull(points)
    except QhullError:  # flat, or a line
        hull = ConvexHull(points + 1e-3 * np.abs(points).max() * _directions(len(points)))
    normals = hull.equations[:, :3]
    main = np.argmax(np.abs(normals), -1)
    colours = 2 * main + (np.take_along_axis(normals, main[:, None], 1)[:, 0] > 0)
    fields = {"points": hull.points, "faces": hull.simplices, "normals": normals, "colours": colours}
    return {**fields, "position": np.round(motion.position, 6), "orientation": np.round(motion.orientation, 6)}


def _surface(solid: Solid) -> np.ndarray:
    """Points on the surface, body axes."""
    shape = solid.shape
    if isinstance(shape, Sphere):
        return np.asarray(shape.radius) * _directions(BALL)
    if isinstance(shape, Ellipsoid):
        return np.asarray(shape.semi_axes) * _directions(BALL)
    points, radius = np.asarray(shape.points), float(shape.radius)
    if not radius:
        return points
    return (points[:, None] + radius * _directions(ROUNDED if len(points) > 1 else BALL)).reshape(-1, 3)


def _directions(n: int) -> np.ndarray:
    """Points on a spiral over the unit sphere."""
    z = 1 - (2 * np.arange(n) + 1) / n
    angle = np.pi * (3 - np.sqrt(5)) * np.arange(n)
    return np.stack([np.sqrt(1 - z * z) * np.cos(angle), np.sqrt(1 - z * z) * np.sin(angle), z], -1)


def _planes(planes: Planes, centre: np.ndarray, size: float) -> list[dict[str, Any]]:
    """A square of each plane near the shown region."""
    found = []
    for normal, offset in zip(np.asarray(planes.normal), np.asarray(planes.offset), strict=True):
        foot = centre - (centre @ normal - offset) * normal
        if np.linalg.norm(foot - centre) > 1.5 * size:
            continue
        first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        first /= np.linalg.norm(first)
        second = np.cross(normal, first)
        corners = [foot + size * (a * first + b * second) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        grid = [foot + size * (x * first + y * second) for k in LINES for x, y in ((k, -1), (k, 1), (-1, k), (1, k))]
        lines = [_clipped(pair, planes) for pair in zip(grid[::2], grid[1::2], strict=True)]
        found.append({"normal": normal, "offset": float(offset), "corners": _clipped(corners, planes), "lines": lines})
    return [plane for plane in found if len(plane["corners"]) > 2]


def _clipped(points: Sequence[np.ndarray], planes: Planes) -> list[np.ndarray]:
    """The part of a polygon, or of a line, on the free side of all planes."""
    for normal, offset in zip(np.asarray(planes.normal), np.asarray(planes.offset), strict=True):
        kept, closed = [], points if len(points) > 2 else points[:-1]
        for i, here in enumerate(points):
            there = points[(i + 1) % len(points)]
            a, b = (p @ normal - offset + 1e-9 for p in (here, there))
            if a >= 0:
                kept.append(here)
            if a * b < 0 and i < len(closed):
                kept.append(here + a / (a - b) * (there - here))
        points = kept
    return list(points)
