"""Vectors in the plane of a contact, and bodies that touch at the origin with the normal along z."""

from typing import Any

import jax.numpy as jnp
import numpy as np

import jimpact

__all__ = ["UP", "body_at", "cross", "heading", "touching", "unit"]

UP = np.array([0.0, 0.0, 1.0])


def unit(angle: Any) -> np.ndarray:
    """Unit vectors (..., 2) of angles."""
    return np.stack([np.cos(angle), np.sin(angle)], -1)


def heading(vectors: Any) -> np.ndarray:
    """Angles of the first two components (rad)."""
    return np.arctan2(vectors[..., 1], vectors[..., 0])


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The third component of the product of vectors (..., 2)."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def body_at(mass: Any, inertia: np.ndarray, arm: np.ndarray) -> jimpact.Body:
    """A body at rest; `arm` goes from its centre of mass to the contact."""
    return jimpact.Body(*map(jnp.asarray, (mass, inertia, -arm, np.zeros_like(arm), np.zeros_like(arm))))


def touching(body: jimpact.Body, other: jimpact.Body | None = None) -> np.ndarray:
    """Inverse inertia of two bodies; of one on an immovable body if there is no other."""
    other = jimpact.immovable() if other is None else other
    return np.asarray(jimpact.inverse_inertia(body, other, jnp.zeros(3), jnp.asarray(UP)))
