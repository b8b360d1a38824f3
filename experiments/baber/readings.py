"""Sections 1.1 and 3.4: Mirtich's one compression beside all compressions, on random impacts that compress twice.

Mirtich follows an impact by u_z until it is zero, and from there by the work of the normal force until that is
(1 - e^2) W_1, with W_1 the work of the compression (as the paper tells it). If u_z falls to zero again before, no more
work is to be had, and the rule must be read on:

| reading   | the impact ends                                                                              |
|-----------|----------------------------------------------------------------------------------------------|
| all       | where W_d = -e^2 W_c, works of all phases (Baber)                                            |
| first     | where the work of all phases is (1 - e^2) W_1: the work of the first compression decides     |
| stopped   | at the second zero of u_z, with less work of restitution than e^2 asks for                   |

`first` is `all` with a greater restitution e', because 1 - e'^2 = (1 - e^2) W_1 / W_c.
"""

from typing import NamedTuple

import numpy as np

import jimpact
from jimpact.reproduce import Progress, directions_many, trace_many

from .crowd import Impacts, solved

__all__ = ["Readings", "effective", "readings", "turns_negative"]


class Readings(NamedTuple):
    """Impacts that compress twice, ended by the three readings; impulses (n, 3)."""

    impacts: Impacts
    all: jimpact.Impact
    first: jimpact.Impact
    stopped: np.ndarray
    restitution: np.ndarray  # e', of `first`
    first_work: np.ndarray  # W_1
    released: np.ndarray  # work of the first restitution over e^2 |W_1|


def readings(impacts: Impacts, progress: Progress) -> Readings:
    """The three ends of impacts that compress twice."""
    whole = solved(impacts, progress)
    first = np.asarray(solved(impacts, progress, 0 * impacts.restitution).info.compression_work)
    e = effective(impacts.restitution, first, np.asarray(whole.info.compression_work))
    path = trace_many(impacts.inverse_inertia, impacts.velocity, impacts.friction, impacts.restitution)
    at = np.abs(path.normal_impulse - path.events.recompression_start[:, None]).argmin(-1)
    rows = np.arange(len(at))
    released = (np.asarray(path.work)[rows, at] - first) / (impacts.restitution**2 * -first)
    return Readings(
        impacts, whole, solved(impacts, progress, e), np.asarray(path.impulse)[rows, at], e, first, released
    )


def effective(restitution: np.ndarray, first: np.ndarray, total: np.ndarray) -> np.ndarray:
    """e' with which all compressions end where the first one alone says; works of the first, and of all (<= 0)."""
    return np.sqrt(1 - (1 - restitution**2) * first / total)


def turns_negative(impacts: Impacts, impact: jimpact.Impact) -> np.ndarray:
    """Where du_z/dp_z turns from positive to negative: on the way of slip from its first to its last direction.

    Slip turns one way only, towards a ray; if it stops it has come to it.
    """
    K, mu, v = impacts.inverse_inertia, impacts.friction[:, None], impacts.velocity
    d, M = K[:, :2, 2], K[:, :2, :2]
    start = np.arctan2(v[:, 1], v[:, 0])
    s = np.stack([np.cos(start), np.sin(start)], -1)
    push = d - mu * np.einsum("nij,nj->ni", M, s)
    way = np.sign(s[:, 0] * push[:, 1] - s[:, 1] * push[:, 0])
    directions = directions_many(K, impacts.friction)[0]
    rays = np.arctan2(directions[..., 1], directions[..., 0])
    to_ray = np.nanmin((way[:, None] * (rays - start[:, None])) % (2 * np.pi), -1)
    last = np.arctan2(impact.velocity[:, 1], impact.velocity[:, 0])
    to_last = np.minimum((way * (last - start)) % (2 * np.pi), to_ray)
    reach = np.where(np.isfinite(impact.info.slip_end), to_ray, to_last)
    # k = K_33 - mu d.s is negative within `half` of the direction of d; slip must come from outside and get there.
    pull = mu[:, 0] * np.hypot(d[:, 0], d[:, 1])
    half = np.arccos(np.minimum(K[:, 2, 2] / np.maximum(pull, K[:, 2, 2]), 1))
    ahead = (way * (np.arctan2(d[:, 1], d[:, 0]) - start)) % (2 * np.pi)
    outside = (ahead > half) & (ahead < 2 * np.pi - half)
    return (pull > K[:, 2, 2]) & outside & (ahead - half < reach)
