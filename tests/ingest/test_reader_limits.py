"""Hostile files in a folder: each is reported with its reason, the others are stored, and nothing outlives the add."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ingest.hostile_files import FILES, pdf_bomb, write_hostile_folder
from processes import helpers_of

import assay
from assay.bench.collection import from_folder
from assay.errors import BadFile, ConfigError
from assay.ingest import reader_limits
from assay.ingest.chunk_worker import ChunkSetup, FileTask, chunk_files
from assay.ingest.chunker import PROFILES
from assay.ingest.discovery import hash_content
from assay.ingest.file_reader import read_files
from assay.ingest.reader_limits import explain_crash, memory_limit, text_limit, time_limit
from assay.store.rows import encode_row
from assay.util.worker_pool import SingleWorker, WorkerCrashed

SETUP = ChunkSetup(PROFILES["default"], encode_row)


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_READER_MEMORY", "160")
    monkeypatch.setenv("ASSAY_READER_SECONDS", "1")
    monkeypatch.delenv("ASSAY_WORKERS", raising=False)


@pytest.mark.usefixtures("tight")
def test_a_hostile_folder_costs_the_hostile_files_only(tmp_path: Path) -> None:
    hostile = list(write_hostile_folder(tmp_path / "docs"))
    with assay.open(tmp_path / "kb", embedder="none") as kb:
        report = kb.add(tmp_path / "docs")
        assert set(kb.store.files("docs")) == {"docs/a.md", "docs/m.csv", "docs/z.html"}, report.problems
        assert kb.search("rotate the signing key").chosen.ids.size
    problems = dict(report.problems)
    assert set(problems) == {f"docs/{name}" for name in hostile}
    assert all(reason.text and reason.cure for reason in problems.values())
    memory = "reading it takes more than 160 MB of memory"
    assert memory in problems["docs/bomb.pdf"].text
    assert "ASSAY_READER_MEMORY" in problems["docs/bomb.docx"].cure
    assert "1 seconds of processor time" in problems["docs/names.csv"].text
    assert dict(report.ignored) == {
        "docs/back.txt": "a link that leads to itself",
        "docs/device.txt": "not a file but a device",
        "docs/folder": "a link to a folder; add the folder itself",
        "docs/outside.txt": "a link out of the added folder; add the file itself",
        "docs/pipe.txt": "not a file but a pipe",
        "docs/self.txt": "a link that leads to itself",
        "docs/there.txt": "a link that leads to itself",
    }
    assert helpers_of("assay.ingest.chunk_worker") == []


@pytest.mark.usefixtures("tight")
def test_the_lab_reads_a_hostile_folder_under_the_same_limits(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("An honest page.")
    (docs / "bomb.pdf").write_bytes(FILES["bomb.pdf"]())
    (docs / "z.html").write_text("<p>Another honest page.")
    found = from_folder(docs)
    assert [document.id for document in found.documents] == ["docs/a.md", "docs/z.html"]
    [(name, reason)] = found.problems
    assert name == "docs/bomb.pdf"
    assert "160 MB of memory" in reason


def test_memory_of_a_reader_stays_below_its_limit(tmp_path: Path) -> None:
    """The system refuses the reader more: its peak is what it starts with and the limit, whatever the file wants."""
    (tmp_path / "bomb.pdf").write_bytes(pdf_bomb(300))
    code = f"""
import resource, sys
from pathlib import Path
from assay.ingest.reader_limits import limit_memory
from assay.ingest.discovery import read_file
import pypdfium2
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
limit_memory()
import os
if os.fork() == 0:
    list(read_file(Path({str(tmp_path / "bomb.pdf")!r}), "bomb"))
    os._exit(0)
_, status = os.wait()
print(status != 0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - start)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ASSAY_READER_MEMORY": "100"},
    )
    failed, grown = done.stdout.split()
    assert failed == "True"
    assert int(grown) < 120 << 10


def test_text_that_grows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_limits, "CHARACTERS", 10_000)
    path = tmp_path / "names.csv"
    path.write_text("column " * 1_000 + ",x\n" + "1,2\n" * 1_000)
    *_, last = (event for part in chunk_files([FileTask(path, "names.csv", "")], SETUP) for event in part)
    assert last[1] == "problem"
    assert "its text is longer" in last[2].text
    assert last[2].cure


def test_limits_grow_with_the_file_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASSAY_READER_MEMORY", "ASSAY_READER_SECONDS"):
        monkeypatch.delenv(name, raising=False)
    assert (memory_limit(), time_limit(0), time_limit(3 << 20)) == (1 << 30, 60, 120)
    assert (text_limit(0), text_limit(2)) == (64 << 20, (64 << 20) + 100)
    monkeypatch.setenv("ASSAY_READER_MEMORY", "2")
    monkeypatch.setenv("ASSAY_READER_SECONDS", "7")
    assert (memory_limit(), time_limit(0)) == (2 << 20, 7)
    for wrong in ("x", "-1", "0", "1.5", "9" * 20):
        monkeypatch.setenv("ASSAY_READER_MEMORY", wrong)
        with pytest.raises(ConfigError, match="ASSAY_READER_MEMORY"):
            memory_limit()


def test_a_reader_that_waits_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It computes nothing, so only the clock ends it; the next file gets a new reader."""
    (tmp_path / "waiting_worker.py").write_text(
        "import time\n"
        "from assay.util.worker_pool import serve_tasks\n"
        "serve_tasks(lambda setup: lambda task: [task] if task != 'wait' else time.sleep(1e6))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with SingleWorker("waiting_worker", None, max_silence=0.5) as worker:
        assert list(worker.run("first")) == ["first"]
        with pytest.raises(WorkerCrashed) as caught:
            list(worker.run("wait"))
        assert list(worker.run("next")) == ["next"]
    assert caught.value.stalled
    assert "did nothing for" in explain_crash(caught.value, 0).text


def test_a_result_that_is_not_read_to_its_end_is_not_taken_for_the_next(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\n" + "row\n" * 5_000)
    (tmp_path / "b.csv").write_text("text\nanother\n")
    tasks = [FileTask(tmp_path / name, name, "") for name in ("a.csv", "b.csv")]
    first, second = [], []
    for place, events in enumerate(read_files(tasks, [1, 1], SETUP)):
        for kind, _ in events:
            (first, second)[place].append(kind)
            if place == 0:
                break
    assert first == ["hash"]
    assert second == ["hash", "chunks"]


def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "late.md")
    with pytest.raises(BadFile, match="not a regular file"):
        hash_content(tmp_path / "late.md")


def test_without_workers_this_process_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_WORKERS", "0")
    (tmp_path / "a.html").write_text("<p>read here")
    with assay.open(tmp_path / "kb", embedder="none") as kb:
        assert kb.add(tmp_path / "a.html").chunks_added == 1
