"""Files that were verified once are not verified again, until they are written; and what happens to open files is
noticed in the background."""

import json
import os
import time
from pathlib import Path

import pytest

from assay import kb
from assay.backend.local import background_checks
from assay.index import verified_files
from assay.index.checksums import FolderChecks
from tests.backend.scoped_store import make_scoped_store

pytestmark = pytest.mark.skipif(not verified_files._boot(), reason="only Linux names the starts of a machine")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose index was verified and recorded."""
    path = make_scoped_store(tmp_path / "kb")
    monkeypatch.setattr(verified_files, "_SETTLED", -1.0)  # else only files older than two seconds are recorded
    with kb.open(path) as base:
        base.search("heron", pipeline="bm25")
    monkeypatch.undo()
    assert (generation(path) / verified_files.NAME).is_file()
    return path


def generation(folder: Path) -> Path:
    (found,) = [path for path in (folder / "generations").iterdir() if not path.name.startswith(".")]
    return found


def flip_in_place(path: Path) -> None:
    """Change one bit without changing the length, the inode or the time of the last change of the content."""
    before = path.stat()
    with path.open("r+b") as file:
        byte = file.read(1)[0]
        file.seek(0)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read: list[str] = []
    original = FolderChecks.read

    def spy(checks, name, *rest):
        read.append(name)
        return original(checks, name, *rest)

    monkeypatch.setattr(FolderChecks, "read", spy)
    return read


def test_a_recorded_file_is_not_read_again(folder: Path, monkeypatch) -> None:
    read = count_reads(monkeypatch)
    with kb.open(folder) as base:
        assert len(base.search("heron", k=3, pipeline="bm25", where='scope = "user:a"').hits) == 3
    assert read == []


@pytest.mark.parametrize("name", ["ids.blob", "postings.rows", "lengths", "number.created"])
def test_a_recorded_file_that_is_written_is_verified_again(folder: Path, name: str) -> None:
    with kb.open(folder) as base:
        before = [
            (hit.id, hit.score) for hit in base.search("heron number7", pipeline="bm25", where="created is missing")
        ]
    flip_in_place(generation(folder) / name)
    with kb.open(folder) as base:
        answer = base.search("heron number7", pipeline="bm25", where="created is missing")
        assert [(hit.id, hit.score) for hit in answer] == before
        assert any(name in str(problem) for problem in answer.status.problems)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"boot": 1, "files": 3}', '{"boot": "another", "files": {}}'])
def test_a_damaged_record_records_nothing(folder: Path, content: str, monkeypatch) -> None:
    (generation(folder) / verified_files.NAME).write_text(content)
    read = count_reads(monkeypatch)
    with kb.open(folder) as base:
        base.search("heron", pipeline="bm25")
    assert "lengths" in read


def test_a_record_of_another_start_of_the_machine_counts_for_nothing(folder: Path, monkeypatch) -> None:
    record = json.loads((generation(folder) / verified_files.NAME).read_text())
    record["boot"] = "another"
    (generation(folder) / verified_files.NAME).write_text(json.dumps(record))
    assert verified_files.read_verified(generation(folder)) == {}


def test_a_file_that_was_just_written_is_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    identities = verified_files.identify_all(tmp_path, ["a", "missing"])
    assert list(identities) == ["a"]
    assert verified_files.settled(identities) == {}
    identities["a"][-1] -= 3_000_000_000
    assert list(verified_files.settled(identities)) == ["a"]


def test_damage_of_an_open_index_is_found_in_the_background(folder: Path, monkeypatch) -> None:
    for name in ("_START", "_PAUSE", "_INTERVAL"):
        monkeypatch.setattr(background_checks, name, 0.0 if name != "_INTERVAL" else 0.01)
    with kb.open(folder) as base:
        before = [hit.id for hit in base.search("heron number7", pipeline="bm25")]
        base.search("heron", pipeline="bm25")  # the thread starts with the second search
        flip_in_place(generation(folder) / "postings.counts")
        while base.backend.damage is None:
            time.sleep(0.01)
        answer = base.search("heron number7", pipeline="bm25")
        assert [hit.id for hit in answer] == before
        assert any("postings.counts" in str(problem) for problem in answer.status.problems)
    with kb.open(folder) as base:  # rebuilt for good
        assert base.search("heron", pipeline="bm25").status.problems == ()


def test_a_changed_time_alone_is_no_damage(folder: Path) -> None:
    manifest = json.loads((generation(folder) / "manifest.json").read_text())
    checks = FolderChecks(generation(folder), manifest)
    os.utime(generation(folder) / "lengths")
    pauses: list[int] = []
    checks.read_changed(lambda: pauses.append(1))
    checks.read_changed(lambda: pauses.append(1))
    assert len(pauses) == 1  # read once more, not again and again
