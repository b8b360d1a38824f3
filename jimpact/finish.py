"""The end of an impact (`closure`) as a program: what is asked for, computed once."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from jimpact.closure import (
    Choices,
    End,
    Foot,
    Glide,
    Line,
    along_line,
    close,
    foot_of,
    friction_of,
    from_foot,
    onto_line,
    plausible,
)
from jimpact.hodograph import Lane, Slide, lane_at, velocity, velocity_at
from jimpact.kernels import Half, lone_kernels, opened, own_kernel
from jimpact.parts import Smooth, elementwise
from jimpact.rays import Plane, leaving_ray, polished
from jimpact.restitution import Books, StopRule
from jimpact.rounds import LANE, OUT, operands_of, results_of, state_from
from jimpact.stages import Stage
from jimpact.types import Array, Flag, Scalar, Whole

__all__ = ["finish"]

STATE = tuple(name for name in OUT if name not in ("line", "taken"))  # what the end depends on
GIVEN = (*Plane._fields, *Lane._fields[1:], "static", *STATE)
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
    at = _there(operands)

    def chosen(at: dict[str, Array], ray: tuple[Scalar, Scalar]) -> Whole:
        choices = Choices()
        close(*_given(at), rule, lambda *_: ray, choices)
        return choices.packed()

    # What happens is decided here, once: the kernels of the results might round it one way and the other.
    ray = tuple(_ray(rule_and_trusted, go, *operands).values())
    code = own_kernel(go, chosen, at, ray)

    def numbers(at: dict[str, Array], ray: tuple[Scalar, Scalar], code: Whole) -> list[Array]:
        lane, last, static = _given(at)
        end = close(lane, last, static, rule, lambda *_: ray, Choices(code))
        good = end.finished & (end.error <= trusted)
        good &= plausible(end.ix, end.iy, end.books.impulse, end.v, static, trusted)
        values = {**end._asdict(), **end.books._asdict(), "finished": good}
        return [values[name] for name in wanted]

    return dict(zip(wanted, opened(lone_kernels(go, numbers, at, ray, code)), strict=True))


def _ray(rule_and_trusted: Any, go: Flag, *operands: Array) -> dict[str, Half]:
    """Along which slip leaves zero; nothing where it sticks."""
    at = _there(operands)
    needed = [at[name] for name in (*Plane._fields, "static")]
    x, y = lone_kernels(go, lambda *a: leaving_ray(Plane(*a[:-1]), a[-1]), *needed)
    return {"ray_x": x, "ray_y": y}


def _there(operands: Sequence[Array | None]) -> dict[str, Array]:
    return {name: a for name, a in zip(GIVEN, operands, strict=True) if a is not None}


def _given(at: Mapping[str, Any]) -> tuple[Lane, Slide, Scalar]:
    """Lane, where it is, and static friction. What is left out is not asked for."""
    there = {name: at.get(name, at["v0"]) for name in GIVEN}
    return lane_at([there[name] for name in GIVEN]), state_from(there), there["static"]


# The same in stages, to be differentiated. Numbers of a tuple have its name before their own. Velocity follows from
# impulse, before and after: so the end is gone through for fewer results.


def _named(before: str, numbers: Any) -> dict[str, Array]:
    return {f"{before}_{name}": a for name, a in numbers._asdict().items()}


def _line_at(at: Mapping[str, Any]) -> Line:
    return Line(*(at[f"line_{name}"] for name in Line._fields))


def _foot_at(at: Mapping[str, Any]) -> Foot:
    return Foot(*(at[f"foot_{name}"] for name in Foot._fields))


def _slips(at: Mapping[str, Array]) -> Flag:
    return (at["at_x"] != 0) | (at["at_y"] != 0)


def _at(_: Any, at: dict[str, Array]) -> dict[str, Array]:
    lane, last, _ = _given(at)
    return dict(zip(("at_x", "at_y", "at_v"), velocity(lane, last), strict=True))


def _line(_: Any, at: dict[str, Array]) -> dict[str, Array]:
    lane, last, _ = _given(at)
    return _named("line", onto_line(lane.plane, last, at["at_x"], at["at_y"], at["at_v"], _slips(at)))


def _along(rule_and_trusted: tuple[StopRule, float], at: dict[str, Array], choose: Choices) -> Any:
    lane, last, _ = _given(at)
    return along_line(lane, last, _line_at(at), _slips(at), rule_and_trusted[0], choose)


def _rest_code(rule_and_trusted: tuple[StopRule, float], at: dict[str, Array]) -> dict[str, Array]:
    """What happens on the line, decided once for all kernels of the next stage."""
    choices = Choices()
    _along(rule_and_trusted, at, choices)
    return {"rest_code": choices.packed()}


def _rest(rule_and_trusted: tuple[StopRule, float], at: dict[str, Array]) -> dict[str, Array]:
    rest, p, reaches = _along(rule_and_trusted, at, Choices(at["rest_code"]))
    bits = rest.stopped * 1 + rest.books.compressing * 2 + reaches * 4
    numbers = {name: a for name, a in _named("rest", rest.books).items() if name != "rest_compressing"}
    numbers |= {"rest_v": rest.v, "rest_p": p, "zero_at": rest.books.impulse}
    return {**numbers, "rest_bits": bits.astype(jnp.int32)}


def _rested(at: dict[str, Array]) -> tuple[Glide, Flag]:
    """And whether slip is zero there."""
    stopped, compressing, reaches = (at["rest_bits"] & bit > 0 for bit in (1, 2, 4))
    books = Books(compressing, *(at[f"rest_{name}"] for name in Books._fields[1:]))
    return Glide(at["rest_v"], books, stopped), reaches


def _foot(_: Any, at: dict[str, Array]) -> dict[str, Array]:
    lane, (rest, reaches) = _given(at)[0], _rested(at)
    ray = polished(lane.plane, at["ray_x"], at["ray_y"])
    foot = foot_of(lane, _line_at(at), rest, at["rest_p"], reaches, _slips(at), ray)
    return {**_named("foot", foot), "zero_ix": foot.ix, "zero_iy": foot.iy}


def _leave(rule_and_trusted: tuple[StopRule, float], at: dict[str, Array], choose: Choices) -> Any:
    return from_foot(_given(at)[0], _rested(at)[0], _foot_at(at), rule_and_trusted[0], choose)


def _end_code(rule_and_trusted: tuple[StopRule, float], at: dict[str, Array]) -> dict[str, Array]:
    """What happens after it."""
    choices = Choices()
    _leave(rule_and_trusted, at, choices)
    return {"end_code": choices.packed()}


def _end(rule_and_trusted: tuple[StopRule, float], at: dict[str, Array]) -> dict[str, Array]:
    lane, last, _ = _given(at)
    (end, p), foot = _leave(rule_and_trusted, at, Choices(at["end_code"])), _foot_at(at)
    friction = last.friction_work + friction_of(lane.plane, _line_at(at), at["rest_p"], foot, p, _slips(at))
    numbers = {name: a for name, a in end.books._asdict().items() if name != "compressing"}
    numbers |= {"ix": foot.ix - foot.tx * p, "iy": foot.iy - foot.ty * p, "friction_work": friction}
    return {**numbers, "error": jnp.zeros_like(p)}  # an estimate, without a derivative


def _after(_: Any, at: dict[str, Array]) -> dict[str, Array]:
    x, y, v = velocity_at(_given(at)[0], at["ix"], at["iy"], at["impulse"])
    return {"x": x, "y": y, "v": v}


def _kind(static: Any, name: str, operands: Sequence[Any]) -> tuple[tuple[int, ...], Any]:
    return (), jnp.bool_ if name in FLAGS else operands[0].dtype


# The other operands are needed for everything. The first end is known by the number of compressions.
SEPARATE: dict[str, Names] = {name: (name,) for name in ("friction_work", "first_end", "last_start", "last_end")}
SEPARATE |= {"compressions": ("compressions", "first_end")}
OPTIONAL = {LANE + 1 + STATE.index(name): results for name, results in SEPARATE.items()}
STAGES = [Stage(_at, False), *map(Stage, (_line, _rest_code, _rest, _foot, _end_code, _end)), Stage(_after, False)]
FINISH = elementwise("finish", _finished, FIELDS, _kind, OPTIONAL, Smooth(GIVEN, STAGES, _ray))
