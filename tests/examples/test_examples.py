"""Every example runs as a newcomer would run it, in a fresh copy, and prints its telling lines in order."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay import kb

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TELLING = {
    "demo.py": [
        "28 files: 28 added",
        "The firmware signing key › Rotating the signing key",
        "Sick leave › Staying at home",
        "bm25 0 in",  # no word of the question is on any page
        "Gauge at Pellworm",
        "Gauge at Wyk",  # what meaning alone says
        "Rank 1 of 10 results",
        "Everybody has 26 days",
        "it was created after the moment asked about",
        "28 unchanged",
        "export ASSAY_STORE=.demo/kb",
    ],
    "python_api.py": [
        "28 files became",
        "1. The firmware signing key › Rotating the signing key",
        " = bm25 #1 +",
        "The rubber boots moved to the shed.",
        "The loft › Kitchen: it is in the ranking, below the 3 that were asked for",
        "answered",
    ],
    "filters_and_time.py": [
        "not outdated   Vacation policy (",
        "in German      Urlaub und Feiertage",
        "deep water     Gauge at Wyk (14 tokens), Gauge at Büsum",
        "mid 2024       Vacation policy 2023 (",
        "mid 2025       Vacation policy (",
        "after removal  Vacation policy 2023 (",
        "as it was      Vacation policy (",
        "100 tokens     Security incidents (40 tokens)",
    ],
    "own_pipeline.py": [
        "own_pipeline ",
        "can I work from abroad?",
        "own_pipeline 1. Working remotely › From another country",
        "how am I paid for being on call?",
        "own_pipeline 1. On call › Pay and rest",
        "what changed in v1.28.0?",
        "own_pipeline 1. Gateway releases › v1.28.0",
    ],
    "own_component.py": ["1. Gateway releases › v1.28.0", "coverage ×"],
    "own_fuser.py": ["1. On call › Pay and rest", "1.0000 = best +1"],
    "router.py": [
        "The firmware signing key: not_triggered, term_coverage_below 0.5, the best 3 of first cover 1.000",
        "1998: ran, term_coverage_below 0.5, the best 3 of first cover 0.4",
        "replayed, the same: True",
        "The loft: failed, term_coverage_below 0.5",
        "degraded: second skipped: there is no store at",
    ],
    "office_files.py": [],
}


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A copy of the examples, as in a fresh clone."""
    return Path(shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__")))


def run(script: Path, **environment: str) -> str:
    """What a script prints; it must end well."""
    plain = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1", **environment}
    kept = {key: value for key, value in os.environ.items() if key != "ASSAY_STORE"}
    ran = subprocess.run([sys.executable, script], env={**kept, **plain}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def check_order(printed: str, lines: list[str]) -> None:
    at = 0
    for line in lines:
        assert line in printed[at:], f"{line!r} does not come, or comes too early, in:\n{printed}"
        at = printed.index(line, at) + len(line)


def test_every_example_is_tested() -> None:
    assert sorted(TELLING) == sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("name", [name for name in TELLING if name != "demo.py"])
def test_example(name: str, fresh: Path) -> None:
    check_order(run(fresh / name), TELLING[name])


@pytest.mark.usefixtures("model")
def test_demo_runs_and_runs_again(fresh: Path) -> None:
    for _ in range(2):
        check_order(run(fresh / "demo.py"), TELLING["demo.py"])


def test_demo_without_the_model_says_so_and_goes_on(fresh: Path, tmp_path: Path) -> None:
    printed = run(fresh / "demo.py", ASSAY_HOME=str(tmp_path / "nothing here"))
    lines = ["The embedding model is not installed", "cure: assay model install", "words only", "28 unchanged"]
    check_order(printed, lines)
    assert "Nothing found for “what happens if I fall ill?”" in printed
    assert "degraded" in printed


def test_office_files_are_what_their_script_writes(fresh: Path) -> None:
    files = ["product/field-card.pdf", "people/first-week.docx"]
    committed = [(EXAMPLES / "handbook" / name).read_bytes() for name in files]
    for name in files:
        (fresh / "handbook" / name).unlink()
    run(fresh / "office_files.py")
    assert [(fresh / "handbook" / name).read_bytes() for name in files] == committed
    assert all(len(written) < 30_000 for written in committed)


def test_the_sample_is_small_and_whole(tmp_path: Path) -> None:
    with kb.open(tmp_path / "kb", embedder="none") as base:
        report = base.add(EXAMPLES / "handbook")
        chunks = list(base.chunks())
        assert report.problems == report.ignored == []
        assert report.added == 28
        assert 40 <= len(chunks) <= 70
        assert {chunk.meta["lang"] for chunk in chunks} == {"en", "de"}
        assert len(base.search("what happens if I fall ill?", pipeline="bm25")) == 0
        for identifier in ("JINA_API_KEY", "CVE-2024-1234", "v1.29.3"):
            assert identifier in base.search(identifier, k=1)[0].chunk.indexed_text
