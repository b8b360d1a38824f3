"""The benchmark: competitors solve the same impacts, and rows, ratios and pages say what was measured."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import matplotlib
import numpy as np
import pytest

jax.config.update("jax_enable_x64", True)
matplotlib.use("Agg")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments.jia_wang.algorithm1 import Varied, algorithm1  # noqa: E402
from experiments.throughput import bars, figures, kernel, ours, pages, peers, scipy_peer, sweep  # noqa: E402
from experiments.throughput.field import Field, field  # noqa: E402
from experiments.throughput.population import draw, part, repeated, scaled  # noqa: E402
from experiments.throughput.race import Answer, Entry, Missing, Program, Row, Truth, errors, race  # noqa: E402
from jimpact.cli.main import main  # noqa: E402

IMPACTS = 200
STANDARD = 1e-7  # jimpact and the C kernel at their standard tolerance of 2e-8
TIGHT = 1e-10  # both at their tightest: 99 % of `high` are within 1e-11
SCIPY = 1e-8  # at a tolerance of 1e-10
DIFFRAX = 1e-5  # at a tolerance of 1e-8, with slip of 1e-6 that counts as zero
SAME = 1e-9  # the same steps in two languages


def silent(label: str) -> Any:
    return lambda steps: steps


@pytest.fixture(scope="module")
def on() -> Field:
    return field(IMPACTS, [])


def worst(impulse: np.ndarray, truth: Truth) -> float:
    return errors(Answer(impulse, np.ones(len(impulse), bool)), truth)["error_max"]


def entry(answer: np.ndarray | None = None, **changes: Any) -> Entry:
    """An entry that returns an answer, or is missing."""

    def prepare() -> Program:
        if answer is None:
            raise Missing("nobody there")
        return Program(lambda: answer, lambda out: Answer(out, np.ones(len(out), bool)))

    given = {"competitor": "x", "setting": "", "what": "forward", "dtype": "float64", "lanes": "mix", "batch": 4}
    return Entry(**{**given, "truth": Truth(np.ones((4, 3))), "prepare": prepare, **changes})


def row(competitor: str, setting: str, us: float, error: float = 1e-9, **more: Any) -> Row:
    given = {"what": "forward", "dtype": "float64", "lanes": "mix", "batch": 1000, "best_us": us, "median_us": us}
    given |= {"error_median": error / 1000, "error_99": error, "error_max": error, "success": 1.0}
    return Row(competitor, setting, **{**given, **more})


# ---------------------------------------------------------------------------------------------- the impacts


def test_float32_holds_the_impacts() -> None:
    assert all(np.array_equal(a, a.astype(np.float32)) for a in draw(50))


def test_about_one_in_five_sticks_and_the_others_slip(on: Field) -> None:
    assert 0.1 < on.facts["sticking"] < 0.3  # of few impacts
    assert on.facts["sticking"] + on.facts["slipping"] > 0.95
    assert on.facts["finished"] == 1.0
    assert len(on.slip.impacts[2]) == IMPACTS


def test_scaled_impacts_have_units_of_one() -> None:
    (W, v, _, _), unit = scaled(draw(20))
    np.testing.assert_allclose(W[:, 2, 2], 1)
    np.testing.assert_allclose(v[:, 2], -1)
    assert unit.shape == (20, 1)


def test_impacts_begin_anew() -> None:
    few = draw(3)
    for a, b in zip(repeated(few, 7), few, strict=True):
        np.testing.assert_array_equal(a, np.concatenate([b, b, b[:1]]))


# ------------------------------------------------------------------------------------------ the competitors


@pytest.mark.skipif(kernel.compiler() is None, reason="no C compiler")
def test_c_kernel_agrees_with_jimpact(on: Field) -> None:
    assert on.facts["agreement"]["error_max"] < TIGHT
    natural = kernel.solve(*on.mix.impacts)
    fixed = kernel.solve(*on.mix.impacts, steps=int(natural.steps.max()))
    for solved in (natural, fixed):
        assert solved.ok.all()
        assert worst(solved.impulse, on.mix.truth["forward"]) < STANDARD


def test_scipy_agrees_with_jimpact(on: Field) -> None:
    some = scipy_peer.solve(part(on.mix.impacts, slice(60)))
    assert worst(some, on.mix.truth["forward"]) < SCIPY


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["regularised", "impulse"])
def test_diffrax_agrees_with_jimpact(on: Field, clock: str) -> None:
    pytest.importorskip("diffrax")
    pytest.importorskip("optimistix")
    program = peers._diffrax(clock, peers.TUNED, "mix", on.mix, IMPACTS).prepare()
    found = errors(program.read(program.run()), on.mix.truth["forward"])
    assert found["success"] > 0.98  # few do not come to an end
    assert found["error_median"] < DIFFRAX / 100
    assert np.quantile(errors_of(program, on), 0.95) < DIFFRAX


def errors_of(program: Program, on: Field) -> np.ndarray:
    values, right = program.read(program.run()).values, on.mix.truth["forward"].values
    assert right is not None
    return np.linalg.norm(values - right, axis=-1) / np.linalg.norm(right, axis=-1)


def test_numpy_converges_to_jimpact_where_slip_stops_or_turns(on: Field) -> None:
    """By order 1, on the impacts that its steps suit: half of them."""
    medians = []
    for step in (0.01, 0.001):
        program = peers._numpy(step, on.mix.impacts)
        medians.append(errors(program.read(program.run()), on.mix.truth["forward"])["error_median"])
    assert medians[0] < 0.2 and medians[1] < medians[0] / 5


@pytest.mark.slow
def test_numba_takes_the_steps_of_numpy() -> None:
    pytest.importorskip("numba")
    from experiments.throughput import numba_peer

    lanes, unit = scaled(draw(IMPACTS))
    with np.errstate(all="ignore"):
        slow = algorithm1(*lanes, Varied(0.5, 0.01, 0.01), tolerance=0.001, most=4096).impulse
    fast = numba_peer.solve(lanes, 0.5, 0.01, 0.01, 0.001, 4096)
    assert worst(fast * unit, Truth(slow * unit)) < SAME


def test_who_is_missing_is_named(on: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("diffrax", "numba"):
        monkeypatch.setitem(sys.modules, package, None)
        for name in [
            n for n in sys.modules if n.startswith("experiments.throughput.") and n.endswith(f"{package}_peer")
        ]:
            monkeypatch.delitem(sys.modules, name)
            monkeypatch.delattr(sys.modules["experiments.throughput"], name.rpartition(".")[2], raising=False)
    monkeypatch.setattr(kernel, "compiler", lambda: None)
    kernel.library.cache_clear()
    peers._compiled.cache_clear()
    entries = peers.peers(on, few=20, single=2, only=("diffrax", "numba", "c"), quick=True)
    rows = race(entries, silent, repeats=2, budget=1.0)
    assert all(r.best_us is None and r.success is None for r in rows)
    assert {r.note for r in rows} == {
        "diffrax is not installed: pip install 'jimpact[bench]'",
        "numba is not installed: pip install 'jimpact[bench]'",
        "no C compiler on this machine",
    }
    assert all(bar.met is None and bar.words == "not measured" for bar in bars.bars(rows))


# ---------------------------------------------------------------------------------------------- measurement


def test_what_is_not_finite_is_infinitely_wrong() -> None:
    values = np.ones((100, 3))
    values[:2, 0], values[2] = np.nan, 1.01
    found = errors(Answer(values, np.arange(100) != 99), Truth(np.ones((100, 3))))
    assert found["error_median"] == 0 and found["error_99"] == math.inf
    assert found["success"] == pytest.approx(0.96)  # two nan, one wrong by 1 %, one not called good


def test_without_a_truth_only_the_outcome_counts() -> None:
    assert errors(Answer(np.ones((4, 3)), np.array([1, 1, 1, 0], bool)), Truth(None)) == {"success": 0.75}


def test_rows_keep_their_order_and_say_who_is_missing() -> None:
    first, second = race([entry(), entry(np.ones((4, 3)))], silent, repeats=3, budget=5.0)
    assert (first.note, first.best_us, first.repeats) == ("nobody there", None, 0)
    assert second.best_us is not None and second.median_us is not None and second.best_us <= second.median_us
    assert (second.repeats, second.success, second.error_max) == (2, 1.0, 0.0)


def test_what_is_slow_is_not_repeated() -> None:
    (only,) = race([entry(np.ones((4, 3)))], silent, repeats=9, budget=0.0)
    assert only.repeats == 1 and only.best_us is not None


def test_sizes_are_powers_of_ten_up_to_the_largest() -> None:
    assert sweep.sizes(0) == [] and sweep.sizes(1) == [1] and sweep.sizes(2500) == [1, 10, 100, 1000]


def test_a_batch_that_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep.machine, "available", lambda: 10**9)
    point = sweep._point(draw(2), "forward", "float64", 10**7, 400.0)
    assert point.best_us is None and point.note == "12 GB of memory are needed"


def test_a_direction_of_a_jvp_keeps_inertia_symmetric() -> None:
    arrays = ours.arguments(draw(5), "jvp", "float32")
    assert len(arrays) == 8 and all(a.dtype == np.float32 for a in arrays)
    np.testing.assert_array_equal(arrays[4], np.swapaxes(arrays[4], 1, 2))


# ----------------------------------------------------------------------------------------- bars and pages

GOOD = [
    row("jimpact", "standard", 0.9, error_median=1e-12, bytes_per_impact=280.0),
    row("jimpact", "standard", 0.9, lanes="slip"),
    row("jimpact", "standard", 0.25, 1e-5, dtype="float32"),
    row("jimpact", "standard", 3.0, what="gradient", bytes_per_impact=1500.0),
    row("jimpact", "standard", 2.0, what="jvp"),
    row("diffrax", "impulse, 100 steps", 1000.0, 1e-7),
    row("diffrax", "impulse, 100 steps", 60.0, 1e-7, lanes="slip"),
    row("NumPy Algorithm 1 (VS)", "0.01", 220.0, 10.0),
    row("C kernel", "early exit", 0.8),
]


def met(rows: list[Row]) -> dict[str, bool | None]:
    return {bar.name: bar.met for bar in bars.bars(rows)}


def test_bars_are_met_or_missed() -> None:
    assert set(met(GOOD).values()) == {True}
    slow = [replace(r, best_us=3 * (r.best_us or 0)) if r.what != "forward" else r for r in GOOD]
    assert [name for name, ok in met(slow).items() if not ok] == ["gradient / forward time", "jvp / forward time"]
    assert set(met([]).values()) == {None}


def test_a_fast_wrong_answer_does_not_count() -> None:
    wrong = row("diffrax", "loose", 1.0, 1e-2, success=0.5)
    assert met([*GOOD, wrong]) == met(GOOD)
    right = row("diffrax", "tuned", 10.0, 1e-7)
    assert met([*GOOD, right])["diffrax / jimpact time, mix lanes"] is False


def test_diffrax_is_compared_at_an_error_no_smaller_than_ours() -> None:
    exact = row("diffrax", "tight", 2000.0, 1e-12)
    high = row("jimpact", "high", 4.0, 1e-13)
    by_name = {bar.name: bar for bar in bars.bars([*(r for r in GOOD if r.competitor != "diffrax"), exact, high])}
    assert by_name["diffrax / jimpact time, mix lanes"].value == pytest.approx(500)


def test_time_counts_only_at_the_error_of_the_bar() -> None:
    rough = [replace(r, error_99=1e-6) if r.competitor == "jimpact" else r for r in GOOD]
    assert met(rough)["float64, time of an impact"] is False


def test_figures_are_drawn_from_few_rows_or_none() -> None:
    for rows in ([], GOOD):
        assert figures.accuracy_figure(rows).axes
    assert figures.batch_figure([sweep.Point("forward", "float64", 10, 1.0, 1.0, 5.0, 100.0)]).axes


def test_cells_have_dashes_for_what_is_missing() -> None:
    (cells,) = pages.cells([Row("C kernel", "early exit", "forward", "float64", "mix", 10, note="no C compiler")])
    assert cells[5:] == ["-"] * 8 and len(cells) == len(pages.COLUMNS)
    assert pages.notes([Row("C kernel", "x", "forward", "float64", "mix", 1, note="no")], []) == ["C kernel x: no"]


# ------------------------------------------------------------------------------------------ the command line


@pytest.mark.parametrize(
    "argv, words",
    [
        (["--batch", "0"], "--batch 0: pass a whole number"),
        (["--largest", "-3"], "--largest -3: pass a whole number"),
        (["--only", "jimpact,somebody"], "--only somebody: pass some of jimpact, diffrax"),
        (["--batch", "many"], "invalid int value"),
    ],
)
def test_bad_input_is_one_sentence(capsys: pytest.CaptureFixture[str], argv: list[str], words: str) -> None:
    try:
        code: Any = main(["bench", "--quick", *argv])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1) and words in err


def test_out_that_is_a_file_is_told_before_anything_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("experiments.throughput.run.field", lambda *a: pytest.fail("it ran"))
    assert main(["bench", "--quick", "--out", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.slow
def test_quick_run_writes_everything(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    argv = ["bench", "--quick", "--batch", str(IMPACTS), "--only", "jimpact,scipy,numpy,c", "--out", str(tmp_path)]
    assert main([*argv, "--json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert all(line.startswith("jimpact: ") and line.endswith(" ...") for line in err.splitlines())  # what is measured
    assert record == json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    names = {"results.json", "results.md", "results.html", "batch.png", "accuracy.png"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert {"date", "cpu", "cores", "memory_bytes", "versions"} <= set(record["machine"])
    assert {"python", "jax", "jaxlib", "numpy", "scipy", "diffrax", "numba", "compiler"} <= set(
        record["machine"]["versions"]
    )
    mine = [r for r in record["rows"] if r["competitor"] == "jimpact" and r["lanes"] == "mix"]
    assert [r["dtype"] for r in mine] == ["float64", "float32"]
    for r in mine:
        assert r["batch"] == IMPACTS and r["success"] == 1.0
        assert 0 < r["best_us"] <= r["median_us"] and r["compile_s"] > 0 and r["bytes_per_impact"] > 100
    assert {r["competitor"].split()[0] for r in record["rows"]} == {"jimpact", "SciPy", "NumPy", "C"}
    assert len(record["bars"]) == 10 and record["points"][0]["batch"] == IMPACTS
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "| jimpact standard | forward | float64 | mix |" in text and "## Bars" in text


@pytest.mark.slow
def test_quick_run_prints_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--quick", "--batch", str(IMPACTS), "--only", "jimpact"]) == 0
    out = capsys.readouterr().out
    for words in (
        "jimpact standard",
        "good %",
        "open    gradient / forward time: not measured; bar: at most 5",
        "% stick",
    ):
        assert words in out
