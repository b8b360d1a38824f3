"""`jimpact audit`, `fit` and `compare`: tables, JSON, a report that a browser shows, and sentences for bad input."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from jimpact.cli.main import main
from jimpact.identify import load_rebounds

HEADER = "group,mass,inertia,rx,ry,vx,vy,w,vx_after,vy_after,w_after,noise_vx,noise_vy,noise_w"
FAST = ["--law", "chatterjee_ruina", "--fix", "tangential_restitution=0", "--starts", "8", "--resamples", "16"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Disks that slide and stick: friction 0.2, restitution 0.7, tangential restitution 0 in closed form."""
    rng, rows = np.random.default_rng(0), [HEADER]
    m, I, r = 0.05, 2e-5, 0.03
    for i in range(40):
        vx, vy, w = rng.normal(0, 1), -rng.uniform(1, 3), rng.normal(0, 10)
        p = 1.7 * m * -vy
        stop = -(vx + r * w) / (1 / m + r * r / I)
        t = float(np.clip(stop, -0.2 * p, 0.2 * p))
        after = np.array([vx + t / m, vy + p / m, w + r * t / I]) + rng.normal(size=3) * [0.01, 0.01, 0.5]
        cells = [m, I, 0, -r, vx, vy, w, *after, 0.01, 0.01, 0.5]
        rows.append(f"<b>day {i % 8}</b>," + ",".join(f"{x:.9g}" for x in cells))
    path = tmp_path_factory.mktemp("data") / "drops <script>.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def report(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    assert main(["fit", str(table), *FAST, "--out", str(out)]) == 0
    return out


def test_fit_finds_the_truth(report: Path) -> None:
    found = json.loads((report / "fit.json").read_text())
    for name, truth in (("friction", 0.2), ("restitution", 0.7)):
        assert abs(found["estimate"][name] - truth) < 4 * found["standard_error"][name]
        assert all(
            found["intervals"][method][name][0] < truth + 0.02 for method in ("curvature", "profile", "bootstrap")
        )
    assert found["identifiable"]["friction"]["identifiable"] is True


def test_report_is_one_page_without_anything_from_elsewhere(report: Path) -> None:
    page = (report / "report.html").read_text()
    assert not re.search(r"(?:src|href)\s*=\s*(?![\"']?data:)", page)
    assert page.count("<img") >= 4


def test_text_of_the_user_is_escaped(report: Path) -> None:
    page = (report / "report.html").read_text()
    assert "<script" not in page and "drops &lt;script&gt;.csv" in page


def test_a_browser_shows_the_report(report: Path, tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser: install one of {', '.join(BROWSERS)}")
    count = """<script>addEventListener('load', () => {
        const shown = [...document.images].filter(image => image.naturalWidth > 200).length
        const rows = document.querySelectorAll('tbody tr').length
        document.title = `${shown} images, ${rows} rows, wide ${document.documentElement.scrollWidth > innerWidth}`
    })</script>"""
    copy = tmp_path / "report.html"
    page = (report / "report.html").read_text()
    copy.write_text(page + count)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [browser, *flags, "--window-size=1000,800", "--virtual-time-budget=5000", "--dump-dom", copy.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    title = re.search(r"<title>(\d+) images, (\d+) rows, wide (\w+)</title>", shown)
    assert title, shown[:300]
    assert int(title[1]) == page.count("<img") and int(title[2]) > 10 and title[3] == "false"


def test_audit_prints_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(table), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["count"] == 40 and found["suspicions"] == []


def test_compare_names_the_best_law(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laws = ["--laws", "chatterjee_ruina,bilinear", "--folds", "4", "--starts", "8"]
    assert main(["compare", str(table), *laws, "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "compare.json").read_text())
    assert {law["law"] for law in found["laws"]} == {"chatterjee_ruina", "bilinear"}  # the same for disks
    assert "chatterjee_ruina" in capsys.readouterr().out and "<img" in (tmp_path / "compare.html").read_text()


def test_the_embedded_rebounds_say_their_truth() -> None:
    path = Path(__file__).resolve().parents[2] / "jimpact" / "data" / "rebounds.csv"
    rebounds = load_rebounds(path)
    assert len(rebounds) == 160 and "friction 0.22, restitution 0.55" in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "none.csv"], "none.csv: cannot be read"),
        (["fit", "{table}", "--law", "hooke"], "--law hooke: unknown"),
        (["fit", "{table}", "--law", "smith", "--fix", "mixing=0.5"], "has no mixing"),
        (["fit", "{table}", "--fix", "friction"], "--fix friction: pass NAME=NUMBER"),
        (["fit", "{table}", "--parameters", "bounce"], "--parameters bounce: unknown"),
        (["fit", "{table}", "--starts", "0"], "starts=0"),
        (["fit", "{table}", "--resamples", "1"], "--resamples 1"),
        (["fit", "{table}", "--out", "{table}"], "is a file; pass a folder"),
        (["compare", "{table}", "--folds", "99"], "folds=99"),
        (["compare", "{table}", "--laws", "hooke"], "law='hooke' is unknown"),
        (["audit", "{table}", "--set", "mass=heavy"], "--set mass=heavy: pass NAME=NUMBER"),
    ],
)
def test_bad_input_is_one_sentence(
    table: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([argument.replace("{table}", str(table)) for argument in arguments]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
