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


@pytest.mark.parametrize("law", cases.ONE)
def test_program_has_no_custom_call(law):
    """Impulse, velocity, outcome, info, and the gradient of the impulse."""

    def loss(*a):
        impact = jimpact.solve(*a, law=law)
        return impact.impulse.sum(), impact

    f = jax.value_and_grad(loss, argnums=(0, 1, 2, 3), has_aux=True)
    module = jax.export.export(jax.jit(f), platforms=PLATFORMS)(*SHAPES).mlir_module()
    assert "while" in module  # it is the program
    lines = [line.strip() for line in module.splitlines() if "stablehlo.custom_call" in line]
    assert not lines, lines[:3]


@pytest.mark.slow
def test_unused_info_costs_nothing():
    """Operations of the compiled program: fewer for the impulse alone. A fusion would count some of them twice."""
    options = {"xla_backend_optimization_level": "0", "xla_disable_hlo_passes": "fusion"}
    flops = [
        jax.jit(f).lower(*SHAPES).compile(compiler_options=options).cost_analysis()["flops"]
        for f in (impulse("stronge"), lambda *a: jimpact.solve(*a))
    ]
    assert flops[0] < 0.9 * flops[1], flops
