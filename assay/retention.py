"""Forgetting the past: rows that died before a version are erased, and snapshots older than it are gone for good."""

from __future__ import annotations

import shutil
import sqlite3

from assay.errors import StoreBusy, StoreError
from assay.index.generation import Progress
from assay.kb import KnowledgeBase


def forget_before(kb: KnowledgeBase, name: str, progress: Progress = lambda *_: None) -> int:
    """Erase what was already dead at a version or tag; how many chunks. The file shrinks, so nothing lingers in it.

    The index is brought into step first: it must not name rows that are about to vanish (law 10).
    """
    version = kb.store.resolve(name)
    kb.optimize(progress)
    index = kb.backend.generation
    if index is None or index.version < version:
        raise StoreBusy(f"the index of {kb.store.folder} is being built", "try again when it has finished")
    with kb.store.write(f"forget before v{version}") as writer:
        gone = writer.forget_dead(version)
    for old in (kb.store.folder / "snapshots").glob("*"):
        if old.name.isdigit() and int(old.name) < version:
            shutil.rmtree(old, ignore_errors=True)
    try:
        kb.store.db.execute("VACUUM")
        kb.store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{gone} chunks are forgotten, but their space could not be freed: {error}", "free some disk, run it again"
        ) from error
    return gone
