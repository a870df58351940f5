"""Backup files: a copy of a store's SQLite database in one file, taken while others read and write it.

Indexes are derived, so a backup leaves them out and a restored store builds its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from assay.errors import StoreError
from assay.store.erase import erase, rewrite
from assay.store.log_files import link_new_database, replace_database
from assay.types import Progress

if TYPE_CHECKING:
    from assay.store.sqlite import SqliteStore

_S = TypeVar("_S", bound="SqliteStore")
_FOLDER = "folder"
"""The kind of a store whose database does not name one."""


def write_backup(db: sqlite3.Connection, target: Path, progress: Progress) -> None:
    """Copy a database to a file, which appears whole and checked, or not at all."""
    with _draft_file(target) as draft:
        _copy(db, draft, progress)
        replace_database(draft, target)


def restore_backup(store: type[_S], source: Path, place: Path, progress: Progress) -> _S:
    """A new store of this class from a backup file."""
    path = store.database(place)
    if not source.is_file():
        raise StoreError(f"there is no backup at {source}", "name a file that `assay backup` wrote")
    new = not path.parent.exists()
    with _translate_errors(source, place):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _draft_file(path) as draft:
            from_file = f"file:{quote(str(source.resolve()))}?mode=ro"
            with _translate_errors(source, place), contextlib.closing(sqlite3.connect(from_file, uri=True)) as db:
                _check(db, source)
                _check_kind(db, source, store.KIND)
                _copy(db, draft, progress)
            with contextlib.closing(sqlite3.connect(draft)) as db, db:
                db.execute("DELETE FROM setting WHERE key = 'generation'")  # the index it names stayed behind
            link_new_database(draft, path)
    except BaseException:
        if new:
            with contextlib.suppress(OSError):
                path.parent.rmdir()
        raise
    return store.open(place)


def erase_from_backup(path: Path, doc_ids: Sequence[str]) -> tuple[int, str]:
    """Remove every row of documents from a backup file: how many, and why something may linger ("" if nothing)."""
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA secure_delete = ON")
            db.execute("BEGIN IMMEDIATE")
            rows = erase(db, doc_ids)
            db.execute("COMMIT")
            return rows, rewrite(db)
    except sqlite3.Error as error:
        raise StoreError(str(error), "name a file that `assay backup` wrote") from error


def _copy(db: sqlite3.Connection, draft: Path, progress: Progress) -> None:
    """SQLite's own online backup, in one step: one moment of the store; writers go on in the write-ahead log."""
    with contextlib.closing(sqlite3.connect(draft)) as copy:
        db.backup(copy, progress=lambda _, left, total: progress("copying", total - left, total))
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        _check(copy, draft)
    with draft.open("rb") as file:
        os.fsync(file.fileno())


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not an Assay store, or is damaged."""
    tables = db.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('chunk', 'setting', 'version')").fetchone()
    if tables[0] != 3:
        raise StoreError(f"{path} is not a backup of an Assay store", "name a file that `assay backup` wrote")
    problem = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        raise StoreError(f"{path} is damaged: {problem}", "use an older backup")


def _check_kind(db: sqlite3.Connection, source: Path, kind: str) -> None:
    """Refuse to turn a backup into another kind of store; `assay copy` does that."""
    row = db.execute("SELECT value FROM setting WHERE key = 'kind'").fetchone()
    held = json.loads(row[0]) if row else _FOLDER
    if held != kind:
        known = "a folder: --store NEW" if held == _FOLDER else "one file: --store NEW.sqlite"
        raise StoreError(
            f"{source} is the backup of a {held} store, not of a {kind} store",
            f"restore it to {known}; then assay copy takes it elsewhere",
        )


@contextlib.contextmanager
def _draft_file(target: Path) -> Iterator[Path]:
    """A path beside the target to write to; whatever is still there in the end is removed."""
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    with _translate_errors(target, target.parent):
        draft.unlink(missing_ok=True)
        try:
            yield draft
        finally:
            for suffix in ("", "-journal", "-wal", "-shm"):
                draft.with_name(draft.name + suffix).unlink(missing_ok=True)


@contextlib.contextmanager
def _translate_errors(file: Path, where: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the system into StoreErrors with a cure."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"{where}: {error}", "check the disk's space and the folder's permissions") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{file} is damaged, or not a backup: {error}", "use another backup") from error
    except FileExistsError as error:
        raise StoreError(f"there already is a store at {where}", "restore into a new folder") from error
    except OSError as error:
        raise StoreError(f"{error.filename or where}: {error.strerror}", "check the folder's permissions") from error
