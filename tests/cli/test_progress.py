"""Progress where stderr is no terminal: a log gets lines, also while a task reports nothing; stdout gets none."""

from __future__ import annotations

import json
import queue
from pathlib import Path

import pytest

from assay.cli import progress
from assay.cli.progress import LOG_AFTER_S, LOG_EVERY_S, ProgressLog
from assay.embed.installed_models import find_model
from tests.cli.conftest import Run


@pytest.fixture
def every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every report is a line, as if each came fifteen seconds after the last."""
    monkeypatch.setattr(progress, "LOG_AFTER_S", 0.0)
    monkeypatch.setattr(progress, "LOG_EVERY_S", 0.0)


def test_a_log_gets_a_line_now_and_then() -> None:
    lines: list[str] = []
    now = [0.0]
    log = ProgressLog(lines.append, lambda: now[0])
    for second in range(30):
        now[0] = float(second)
        log.show("questions", second, 1_000)
    assert lines == [f"questions: {int(LOG_AFTER_S)} of 1,000", f"questions: {int(LOG_AFTER_S + LOG_EVERY_S)} of 1,000"]
    short = ProgressLog(lines.append, lambda: 0.0)
    short.show("quick", 1, None)
    assert len(lines) == 2, "what is done soon leaves no line"


def test_a_task_that_reports_nothing_is_shown_while_it_lasts() -> None:
    lines: list[str] = []
    now = [0.0]
    log = ProgressLog(lines.append, lambda: now[0])
    log.write_due()
    log.show("writing the report", 0, None)
    for second in (1.0, 6.0, 7.0, 22.0):
        now[0] = second
        log.write_due()
    assert lines == ["writing the report: under way for 6 s", "writing the report: under way for 22 s"]
    log.show("index", 3, 3)
    now[0] = 100.0
    log.write_due()
    assert len(lines) == 2, "a complete task is not repeated"


def test_a_thread_writes_what_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "POLL_S", 0.01)
    lines: queue.Queue[str] = queue.Queue()
    now = [0.0]
    with ProgressLog(lines.put, lambda: now[0]).watch() as log:
        log.show("vectors", 1, 2)
        now[0] = 60.0
        assert lines.get(timeout=60) == "vectors: 1 of 2"


@pytest.mark.usefixtures("every_call")
def test_add_and_optimize_report(run: Run, handbook: Path, tmp_path: Path) -> None:
    store = tmp_path / "new"
    added = run("add", handbook, "--store", store, "--embedder", "none", "--json")
    assert added.exit_code == 0, added.output
    assert "reading: 4 of 4 · " in added.stderr
    assert json.loads(added.stdout)["added"] == 4
    assert "reading" not in added.stdout
    built = run("optimize", "--force", "--store", store)
    assert built.exit_code == 0, built.output
    tasks = {line.split(":")[0] for line in built.stderr.splitlines()}
    assert "indexing" in tasks
    assert built.stdout.startswith("indexed ")


@pytest.mark.usefixtures("every_call")
def test_bench_run_reports(run: Run, tmp_path: Path) -> None:
    done = run(
        *("bench", "run", "tiny", "--systems", "bm25", "--embedder", "none", "--no-baselines", "--json"),
        env={"XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.exit_code == 0, done.output
    lines = done.stderr.splitlines()
    for line in ("adding documents: 42 of 42", "bm25: 10 of 10"):
        assert line in lines
    assert set(json.loads(done.stdout)) == {"bm25"}


@pytest.mark.usefixtures("every_call")
@pytest.mark.skipif(find_model("minilm") is None, reason="no embedding model is installed")
def test_rb006_run_reports(run: Run, tmp_path: Path) -> None:
    """The stages of a run, and the end of it, which reports nothing on the way."""
    done = run("bench", "rb006", "run", "--quick", "--scale", "10k", "--systems", "bm25", "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    tasks = {line.split(":")[0] for line in done.stderr.splitlines()}
    assert {"simulating departments", "building queries", "testing and writing the report"} <= tasks
    assert json.loads(done.stdout)["digest"]
