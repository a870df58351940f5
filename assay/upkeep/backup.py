"""Backs a store up to one file, restores a store from such a file, and remembers where backups were written."""

from __future__ import annotations

from pathlib import Path

from assay.backend.addresses import resolve_factory
from assay.backend.contract import RestoringFactory
from assay.errors import StoreError
from assay.store.contract import BackupStore, ChunkStore
from assay.types import Progress

BACKUPS = "backups"
"""The setting that lists them."""


def backup(store: ChunkStore, target: Path, *, replace: bool = False, progress: Progress = lambda *_: None) -> int:
    """Copy a store to one file; its size in bytes. The file appears whole and checked, or not at all."""
    if not isinstance(store, BackupStore):
        raise StoreError(
            f"{store.address} is no SQLite database, so `assay backup` cannot copy it",
            "use its own means (PostgreSQL: pg_dump; see docs/backends.md), or copy what is alive: assay copy ./kb",
        )
    store.check_outside(target)
    if target.exists() and not target.is_file():
        raise StoreError(f"{target} is not a file", "name the file to write")
    if target.exists() and not replace:
        raise StoreError(f"{target} is already there", "give another name, or replace it: --force")
    store.write_backup(target, progress)
    _remember(store, target)
    return target.stat().st_size


def restore(source: Path, address: str | Path, *, progress: Progress = lambda *_: None) -> ChunkStore:
    """A new store from a backup, at the address of a folder or of one file."""
    factory, place = resolve_factory(address)
    if not isinstance(factory, RestoringFactory):
        raise StoreError(f"a backup cannot be restored to {address}", "name a folder, or one file: notes.sqlite")
    if factory.exists(place):
        raise StoreError(f"there already is a store at {place}", "restore into a new place")
    store = factory.restore(source, place, progress).store
    _remember(store, source)
    return store


def known_backups(store: ChunkStore) -> tuple[Path, ...]:
    """Where backups of this store were written; one that was moved since is not found there."""
    return tuple(Path(path) for path in store.setting(BACKUPS) or ())


def _remember(store: ChunkStore, path: Path) -> None:
    """List a backup in the store's settings, so that a purge can reach it; not in a store that is read-only here."""
    if store.readonly:
        return
    with store.write("backup") as writer:
        writer.set(BACKUPS, sorted({*map(str, known_backups(store)), str(path.resolve())}))
