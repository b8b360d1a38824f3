"""Types of signatures.

`Scalar` is one number per impact: any batch shape, written `...`. A single impact has shape ().
"""

from collections.abc import Callable, Iterable
from typing import Any

from jaxtyping import Array, ArrayLike, Bool, Float, Int

__all__ = ["Array", "ArrayLike", "Flag", "Matrix3", "Progress", "Scalar", "StaticOptions", "Vector3", "Whole"]

Scalar = Float[Array, "..."]
Vector3 = Float[Array, "... 3"]
Matrix3 = Float[Array, "... 3 3"]
Flag = Bool[Array, "..."]
Whole = Int[Array, "..."]

Progress = Callable[[Iterable[int]], Iterable[int]]  # passes steps through, and shows how many are done
StaticOptions = tuple[tuple[str, Any], ...]  # options that select a program, by name
