"""The table of the pictures: file, function, what it shows, and whether it takes more than a few seconds."""

from collections.abc import Callable
from typing import NamedTuple

from matplotlib.figure import Figure

from experiments.gallery import bodies, fits, impacts


class Picture(NamedTuple):
    draw: Callable[[], Figure | str | None]  # None, with a message, where its data are missing
    caption: str
    slow: bool = False


PICTURES: dict[str, Picture] = {
    "impact.png": Picture(impacts.impact, "One impact: slip turns, stops in restitution, and sticks."),
    "hodographs.png": Picture(impacts.hodographs, "Slip of eight impacts of the same two bodies."),
    "recompression.png": Picture(impacts.recompression, "An impact that is compressed twice."),
    "invariant_directions.png": Picture(impacts.invariant_directions, "Directions of slip that do not turn."),
    "impulse_path.png": Picture(impacts.impulse_path, "The path of the impulse in space."),
    "history.png": Picture(impacts.history, "Normal velocity and work against normal impulse."),
    "impulse_space.png": Picture(impacts.impulse_space, "Impulse space of a planar impact.", True),
    "laws.png": Picture(impacts.laws, "Rebound against the angle of approach, by every law.", True),
    "gradient.png": Picture(
        impacts.gradient, "The derivative with respect to friction across the boundary of stick.", True
    ),
    "accuracy.png": Picture(impacts.accuracy, "Error of the options of accuracy.", True),
    "bouncing_box.png": Picture(bodies.bouncing_box, "A box that bounces.", True),
    "bouncing_box.html": Picture(bodies.box_page, "The same box, as an animation.", True),
    "billiard_break.png": Picture(bodies.billiard_break, "A billiard break with small changes of the aim.", True),
    "mjx_bounce.png": Picture(bodies.mjx_bounce, "A sphere in MJX.", True),
    "fit_contour.png": Picture(fits.fit_contour, "Friction and restitution, fitted to rebounds.", True),
    "fit_profiles.png": Picture(fits.fit_profiles, "Profile likelihood of both.", True),
    "fit_measured.png": Picture(fits.fit_measured, "Predicted against measured.", True),
    "learned_material.png": Picture(fits.learned_material, "Restitution as a function, learned by a network.", True),
    "cube_tosses.png": Picture(fits.cube_tosses, "Measured impacts of a cube, predicted.", True),
}
