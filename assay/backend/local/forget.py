"""Forgets and erases rows of a local store, with every index that holds them."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.backend.contract import ErasureReport
from assay.backend.local.tree import remove_summaries
from assay.errors import StoreBusy
from assay.store.erase import erase_rows, shrink
from assay.store.locks import lock_if_unused
from assay.types import Progress

if TYPE_CHECKING:
    from assay.backend.local.backend import LocalBackend


def forget(backend: LocalBackend, version: int, progress: Progress) -> int:
    """Compact, then delete the rows: the index must not name rows that are gone (law 10)."""
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
    remove_summaries(store)
    shrink(store.db, gone)
    return gone


def erase(backend: LocalBackend, doc_ids: Sequence[str], note: str) -> ErasureReport:
    """Build an index without the documents, under a new name, so that every reader switches to it; then erase their
    rows and rewrite the files."""
    report = ErasureReport()
    store = backend.store
    version = store.version()
    backend.compact(force=True)
    index = backend.generation
    if index is None or index.version < version:
        raise StoreBusy(
            f"the memories are hidden, but not purged: the index of {store.place} is being built",
            "purge them again when it has finished",
        )
    erase_rows(store, doc_ids, note, report.erased, report.unreached)
    if remove_summaries(store):
        report.erased.append("summaries: those by a language model were removed; assay tree build asks for them again")
    _remove_old_indexes(backend, report)
    return report


def _remove_old_indexes(backend: LocalBackend, report: ErasureReport) -> None:
    """Remove every index but the new one, unless a process has it open."""
    backend.snapshot()  # moves this process on to the new index
    gc.collect()  # snapshots of the old one that are no longer referenced
    current = backend.store.setting("generation")
    removed = 0
    for folder in _folders(backend.folder, backend.store.place / "snapshots"):
        if folder.name == current and folder.parent == backend.folder:
            continue
        with lock_if_unused(folder / "manifest.json") as free:
            if free:
                shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            report.unreached.append(f"the old index {folder.name}, which is open: purge again when it is closed")
        else:
            removed += 1
    many = "1 old one" if removed == 1 else f"{removed:,} old ones"
    report.erased.append(f"indexes: {current} was built without it, {many} removed")


def _folders(*parents: Path) -> Iterator[Path]:
    for parent in parents:
        yield from sorted(path for path in parent.glob("*") if path.is_dir())
