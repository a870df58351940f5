"""Logs that a deleted or replaced database left behind are not read into the one that takes its name."""

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.backend.addresses import create_backend, open_backend
from assay.types import Chunk
from assay.upkeep.backup import backup, restore

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}

KILLED = """
import os, sys
from assay.backend.addresses import create_backend
from assay.types import Chunk
settings = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
backend = create_backend(sys.argv[1], settings)
backend.put([(Chunk("old", "old", "a line of the deleted store", 2), None)])
os._exit(0)
"""

KILLED_WHILE_ERASING = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.execute("CREATE TABLE filler AS SELECT zeroblob(1000000) AS bytes")
db.execute("UPDATE chunk SET text = 'half erased'")
os._exit(0)
"""


def database(path: Path) -> Path:
    return path if path.suffix else path / "assay.sqlite"


def found(path: Path) -> dict[str, str]:
    with contextlib.closing(open_backend(path)) as backend:
        view = backend.snapshot()
        return {chunk.id: chunk.text for chunk in view.chunks(view.live_rows(None))}


def create_anew(path: Path, _: Path) -> dict[str, str]:
    create_backend(path, SETTINGS).close()
    return {}


def restore_there(path: Path, other: Path) -> dict[str, str]:
    with contextlib.closing(create_backend(other, SETTINGS)) as backend:
        backend.put([(Chunk("new", "new", "a line of the backup", 2), None)])
        backup(backend.store, other.with_name("copy.backup"))
    restore(other.with_name("copy.backup"), path).close()
    return {"new": "a line of the backup"}


@pytest.mark.parametrize("name", ["kb", "kb.sqlite"])
@pytest.mark.parametrize("act", [create_anew, restore_there])
def test_a_deleted_store_does_not_come_back(
    name: str, act: Callable[[Path, Path], dict[str, str]], tmp_path: Path
) -> None:
    path = tmp_path / name
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True)
    assert database(path).with_name(database(path).name + "-wal").stat().st_size
    database(path).unlink()
    expected = act(path, tmp_path / f"other-{name}")
    assert found(path) == expected


def test_a_journal_of_the_backup_before_is_not_read_into_the_new_one(tmp_path: Path) -> None:
    path, target = tmp_path / "kb", tmp_path / "kb.backup"
    with contextlib.closing(create_backend(path, SETTINGS)) as backend:
        backend.put([(Chunk(f"c{n}", "doc", f"line {n} " + "x" * 5_000, 2), None) for n in range(40)])
        backup(backend.store, target)
        subprocess.run([sys.executable, "-c", KILLED_WHILE_ERASING, str(target)], check=True)
        assert target.with_name("kb.backup-journal").stat().st_size
        backend.put([(Chunk("last", "doc", "the last line", 2), None)])
        backup(backend.store, target, replace=True)
    assert not target.with_name("kb.backup-journal").exists()
    with contextlib.closing(sqlite3.connect(target)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    restore(target, tmp_path / "restored").close()
    assert found(tmp_path / "restored") == found(path)
    assert len(found(path)) == 41
