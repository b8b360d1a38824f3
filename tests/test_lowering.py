"""The program runs on any backend: no custom calls, and nothing computed that is not used."""

import cases
import jax
import jax.export
import jax.numpy as jnp
import pytest

import jimpact

PLATFORMS = ["cuda", "rocm", "tpu"]
SHAPES = [jax.ShapeDtypeStruct(s, jnp.float32) for s in ((8, 3, 3), (8, 3), (8,), (8,))]


def impulse(law):
    return lambda W, v, mu, e: jimpact.solve(W, v, mu, e, law=law).impulse


def text(f):
    module = jax.export.export(jax.jit(f), platforms=PLATFORMS)(*SHAPES).mlir_module()
    assert "while" in module  # it is the program
    return module


def no_custom_call(module, law):
    lines = [line.strip() for line in module.splitlines() if "stablehlo.custom_call" in line]
    assert not lines, f"{law}: {lines[:3]}"


@pytest.mark.parametrize("law", cases.LAWS)
def test_impulse_has_no_custom_call(law):
    no_custom_call(text(impulse(law)), law)


def test_info_has_no_custom_call():
    no_custom_call(text(lambda *a: jimpact.solve(*a)), "stronge")


@pytest.mark.parametrize("law", ["stronge", *(pytest.param(n, marks=pytest.mark.slow) for n in ("poisson", "newton"))])
def test_gradient_has_no_custom_call(law):
    no_custom_call(text(jax.grad(lambda *a: impulse(law)(*a).sum(), argnums=(0, 1, 2, 3))), law)


@pytest.mark.slow
def test_unused_info_costs_nothing():
    """Operations of the compiled program: fewer for the impulse alone."""
    flops = [
        jax.jit(f).lower(*SHAPES).compile().cost_analysis()["flops"]
        for f in (impulse("stronge"), lambda *a: jimpact.solve(*a))
    ]
    assert flops[0] < 0.9 * flops[1], flops
