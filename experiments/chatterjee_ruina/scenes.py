"""The scenes of section 6, and one program that resolves all of them.

Source: Chatterjee & Ruina 1998, equation (15) and sections 6.1, 6.4 and 6.5. Every scene has a speed of 1 m/s (or
rad/s), so that velocities after are shares of it; rods have 1 kg and 1 m.
"""

from collections.abc import Sequence as Several
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

import jimpact

from .forms import Cut, Sequence

UP, ACROSS = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
SIDEWAYS, MIDDLE = 0.4, 2.0  # of three balls: velocity of the left one (m/s), mass of the middle one over the others'
NUDGE = 1e-9  # of the speed: enough to decide which contact is first
DIRECTION = np.array([0.8, 0.5, 0.3])  # not special: ties go by the position along it
DRAWS = 48  # of random orders
CONTACTS, DIRECTIONS = 6, 12  # of a random body, and in which it can move: fewer than the components of impulse
ROUGHEST, GREATEST = 1.5, 0.9  # friction and restitution of random bodies, at most
ROD = np.array([0.5, -np.sqrt(0.75), 0.0])  # from the hinge, 60 degrees to the normal of the wall
SLENDER = np.repeat([1.0, 12.0], 3)  # what a rod's velocity and spin are per impulse

Touch = tuple[int, int | None, np.ndarray, np.ndarray]  # body a, body b or a wall, point, unit normal from b into a


class Lane(NamedTuple):
    """One scene; `hinged` if its last contact is a hinge."""

    J: np.ndarray  # (3 k, m): relative velocities at k contacts, in their frames, per U
    mobile: np.ndarray  # (m,): inverse masses (1/kg) and moments of inertia
    U: np.ndarray  # (m,): velocity (m/s) and spin (rad/s) of every body, one after another
    friction: float
    restitution: float
    tangential: float
    priority: np.ndarray | None = None
    hinged: bool = False

    @property
    def contacts(self) -> int:
        return len(self.J) // 3

    @property
    def W(self) -> np.ndarray:
        """(k, k, 3, 3): velocity at contact i per impulse at contact j (1/kg)."""
        return np.swapaxes(((self.J * self.mobile) @ self.J.T).reshape(self.contacts, 3, self.contacts, 3), 1, 2)

    @property
    def v(self) -> np.ndarray:
        return (self.J @ self.U).reshape(self.contacts, 3)

    def after(self, impulse: Any) -> np.ndarray:
        """U after impulses (k, 3)."""
        return self.U + self.mobile * (self.J.T @ np.ravel(impulse))

    def filled(self, slots: int) -> tuple[np.ndarray, ...]:
        """Places of its contacts among `slots`, the last for a hinge; and arrays with others that stand still alone."""
        places = np.append(np.arange(self.contacts - 1), slots - 1 if self.hinged else self.contacts - 1)
        W, v, priority = np.zeros((slots, slots, 3, 3)), np.zeros((slots, 3)), -np.arange(slots, dtype=float)
        W[range(slots), range(slots)] = np.eye(3)
        W[np.ix_(places, places)], v[places] = self.W, self.v
        if self.priority is not None:
            priority[places] = self.priority
        numbers = np.array([self.friction, self.restitution, self.tangential])[:, None]
        return places, W, v, *numbers, priority


def resolve(lanes: Several[Lane], cut: Cut) -> list[jimpact.Contacts]:
    """Every scene by the new law, in one program."""
    slots = 1 + max(lane.contacts for lane in lanes)
    hinge = [False] * (slots - 1) + [True]
    options: dict[str, Any] = {"law": "chatterjee_ruina", "hinge": hinge, "most": cut.most, "decay": cut.decay}
    places, *arrays = zip(*(lane.filled(slots) for lane in lanes), strict=True)
    W, v, *numbers, tangential, priority = map(np.stack, arrays)
    run = jax.jit(partial(jimpact.resolve_contacts, **options))
    result = jax.tree.map(np.asarray, run(W, v, *numbers, tangential_restitution=tangential, priority=priority))
    found = (jax.tree.map(lambda a, k=k: a[k], result) for k in range(len(lanes)))
    return [c._replace(impulse=c.impulse[own], velocity=c.velocity[own]) for c, own in zip(found, places, strict=True)]


def jacobian(centres: np.ndarray, touches: Several[Touch]) -> np.ndarray:
    """Contact velocities per velocity and spin of bodies at `centres` (b, 3)."""
    J = np.zeros((len(touches), 3, len(centres), 6))
    for row, (a, b, point, normal) in enumerate(touches):
        for body, axes in ((a, frame(normal)), (b, -frame(normal))):
            if body is not None:
                J[row, :, body] = np.concatenate([axes, np.cross(point - centres[body], axes)], -1)
    return J.reshape(3 * len(touches), -1)


def frame(normal: np.ndarray) -> np.ndarray:
    """Two tangents and the normal, as rows."""
    first = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(normal, first), normal])


def scenes(config: Sequence) -> dict[str, list[Lane]]:
    """Every scene of section 6, as lanes to resolve."""
    three, e_t = _three(config), config.material.tangential_restitution
    # A rod along x that falls flat on a table without friction: a hair faster on the left, and on the right.
    ends = jacobian(np.zeros((1, 3)), [(0, None, side * ACROSS, UP) for side in (-0.5, 0.5)])
    falls = [np.array([0, 0, -1, 0, spin, 0]) for spin in (-NUDGE, NUDGE)]
    # A free rod that touches the wall with its tip and the hinge with its other end.
    tips = jacobian(0.5 * ROD[None], [(0, None, ROD, -ACROSS), (0, None, 0 * ROD, -ACROSS)])
    turning = np.concatenate([0.5 * np.cross(UP, ROD), UP])
    # A ball between two walls, with the restitution of the material and with e = 1.
    walls: list[Touch] = [(0, None, side * config.radius * ACROSS, -side * ACROSS) for side in (-1, 1)]
    squeezed = _balls(config, np.zeros((1, 3)), ACROSS[None], walls)._replace(friction=0.0)
    rng, crowd = np.random.default_rng(4), []
    for _ in range(config.crowd):
        J, mobile = rng.normal(size=(3 * CONTACTS, DIRECTIONS)), np.ones(DIRECTIONS)
        numbers = rng.uniform(0, ROUGHEST), rng.uniform(0, GREATEST), rng.uniform(-1, 1)
        crowd.append(Lane(J, mobile, rng.normal(size=DIRECTIONS), *numbers))
    hinged = [(mu, e) for e in config.hinged for mu in config.friction]
    return {
        "single": [three[0]._replace(J=three[0].J[:3], priority=None)],
        "three": three,
        "rod": [Lane(ends, SLENDER, U, 0.0, e, 0.0) for e in config.rod for U in falls],
        "squeezed": [squeezed, squeezed._replace(restitution=1.0)],
        "crowd": crowd,
        "rack": [_rack(config, angle) for angle in np.radians(config.angle_deg)],
        "hinged": [Lane(tips, SLENDER, turning, *given, e_t, None, True) for given in hinged],
    }


def _balls(config: Sequence, centres: np.ndarray, u: np.ndarray, touches: list[Touch], shares: Any = 1.0) -> Lane:
    """Solid spheres; `shares` are their masses over that of a ball."""
    mass = config.mass * np.broadcast_to(shares, len(centres))
    mobile = np.repeat(1 / np.stack([mass, 0.4 * config.radius**2 * mass], -1), 3, axis=-1).ravel()
    m = config.material
    numbers = m.friction, m.restitution, m.tangential_restitution
    return Lane(jacobian(centres, touches), mobile, np.concatenate([u, 0 * u], -1).ravel(), *numbers)


def _three(config: Sequence) -> list[Lane]:
    """Left, middle and right ball: each order, a faster left and right ball, ties by direction, and at random."""
    right = config.radius * ACROSS
    touches: list[Touch] = [(0, 1, -right, -ACROSS), (1, 2, right, -ACROSS)]
    ties = [[1.0, 0.0], [0.0, 1.0], [0, 0], [0, 0], [-right @ DIRECTION, right @ DIRECTION]]
    ties += [*np.random.default_rng(0).uniform(size=(DRAWS, 2))]
    lanes = []
    for k, priority in enumerate(ties):
        faster = {2: NUDGE, 3: -NUDGE}.get(k, 0.0)
        u = np.array([[1 + faster, SIDEWAYS, 0], [0, 0, 0], [-1, 0, 0]])
        lane = _balls(config, np.array([-2 * right, 0 * right, 2 * right]), u, touches, [1.0, MIDDLE, 1.0])
        lanes.append(lane._replace(priority=np.asarray(priority)))
    return lanes


def _rack(config: Sequence, angle: float) -> Lane:
    """Balls on a floor in rows that touch, and a last one that arrives in the plane of their centres."""
    r = config.radius
    rows = [(np.sqrt(3) * x, 2 * y - (n - 1), 1) for x, n in enumerate(config.rows) for y in range(n)]
    last, n = rows[0] - 2 * np.array([np.cos(angle), np.sin(angle), 0]), len(rows)
    centres = r * np.array([*rows, last])
    gaps = np.linalg.norm(centres[:n, None] - centres[:n], axis=-1)
    pairs = [(i, j) for i in range(n) for j in range(i) if gaps[i, j] < 2.001 * r] + [(n, 0)]
    touches: list[Touch] = []
    for i, j in pairs:
        touches.append((i, j, 0.5 * (centres[i] + centres[j]), (centres[i] - centres[j]) / (2 * r)))
    touches += [(i, None, centre - r * UP, UP) for i, centre in enumerate(centres)]
    return _balls(config, centres, np.outer(np.arange(n + 1) == n, ACROSS), touches)
