"""Rebounds: every constructor gives observation = baseline + effect @ impulse, and bad data get a sentence."""

import csv
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact.contact.body import apply_impulse
from jimpact.identify import Rebounds, TableError, load_rebounds

ROUND_OFF = 1e-12  # of sums of a few terms of order one
N = 6


def bodies(seed: int = 0) -> tuple[jimpact.Body, jimpact.Body, jnp.ndarray, jnp.ndarray]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(2):
        A = rng.normal(size=(N, 3, 3))
        inertia = A @ np.swapaxes(A, 1, 2) + np.eye(3)
        made.append(jimpact.Body(jnp.asarray(rng.uniform(1, 2, N)), jnp.asarray(inertia), *vectors(rng, 3)))
    return *made, *vectors(rng, 2)


def vectors(rng: np.random.Generator, count: int) -> list[jnp.ndarray]:
    return [jnp.asarray(rng.normal(size=(N, 3))) for _ in range(count)]


def reading(rebounds: Rebounds, impulse: jnp.ndarray) -> np.ndarray:
    return np.asarray(rebounds.baseline + jnp.einsum("nki,ni->nk", rebounds.effect, impulse))


def test_two_bodies_read_their_twists() -> None:
    a, b, point, normal = bodies()
    impulse = vectors(np.random.default_rng(1), 1)[0]
    after = apply_impulse(a, b, point, normal, impulse)
    rebounds = Rebounds.from_bodies(a, b, point, normal, *after)
    np.testing.assert_allclose(reading(rebounds, impulse), rebounds.observation, atol=10 * ROUND_OFF)
    assert rebounds.channels[0] == "vx a" and rebounds.channels[-1] == "wz b"


def test_one_body_against_the_ground_has_six_channels() -> None:
    a, _, point, normal = bodies()
    impulse = vectors(np.random.default_rng(2), 1)[0]
    after, _ = apply_impulse(a, jimpact.immovable(), point, normal, impulse)
    rebounds = Rebounds.from_bodies(a, jimpact.immovable(), point, normal, after)
    np.testing.assert_allclose(reading(rebounds, impulse), rebounds.observation, atol=10 * ROUND_OFF)
    assert rebounds.channels == ("vx", "vy", "vz", "wx", "wy", "wz")


def test_contact_velocities_move_by_inverse_inertia() -> None:
    a, b, point, normal = bodies()
    W = jimpact.inverse_inertia(a, b, point, normal)
    v, impulse = vectors(np.random.default_rng(3), 2)
    rebounds = Rebounds.from_contact(W, v, v)
    np.testing.assert_allclose(reading(rebounds, impulse), v + jnp.einsum("nij,nj->ni", W, impulse), rtol=ROUND_OFF)


def test_plane_is_the_mechanism_of_a_free_body() -> None:
    arm, before = np.array([0.02, -0.03]), np.array([0.4, -2.0, 3.0])
    rebounds = Rebounds.from_planar(0.5, 0.001, arm, before, before)
    impulse = np.array([[0.1, 0.0, 0.7]])
    expected = before + np.array([0.1 / 0.5, 0.7 / 0.5, (arm[0] * 0.7 - arm[1] * 0.1) / 0.001])
    np.testing.assert_allclose(reading(rebounds, jnp.asarray(impulse))[0], expected, rtol=ROUND_OFF)
    np.testing.assert_allclose(rebounds.velocity[0], [0.4 - arm[1] * 3.0, 0.0, -2.0 + arm[0] * 3.0], rtol=ROUND_OFF)


def test_one_arm_serves_many_drops() -> None:
    before = np.stack([np.linspace(-1, 1, 5), -np.ones(5), np.zeros(5)], -1)
    rebounds = Rebounds.from_planar(0.5, 0.001, np.array([0.02, -0.03]), before, before)
    assert rebounds.effect.shape == (5, 3, 3)


def test_one_place_serves_many_velocities() -> None:
    ball = jimpact.Body(1.0, jnp.eye(3), jnp.zeros(3), -jnp.ones((4, 3)), jnp.zeros(3))
    rebounds = Rebounds.from_bodies(ball, jimpact.immovable(), -jnp.ones(3), jnp.ones(3), ball)
    assert rebounds.effect.shape == (4, 6, 3)


def test_generalised_speeds_in_space() -> None:
    rng = np.random.default_rng(4)
    A, J = rng.normal(size=(4, 4)), rng.normal(size=(3, 4))
    M, speeds, impulse = A @ A.T + np.eye(4), rng.normal(size=4), rng.normal(size=3)
    after = speeds + np.linalg.solve(M, J.T @ impulse)
    rebounds = Rebounds.from_generalized(M, J, speeds, after)
    np.testing.assert_allclose(reading(rebounds, jnp.asarray(impulse[None])), after[None], rtol=100 * ROUND_OFF)


def test_index_keeps_rebounds_together() -> None:
    a, b, point, normal = bodies()
    rebounds = Rebounds.from_bodies(a, b, point, normal, a, group=np.arange(N))
    some = rebounds[np.array([4, 1])]
    assert len(some) == 2 and some.group.tolist() == [4, 1]
    np.testing.assert_array_equal(some.effect, rebounds.effect[jnp.array([4, 1])])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"noise": jnp.ones(4)}, "noise has shape"),
        ({"observation": jnp.ones(())}, "observation has shape"),
        ({"group": np.ones(3, int)}, "group has shape"),
        ({"group": np.ones(2)}, "group has dtype"),
        ({"channels": ("x",)}, "channels names 1"),
        ({"velocity": jnp.ones((3, 3))}, "do not broadcast"),
    ],
)
def test_wrong_shapes_are_named(change: dict, words: str) -> None:
    given = {
        "inverse_inertia": jnp.eye(3),
        "velocity": -jnp.ones((2, 3)),
        "baseline": jnp.ones((2, 3)),
        "effect": jnp.eye(3),
        "observation": jnp.ones((2, 3)),
    }
    with pytest.raises((ValueError, TypeError), match=words):
        Rebounds.of(**(given | change))


PLANE = {"mass": 0.5, "inertia": 0.001, "rx": 0.01, "ry": -0.02, "vx": 0.3, "vy": -1.0, "w": 2.0}
PLANE |= {"vx_after": 0.2, "vy_after": 0.5, "w_after": 1.0}
BODY = {"mass": 0.5, "Ixx": 0.001, "Iyy": 0.002, "Izz": 0.0025, "rx": 0.01, "ry": -0.02, "rz": -0.03}
BODY |= {"qw": 0.5, "qx": 0.5, "qy": 0.5, "qz": 0.5}
BODY |= {name: 0.1 for c in ("vx", "vy", "vz", "wx", "wy", "wz") for name in (c, f"{c}_after")} | {"vz": -1.0}


def write(path: Path, row: dict, rows: int = 2) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        for _ in range(rows):
            writer.writerow(row)
    return path


def test_a_table_of_the_plane(tmp_path: Path) -> None:
    rebounds = load_rebounds(write(tmp_path / "a.csv", PLANE))
    expected = Rebounds.from_planar(
        0.5, 0.001, np.array([0.01, -0.02]), np.array([0.3, -1, 2]), np.array([0.2, 0.5, 1])
    )
    np.testing.assert_allclose(rebounds.effect[1], expected.effect[0])
    np.testing.assert_allclose(rebounds.observation[0], [0.2, 0.5, 1.0])
    assert np.isnan(np.asarray(rebounds.noise)).all()


def test_inertia_in_body_axes_is_turned(tmp_path: Path) -> None:
    """The quaternion (1, 1, 1, 1) / 2 takes body x to world y, y to z and z to x."""
    turned = BODY | {"Ixx": BODY["Izz"], "Iyy": BODY["Ixx"], "Izz": BODY["Iyy"]} | {"qw": 1, "qx": 0, "qy": 0, "qz": 0}
    one, other = (load_rebounds(write(tmp_path / "a.csv", row)) for row in (BODY, turned))
    np.testing.assert_allclose(one.inverse_inertia, other.inverse_inertia, rtol=ROUND_OFF)


def test_constants_stand_for_columns(tmp_path: Path) -> None:
    row = {name: value for name, value in PLANE.items() if name != "mass"}
    path = write(tmp_path / "a.csv", row)
    np.testing.assert_allclose(load_rebounds(path, mass=0.5).effect, load_rebounds(write(path, PLANE)).effect)


def test_groups_are_words(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "group," + ",".join(PLANE) + "\n" + "".join(f"{g},{','.join(map(str, PLANE.values()))}\n" for g in "bab")
    )
    assert load_rebounds(path).group.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (PLANE | {"vx_after": "fast"}, "row 2, column vx_after: 'fast'"),
        (PLANE | {"vy": "nan"}, "row 2, column vy: 'nan'"),
        (PLANE | {"vy": ""}, "row 2, column vy: ''"),
        (PLANE | {"mass": -1}, "row 2, column mass: is not above 0"),
        (PLANE | {"noise_vx": 0}, "row 2, column noise_vx"),
        ({k: v for k, v in PLANE.items() if k != "w_after"}, "column w_after is missing"),
        (BODY | {"qw": 1}, "row 2, column qw: the quaternion"),
        (BODY | {"Izz": 0.0031}, "row 2, column Ixx: no body has this inertia"),
        (BODY | {"Ixx": -0.001}, "row 2, column Ixx: the inertia is not positive definite"),
        (BODY | {"nx": 0, "ny": 0, "nz": 2}, "row 2, column nx: the normal"),
    ],
)
def test_bad_cells_are_named(tmp_path: Path, row: dict, words: str) -> None:
    with pytest.raises(TableError, match=words.replace("(", r"\(")):
        load_rebounds(write(tmp_path / "a.csv", row))


def test_an_empty_observation_was_not_measured(tmp_path: Path) -> None:
    rebounds = load_rebounds(write(tmp_path / "a.csv", PLANE | {"w_after": "", "noise_vx": "inf"}))
    assert np.isinf(np.asarray(rebounds.noise)[:, [0, 2]]).all() and np.isnan(np.asarray(rebounds.noise)[:, 1]).all()


@pytest.mark.parametrize(("name", "words"), [("foo", "constant foo is not a column"), ("mass", "is not a number")])
def test_bad_constants_are_named(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(TableError, match=words):
        load_rebounds(write(tmp_path / "a.csv", PLANE), **{name: np.nan if name == "mass" else 1.0})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no rows"),
        ("mass,vx\n", "has no rows"),
        ("mass,mass\n1,2\n", "column mass appears twice"),
        ("mass,vx\n1\n", "row 2 has 1 cells; pass 2"),
        ("mass;vx\n1;2\n", "separated by semicolons"),
        ("qx,vx\n1,2\n", "column qw is missing beside qx"),
    ],
)
def test_broken_tables_are_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=words):
        load_rebounds(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"none\.csv: cannot be read"):
        load_rebounds(tmp_path / "none.csv")
