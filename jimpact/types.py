"""Array types of signatures.

`Scalar` is one number per impact: any batch shape, written `...`. A single impact has shape ().
"""

from jaxtyping import Array, ArrayLike, Bool, Float, Int

__all__ = ["Array", "ArrayLike", "Flag", "Matrix3", "Scalar", "Vector3", "Whole"]

Scalar = Float[Array, "..."]
Vector3 = Float[Array, "... 3"]
Matrix3 = Float[Array, "... 3 3"]
Flag = Bool[Array, "..."]
Whole = Int[Array, "..."]
