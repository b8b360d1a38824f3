"""A Flax NNX module as the material of an impact: friction and restitution of a ball by its approach.

python experiments/learned/with_flax.py
"""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

import jimpact

BALL = jnp.diag(jnp.array([3.5, 3.5, 1.0]))  # inverse inertia of a solid sphere on the ground, 1 kg
NOISE = 0.02  # m/s


class Material(nnx.Module):
    """Features (n, 2) to friction and restitution (n,)."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(2, 16, rngs=rngs)
        self.second = nnx.Linear(16, 16, rngs=rngs)
        self.last = nnx.Linear(16, 2, rngs=rngs)

    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        out = self.last(nnx.tanh(self.second(nnx.tanh(self.first(features)))))
        # Starts with little friction: contacts that slip tell of it, contacts that stick do not.
        return nnx.softplus(out[:, 0] - 2), nnx.sigmoid(out[:, 1])


def features(velocity: jax.Array) -> jax.Array:
    """Logarithm of approach / (1 m/s), and minus the cosine of twice the angle from the normal."""
    slip2, approach2 = velocity[:, 0] ** 2 + velocity[:, 1] ** 2, velocity[:, 2] ** 2
    return jnp.stack([0.5 * jnp.log(approach2), (slip2 - approach2) / (slip2 + approach2)], -1)


def loss(material: Material, velocity: jax.Array, after: jax.Array) -> jax.Array:
    """Mean square of the residuals, in units of the noise."""
    friction, restitution = material(features(velocity))
    impact = jimpact.solve(BALL, velocity, friction, restitution, law="stronge")
    return jnp.mean(((after - impact.velocity) / NOISE) ** 2)


def rebounds(count: int, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Contact velocities before and after, in closed form; friction 0.2, restitution 0.8 exp(-approach / (4 m/s))."""
    approach, slip, noise = jax.random.split(key, 3)
    speed = jax.random.uniform(approach, (count, 1), minval=0.5, maxval=4.0)
    tangential, restitution = jax.random.normal(slip, (count, 2)) * speed, 0.8 * jnp.exp(-speed / 4)
    lost = 3.5 * 0.2 * (1 + restitution) * speed / jnp.linalg.norm(tangential, axis=-1, keepdims=True)
    velocity = jnp.concatenate([tangential, -speed], -1)
    after = jnp.concatenate([tangential * jnp.maximum(1 - lost, 0), restitution * speed], -1)
    return velocity, after + NOISE * jax.random.normal(noise, after.shape)


def learn(steps: int = 400, count: int = 256, rate: float = 1e-2) -> list[float]:
    """The loss before each step."""
    velocity, after = rebounds(count, jax.random.key(0))
    material = Material(nnx.Rngs(1))
    optimiser = nnx.Optimizer(material, optax.adam(rate), wrt=nnx.Param)

    @nnx.jit
    def step(material: Material, optimiser: nnx.Optimizer) -> jax.Array:
        value, slope = nnx.value_and_grad(loss)(material, velocity, after)
        optimiser.update(material, slope)
        return value

    return [float(step(material, optimiser)) for _ in range(steps)]


if __name__ == "__main__":
    history = learn()
    print(f"mean square residual in units of the noise: {history[0]:.1f} before, {history[-1]:.2f} after training")
