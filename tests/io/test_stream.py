"""Streams of impacts through files: the same as `solve`, whatever the sizes, and whatever happens on the way."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import cases
import jax
import numpy as np
import pytest

import jimpact
from jimpact.cli.main import main
from jimpact.io.stream import StreamError, Summary, solve_files
from jimpact.io.stream_target import RECORD

LAW = {"law": "chatterjee_ruina", "tangential_restitution": 0.3}
NAMES = ("inverse_inertia", "velocity", "friction", "restitution")
CHUNK = 64
LANES = 20 * CHUNK
# A stream keeps two chunks, its input and output: far less than the files of the larger run, which are 170 MB.
GROWTH = 40e6  # bytes
FEW, MANY = 200_000, 2_000_000
SAME = 1e-6  # relative, float32: programs of other sizes differ in round-off

CHILD = """
import pathlib, re, sys, time
from jimpact.io.stream import solve_files

source, destination, chunk, pause = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])

def slowly(steps):
    for step in steps:
        time.sleep(pause)
        yield step

options = {"law": "chatterjee_ruina", "tangential_restitution": 0.3, "progress": slowly}
print(solve_files(source, destination, chunk=chunk, **options).impacts)
status = pathlib.Path("/proc/self/status")  # getrusage would count what the parent had when it forked
if status.exists():
    print(1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read_text())[1]))
"""


def draw(n: int) -> dict[str, np.ndarray]:
    some = cases.two_body(256)
    arrays = dict(zip(NAMES, some[:4], strict=True))
    return {name: np.resize(a, (n, *a.shape[1:])).astype(np.float32) for name, a in arrays.items()}


def save(folder: Path, arrays: dict[str, np.ndarray]) -> Path:
    folder.mkdir(parents=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return folder


def solved(arrays: dict[str, np.ndarray], **options: object) -> jimpact.Impact:
    """`solve` on the whole, with one program for all sizes."""
    n = len(arrays["velocity"])
    rows = {k: a if a.shape == (3, 3) else np.resize(a, (LANES, *a.shape[1:])) for k, a in arrays.items()}
    names = [name for name, value in options.items() if not isinstance(value, float)]
    return jax.tree.map(lambda a: np.asarray(a)[:n], jax.jit(jimpact.solve, static_argnames=names)(**rows, **options))


def check(folder: Path, arrays: dict[str, np.ndarray], **options: object) -> None:
    """The files are what `solve` gives."""
    expected = solved(arrays, **(options or LAW))
    for name in ("impulse", "velocity", "outcome"):
        found = np.load(folder / f"{name}.npy")
        assert found.dtype == np.asarray(getattr(expected, name)).dtype
        np.testing.assert_allclose(found, getattr(expected, name), rtol=SAME, atol=SAME, err_msg=name)


class Stop(Exception):
    pass


def stop_after(chunks: int):
    """A progress that is interrupted; with one chunk under way, all before it are finished."""

    def steps(all_steps: Iterable[int]) -> Iterator[int]:
        for count, step in enumerate(all_steps):
            if count == chunks:
                raise Stop
            yield step

    return steps


def child(source: Path, destination: Path, chunk: int, pause: float = 0.0) -> subprocess.Popen:
    flags = re.sub(r"--xla_force_host_platform_device_count=\d+", "", os.environ.get("XLA_FLAGS", ""))
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    arguments = [sys.executable, "-c", CHILD, source, destination, str(chunk), str(pause)]
    return subprocess.Popen(list(map(str, arguments)), env=env, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("n", [1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 3])
def test_equals_solve(tmp_path: Path, n: int) -> None:
    arrays = draw(n)
    summary = solve_files(save(tmp_path / "in", arrays), tmp_path / "out", chunk=CHUNK, **LAW)
    check(tmp_path / "out", arrays)
    assert (summary.impacts, summary.kept, summary.outcomes) == (n, 0, {"OK": n})
    assert sorted(os.listdir(tmp_path / "out")) == ["impulse.npy", "outcome.npy", RECORD, "velocity.npy"]


def test_no_impacts(tmp_path: Path) -> None:
    summary = solve_files(save(tmp_path / "in", draw(0)), tmp_path / "out", **LAW)
    assert (summary.impacts, summary.outcomes) == (0, {})
    assert np.load(tmp_path / "out" / "impulse.npy").shape == (0, 3)


def test_precision_is_that_of_the_files(tmp_path: Path) -> None:
    arrays = {name: a.astype(np.float64) for name, a in draw(CHUNK).items()}
    arrays["velocity"] = np.asfortranarray(arrays["velocity"].astype(">f4"))
    solve_files(save(tmp_path / "in", arrays), tmp_path / "out", **LAW)
    check(tmp_path / "out", {name: a.astype(np.float64) for name, a in arrays.items()})
    with jax.enable_x64(False), pytest.raises(StreamError, match="jax_enable_x64"):
        solve_files(tmp_path / "in", tmp_path / "other", **LAW)


def test_one_row_for_all_impacts(tmp_path: Path) -> None:
    arrays = draw(100)
    W = arrays["inverse_inertia"] = arrays["inverse_inertia"][0]
    np.save(tmp_path / "W.npy", W)
    np.save(tmp_path / "v.npy", arrays["velocity"])
    files = {"inverse_inertia": tmp_path / "W.npy", "velocity": tmp_path / "v.npy"}
    solve_files(files, tmp_path / "out", chunk=CHUNK, friction=0.3, restitution=0.7, **LAW)
    check(
        tmp_path / "out", {"inverse_inertia": W, "velocity": arrays["velocity"]}, friction=0.3, restitution=0.7, **LAW
    )


def test_fields_of_info(tmp_path: Path) -> None:
    arrays, fields = draw(100), ("kinetic_energy_change", "mode")
    solve_files(save(tmp_path / "in", arrays), tmp_path / "out", chunk=CHUNK, fields=fields, **LAW)
    info = solved(arrays, **LAW).info
    found = np.load(tmp_path / "out" / "kinetic_energy_change.npy")
    np.testing.assert_allclose(found, info.kinetic_energy_change, rtol=1e-5)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "mode.npy"), info.mode)
    assert not (tmp_path / "out" / "impulse.npy").exists()


def test_bad_impact_carries_its_outcome(tmp_path: Path) -> None:
    arrays = draw(3 * CHUNK)
    arrays["velocity"][70, 0], arrays["velocity"][71, 2] = np.nan, 1.0
    summary = solve_files(save(tmp_path / "in", arrays), tmp_path / "out", chunk=CHUNK, **LAW)
    check(tmp_path / "out", arrays)
    assert summary.outcomes == {"OK": 3 * CHUNK - 2, "SEPARATING": 1, "INVALID": 1}
    assert np.isnan(np.load(tmp_path / "out" / "impulse.npy")[70]).all()


def test_goes_on_after_an_interruption(tmp_path: Path) -> None:
    """Also with another chunk; finished rows are not touched, and unfinished files have another name."""
    arrays, out = draw(10 * CHUNK + 5), tmp_path / "out"
    source = save(tmp_path / "in", arrays)
    with pytest.raises(Stop):
        solve_files(source, out, chunk=CHUNK, progress=stop_after(4), **LAW)
    assert json.loads((out / RECORD).read_text())["finished"] == 3 * CHUNK
    part = np.load(out / "impulse.unfinished.npy", mmap_mode="r+")
    assert part.shape == (len(arrays["velocity"]), 3) and part[: 3 * CHUNK].all(0).any() and not part[3 * CHUNK :].any()
    mark = part[1].copy()
    part[1] = 123.0
    part.flush()
    steps: list[int] = []
    summary = solve_files(source, out, chunk=2 * CHUNK, progress=lambda s: (steps.append(k) or k for k in s), **LAW)
    assert steps[0] == 3 * CHUNK and summary.kept == 3 * CHUNK and sum(summary.outcomes.values()) == 10 * CHUNK + 5
    found = np.load(out / "impulse.npy", mmap_mode="r+")
    assert (found[1] == 123.0).all(), "a finished impact was computed again"
    found[1] = mark
    found.flush()
    check(out, arrays)


def test_finished_stream_is_kept(tmp_path: Path) -> None:
    source = save(tmp_path / "in", draw(100))
    first = solve_files(source, tmp_path / "out", chunk=CHUNK, **LAW)
    (tmp_path / "out" / "velocity.npy").rename(tmp_path / "out" / "velocity.unfinished.npy")  # killed while it closed
    second = solve_files(source, tmp_path / "out", chunk=CHUNK, progress=stop_after(0), **LAW)
    assert second._replace(kept=0, seconds=0) == first._replace(seconds=0)
    check(tmp_path / "out", draw(100))


@pytest.mark.slow
def test_survives_being_killed(tmp_path: Path) -> None:
    """SIGKILL midway; what was finished is kept, and the rest is computed."""
    arrays, out = draw(20 * CHUNK), tmp_path / "out"
    source = save(tmp_path / "in", arrays)
    run = child(source, out, CHUNK, pause=0.2)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and run.poll() is None:
            if (out / RECORD).exists() and json.loads((out / RECORD).read_text())["finished"] >= 3 * CHUNK:
                break
            time.sleep(0.02)
    finally:
        run.send_signal(signal.SIGKILL)
        run.communicate()
    assert run.returncode == -signal.SIGKILL
    finished = json.loads((out / RECORD).read_text())["finished"]
    assert 3 * CHUNK <= finished < 20 * CHUNK
    assert solve_files(source, out, chunk=CHUNK, **LAW).kept == finished
    check(out, arrays)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no peak of memory to read")
def test_footprint_does_not_grow_with_the_files(tmp_path: Path) -> None:
    peaks = []
    for n in (FEW, MANY):
        source = save(tmp_path / f"in{n}", draw(n))
        run = child(source, tmp_path / f"out{n}", 2**15)
        count, peak = run.communicate(timeout=120)[0].split()
        assert run.returncode == 0 and int(count) == n
        peaks.append(int(peak))
    assert peaks[1] - peaks[0] < GROWTH, peaks


def other(arrays: dict[str, np.ndarray], folder: Path) -> None:
    arrays["velocity"][0, 0] += 1
    np.save(folder / "velocity.npy", arrays["velocity"])


@pytest.mark.parametrize("change", [{"law": "smith", "tangential_restitution": None}, {"fields": ("impulse",)}, other])
@pytest.mark.parametrize("finished", [False, True])
def test_refuses_what_differs(tmp_path: Path, change: object, finished: bool) -> None:
    arrays, out = draw(3 * CHUNK), tmp_path / "out"
    source, options = save(tmp_path / "in", arrays), {**LAW, "chunk": CHUNK}
    with pytest.raises(Stop if not finished else SystemExit):
        solve_files(source, out, **options, progress=iter if finished else stop_after(2))
        raise SystemExit
    if callable(change):
        change(arrays, source)
    else:
        options |= change
    with pytest.raises(StreamError, match=r"begun with another .*again"):
        solve_files(source, out, **options)
    assert solve_files(source, out, **options, again=True).kept == 0
    expected = solved(arrays, **{name: options[name] for name in LAW})
    np.testing.assert_allclose(np.load(out / "impulse.npy"), expected.impulse, rtol=SAME, atol=SAME)
    assert ("fields" in options) != (out / "velocity.npy").exists(), "files of the earlier stream are left"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    source = save(tmp_path / "in", draw(CHUNK))

    def second(steps: Iterable[int]) -> Iterable[int]:
        with pytest.raises(StreamError, match="another process"):
            solve_files(source, tmp_path / "out", **LAW)
        return steps

    solve_files(source, tmp_path / "out", **LAW, progress=second)


def wrong_record(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / RECORD).write_text('{"finished": 3}')


def stranger(folder: Path) -> None:
    (folder / "out").mkdir()
    np.save(folder / "out" / "impulse.npy", np.zeros(3))


def objects(folder: Path) -> None:
    np.save(folder / "in" / "velocity.npy", np.array([print, None]), allow_pickle=True)


def saved(name: str, array: np.ndarray):
    return lambda folder: np.save(folder / "in" / f"{name}.npy", array)


def cut(folder: Path) -> None:
    path = folder / "in" / "velocity.npy"
    path.write_bytes(path.read_bytes()[:-4])


MISTAKES = {
    "missing": (lambda folder: (folder / "in" / "velocity.npy").unlink(), {}, "velocity.npy is missing"),
    "no number": (
        lambda folder: (folder / "in" / "friction.npy").unlink(),
        {},
        "friction.npy is missing, and",
    ),
    "unknown": (saved("frictoin", np.zeros(CHUNK)), {}, "'frictoin' is no input; pass some of"),
    "shape": (saved("velocity", np.zeros((9, 2))), {}, r"shape \(9, 2\); save \(n, 3\)"),
    "shape of numbers": (saved("friction", np.zeros((9, 1))), {}, r"save \(n,\), or \(\) for all"),
    "dtype": (saved("velocity", np.zeros((9, 3), int)), {}, "holds int64; save float32 or float64"),
    "lengths": (saved("velocity", np.zeros((8, 3))), {}, "velocity.npy has 8"),
    "objects": (objects, {}, "velocity.npy: not a whole .npy file of numbers"),
    "cut": (cut, {}, "velocity.npy: not a whole .npy file of numbers"),
    "text": (lambda folder: (folder / "in" / "velocity.npy").write_text("1 2 3"), {}, "velocity.npy: not a whole"),
    "twice": (lambda folder: None, {"friction": 0.3}, "friction is also given as a number"),
    "word": (lambda folder: None, {"mixing": "much"}, "mixing='much': pass a number"),
    "chunk": (lambda folder: None, {"chunk": 0}, "chunk=0; pass a whole number"),
    "fields": (lambda folder: None, {"fields": ("impuls",)}, "fields=impuls; pass some of impulse"),
    "law": (lambda folder: None, {"law": "smit"}, "law='smit' is unknown; pass one of"),
    "parameter": (lambda folder: None, {"tangential_restitution": None}, "needs tangential_restitution"),
    "record": (wrong_record, {}, "stream.json: not the record of a stream; pass another destination"),
    "stranger": (stranger, {}, "impulse.npy: exists, but no stream.json describes it"),
    "a file": (lambda folder: (folder / "out").write_text(""), {}, "out: cannot be written"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_in_one_sentence(tmp_path: Path, name: str) -> None:
    spoil, options, sentence = MISTAKES[name]
    save(tmp_path / "in", draw(CHUNK))
    spoil(tmp_path)
    with pytest.raises(ValueError, match=sentence) as caught:
        solve_files(tmp_path / "in", tmp_path / "out", **{**LAW, **options})
    assert "\n" not in str(caught.value)


def test_destination_is_not_the_source(tmp_path: Path) -> None:
    source = save(tmp_path / "in", draw(CHUNK))
    with pytest.raises(StreamError, match="another folder as destination"):
        solve_files(source, tmp_path / "." / "in", **LAW, again=True)
    np.testing.assert_array_equal(np.load(source / "velocity.npy"), draw(CHUNK)["velocity"])


def test_full_disk_is_told_before_and_during(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = save(tmp_path / "in", draw(CHUNK))
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 100}))
        with pytest.raises(StreamError, match=r"the outputs take 1.79e-06 GB, and 1e-07 GB are free"):
            solve_files(source, tmp_path / "out", **LAW)

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    solve_files(source, tmp_path / "out", **LAW)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(StreamError, match="out: cannot be written: No space left on device"):
            solve_files(source, tmp_path / "out", **LAW, again=True)
    solve_files(source, tmp_path / "out", **LAW, again=True)
    check(tmp_path / "out", draw(CHUNK))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = draw(CHUNK)
    source, out = save(tmp_path / "in", arrays), tmp_path / "out"
    command = ["stream", str(source), "--out", str(out), "--law", LAW["law"]]
    assert main(command) == 2
    assert capsys.readouterr().err.count("\n") == 1
    command += ["--set", "tangential_restitution=0.3", "--chunk", "32"]
    assert main(command) == 0
    assert "OK" in capsys.readouterr().out
    check(out, arrays)
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["impacts"] == told["kept"] == CHUNK and told["outcomes"] == {"OK": CHUNK}
    assert main([*command, "--fields", "impulse"]) == 2
    assert "--again" in capsys.readouterr().err
    assert main([*command, "--fields", "impulse", "--again"]) == 0
    assert main([*command, "--set", "friction"]) == 2


def test_names_are_in_the_package() -> None:
    assert jimpact.solve_files is solve_files and Summary._fields[0] == "impacts"
