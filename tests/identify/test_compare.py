"""Comparing laws, groups by name, and what the tables and figures of a fit say."""

import csv
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jimpact
from jimpact.cli.main import main
from jimpact.identify import (
    Comparison,
    Fit,
    Material,
    Parameter,
    Rebounds,
    audit,
    compare_laws,
    fit,
    load_rebounds,
    per_group,
)
from jimpact.identify.csv_file import TableError
from jimpact.plotting import fit_figures as plot_fit

LAWS = ("chatterjee_ruina", "bilinear")  # both compile in a second
ALL = ("friction", "restitution", "tangential_restitution")
FLAT = np.diag([3.5, 3.5, 1.0])
TRUTH = {"glass": 0.1, "steel": 0.3}
solve = jax.jit(jimpact.solve, static_argnames="law")


@pytest.fixture(scope="module")
def rebounds() -> Rebounds:
    """Balls on two floors; bilinear and chatterjee_ruina agree for them but for the tangential restitution."""
    rng = np.random.default_rng(0)
    names = np.repeat(list(TRUTH), 30)
    v = jnp.asarray(np.stack([rng.uniform(1, 4, 60), np.zeros(60), -rng.uniform(1, 2, 60)], -1))
    friction = jnp.asarray([TRUTH[name] for name in names])
    given = {"law": "chatterjee_ruina", "tangential_restitution": 0.4}
    after = solve(FLAT, v, friction, 0.6, **given).velocity
    return Rebounds.from_contact(FLAT, v, after + 0.01 * rng.normal(size=(60, 3)), 0.01, names)


@pytest.fixture(scope="module")
def compared(rebounds: Rebounds) -> Comparison:
    return compare_laws(rebounds, LAWS, folds=2, starts=8)


@pytest.fixture(scope="module")
def by_floor(rebounds: Rebounds) -> Fit:
    names = ("friction", "restitution")
    fixed = {"tangential_restitution": 0.4}
    return fit(rebounds, law="chatterjee_ruina", material=per_group(2, names, shared=("restitution",)), fixed=fixed)


def test_numbers_of_groups_carry_their_names(by_floor: Fit) -> None:
    assert by_floor.names == ("friction[glass]", "friction[steel]", "restitution")


@pytest.mark.parametrize("floor", TRUTH)
def test_each_group_has_its_own_friction(by_floor: Fit, floor: str) -> None:
    low, high = by_floor.interval(0.9999)[f"friction[{floor}]"]  # nearly four standard errors
    assert low < TRUTH[floor] < high


def test_the_profile_of_a_group_is_found_by_its_name(by_floor: Fit) -> None:
    curve = by_floor.profile("friction[steel]", np.array([0.2, 0.4]))
    assert (curve.fall > 9).all()


def test_residuals_are_drawn_for_every_law_and_channel(compared: Comparison) -> None:
    figure = plot_fit.held_out(compared)
    assert [ax.get_title() for ax in figure.axes] == ["t1", "t2", "n"]
    assert {t.get_text() for t in figure.axes[0].get_yticklabels()} == set(LAWS)


def test_the_boxes_are_of_held_out_residuals(compared: Comparison) -> None:
    """The line in each box is the median of that law, the best law on top."""
    axes = plot_fit.held_out(compared).axes[2]
    lines = [line.get_xdata() for line in axes.lines]
    medians = [x[0] for x in lines if len(x) == 2 and x[0] == x[1]]
    wanted = [np.median(row.held_out[:, 2]) for row in compared.rows]
    assert all(np.isclose(medians, x).any() for x in wanted)


def test_progress_sees_every_batch_of_starts(rebounds: Rebounds) -> None:
    seen: list[int] = []

    def watch(steps):
        for step in steps:
            seen.append(step)
            yield step

    fit(rebounds, law="chatterjee_ruina", parameters=ALL, starts=20, progress=watch)
    assert seen == [0, 8, 16]


def written(folder: Path, rebounds: Rebounds, header: dict[str, str] | None = None) -> Path:
    """The rebounds as a CSV file, with some columns under another name."""
    columns = ["Wxx", "Wyy", "Wzz", "Wxy", "Wxz", "Wyz", "ux", "uy", "uz", "ux_after", "uy_after", "uz_after", "group"]
    path = folder / "data.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([(header or {}).get(name, name) for name in columns])
        for i in range(len(rebounds)):
            names = rebounds.group_names[int(rebounds.group[i])]
            numbers = [3.5, 3.5, 1, 0, 0, 0, *rebounds.velocity[i].tolist(), *rebounds.observation[i].tolist()]
            writer.writerow([*numbers, names])
    return path


@pytest.mark.parametrize(("column", "typed"), [("group", "Group"), ("Wxx", "wxx"), ("uz_after", "Uz_after")])
def test_a_column_in_the_wrong_case_is_named(tmp_path: Path, rebounds: Rebounds, column: str, typed: str) -> None:
    with pytest.raises(TableError, match=f"{typed} is not known; write it as {column}"):
        load_rebounds(written(tmp_path, rebounds, {column: typed}))


def test_groups_of_a_file_are_named_in_the_table(
    tmp_path: Path, rebounds: Rebounds, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--law", "bilinear", "--model", "per-group", "--resamples", "0", "--starts", "8"]
    assert main(["fit", str(written(tmp_path, rebounds)), *options]) == 0
    text = capsys.readouterr().out
    assert "friction[glass]" in text and "friction[steel]" in text
    ends = re.findall(r"friction\[steel\] +(\S+) +(\S+) \.\. (\S+) ", text)[0]
    assert all(len(number) >= 4 for number in ends)  # nothing is cut off


def test_compared_laws_are_listed_with_named_parameters(
    tmp_path: Path, rebounds: Rebounds, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--laws", ",".join(LAWS), "--folds", "2", "--starts", "8"]
    assert main(["compare", str(written(tmp_path, rebounds)), *options]) == 0
    text = capsys.readouterr().out
    assert "- chatterjee_ruina: friction 0." in text
    tables = text.split("error: of")[0]
    assert tables.count("chatterjee_ruina") == 2 and max(map(len, tables.splitlines())) <= 80


def test_two_groups_are_two_folds_by_default(rebounds: Rebounds) -> None:
    assert compare_laws(rebounds, ("chatterjee_ruina",), starts=8).folds == 2


def test_one_law_for_two_floors_is_said_not_to_explain_them(rebounds: Rebounds) -> None:
    found = fit(rebounds, law="chatterjee_ruina", parameters=ALL)
    assert "does not explain the data" in found.cautions[0] and "does not explain" in str(found)


def test_a_fit_that_explains_the_data_has_no_cautions(by_floor: Fit) -> None:
    assert by_floor.cautions == []


def test_a_law_without_any_answer_is_refused(
    tmp_path: Path, rebounds: Rebounds, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, rebounds)
    path.write_text(path.read_text().replace("3.5,3.5,1,0,0,0", "3.5,3.5,1,0,0.5,0"))  # coupled to the normal
    assert main(["fit", str(path), "--law", "bilinear", "--starts", "8"]) == 2
    assert "has no answer for any impact; its domain: spheres" in capsys.readouterr().err


BAD = {
    "asks for 'mu', which is none of its parameters: friction": lambda p, r: {"friction": p["mu"], "restitution": 0.5},
    "friction of shape .3,.; pass one number": lambda p, r: {"friction": jnp.ones(3), "restitution": p["friction"]},
}


@pytest.mark.parametrize("sentence", BAD)
def test_a_material_with_a_mistake_is_named(rebounds: Rebounds, sentence: str) -> None:
    material = Material(BAD[sentence], {"friction": Parameter(0, np.inf, (0.01, 1))})
    with pytest.raises(ValueError, match=sentence):
        fit(rebounds, law="whittaker", material=material)


def test_one_name_in_place_of_several_is_refused(rebounds: Rebounds) -> None:
    with pytest.raises(TypeError, match=r"pass a tuple of names, such as \('friction',\)"):
        fit(rebounds, parameters="friction")
    with pytest.raises(TypeError, match=r"pass a list of names, such as \['smith'\]"):
        compare_laws(rebounds, "smith")


def test_starts_outside_the_range_are_refused(rebounds: Rebounds) -> None:
    material = Material(lambda p, r: p, {"friction": Parameter(0, 1, (-1, 3))})
    with pytest.raises(ValueError, match="starts of friction are"):
        fit(rebounds, law="whittaker", material=material, fixed={"restitution": 0.5})


def test_noise_that_is_open_does_not_hide_slip() -> None:
    """Channels that hold noise alone must not make slip in the others look like stick."""
    rng, n = np.random.default_rng(1), 30
    inertia = jnp.broadcast_to(1e-4 * jnp.eye(3), (n, 3, 3))
    velocity = np.stack([rng.uniform(0.5, 0.8, n), np.zeros(n), -rng.uniform(1, 2, n)], -1)
    ball = jimpact.Body(jnp.full(n, 0.2), inertia, jnp.zeros((n, 3)), jnp.asarray(velocity), jnp.zeros((n, 3)))
    point, up = jnp.array([0.0, 0.0, -0.03]), jnp.array([0.0, 0.0, 1.0])
    after = jimpact.collide(ball, jimpact.immovable(), point, up, 0.05, 0.5, law="whittaker").body_a
    noisy = after._replace(
        velocity=after.velocity + 0.01 * rng.normal(size=(n, 3)),
        angular_velocity=after.angular_velocity + 0.3 * rng.normal(size=(n, 3)),
    )
    assert audit(Rebounds.from_bodies(ball, jimpact.immovable(), point, up, noisy)).sticking == 0
