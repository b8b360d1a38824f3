"""Programs without Python: they come back from bytes as they were, take batches of any size, and equal `solve`."""

import functools
import re

import cases
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from catalogue import Entry

import jimpact
from jimpact.io.export import PLATFORMS, export_solve

SIZES, LANES = (1, 7, 1000), 7
SAME = {"float32": 1e-5, "float64": 1e-12}  # relative: round-off of another program
FIELDS = ("impulse", "velocity", "outcome")
FAST = ("chatterjee_ruina",)  # to compile
# One that is a formula, one that iterates, one that follows the slip; the others are made of the same parts.
LAWS = [pytest.param(law, marks=() if law in FAST else pytest.mark.slow) for law in (*FAST, "smith", "stronge")]


@functools.cache
def program(law: str, dtype: str = "float32", gradient: bool = False) -> jax.export.Exported:
    """To bytes, and back."""
    pytest.importorskip("flatbuffers")
    return jax.export.deserialize(export_solve(law=law, dtype=dtype, gradient=gradient).serialize())


def drawn(law: str, n: int, dtype: str) -> tuple[jax.Array, ...]:
    arrays = (*cases.two_body(n)[:4], *(np.full(n, value) for value in Entry(law).parameters().values()))
    return tuple(jnp.asarray(a, dtype) for a in arrays)


@functools.partial(jax.jit, static_argnames="law")
def solved(law: str, *arrays: jax.Array) -> tuple[jax.Array, ...]:
    impact = jimpact.solve(*arrays[:4], law=law, **dict(zip(Entry(law).parameters(), arrays[4:], strict=True)))
    return tuple(getattr(impact, name) for name in FIELDS)


@functools.partial(jax.jit, static_argnames="law")
def pulled(law: str, arrays: tuple[jax.Array, ...], weights: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    return jax.vjp(lambda *a: solved(law, *a)[:2], *arrays)[1](weights)


def check(found: tuple, expected: tuple, dtype: str) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=SAME[dtype] * np.abs(b).max(initial=1))


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_is_lowered_for_all_platforms_without_custom_calls(law: str, gradient: bool) -> None:
    """But for `shape_assertion`, by which jax says that arrays of other sizes are refused."""
    found = program(law, gradient=gradient)
    assert set(found.platforms) == set(PLATFORMS) == {"cpu", "cuda", "rocm", "tpu"}
    called = re.findall(r"stablehlo.custom_call @(\w+)", found.mlir_module())
    assert set(called) <= {"shape_assertion"}


@pytest.mark.parametrize("law", LAWS)
def test_equals_solve_at_any_size(law: str) -> None:
    given = drawn(law, max(SIZES), "float32")
    expected = solved(law, *given)
    for n in SIZES:
        found = program(law).call(*(a[:n] for a in given))
        check(found, tuple(a[:n] for a in expected), "float32")


@pytest.mark.parametrize("law", LAWS)
def test_gradient_equals_that_of_solve(law: str) -> None:
    """And the values beside it are those of `solve`: in float64."""
    given, weights = drawn(law, LANES, "float64"), (jnp.full((LANES, 3), 2.0), jnp.ones((LANES, 3)))
    values, gradients = program(law, "float64", gradient=True).call(*given, *weights)
    check(values, solved(law, *given), "float64")
    check(gradients, pulled(law, given, weights), "float64")


def test_sizes_must_agree() -> None:
    W, v, mu, e, tangential = drawn("chatterjee_ruina", 7, "float32")
    with pytest.raises(ValueError, match="n"):
        program("chatterjee_ruina").call(W, v, mu, e[:5], tangential)
    with pytest.raises(ValueError, match=">= 1"):
        program("chatterjee_ruina").call(*(a[:0] for a in (W, v, mu, e, tangential)))


def test_runs_inside_other_programs() -> None:
    given = drawn("chatterjee_ruina", 7, "float32")
    impulse = jax.jit(lambda *a: 2 * program("chatterjee_ruina").call(*a)[0])(*given)
    check((impulse,), (2 * solved("chatterjee_ruina", *given)[0],), "float32")


def test_fields_of_info() -> None:
    found = export_solve(law="whittaker", platforms="cpu", fields=("kinetic_energy_change", "mode"), gradient=True)
    assert [str(a.dtype) for a in found.out_avals[:2]] == ["float32", "int32"]
    assert len(found.in_avals) == 5  # weights for the energy, none for the mode


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"law": "hertz"}, "law='hertz' is unknown; pass one of 'stronge'"),
        ({"dtype": "float16"}, "pass 'float32' or 'float64'"),
        ({"law": "smith", "accuracy": "highest"}, "accuracy='highest' is unknown"),
        ({"platforms": ("cpu", "metal")}, "platforms=cpu, metal; pass some of cpu, cuda, rocm, tpu"),
        ({"platforms": ()}, "platforms=None; pass some of"),
        ({"fields": ("impulse", "impulse")}, "each once"),
        ({"fields": "heat"}, "fields=heat; pass some of impulse, velocity, outcome"),
        ({"fields": "outcome", "gradient": True}, "have no gradient; add impulse"),
    ],
)
def test_bad_options_are_refused_with_one_sentence(options: dict, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as raised:
        export_solve(**options)
    assert "\n" not in str(raised.value)


def test_float64_needs_x64() -> None:
    with jax.enable_x64(False), pytest.raises(ValueError, match="jax_enable_x64"):
        export_solve(dtype="float64")


def test_name_is_in_the_package() -> None:
    assert jimpact.export_solve is export_solve
