"""Impacts in PyTorch: `solve` takes tensors, returns tensors, and is differentiable by `torch.autograd`.

Tensors and JAX arrays share memory (DLPack): only tensors that are not contiguous, or whose alignment JAX cannot use,
are copied. One program runs forward and stores the residuals of `jax.vjp`; another runs backward. JAX compiles both
once for each set of shapes, dtype, options and differentiated arguments.

Second derivatives raise an error: compute them in JAX. `torch.func` and `torch.compile` are not supported.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

import jimpact
from jimpact.outcome import Impact, ImpactInfo
from jimpact.types import Array, StaticOptions

try:
    import torch
except ImportError as error:
    raise ImportError("jimpact.interop.torch needs PyTorch; install jimpact[torch]") from error

__all__ = ["solve"]

STRUCTURE = jax.tree.structure(Impact(0, 0, 0, ImpactInfo(*range(len(ImpactInfo._fields)))))  # type: ignore[arg-type]


def solve(
    inverse_inertia: Float[torch.Tensor, "... 3 3"],
    velocity: Float[torch.Tensor, "... 3"],
    friction: Float[torch.Tensor, "..."] | float,
    restitution: Float[torch.Tensor, "..."] | float,
    *,
    static_friction: Float[torch.Tensor, "..."] | float | None = None,
    tangential_restitution: Float[torch.Tensor, "..."] | float | None = None,
    mixing: Float[torch.Tensor, "..."] | float | None = None,
    **options: Any,
) -> Impact:
    """`jimpact.solve` for tensors: the same arguments and options, and an `Impact` of tensors.

    Tensors are float32 or float64 and on one device. Results, and arguments that are numbers, get the widest dtype of
    the tensors. Tensors of float64 need `jax.config.update("jax_enable_x64", True)`. All arguments that are not options
    are differentiable. A lane without an answer is nan and adds zero to every gradient.
    """
    given = {
        "inverse_inertia": inverse_inertia,
        "velocity": velocity,
        "friction": friction,
        "restitution": restitution,
        "static_friction": static_friction,
        "tangential_restitution": tangential_restitution,
        "mixing": mixing,
    }
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in options.items():
        if not isinstance(value, Hashable):
            raise TypeError(f"{name}={value!r}; pass {name} as to jimpact.solve")
    static = tuple(sorted(options.items()))
    leaves = _Solve.apply(tuple(given), static, *_tensors(given))
    return jax.tree.unflatten(STRUCTURE, leaves)


class _Solve(torch.autograd.Function):
    """The leaves of an `Impact`, in order."""

    @staticmethod
    def forward(
        ctx: Any, names: tuple[str, ...], options: StaticOptions, *tensors: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        arrays = [_array(tensor) for tensor in tensors]
        wanted = tuple(name for name, needed in zip(names, ctx.needs_input_grad[2:], strict=True) if needed)
        if wanted:
            leaves, ctx.pull = _forward_and_pull(names, options, wanted, arrays)
            # The residuals may share memory with the arguments; torch checks that this is not overwritten.
            ctx.save_for_backward(*tensors)
        else:
            leaves = _forward(names, options, arrays)
        result = tuple(torch.from_dlpack(leaf) for leaf in jax.block_until_ready(leaves))
        ctx.mark_non_differentiable(*(tensor for tensor in result if not tensor.is_floating_point()))
        return result

    @staticmethod
    def backward(ctx: Any, *weights: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        # This raises an error if the residuals were overwritten, or freed by an earlier call.
        found = iter(_Gradient.apply(ctx.pull, len(ctx.saved_tensors), *ctx.saved_tensors, *weights))
        return tuple(next(found) if needed else None for needed in ctx.needs_input_grad)


class _Gradient(torch.autograd.Function):
    """The gradient as a function of all its arguments, so that torch detects that it has no derivative.

    `once_differentiable` does not suffice: it checks only the weights, and treats gradients of a plain sum as
    constants.
    """

    @staticmethod
    def forward(ctx: Any, pull: Callable[..., Any], skip: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        floats = [_array(weight) for weight in tensors[skip:] if weight.is_floating_point()]
        return tuple(torch.from_dlpack(a) for a in jax.block_until_ready(_backward(pull, floats)))

    @staticmethod
    def backward(ctx: Any, *weights: torch.Tensor) -> None:
        raise RuntimeError("the interface to torch has no second derivatives; leave out create_graph=True")


@partial(jax.jit, static_argnums=(0, 1))
def _forward(names: tuple[str, ...], options: StaticOptions, arrays: list[Array]) -> list[Array]:
    return jax.tree.leaves(jimpact.solve(**dict(zip(names, arrays, strict=True)), **dict(options)))  # type: ignore[arg-type]


@partial(jax.jit, static_argnums=(0, 1, 2))
def _forward_and_pull(
    names: tuple[str, ...], options: StaticOptions, wanted: tuple[str, ...], arrays: list[Array]
) -> tuple[list[Array], Callable[..., Any]]:
    """The leaves, and the function from weights of the floating leaves to gradients of the wanted arguments."""
    given = dict(zip(names, arrays, strict=True))

    def floats(*some: Array) -> tuple[list[Array], list[Array]]:
        leaves = _forward(names, options, [*(given | dict(zip(wanted, some, strict=True))).values()])
        return [a for a in leaves if jnp.issubdtype(a.dtype, jnp.floating)], leaves

    _, pull, leaves = jax.vjp(floats, *(given[name] for name in wanted), has_aux=True)
    return leaves, pull


@jax.jit
def _backward(pull: Callable[..., Any], weights: list[Array]) -> tuple[Array, ...]:
    return pull(weights)


def _tensors(given: dict[str, Any]) -> list[torch.Tensor]:
    """All as tensors of one floating dtype on one device; an error says what to pass."""
    tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
    for name, tensor in tensors.items():
        if tensor.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"{name} has dtype {tensor.dtype}; pass a tensor of float32 or float64")
    dtype = torch.get_default_dtype()
    if tensors:
        dtype = torch.float64 if any(t.dtype == torch.float64 for t in tensors.values()) else torch.float32
    if dtype == torch.float64 and jax.dtypes.canonicalize_dtype("float64") != "float64":
        raise TypeError(
            "the tensors are float64, which JAX would round to float32; call "
            'jax.config.update("jax_enable_x64", True) at the start of the program, or pass float32'
        )
    device = _device(tensors)
    return [_tensor(name, value, dtype, device) for name, value in given.items()]


def _tensor(name: str, value: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.to(dtype)
    try:
        if isinstance(value, bool):
            raise TypeError
        return torch.as_tensor(value, dtype=dtype, device=device)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} is a {type(value).__name__}; pass a tensor or a number") from None


def _device(tensors: dict[str, torch.Tensor]) -> torch.device:
    """The device of all tensors; JAX must support it, too."""
    devices = {tensor.device for tensor in tensors.values()} or {torch.device("cpu")}
    if len(devices) > 1:
        listed = ", ".join(f"{name} on {tensor.device}" for name, tensor in tensors.items())
        raise ValueError(f"tensors are on several devices ({listed}); pass them on one")
    (device,) = devices
    platforms = {"cpu": "cpu", "cuda": "gpu"}
    if device.type not in platforms or (device.type == "cuda" and jax.default_backend() != "gpu"):
        raise ValueError(f"the tensors are on {device}, which this JAX does not have; pass tensor.cpu()")
    return device


def _array(tensor: torch.Tensor) -> Array:
    return jnp.from_dlpack(tensor.detach().contiguous())
