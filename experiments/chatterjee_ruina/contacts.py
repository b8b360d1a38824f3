"""Scenes with several contacts: their coupling in NumPy, and one program that resolves all of them.

Source: Chatterjee & Ruina 1998, equation (15) and section 6.4.

| symbol  | meaning                                                          | shape        | unit        |
|---------|------------------------------------------------------------------|--------------|-------------|
| U       | velocity and spin of every body, one after another               | (m,)         | m/s, rad/s  |
| J       | relative velocities at the contacts, in their frames, per U      | (3 k, m)     | 1, m        |
| mobile  | inverse masses and moments of inertia                            | (m,)         | 1/kg, ...   |
| W       | velocity at contact i per impulse at contact j                   | (k, k, 3, 3) | 1/kg        |
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jimpact

from .baselines import NORMAL, collrule
from .sequence_forms import Cut, Material

__all__ = ["Lane", "Touch", "in_sequence", "jacobian", "resolve"]

LANES = 32  # scenes that are resolved together

Touch = tuple[int, int | None, np.ndarray, np.ndarray]  # body a, body b or a wall, point, unit normal from b into a


class Lane(NamedTuple):
    """One scene; `hinged` if its last contact is a hinge."""

    J: np.ndarray
    mobile: np.ndarray
    U: np.ndarray
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
        return np.swapaxes(((self.J * self.mobile) @ self.J.T).reshape(self.contacts, 3, self.contacts, 3), 1, 2)

    @property
    def v(self) -> np.ndarray:
        return (self.J @ self.U).reshape(self.contacts, 3)

    def after(self, impulse: Any) -> np.ndarray:
        """U after impulses (k, 3)."""
        return self.U + self.mobile * (self.J.T @ np.ravel(impulse))


def jacobian(centres: np.ndarray, touches: Sequence[Touch]) -> np.ndarray:
    """Contact velocities per velocity and spin of bodies at `centres` (b, 3)."""
    J = np.zeros((len(touches), 3, len(centres), 6))
    for row, (a, b, point, normal) in enumerate(touches):
        for body, sign in ((a, 1), (b, -1)):
            if body is not None:
                J[row, :, body, :3] = sign * _frame(normal)
                J[row, :, body, 3:] = sign * np.cross(point - centres[body], _frame(normal))
    return J.reshape(3 * len(touches), -1)


def _frame(normal: np.ndarray) -> np.ndarray:
    """Two tangents and the normal, as rows."""
    first = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(normal, first), normal])


def resolve(lanes: Sequence[Lane], cut: Cut) -> list[jimpact.Contacts]:
    """Every scene by the new law, in one program: scenes are filled up with contacts that stand still by themselves."""
    slots = 1 + max(lane.contacts for lane in lanes)
    hinge = [False] * (slots - 1) + [True]
    options: dict[str, Any] = {"law": "chatterjee_ruina", "hinge": hinge, "most": cut.most, "decay": cut.decay}
    run = jax.jit(partial(jimpact.resolve_contacts, **options))
    found: list[jimpact.Contacts] = []
    for start in range(0, len(lanes), LANES):
        few = [lanes[min(k, len(lanes) - 1)] for k in range(start, start + LANES)]
        arrays = (jnp.asarray(np.stack(a)) for a in zip(*(_filled(lane, slots) for lane in few), strict=True))
        W, v, friction, restitution, tangential, priority = arrays
        result = run(W, v, friction, restitution, tangential_restitution=tangential, priority=priority)
        result = jax.tree.map(np.asarray, result)
        found += [jax.tree.map(lambda a, k=k: a[k], result) for k in range(LANES)]
    return [_own(lane, contacts, slots) for lane, contacts in zip(lanes, found[: len(lanes)], strict=True)]


def _places(lane: Lane, slots: int) -> np.ndarray:
    places = np.arange(lane.contacts)
    return np.append(places[:-1], slots - 1) if lane.hinged else places


def _filled(lane: Lane, slots: int) -> tuple[np.ndarray, ...]:
    places = _places(lane, slots)
    W, v, priority = np.zeros((slots, slots, 3, 3)), np.zeros((slots, 3)), -np.arange(slots, dtype=float)
    W[range(slots), range(slots)] = np.eye(3)
    W[np.ix_(places, places)], v[places] = lane.W, lane.v
    if lane.priority is not None:
        priority[places] = lane.priority
    return W, v, *(np.array([x]) for x in (lane.friction, lane.restitution, lane.tangential)), priority


def _own(lane: Lane, contacts: jimpact.Contacts, slots: int) -> jimpact.Contacts:
    places = _places(lane, slots)
    return contacts._replace(impulse=contacts.impulse[places], velocity=contacts.velocity[places])


def in_sequence(
    W: np.ndarray, v: np.ndarray, material: Material, decay: float, most: int
) -> tuple[np.ndarray, list[float]]:
    """Velocities after at all contacts, and the energy of approach before each impact, by the paper's listing."""
    normal = np.einsum("iijj->ij", W)[:, 2]
    M = np.linalg.inv(np.einsum("iijk->ijk", W))
    numbers = [np.asarray(x) for x in (material.friction, material.restitution, material.tangential_restitution)]
    energy = [0.5 * float((np.minimum(v[:, 2], 0) ** 2 / normal).sum())]
    while energy[-1] > decay * energy[0] and len(energy) <= most:
        first = int(v[:, 2].argmin())
        v = v + W[:, first] @ collrule(M[first], v[first], NORMAL, *numbers)
        energy.append(0.5 * float((np.minimum(v[:, 2], 0) ** 2 / normal).sum()))
    return v, energy
