"""Rebounds from a CSV file: one row per impact, a header with the columns below, SI units.

There are three kinds of file, distinguished by their columns; `_after` marks observations:

* a body against the ground, world axes with z up: mass, inertia (or Ixx Iyy Izz, and Ixy Ixz Iyz), rx ry rz,
  vx vy vz wx wy wz, and vx_after .. wz_after; nx ny nz where the normal is not +z;
* a body in the plane, x along the ground and y up: mass, inertia, rx ry, vx vy w, and vx_after vy_after w_after;
* contact velocities, contact frame with z the normal: Wxx Wyy Wzz Wxy Wxz Wyz, ux uy uz, and ux_after uy_after
  uz_after.

r is the contact point minus the centre of mass (m), v the velocity of the centre of mass (m/s), w the angular velocity
(rad/s), I the inertia about the centre of mass (kg m^2), W the inverse inertia (1/kg). Inertia is in world axes, or in
body axes if there are qw qx qy qz, the rotation from body to world. Optional columns are group (a word or number per
row), and the standard deviation of the noise of each observation, noise_vx and so on. The noise is estimated if the
cell is empty or the column missing. An empty cell of an observation means that the channel was not measured.

A number that is the same for all rows may be passed as a constant instead of a column.
"""

import csv
import math
import os
from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np

from jimpact.contact.body import Body, immovable
from jimpact.identify.rebounds import TWIST, Rebounds

__all__ = ["TableError", "load_rebounds"]

PLANE, CONTACT = ("vx", "vy", "w"), ("ux", "uy", "uz")
TENSOR = ("xx", "yy", "zz", "xy", "xz", "yz")
QUATERNION = ("qw", "qx", "qy", "qz")
NORMAL = ("nx", "ny", "nz")
COLUMNS = {"mass", "inertia", "rx", "ry", "rz", *QUATERNION, *NORMAL, *(f"{a}{b}" for a in "IW" for b in TENSOR)}
COLUMNS |= {f"{a}{c}{b}" for c in (*TWIST, *PLANE, *CONTACT) for a, b in (("", ""), ("", "_after"), ("noise_", ""))}
UNIT = 1e-3  # largest error of the length of a quaternion or a normal


class TableError(ValueError):
    """A file that cannot be used; the message names the place and says what to put there."""


def load_rebounds(path: str | os.PathLike[str], **constants: float) -> Rebounds:
    """Read rebounds from a CSV file; `constants` stand for columns that are the same in every row, such as mass=0.2."""
    table = _Table(path, constants)
    if table.has("ux"):
        return _contacts(table)
    return _bodies(table) if table.has("vz") else _planes(table)


class _Table:
    """Columns of numbers by name, with their checks."""

    def __init__(self, path: str | os.PathLike[str], constants: Mapping[str, float]) -> None:
        self.path = str(path)
        try:
            with open(path, newline="", encoding="utf-8-sig") as file:
                lines = [(number, row) for number, row in enumerate(csv.reader(file), 1) if any(c.strip() for c in row)]
        except OSError as error:
            raise TableError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise TableError(f"{path}: is not UTF-8 text; pass a CSV file") from None
        except csv.Error as error:
            raise TableError(f"{path}: is not CSV: {error}") from None
        lines = [(number, row) for number, row in lines if not row[0].lstrip().startswith("#")]
        if len(lines) < 2:
            raise TableError(f"{path}: has no rows; pass a header and one row per impact")
        self.header = [name.strip() for name in lines[0][1]]
        twice = {name for name in self.header if name and self.header.count(name) > 1}
        if twice:
            raise TableError(f"{path}: column {sorted(twice)[0]} appears twice; keep one")
        for name in self.header:
            meant = [known for known in (*sorted(COLUMNS), "group") if known.lower() == name.lower()]
            if meant and name not in meant and not set(meant) & set(self.header):
                raise TableError(f"{path}: column {name} is not known; write it as {meant[0]}")
        self.lines = lines[1:]
        for number, row in self.lines:
            if len(row) != len(self.header):
                raise TableError(
                    f"{path}: row {number} has {len(row)} cells; pass {len(self.header)}, as in the header"
                )
        self.constants = dict(constants)
        for name, value in self.constants.items():
            noise = name.startswith("noise_")
            if isinstance(value, bool) or not isinstance(value, int | float) or not (noise or math.isfinite(value)):
                raise TableError(f"{path}: constant {name}={value!r} is not a number; pass a finite number")
            if name not in COLUMNS:
                raise TableError(f"{path}: constant {name} is not a column; pass one of {', '.join(sorted(COLUMNS))}")
        if len(self.header) == 1 and ";" in self.header[0]:
            raise TableError(f"{path}: cells are separated by semicolons; separate them by commas")
        for set_ in (QUATERNION, NORMAL):
            there = [name for name in set_ if self.has(name)]
            if there and len(there) < len(set_):
                raise TableError(
                    f"{path}: column {next(n for n in set_ if n not in there)} is missing beside {there[0]}"
                )

    def has(self, name: str) -> bool:
        return name in self.header or name in self.constants

    def numbers(self, name: str, empty: float | None = None, infinite: bool = False) -> np.ndarray:
        """A column; `empty` is the value of an empty cell, which is an error without it."""
        if name in self.constants:
            return np.full(len(self.lines), float(self.constants[name]))
        if name not in self.header:
            observed = "add it, with empty cells where it was not measured"
            constant = f"add it, or pass {name}= a constant (--set {name}=NUMBER)"
            raise TableError(
                f"{self.path}: column {name} is missing; {observed if name.endswith('_after') else constant}"
            )
        at, values = self.header.index(name), []
        for number, row in self.lines:
            cell = row[at].strip()
            if not cell and empty is not None:
                values.append(empty)
                continue
            try:
                value = float(cell)
            except ValueError:
                value = math.nan
            if not math.isfinite(value) and not (infinite and value == math.inf):
                raise TableError(f"{self.path}: row {number}, column {name}: {cell!r} is not a finite number")
            values.append(value)
        return np.array(values)

    def stack(self, *names: str) -> np.ndarray:
        """Columns side by side; cells of observations may be empty, that is, not measured."""
        return np.stack([self.numbers(n, math.nan if n.endswith("_after") else None) for n in names], -1)

    def check(self, good: np.ndarray, column: str, sentence: str) -> None:
        """Raise an error that names the row if a condition fails."""
        if not good.all():
            number = self.lines[int(np.flatnonzero(~good)[0])][0]
            raise TableError(f"{self.path}: row {number}, column {column}: {sentence}")

    def noise(self, channels: tuple[str, ...]) -> np.ndarray:
        """The noise, one column per channel; nan where it is to be estimated."""
        columns = []
        for channel in channels:
            name = f"noise_{channel}"
            column = self.numbers(name, math.nan, True) if self.has(name) else np.full(len(self.lines), math.nan)
            self.check(~(column <= 0), name, "noise is not above 0; pass a standard deviation, or an empty cell")
            columns.append(np.where(np.isnan(self.numbers(f"{channel}_after", math.nan)), math.inf, column))
        return np.stack(columns, -1)

    def group(self) -> np.ndarray | None:
        if "group" not in self.header:
            return None
        at = self.header.index("group")
        return np.array([row[at].strip() for _, row in self.lines])

    def positive(self, name: str) -> np.ndarray:
        column = self.numbers(name)
        self.check(column > 0, name, "is not above 0; pass a positive number")
        return column


def _after(channels: tuple[str, ...]) -> list[str]:
    return [f"{channel}_after" for channel in channels]


def _contacts(table: _Table) -> Rebounds:
    xx, yy, zz, xy, xz, yz = (table.numbers(f"W{name}") for name in TENSOR)
    W = np.stack([np.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    table.check(np.linalg.eigvalsh(W)[:, 0] > 0, "Wxx", "the inverse inertia is not positive definite")
    before, after = table.stack(*CONTACT), table.stack(*_after(CONTACT))
    return Rebounds.of(W, before, before, W, after, table.noise(CONTACT), table.group(), CONTACT)


def _planes(table: _Table) -> Rebounds:
    mass, inertia = table.positive("mass"), table.positive("inertia")
    arm, before, after = (jnp.asarray(table.stack(*names)) for names in (("rx", "ry"), PLANE, _after(PLANE)))
    return Rebounds.from_planar(mass, inertia, arm, before, after, table.noise(PLANE), table.group())


def _bodies(table: _Table) -> Rebounds:
    mass, inertia = table.positive("mass"), _inertia(table)
    before, after = table.stack(*TWIST), table.stack(*_after(TWIST))
    normal = np.broadcast_to([0.0, 0.0, 1.0], (len(mass), 3))
    if table.has("nx"):
        normal = table.stack("nx", "ny", "nz")
        table.check(np.abs(np.linalg.norm(normal, axis=-1) - 1) < UNIT, "nx", "the normal does not have unit length")
    body = Body(*map(jnp.asarray, (mass, inertia, np.zeros_like(normal), before[:, :3], before[:, 3:])))
    rebound = body._replace(velocity=jnp.asarray(after[:, :3]), angular_velocity=jnp.asarray(after[:, 3:]))
    point = jnp.asarray(table.stack("rx", "ry", "rz"))
    noise = table.noise(TWIST)
    return Rebounds.from_bodies(body, immovable(), point, jnp.asarray(normal), rebound, None, noise, table.group())


def _inertia(table: _Table) -> np.ndarray:
    """The inertia in world axes, (n, 3, 3)."""
    if table.has("inertia"):
        return table.positive("inertia")[:, None, None] * np.eye(3)
    zero = np.zeros(len(table.lines))
    xx, yy, zz = (table.numbers(f"I{name}") for name in TENSOR[:3])
    xy, xz, yz = (table.numbers(f"I{name}") if table.has(f"I{name}") else zero for name in TENSOR[3:])
    I = np.stack([np.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    principal = np.linalg.eigvalsh(I)
    table.check(principal[:, 0] > 0, "Ixx", "the inertia is not positive definite")
    possible = principal[:, 2] <= (principal[:, 0] + principal[:, 1]) * (1 + 1e-6)
    table.check(possible, "Ixx", "no body has this inertia: one principal moment is above the sum of the other two")
    if not table.has("qw"):
        return I
    w, x, y, z = (table.numbers(name) for name in QUATERNION)
    length = np.sqrt(w * w + x * x + y * y + z * z)
    table.check(np.abs(length - 1) < UNIT, "qw", "the quaternion qw qx qy qz does not have unit length")
    w, x, y, z = (a / length for a in (w, x, y, z))
    R = np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
        ],
        -2,
    )
    return R @ I @ np.swapaxes(R, 1, 2)
