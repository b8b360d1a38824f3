"""The end of an impact (`closure`) as a program: what is asked for, computed once."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from jimpact.closure import Choices, End, close, plausible
from jimpact.hodograph import Lane, Slide, lane_at, velocity_at
from jimpact.numerics import lone_kernels, own_kernel, pair, unpair
from jimpact.parts import elementwise
from jimpact.rays import Plane, leaving_ray, polished
from jimpact.restitution import Books, StopRule
from jimpact.rounds import LANE, OUT, operands_of, results_of, state_from
from jimpact.types import Array, Flag, Scalar, Whole

__all__ = ["finish"]

STATE = tuple(name for name in OUT if name not in ("line", "taken"))  # what the end depends on
FLAGS = ("finished", "reaches_zero", "compressing_at_zero", "stick", "compressing")
FIELDS = (*(name for name in End._fields if name != "books"), *Books._fields)
Names = tuple[str, ...]


def finish(lane: Lane, last: Slide, static: Scalar, rule: StopRule, trusted: float) -> End:
    """`closure.close`; finished is what is also accurate to `trusted`, relative to the impulse, and plausible."""
    values = results_of(last)
    found = FINISH((rule, trusted), *operands_of(lane), static, *(values[name] for name in STATE))
    books = Books(*(found[name] for name in Books._fields))
    return End(**{name: found[name] for name in End._fields if name != "books"}, books=books)


def _finished(rule_and_trusted: tuple[StopRule, float], wanted: Names, go: Flag, *operands: Array) -> dict[str, Array]:
    rule, trusted = rule_and_trusted
    lane, last, static = _given(operands)

    def chosen(lane: Lane, last: Slide, static: Scalar, ray: tuple[Scalar, Scalar]) -> Whole:
        choices = Choices()
        close(lane, last, static, rule, lambda *_: ray, choices)
        return choices.packed()

    # What happens is decided here, once: the kernels of the results might round it one way and the other.
    ray = _ray(rule_and_trusted, go, *operands)
    code = own_kernel(go, chosen, lane, last, static, ray)

    def numbers(lane: Lane, last: Slide, static: Scalar, ray: tuple[Scalar, Scalar], code: Whole) -> list[Scalar]:
        end = close(lane, last, static, rule, lambda *_: ray, Choices(code))
        good = end.finished & (end.error <= trusted)
        good &= plausible(end.ix, end.iy, end.books.impulse, end.v, static, trusted)
        values = {**_values(end), "finished": good}
        return [values[name].astype(static.dtype) for name in wanted]

    found = dict(zip(wanted, lone_kernels(go, numbers, lane, last, static, ray, code), strict=True))
    return {name: a > 0 if name in FLAGS else a for name, a in found.items()}


def _ray(rule_and_trusted: Any, go: Flag, *operands: Array) -> tuple[Scalar, Scalar]:
    """Along which slip leaves zero; nothing where it sticks."""

    def leaving(plane: Plane, static: Scalar) -> Any:
        return pair(*leaving_ray(plane, static))

    lane, _, static = _given(operands)
    return unpair(own_kernel(go, leaving, lane.plane, static))


def _smooth(
    rule_and_trusted: tuple[StopRule, float], wanted: Names, ray: tuple[Scalar, Scalar], *operands: Array
) -> dict[str, Array]:
    """What has a derivative. Velocity follows from impulse: so the end is gone through for fewer results."""
    lane, last, static = _given(operands)
    end = close(lane, last, static, rule_and_trusted[0], lambda plane, _: polished(plane, *ray))
    x, y, v = velocity_at(lane, end.ix, end.iy, end.books.impulse)
    return _values(end._replace(x=x, y=y, v=v))


def _given(operands: Sequence[Array]) -> tuple[Lane, Slide, Scalar]:
    """Lane, where it is, and static friction. What is left out is not asked for."""
    lane = lane_at(operands)
    state = (lane.v0 if a is None else a for a in operands[LANE + 1 :])
    return lane, state_from(dict(zip(STATE, state, strict=True))), operands[LANE]


def _values(end: End) -> dict[str, Array]:
    return {**end._asdict(), **end.books._asdict()}


def _kind(static: Any, name: str, operands: Sequence[Any]) -> tuple[tuple[int, ...], Any]:
    return (), jnp.bool_ if name in FLAGS else operands[0].dtype


# The other operands are needed for everything. The first end is known by the number of compressions.
SEPARATE: dict[str, Names] = {name: (name,) for name in ("friction_work", "first_end", "last_start", "last_end")}
SEPARATE |= {"compressions": ("compressions", "first_end")}
OPTIONAL = {LANE + 1 + STATE.index(name): results for name, results in SEPARATE.items()}
FINISH = elementwise("finish", _finished, FIELDS, _kind, OPTIONAL, _smooth, _ray)
