"""The command line, in process: known impulses, exit codes, one sentence for a mistake, no markup."""

import json
import tomllib
from pathlib import Path

import jax
import matplotlib

jax.config.update("jax_enable_x64", True)
matplotlib.use("Agg")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from jimpact import __version__  # noqa: E402
from jimpact.cli.main import main  # noqa: E402
from jimpact.schemas.config import ConfigError  # noqa: E402
from jimpact.schemas.scene import load, parse  # noqa: E402

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
PRINTED = 1e-8  # the published impulse has eight decimals

GOOD = (CONFIGS / "jia_wang.toml").read_text(encoding="utf-8")
BALLS = (CONFIGS / "rebounds.toml").read_text(encoding="utf-8")
BODIES = (CONFIGS / "ball_on_ground.toml").read_text(encoding="utf-8")


PROGRESS = ("jimpact: compiling and solving ...\n", "jimpact: compiling and tracing ...\n")


def run(capsys, *argv):
    code = main([str(a) for a in argv])
    out, err = capsys.readouterr()
    return code, out, "".join(line for line in err.splitlines(True) if line not in PROGRESS)


def scene(tmp_path, text):
    path = tmp_path / "scene.toml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(text, old, new):
    assert old in text
    return text.replace(old, new)


def test_solve_gives_the_published_impulse(capsys):
    code, out, err = run(capsys, "solve", CONFIGS / "jia_wang.toml", "--json")
    result = json.loads(out)
    assert (code, err, result["outcome"], result["event_sequence"]) == (0, "", "OK", "clsr")
    np.testing.assert_allclose(result["impulse"], [-0.00338307, -0.05933815, 0.10121157], atol=PRINTED)


def test_solve_follows_a_second_compression(capsys):
    code, out, _ = run(capsys, "solve", CONFIGS / "baber.toml", "--json")
    result = json.loads(out)
    assert (code, result["compressions"]) == (0, 2)
    assert result["impulse"][2] == pytest.approx(60.8115, abs=5e-5)


def test_energy_ledger_adds_up(capsys):
    result = json.loads(run(capsys, "solve", CONFIGS / "baber.toml", "--json")[1])
    total = sum(result[f"{name}_work"] for name in ("compression", "restitution", "friction"))
    assert total == pytest.approx(result["kinetic_energy_change"], rel=1e-9)


def test_bodies_keep_momentum_and_the_ground_stays(capsys):
    result = json.loads(run(capsys, "solve", CONFIGS / "ball_on_ground.toml", "--json")[1])
    change = np.array(result["body_a"]["velocity"]) - [12.0, 0.0, -8.0]
    np.testing.assert_allclose(0.058 * change, result["impulse"], atol=1e-12)
    assert result["body_b"]["velocity"] == [0.0, 0.0, 0.0]


def test_out_leaves_one_valid_json_file(capsys, tmp_path):
    text = changed(changed(BALLS, "count = 10000", "count = 16"), '"standard"', '"low"')
    code, out, _ = run(capsys, "solve", scene(tmp_path, text), "--float32", "--out", tmp_path / "new" / "out")
    assert code == 0 and "wrote" in out
    assert [path.name for path in (tmp_path / "new" / "out").iterdir()] == ["result.json"]
    result = json.loads((tmp_path / "new" / "out" / "result.json").read_text(encoding="utf-8"))
    assert (result["dtype"], result["outcomes"]) == ("float32", {"OK": 16})
    assert np.shape(result["impacts"]["impulse"]) == (16, 3)
    assert jax.config.read("jax_enable_x64")


def test_names_are_not_read_as_markup(capsys, tmp_path):
    name = "[bold]x[/bold] :boom: <b>"
    text = changed(GOOD, "Jia & Wang: slip stops during restitution", name)
    code, out, _ = run(capsys, "solve", scene(tmp_path, text))
    assert code == 0 and name in out and "clsr" in out


@pytest.mark.slow
def test_trace_prints_the_path_and_draws_it(capsys, tmp_path):
    code, out, _ = run(capsys, "trace", CONFIGS / "jia_wang.toml", "--json", "--plot", tmp_path / "a.png")
    record = json.loads(out)
    assert code == 0 and (tmp_path / "a.png").stat().st_size > 10_000
    assert [e["event"] for e in record["events"]] == list("clsr")
    np.testing.assert_allclose(record["impulse"][-1], [-0.00338307, -0.05933815, 0.10121157], atol=PRINTED)


def test_a_command_says_what_it_does_where_there_is_no_terminal(capsys):
    assert main(["solve", str(CONFIGS / "jia_wang.toml"), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) and err == PROGRESS[0]


MATRIX = "[2.44236, 1.95747, 2.59042]"
BROKEN = {
    "unknown key": (GOOD, "friction = 0.8", "friction = 0.8\nfrction = 1", "material.frction"),
    "unknown table": (GOOD, "[options]", "[extra]\na = 1\n[options]", "extra"),
    "missing key": (GOOD, "restitution = 0.95", "", "material.restitution"),
    "nan": (GOOD, "friction = 0.8", "friction = nan", "material.friction"),
    "infinity": (GOOD, "[-0.2619763355641,", "[inf,", "contact.velocity[0]"),
    "negative": (GOOD, "friction = 0.8", "friction = -1", "material.friction"),
    "text": (GOOD, "friction = 0.8", 'friction = "0.8"', "material.friction"),
    "static": (GOOD, "friction = 0.8", "friction = 0.8\nstatic_friction = 0.1", "static_friction"),
    "short vector": (GOOD, "[-0.2619763355641, ", "[", "contact.velocity"),
    "short matrix": (GOOD, MATRIX, "[2.44236, 1.95747]", "contact.inverse_inertia"),
    "indefinite": (GOOD, MATRIX, "[2.44236, 1.95747, -2.59042]", "contact.inverse_inertia"),
    "law": (GOOD, '"stronge"', '"strange"', "options.law"),
    "name": (GOOD, "Jia & Wang: slip", "\\u001b[31m", "name"),
    "mass": (BODIES, "mass = 0.058", "mass = 0", "body_a.mass"),
    "movable": (BODIES, "immovable = true", "immovable = false", "body_b.immovable"),
    "body_b": (BODIES, "immovable = true", "mass = 1.0", "body_b.inertia"),
    "normal": (BODIES, "normal = [0.0, 0.0, 1.0]", "normal = [0.0, 0.0, 0.0]", "contact.normal"),
    "count": (BALLS, "count = 10000", "count = 0", "batch.count"),
    "range": (BALLS, "speed = [2.0, 30.0]", "speed = [30.0, 2.0]", "batch.speed"),
    "angle": (BALLS, "[0.0, 80.0]", "[0.0, 90.0]", "batch.incidence_deg[1]"),
    "shape": (BALLS, '"hollow sphere"', '"cube"', "batch.body.shape"),
    "TOML": (GOOD, "[material]", "[material", "not valid TOML"),
}


@pytest.mark.parametrize("mistake", BROKEN)
def test_mistake_gives_one_line_that_names_the_field(capsys, tmp_path, mistake):
    text, old, new, field = BROKEN[mistake]
    path = scene(tmp_path, changed(text, old, new))
    code, out, err = run(capsys, "solve", path)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and err.isascii() and field in err and path.name in err


@pytest.mark.parametrize("name", ["absent.toml", "."])
def test_file_that_cannot_be_read_is_named(capsys, tmp_path, name):
    code, out, err = run(capsys, "solve", tmp_path / name)
    assert (code, out, err.count("\n")) == (2, "", 1) and str(tmp_path) in err


def test_bytes_that_are_not_text_are_refused(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        load(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["trace", CONFIGS / "jia_wang.toml", "--plot", "a.exe"], "--plot"),
        (["trace", CONFIGS / "jia_wang.toml", "--plot", CONFIGS / "absent" / "a.png"], "no such directory"),
        (["trace", CONFIGS / "jia_wang.toml", "--samples", "1"], "--samples"),
        (["trace", CONFIGS / "rebounds.toml"], "batch"),
    ],
)
def test_trace_refuses_what_it_cannot_do(capsys, argv, word):
    code, out, err = run(capsys, *argv)
    assert (code, out, err.count("\n")) == (2, "", 1) and word in err


def test_trace_of_separating_bodies_is_refused(capsys, tmp_path):
    text = changed(GOOD, "-0.07717446039236382", "0.07717446039236382")
    code, _, err = run(capsys, "trace", scene(tmp_path, text))
    assert code == 2 and "do not approach" in err


def test_out_that_is_a_file_is_refused(capsys, tmp_path):
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    code, out, err = run(capsys, "solve", CONFIGS / "jia_wang.toml", "--out", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_failed_impact_gives_exit_code_one(capsys, monkeypatch):
    from jimpact import Outcome
    from jimpact.cli import scene as cli

    solved = cli.jitted_solve
    monkeypatch.setattr(
        cli, "jitted_solve", lambda *a, **k: solved(*a, **k)._replace(outcome=np.int32(Outcome.UNFINISHED))
    )
    code, out, err = run(capsys, "solve", CONFIGS / "jia_wang.toml", "--json")
    assert code == 1 and json.loads(out)["outcome"] == "UNFINISHED" and "UNFINISHED" in err


@pytest.mark.parametrize(("argv", "code"), [(["--version"], 0), ([], 2), (["solve"], 2), (["fly"], 2)])
def test_arguments_end_with_their_exit_code(capsys, argv, code):
    with pytest.raises(SystemExit) as end:
        main(argv)
    out, err = capsys.readouterr()
    assert end.value.code == code
    assert out == f"jimpact {__version__}\n" if code == 0 else err.count("\n") == 1


def scenes():
    """Configurations that describe impacts; others describe runs and trainings."""
    kinds = {path.name: set(tomllib.loads(path.read_text())) for path in CONFIGS.glob("*.toml")}
    return sorted(name for name, tables in kinds.items() if tables & {"contact", "batch"})


@pytest.mark.parametrize("name", scenes())
def test_every_config_loads(name):
    given = load(CONFIGS / name).input()
    assert np.isfinite(given.velocity).all() and (given.velocity[..., 2] < 0).all()


def test_batch_is_the_same_for_the_same_seed_and_within_its_ranges():
    one, two, other = (parse(text).input() for text in (BALLS, BALLS, changed(BALLS, "seed = 1", "seed = 2")))
    for a, b in zip(one[:4], two[:4], strict=True):
        np.testing.assert_array_equal(a, b)
    assert (one.velocity != other.velocity).any()
    assert one.friction.min() >= 0.1 and one.friction.max() <= 0.8
