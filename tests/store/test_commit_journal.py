"""The journal beside the database: lost commits, changed files and vanished rows are noticed when a store is opened."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.backend.addresses import create_backend, open_backend
from assay.errors import StoreError
from assay.store.commit_journal import CommitJournal
from assay.types import Chunk
from assay.upkeep.doctor import accept, examine

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
VECTORS = {**SETTINGS, "embedder": "hash", "model": "m", "dim": 4}


@pytest.fixture(params=["kb", "kb.sqlite"])
def place(request, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    create_backend(path, SETTINGS).close()
    for number in range(4):
        put(path, f"c{number}")
    return path


def put(path: Path, name: str) -> None:
    backend = open_backend(path)
    backend.put([(Chunk(name, name, f"text of {name}", 3), None)])
    backend.close()


def database(path: Path) -> Path:
    return path / "assay.sqlite" if path.is_dir() else path


def ids(path: Path) -> list[str]:
    backend = open_backend(path)
    view = backend.snapshot()
    found = [str(name) for name in view.ids(view.live_rows(None))]
    backend.close()
    return found


def test_an_older_database_put_back_has_lost_commits(place: Path, tmp_path: Path) -> None:
    shutil.copyfile(database(place), tmp_path / "older")
    put(place, "c4")
    shutil.copyfile(tmp_path / "older", database(place))
    with pytest.raises(StoreError, match=r"lost 1 acknowledged commit: it is at v4, and v5") as caught:
        open_backend(place)
    assert "assay doctor --accept" in caught.value.cure
    assert next(check.state for check in examine(place)) == "fail"
    assert accept(place) == 4
    assert ids(place) == ["c0", "c1", "c2", "c3"]
    put(place, "c5")
    assert ids(place)[-1] == "c5"


WRITER = """
import os, sys
from assay.backend.addresses import open_backend
from assay.types import Chunk
backend = open_backend(sys.argv[1])
for name in ("x", "y", "z"):
    backend.put([(Chunk(name, name, "acknowledged " * 40, 40), None)])
os._exit(0)
"""


def test_a_damaged_write_ahead_log_drops_commits_and_is_noticed(place: Path) -> None:
    """SQLite ends the log at a damaged frame without a word."""
    subprocess.run([sys.executable, "-c", WRITER, str(place)], check=True)
    log = database(place).with_name(database(place).name + "-wal")
    content = bytearray(log.read_bytes())
    content[len(content) // 3] ^= 1
    log.write_bytes(content)
    with pytest.raises(StoreError, match="acknowledged commit"):
        open_backend(place)


def test_a_log_that_is_whole_is_no_loss(place: Path) -> None:
    subprocess.run([sys.executable, "-c", WRITER, str(place)], check=True)
    assert ids(place) == ["c0", "c1", "c2", "c3", "x", "y", "z"]


def test_a_byte_changed_in_the_closed_file_is_noticed(place: Path) -> None:
    path = database(place)
    content = bytearray(path.read_bytes())
    content[-100] ^= 4
    path.write_bytes(content)
    with pytest.raises(StoreError, match="changed since it was closed"):
        open_backend(place)


def test_a_store_without_a_journal_is_opened_and_gets_one(place: Path) -> None:
    """As stores of older releases are."""
    with sqlite3.connect(database(place)) as db:
        db.execute("DELETE FROM setting WHERE key IN ('journal', 'live')")
        db.execute("UPDATE setting SET value = '1' WHERE key = 'format'")
    db.close()
    journal = database(place).with_name(database(place).name + "-commits")
    journal.unlink()
    assert ids(place) == ["c0", "c1", "c2", "c3"]
    assert not journal.exists()
    put(place, "c4")
    assert journal.exists()
    assert ids(place) == ["c0", "c1", "c2", "c3", "c4"]


def test_a_journal_of_another_store_is_ignored(place: Path) -> None:
    path = database(place)
    CommitJournal(path, "somebody else", readonly=False).accept(99)
    assert ids(place) == ["c0", "c1", "c2", "c3"]


def test_a_row_that_came_back_is_noticed(place: Path) -> None:
    backend = open_backend(place)
    backend.remove(["c1"])
    backend.close()
    with sqlite3.connect(database(place)) as db:
        db.execute("UPDATE chunk SET died = NULL WHERE id = 'c1'")
    db.close()
    CommitJournal(database(place), owner(place), readonly=False).accept(5)  # so that only the number of rows tells
    with pytest.raises(StoreError, match="4 chunks are live, and 3 were written"):
        ids(place)


def owner(place: Path) -> str:
    with sqlite3.connect(database(place)) as db:
        return str(db.execute("SELECT value FROM setting WHERE key = 'journal'").fetchone()[0]).strip('"')


def test_a_changed_text_and_a_changed_vector_are_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "kb"
    unit = np.array([1, 0, 0, 0], np.float32)
    backend = create_backend(path, VECTORS)
    backend.put([(Chunk(name, name, f"text of {name}", 3), unit) for name in ("a", "b")])
    with backend.store.reading():
        assert backend.store.vectors([1, 2], 4).tolist() == [unit.tolist()] * 2
    db = backend.store.db
    db.execute("UPDATE chunk SET text = 'text of B' WHERE id = 'b'")
    with pytest.raises(StoreError, match="chunk 'b' is not what was written"):
        backend.store.rows([1, 2])
    raw = bytearray(db.execute("SELECT value FROM vector WHERE seq = 1").fetchone()[0])
    raw[0] ^= 1
    db.execute("UPDATE vector SET value = ? WHERE seq = 1", (bytes(raw),))
    with pytest.raises(StoreError, match="vector of row 1 is not what was written"):
        backend.store.vectors([1], 4)
    assert "chunks are not what was written" in backend.store.find_damage(deep=True)
    backend.close()


def test_a_vector_of_an_older_release_has_no_checksum(tmp_path: Path) -> None:
    backend = create_backend(tmp_path / "kb", VECTORS)
    unit = np.array([0, 1, 0, 0], np.float32)
    backend.put([(Chunk("a", "a", "text", 1), unit)])
    backend.store.db.execute("UPDATE vector SET value = ?", (unit.tobytes(),))
    assert backend.store.vectors([1], 4).tolist() == [unit.tolist()]
    assert backend.put([(Chunk("a", "a", "text", 1), unit)]) == 1
    backend.close()
