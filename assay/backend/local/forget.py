"""Forgetting in the embedded store: rows leave the truth, and every index that knew them goes."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.backend.contract import Erased
from assay.errors import StoreBusy
from assay.store.erase import erase_rows, shrink
from assay.store.locks import unused
from assay.types import Progress

if TYPE_CHECKING:
    from assay.backend.local.backend import LocalBackend


def forget(backend: LocalBackend, version: int, progress: Progress) -> int:
    """The index is brought into step first: it must not name rows that are about to vanish (law 10)."""
    store = backend.store
    backend.compact(progress)
    index = backend.generation
    if index is None or index.version < version:
        raise StoreBusy(f"the index of {store.place} is being built", "try again when it has finished")
    with store.write(f"forget before v{version}") as writer:
        gone = writer.forget_dead(version)
    for old in (store.place / "snapshots").glob("*"):
        if old.name.isdigit() and int(old.name) < version:
            shutil.rmtree(old, ignore_errors=True)
    shrink(store.db, gone)
    return gone


def erase(backend: LocalBackend, doc_ids: Sequence[str], note: str) -> Erased:
    """A new index is built without them, under a new name, so that every reader starts over from it; only then do
    their rows go, and the files are written anew."""
    done = Erased()
    store = backend.store
    version = store.version()
    backend.compact(force=True)
    index = backend.generation
    if index is None or index.version < version:
        raise StoreBusy(
            f"the memories are hidden, but not purged: the index of {store.place} is being built",
            "purge them again when it has finished",
        )
    erase_rows(store, doc_ids, note, done.erased, done.unreached)
    _old_indexes(backend, done)
    return done


def _old_indexes(backend: LocalBackend, done: Erased) -> None:
    """Every index but the new one goes, unless somebody has it open."""
    backend.snapshot()  # moves this process on to the new index
    gc.collect()  # views of the old one that nobody holds any more
    current = backend.store.setting("generation")
    removed = 0
    for folder in _folders(backend.folder, backend.store.place / "snapshots"):
        if folder.name == current and folder.parent == backend.folder:
            continue
        with unused(folder / "manifest.json") as free:
            if free:
                shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            done.unreached.append(f"the old index {folder.name}, which is open: purge again when it is closed")
        else:
            removed += 1
    many = "1 old one" if removed == 1 else f"{removed:,} old ones"
    done.erased.append(f"indexes: {current} was built without it, {many} removed")


def _folders(*parents: Path) -> Iterator[Path]:
    for parent in parents:
        yield from sorted(path for path in parent.glob("*") if path.is_dir())
