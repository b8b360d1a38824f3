"""Part "pin": inverse inertia, velocity and impulse of the impact of a bowling pin and a ball (fig. 11)."""

from itertools import product

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from jimpact.reproduce import Computed, LabelledProgress, Result, claimed, digits_of, numbers, only, solve_many

from . import bodies
from .forms import ROWS, ImpactsForm, Pin
from .solids import drilled_ball

ALIKE = 1e-6  # kg m2: a unit of the last digit of the printed moments of the pin


def run(config: ImpactsForm, progress: LabelledProgress) -> Result:
    """Centre and moments of the ball with its three holes; why no pin has the printed moments; and the impact.

    The velocity before is the one that gives the printed impulse.
    """
    scene, rows = config.pin, ROWS["pin"]
    holes = [(np.asarray(hole.bottom), hole.radius) for hole in scene.holes]
    solid = drilled_ball(scene.ball_radius, np.array([0.0, 0.0, -scene.ball_radius]), holes)
    moments = np.linalg.eigvalsh(solid.inertia(scene.body_2.mass))
    low = 100 * (1 - rows["JW-ball-Q2"].numbers / moments)
    shift = np.abs(solid.centre - rows["JW-ball-o2"].numbers)[:2] / np.abs(solid.centre[:2])
    _, middle, most = scene.body_1.moments

    velocity = bodies.stopping_velocity(scene)
    bodies.same_velocity("pin", scene, velocity)
    every = [bodies.contact_velocity(scene, *pair) for pair in _orders(scene)]
    guess = min(every, key=lambda v: np.linalg.norm(v - velocity))
    impact = solve_many(scene.W, np.stack([velocity, guess]), scene.friction, scene.restitution)
    (exact, ends), digits = bodies.events_of(impact), digits_of(scene.impulse, impact.impulse[1])
    found = {
        "JW-pin-Ir": only("", digits, impulse=impact.impulse[1], count=len(every), guess=guess),
        "JW-pin-inv": only(v=velocity, exact=exact, ends=ends, left=scene.table1.end),
        "JW-ball-o2": numbers(solid.centre, shift=shift),
        "JW-ball-Q2": numbers(moments, least=low.min(), most=low.max()),
        "JW-pin-Q1": claimed(most - middle <= ALIKE, share=most / middle - 1),
    }
    return Result(found | _inertia(scene))


def _orders(scene: Pin) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rotations of pin and ball for all orders and signs of their principal axes, both senses of the printed turn."""
    orders, turn = Rotation.create_group("O").as_matrix(), np.arctan(scene.tangent_of_turn)
    turns = Rotation.from_euler("y", [[turn], [-turn]]).as_matrix()
    return [(R @ one, two) for R, one, two in product(turns, orders, orders)]


def _inertia(scene: Pin) -> dict[str, Computed]:
    """W with the printed turn, and with the closest rotations that fit it."""

    def apart(rotations: tuple[np.ndarray, ...]) -> np.ndarray:
        return (bodies.plain_inverse_inertia(scene, *rotations) - scene.W)[bodies.UPPER]

    def rotated(x: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(Rotation.from_rotvec(a).as_matrix() @ R for a, R in zip((x[:3], x[3:]), turned, strict=True))

    turned = min(_orders(scene), key=lambda pair: np.abs(apart(pair)).max())
    fitted = rotated(least_squares(lambda x: apart(rotated(x)), np.zeros(6), **bodies.TIGHT).x)
    W, close = (bodies.inverse_inertia(scene, *pair) for pair in (turned, fitted))
    lean, turn = np.degrees(np.arccos(abs(fitted[0][2, 0]))), np.degrees(np.arctan(scene.tangent_of_turn))
    square = np.asarray(scene.inverse_inertia)
    uneven, gap = int((square != square.T).sum() // 2), np.abs(square - square.T).max()
    return {
        "JW-pin-W-digits": claimed(uneven == 0, uneven=uneven, gap=gap),
        "JW-pin-W": numbers(W[bodies.UPPER], off=np.abs(W - scene.W).max()),
        "JW-pin-fit": only(off=np.abs(close - scene.W).max(), lean=lean, said=turn),
    }
