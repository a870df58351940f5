"""A folder read by worker processes gives the same store as one read in this process, also after crashes."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from processes import helpers_of

from assay import sync
from assay.ingest.add_report import Event
from assay.ingest.chunk_worker import BLOCK, GROUP, GROUP_BYTES, ChunkSetup, FileTask, chunk_files, group_tasks
from assay.ingest.chunker import PROFILES
from assay.store.rows import StoredRow, encode_row
from assay.store.sqlite import SqliteStore
from assay.sync import Sync
from assay.types import Chunk

DEFAULT = PROFILES["default"]
UNCHANGED = ChunkSetup(DEFAULT, lambda chunk: chunk)
SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixty small files, some empty, one broken, and one that has more chunks than a block."""
    root = tmp_path / "notes"
    root.mkdir()
    for n in range(60):
        body = "" if n % 20 == 7 else f"# Page {n}\n\n" + f"Sentence {n} says little. " * (n * 7)
        (root / f"{n:02d}.md").write_text(body, "utf-8")
    (root / "30-broken.docx").write_bytes(b"PK\x03\x04 no archive")
    (root / "40-rows.jsonl").write_text("\n".join(f'{{"text": "row {n}"}}' for n in range(BLOCK + 500)), "utf-8")
    monkeypatch.setattr(sync, "WORKER_BYTES", 0)
    return root


def add(folder: Path, store: Path, monkeypatch: pytest.MonkeyPatch, workers: int, on_event: Any = None) -> Sync:
    monkeypatch.setenv("ASSAY_WORKERS", str(workers))
    opened = SqliteStore.open(store) if SqliteStore.exists(store) else SqliteStore.create(store, SETTINGS)
    run = Sync(opened, None, DEFAULT, on_event or (lambda _: None))
    run.add_folder(folder, "notes")
    opened.close()
    return run


def content(store: Path) -> list[Any]:
    opened = SqliteStore.open(store)
    rows = opened.db.execute("SELECT seq, id, doc_id, origin, text, tokens, meta, facts, born FROM chunk").fetchall()
    files = opened.db.execute("SELECT * FROM file ORDER BY origin").fetchall()
    opened.close()
    return [rows, files]


def test_the_store_is_the_same(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []
    serial = add(folder, tmp_path / "serial", monkeypatch, 0)
    parallel = add(folder, tmp_path / "parallel", monkeypatch, 2, events.append)
    assert serial.report == parallel.report
    assert [name for name, _ in parallel.report.problems] == ["notes/30-broken.docx"]
    assert parallel.report.chunks_added > BLOCK
    assert content(tmp_path / "serial") == content(tmp_path / "parallel")
    done = [event.done for event in events]  # a long file reports more than once
    assert done == sorted(done)
    assert sorted(set(done)) == list(range(1, 63))
    assert [event.name for event in events] == sorted(event.name for event in events)


def test_again_nothing_is_read_and_a_change_is_seen(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "WORKER_FILES", 0)
    add(folder, tmp_path / "kb", monkeypatch, 2)
    before = content(tmp_path / "kb")
    again = add(folder, tmp_path / "kb", monkeypatch, 2)
    assert (again.report.unchanged, again.report.chunks_added, again.report.chunks_kept) == (61, 0, 0)
    assert content(tmp_path / "kb") == before
    (folder / "59.md").write_text("# Page 59\n\nAnother sentence.", "utf-8")
    (folder / "58.md").unlink()
    changed = add(folder, tmp_path / "kb", monkeypatch, 2)
    assert (changed.report.changed, changed.report.removed, changed.report.chunks_added) == (1, 1, 1)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to see what a process reads")
def test_a_reader_that_is_killed_costs_its_file_only(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = folder / "50-large.jsonl"
    victim.write_text("\n".join(f'{{"text": "row {n}"}}' for n in range(20_000)), "utf-8")
    killer = threading.Thread(target=_kill_reader_of, args=(victim,))
    killer.start()
    run = add(folder, tmp_path / "kb", monkeypatch, 2)
    killer.join()
    [(name, reason)] = run.report.problems[1:]
    assert name == "notes/50-large.jsonl"
    assert reason.text.startswith("its reader crashed: ")
    assert "ASSAY_READER_MEMORY" in reason.cure
    assert run.report.added == 61
    assert add(folder, tmp_path / "kb", monkeypatch, 2).report.added == 1  # the next run can read it
    assert helpers_of("assay.ingest.chunk_worker") == []


def _kill_reader_of(path: Path) -> None:
    while True:
        for pid in helpers_of("assay.ingest.chunk_worker"):
            with contextlib.suppress(OSError):
                if any(os.readlink(entry) == str(path) for entry in Path(f"/proc/{pid}/fd").iterdir()):
                    os.kill(pid, signal.SIGKILL)
                    return


def test_without_workers_this_process_reads_the_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "no-python"))
    assert add(folder, tmp_path / "kb", monkeypatch, 2).report.added == 61


def test_blocks_are_bounded_and_the_hash_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(f'{{"text": "row {n}"}}' for n in range(2 * BLOCK + 1)), "utf-8")
    parts = list(chunk_files([FileTask(path, "rows.jsonl", "")], UNCHANGED))
    first = parts[0][0]
    assert first[:2] == (0, "hash")
    assert {kind for part in parts for _, kind, _ in part[1:]} == {"chunks"}
    assert all(0 < sum(len(chunks) for _, kind, chunks in part if kind == "chunks") <= BLOCK for part in parts)
    texts = [chunk.text for part in parts for _, kind, chunks in part if kind == "chunks" for chunk in chunks]
    assert texts == [f"row {n}" for n in range(2 * BLOCK + 1)]
    assert list(chunk_files([FileTask(path, "rows.jsonl", first[2])], UNCHANGED)) == [[first]]


def test_a_document_of_many_chunks_comes_in_blocks(tmp_path: Path) -> None:
    path = tmp_path / "long.md"
    path.write_text("\n".join(f"# Part {n}\n\nSentence {n}." for n in range(BLOCK + 5)), "utf-8")
    parts = list(chunk_files([FileTask(path, "long.md", "")], UNCHANGED))
    assert [sum(len(chunks) for _, kind, chunks in part if kind == "chunks") for part in parts] == [BLOCK, 5]


def test_together_as_one_by_one(folder: Path) -> None:
    """The events of a file do not depend on the files it is read with, be they bad, empty, or unchanged."""
    (folder / "10-gone.md").symlink_to(folder / "nowhere.md")
    tasks = [FileTask(path, path.name, "") for path in sorted(folder.iterdir())]
    (_, _, digest), *_ = next(chunk_files([tasks[3]], UNCHANGED))
    tasks[3] = tasks[3]._replace(known=digest)
    together = [event for part in chunk_files(tasks, UNCHANGED) for event in part]
    alone = [
        (n, *event[1:]) for n, task in enumerate(tasks) for part in chunk_files([task], UNCHANGED) for event in part
    ]
    assert repr(together) == repr(alone)  # repr: NaN is not equal to itself
    assert sorted({number for number, kind, _ in together if kind == "problem"}) == [10, 31]


def test_small_files_go_together_and_large_ones_alone() -> None:
    tasks = [FileTask(Path(str(n)), str(n), "") for n in range(GROUP + 5)]
    sizes = [1] * (GROUP + 1) + [GROUP_BYTES + 1, GROUP_BYTES - 1, 1, 1]
    groups = group_tasks(tasks, sizes)
    assert [task for group in groups for task in group] == tasks
    assert [len(group) for group in groups] == [GROUP, 1, 1, 2, 1]
    assert group_tasks([], []) == []


def test_a_crash_among_small_files_costs_the_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that dies of one file of a group costs only that file."""
    root = tmp_path / "notes"
    root.mkdir()
    for n in range(8):
        (root / f"{n}.md").write_text(f"# Page {n}\n\nSentence {n}.", "utf-8")
    opened = SqliteStore.create(tmp_path / "kb", SETTINGS)
    run = Sync(opened, None, DEFAULT)
    run._setup = ChunkSetup(DEFAULT, dies_of_page_3)
    monkeypatch.setenv("ASSAY_WORKERS", "2")
    monkeypatch.setattr(sync, "WORKER_BYTES", 0)
    report = run.add_folder(root, "notes")
    [(name, reason)] = report.problems
    assert name == "notes/3.md"
    assert reason.text.startswith("its reader crashed: ")
    assert report.added == 7
    opened.close()


def dies_of_page_3(chunk: Chunk) -> StoredRow:
    if chunk.doc_id == "notes/3.md":
        os.kill(os.getpid(), signal.SIGKILL)
    return encode_row(chunk)


def test_a_file_that_is_gone_is_a_problem(tmp_path: Path) -> None:
    [[(_, kind, reason)]] = chunk_files([FileTask(tmp_path / "gone.md", "gone.md", "")], UNCHANGED)
    assert kind == "problem"
    assert "gone.md" in reason.text
