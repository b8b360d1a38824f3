"""Checks of TOML files field by field; an error is one sentence.

A configuration is a `Table` of typed fields. A file holds numbers and words only; nothing in it is executed.
"""

import tomllib
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

__all__ = [
    "Angle",
    "AngleRange",
    "Approaching",
    "ConfigError",
    "FrictionRange",
    "Inertia",
    "Matrix",
    "Name",
    "Normal",
    "NotNegative",
    "Positive",
    "PositiveRange",
    "Printed",
    "Range",
    "Seed",
    "Share",
    "ShareRange",
    "Small",
    "Table",
    "Vector",
    "approaching",
    "check",
    "read",
    "read_text",
    "tables",
]

ASYMMETRY = 1e-4  # largest asymmetry relative to the largest entry: allows rounded print, but not a mistake
ADVICE = {  # by the type of a mistake in pydantic
    "missing": "missing",
    "float_type": "pass a number",
    "int_type": "pass a whole number",
    "string_type": "pass a text",
    "list_type": "pass a list",
    "too_short": "pass at least {min_length}",
    "too_long": "pass at most {max_length}",
    "model_type": "pass one table [{key}]",
    "literal_error": "pass {expected}",
    "less_than": "pass a number below {lt}",
    "less_than_equal": "pass a number of at most {le}",
    "greater_than": "pass a number above {gt}",
    "greater_than_equal": "pass a number of at least {ge}",
}
TAGS = ("moving", "fixed")  # names for pydantic of the two kinds of body, which are not in the file


class ConfigError(ValueError):
    """A configuration that cannot be used; the message is one sentence that names the file and the field."""


def _three(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 3 or any(isinstance(x, list | tuple) for x in value):
        raise ValueError("pass a list of 3 numbers")
    return tuple(value)


def _rows(value: Any) -> Any:
    rows = value if isinstance(value, list | tuple) else ()
    if len(rows) != 3 or not all(isinstance(row, list | tuple) and len(row) == 3 for row in rows):
        raise ValueError("pass a 3 x 3 matrix, as a list of 3 rows of 3 numbers")
    return tuple(tuple(row) for row in rows)


def _principal(value: Any) -> Any:
    """Three principal moments stand for a diagonal matrix."""
    if isinstance(value, list) and len(value) == 3 and not any(isinstance(x, list) for x in value):
        return tuple(tuple(x if i == j else 0.0 for j in range(3)) for i, x in enumerate(value))
    return _rows(value)


def _definite(value: tuple) -> tuple:
    m = np.asarray(value)
    if np.abs(m - m.T).max() > ASYMMETRY * np.abs(m).max() or np.linalg.eigvalsh(0.5 * (m + m.T)).min() <= 0:
        raise ValueError("the matrix must be symmetric and positive definite")
    return value


def _possible(value: tuple) -> tuple:
    a, b, c = np.linalg.eigvalsh(0.5 * (np.asarray(value) + np.asarray(value).T))
    if c > (a + b) * (1 + ASYMMETRY):
        raise ValueError("no body has this inertia: one principal moment is above the sum of the other two")
    return value


def _decimal(word: str) -> str:
    try:
        finite = Decimal(word).is_finite()
    except InvalidOperation:
        finite = False
    if not finite:
        raise ValueError('pass a number as printed, in quotes: "0.3157"')
    return word


def approaching(velocity: tuple) -> tuple:
    """Check that the last component, which is along the normal, approaches."""
    if velocity[-1] >= 0:
        raise ValueError("the bodies do not approach: the last component, along the normal, must be below 0")
    return velocity


def _range(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError("pass a range, [lowest, highest]")
    return tuple(value)


def _rising(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] > value[1]:
        raise ValueError("the range [lowest, highest] must not decrease")
    return value


def _direction(value: tuple) -> tuple:
    if not any(value):
        raise ValueError("the normal must not be zero")
    return value


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("use printable characters only")
    return value


Name = Annotated[str, AfterValidator(_printable)]
Triple = tuple[float, float, float]
Vector = Annotated[Triple, BeforeValidator(_three)]
Normal = Annotated[Triple, BeforeValidator(_three), AfterValidator(_direction)]
Matrix = Annotated[tuple[Triple, Triple, Triple], BeforeValidator(_rows), AfterValidator(_definite)]
Inertia = Annotated[
    tuple[Triple, Triple, Triple], BeforeValidator(_principal), AfterValidator(_definite), AfterValidator(_possible)
]
Approaching = Annotated[Vector, AfterValidator(approaching)]
Printed = Annotated[str, AfterValidator(_decimal)]  # as text, to keep the number of digits
Seed = Annotated[int, Field(ge=0)]
Small = Annotated[float, Field(gt=0, lt=1)]  # a tolerance, an angle in rad
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Angle = Annotated[float, Field(ge=0, lt=90)]
Range = Annotated[tuple[float, float], BeforeValidator(_range), AfterValidator(_rising)]
PositiveRange = Annotated[tuple[Positive, Positive], BeforeValidator(_range), AfterValidator(_rising)]
FrictionRange = Annotated[tuple[NotNegative, NotNegative], BeforeValidator(_range), AfterValidator(_rising)]
ShareRange = Annotated[tuple[Share, Share], BeforeValidator(_range), AfterValidator(_rising)]
AngleRange = Annotated[tuple[Angle, Angle], BeforeValidator(_range), AfterValidator(_rising)]


class Table(BaseModel):
    """No unknown keys, no text for a number, no nan or infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


Form = TypeVar("Form", bound=Table)


def read(path: str | Path, form: type[Form]) -> Form:
    """Read a TOML file of a given form, or raise ConfigError with one sentence."""
    return check(read_text(path), form, str(path))


def read_text(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file, not yet checked."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a text file in UTF-8"
        raise ConfigError(_sentence(f"{path}: cannot be read: {reason}")) from error
    return tables(text, str(path))


def tables(text: str, source: str) -> dict[str, Any]:
    """The tables of a TOML text, not yet checked."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(_sentence(f"{source}: not valid TOML: {error}")) from error


def check(data: dict[str, Any], form: type[Form], source: str) -> Form:
    """Tables as a given form; `source` names them in errors."""
    try:
        return form.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_sentence(f"{source}: {_explained(error, form)}")) from error


def _explained(error: ValidationError, form: type[BaseModel]) -> str:
    """The first mistake, in the form `field: what is wrong`."""
    mistakes = sorted(error.errors(include_url=False), key=lambda mistake: mistake["type"] != "extra_forbidden")
    first = mistakes[0]
    field = ""
    for part in first["loc"]:
        if part not in TAGS:
            field += f"[{part}]" if isinstance(part, int) else f".{part}" if field else str(part)
    if first["type"] == "extra_forbidden":
        message = f"unknown key; allowed: {', '.join(_keys(form, first['loc'][:-1]))}"
    else:
        message = ADVICE.get(first["type"], first["msg"].removeprefix("Value error, "))
        if first["type"] in ADVICE:
            message = message.format(key=first["loc"][-1], **first.get("ctx", {}))
        if first["type"] == "list_type" and isinstance(first["input"], dict):
            message = f"write [[{first['loc'][-1]}]], once for each"
    count = len(mistakes) - 1
    more = f" ({count} more {'mistake' if count == 1 else 'mistakes'})" if count else ""
    return f"{field}: {message}{more}"


def _keys(form: Any, place: tuple[int | str, ...]) -> list[str]:
    """The keys that the table at a place may have."""
    kinds = [form]
    for part in place:
        if isinstance(part, str) and part not in TAGS:
            kinds = [inner for kind in kinds if part in kind.model_fields for inner in _forms(kind, part)]
    if place and place[-1] in TAGS:
        kinds = [kind for kind in kinds if kind.__name__.lower() == place[-1]]
    return [key for kind in kinds for key in kind.model_fields]


def _forms(kind: type[BaseModel], field: str) -> list[type[BaseModel]]:
    """The tables that a field may hold, also inside lists, unions and annotations."""

    def inside(annotation: Any) -> list[type[BaseModel]]:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return [annotation]
        return [found for part in getattr(annotation, "__args__", ()) for found in inside(part)]

    return inside(kind.model_fields[field].annotation)


def _sentence(text: str) -> str:
    """Text of a file as one printable line."""
    return "".join(c if c.isprintable() else " " for c in text)
