"""Part "pin": inverse inertia, velocity and impulse of the impact of a bowling pin and a ball (fig. 11)."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.optimize import brentq, least_squares
from scipy.spatial.transform import Rotation

import jimpact
from jimpact.config import ConfigError
from jimpact.reproduce import (
    Finding,
    Progress,
    Result,
    claim,
    digits_of,
    last_digit,
    new,
    number,
    solve_many,
    unchecked,
)

from .bodies import TIGHT, UPPER, contact_velocity, inverse_inertia, plain_inverse_inertia, upper
from .forms import ImpactsForm, Pin, values
from .solids import drilled_ball

__all__ = ["run", "stopping_velocity"]


def run(config: ImpactsForm, progress: Progress) -> Result:
    scene = config.pin
    return Result([*_ball(scene), *_inertia(scene), *_impulse(scene, config.limits.velocity)])


def _ball(scene: Pin) -> list[Finding]:
    """Centre and moments of the ball with its three holes; and why no pin has the printed moments."""
    holes = [(np.asarray(hole.bottom), hole.radius) for hole in scene.holes]
    solid = drilled_ball(scene.ball_radius, np.array([0.0, 0.0, -scene.ball_radius]), holes)
    moments = np.linalg.eigvalsh(solid.inertia(scene.body_2.mass))
    said, pin = values(scene.printed.moments_2), values(scene.printed.moments_1)
    centre, low = values(scene.printed.position_2), 100 * (1 - said / moments)
    shift = np.abs(solid.centre - centre)[:2] / np.abs(solid.centre[:2])
    apart = pin[2] - pin[1]
    return [
        number(
            "JW-ball-o2",
            "fig. 11",
            "centre of the ball (m)",
            scene.printed.position_2,
            solid.centre,
            f"Cylinders from the printed bottoms out to the surface; the print is off by {shift[0]:.1%} of the shift "
            f"by the holes in x and {shift[1]:.1%} in y.",
            "differs",
        ),
        number(
            "JW-ball-Q2",
            "fig. 11",
            "moments of the ball (kg m2)",
            scene.printed.moments_2,
            moments,
            f"The printed moments are lower by {low.min():.2f} to {low.max():.2f} %.",
            "differs",
        ),
        claim(
            "JW-pin-Q1",
            "fig. 11",
            "the pin is symmetric about its axis",
            f"symmetric about an axis; moments {', '.join(scene.printed.moments_1)}",
            f"transverse moments differ by {apart / pin[1]:.0%}",
            bool(apart <= last_digit(scene.printed.moments_1[1])),
            "A body of revolution has two equal moments. The profile of the pin is not in the text.",
            "misprint",
        ),
    ]


def _turned(scene: Pin) -> tuple[np.ndarray, np.ndarray]:
    """The printed turn of the pin about y, with the order of the printed moments that fits W best."""
    printed = upper(scene.printed.inverse_inertia)
    return min(_orders(scene), key=lambda pair: np.abs(plain_inverse_inertia(scene, *pair) - printed).max())


def _orders(scene: Pin) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rotations of pin and ball for all orders and signs of their principal axes."""
    orders = Rotation.create_group("O").as_matrix()
    turn = np.arctan(scene.tangent_of_turn)
    for sense, one, two in product((1, -1), orders, orders):
        yield Rotation.from_euler("y", sense * turn).as_matrix() @ one, two


def _inertia(scene: Pin) -> list[Finding]:
    """W with the printed turn, and with the closest rotations that fit it."""
    printed = upper(scene.printed.inverse_inertia)
    turned = _turned(scene)
    W = inverse_inertia(scene, *turned)
    words = [scene.printed.inverse_inertia[i][j] for i, j in zip(*UPPER, strict=True)]

    def rotations(x: np.ndarray) -> list[np.ndarray]:
        return [Rotation.from_rotvec(a).as_matrix() @ R for a, R in zip((x[:3], x[3:]), turned, strict=True)]

    x = least_squares(lambda x: (plain_inverse_inertia(scene, *rotations(x)) - printed)[UPPER], np.zeros(6), **TIGHT).x
    pin, ball = rotations(x)
    off = np.abs(inverse_inertia(scene, pin, ball) - printed).max()
    lean, said = np.degrees(np.arccos(abs(pin[2, 0]))), np.degrees(np.arctan(scene.tangent_of_turn))
    square = values(scene.printed.inverse_inertia)
    uneven = int((square != square.T).sum() // 2)
    return [
        claim(
            "JW-pin-W-digits",
            "6.4",
            "W of pin and ball is symmetric",
            f"{scene.printed.inverse_inertia[0][1]} / {scene.printed.inverse_inertia[1][0]}",
            f"{uneven} of 3 pairs differ",
            uneven == 0,
            f"By {np.abs(square - square.T).max():.0e}, a unit of the last digit; the upper triangle is used here.",
            "misprint",
        ),
        number(
            "JW-pin-W",
            "6.4, fig. 11",
            "W from fig. 11 (xx, xy, xz, yy, yz, zz; 1/kg)",
            words,
            W[UPPER],
            "The best over all orders of the axes and both senses of the turn; off by "
            f"{np.abs(W - printed).max():.3f}. The printed turn, moments and W do not belong together.",
            "differs",
        ),
        new(
            "JW-pin-fit",
            "6.4, fig. 11",
            "W with rotations fitted from there",
            f"off by {off:.1e}",
            f"Six angles for six numbers, so that W can be matched and nothing is confirmed. The pin then leans by "
            f"{lean:.1f} degrees (printed {said:.1f}).",
        ),
    ]


def _impulse(scene: Pin, limit: float) -> list[Finding]:
    """The velocity before that gives the printed impulse, and the impact that it starts."""
    W, printed = upper(scene.printed.inverse_inertia), values(scene.printed.impulse)
    velocity = stopping_velocity(W, printed, scene.friction, scene.restitution)
    if (off := np.abs(velocity - scene.contact_velocity).max()) > limit:
        raise ConfigError(f"pin.contact_velocity is off by {off:.1e} m/s; that of the printed impulse is {velocity}")
    every = [contact_velocity(scene, *pair) for pair in _orders(scene)]
    guess = min(every, key=lambda v: np.linalg.norm(v - velocity))
    impact = solve_many(W, np.stack([velocity, guess]), scene.friction, scene.restitution)
    exact = str(jimpact.event_sequence(impact)[0]).replace("l", "")
    ends = impact.info.slip_end[0], impact.info.compression_end[0], impact.impulse[0, 2]
    events = ", ".join(f"{letter} {at:.7f}" for letter, at in zip(exact, ends, strict=True))
    left = float(scene.table1.printed.truth_steps) * scene.table1.step_truth
    found = unchecked(
        "JW-pin-Ir",
        "6.4",
        "impulse of pin and ball (N s)",
        _vector(np.asarray(impact.impulse[1])),
        f"No check: R1, R2 and so the velocity before are not printed. Of the {len(every)} velocities by the printed "
        f"turn, in both senses, and all orders of the axes, {_vector(guess)} m/s was picked because it is closest to "
        "that of the row below.",
    )
    return [
        found._replace(printed=f"({', '.join(scene.printed.impulse)})", digits=digits_of(printed, impact.impulse[1])),
        new(
            "JW-pin-inv",
            "6.4",
            "velocity before that gives the printed impulse (m/s)",
            f"{_vector(velocity)}, sequence {exact}: {events}",
            f"By construction: three numbers from three. The steps of Table 1 end at {left:.6f}.",
        ),
    ]


def stopping_velocity(W: np.ndarray, impulse: np.ndarray, friction: float, restitution: float) -> np.ndarray:
    """The velocity before an impact that ends in stick with a given impulse."""
    slip = -(W @ impulse)[:2]

    def excess(normal: float) -> float:
        return float(solve_many(W, np.append(slip, normal)[None], friction, restitution).impulse[0, 2] - impulse[2])

    guess = -W[2, 2] * impulse[2]
    return np.append(slip, brentq(excess, 0.8 * guess, 0.2 * guess, xtol=1e-12))


def _vector(x: np.ndarray) -> str:
    return f"({', '.join(f'{value:.7g}' for value in x)})"
