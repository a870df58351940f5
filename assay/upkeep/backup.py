"""One file that holds a whole store, taken while others read and write it; and a store made from such a file.

Indexes are derived, so a backup leaves them out and a restored store builds its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from assay.backend.addresses import parsed
from assay.backend.sqlite.store import OneFileStore
from assay.errors import StoreError
from assay.store.contract import ChunkStore
from assay.store.sqlite import SqliteStore

BACKUPS = "backups"
"""The setting that lists them."""
KINDS: Mapping[str, type[SqliteStore]] = {"local": SqliteStore, "sqlite": OneFileStore}
"""Schemes whose stores are one SQLite database."""
Progress = Callable[[int, int], None]
"""(pages done, pages in all)"""


def backup(store: ChunkStore, target: Path, *, replace: bool = False, progress: Progress = lambda *_: None) -> int:
    """Copy the record of truth to one file; its size in bytes. The file appears whole and checked, or not at all."""
    if not isinstance(store, SqliteStore):
        raise StoreError(
            f"{store.address} is no SQLite database, so `assay backup` cannot copy it",
            "use its own means (PostgreSQL: pg_dump; see docs/backends.md), or copy what is alive: assay copy ./kb",
        )
    store.check_elsewhere(target)
    if target.exists() and not target.is_file():
        raise StoreError(f"{target} is not a file", "name the file to write")
    if target.exists() and not replace:
        raise StoreError(f"{target} is already there", "give another name, or replace it: --force")
    with _made_aside(target) as aside:
        _copy(store.db, aside, progress)
        os.replace(aside, target)
    _note(store, target)
    return target.stat().st_size


def known_backups(store: ChunkStore) -> tuple[Path, ...]:
    """Where backups of this store were written; one that was moved since is not found there."""
    return tuple(Path(path) for path in store.setting(BACKUPS) or ())


def _note(store: ChunkStore, path: Path) -> None:
    """Remember a backup, so that a purge can reach it. A store that is read-only here remembers nothing."""
    if store.readonly:
        return
    with store.write("backup") as writer:
        writer.set(BACKUPS, sorted({*map(str, known_backups(store)), str(path.resolve())}))


def restore(source: Path, address: str | Path, *, progress: Progress = lambda *_: None) -> SqliteStore:
    """A new store from a backup, at the address of a folder or of one file."""
    kind = _kind(address)
    place = Path(parsed(address)[1])
    path = kind.database(place)
    if kind.exists(place):
        raise StoreError(f"there already is a store at {place}", "restore into a new place")
    if not source.is_file():
        raise StoreError(f"there is no backup at {source}", "name a file that `assay backup` wrote")
    new = not path.parent.exists()
    with _told(source, place):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _made_aside(path) as aside:
            from_file = f"file:{quote(str(source.resolve()))}?mode=ro"
            with _told(source, place), contextlib.closing(sqlite3.connect(from_file, uri=True)) as db:
                _check(db, source)
                _check_kind(db, source, kind)
                _copy(db, aside, progress)
            with contextlib.closing(sqlite3.connect(aside)) as db, db:
                db.execute("DELETE FROM setting WHERE key = 'generation'")  # the index it names stayed behind
            os.link(aside, path)  # unlike rename, fails when somebody made a store here meanwhile
    except BaseException:
        if new:
            with contextlib.suppress(OSError):
                path.parent.rmdir()
        raise
    made = kind.open(place)
    _note(made, source)
    return made


def _kind(address: str | Path) -> type[SqliteStore]:
    """Which kind of SQLite store an address names."""
    scheme = parsed(address)[0]
    if scheme not in KINDS:
        raise StoreError(f"a backup cannot be restored to {address}", "name a folder, or one file: notes.sqlite")
    return KINDS[scheme]


def _copy(db: sqlite3.Connection, aside: Path, progress: Progress) -> None:
    """SQLite's own online backup, in one step: one moment of the store, writers go on in the write-ahead log."""
    with contextlib.closing(sqlite3.connect(aside)) as made:
        db.backup(made, progress=lambda _, left, total: progress(total - left, total))
        made.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        _check(made, aside)
    with aside.open("rb") as file:
        os.fsync(file.fileno())


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Is it an Assay store, and sound?"""
    found = db.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('chunk', 'setting', 'version')").fetchone()
    if found[0] != 3:
        raise StoreError(f"{path} is not a backup of an Assay store", "name a file that `assay backup` wrote")
    said = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if said != "ok":
        raise StoreError(f"{path} is damaged: {said}", "use an older backup")


def _check_kind(db: sqlite3.Connection, source: Path, kind: type[SqliteStore]) -> None:
    """A backup becomes again what it was; from there `assay copy` leads to every other backend."""
    row = db.execute("SELECT value FROM setting WHERE key = 'kind'").fetchone()
    held = json.loads(row[0]) if row else SqliteStore.KIND
    if held != kind.KIND:
        known = "a folder: --store NEW" if held == SqliteStore.KIND else "one file: --store NEW.sqlite"
        raise StoreError(
            f"{source} is the backup of a {held} store, not of a {kind.KIND} store",
            f"restore it to {known}; then assay copy takes it elsewhere",
        )


@contextlib.contextmanager
def _made_aside(target: Path) -> Iterator[Path]:
    """A name beside the target to write to; whatever is still there in the end is removed."""
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    with _told(target, target.parent):
        aside.unlink(missing_ok=True)
        try:
            yield aside
        finally:
            for end in ("", "-journal", "-wal", "-shm"):
                aside.with_name(aside.name + end).unlink(missing_ok=True)


@contextlib.contextmanager
def _told(what: Path, where: Path) -> Iterator[None]:
    """SQLite's and the system's complaints, in words with a cure."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(f"{where}: {error}", "check the disk's space and the folder's permissions") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{what} is damaged, or not a backup: {error}", "use another backup") from error
    except FileExistsError as error:
        raise StoreError(f"there already is a store at {where}", "restore into a new folder") from error
    except OSError as error:
        raise StoreError(f"{error.filename or where}: {error.strerror}", "check the folder's permissions") from error
