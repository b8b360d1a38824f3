"""PyTorch: the values and gradients of JAX, by way of `torch.autograd`."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import jimpact
from jimpact import Outcome

torch = pytest.importorskip("torch")
interop = pytest.importorskip("jimpact.interop.torch")

ROUND_OFF = 1e-13  # two compilations of the same arithmetic, on numbers of order 1
COUNT = 4
COMPOSITE = {"law": "composite"}
NAMES = ("inverse_inertia", "velocity", "friction", "restitution")
EXTRA = ("static_friction", "tangential_restitution", "mixing")


def impacts(dtype: str = "float64") -> dict[str, np.ndarray]:
    """Impacts that slip, stick and reverse; the arguments that all laws share."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(COUNT, 3, 3))
    velocity = rng.normal(size=(COUNT, 3))
    velocity[:, 2] = -1 - rng.random(COUNT)
    W = root @ np.swapaxes(root, -1, -2) + np.eye(3)
    numbers = (W, velocity, rng.uniform(0.2, 0.8, COUNT), rng.uniform(0.3, 0.8, COUNT))
    return {name: a.astype(dtype) for name, a in zip(NAMES, numbers, strict=True)}


def extra(friction: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(EXTRA, (friction * 1.2, 0 * friction + 0.2, 0 * friction + 0.4), strict=True))


def tensors(given: dict[str, np.ndarray], grad: bool = True) -> dict[str, "torch.Tensor"]:
    return {name: torch.tensor(a).requires_grad_(grad) for name, a in given.items()}


def loss(impact) -> object:
    """Uses floats of all kinds, with weights that tell the lanes and axes apart."""
    lanes, axes = np.arange(1.0, COUNT + 1), np.array([1.0, -2.0, 0.5])
    if isinstance(impact.impulse, torch.Tensor):
        lanes, axes = torch.tensor(lanes, dtype=impact.impulse.dtype), torch.tensor(axes, dtype=impact.impulse.dtype)
    return (lanes * ((impact.impulse * impact.velocity * axes).sum(-1) + impact.info.kinetic_energy_change)).sum()


@pytest.mark.parametrize(
    ("options", "dtype"),
    [
        ({"law": "chatterjee_ruina", "tangential_restitution": 0.3}, "float64"),
        pytest.param({}, "float64", marks=pytest.mark.slow),
        pytest.param(COMPOSITE, "float64", marks=pytest.mark.slow),
        pytest.param({"law": "smith"}, "float32", marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_values_and_gradients_are_those_of_jax(options: dict, dtype: str) -> None:
    given = impacts(dtype)
    if options == COMPOSITE:
        given |= extra(given["friction"])
    value = lambda given: (loss(jimpact.solve(**given, **options)), jimpact.solve(**given, **options))  # noqa: E731
    (_, expected), gradient = jax.jit(jax.value_and_grad(value, has_aux=True))(given)
    found = tensors(given)
    impact = interop.solve(**found, **options)
    loss(impact).backward()
    bound = ROUND_OFF * np.finfo(dtype).eps / np.finfo(float).eps
    for name, ours, theirs in zip(_paths(), jax.tree.leaves(impact), jax.tree.leaves(expected), strict=True):
        assert str(ours.dtype).endswith(str(theirs.dtype)), name
        np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=bound, atol=bound, err_msg=f"{options} {name}")
    for name, tensor in found.items():
        scale = np.abs(gradient[name]).max()
        np.testing.assert_allclose(tensor.grad.numpy(), gradient[name], atol=10 * bound * scale, err_msg=name)


def test_gradients_agree_with_differences() -> None:
    found = tensors(impacts())

    def velocities(*arguments: "torch.Tensor") -> "torch.Tensor":
        # Differences of an inverse inertia that is not symmetric would be those of its symmetric part.
        W = 0.5 * (arguments[0] + arguments[0].mT)
        return interop.solve(W, *arguments[1:]).velocity

    assert torch.autograd.gradcheck(velocities, tuple(found.values()), eps=1e-4, atol=1e-5, rtol=1e-5)


def test_a_bad_lane_harms_no_gradient() -> None:
    given = impacts()
    clean = tensors(given)
    loss_of = lambda impact: torch.nan_to_num(impact.impulse[1:]).square().sum()  # noqa: E731
    loss_of(interop.solve(**clean)).backward()
    given["inverse_inertia"][0] = np.nan
    given["velocity"][0] = np.inf
    bad = tensors(given)
    impact = interop.solve(**bad)
    assert impact.outcome[0] == Outcome.INVALID and impact.impulse[0].isnan().all()
    impact.impulse.square().sum().backward()  # nan, and so is the weight of the bad lane
    for name, tensor in bad.items():
        assert tensor.grad.isfinite().all(), name
        torch.testing.assert_close(tensor.grad[1:], clean[name].grad[1:], rtol=0, atol=1e-12, msg=name)


def test_an_optimiser_recovers_friction() -> None:
    given = impacts()
    given["friction"] = np.full(COUNT, 0.3)
    seen = interop.solve(**tensors(given, False)).velocity
    guess = tensors(given)
    friction = torch.tensor(0.2, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([friction], max_iter=30, tolerance_change=1e-14, line_search_fn="strong_wolfe")

    def closure() -> "torch.Tensor":
        optimiser.zero_grad()
        error = (interop.solve(**(guess | {"friction": friction.expand(COUNT)})).velocity - seen).square().sum()
        error.backward()
        return error

    optimiser.step(closure)
    assert abs(friction.item() - 0.3) < 1e-6


def test_memory_is_shared_and_layout_does_not_matter() -> None:
    found = tensors(impacts(), False)
    assert interop._array(found["velocity"]).unsafe_buffer_pointer() == found["velocity"].data_ptr()
    plain = interop.solve(**found)
    assert not plain.impulse.requires_grad
    strided = {name: torch.stack([t, t + 1], -1)[..., 0] for name, t in found.items()}
    shifted = torch.cat([torch.zeros(1, dtype=torch.float64), found["velocity"].flatten()])[1:].reshape(COUNT, 3)
    assert not strided["velocity"].is_contiguous() and shifted.data_ptr() % 64
    for other in (strided, found | {"velocity": shifted}):
        torch.testing.assert_close(interop.solve(**other).impulse, plain.impulse, rtol=0, atol=0)


def test_programs_are_compiled_once() -> None:
    def run() -> None:
        loss(interop.solve(**tensors(impacts()))).backward()

    run()
    programs = (interop._forward_and_pull, interop._backward)
    before = [program._cache_size() for program in programs]
    run()
    assert [program._cache_size() for program in programs] == before


def test_numbers_take_the_dtype_of_tensors() -> None:
    single = {name: t.float() for name, t in tensors(impacts(), False).items()} | {"friction": 0.3, "restitution": 0.5}
    assert interop.solve(**single, law="smith").impulse.dtype == torch.float32
    mixed = single | {"velocity": single["velocity"].double().requires_grad_()}
    impact = interop.solve(**mixed, law="smith")
    impact.impulse.sum().backward()
    assert impact.impulse.dtype == mixed["velocity"].grad.dtype == torch.float64


def test_second_derivatives_are_refused() -> None:
    found = tensors(impacts())
    (gradient,) = torch.autograd.grad(interop.solve(**found).impulse.sum(), found["friction"], create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivatives; leave out create_graph"):
        gradient.sum().backward()


def test_overwritten_arguments_are_noticed() -> None:
    found = tensors(impacts())
    impact = interop.solve(**found)
    with torch.no_grad():
        found["velocity"].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss(impact).backward()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"velocity": lambda t: t["velocity"].int()}, TypeError, "velocity has dtype torch.int32; pass"),
        ({"velocity": lambda t: t["velocity"][:, :2]}, ValueError, r"velocity has shape \(4, 2\); pass"),
        ({"velocity": lambda t: t["velocity"].to("meta")}, ValueError, "several devices"),
        ({"friction": lambda t: "rough"}, TypeError, "friction is a str; pass a tensor or a number"),
        ({"friction": lambda t: True}, TypeError, "friction is a bool; pass a tensor or a number"),
        ({"law": lambda t: ["stronge"]}, TypeError, "pass law as to jimpact.solve"),
        ({"law": lambda t: "strong"}, ValueError, "law='strong' is unknown; pass one of"),
        ({"law": lambda t: "composite"}, ValueError, "needs tangential_restitution; pass"),
    ],
)
def test_bad_input_gets_a_sentence(change: dict, error: type[Exception], words: str) -> None:
    found = tensors(impacts(), False)
    with pytest.raises(error, match=words):
        interop.solve(**(found | {name: make(found) for name, make in change.items()}))


def test_double_precision_is_never_rounded_in_silence() -> None:
    with jax.enable_x64(False), pytest.raises(TypeError, match="would round to float32; call jax"):
        interop.solve(**tensors(impacts(), False))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import jimpact; assert 'torch' not in sys.modules", ""),
        ("sys.modules['torch'] = None; import jimpact.interop.torch", "install jimpact[torch]"),
    ],
)
def test_torch_is_loaded_only_on_request(code: str, words: str) -> None:
    run = subprocess.run([sys.executable, "-c", f"import sys; {code}"], env=os.environ, capture_output=True, text=True)
    assert (words in run.stderr) if words else run.returncode == 0, run.stderr


def _paths() -> list[str]:
    zeros = jimpact.Impact(0, 0, 0, jimpact.ImpactInfo(*range(len(jimpact.ImpactInfo._fields))))
    return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(zeros)]
