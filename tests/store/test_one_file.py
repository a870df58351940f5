"""One file that holds everything: what lies beside it, who may open it, and what survives."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import assay
from assay import memory
from assay.errors import StoreError
from assay.text.term_encoding import encode_term
from assay.upkeep.backup import backup, restore
from assay.upkeep.doctor import examine


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "only" / "notes.sqlite"
    with assay.open(path) as kb:
        kb.add([{"id": "a", "text": "The vault code is Zanzibar-4711."}, {"id": "b", "text": "Lunch is at noon."}])
    return path


def test_terms_are_spelt_so_that_no_two_are_alike() -> None:
    terms = ["z", "zz", "z7a", "a b", "ab", "é", "e", "C", "c", "東京", "v1.29.3", "v1293", "_", "-", "a_b"]
    spellings = [encode_term(term) for term in terms]
    assert len(set(spellings)) == len(terms)
    assert all(s.isascii() and s.isalnum() and s == s.lower() for s in spellings)


def test_only_the_journal_lies_beside_the_file(notes: Path) -> None:
    assert {p.name for p in notes.parent.iterdir()} == {"notes.sqlite", "notes.sqlite-commits"}
    with memory.open(notes) as mem:
        mem.store("The key hangs in the office.")
        beside = {p.name for p in notes.parent.iterdir()}
        assert beside <= {"notes.sqlite", "notes.sqlite-wal", "notes.sqlite-shm", "notes.sqlite-commits"}
    assert {p.name for p in notes.parent.iterdir()} == {"notes.sqlite", "notes.sqlite-commits"}


def test_it_may_lie_in_the_folder_it_indexes(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One\n\nwords to find")
    with assay.open(tmp_path / "notes.sqlite") as kb:
        for _ in range(2):
            report = kb.add(tmp_path)
            assert (report.files, report.problems) == (1, [])
        assert [hit.text for hit in kb.search("words")] == ["words to find"]


def test_a_newer_format_is_refused(notes: Path) -> None:
    with sqlite3.connect(notes) as db:
        db.execute("UPDATE setting SET value = '99' WHERE key = 'format'")
    db.close()
    with pytest.raises(StoreError, match="format 99") as told:
        assay.open(notes)
    assert "upgrade" in told.value.cure


def test_a_folders_database_is_not_taken_for_one(tmp_path: Path, notes: Path) -> None:
    with assay.open(tmp_path / "kb") as kb:
        kb.add(["words"])
    with pytest.raises(StoreError, match="not a one-file store") as told:
        assay.open(tmp_path / "kb" / "assay.sqlite")
    assert "name the folder" in told.value.cure
    (tmp_path / "other").mkdir()
    notes.rename(tmp_path / "other" / "assay.sqlite")
    with pytest.raises(StoreError, match="one file store"):
        assay.open(tmp_path / "other")


@pytest.mark.parametrize(
    "content", [b"", b"no database at all, just text " * 40, b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_another_file_is_not_taken_for_one_nor_harmed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="not a one-file store") as told:
        assay.open(path)
    assert told.value.cure
    assert path.read_bytes() == content


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "their.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE setting (key TEXT, value TEXT)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a one-file store"):
        assay.open(path)
    assert path.read_bytes() == before  # not even its journal mode


def test_a_folder_of_that_name_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.sqlite").mkdir()
    with pytest.raises(StoreError):
        assay.open(tmp_path / "notes.sqlite")


def test_a_read_only_file_is_searched_and_not_written(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    with assay.open(notes) as kb:
        assert [hit.chunk.doc_id for hit in kb.search("vault")] == ["a"]
        with pytest.raises(StoreError, match="read-only") as told:
            kb.add(["more"])
        assert told.value.cure
        assert kb.optimize(force=True) is False


def test_words_of_another_analyser_are_read_anew(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.text.analyser.VERSION", 99)
    with assay.open(notes) as kb:
        assert [hit.chunk.doc_id for hit in kb.search("vault code")] == ["a"]
        assert kb.store.setting("analyser") == kb.snapshot().analyser.digest
        assert kb.store.find_damage(deep=True) == ""
    monkeypatch.setattr("assay.text.analyser.VERSION", 100)
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    with pytest.raises(StoreError, match="another release of the analyser"):
        assay.open(notes)


def test_two_releases_do_not_write_one_index(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with assay.open(notes) as kb:
        with sqlite3.connect(notes) as db:
            db.execute("UPDATE setting SET value = ? WHERE key = 'analyser'", (json.dumps("other"),))
        db.close()
        with pytest.raises(StoreError, match="another release"):
            kb.add(["more"])


def test_a_purge_leaves_no_byte_of_the_text(notes: Path) -> None:
    with memory.open(notes, clock=lambda: 1e9) as mem:
        kept = mem.store("The office is open on Mondays.")
        gone = mem.store("The Zebrafinch project is secret.")
        mem.update(gone.id, scope="global", text="The Zebrafinch project is very secret.")
        assert b"ebrafinch" in notes.read_bytes() or (notes.parent / "notes.sqlite-wal").exists()
        done = mem.forget(gone.id, scope="global", purge=True)
        assert any(line.startswith("notes.sqlite: 2 rows") for line in done.erased)
        assert mem.get(kept.id, scope="global").text == "The office is open on Mondays."
        assert mem.kb.store.find_damage(deep=True) == ""
    left = notes.read_bytes().lower()
    assert b"zebrafinch" not in left
    assert encode_term(memory_term("Zebrafinch")).encode() not in left


def memory_term(word: str) -> str:
    from assay.text.analyser import Analyser

    (term,) = Analyser().terms(word)
    return term


def test_forgetting_the_past_shrinks_the_index_too(notes: Path) -> None:
    with assay.open(notes) as kb:
        kb.remove("a")
        assert len(kb.search("vault", snapshot="v1")) == 1
        kb.tag("now")
        assert kb.forget_before("now") == 1
        with pytest.raises(StoreError):
            kb.search("vault", snapshot="v1")
        assert [hit.chunk.doc_id for hit in kb.search("lunch vault")] == ["b"]
        assert kb.store.find_damage(deep=True) == ""
        assert kb.store.db.execute("SELECT count(*) FROM doc").fetchone() == (1,)


def test_a_store_in_the_folder_it_indexes_is_no_document_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a word", "utf-8")
    (tmp_path / "other.sqlite-wal").write_bytes(b"")
    with assay.open(tmp_path / "notes.sqlite") as kb:
        report = kb.add(tmp_path)
        assert (tmp_path / "notes.sqlite-wal").exists()
    assert report.files == 1
    assert [name.rpartition("/")[2] for name, _ in report.ignored] == ["other.sqlite-wal"]


def test_a_backup_is_a_store_of_the_same_kind(notes: Path, tmp_path: Path) -> None:
    with assay.open(notes) as kb:
        backup(kb.store, tmp_path / "copy.bak")
        expected = kb.snapshot().digest
    restore(tmp_path / "copy.bak", tmp_path / "again.sqlite").close()
    with assay.open(tmp_path / "again.sqlite") as kb:
        assert kb.snapshot().digest == expected
        assert [hit.chunk.doc_id for hit in kb.search("vault")] == ["a"]
    with pytest.raises(StoreError, match="one file store"):
        restore(tmp_path / "copy.bak", tmp_path / "folder")


def test_the_doctor_sees_a_word_index_that_lost_rows(notes: Path) -> None:
    assert [c.state for c in examine(notes, deep=True)] == ["ok"] * 6
    with sqlite3.connect(notes) as db:
        db.execute("DELETE FROM doc WHERE seq = 1")
    db.close()
    notes.with_name(f"{notes.name}-commits").unlink()  # or the file would not be opened at all
    (found,) = [check for check in examine(notes, deep=True) if check.name == "database"]
    assert (found.state, "word index" in found.text) == ("fail", True)


WRITER = """
import sys, assay
with assay.open(sys.argv[1], embedder="none") as kb:
    for number in range(int(sys.argv[3])):
        kb.add([{"id": f"{sys.argv[2]}-{number}", "text": f"record {number} of {sys.argv[2]} common"}])
        print(number, flush=True)
"""


def write(path: Path, name: str, many: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path), name, str(many)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    writers = [write(path, name, 12) for name in ("one", "two")]
    for child in writers:
        with child:
            child.communicate()
        assert child.returncode == 0
    with assay.open(path) as kb:
        assert kb.snapshot().size == 24
        assert len(kb.search("common", k=50)) == 24
        assert kb.store.find_damage(deep=True) == ""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    with write(path, "one", 10_000) as child:
        assert child.stdout is not None
        acknowledged = [child.stdout.readline() for _ in range(5)]
        time.sleep(0.03)
        os.kill(child.pid, signal.SIGKILL)
        acknowledged += child.stdout.readlines()
    with assay.open(path) as kb:
        found = {hit.chunk.doc_id for hit in kb.search("common", k=10_000)}
        assert found >= {f"one-{int(line)}" for line in acknowledged if line.endswith("\n")}
        assert kb.store.find_damage(deep=True) == ""
        assert len(found) == kb.snapshot().size


def test_a_locked_file_is_busy_and_nothing_is_lost(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.store.connections._BUSY_SECONDS", 0.05)
    with assay.open(notes) as kb:
        other = sqlite3.connect(notes, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="busy") as told:
            kb.add(["more"])
        assert told.value.cure
        assert [hit.chunk.doc_id for hit in kb.search("vault")] == ["a"]
        other.execute("ROLLBACK")
        other.close()
        kb.add(["more"])
        assert kb.snapshot().size == 3
