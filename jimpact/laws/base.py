"""Arguments and result of a law, and its record in the table `LAWS`.

To add a law: a module here with a `LAW`, listed in `OTHERS` in `laws/__init__.py`; see docs/guide/add_a_law.md.

A law is one pure function of a `Given` impact. Everything is in scaled units, in which the inverse mass along the
normal and the approach speed are 1. `solve` scales the input and replaces bad lanes by harmless ones beforehand.

| letter     | meaning                                                       |
|------------|---------------------------------------------------------------|
| x, y, v    | slip (two components) and normal velocity                     |
| ix, iy, p  | tangential and normal impulse                                 |
| e, e_t     | normal and tangential restitution                             |
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jimpact.numerics import norm
from jimpact.outcome import ImpactInfo
from jimpact.slip.flow import Constants, moved
from jimpact.slip.restitution import StopRule
from jimpact.slip.state import Accuracy
from jimpact.types import Flag, Scalar, Whole

__all__ = ["Answer", "Given", "Law", "Options", "answer", "mode_of", "plausible"]


class Given(NamedTuple):
    """One valid impact that approaches, before it happens."""

    contact: Constants  # inverse inertia and kinetic friction
    x: Scalar
    y: Scalar
    v: Scalar
    e: Scalar
    static: Scalar  # coefficient of static friction
    e_t: Scalar  # 0 where the law has none
    mixing: Scalar  # 0 where the law has none


class Options(NamedTuple):
    """Options that are the same for all lanes."""

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
    inside: Flag  # whether the impact is in the domain of the law
    finished: Flag  # whether the impulse is as accurate as requested
    info: ImpactInfo


class Law(NamedTuple):
    """One law of impact."""

    name: str
    function: Callable[[Given, Options], Answer]
    reference: str
    parameters: tuple[str, ...]  # arguments of `solve` that it needs
    may_gain_energy: bool
    rule: StopRule | None = None  # the stop rule of a law that follows the slip
    rules: tuple[str, ...] = ()  # names of the stop rules that other laws accept as `rule`
    domain: str = "every impact"

    @property
    def tells_stick(self) -> bool:
        """Whether the law distinguishes stick from slip during the impact, and so uses static friction."""
        return self.rule is not None or bool(self.rules)


def answer(given: Given, ix: Scalar, iy: Scalar, p: Scalar, inside: Flag, finished: Flag, **known: Scalar) -> Answer:
    """The answer of a law: velocities and energy follow from the impulse; `known` has other fields of `info`."""
    x, y, v = moved(given.contact, given.x, given.y, given.v, ix, iy, p)
    unknown = jnp.full_like(p, jnp.nan)
    none = jnp.where(jnp.isnan(p), 0, -1).astype(jnp.int32)  # -1, sharded over devices like p
    energy = 0.5 * (ix * (given.x + x) + iy * (given.y + y) + p * (given.v + v))
    info = ImpactInfo(*(none if name in ("compressions", "mode") else unknown for name in ImpactInfo._fields))
    return Answer(ix, iy, p, x, y, v, inside, finished, info._replace(kinetic_energy_change=energy, **known))


def mode_of(slides: Flag, ends: Flag, in_compression: Flag, stick: Flag) -> Whole:
    """Sun & Baruh's case 0..6 (`diagnostics.MODES`).

    It follows from whether there was slip before, whether it ended, in compression or later, and whether zero slip then
    sticks.
    """
    case = jnp.where(in_compression, 1, 3) + jnp.where(stick, 0, 1)
    mode = jnp.where(slides, jnp.where(ends, case, 0), jnp.where(stick, 5, 6))
    return mode.astype(jnp.int32)


def plausible(ix: Scalar, iy: Scalar, p: Scalar, v: Scalar, static: Scalar, slack: float) -> Flag:
    """Whether the result is finite, pushes, does not approach and is in the friction cone, as every law requires."""
    cone = norm(ix, iy) <= static * p * (1 + slack) + slack * p
    return jnp.isfinite(ix + iy + p) & (p > 0) & (v >= -slack * (1 + p)) & cone
