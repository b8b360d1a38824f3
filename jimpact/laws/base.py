"""What every law takes and gives, and what the table of laws says about each of them.

A law is one pure function of a `Given` impact. Everything is in scaled units, in which the inverse mass along the
normal and the approach speed are 1; the front door scales, and makes every lane harmless beforehand.

| letter     | meaning                                                       |
|------------|---------------------------------------------------------------|
| x, y, v    | sliding velocity and normal velocity                          |
| ix, iy, p  | tangential and normal impulse                                 |
| e, e_t     | normal and tangential restitution                             |
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.numerics import norm
from jimpact.plane import Plane, moved
from jimpact.restitution import StopRule
from jimpact.slip.lane import Accuracy
from jimpact.state import ImpactInfo
from jimpact.types import Flag, Scalar

__all__ = ["Answer", "Given", "Law", "Options", "answer", "plausible"]


class Given(NamedTuple):
    """One impact before it happens: valid, and approaching."""

    plane: Plane  # inverse inertia and kinetic friction
    x: Scalar
    y: Scalar
    v: Scalar
    e: Scalar
    static: Scalar  # coefficient of static friction
    e_t: Scalar  # 0 where the law has none
    mixing: Scalar  # 0 where the law has none


class Options(NamedTuple):
    """What is the same for all lanes."""

    rule: StopRule
    accuracy: Accuracy


class Answer(NamedTuple):
    """One impact after it happened."""

    ix: Scalar
    iy: Scalar
    p: Scalar
    x: Scalar
    y: Scalar
    v: Scalar
    inside: Flag  # within the domain of the law
    finished: Flag  # as accurate as asked for
    info: ImpactInfo


class Law(NamedTuple):
    """One law of impact."""

    name: str
    function: Callable[[Given, Options], Answer]
    reference: str
    parameters: tuple[str, ...]  # arguments of `solve` that it needs
    may_gain_energy: bool
    rule: StopRule | None = None  # of a law that follows the slip
    rules: tuple[str, ...] = ()  # names of the rules to choose from, of a law that leaves it open
    domain: str = "every impact"

    @property
    def tells_stick(self) -> bool:
        """Whether it tells stick from slip during the impact, and so has a static friction."""
        return self.rule is not None or bool(self.rules)


def answer(given: Given, ix: Scalar, iy: Scalar, p: Scalar, inside: Flag, finished: Flag, **known: Scalar) -> Answer:
    """The answer of an algebraic law: velocities follow from the impulse; of `info`, only what is `known`."""
    x, y, v = moved(given.plane, given.x, given.y, given.v, ix, iy, p)
    unknown = jnp.full_like(p, jnp.nan)
    none = jnp.where(jnp.isnan(p), 0, -1).astype(jnp.int32)  # -1, but spread over devices like p
    energy = 0.5 * (ix * (given.x + x) + iy * (given.y + y) + p * (given.v + v))
    info = ImpactInfo(*(none if name in ("compressions", "mode") else unknown for name in ImpactInfo._fields))
    return Answer(ix, iy, p, x, y, v, inside, finished, info._replace(kinetic_energy_change=energy, **known))


def plausible(ix: Scalar, iy: Scalar, p: Scalar, v: Scalar, static: Scalar, slack: float) -> Flag:
    """Finite, pushing, not approaching, and within the friction cone: what every law promises."""
    cone = norm(ix, iy) <= static * p * (1 + slack) + slack * p
    return jnp.isfinite(ix + iy + p) & (p > 0) & (v >= -slack * (1 + p)) & cone
